/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* preemphasis_filter: shared by the CPU and the GPU. Elements are converted to FLOAT, filtered, and
 * converted to the type of the output, both as by `cast`; FLOAT64 is filtered as such. With a
 * coefficient of 0 they are only converted. */
#pragma once

#include "core/shared.h"

#include <stdint.h>

typedef struct preemphasis_args {
    float preemph_coeff;
    int32_t dtype;
    const char *border; /* "clamp", "zero", "reflect" */
} preemphasis_args;

/* Which element stands in front of element i of n; -1: none, a zero does. A single element is
 * reflected as itself. */
HR_SHARED int64_t preemphasis_before(const char border, int64_t i, int64_t n)
{
    if (i > 0)
        return i - 1;
    return border == 'c' ? 0 : border == 'r' ? n > 1 : -1;
}

HR_SHARED float preemphasis_float(float value, float before, float coeff)
{
    return value - coeff * before;
}

HR_SHARED double preemphasis_double(double value, double before, float coeff)
{
    return value - (double)coeff * before;
}
