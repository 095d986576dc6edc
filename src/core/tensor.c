/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shapes and views. */
#include "core/error.h"
#include "core/alloc.h"

#include <stdio.h>
#include <string.h>

/* Elements have at most 8 bytes, and strides are int64_t. */
#define VOLUME_MAX ((size_t)INT64_MAX / 8)

/* Empty shapes are limited as if their extents of 0 were 1, as in NumPy: products of some of the
 * extents, such as strides, cannot overflow either. */
bool hr_shape_volume(const hr_shape *shape, size_t *volume)
{
    size_t product = 1;
    bool empty = false;
    if (shape->ndim < 0 || shape->ndim > HR_MAX_NDIM)
        return false;
    for (int32_t i = 0; i < shape->ndim; i++) {
        if (shape->extent[i] < 0 ||
            __builtin_mul_overflow(product, (size_t)HR_MAX(shape->extent[i], 1), &product) ||
            product > VOLUME_MAX)
            return false;
        empty = empty || shape->extent[i] == 0;
    }
    *volume = empty ? 0 : product;
    return true;
}

bool hr_shape_equal(const hr_shape *a, const hr_shape *b)
{
    if (a->ndim != b->ndim)
        return false;
    for (int32_t i = 0; i < a->ndim; i++) {
        if (a->extent[i] != b->extent[i])
            return false;
    }
    return true;
}

hr_shape hr_shape_make(int32_t ndim, const int64_t *extent)
{
    hr_shape shape = {.ndim = ndim};
    if (ndim > 0 && ndim <= HR_MAX_NDIM)
        memcpy(shape.extent, extent, (size_t)ndim * sizeof *extent);
    return shape;
}

const char *hr_shape_text(const hr_shape *shape, char *text, size_t size)
{
    if (size == 0)
        return text;
    text[0] = '\0';
    size_t used = 0;
    for (int32_t i = 0; i < shape->ndim && i < HR_MAX_NDIM && used < size; i++) {
        int n =
            snprintf(text + used, size - used, "%s%lld", i ? "x" : "", (long long)shape->extent[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

bool hr_tensor_bytes(const hr_tensor *tensor, size_t *bytes)
{
    size_t volume;
    return hr_shape_volume(&tensor->shape, &volume) &&
           !__builtin_mul_overflow(volume, hr_dtype_size(tensor->dtype), bytes);
}

void hr_tensor_describe(hr_tensor *tensor, hr_dtype dtype, hr_shape shape, const char *layout)
{
    *tensor = (hr_tensor){.dtype = dtype, .shape = shape};
    if (layout)
        strncpy(tensor->layout.name, layout, HR_MAX_NDIM);
}
