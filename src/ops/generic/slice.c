/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* slice: takes a window of a tensor. For images it is a step of an image program if possible. */
#include "image/program.h"
#include "ops/generic/border_parts.h"
#include "ops/generic/view.h"
#include "ops/generic/window_parts.h"
#include "ops/image/crop_window.h"
#include "ops/common/slice_range.h"
#include "ops/common/wrap.h"

#include <string.h>

#define VIEW_BYTES 4096 /* smaller windows are copied: a view keeps the whole input alive */

typedef struct slice_args {
    hr_slice_args window;
    hr_floats fill_values;
    const char *out_of_bounds_policy;
    int32_t dtype;
} slice_args;

typedef struct box {
    int64_t start[HR_MAX_NDIM], size[HR_MAX_NDIM];
    bool sticks_out;  /* with a policy that says what is outside: */
    hr_border border; /* that policy */
} box;

static hr_status slice_type(const slice_args *a, hr_dtype in, hr_dtype *out, hr_error *error)
{
    *out = a->dtype == HR_DTYPE_NONE ? in : (hr_dtype)a->dtype;
    if (*out == in || *out == HR_DTYPE_FLOAT || *out == HR_DTYPE_FLOAT16 || *out == HR_DTYPE_UINT8)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`dtype` is %s: it must be the input's type, %s, or FLOAT, FLOAT16, UINT8",
                   hr_dtype_name(*out), hr_dtype_name(in));
}

/* The layout of a tensor, or a usual one if it has none. */
static const char *usual_layout(const hr_tensor *in)
{
    static const char *const usual[] = {"", "", "HW", "HWC", "DHWC"};

    if (in->layout.name[0])
        return in->layout.name;
    return in->shape.ndim < (int32_t)HR_COUNT_OF(usual) ? usual[in->shape.ndim] : "";
}

static hr_status bound(const slice_args *a, const hr_tensor *in, int32_t d, box *b, hr_error *error)
{
    int64_t extent = in->shape.extent[d], start = b->start[d], end = start + b->size[d];

    if (start >= 0 && end <= extent)
        return HR_STATUS_OK;
    if (hr__border_named(a->out_of_bounds_policy, &b->border)) {
        b->sticks_out = true;
        return HR_STATUS_OK;
    }
    if (hr__bounds_parse(a->out_of_bounds_policy) == HR_BOUNDS_TRIM) {
        b->start[d] = HR_MIN(HR_MAX(start, 0), extent);
        b->size[d] = HR_MAX(HR_MIN(end, extent) - b->start[d], 0);
        return HR_STATUS_OK;
    }
    return hr_fail(error, HR_STATUS_ERROR,
                   "Slice can't be placed out of bounds with current policy. Got: %lld to %lld "
                   "along dimension %d, which has %lld elements. Give `out_of_bounds_policy` "
                   "\"pad\", \"clamp\" or \"trim_to_shape\" to allow it",
                   (long long)start, (long long)end, (int)d, (long long)extent);
}

/* Only the shape and layout of `in` are used. */
static hr_status slice_box(const hr_op_call *c, const hr_tensor *in, box *b, hr_error *error)
{
    const slice_args *a = c->args;
    const hr_slice_args *w = &a->window;
    hr_tensor named = *in;
    int32_t axes[HR_MAX_NDIM], count = 0;

    HR_TRY(hr__slice_given(c, w, error));
    if (in->shape.ndim == 0)
        return hr_fail(error, HR_STATUS_ERROR, "the input is a scalar, which cannot be sliced");
    memset(&named.layout, 0, sizeof(named.layout));
    memcpy(named.layout.name, usual_layout(in), strlen(usual_layout(in)));
    HR_TRY(hr__axes_resolve(&named, w->axes, w->axis_names ? w->axis_names : "WH", axes, &count,
                            error));
    b->sticks_out = false;
    b->border = HR_BORDER_CONSTANT;
    for (int32_t d = 0; d < in->shape.ndim; d++) {
        b->start[d] = 0;
        b->size[d] = in->shape.extent[d];
    }
    for (int32_t i = 0; i < count; i++) {
        int32_t d = axes[i];
        int64_t end;
        HR_TRY(hr__slice_range(c, w, count, i, in->shape.extent[d], &b->start[d], &end, error));
        b->size[d] = end - b->start[d];
        HR_TRY(bound(a, in, d, b, error));
    }
    return HR_STATUS_OK;
}

static hr_status fill_check(const slice_args *a, const hr_tensor *in, const box *b, hr_error *error)
{
    const char *layout = usual_layout(in), *at = strchr(layout, 'C');
    hr_border border;
    bool pads = hr__border_named(a->out_of_bounds_policy, &border) && border == HR_BORDER_CONSTANT;

    if (!pads || a->fill_values.n <= 1 || (at && b->size[at - layout] == a->fill_values.n))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`fill_values` has %d elements: it must have one, or one per channel",
                   (int)a->fill_values.n);
}

/* A large window that is contiguous in memory becomes a view. */
static void view_it(hr_op_call *c)
{
    hr_region_parts *parts = c->memo;
    const hr_region_part *part = parts->part;
    size_t bytes;

    if (parts->count != 1 || part->input < 0 || part->region.ndim > 0 || parts->convert ||
        !c->in[0].data || !hr_tensor_bytes(&c->out[0], &bytes) || bytes < VIEW_BYTES)
        return;
    c->out[0].data = (char *)c->in[0].data + part->from;
    c->out[0].buffer = c->in[0].buffer;
    parts->count = 0;
}

static hr_status slice_infer(hr_op_call *c, hr_error *error)
{
    const slice_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const char *layout = usual_layout(in), *at = strchr(layout, 'C');
    const float zero = 0.0f;
    hr_dtype dtype;
    box b;

    HR_TRY(slice_type(a, in->dtype, &dtype, error));
    HR_TRY(slice_box(c, in, &b, error));
    HR_TRY(fill_check(a, in, &b, error));
    hr_tensor_describe(&c->out[0], dtype, hr_shape_make(in->shape.ndim, b.size), in->layout.name);
    if (b.border != HR_BORDER_CONSTANT)
        return hr__border_parts(c, b.start, b.border, error);
    HR_TRY(hr__window_parts(c, b.start, a->fill_values.n ? a->fill_values.v : &zero,
                            b.sticks_out ? HR_MAX(a->fill_values.n, 1) : 1,
                            at ? (int32_t)(at - layout) : -1, error));
    view_it(c);
    return HR_STATUS_OK;
}

/* Windows of height, width and depth are added to the image program. All others cannot be fused. */
static hr_status slice_lower(hr_op_call *c, hr_image_program *p, hr_error *error)
{
    const slice_args *a = c->args;
    hr_image_program before = *p;
    hr_tensor in = {.dtype = hr_program_dtype(p), .layout = p->layout};
    float values[HR_CHANNELS_MAX] = {0}, *fill;
    int32_t fills = HR_MAX(a->fill_values.n, 1);
    hr_window window = {0, 0, hr_program_extent(p, 'H'), hr_program_extent(p, 'W')};
    hr_point_step cut = {.kind = HR_POINT_KIND_CUT};
    box b;

    for (const char *name = p->layout.name; *name; name++)
        in.shape.extent[in.shape.ndim++] = hr_program_extent(p, *name);
    HR_TRY(slice_type(a, in.dtype, &cut.dtype, error));
    HR_TRY(slice_box(c, &in, &b, error));
    HR_TRY(fill_check(a, &in, &b, error));
    if (fills > HR_CHANNELS_MAX || b.border != HR_BORDER_CONSTANT)
        return HR_STATUS_NOT_FUSABLE;
    for (int32_t i = 0; i < a->fill_values.n; i++)
        values[i] = hr__value_wrap(a->fill_values.v[i], cut.dtype);
    fill = b.sticks_out ? values : NULL;
    hr_status status = hr_program_point(p, &cut, error);
    for (int32_t d = 0; d < in.shape.ndim && status == HR_STATUS_OK; d++) {
        char name = p->layout.name[d];
        bool whole = b.start[d] == 0 && b.size[d] == in.shape.extent[d];
        if (name == 'H')
            window = (hr_window){b.start[d], window.x, b.size[d], window.w};
        else if (name == 'W')
            window = (hr_window){window.y, b.start[d], window.h, b.size[d]};
        else if (!whole && name != 'D')
            status = HR_STATUS_NOT_FUSABLE;
        else if (!whole)
            status = hr_program_crop_outer(p, 'D', b.start[d], b.size[d], fill, fills, error);
    }
    if (status == HR_STATUS_OK)
        status = hr_program_crop(p, window, fill, fills, error);
    if (status != HR_STATUS_OK)
        *p = before;
    return status;
}

const hr_op_def hr_op_slice = {
    HR_OP("slice"),
    .doc =
        "Takes a window of a tensor. The window is given by its start and its end or size, in "
        "elements or in fractions of the extent; x comes before y unless `axes` or `axis_names` "
        "are given. Anchor and shape of the window can also be inputs. The layout does not change.",
    .devices = "cpu|gpu",
    .flags = HR_OP_BORROWS | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        slice_args, HR_SLICE_ARG_DEFS(slice_args, window),
        HR_ARG(slice_args, fill_values, FLOATS, HR_ARG_NONFINITE, "[0.0]",
               "Values outside the input for the policy \"pad\": one value, or one per channel."),
        HR_ARG(slice_args, out_of_bounds_policy, STRING, 0, "\"error\"",
               "What to do if the window extends beyond the input: \"error\"; \"trim_to_shape\" "
               "(make the window smaller); \"pad\" or \"constant\" (fill with `fill_values`); "
               "\"clamp\" or \"edge\" (aaa|abcd|ddd); \"reflect_1001\" or \"reflect\" "
               "(cba|abcd|dcb); \"reflect_101\" (dcb|abcd|cba); \"wrap\" (bcd|abcd|abc).",
               .choices = HR_BOUNDS_CHOICES "|" HR_BOUNDS_REPEAT_CHOICES),
        HR_ARG(slice_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
               "Type of the output: that of the input (default), FLOAT, FLOAT16 or UINT8. "
               "Fractions are truncated, and values outside the range saturate."),
        HR_ARG_RENAMED(output_dtype, DTYPE, dtype, "0.24"),
        HR_ARG_GONE(image_type, IMAGE_TYPE, NULL, "0.24")),
    .in = HR_INPUTS({.name = "data"}, {.name = "anchor", .host = true},
                    {.name = "shape", .host = true}),
    .in_min = 1,
    .infer = slice_infer,
    .lower = slice_lower,
    .lower_rank = HR_LOWER_RANK_WINDOW,
    .run = hr__parts_run,
};
