// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Filters with given taps along data axes (ops/filter/separable.h): the pieces of all samples are
// one batch.
#ifndef HR_CUDA_OPS_SEPARABLE_CUH
#define HR_CUDA_OPS_SEPARABLE_CUH

#include "cuda/ops/resample.cuh"
#include "ops/filter/separable.h"

#include <cstdio>
#include <memory>
#include <new>

namespace op
{

struct separable_tensors {
    hr_tensor in, out;
};

// `run` of operators whose memo is an hr_separable.
static inline hr_status separable_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n,
                                      hr_staging *staging, hr_error *error)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++)
        count += ((const hr_separable *)calls[i].memo)->count;
    std::unique_ptr<hr_op_call[]> piece(new (std::nothrow) hr_op_call[count + 1]);
    std::unique_ptr<separable_tensors[]> tensor(new (std::nothrow) separable_tensors[count + 1]);
    if (!piece || !tensor) { // the module does not link hr_fail
        if (error) {
            error->status = HR_STATUS_NO_MEMORY;
            snprintf(error->message, sizeof error->message, "out of memory for %d pieces",
                     (int)count);
        }
        return HR_STATUS_NO_MEMORY;
    }
    count = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < ((const hr_separable *)calls[i].memo)->count; k++, count++)
            piece[count] = hr__separable_piece(&calls[i], k, &tensor[count].in, &tensor[count].out);
    return count > 0 ? resample_run(l, piece.get(), count, staging, error) : HR_STATUS_OK;
}

} // namespace op

#endif
