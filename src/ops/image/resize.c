/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* resize: images, sequences and volumes. Images are resized by a step of an image program;
 * volumes whose depth changes are resampled here. */
#include "ops/image/resize.h"
#include "ops/image/pixels.h"
#include "ops/image/resize_size.h"

#include <math.h>
#include <string.h>

typedef struct resize_args {
    hr_resize_args resize;
    int32_t save_attrs;
} resize_args;

static int32_t resize_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return ((const resize_args *)args)->save_attrs ? 2 : 1;
}

hr_status hr__resize_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)args;
    if (hr_arg_given(given, "roi_start") != hr_arg_given(given, "roi_end"))
        return hr_fail(error, HR_STATUS_ERROR, "`roi_start` and `roi_end` must be given together");
    return HR_STATUS_OK;
}

static hr_resize_mode mode_parse(const hr_resize_args *args)
{
    if (!isnan(args->resize_shorter))
        return HR_RESIZE_MODE_NOT_SMALLER;
    if (!isnan(args->resize_longer))
        return HR_RESIZE_MODE_NOT_LARGER;
    if (!args->mode || strcmp(args->mode, "default") == 0)
        return HR_RESIZE_MODE_DEFAULT;
    if (strcmp(args->mode, "stretch") == 0)
        return HR_RESIZE_MODE_STRETCH;
    return strcmp(args->mode, "not_larger") == 0 ? HR_RESIZE_MODE_NOT_LARGER
                                                 : HR_RESIZE_MODE_NOT_SMALLER;
}

/* A list with one number per axis, or one for all axes unless `exact`. */
static hr_status spread(const char *name, hr_floats list, int32_t axes, bool exact, float *out,
                        hr_error *error)
{
    if (list.n != axes && (exact || list.n != 1))
        return hr_fail(error, HR_STATUS_ERROR, "`%s` has %d elements: it must have %d%s", name,
                       (int)list.n, (int)axes, exact ? "" : " or one");
    for (int32_t i = 0; i < axes; i++)
        out[i] = list.v[list.n == 1 ? 0 : i];
    return HR_STATUS_OK;
}

static float or_zero(float v)
{
    return isnan(v) ? 0.0f : v;
}

static hr_status request_make(const hr_resize_args *args, int32_t axes, const int64_t *extent,
                              hr_resize_request *q, hr_error *error)
{
    float one = !isnan(args->resize_shorter) ? args->resize_shorter : args->resize_longer;
    const float separate[3] = {or_zero(args->resize_z), or_zero(args->resize_y),
                               or_zero(args->resize_x)};

    if (isnan(one) && !args->size.v && isnan(args->resize_x) && isnan(args->resize_y) &&
        isnan(args->resize_z))
        /* not in the check: DALI accepts such a node if it never runs */
        return hr_fail(error, HR_STATUS_ERROR,
                       "the output size is given in exactly one of these ways: `size`, "
                       "`resize_x`/`resize_y`/`resize_z`, `resize_shorter`, `resize_longer`");
    *q = (hr_resize_request){
        .axes = axes, .mode = mode_parse(args), .subpixel = args->subpixel_scale != 0};
    for (int32_t i = 0; i < axes; i++) {
        q->hi[i] = (float)extent[i];
        q->size[i] = isnan(one) ? separate[3 - axes + i] : one;
    }
    if (args->size.v)
        HR_TRY(spread("size", args->size, axes, false, q->size, error));
    if (args->max_size.v)
        HR_TRY(spread("max_size", args->max_size, axes, false, q->max_size, error));
    if (!args->roi_start.v || !args->roi_end.v)
        return HR_STATUS_OK;
    HR_TRY(spread("roi_start", args->roi_start, axes, true, q->lo, error));
    HR_TRY(spread("roi_end", args->roi_end, axes, true, q->hi, error));
    for (int32_t i = 0; i < axes && args->roi_relative; i++) {
        q->lo[i] *= (float)extent[i];
        q->hi[i] *= (float)extent[i];
    }
    return HR_STATUS_OK;
}

/* Removes axes without elements from the request. `kept` gets the numbers of the other axes. */
static void drop_empty(hr_resize_request *q, const int64_t *extent, int32_t *kept)
{
    int32_t n = 0;

    for (int32_t i = 0; i < q->axes; i++) {
        if (extent[i] == 0)
            continue;
        q->lo[n] = q->lo[i];
        q->hi[n] = q->hi[i];
        q->size[n] = q->size[i];
        q->max_size[n] = q->max_size[i];
        kept[n++] = i;
    }
    q->axes = n;
}

/* The axes to resample; the last two are height and width. */
static hr_status solve(const hr_op_call *c, int32_t axes, const int64_t *extent, int32_t first,
                       hr_resize_then_fn then, hr_resample_axis *axis, hr_error *error)
{
    const hr_resize_args *args = c->args;
    hr_resize_request q;
    hr_resample_axis solved[HR_RESIZE_MAX_AXES] = {0};
    int32_t kept[HR_RESIZE_MAX_AXES];

    HR_TRY(request_make(args, axes, extent, &q, error));
    drop_empty(&q, extent, kept);
    HR_TRY(hr__resize_solve(&q, solved, error));
    memset(axis, 0, (size_t)axes * sizeof(*axis));
    for (int32_t i = 0; i < q.axes; i++)
        axis[kept[i]] = solved[i];
    for (int32_t i = 0; i < axes; i++)
        hr__filter_choose(&args->filter, &axis[i]);
    if (then)
        HR_TRY(then(c, axes, first, axis, error));
    return hr__pixels_check(c, axes == 3 ? axis[0].out : 1, axis[axes - 2].out, axis[axes - 1].out,
                            error);
}

static bool keeps(const hr_resample_axis *axis, int64_t extent)
{
    return hr__resample_is_identity(&(hr_filter_axis){.resample = *axis}, extent);
}

hr_status hr__resize_lower(hr_op_call *c, hr_image_program *program, hr_resize_then_fn then,
                           hr_error *error)
{
    const hr_resize_args *args = c->args;
    const int64_t extent[3] = {hr_program_extent(program, 'D'), hr_program_extent(program, 'H'),
                               hr_program_extent(program, 'W')};
    int32_t axes = hr_program_has(program, 'D') ? 3 : 2;
    int32_t first = hr_layout_find(&program->layout, 'W') - axes + 1;
    hr_resample_axis axis[3] = {0};
    hr_dtype dtype;

    if (c->n_out > 1)
        return HR_STATUS_NOT_FUSABLE; /* the second output is not an image */
    if (extent[0] == 0 || extent[1] == 0 || extent[2] == 0)
        return HR_STATUS_NOT_FUSABLE; /* there are no pixels */
    HR_TRY(hr__filter_dtype(&args->filter, hr_program_dtype(program), &dtype, error));
    HR_TRY(solve(c, axes, extent + 3 - axes, first, then, axis, error));
    if (axes == 3 && !keeps(&axis[0], extent[0]))
        return HR_STATUS_NOT_FUSABLE;
    return hr_program_resample(program, &axis[axes - 2], &axis[axes - 1], dtype, error);
}

hr_status hr__resize_infer(hr_op_call *c, hr_resize_then_fn then, hr_error *error)
{
    const hr_resize_args *args = c->args;
    const hr_tensor *in = &c->in[0];
    hr_resize *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    hr_shape shape = in->shape;
    hr_resample_axis axis[HR_RESIZE_MAX_AXES];
    hr_layout layout;
    hr_dtype dtype;

    HR_TRY_ALLOC(memo);
    *memo = (hr_resize){0};
    hr_resampling *work = &memo->work;
    HR_TRY(hr_layout_match(HR_RESIZE_LAYOUTS, &in->layout, shape.ndim, &layout, error));
    HR_TRY(hr__filter_dtype(&args->filter, in->dtype, &dtype, error));
    memo->axes = work->axes = hr_layout_find(&layout, 'D') >= 0 ? 3 : 2;
    work->first = hr_layout_find(&layout, 'W') - work->axes + 1;
    int64_t *extent = shape.extent + work->first;
    HR_TRY(solve(c, work->axes, extent, work->first, then, axis, error));
    work->images = work->axes == 2 || keeps(&axis[0], extent[0]);
    for (int32_t i = 0; i < memo->axes; i++) {
        memo->extent[i] = (int32_t)extent[i];
        extent[i] = axis[i].out;
        work->axis[i].resample = axis[i];
    }
    if (work->images && work->axes == 3) {
        memmove(work->axis, work->axis + 1, 2 * sizeof(*work->axis));
        work->axes = 2;
        work->first++;
    }
    if (c->n_out > 1)
        hr_tensor_describe(&c->out[1], HR_DTYPE_INT32, hr_shape_make(1, &(int64_t){memo->axes}),
                           NULL);
    hr_tensor_describe(&c->out[0], dtype, shape, layout.name);
    c->memo = memo;
    return hr__resample_infer(c, work, error);
}

hr_status hr__resize_run(hr_op_call *c, hr_error *error)
{
    const hr_resize *memo = c->memo;

    if (c->n_out > 1)
        memcpy(c->out[1].data, memo->extent, (size_t)memo->axes * sizeof(*memo->extent));
    return hr__resample_run(c, &memo->work, error);
}

static hr_status resize_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    return hr__resize_lower(c, program, NULL, error);
}

static hr_status resize_infer(hr_op_call *c, hr_error *error)
{
    return hr__resize_infer(c, NULL, error);
}

const hr_op_def hr_op_resize = {
    HR_OP("resize"),
    .doc = "Resizes images (height, width), every frame of sequences, and volumes (depth, height, "
           "width). Pixel i covers [i, i + 1). When an axis shrinks, its filter is widened to "
           "avoid aliasing. Pixels outside the image repeat its edge. The input is UINT8, INT16, "
           "UINT16 or FLOAT, the output FLOAT or the input's type.",
    .aliases = HR_NAMES("experimental.resize"),
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(resize_args, HR_FILTER_ARG_DEFS(hr_resize_args, filter),
            HR_RESIZE_ARG_DEFS(resize_args, resize),
            HR_ARG(resize_args, save_attrs, BOOL, 0, "False",
                   "Add a second output, INT32: the extents of the input, (depth,) height, width."),
            HR_ARG_GONE(image_type, IMAGE_TYPE, NULL, "0.25")),
    .in = HR_INPUTS({.name = "data", .layouts = HR_RESIZE_LAYOUTS}),
    .out = HR_OUTPUTS({"output"}, {"attributes"}),
    .outputs = resize_outputs,
    .check = hr__resize_check,
    .infer = resize_infer,
    .lower = resize_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
    .run = hr__resize_run,
};
