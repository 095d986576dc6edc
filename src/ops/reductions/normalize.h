/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The memo of normalize: `infer` makes it, and both the CPU and the device run with it. */
#pragma once

#include <math.h>
#include <stdio.h>

#include "headrace/operator.h"
#include "ops/reductions/reduce.h"

typedef struct hr_normalization {
    hr_reduce_shape shape;
    /* Per group of elements that are normalised together; NULL if not given. */
    const float *mean, *factor;
    double epsilon, scale, ddof;
    float shift;
    uint32_t mask; /* the axes */
    bool batch;    /* a group spans all samples */
} hr_normalization;

/* The factor of normalisation. The variance is `squares` / `by`, or 0 if `by` is not positive, as
 * in DALI. */
HR_SHARED float normalization_factor(double squares, double by, double epsilon, double scale)
{
    double variance = (by > 0.0 ? squares / by : 0.0) + epsilon;

    return (float)(variance != 0.0 ? 1.0 / sqrt(variance) * scale : 0.0);
}

/* Whether a sample cannot be normalised together with the first one; `text` gets the reason. */
static inline bool normalization_unlike(const hr_op_call *calls, int32_t i, char *text, size_t size)
{
    const uint32_t mask = ((const hr_normalization *)calls[0].memo)->mask;
    const hr_tensor *first = &calls[0].in[0], *in = &calls[i].in[0];

    if (in->dtype != first->dtype || in->shape.ndim != first->shape.ndim) {
        snprintf(text, size, "sample %d and the first one differ in type or number of dimensions",
                 (int)i);
        return true;
    }
    for (int32_t d = 0; d < in->shape.ndim; d++) {
        if ((mask >> d & 1) || in->shape.extent[d] == first->shape.extent[d])
            continue;
        snprintf(
            text, size,
            "sample %d has %lld elements along axis %d, and the first one has %lld: other axes "
            "than the normalised ones must have the same extent",
            (int)i, (long long)in->shape.extent[d], (int)d, (long long)first->shape.extent[d]);
        return true;
    }
    return false;
}
