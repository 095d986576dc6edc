/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Windows with a filled border: one box of the source, and up to two boxes of fill per dimension.
 */
#include "ops/generic/window_parts.h"
#include "ops/common/wrap.h"

#include <string.h>

typedef struct window {
    hr_region_parts *parts;
    hr_region part; /* the part inside the source */
    int64_t low[HR_MAX_NDIM],
        size[HR_MAX_NDIM]; /* where that part begins in the window, and its size */
    int32_t channel_dim;   /* -1: one fill value */
} window;

static void part_add(window *w, const hr_region *region, int64_t to, int64_t from, int32_t input)
{
    hr_region_part *part = &w->parts->part[w->parts->count];

    for (int32_t d = 0; d < region->ndim; d++)
        if (region->extent[d] == 0)
            return;
    *part = (hr_region_part){.region = *region, .to = to, .from = from, .input = input};
    if (input < 0 || !w->parts->convert)
        hr__region_simplify(&part->region);
    w->parts->count++;
}

/* Elements low .. low + count - 1 of dimension `d`: where the source ended in dimensions before it,
 * and all of those behind it. */
static void fill_side(window *w, int32_t d, int64_t low, int64_t count)
{
    hr_region side = w->part;
    int64_t to = 0, from = 0;

    for (int32_t k = 0; k < side.ndim; k++) {
        int64_t start = k < d ? w->low[k] : k == d ? low : 0;
        side.extent[k] = k < d ? w->part.extent[k] : k == d ? count : w->size[k];
        side.from[k] = k == w->channel_dim ? HR_REGION_FILL : 0;
        from += start * side.from[k];
        to += start * side.to[k];
    }
    part_add(w, &side, to, from, -1);
}

static hr_status make_fill(hr_op_call *c, const float *fill, int32_t count, hr_region_parts *parts,
                           hr_error *error)
{
    size_t item = hr_dtype_size(c->out[0].dtype);
    char *to = hr_arena_alloc(c->arena, (size_t)count * HR_REGION_FILL, error);

    HR_TRY_ALLOC(to);
    parts->fill = to;
    parts->fill_size = (size_t)count * HR_REGION_FILL;
    for (int32_t i = 0; i < count; i++)
        for (size_t k = 0; k < HR_REGION_FILL; k += item, to += item)
            hr__value_cut(fill[i], c->out[0].dtype, to);
    return HR_STATUS_OK;
}

hr_status hr__window_parts(hr_op_call *c, const int64_t *start, const float *fill,
                           int32_t fill_count, int32_t channel_dim, hr_error *error)
{
    const hr_tensor *in = &c->in[0], *out = &c->out[0];
    window w = {.channel_dim = fill_count > 1 ? channel_dim : -1};
    int64_t from = 0, to = 0;
    size_t bytes;

    HR_TRY(hr__parts_make(c->arena, 1 + 2 * in->shape.ndim, &w.parts, error));
    w.parts->count = 0;
    c->memo = w.parts;
    if (!hr_tensor_bytes(out, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    if (bytes == 0)
        return HR_STATUS_OK;
    HR_TRY(make_fill(c, fill, fill_count, w.parts, error));
    w.parts->convert = in->dtype != out->dtype;
    hr__region_init(&w.part, &out->shape, hr_dtype_size(out->dtype));
    hr__strides(&in->shape, hr_dtype_size(in->dtype), w.part.from);
    for (int32_t d = 0; d < w.part.ndim; d++) {
        int64_t size = out->shape.extent[d], first = HR_MIN(HR_MAX(-start[d], 0), size);
        int64_t end = HR_MIN(start[d] + size, in->shape.extent[d]);
        w.size[d] = size;
        w.low[d] = first;
        w.part.extent[d] = HR_MAX(end - start[d] - first, 0);
        if (w.part.extent[d] > 0)
            from += (start[d] + first) * w.part.from[d];
        to += first * w.part.to[d];
    }
    part_add(&w, &w.part, to, from, 0);
    for (int32_t d = 0; d < w.part.ndim; d++) {
        int64_t high = w.low[d] + w.part.extent[d];
        fill_side(&w, d, 0, w.low[d]);
        fill_side(&w, d, high, w.size[d] - high);
    }
    return HR_STATUS_OK;
}
