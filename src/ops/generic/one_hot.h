/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The memo that infer of one_hot leaves for the run, on the CPU or on a device. */
#pragma once

#include "core/shared.h"

#include <stdint.h>

typedef struct hr_one_hot {
    int64_t inner; /* distance between classes, in elements of the output */
    int32_t classes;
    uint64_t on, off; /* elements of the output, in the low bytes */
} hr_one_hot;

/* The class that an element of the input selects; -1: none. */
HR_SHARED int64_t one_hot_class(double v, int32_t classes)
{
    return v > -1.0 && v < (double)classes ? (int64_t)v : -1;
}
