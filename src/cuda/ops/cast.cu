// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// cast, of what is no picture.
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

struct record {
    const void *src;
    void *dst;
    int64_t count;
    int32_t from, to;

    HR_DEVICE void element(int64_t i) const
    {
        int in = value_size(from), out = value_size(to);
        uint64_t v = value_load((const char *)src + i * in, in);
        value_store((char *)dst + i * out, out, value_convert(v, from, to));
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {c->in[0].data, c->out[0].data, op::count(&c->out[0]), c->in[0].dtype, c->out[0].dtype};
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(cast, "cast", run);
