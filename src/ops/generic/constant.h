/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A constant node's state, which the run here or on a device reads. */
#ifndef HR_OPS_GENERIC_CONSTANT_H
#define HR_OPS_GENERIC_CONSTANT_H

#include "core/core.h"

typedef struct hr_constant {
    hr_dtype dtype;
    hr_shape shape;
    size_t count; /* of the values: as many as the shape has elements, or one that stands for all */
    void *values; /* of `dtype`; behind this struct */
} hr_constant;

#endif
