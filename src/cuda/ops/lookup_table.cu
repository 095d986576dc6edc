// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// lookup_table. The table is on the device already.
#include "ops/generic/lookup_table.h"
#include "cuda/ops/quads.cuh"

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

struct record_quads : op::quad_record {
    const void *src, *values;
    void *dst;
    uint32_t keys;
    int32_t from, to_size;

    template <typename T> HR_DEVICE void look_up(op::quads v) const
    {
        const T *table = (const T *)values;
        op::quads_each(v, [=](uint32_t key) { return (uint32_t)table[key < keys ? key : keys]; });
    }

    HR_DEVICE void process(const op::quad_range &range) const
    {
        op::quads v;
        op::quads_load(v, src, from, range);
        if (from == HR_DTYPE_BOOL)
            op::quads_each(v, [](uint32_t word) { return (uint32_t)(word != 0); });
        if (to_size == 1)
            look_up<uint8_t>(v);
        else if (to_size == 2)
            look_up<uint16_t>(v);
        else
            look_up<uint32_t>(v);
        op::quads_store(v, dst, to_size, range);
    }
};

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    const hr_table *table = (const hr_table *)calls[0].state; // the node's
    int32_t from = calls[0].in[0].dtype, size = value_size(calls[0].out[0].dtype);
    const void *values;
    HR_TRY(staging->constant(staging, table->values, (table->count + 1) * (size_t)size, &values,
                             error));
    auto make = [=](record *r, const hr_op_call *c, hr_staging *, hr_error *) {
        *r = {(const char *)c->in[0].data, (const char *)values, (char *)c->out[0].data,
              op::count(&c->in[0]), table->count, from, size};
        return HR_STATUS_OK;
    };
    auto make_quads = [=](record_quads *r, const hr_op_call *c, hr_staging *, hr_error *) {
        op::quad_begin(r, op::count(&c->in[0]), c->in[0].data, value_size(from), nullptr, 0,
                       c->out[0].data, size);
        r->src = c->in[0].data;
        r->values = values;
        r->dst = c->out[0].data;
        r->keys = (uint32_t)table->count;
        r->from = from;
        r->to_size = size;
        return HR_STATUS_OK;
    };
    hr_staged records;
    if (value_size(from) > 4 || size > 4 || table->count > INT32_MAX)
        return op::run<record>(l, calls, n, staging, make, error);
    HR_TRY(op::stage<record_quads>(calls, n, staging, make_quads, &records, error));
    return op::launch_quads<record_quads>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(lookup_table, "lookup_table", run);
