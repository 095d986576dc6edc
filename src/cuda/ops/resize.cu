// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// resize, where it is not a step of an image program: for volumes whose depth changes, and with
// sizes as a second output.
#include "cuda/ops/resample.cuh"

namespace
{

struct record {
    int32_t extent[3];
    int32_t *dst;
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        dst[i] = extent[i];
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    const hr_resize *m = (const hr_resize *)c->memo;
    memcpy(r->extent, m->extent, sizeof r->extent);
    r->dst = (int32_t *)c->out[1].data;
    r->count = m->axes;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    if (calls[0].n_out > 1)
        HR_TRY(op::run<record>(l, calls, n, staging, make, error));
    return op::resample_run(l, calls, n, staging, error);
}

} // namespace

HR_CUDA_OP(resize, "resize", run);
