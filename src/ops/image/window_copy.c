/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Windows with a filled border, by dimension. */
#include "ops/image/window_copy.h"
#include "ops/wrap.h"

#include <string.h>

#define FILLS_MAX 64

typedef struct copy {
    const hr_tensor *dst, *src;
    const int64_t *start;
    size_t item;
    size_t dst_stride[HR_MAX_NDIM], src_stride[HR_MAX_NDIM]; /* bytes */
    uint8_t fill[FILLS_MAX][8];
    int32_t fill_count, channel_dim;
} copy;

/* `from` is NULL outside of the source. */
static void copy_dim(const copy *k, int32_t d, uint8_t *to, const uint8_t *from, int64_t channel)
{
    if (d == k->dst->shape.ndim) {
        const uint8_t *value = from ? from : k->fill[k->fill_count == 1 ? 0 : channel];
        memcpy(to, value, k->item);
        return;
    }
    for (int64_t i = 0; i < k->dst->shape.extent[d]; i++) {
        int64_t at = k->start[d] + i;
        bool inside = from && at >= 0 && at < k->src->shape.extent[d];
        copy_dim(k, d + 1, to + (size_t)i * k->dst_stride[d],
                 inside ? from + (size_t)at * k->src_stride[d] : NULL,
                 d == k->channel_dim ? i : channel);
    }
}

static void strides(const hr_tensor *t, size_t *stride)
{
    size_t step = hr_dtype_size(t->dtype);

    for (int32_t d = t->shape.ndim - 1; d >= 0; d--) {
        stride[d] = step;
        step *= (size_t)t->shape.extent[d];
    }
}

hr_status hr__window_copy(hr_tensor *dst, const hr_tensor *src, const int64_t *start,
                          const float *fill, int32_t fill_count, int32_t channel_dim,
                          hr_error *error)
{
    copy k = {.dst = dst,
              .src = src,
              .start = start,
              .item = hr_dtype_size(src->dtype),
              .fill_count = fill_count,
              .channel_dim = channel_dim};

    if (fill_count < 1 || fill_count > FILLS_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "%d fill values: between 1 and %d can be given",
                       (int)fill_count, FILLS_MAX);
    for (int32_t i = 0; i < fill_count; i++) {
        float value = hr__value_wrap(fill[i], src->dtype);
        hr_convert(k.fill[i], src->dtype, &value, HR_DTYPE_FLOAT, 1);
    }
    strides(dst, k.dst_stride);
    strides(src, k.src_stride);
    copy_dim(&k, 0, dst->data, src->data, 0);
    return HR_STATUS_OK;
}
