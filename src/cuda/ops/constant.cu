// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// constant: one thread per element; the values are on the device already.
#include "ops/generic/constant.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

struct record {
    const char *values;
    char *dst;
    int64_t count;
    int32_t size, step; // bytes of an element, and from value to value

    HR_DEVICE void element(int64_t i) const
    {
        value_store(dst + i * size, size, value_load(values + i * step, size));
    }
};

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    const hr_constant *s = (const hr_constant *)calls[0].state; // the node's
    int32_t size = value_size(s->dtype);
    const void *values = nullptr;
    if (s->count > 0)
        HR_TRY(staging->constant(staging, s->values, s->count * (size_t)size, &values, error));
    auto make = [&](record *r, const hr_op_call *c, hr_staging *, hr_error *) {
        *r = {(const char *)values, (char *)c->out[0].data, op::count(&c->out[0]), size,
              s->count == 1 ? 0 : size};
        return HR_STATUS_OK;
    };
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(constant, "constant", run);
