/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* gaussian_blur: each data axis is filtered with a Gaussian curve. */
#include "ops/filter/separable.h"

#include <math.h>

enum { WINDOW_MAX = 65535 };

typedef struct gaussian_args {
    hr_floats sigma;
    hr_ints window_size;
    int32_t dtype;
} gaussian_args;

#define PER_AXIS (HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK)

/* The standard deviation and window of axis `i`. */
static hr_status solve(const hr_op_call *c, float sigma, int32_t window, int32_t i,
                       double *deviation, int32_t *taps, hr_error *error)
{
    const int sample = (int)hr_task_index(c->task);

    if (!(sigma >= 0.0f))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`sigma` must have non-negative values, got %g for sample: %d, axis: %d.",
                       (double)sigma, sample, (int)i);
    if (window < 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`window_size` must have non-negative values, got %d for sample: %d, "
                       "axis : %d.",
                       (int)window, sample, (int)i);
    if (sigma == 0.0f && window == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`sigma` and `window_size` shouldn't be 0 at the same time for sample: %d, "
                       "axis: %d.",
                       sample, (int)i);
    if (sigma > (float)(WINDOW_MAX / 6 - 1) || window > WINDOW_MAX)
        return hr_fail(error, HR_STATUS_VALUE,
                       "axis %d: the window is too large; it can have at most %d taps", (int)i,
                       WINDOW_MAX);
    *taps = window > 0 ? window : 2 * (int32_t)-floorf(-3.0f * sigma) + 1;
    *deviation = (double)(sigma > 0.0f ? sigma : (float)((window - 1) / 2 - 1) * 0.3f + 0.8f);
    if (*taps % 2 == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "axis %d: Kernel window should have odd length, got: %d.", (int)i,
                       (int)window);
    return HR_STATUS_OK;
}

static hr_status curve_make(double deviation, int32_t count, hr_arena *arena, hr_given_taps *out,
                            hr_error *error)
{
    float *taps = hr_arena_alloc(arena, (size_t)count * sizeof(*taps), error);
    int32_t half = count / 2;
    double sum = 1.0, scale = 0.5 / (deviation * deviation);

    HR_TRY_ALLOC(taps);
    for (int32_t k = 1; k <= half; k++)
        sum += 2.0 * hr_exp(-(double)k * k * scale);
    for (int32_t k = 0; k <= half; k++)
        taps[half - k] = taps[half + k] = (float)(hr_exp(-(double)k * k * scale) / sum);
    *out = (hr_given_taps){taps, count};
    return HR_STATUS_OK;
}

static hr_status gaussian_taps(const hr_op_call *c, const hr_data_axes *axes, int64_t frame,
                               hr_filters *out, hr_error *error)
{
    const gaussian_args *a = c->args;
    hr_given_taps *taps = out->taps[0];
    const hr_floats sigma = hr__frame_floats(a->sigma, frame);
    const hr_ints window = hr__frame_ints(a->window_size, frame);

    out->count = 1;
    HR_TRY(hr__axis_count_check("sigma", sigma.n, axes->count, error));
    HR_TRY(hr__axis_count_check("window_size", window.n, axes->count, error));
    for (int32_t i = 0; i < axes->count; i++) {
        float of = sigma.v[sigma.n == 1 ? 0 : i];
        int32_t size = window.v[window.n == 1 ? 0 : i], count = 1;
        double deviation = 1.0;
        HR_TRY(solve(c, of, size, i, &deviation, &count, error));
        if (i > 0 && sigma.n == 1 && window.n == 1)
            taps[i] = taps[0];
        else
            HR_TRY(curve_make(deviation, count, c->arena, &taps[i], error));
    }
    return HR_STATUS_OK;
}

/* The pieces: one per frame if frames have taps of their own. */
static hr_status pieces_count(const gaussian_args *a, const hr_data_axes *axes, int64_t frames,
                              int32_t *count, hr_error *error)
{
    HR_TRY(hr__frame_count_check("sigma", a->sigma.frames, axes, frames, error));
    HR_TRY(hr__frame_count_check("window_size", a->window_size.frames, axes, frames, error));
    *count = HR_MAX(HR_MAX(a->sigma.frames, a->window_size.frames), 1);
    return HR_STATUS_OK;
}

static hr_status gaussian_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const gaussian_args *a = c->args;
    hr_data_axes axes;
    hr_dtype dtype;
    int32_t count;

    HR_TRY(hr__data_axes_of_program(program, &axes, error));
    HR_TRY(hr__filtered_dtype(a->dtype, hr_program_dtype(program), &dtype, error));
    HR_TRY(pieces_count(a, &axes, hr_program_extent(program, 'F'), &count, error));
    return hr__separable_lower(c, program, count, dtype, gaussian_taps, error);
}

static hr_status gaussian_infer(hr_op_call *c, hr_error *error)
{
    const gaussian_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_data_axes axes;
    hr_dtype dtype;
    int32_t count;

    HR_TRY(hr__data_axes(&in->layout, in->shape.ndim, &axes, error));
    HR_TRY(hr__filtered_dtype(a->dtype, in->dtype, &dtype, error));
    HR_TRY(pieces_count(a, &axes, axes.frames ? in->shape.extent[0] : 1, &count, error));
    return hr__separable_infer(c, &axes, count, dtype, gaussian_taps, error);
}

const hr_op_def hr_op_gaussian_blur = {
    HR_OP("gaussian_blur"),
    .doc = "Blurs images, volumes and other data with one to three axes: every dimension except "
           "frames and channels is filtered with a Gaussian. At the edges, elements are reflected; "
           "the first and the last are not repeated. Without a layout, all dimensions are axes.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(gaussian_args,
            HR_ARG(gaussian_args, sigma, FLOATS, PER_AXIS | HR_ARG_NONFINITE, "[0.0]",
                   "Standard deviation in elements: one for all axes, or one per axis in the order "
                   "of the layout. 0: derived from the window size."),
            HR_ARG(gaussian_args, window_size, INTS, PER_AXIS, "[0]",
                   "Number of taps, odd: one for all axes, or one per axis. 0: derived from "
                   "`sigma`; the window reaches three standard deviations to each side."),
            HR_ARG(gaussian_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                   "Type of the output: that of the input (default) or FLOAT.")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = gaussian_infer,
    .lower = gaussian_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
    .run = hr__separable_run,
};
