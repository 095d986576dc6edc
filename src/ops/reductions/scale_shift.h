/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* (x - mean) * factor + shift. Elements that a reduction would combine share a mean and a factor.
 */
#pragma once

#include "ops/reductions/reduce.h"

/* `out` is described and has memory. */
void hr__scale_shift(const hr_kernels *kernels, const hr_tensor *in, hr_tensor *out,
                     const hr_reduce_shape *shape, const float *mean, const float *factor,
                     float shift);
