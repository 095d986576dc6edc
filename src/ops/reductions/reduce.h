/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reductions along axes. The order of additions depends only on the shape and the axes. */
#pragma once

#include "core/shared.h"
#include "kernels/kernels.h"
#include "ops/common/axes.h"

/* Neighbouring axes that are both reduced or both kept, merged. */
typedef struct hr_reduce_axis {
    size_t extent, in_step, out_step; /* steps in elements; out_step 0: reduced */
} hr_reduce_axis;

typedef struct hr_reduce_shape {
    hr_reduce_axis axes[HR_MAX_NDIM];
    int32_t count;
    size_t outputs, inputs; /* accumulators, and elements per accumulator */
} hr_reduce_shape;

/* The axes in `mask` are reduced. */
void hr__reduce_shape(const hr_shape *shape, uint32_t mask, hr_reduce_shape *out);
/* Type of the accumulators; NONE if the reduction does not exist for this type. */
hr_dtype hr__reduce_type(hr_reduce_kind kind, hr_dtype dtype);
/* Computes the accumulators of the elements at `in`. `mean` has one element per accumulator and is
 * used for DISTANCES. */
void hr__reduce(const hr_kernels *kernels, hr_reduce_kind kind, const void *in, hr_dtype dtype,
                const hr_reduce_shape *shape, const double *mean, void *acc);

/* ---- the order of additions, on the CPU and on a GPU ----
 *
 * The innermost reduced axis has `rows` rows of `cols` columns, which are kept. If there are few
 * columns, row r belongs to lane r % lanes, and `lanes` rows form one wide row. Groups of `pass`
 * full wide rows are added up, then the sums of these groups; a last row that is not full counts as
 * a group. Then lanes are added up. The results for the indices of further reduced axes are added
 * up last. */

enum { HR_REDUCE_LANES = 16, HR_REDUCE_NARROW = 64 };

HR_SHARED size_t reduce_lanes(size_t rows, size_t cols)
{
    return cols <= HR_REDUCE_NARROW && rows >= 2 * HR_REDUCE_LANES ? HR_REDUCE_LANES : 1;
}

/* `wide`: columns times lanes. On a GPU, a pass is the work of a thread; on the CPU, its rows stay
 * in the cache while columns are processed. */
HR_SHARED size_t reduce_pass(size_t wide)
{
    return wide >= 64 ? 32 : 2048 / wide;
}
