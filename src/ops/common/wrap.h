/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Conversion of numbers to integer types where DALI does not saturate: fill values, ends of ranges.
 */
#pragma once

#include "core/core.h"

/* `value` truncated towards zero and wrapped to `dtype`, an integer type of up to 32 bits. */
float hr__value_wrap(float value, hr_dtype dtype);
/* Writes `value` to `element` in this way; `dtype` may be any type, floats are not changed. */
void hr__value_cut(float value, hr_dtype dtype, void *element);
