/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fills tensors with equal or broadcast elements. */
#include "ops/generic/fill.h"
#include "core/dtype.h"
#include "ops/generic/region.h"
#include "ops/generic/view.h"

#include <string.h>

hr_status hr__fill_infer(hr_op_call *c, const hr_fill_args *a, int32_t dtype, hr_error *error)
{
    hr_shape shape = {.ndim = a->shape.n};
    size_t bytes;

    HR_TRY(hr__ndim_check(a->shape.n, error));
    for (int32_t d = 0; d < shape.ndim; d++)
        shape.extent[d] = a->shape.v[d];
    if (a->layout && a->layout[0] && strlen(a->layout) != (size_t)shape.ndim)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Layout '%s' has %d dimensions but output shape has %d", a->layout,
                       (int)strlen(a->layout), (int)shape.ndim);
    hr_tensor_describe(&c->out[0], (hr_dtype)dtype, shape, a->layout);
    if (!hr_tensor_bytes(&c->out[0], &bytes))
        return hr_fail(error, HR_STATUS_ERROR, "`shape` is too large");
    return HR_STATUS_OK;
}

/* Repeats one element, by copying a block that stays in the cache. */
static void fill(uint8_t *to, const hr_shape *shape, size_t item, const void *element)
{
    enum { BLOCK = 4096 };
    size_t count = 0, bytes, have = item;

    if (!hr_shape_volume(shape, &count) || count == 0)
        return;
    bytes = count * item;
    memcpy(to, element, item);
    if (memcmp(to, to + 1, item - 1) == 0) { /* all its bytes are equal */
        memset(to, to[0], bytes);
        return;
    }
    for (size_t more; have < bytes; have += more) {
        more = HR_MIN(HR_MIN(have, BLOCK / item * item), bytes - have);
        memcpy(to + have, to, more);
    }
}

/* Fills row-major memory of `shape` from one or more elements with the strides of `from`. */
static void repeat(void *to, const hr_shape *shape, size_t item, const void *from,
                   const int64_t *stride)
{
    hr_region region;

    hr__region_init(&region, shape, item);
    memcpy(region.from, stride, sizeof(region.from));
    hr__region_copy(to, from, &region);
}

hr_status hr__fill_number(const hr_op_call *c, double value)
{
    const hr_tensor *out = &c->out[0];
    uint8_t element[8];
    size_t bytes;

    hr_convert(element, out->dtype, &value, HR_DTYPE_FLOAT64, 1);
    for (int32_t k = 0; hr_tensor_bytes(out, &bytes) && k < c->count; k++)
        fill((uint8_t *)out->data + (size_t)k * bytes, &out->shape, hr_dtype_size(out->dtype),
             element);
    return HR_STATUS_OK;
}

static hr_status check(const hr_shape *to, const hr_shape *from, hr_error *error)
{
    char wide[128], narrow[128];
    bool fits = true;
    size_t count;

    if (to->ndim == 0 && hr_shape_volume(from, &count) && count > 0)
        return HR_STATUS_OK; /* the first element */
    for (int32_t i = 1; i <= from->ndim; i++) {
        int64_t extent = from->extent[from->ndim - i];
        fits = fits && (extent == 1 || (i <= to->ndim && extent == to->extent[to->ndim - i]));
    }
    if (fits)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "a fill value of shape %s cannot be broadcast to %s",
                   hr_shape_text(from, narrow, sizeof(narrow)),
                   hr_shape_text(to, wide, sizeof(wide)));
}

/* The strides of `from`, of elements of `item` bytes, along the dimensions of `to`. */
static void broadcast(const hr_shape *to, const hr_shape *from, size_t item, int64_t *stride)
{
    int64_t own[HR_MAX_NDIM];

    hr__strides(from, item, own);
    for (int32_t d = 0; d < to->ndim; d++) {
        int32_t k = d - to->ndim + from->ndim;
        stride[d] = k >= 0 && from->extent[k] != 1 ? own[k] : 0;
    }
}

/* The memo of a run on a device: all of output 0 is one region. */
static hr_status leave_part(hr_op_call *c, int32_t input, hr_region_parts **out, hr_error *error)
{
    const size_t item = hr_dtype_size(c->out[0].dtype);
    hr_region_parts *parts;

    HR_TRY(hr__parts_make(c->arena, 1, &parts, error));
    parts->part[0].input = input;
    hr__region_init(&parts->part[0].region, &c->out[0].shape, item);
    memset(parts->part[0].region.from, 0, sizeof(parts->part[0].region.from));
    c->memo = *out = parts;
    return HR_STATUS_OK;
}

hr_status hr__fill_number_infer(hr_op_call *c, double value, hr_error *error)
{
    const hr_dtype dtype = c->out[0].dtype;
    hr_region_parts *parts;

    if (!c->staging)
        return HR_STATUS_OK;
    HR_TRY(leave_part(c, -1, &parts, error));
    char *to = hr_arena_alloc(c->arena, HR_REGION_FILL, error);
    HR_TRY_ALLOC(to);
    for (size_t k = 0; k < HR_REGION_FILL; k += hr_dtype_size(dtype))
        hr_convert(to + k, dtype, &value, HR_DTYPE_FLOAT64, 1);
    parts->fill = to;
    parts->fill_size = HR_REGION_FILL;
    hr__region_simplify(&parts->part[0].region);
    return HR_STATUS_OK;
}

hr_status hr__fill_tensor_infer(hr_op_call *c, int32_t i, hr_error *error)
{
    const hr_tensor *from = &c->in[i], *out = &c->out[0];
    hr_region_parts *parts;

    HR_TRY(check(&out->shape, &from->shape, error));
    if (!c->staging)
        return HR_STATUS_OK;
    HR_TRY(leave_part(c, i, &parts, error));
    broadcast(&out->shape, &from->shape, hr_dtype_size(from->dtype), parts->part[0].region.from);
    parts->rounds = hr_dtype_number(from->dtype) != hr_dtype_number(out->dtype);
    if (!parts->rounds)
        hr__region_simplify(&parts->part[0].region);
    return HR_STATUS_OK;
}

hr_status hr__fill_tensor(hr_op_call *c, const hr_tensor *from, hr_error *error)
{
    const hr_tensor *out = &c->out[0];
    const void *data = from->data;
    size_t item = hr_dtype_size(out->dtype), count;
    int64_t stride[HR_MAX_NDIM];

    if (from->dtype != out->dtype) {
        if (!hr_shape_volume(&from->shape, &count))
            return hr_fail(error, HR_STATUS_LIMIT, "the fill value is too large");
        void *converted = hr_arena_alloc(c->arena, count * item, error);
        HR_TRY_ALLOC(converted);
        hr_convert(converted, out->dtype, data, from->dtype, count);
        data = converted;
    }
    if (hr_shape_volume(&from->shape, &count) && count == 1) {
        fill(out->data, &out->shape, item, data);
        return HR_STATUS_OK;
    }
    broadcast(&out->shape, &from->shape, item, stride);
    repeat(out->data, &out->shape, item, data, stride);
    return HR_STATUS_OK;
}

hr_status hr__number_infer(hr_op_call *c, double value, hr_error *error)
{
    const hr_number_args *a = c->args;

    HR_TRY(hr__fill_infer(c, &a->fill, a->dtype, error));
    return hr__fill_number_infer(c, value, error);
}

hr_status hr__number_like_infer(hr_op_call *c, double value, hr_error *error)
{
    const int32_t dtype = ((const hr_number_args *)c->args)->dtype;

    hr_tensor_describe(&c->out[0], dtype == HR_DTYPE_NONE ? c->in[0].dtype : (hr_dtype)dtype,
                       c->in[0].shape, c->in[0].layout.name);
    return hr__fill_number_infer(c, value, error);
}
