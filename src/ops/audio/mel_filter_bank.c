/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* mel_filter_bank: sums of the bins of spectra in bands that are equally wide on the mel scale. */
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

static const hr_arg_def mel_arg_defs[] = {
    HR_ARG(mel_args, nfilter, INT, 0, "128", "Number of bands."),
    HR_ARG(mel_args, sample_rate, FLOAT, 0, "44100.0", "Samples of the signal per second."),
    HR_ARG(mel_args, freq_low, FLOAT, 0, "0.0", "Where the lowest band begins, in Hz."),
    HR_ARG(mel_args, freq_high, FLOAT, 0, "0.0",
           "Where the highest band ends, in Hz; 0: at half of the sample rate."),
    HR_ARG(mel_args, normalize, BOOL, 0, "True", "Divide each band by half of its width in Hz."),
    HR_ARG(mel_args, mel_formula, STRING, 0, "\"slaney\"",
           "\"slaney\": linear below 1 kHz, logarithmic above. \"htk\": "
           "2595 * log10(1 + f / 700).",
           .choices = "slaney|htk"),
    HR_ARG_END};

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

/* The bins of a band and their weights. */
typedef struct band {
    int64_t first;
    int32_t count;
    float *weights;
} band;

/* The bins within (low, high): a triangle whose peak is at `peak` Hz. */
static hr_status make_band(band *b, const double hz[3], double step, int64_t bins, bool normalize,
                           hr_arena *arena, hr_error *error)
{
    double last = hr_round(floor(hz[2] / step)), start = floor(hz[0] / step) + 1;
    b->first = start < (double)bins ? (int64_t)start : bins;
    int64_t end = last < (double)(bins - 1) ? (int64_t)last : bins - 1;
    b->count = (int32_t)HR_MAX(end - b->first + 1, 0);
    b->weights = hr_arena_alloc(arena, ((size_t)b->count + 1) * sizeof(*b->weights), error);
    if (!b->weights)
        return HR_STATUS_NO_MEMORY;
    const double scale = normalize ? 2.0 / (hz[2] - hz[0]) : 1.0;
    for (int32_t i = 0; i < b->count; i++) {
        double f = (double)(b->first + i) * step;
        double up = (f - hz[0]) / (hz[1] - hz[0]), down = (hz[2] - f) / (hz[2] - hz[1]);
        b->weights[i] = (float)(scale * HR_MAX(HR_MIN(up, down), 0.0));
    }
    return HR_STATUS_OK;
}

static hr_status make_bands(const mel_args *a, int64_t bins, band *bands, hr_arena *arena,
                            hr_error *error)
{
    const bool htk = a->mel_formula[0] == 'h';
    const double rate = (double)a->sample_rate, step = rate / (double)(2 * HR_MAX(bins - 1, 1));
    double low = mel_of((double)a->freq_low, htk);
    double high = mel_of(a->freq_high > 0 ? (double)a->freq_high : rate / 2, htk);
    double width = (high - low) / (a->nfilter + 1);
    for (int32_t i = 0; i < a->nfilter; i++) {
        double hz[3];
        for (int32_t k = 0; k < 3; k++)
            hz[k] = hz_of(low + (i + k) * width, htk);
        HR_TRY(make_band(&bands[i], hz, step, bins, a->normalize != 0, arena, error));
    }
    return HR_STATUS_OK;
}

static int32_t axis_of(const hr_tensor *in)
{
    int32_t axis = hr_layout_find(&in->layout, 'f');
    return axis >= 0 ? axis : HR_MAX(in->shape.ndim - 2, 0);
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
    shape.extent[axis_of(&c->in[0])] = a->nfilter;
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

/* All bands of a matrix (bins, columns). */
static void sum_bands(const hr_kernels *k, const band *bands, int32_t nfilter, const float **rows,
                      const float *in, float *out, int64_t columns)
{
    for (int64_t at = 0; at < columns; at += TILE) {
        size_t n = (size_t)HR_MIN(TILE, columns - at);
        for (int32_t i = 0; i < nfilter; i++) {
            float *dst = out + i * columns + at;
            for (int32_t j = 0; j < bands[i].count; j++)
                rows[j] = in + (bands[i].first + j) * columns + at;
            if (bands[i].count > 0)
                k->vfilter_f32(dst, rows, bands[i].weights, bands[i].count, n);
            else
                memset(dst, 0, n * sizeof(*dst));
        }
    }
}

/* All bands of one spectrum; the order of additions is that of vfilter_f32. */
static void sum_spectrum(const band *bands, int32_t nfilter, const float *in, float *out)
{
    for (int32_t i = 0; i < nfilter; i++) {
        const float *from = in + bands[i].first, *weights = bands[i].weights;
        float sum = bands[i].count > 0 ? weights[0] * from[0] : 0.0f;
        for (int32_t j = 1; j < bands[i].count; j++)
            sum += weights[j] * from[j];
        out[i] = sum;
    }
}

static hr_status mel_one(hr_op_call *c, hr_error *error)
{
    const mel_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const int32_t axis = axis_of(in);
    const int64_t bins = in->shape.extent[axis];
    int64_t outer = 1, columns = 1;
    for (int32_t d = 0; d < in->shape.ndim; d++)
        *(d < axis ? &outer : &columns) *= d == axis ? 1 : in->shape.extent[d];
    if (outer == 0 || columns == 0)
        return HR_STATUS_OK;
    band *bands = hr_arena_alloc(c->arena, (size_t)a->nfilter * sizeof(*bands), error);
    const float **rows = hr_arena_alloc(c->arena, ((size_t)bins + 1) * sizeof(*rows), error);
    if (!bands || !rows)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(make_bands(a, bins, bands, c->arena, error));
    for (int64_t i = 0; i < outer; i++) {
        const float *from = (const float *)in->data + i * bins * columns;
        float *to = (float *)c->out[0].data + i * a->nfilter * columns;
        if (columns == 1)
            sum_spectrum(bands, a->nfilter, from, to);
        else
            sum_bands(c->kernels, bands, a->nfilter, rows, from, to, columns);
    }
    return HR_STATUS_OK;
}

static hr_status mel_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++)
        HR_TRY(mel_one(&calls[i], error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_mel_filter_bank = {
    HR_OP_ABI,
    .name = "mel_filter_bank",
    .doc = "Sums the bins of spectra in overlapping triangular bands that are equally wide on the "
           "mel scale. The bins are the axis 'f' of the layout, or else the last axis but one.",
    .devices = "cpu|gpu",
    .args = mel_arg_defs,
    .args_size = sizeof(mel_args),
    .in = HR_INPUTS({.name = "data"}),
    .in_min = 1,
    .in_max = 1,
    .out = HR_OUTPUTS({"output"}),
    .out_count = 1,
    .check = mel_check,
    .infer = mel_infer,
    .run_cpu = mel_run,
};
