// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Elements of another type: one thread per element.
#ifndef HR_CUDA_OPS_CAST_CUH
#define HR_CUDA_OPS_CAST_CUH

#include "core/dtype.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace op
{

struct cast_record {
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

static inline hr_status cast_make(cast_record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {c->in[0].data, c->out[0].data, count(&c->out[0]), hr_dtype_number(c->in[0].dtype),
          hr_dtype_number(c->out[0].dtype)};
    return HR_STATUS_OK;
}

// `run` of operators that convert input 0 into output 0's type.
static inline hr_status cast_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n,
                                 hr_staging *staging, hr_error *error)
{
    return run<cast_record>(l, calls, n, staging, cast_make, error);
}

} // namespace op

#endif
