// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// one_hot: one thread per element of the output.
#include "ops/generic/one_hot.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

struct record {
    hr_one_hot m;
    const char *src;
    char *dst;
    int64_t count;
    int32_t from, to_size;

    template <typename Index> HR_DEVICE void set(Index i) const
    {
        Index inner = (Index)m.inner, classes = (Index)m.classes, row = i / inner;
        Index at = row / classes, size = (Index)value_size(from);
        uint64_t v = value_load(src + (int64_t)(at * inner + (i - row * inner)) * size, (int)size);
        bool on =
            one_hot_class(value_to_double(v, from), m.classes) == (int64_t)(row - at * classes);
        value_store(dst + (int64_t)i * to_size, to_size, on ? m.on : m.off);
    }

    HR_DEVICE void element(int64_t i) const
    {
        if (count <= UINT32_MAX) // 64-bit divisions are expensive
            set((uint32_t)i);
        else
            set(i);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {};
    r->m = *(const hr_one_hot *)c->memo;
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->count = op::count(&c->out[0]);
    r->from = c->in[0].dtype;
    r->to_size = value_size(c->out[0].dtype);
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(one_hot, "one_hot", run);
