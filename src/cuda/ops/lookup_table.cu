// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// lookup_table: one thread per element; the table is on the device already.
#include "ops/generic/lookup_table.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

struct record {
    const char *src, *values;
    char *dst;
    int64_t count;
    uint64_t keys;
    int32_t from, to_size;

    HR_DEVICE void element(int64_t i) const
    {
        int size = value_size(from);
        uint64_t v = value_load(src + i * size, size);
        uint64_t key = from == HR_DTYPE_UINT64 ? v : (uint64_t)value_as_integer(v, from);
        key = key < keys ? key : keys; // negative keys are large as unsigned numbers
        value_store(dst + i * to_size, to_size,
                    value_load(values + key * (uint64_t)to_size, to_size));
    }
};

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    const hr_table *table = (const hr_table *)calls[0].state; // the node's
    int32_t size = value_size(calls[0].out[0].dtype);
    const void *values;
    HR_TRY(staging->constant(staging, table->values, (table->count + 1) * (size_t)size, &values,
                             error));
    auto make = [&](record *r, const hr_op_call *c, hr_staging *, hr_error *) {
        *r = {};
        r->src = (const char *)c->in[0].data;
        r->dst = (char *)c->out[0].data;
        r->values = (const char *)values;
        r->count = op::count(&c->in[0]);
        r->keys = table->count;
        r->from = c->in[0].dtype;
        r->to_size = size;
        return HR_STATUS_OK;
    };
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(lookup_table, "lookup_table", run);
