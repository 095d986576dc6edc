/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Windows with a filled border. */
#include "ops/generic/window_copy.h"
#include "ops/generic/region.h"
#include "ops/wrap.h"

#include <string.h>

#define FILLS_MAX 64

typedef struct window {
    hr_region part;                              /* what the source has of it */
    int64_t low[HR_MAX_NDIM], size[HR_MAX_NDIM]; /* where that begins in the window, all of it */
    int32_t channel_dim;                         /* -1: one fill value */
    _Alignas(8) uint8_t fill[FILLS_MAX * 8];
} window;

/* Elements low .. low + count - 1 of dimension `d`: where the source ended in dimensions before it,
 * and all of those behind it. */
static void fill_side(const window *w, int32_t d, int64_t low, int64_t count, char *to)
{
    const char *from = (const char *)w->fill;
    hr_region side = w->part;

    if (count <= 0)
        return;
    for (int32_t k = 0; k < side.ndim; k++) {
        int64_t start = k < d ? w->low[k] : k == d ? low : 0;
        side.extent[k] = k < d ? w->part.extent[k] : k == d ? count : w->size[k];
        side.from[k] = k == w->channel_dim ? (int64_t)side.item : 0;
        from += start * side.from[k];
        to += start * side.to[k];
    }
    hr__region_copy(to, from, &side);
}

hr_status hr__window_copy(hr_tensor *dst, const hr_tensor *src, const int64_t *start,
                          const float *fill, int32_t fill_count, int32_t channel_dim,
                          hr_error *error)
{
    window w = {.channel_dim = fill_count > 1 ? channel_dim : -1};
    const char *from = src->data;
    char *to = dst->data;

    if (fill_count < 1 || fill_count > FILLS_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "%d fill values: between 1 and %d can be given",
                       (int)fill_count, FILLS_MAX);
    hr__region_init(&w.part, &src->shape, hr_dtype_size(src->dtype));
    hr__strides(&dst->shape, w.part.item, w.part.to);
    for (int32_t i = 0; i < fill_count; i++)
        hr__value_cut(fill[i], src->dtype, w.fill + (size_t)i * w.part.item);
    for (int32_t d = 0; d < w.part.ndim; d++) {
        int64_t size = dst->shape.extent[d], first = HR_MIN(HR_MAX(-start[d], 0), size);
        int64_t end = HR_MIN(start[d] + size, src->shape.extent[d]);
        w.size[d] = size;
        w.low[d] = first;
        w.part.extent[d] = HR_MAX(end - start[d] - first, 0);
        if (w.part.extent[d] > 0)
            from += (start[d] + first) * w.part.from[d];
        to += first * w.part.to[d];
    }
    for (int32_t d = 0; d < w.part.ndim; d++) {
        int64_t high = w.low[d] + w.part.extent[d];
        fill_side(&w, d, 0, w.low[d], dst->data);
        fill_side(&w, d, high, w.size[d] - high, dst->data);
    }
    hr__region_copy(to, from, &w.part);
    return HR_STATUS_OK;
}
