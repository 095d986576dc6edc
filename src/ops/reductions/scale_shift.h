/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* (x - mean) * factor + shift, with a mean and a factor for all elements that reducing would take
 * together. */
#ifndef HR_OPS_REDUCTIONS_SCALE_SHIFT_H
#define HR_OPS_REDUCTIONS_SCALE_SHIFT_H

#include "ops/reductions/reduce.h"

/* `out` is described and has memory. The axes of `mask` are those that share a mean. */
void hr__scale_shift(const hr_kernels *kernels, const hr_tensor *in, hr_tensor *out, uint32_t mask,
                     const float *mean, const float *factor, float shift);

#endif
