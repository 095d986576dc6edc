// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// preemphasis_filter: one thread per element.
#include "ops/audio/preemphasis_filter.h"
#include "core/dtype.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

struct record {
    const char *src;
    char *dst;
    int64_t count;
    int32_t from, to;
    float coeff;
    char border;

    HR_DEVICE uint64_t load(int64_t i) const
    {
        return i < 0 ? 0
                     : value_load(src + i * value_size(from), value_size(from)); // also of floats
    }

    HR_DEVICE void element(int64_t i) const
    {
        const int64_t before = preemphasis_before(border, i, count);
        const uint64_t v = load(i), b = load(before);
        uint64_t result;
        if (coeff == 0.0f)
            result = value_convert(v, from, to);
        else if (from == HR_DTYPE_FLOAT64)
            result = value_of_double(
                preemphasis_double(value_to_double(v, from), value_to_double(b, from), coeff), to);
        else
            result = value_of_float(
                preemphasis_float(value_to_float(v, from), value_to_float(b, from), coeff), to);
        value_store(dst + i * value_size(to), value_size(to), result);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    const preemphasis_args *a = (const preemphasis_args *)c->args;
    *r = {(const char *)c->in[0].data,
          (char *)c->out[0].data,
          op::count(&c->out[0]),
          hr_dtype_number(c->in[0].dtype),
          hr_dtype_number(c->out[0].dtype),
          a->preemph_coeff,
          a->border[0]};
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(preemphasis_filter, "preemphasis_filter", run);
