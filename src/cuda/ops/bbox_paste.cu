// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// bbox_paste: one thread per number.
#include "cuda/ops/op.cuh"
#include "ops/boxes/boxes.h"

namespace
{

struct record {
    hr_bbox_paste m;
    const float *src;
    float *dst;
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        dst[i] = bbox_paste_of(&m, src[i], i);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {*(const hr_bbox_paste *)c->memo, (const float *)c->in[0].data, (float *)c->out[0].data,
          op::count(&c->out[0])};
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(bbox_paste, "bbox_paste", run);
