/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reductions along axes. The order of additions follows from the shape and the axes alone. */
#ifndef HR_OPS_REDUCTIONS_REDUCE_H
#define HR_OPS_REDUCTIONS_REDUCE_H

#include "kernels/kernels.h"
#include "ops/axes.h"

/* Elements that there are without the axes of `mask`, and elements that go into each. */
void hr__reduce_counts(const hr_shape *shape, uint32_t mask, size_t *outputs, size_t *inputs);
/* Type of the accumulators, NONE where there is no such reduction. */
hr_dtype hr__reduce_type(hr_reduce_kind kind, hr_dtype dtype);
/* Sets `n` accumulators to what adding nothing gives. */
void hr__reduce_start(hr_reduce_kind kind, hr_dtype dtype, void *acc, size_t n);
/* Takes the elements of `in` into the accumulators. `mean`, one for each of them, is for DISTANCES.
 */
void hr__reduce(const hr_kernels *kernels, hr_reduce_kind kind, const hr_tensor *in, uint32_t mask,
                const double *mean, void *acc);

/* Neighbouring axes that are both reduced, or both kept, as one. */
typedef struct hr_reduce_axis {
    size_t extent, in_step, out_step; /* steps in elements; out_step 0: reduced */
} hr_reduce_axis;
int32_t hr__reduce_axes(const hr_shape *shape, uint32_t mask, hr_reduce_axis axes[HR_MAX_NDIM]);

#endif
