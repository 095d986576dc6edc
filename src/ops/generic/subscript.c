/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _subscript: implements x[...] of data nodes: NumPy's basic indexing, without new axes. */
#include "ops/generic/region.h"

#define VIEW_BYTES 4096 /* smaller windows are copied: a view keeps the whole input alive */

typedef struct subscript {
    hr_int64s at, lo, hi, step;
} subscript;

typedef struct subscript_args {
    int32_t num_subscripts;
    subscript of[HR_MAX_NDIM]; /* per dimension */
} subscript_args;

#define NUMBER(id, d, field, ...)                                                                  \
    {                                                                                              \
        .name = id "_" #d, .type = HR_ARG_TYPE_INT64S,                                             \
        .flags = HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL,                                              \
        .offset = offsetof(subscript_args, of[d].field), .size = sizeof(hr_int64s),                \
        .doc = __VA_ARGS__, .count_min = 1, .count_max = 1                                         \
    }
#define DIMENSION(d)                                                                               \
    NUMBER("at", d, at, "Index into dimension " #d ", which is removed; < 0: from the end.",       \
           .excludes = "lo_" #d "|hi_" #d "|step_" #d),                                            \
        NUMBER("lo", d, lo, "Start of a range of dimension " #d "; < 0: from the end."),           \
        NUMBER("hi", d, hi, "End of a range of dimension " #d "; < 0: from the end."),             \
        NUMBER("step", d, step, "Step of a range of dimension " #d ", not 0; default 1.")

static int64_t clamp(int64_t v, int64_t lo, int64_t hi)
{
    return HR_MAX(lo, HR_MIN(v, hi));
}

/* `v`, counted from the end if it is negative, and clamped to lo .. hi; `otherwise` if not given.
 */
static int64_t bound(hr_int64s v, int64_t extent, int64_t otherwise, int64_t lo, int64_t hi)
{
    if (!v.v)
        return otherwise;
    return clamp(v.v[0] < 0 ? clamp(v.v[0], -extent - 1, -1) + extent : v.v[0], lo, hi);
}

/* First index, number of indices and step of a range, with the rules of Python's slices. */
static hr_status range(const subscript *s, int32_t d, int64_t extent, int64_t *start,
                       int64_t *count, int64_t *step, hr_error *error)
{
    int64_t size = s->step.v ? s->step.v[0] : 1;

    if (size == 0)
        return hr_fail(error, HR_STATUS_ERROR, "`step_%d` is 0: the step of a range must not be 0",
                       d);
    bool back = size < 0;
    int64_t low = back ? -1 : 0, high = back ? extent - 1 : extent;
    int64_t end = bound(s->hi, extent, back ? low : high, low, high);
    *start = bound(s->lo, extent, back ? high : low, low, high);
    *step = clamp(size, -extent - 1, extent + 1); /* a larger one selects only the first index */
    int64_t reach = back ? *start - end : end - *start, stride = back ? -*step : *step;
    *count = reach > 0 ? (reach + stride - 1) / stride : 0;
    return HR_STATUS_OK;
}

static hr_status dimension(const subscript *s, const hr_tensor *in, int32_t d, hr_tensor *out,
                           hr_region_part *to, hr_error *error)
{
    int64_t extent = in->shape.extent[d], start = 0, count = extent, step = 1;

    if (s->at.v) {
        int64_t at = s->at.v[0];
        if (at < -extent || at >= extent)
            return hr_fail(error, HR_STATUS_ERROR,
                           "index %lld is out of range for dimension %d of extent %lld",
                           (long long)at, d, (long long)extent);
        to->from += (at < 0 ? at + extent : at) * to->region.from[d];
        return HR_STATUS_OK;
    }
    HR_TRY(range(s, d, extent, &start, &count, &step, error));
    int32_t k = to->region.ndim++;
    if (count > 0)
        to->from += start * to->region.from[d];
    to->region.from[k] = to->region.from[d] * step;
    to->region.extent[k] = out->shape.extent[k] = count;
    if (in->layout.name[0])
        out->layout.name[k] = in->layout.name[d];
    return HR_STATUS_OK;
}

static hr_status subscript_infer(hr_op_call *c, hr_error *error)
{
    const subscript_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_tensor *out = &c->out[0];
    int32_t needed = a->num_subscripts;
    hr_region_parts *parts;
    size_t bytes;

    HR_TRY(hr__parts_make(c->arena, 1, &parts, error));
    hr_region_part *s = parts->part;
    for (int32_t d = 0; d < HR_MAX_NDIM; d++)
        if (a->of[d].at.v || a->of[d].lo.v || a->of[d].hi.v || a->of[d].step.v)
            needed = HR_MAX(needed, d + 1);
    if (needed > in->shape.ndim)
        return hr_fail(error, HR_STATUS_ERROR, "%d subscripts for a tensor of %d dimensions",
                       (int)needed, (int)in->shape.ndim);
    hr_tensor_describe(out, in->dtype, (hr_shape){0}, NULL);
    hr__region_init(&s->region, &in->shape, hr_dtype_size(in->dtype));
    s->region.ndim = 0; /* each dimension that is kept adds one */
    for (int32_t d = 0; d < in->shape.ndim; d++)
        HR_TRY(dimension(&a->of[d], in, d, out, s, error));
    out->shape.ndim = s->region.ndim;
    hr__strides(&out->shape, s->region.item, s->region.to);
    hr__region_simplify(&s->region);
    if (in->data && c->count == 1 && s->region.ndim == 0 && hr_tensor_bytes(out, &bytes) &&
        bytes >= VIEW_BYTES) {
        out->data = (char *)in->data + s->from;
        out->buffer = in->buffer;
        parts->count = 0;
    }
    c->memo = parts;
    return HR_STATUS_OK;
}

const hr_op_def hr_op__subscript = {
    HR_OP("_subscript"),
    .doc = "Selects elements by index and range, like NumPy's basic indexing. `at_D` selects one "
           "index of dimension D and removes the dimension. `lo_D`, `hi_D` and `step_D` select a "
           "range, clipped to the extent. Other dimensions do not change. The layout loses the "
           "letters of removed dimensions.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_BORROWS | HR_OP_HIDDEN | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(subscript_args,
            HR_ARG(subscript_args, num_subscripts, INT, 0, "0",
                   "Number of subscripts, including whole dimensions (`:`). The input must have at "
                   "least as many dimensions.",
                   .min = 0, .max = INT32_MAX),
            DIMENSION(0), DIMENSION(1), DIMENSION(2), DIMENSION(3), DIMENSION(4), DIMENSION(5),
            DIMENSION(6), DIMENSION(7)),
    .in = HR_INPUTS({.name = "data"}),
    .infer = subscript_infer,
    .run = hr__parts_run,
};
