/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Products of the matrices of transforms, on the CPU and on a GPU. */
#pragma once

#include "core/shared.h"

#include <stdbool.h>
#include <stdint.h>

#define HR_TRANSFORM_MAX 16 /* dimensions */

/* out = a after b, with `ndim` dimensions: rows of ndim + 1 numbers. `out` may be a or b. */
HR_SHARED void transform_chain(float *out, const float *a, const float *b, int32_t ndim)
{
    float product[HR_TRANSFORM_MAX * (HR_TRANSFORM_MAX + 1)];
    const int32_t cols = ndim + 1;

    for (int32_t r = 0; r < ndim; r++)
        for (int32_t k = 0; k < cols; k++) {
            float sum = 0.0f;
            for (int32_t i = 0; i < ndim; i++)
                sum += a[r * cols + i] * b[i * cols + k];
            product[r * cols + k] = k == ndim ? sum + a[r * cols + ndim] : sum;
        }
    for (int32_t i = 0; i < ndim * cols; i++)
        out[i] = product[i];
}

/* What transforms.* leave for a run on a device: inputs, and then what the operator makes, are
 * applied one after the other. */
typedef struct hr_transform_product {
    int32_t ndim;
    bool reverse; /* each is applied before those in front of it, not after them */
    int64_t frames;
    const float *made; /* on the device: a matrix for each frame; NULL: the operator makes none */
} hr_transform_product;
