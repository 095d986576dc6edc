// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// coord_flip: one thread per coordinate.
#include "cuda/ops/op.cuh"
#include "ops/geometry/points.h"

namespace
{

struct record {
    hr_coord_flip m;
    const float *src;
    float *dst;
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t k = count <= UINT32_MAX ? (uint32_t)i % (uint32_t)m.ndim : i % m.ndim;
        dst[i] = coord_flip_of(&m, (int32_t)k, src[i]);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {*(const hr_coord_flip *)c->memo, (const float *)c->in[0].data, (float *)c->out[0].data,
          op::count(&c->out[0])};
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(coord_flip, "coord_flip", run);
