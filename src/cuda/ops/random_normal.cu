// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// random.normal.
#include "cuda/ops/draw.cuh"

namespace
{

struct normal {
    hr_normal m;
    bool fine;

    HR_DEVICE int per() const
    {
        return fine ? 2 : 1;
    }
    HR_DEVICE uint64_t make(const uint32_t *bits, int to) const
    {
        return fine ? bits_of_f64(normal_fine(&m, bits))
                    : value_of_double(normal_of(&m, bits[0]), to);
    }
};

hr_status make(op::draw_record<normal> *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    r->how.m = *(const hr_normal *)c->memo;
    r->how.fine = c->out[0].dtype == HR_DTYPE_FLOAT64;
    op::draw_make(r, c, r->how.fine ? 2 : 1);
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<op::draw_record<normal>>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(random_normal, "random.normal", run);
