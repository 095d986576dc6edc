/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Numbers as DALI turns them into an integer type where it does not saturate: fill values, ends of
 * ranges. */
#ifndef HR_OPS_WRAP_H
#define HR_OPS_WRAP_H

#include "core/core.h"

/* `value` as the type `dtype` holds it: cut off towards zero and wrapped; integers of up to 32
 * bits. */
float hr__value_wrap(float value, hr_dtype dtype);
/* Writes `value` to `element` so: of any type, floats as they are. */
void hr__value_cut(float value, hr_dtype dtype, void *element);

#endif
