/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* spectrogram: the spectra of windows of a signal. */
#include "ops/audio/spectrogram.h"
#include "kernels/border.h"

#include <string.h>

enum {
    STORED = 8 * HR_FFT_LANES, /* windows whose spectra are stored together ... */
    LONG = 2048                /* ... unless they have so many bins */
};

static int32_t transform_size(const hr_spectrogram_args *a)
{
    return a->nfft == -1 ? a->window_length : a->nfft;
}

static hr_status spectrogram_check(const void *args, const hr_given *given, hr_error *error)
{
    const hr_spectrogram_args *a = args;
    (void)given;
    if (a->window_length < 1 || a->window_step < 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`window_length` and `window_step` must be positive");
    if (transform_size(a) < a->window_length)
        return hr_fail(error, HR_STATUS_ERROR, "`nfft` is %d, less than the `window_length` %d",
                       transform_size(a), a->window_length);
    if (a->power != 1 && a->power != 2)
        return hr_fail(error, HR_STATUS_ERROR, "`power` is %d; it must be 1 or 2", a->power);
    if (a->window_fn.v && a->window_fn.n > 0 && a->window_fn.n != a->window_length)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`window_fn` has %d elements, not `window_length` (%d)", a->window_fn.n,
                       a->window_length);
    if (strcmp(a->layout, "ft") != 0 && strcmp(a->layout, "tf") != 0)
        return hr_fail(error, HR_STATUS_ERROR, "`layout` is \"%s\"; it must be \"ft\" or \"tf\"",
                       a->layout);
    return HR_STATUS_OK;
}

static void spectrogram_destroy(void *state)
{
    hr_spectrogram_state *s = state;
    hr__fft_destroy(s->fft);
    hr_free(s->window);
    hr_free(s);
}

static hr_status spectrogram_create(const void *args, void **state, hr_error *error)
{
    const hr_spectrogram_args *a = args;
    hr_spectrogram_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    hr_status status = hr__fft_create(&s->fft, transform_size(a), error);
    if (status == HR_STATUS_OK)
        s->window = hr_calloc((size_t)a->window_length, sizeof(*s->window), error);
    if (!s->window) {
        spectrogram_destroy(s);
        return status != HR_STATUS_OK ? status : HR_STATUS_NO_MEMORY;
    }
    for (int32_t i = 0; i < a->window_length; i++) {
        double turn = 2 * HR_PI * (i + 0.5) / a->window_length;
        s->window[i] = a->window_fn.v && a->window_fn.n > 0 ? a->window_fn.v[i]
                                                            : (float)(0.5 * (1 - hr_cos(turn)));
    }
    *state = s;
    return HR_STATUS_OK;
}

/* Samples of a signal: the input may have other dimensions of extent 1. */
static hr_status signal_length(const hr_tensor *in, int64_t *length, hr_error *error)
{
    size_t volume = 0;
    int64_t longest = in->shape.ndim > 0 ? 0 : 1;
    for (int32_t d = 0; d < in->shape.ndim; d++)
        longest = HR_MAX(longest, in->shape.extent[d]);
    if (!hr_shape_volume(&in->shape, &volume) || (volume > 0 && volume != (size_t)longest))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must be a signal: all of its dimensions but one must be 1");
    *length = (int64_t)volume;
    return HR_STATUS_OK;
}

static hr_status spectrogram_infer(hr_op_call *c, hr_error *error)
{
    const hr_spectrogram_args *a = c->args;
    const bool tf = a->layout[0] == 't';
    int64_t length = 0;
    if (c->in[0].dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the input must be FLOAT, but it is %s",
                       hr_dtype_name(c->in[0].dtype));
    HR_TRY(signal_length(&c->in[0], &length, error));
    int64_t used = a->center_windows ? length : length - a->window_length;
    if (length < 1) /* in DALI's words, whose spelling differs */
        return hr_fail(
            error, HR_STATUS_ERROR,
            "Spectogram does not support empty (0-volume) samples. The signal has none.");
    if (used < 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Signal is too short: it has %lld samples, the window %d", (long long)length,
                       a->window_length);
    int64_t frames = used / a->window_step + 1, bins = transform_size(a) / 2 + 1;
    int64_t extent[2] = {tf ? frames : bins, tf ? bins : frames};
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, hr_shape_make(2, extent), a->layout);
    return HR_STATUS_OK;
}

typedef struct work {
    const hr_spectrogram_args *a;
    const float *signal;
    int64_t length, frames, bins;
    float *edges, *scratch, *norms;
} work;

/* The samples of a window: in the signal itself, or copied to `room` if they exceed it. */
static const float *window_at(const work *w, int64_t frame, float *room)
{
    const hr_spectrogram_args *a = w->a;
    const int64_t n = a->window_length;
    int64_t start = frame * a->window_step - spectrogram_lead(a);
    if (start >= 0 && start + n <= w->length)
        return w->signal + start;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = start + i;
        at = border_index(at, w->length,
                          a->reflect_padding ? HR_BORDER_REFLECT_101 : HR_BORDER_CONSTANT);
        room[i] = at >= 0 ? w->signal[at] : 0.0f;
    }
    return room;
}

/* Stores the spectra of `count` windows. Several groups of windows at once: fewer places of memory
 * at a time are written. */
static void store(const work *w, int64_t first, int64_t count, float *out)
{
    const int64_t group = w->bins * HR_FFT_LANES;
    if (w->a->layout[0] == 't') {
        for (int64_t i = 0; i < count; i++) {
            const float *norms = w->norms + i / HR_FFT_LANES * group + i % HR_FFT_LANES;
            for (int64_t bin = 0; bin < w->bins; bin++)
                out[(first + i) * w->bins + bin] = norms[bin * HR_FFT_LANES];
        }
        return;
    }
    for (int64_t bin = 0; bin < w->bins; bin++) {
        const float *norms = w->norms + bin * HR_FFT_LANES;
        float *to = out + bin * w->frames + first;
        int64_t i = 0;
        for (; i + HR_FFT_LANES <= count; i += HR_FFT_LANES, norms += group)
            memcpy(to + i, norms, HR_FFT_LANES * sizeof(*to));
        for (int64_t k = 0; k < count - i; k++)
            to[i + k] = norms[k];
    }
}

static hr_status spectrogram_run(hr_op_call *c, hr_error *error)
{
    const hr_spectrogram_args *a = c->args;
    const hr_spectrogram_state *s = c->state;
    const bool tf = a->layout[0] == 't';
    size_t volume = 0;
    hr_shape_volume(&c->in[0].shape, &volume);
    work w = {a,
              c->in[0].data,
              (int64_t)volume,
              c->out[0].shape.extent[!tf],
              c->out[0].shape.extent[tf],
              NULL,
              NULL,
              NULL};
    size_t edge = (size_t)a->window_length * HR_FFT_LANES, scratch = hr__fft_scratch(s->fft);
    const int64_t stored = w.bins < LONG ? STORED : HR_FFT_LANES;
    const size_t norms = (size_t)(w.bins * stored);
    w.edges = hr_arena_alloc(c->arena, (edge + scratch + norms) * sizeof(float), error);
    HR_TRY_ALLOC(w.edges);
    w.scratch = w.edges + edge;
    w.norms = w.scratch + scratch;
    const int32_t first = spectrogram_padding(a, s->fft);
    for (int64_t frame = 0, done = 0; frame < w.frames; frame += HR_FFT_LANES) {
        const float *signals[HR_FFT_LANES];
        for (int64_t i = 0; i < HR_FFT_LANES; i++)
            signals[i] =
                window_at(&w, HR_MIN(frame + i, w.frames - 1), w.edges + i * a->window_length);
        hr__fft_norms(s->fft, c->kernels, signals, s->window, first, a->window_length,
                      (hr_fft_result)a->power, w.scratch, w.norms + (frame - done) * w.bins);
        const int64_t end = HR_MIN(frame + HR_FFT_LANES, w.frames);
        if (end - done < stored && end < w.frames)
            continue;
        store(&w, done, end - done, c->out[0].data);
        done = end;
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_spectrogram = {
    HR_OP("spectrogram"),
    .doc = "The spectra of windows of a signal: the magnitudes of their Fourier transforms, or the "
           "squares of these.",
    .devices = "cpu|gpu",
    HR_ARGS(
        hr_spectrogram_args,
        HR_ARG(hr_spectrogram_args, nfft, INT, HR_ARG_OPTIONAL, NULL,
               "Samples of a transform, `window_length` by default. A shorter window is centred in "
               "it, between zeros."),
        HR_ARG(hr_spectrogram_args, window_length, INT, 0, "512", "Samples of a window."),
        HR_ARG(hr_spectrogram_args, window_step, INT, 0, "256",
               "Samples from the start of one window to that of the next."),
        HR_ARG(hr_spectrogram_args, window_fn, FLOATS, HR_ARG_OPTIONAL, NULL,
               "Factors of the samples of a window, `window_length` of them; a Hann window by "
               "default."),
        HR_ARG(hr_spectrogram_args, power, INT, 0, "2", "1: magnitudes; 2: their squares."),
        HR_ARG(hr_spectrogram_args, center_windows, BOOL, 0, "True",
               "Centre window i at sample i * `window_step`, and extend the signal at both ends. "
               "Otherwise it begins there, and all windows are within the signal."),
        HR_ARG(
            hr_spectrogram_args, reflect_padding, BOOL, 0, "True",
            "Extend the signal by mirroring it at its first and last sample. Otherwise by zeros."),
        HR_ARG(hr_spectrogram_args, layout, LAYOUT, 0, "\"ft\"",
               "\"ft\": frequency, time; \"tf\": time, frequency.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = spectrogram_check,
    .create = spectrogram_create,
    .destroy = spectrogram_destroy,
    .infer = spectrogram_infer,
    .run = spectrogram_run,
};
