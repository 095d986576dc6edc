/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* mel_filter_bank: sums of the bins of spectra in bands that are equally wide on the mel scale. */
#include "ops/audio/mel_filter_bank.h"
#include "headrace/operator.h"
#include "kernels/kernels.h"

#include <math.h>
#include <string.h>

#define TILE 256 /* columns that are summed before the next ones */

typedef struct mel_args {
    int32_t nfilter, normalize;
    float sample_rate, freq_low, freq_high;
    const char *mel_formula;
} mel_args;

static hr_status mel_check(const void *args, const hr_given *given, hr_error *error)
{
    const mel_args *a = args;
    float high = a->freq_high > 0 ? a->freq_high : 0.5f * a->sample_rate;
    (void)given;
    if (a->nfilter < 1)
        return hr_fail(error, HR_STATUS_ERROR, "`nfilter` is %d; it must be positive", a->nfilter);
    if (!(a->sample_rate > 0) || !(a->freq_low >= 0) || !(high > a->freq_low))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the bands from %g to %g Hz at the sample rate %g are empty",
                       (double)a->freq_low, (double)high, (double)a->sample_rate);
    return HR_STATUS_OK;
}

/* Slaney: 200 / 3 Hz per mel up to 1 kHz, then 27 mel per factor of 6.4. */
static double mel_of(double hz, bool htk)
{
    if (htk)
        return 1127.0 * hr_log(1.0 + hz / 700.0);
    return hz < 1000.0 ? hz * 3.0 / 200.0 : 15.0 + hr_log(hz / 1000.0) * 27.0 / hr_log(6.4);
}

static double hz_of(double mel, bool htk)
{
    if (htk)
        return 700.0 * (hr_exp(mel / 1127.0) - 1.0);
    return mel < 15.0 ? mel * 200.0 / 3.0 : 1000.0 * hr_exp((mel - 15.0) * hr_log(6.4) / 27.0);
}

/* The bins within (hz[0], hz[2]), `step` Hz apart. */
static void find_bins(hr_mel_band *b, const double hz[3], double step, int64_t bins)
{
    double last = hr_round(floor(hz[2] / step)), start = floor(hz[0] / step) + 1;
    int64_t first = start < (double)bins ? (int64_t)start : bins;
    int64_t end = last < (double)(bins - 1) ? (int64_t)last : bins - 1;
    b->first = (int32_t)first;
    b->count = (int32_t)HR_MAX(end - first + 1, 0);
}

/* A triangle whose peak is at hz[1]. */
static void find_weights(const hr_mel_band *b, const double hz[3], double step, bool normalize,
                         float *weights)
{
    const double scale = normalize ? 2.0 / (hz[2] - hz[0]) : 1.0;
    for (int32_t i = 0; i < b->count; i++) {
        double f = (double)(b->first + i) * step;
        double up = (f - hz[0]) / (hz[1] - hz[0]), down = (hz[2] - f) / (hz[2] - hz[1]);
        weights[i] = (float)(scale * HR_MAX(HR_MIN(up, down), 0.0));
    }
}

/* The bands of the last sample, which most samples share. */
typedef struct mel_local {
    double *edges; /* nfilter + 2, in Hz */
    hr_mel_band *bands;
    float *weights;
    int64_t bins; /* -1: none yet */
    int32_t weight_count;
} mel_local;

static void mel_local_destroy(void *local)
{
    mel_local *m = local;
    hr_free(m->edges);
    hr_free(m->bands);
    hr_free(m->weights);
    hr_free(m);
}

static hr_status mel_local_create(const void *args, void *state, void **local, hr_error *error)
{
    const mel_args *a = args;
    const bool htk = a->mel_formula[0] == 'h';
    const double rate = (double)a->sample_rate, low = mel_of((double)a->freq_low, htk);
    const double high = mel_of(a->freq_high > 0 ? (double)a->freq_high : rate / 2, htk);
    const double width = (high - low) / ((double)a->nfilter + 1);
    (void)state;
    mel_local *m = hr_calloc(1, sizeof(*m), error);
    HR_TRY_ALLOC(m);
    m->edges = hr_calloc((size_t)a->nfilter + 2, sizeof(*m->edges), error);
    m->bands = hr_calloc((size_t)a->nfilter, sizeof(*m->bands), error);
    if (!m->edges || !m->bands) {
        mel_local_destroy(m);
        return HR_STATUS_NO_MEMORY;
    }
    for (int64_t i = 0; i < (int64_t)a->nfilter + 2; i++)
        m->edges[i] = hz_of(low + (double)i * width, htk);
    m->bins = -1;
    *local = m;
    return HR_STATUS_OK;
}

static hr_status make_bands(mel_local *m, const mel_args *a, int64_t bins, hr_error *error)
{
    const double step = (double)a->sample_rate / (double)(2 * HR_MAX(bins - 1, 1));
    int64_t count = 0;
    m->bins = -1;
    for (int32_t i = 0; i < a->nfilter; i++) {
        find_bins(&m->bands[i], m->edges + i, step, bins);
        m->bands[i].at = (int32_t)count;
        count += m->bands[i].count;
        if (count > INT32_MAX)
            return hr_fail(error, HR_STATUS_ERROR, "%d bands of %lld bins have too many weights",
                           a->nfilter, (long long)bins);
    }
    hr_free(m->weights);
    m->weights = hr_calloc((size_t)count + 1, sizeof(*m->weights), error);
    HR_TRY_ALLOC(m->weights);
    for (int32_t i = 0; i < a->nfilter; i++)
        find_weights(&m->bands[i], m->edges + i, step, a->normalize != 0,
                     m->weights + m->bands[i].at);
    m->weight_count = (int32_t)count;
    m->bins = bins;
    return HR_STATUS_OK;
}

static int32_t axis_of(const hr_tensor *in)
{
    int32_t axis = hr_layout_find(&in->layout, 'f');
    return axis >= 0 ? axis : HR_MAX(in->shape.ndim - 2, 0);
}

/* Leaves a copy of the bands in the memo: the next sample may have other ones. On a device, the
 * copy is there. */
static hr_status leave_bands(hr_op_call *c, hr_mel_bank *bank, hr_error *error)
{
    const mel_local *m = c->local;
    const size_t size = (size_t)bank->nfilter * sizeof(hr_mel_band);
    const size_t weights = (size_t)m->weight_count * sizeof(float);
    const void *bands = NULL, *by = NULL;
    if (c->staging) {
        HR_TRY(c->staging->constant(c->staging, m->bands, size, &bands, error));
        HR_TRY(c->staging->constant(c->staging, m->weights, weights, &by, error));
    } else {
        char *copy = hr_arena_alloc(c->arena, size + weights + 1, error);
        HR_TRY_ALLOC(copy);
        bands = memcpy(copy, m->bands, size);
        by = memcpy(copy + size, m->weights, weights);
    }
    bank->bands = bands;
    bank->weights = by;
    return HR_STATUS_OK;
}

static hr_status leave_bank(hr_op_call *c, int32_t axis, hr_error *error)
{
    const mel_args *a = c->args;
    const hr_shape *shape = &c->in[0].shape;
    mel_local *m = c->local;
    const int64_t bins = shape->extent[axis];
    if (bins > INT32_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "spectra of %lld bins are too long",
                       (long long)bins);
    if (m->bins != bins)
        HR_TRY(make_bands(m, a, bins, error));
    hr_mel_bank *bank = hr_arena_alloc(c->arena, sizeof(*bank), error);
    HR_TRY_ALLOC(bank);
    *bank = (hr_mel_bank){.outer = 1, .bins = bins, .columns = 1, .nfilter = a->nfilter};
    for (int32_t d = 0; d < shape->ndim; d++)
        *(d < axis ? &bank->outer : &bank->columns) *= d == axis ? 1 : shape->extent[d];
    c->memo = bank;
    return leave_bands(c, bank, error);
}

static hr_status mel_infer(hr_op_call *c, hr_error *error)
{
    const mel_args *a = c->args;
    hr_shape shape = c->in[0].shape;
    if (c->in[0].dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the input must be FLOAT, but it is %s",
                       hr_dtype_name(c->in[0].dtype));
    if (shape.ndim < 1)
        return hr_fail(error, HR_STATUS_ERROR, "the input must have at least one dimension");
    const int32_t axis = axis_of(&c->in[0]);
    shape.extent[axis] = a->nfilter;
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, shape, c->in[0].layout.name);
    return leave_bank(c, axis, error);
}

/* All bands of a matrix (bins, columns). */
static void sum_bands(const hr_kernels *k, const hr_mel_bank *m, const float **rows,
                      const float *in, float *out)
{
    for (int64_t at = 0; at < m->columns; at += TILE) {
        size_t n = (size_t)HR_MIN(TILE, m->columns - at);
        for (int32_t i = 0; i < m->nfilter; i++) {
            const hr_mel_band *b = &m->bands[i];
            float *dst = out + i * m->columns + at;
            for (int32_t j = 0; j < b->count; j++)
                rows[j] = in + (b->first + j) * m->columns + at;
            if (b->count > 0)
                k->vfilter_f32(dst, rows, m->weights + b->at, b->count, n);
            else
                memset(dst, 0, n * sizeof(*dst));
        }
    }
}

/* All bands of one spectrum. */
static void sum_spectrum(const hr_mel_bank *m, const float *in, float *out)
{
    for (int32_t i = 0; i < m->nfilter; i++) {
        const hr_mel_band *b = &m->bands[i];
        const float *from = in + b->first, *weights = m->weights + b->at;
        float sum = b->count > 0 ? weights[0] * from[0] : 0.0f;
        for (int32_t j = 1; j < b->count; j++)
            sum += weights[j] * from[j];
        out[i] = sum;
    }
}

static hr_status mel_run(hr_op_call *c, hr_error *error)
{
    const hr_mel_bank *m = c->memo;
    if (m->outer == 0 || m->columns == 0)
        return HR_STATUS_OK;
    const float **rows = hr_arena_alloc(c->arena, ((size_t)m->bins + 1) * sizeof(*rows), error);
    HR_TRY_ALLOC(rows);
    for (int64_t i = 0; i < m->outer; i++) {
        const float *from = (const float *)c->in[0].data + i * m->bins * m->columns;
        float *to = (float *)c->out[0].data + i * m->nfilter * m->columns;
        if (m->columns == 1)
            sum_spectrum(m, from, to);
        else
            sum_bands(c->kernels, m, rows, from, to);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_mel_filter_bank = {
    HR_OP("mel_filter_bank"),
    .doc = "Sums the bins of spectra in overlapping triangular bands that are equally wide on the "
           "mel scale. The bins are the axis 'f' of the layout, or else the last axis but one.",
    .devices = "cpu|gpu",
    HR_ARGS(mel_args, HR_ARG(mel_args, nfilter, INT, 0, "128", "Number of bands."),
            HR_ARG(mel_args, sample_rate, FLOAT, 0, "44100.0", "Samples of the signal per second."),
            HR_ARG(mel_args, freq_low, FLOAT, 0, "0.0", "Where the lowest band begins, in Hz."),
            HR_ARG(mel_args, freq_high, FLOAT, 0, "0.0",
                   "Where the highest band ends, in Hz; 0: at half of the sample rate."),
            HR_ARG(mel_args, normalize, BOOL, 0, "True",
                   "Divide each band by half of its width in Hz."),
            HR_ARG(mel_args, mel_formula, STRING, 0, "\"slaney\"",
                   "\"slaney\": linear below 1 kHz, logarithmic above. \"htk\": 2595 * log10(1 + f "
                   "/ 700).",
                   .choices = "slaney|htk")),
    .in = HR_INPUTS({.name = "data"}),
    .check = mel_check,
    .local_create = mel_local_create,
    .local_destroy = mel_local_destroy,
    .infer = mel_infer,
    .run = mel_run,
};
