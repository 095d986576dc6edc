/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reductions along axes. The order of additions follows from the shape and the axes alone. */
#ifndef HR_OPS_REDUCTIONS_REDUCE_H
#define HR_OPS_REDUCTIONS_REDUCE_H

#include "core/shared.h"
#include "kernels/kernels.h"
#include "ops/axes.h"

/* Neighbouring axes that are both reduced, or both kept, as one. */
typedef struct hr_reduce_axis {
    size_t extent, in_step, out_step; /* steps in elements; out_step 0: reduced */
} hr_reduce_axis;

typedef struct hr_reduce_shape {
    hr_reduce_axis axes[HR_MAX_NDIM];
    int32_t count;
    size_t outputs, inputs; /* accumulators, and elements that go into each */
} hr_reduce_shape;

/* The axes of `mask` are reduced. */
void hr__reduce_shape(const hr_shape *shape, uint32_t mask, hr_reduce_shape *out);
/* Type of the accumulators, NONE where there is no such reduction. */
hr_dtype hr__reduce_type(hr_reduce_kind kind, hr_dtype dtype);
/* The accumulators of the elements at `in`, from nothing on. `mean`, one for each of them, is for
 * DISTANCES. */
void hr__reduce(const hr_kernels *kernels, hr_reduce_kind kind, const void *in, hr_dtype dtype,
                const hr_reduce_shape *shape, const double *mean, void *acc);

/* ---- the order of additions, here and on a GPU ----
 *
 * The innermost reduced axis has `rows` rows of `cols` columns, which are kept. Where columns are
 * few, row r belongs to lane r % lanes, as if rows were so much wider. Of full wide rows, `pass` at
 * a time are added up, then these sums; a last row that is not full counts as a pass. Then lanes
 * are added up. What that gives for each index of further reduced axes is added up in turn. */

enum { HR_REDUCE_LANES = 16, HR_REDUCE_NARROW = 64 };

HR_SHARED size_t reduce_lanes(size_t rows, size_t cols)
{
    return cols <= HR_REDUCE_NARROW && rows >= 2 * HR_REDUCE_LANES ? HR_REDUCE_LANES : 1;
}

/* `wide`: columns times lanes. Passes are what a GPU's threads do; on a CPU their rows stay in the
 * cache while columns are gone through. */
HR_SHARED size_t reduce_pass(size_t wide)
{
    return wide >= 64 ? 32 : 2048 / wide;
}

#endif
