/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* laplacian: the sum of second derivatives along each data axis, smoothed along the others. */
#include "ops/filter/separable.h"

#include <string.h>

enum { WINDOW_MAX = 31 };

typedef struct laplacian_args {
    hr_ints window_size, smoothing_size;
    hr_floats scale;
    int32_t normalized_kernel, dtype;
} laplacian_args;

#define PER_AXIS (HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_SCALAR_OK)

static hr_status laplacian_check(const void *args, const hr_given *given, hr_error *error)
{
    if (((const laplacian_args *)args)->normalized_kernel && hr_arg_given(given, "scale"))
        return hr_fail(error, HR_STATUS_ERROR,
                       "Parameter ``scale`` cannot be specified when ``normalized_kernel`` is set "
                       "to True");
    return HR_STATUS_OK;
}

/* Row n - 1 of Pascal's triangle: n taps. For the derivative it is convolved with [1, -2, 1], which
 * takes two of the taps. */
static hr_status window_make(int32_t n, bool derivative, float scale, hr_arena *arena,
                             hr_given_taps *out, hr_error *error)
{
    double taps[WINDOW_MAX + 1] = {1.0};
    float *to = hr_arena_alloc(arena, (size_t)n * sizeof(*to), error);

    HR_TRY_ALLOC(to);
    for (int32_t i = 1; i < n; i++) {
        double sign = derivative && i >= n - 2 ? -1.0 : 1.0;
        for (int32_t k = i; k > 0; k--)
            taps[k] = taps[k - 1] + sign * taps[k];
        taps[0] *= sign;
    }
    for (int32_t k = 0; k < n; k++)
        to[k] = (float)taps[k] * scale;
    *out = (hr_given_taps){to, n};
    return HR_STATUS_OK;
}

static hr_status size_check(bool smooth, int32_t n, hr_error *error)
{
    const int32_t least = smooth ? 1 : 3;

    if (n >= least && n <= WINDOW_MAX && n % 2 == 1)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s must be an odd integer between %d and %d; `%s` is %d",
                   smooth ? "Smoothing window size" : "Window size", (int)least, WINDOW_MAX,
                   smooth ? "smoothing_size" : "window_size", (int)n);
}

/* The taps of the filter whose derivative is along axis `i`. */
static hr_status filter_make(const hr_op_call *c, int32_t axes, int32_t i, hr_ints window,
                             hr_ints smoothing, float scale, hr_given_taps *taps, hr_error *error)
{
    const laplacian_args *a = c->args;
    int32_t size[HR_DATA_AXES_MAX], sum = 0;

    for (int32_t k = 0; k < axes; k++) {
        bool smooth = k != i && smoothing.v != NULL;
        const hr_ints *list = smooth ? &smoothing : &window;
        size[k] = list->v[list->n == 1 ? 0 : smooth ? k : i];
        HR_TRY(size_check(smooth, size[k], error));
        sum += size[k];
    }
    for (; a->normalized_kernel && sum > axes + 2; sum--)
        scale *= 0.5f;
    for (int32_t k = 0; k < axes; k++)
        HR_TRY(window_make(size[k], k == i, k == i ? scale : 1.0f, c->arena, &taps[k], error));
    return HR_STATUS_OK;
}

static hr_status laplacian_taps(const hr_op_call *c, const hr_data_axes *axes, int64_t frame,
                                hr_filters *out, hr_error *error)
{
    const laplacian_args *a = c->args;
    const hr_ints window = hr__frame_ints(a->window_size, frame);
    const hr_ints smoothing = hr__frame_ints(a->smoothing_size, frame);
    const hr_floats scale = hr__frame_floats(a->scale, frame);

    HR_TRY(hr__axis_count_check("window_size", window.n, axes->count, error));
    HR_TRY(hr__axis_count_check("scale", scale.n, axes->count, error));
    if (smoothing.v)
        HR_TRY(hr__axis_count_check("smoothing_size", smoothing.n, axes->count, error));
    memset(out, 0, sizeof(*out));
    out->count = axes->count;
    for (int32_t i = 0; i < axes->count; i++)
        HR_TRY(filter_make(c, axes->count, i, window, smoothing, scale.v[scale.n == 1 ? 0 : i],
                           out->taps[i], error));
    return HR_STATUS_OK;
}

/* The pieces: one per frame if frames have taps of their own. */
static hr_status pieces_count(const laplacian_args *a, const hr_data_axes *axes, int64_t frames,
                              int32_t *count, hr_error *error)
{
    const int32_t given[] = {a->window_size.frames, a->smoothing_size.frames, a->scale.frames};

    HR_TRY(hr__frame_count_check("window_size", given[0], axes, frames, error));
    HR_TRY(hr__frame_count_check("smoothing_size", given[1], axes, frames, error));
    HR_TRY(hr__frame_count_check("scale", given[2], axes, frames, error));
    *count = HR_MAX(HR_MAX(given[0], given[1]), HR_MAX(given[2], 1));
    return HR_STATUS_OK;
}

/* As in DALI. */
static hr_status type_check(hr_dtype in, hr_error *error)
{
    if (in != HR_DTYPE_FLOAT64)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "the input is FLOAT64, which is not supported");
}

static hr_status laplacian_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const laplacian_args *a = c->args;
    hr_data_axes axes;
    hr_dtype dtype;
    int32_t count;

    HR_TRY(type_check(hr_program_dtype(program), error));
    HR_TRY(hr__data_axes_of_program(program, &axes, error));
    HR_TRY(hr__filtered_dtype(a->dtype, hr_program_dtype(program), &dtype, error));
    HR_TRY(pieces_count(a, &axes, hr_program_extent(program, 'F'), &count, error));
    return hr__separable_lower(c, program, count, dtype, laplacian_taps, error);
}

static hr_status laplacian_infer(hr_op_call *c, hr_error *error)
{
    const laplacian_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_data_axes axes;
    hr_dtype dtype;
    int32_t count;

    HR_TRY(type_check(in->dtype, error));
    HR_TRY(hr__data_axes(&in->layout, in->shape.ndim, &axes, error));
    HR_TRY(hr__filtered_dtype(a->dtype, in->dtype, &dtype, error));
    HR_TRY(pieces_count(a, &axes, axes.frames ? in->shape.extent[0] : 1, &count, error));
    return hr__separable_infer(c, &axes, count, dtype, laplacian_taps, error);
}

const hr_op_def hr_op_laplacian = {
    HR_OP("laplacian"),
    .doc = "Computes the Laplacian of images, volumes and other data with one to three axes: the "
           "sum of the second derivatives along every dimension except frames and channels. At the "
           "edges, elements are reflected; the first and the last are not repeated. Without a "
           "layout, all dimensions are axes.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        laplacian_args,
        HR_ARG(laplacian_args, window_size, INTS, PER_AXIS, "[3]",
               "Number of taps of the derivatives, odd, from 3 to 31: one for all axes, or one per "
               "axis in the order of the layout."),
        HR_ARG(laplacian_args, smoothing_size, INTS, PER_AXIS | HR_ARG_OPTIONAL, NULL,
               "Number of taps of the smoothing along the other axes, odd, from 1 to 31: one for "
               "all axes, or one per axis. Default: that of the derivative. 1: no smoothing."),
        HR_ARG(laplacian_args, scale, FLOATS, PER_AXIS | HR_ARG_NONFINITE, "[1.0]",
               "Factors of the derivatives: one for all axes, or one per axis."),
        HR_ARG(laplacian_args, normalized_kernel, BOOL, 0, "False",
               "Scale each derivative by 2 ^ (axes + 2 - the sum of its numbers of taps), so that "
               "the output has about the range of the input."),
        HR_ARG(laplacian_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
               "Type of the output: that of the input (default) or FLOAT.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = laplacian_check,
    .infer = laplacian_infer,
    .lower = laplacian_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
    .run = hr__separable_run,
};
