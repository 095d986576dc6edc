// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Reductions of a batch, in the order of additions of ops/reductions/reduce.h. One thread runs each
// pass; then threads add up passes, lanes and further axes. At most three launches.
#pragma once

#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/reductions/normalize.h"
#include "ops/reductions/reduction.h"

namespace op
{

// Ends in addition to those of hr_reduction_end.
constexpr int32_t REDUCE_END_KEPT = -1;   // the accumulator itself, for the next step
constexpr int32_t REDUCE_END_FACTOR = -2; // of normalize: the factor to multiply by

// How accumulators of type `type` become results, and where these are stored.
struct reduce_end {
    char *dst;
    int32_t what, type, to;
    bool untouched; // no axis is reduced
    int64_t count;  // elements
    double by, epsilon, scale;

    HR_DEVICE uint64_t value(uint64_t acc) const;
    HR_DEVICE void store(int64_t i, uint64_t acc) const;
};

// Combines accumulators: thread i adds up `lanes` accumulators, each the sum of `rows`, for each of
// `terms`.
struct reduce_chain {
    const uint64_t *src;
    uint64_t start;
    int64_t count, inner, outer_step; // thread i begins at i / inner * outer_step + i % inner
    int64_t terms, lanes, rows, term_step, lane_step, row_step;
    int32_t kind;
    reduce_end end;

    template <typename Take> HR_DEVICE uint64_t sum(const Take &take, int64_t at) const;
    HR_DEVICE void element(int64_t i) const;
};

// Accumulates elements: thread i runs one pass of a column, or of one lane of a column.
struct reduce_pass_record {
    const char *src;
    const float *mean; // per output, or NULL for 0
    uint64_t start;
    int64_t count, cols, wide, pass, passes;
    int64_t rows, left; // full rows of `wide` elements; columns of the last one
    int64_t outer[HR_MAX_NDIM],
        outer_step[HR_MAX_NDIM]; // further axes: reduced ones first, then kept ones
    int32_t axes, kept;
    int32_t kind, dtype;
    reduce_end end;

    template <typename T> HR_DEVICE uint64_t sum(int64_t at, int64_t n, int64_t output) const;
    HR_DEVICE void element(int64_t i) const;
};

// Reductions of `n` samples. The order of calls: reduce_begin, reduce_add for each sample that is
// to be reduced, reduce_allocate, and, once the staging is flushed, reduce_launch.
struct reduction {
    hr_cuda_launch *l;
    int32_t n;
    size_t scratch; // bytes
    hr_staged passes, joins, ends;
};

hr_status reduce_begin(reduction *r, hr_cuda_launch *l, int32_t n, hr_staging *staging,
                       hr_error *error);
// Reduces the tensor `in` of sample i.
void reduce_add(reduction *r, int32_t i, hr_reduce_kind kind, const hr_tensor *in,
                const hr_reduce_shape *shape, const float *mean, const reduce_end *end);
hr_status reduce_allocate(reduction *r, hr_error *error);
hr_status reduce_launch(const reduction *r, hr_error *error);
// Adds up doubles: `groups` values of each of `n` samples, stored one sample after the other.
// `chain` is staged; reduce_chains launches it.
void reduce_samples(reduce_chain *chain, const void *sums, int64_t n, int64_t groups,
                    const reduce_end *end);
hr_status reduce_chains(hr_cuda_launch *l, hr_staged chains, int32_t n, hr_error *error);

// `run` of the operators whose memo is hr_reduction.
hr_status reduction_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                        hr_error *error);

} // namespace op
