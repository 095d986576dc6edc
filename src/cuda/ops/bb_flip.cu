// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// bb_flip: one thread per box.
#include "cuda/ops/op.cuh"
#include "ops/boxes/boxes.h"

namespace
{

struct record {
    hr_bb_flip m;
    const float *src;
    float *dst;
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        bb_flip_of(&m, src + 4 * i, dst + 4 * i);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {*(const hr_bb_flip *)c->memo, (const float *)c->in[0].data, (float *)c->out[0].data,
          op::count(&c->out[0]) / 4};
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(bb_flip, "bb_flip", run);
