/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* crop: a window of pictures, sequences and volumes. A window that leaves a volume along the depth,
 * and floats cut off to integers, are done here; all else is a step of an image program. */
#include "ops/image/crop_window.h"
#include "ops/generic/window_copy.h"
#include "ops/wrap.h"

#define LAYOUTS "HWC|CHW|DHWC|CDHW|FHWC|FCHW|CFHW|FDHWC|FCDHW|CFDHW"

typedef struct crop_args {
    hr_crop_args crop;
    const char *out_of_bounds_policy;
    int32_t dtype;
    hr_floats fill_values;
} crop_args;

static const hr_arg_def crop_arg_defs[] = {
    HR_CROP_ARG_DEFS(crop_args, crop),
    HR_ARG(crop_args, out_of_bounds_policy, STRING, 0, "\"error\"",
           "A window that leaves the picture is an \"error\", is filled (\"pad\", see "
           "`fill_values`) or made smaller (\"trim_to_shape\").",
           .choices = "error|pad|trim_to_shape"),
    HR_ARG(crop_args, fill_values, FLOATS, 0, "[0.0]",
           "What \"pad\" writes outside of the picture: one value or one a channel."),
    HR_ARG(crop_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
           "Type of the output: the input's (default), FLOAT, FLOAT16 or UINT8. Fractions are cut "
           "off, values outside of the range saturate."),
    HR_ARG_RENAMED(output_dtype, DTYPE, dtype, "0.24"),
    HR_ARG_GONE(image_type, IMAGE_TYPE, NULL, "0.24"),
    HR_ARG_END};

static hr_status crop_check(const void *args, uint64_t given, hr_error *error)
{
    (void)args;
    return hr__crop_check(crop_arg_defs, given, error);
}

static hr_status output_type(const crop_args *a, hr_dtype in, hr_dtype *out, hr_error *error)
{
    *out = a->dtype == HR_DTYPE_NONE ? in : (hr_dtype)a->dtype;
    if (*out == in || *out == HR_DTYPE_FLOAT || *out == HR_DTYPE_FLOAT16 || *out == HR_DTYPE_UINT8)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`dtype` is %s: it must be the input's type, %s, or FLOAT, FLOAT16, UINT8",
                   hr_dtype_name(*out), hr_dtype_name(in));
}

/* From floats DALI cuts off here, where `cast` rounds. */
static bool cuts_off(hr_dtype in, hr_dtype out)
{
    return hr_dtype_is_float(in) && !hr_dtype_is_float(out);
}

static hr_status crop_lower(hr_op_call *c, hr_image_program *p, hr_error *error)
{
    const crop_args *a = c->args;
    hr_bounds bounds = hr__bounds_parse(a->out_of_bounds_policy);
    int64_t d = hr_program_extent(p, 'D'), h = hr_program_extent(p, 'H');
    int64_t w = hr_program_extent(p, 'W');
    float fill[HR_CHANNELS_MAX];
    hr_point_step cast = {.kind = HR_POINT_KIND_CAST};
    hr_crop_box box;

    HR_TRY(output_type(a, hr_program_dtype(p), &cast.dtype, error));
    HR_TRY(hr__crop_box(&a->crop, hr_program_has(p, 'D'), d, h, w, &box, error));
    HR_TRY(hr__crop_bound(c, &box, bounds, d, h, w, error));
    if (cuts_off(hr_program_dtype(p), cast.dtype) || a->fill_values.n > HR_CHANNELS_MAX ||
        box.z.start < 0 || box.z.size > d - box.z.start)
        return HR_STATUS_NOT_FUSABLE;
    for (int32_t i = 0; i < a->fill_values.n; i++)
        fill[i] = hr__value_wrap(a->fill_values.v[i], cast.dtype);
    hr_image_program before = *p;
    hr_window window = {box.y.start, box.x.start, box.y.size, box.x.size};
    hr_status status = HR_STATUS_OK;
    if (cast.dtype != hr_program_dtype(p))
        status = hr_program_point(p, &cast, error);
    if (status == HR_STATUS_OK && (box.z.start != 0 || box.z.size != d))
        status = hr_program_crop_outer(p, 'D', box.z.start, box.z.size, error);
    if (status == HR_STATUS_OK)
        status = hr_program_crop(p, window, bounds == HR_BOUNDS_PAD ? fill : NULL,
                                 bounds == HR_BOUNDS_PAD ? a->fill_values.n : 0, error);
    if (status != HR_STATUS_OK)
        *p = before;
    return status;
}

static void set_axis(hr_op_call *c, char letter, const hr_crop_range *r, int64_t *start)
{
    int32_t d = hr_layout_find(&c->out[0].layout, letter);

    if (d < 0)
        return;
    start[d] = r->start;
    c->out[0].shape.extent[d] = r->size;
}

static int64_t extent_of(const hr_tensor *t, const hr_layout *layout, char letter)
{
    int32_t d = hr_layout_find(layout, letter);

    return d < 0 ? 1 : t->shape.extent[d];
}

static hr_status crop_infer(hr_op_call *c, hr_error *error)
{
    const crop_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    int64_t *start = hr_arena_alloc(c->arena, HR_MAX_NDIM * sizeof(*start), error);
    hr_layout layout;
    hr_dtype dtype;
    hr_crop_box box;

    if (!start)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(hr_layout_match(LAYOUTS, &in->layout, in->shape.ndim, &layout, error));
    HR_TRY(output_type(a, in->dtype, &dtype, error));
    int64_t d = extent_of(in, &layout, 'D'), h = extent_of(in, &layout, 'H');
    int64_t w = extent_of(in, &layout, 'W');
    HR_TRY(hr__crop_box(&a->crop, hr_layout_find(&layout, 'D') >= 0, d, h, w, &box, error));
    HR_TRY(hr__crop_bound(c, &box, hr__bounds_parse(a->out_of_bounds_policy), d, h, w, error));
    hr_tensor_describe(&c->out[0], dtype, in->shape, layout.name);
    for (int32_t i = 0; i < HR_MAX_NDIM; i++)
        start[i] = 0;
    set_axis(c, 'D', &box.z, start);
    set_axis(c, 'H', &box.y, start);
    set_axis(c, 'W', &box.x, start);
    c->memo = start;
    return HR_STATUS_OK;
}

/* The whole input in the output's type. */
static hr_status convert(hr_op_call *c, hr_tensor *all, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    size_t count, bytes;

    hr_tensor_describe(all, c->out[0].dtype, in->shape, in->layout.name);
    if (!hr_shape_volume(&in->shape, &count) || !hr_tensor_bytes(all, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    all->data = hr_arena_alloc(c->arena, bytes, error);
    if (!all->data)
        return HR_STATUS_NO_MEMORY;
    if (!cuts_off(in->dtype, all->dtype)) {
        hr_convert(all->data, all->dtype, in->data, in->dtype, count);
        return HR_STATUS_OK;
    }
    uint8_t *out = all->data;
    for (size_t i = 0; i < count; i++) { /* to UINT8 only */
        double v = hr_element_double(in->data, in->dtype, i);
        out[i] = v > 0.0 ? (uint8_t)HR_MIN(v, 255.0) : 0;
    }
    return HR_STATUS_OK;
}

static hr_status crop_run_one(hr_op_call *c, hr_error *error)
{
    const crop_args *a = c->args;
    int32_t channel = hr_layout_find(&c->out[0].layout, 'C');
    hr_tensor all = c->in[0];

    if (a->fill_values.n != 1 && (channel < 0 || a->fill_values.n != all.shape.extent[channel]) &&
        hr__bounds_parse(a->out_of_bounds_policy) == HR_BOUNDS_PAD)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`fill_values` has %d elements: it must have one, or one a channel",
                       (int)a->fill_values.n);
    if (all.dtype != c->out[0].dtype)
        HR_TRY(convert(c, &all, error));
    return hr__window_copy(&c->out[0], &all, c->memo, a->fill_values.v, a->fill_values.n, channel,
                           error);
}

static hr_status crop_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++)
        HR_TRY(crop_run_one(&calls[i], error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_crop = {
    HR_OP_ABI,
    .name = "crop",
    .doc = "Takes a window of the height and width (and depth, for volumes) of every frame. The "
           "layout stays.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    .args = crop_arg_defs,
    .args_size = sizeof(crop_args),
    .in = {{.name = "data", .layouts = LAYOUTS}},
    .in_min = 1,
    .in_max = 1,
    .out = {{"output"}},
    .out_count = 1,
    .check = crop_check,
    .infer = crop_infer,
    .lower = crop_lower,
    .lower_rank = HR_LOWER_RANK_WINDOW,
    .run_cpu = crop_run,
};
