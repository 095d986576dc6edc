/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The state of a constant node, shared with the GPU version. */
#pragma once

#include "core/core.h"

typedef struct hr_constant {
    hr_dtype dtype;
    hr_shape shape;
    size_t count; /* of the values: one for each element of the shape, or one for all */
    void *values; /* of `dtype`; they follow this struct */
} hr_constant;
