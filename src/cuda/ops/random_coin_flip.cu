// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// random.coin_flip.
#include "cuda/ops/draw.cuh"

namespace
{

struct coin {
    hr_coin_flip m;

    HR_DEVICE int per() const
    {
        return 1;
    }
    HR_DEVICE uint64_t make(const uint32_t *bits, int) const
    {
        return coin_flip_of(&m, bits[0]);
    }
};

hr_status make(op::draw_record<coin> *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    r->how.m = *(const hr_coin_flip *)c->memo;
    op::draw_make(r, c, 1);
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<op::draw_record<coin>>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(random_coin_flip, "random.coin_flip", run);
