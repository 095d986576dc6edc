/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* to_decibels: shared by the CPU and the GPU. */
#pragma once

#include "core/shared.h"

#define HR_DECIBELS_BASE 2.302585092994045684 /* ln 10 */

typedef struct hr_decibels_args {
    float multiplier, reference, cutoff_db;
} hr_decibels_args;

/* What values are multiplied by; 0 stands for 1. */
HR_SHARED float decibels_inverse(float reference)
{
    return 1.0f / (reference == 0 ? 1.0f : reference);
}

/* The memo of a sample: the smallest ratio, which is positive. */
typedef struct hr_decibels {
    float least;
} hr_decibels;

HR_SHARED float decibels_ratio(float value, float inverse, float least)
{
    float ratio = value * inverse;
    return ratio > least ? ratio : least;
}
