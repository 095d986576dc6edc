// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// erase: one thread per element.
#include "ops/pixels/erase.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

struct record {
    hr_erase m;
    const char *src;
    char *dst;
    int64_t count;
    int32_t size;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t at[HR_ERASE_AXES], rest = i;
        for (int d = HR_ERASE_AXES - 1; d >= 0; d--)
            at[d] = op::digit(&rest, m.extent[d]);
        bool erased = false;
        for (int b = 0; b < m.count && !erased; b++)
            erased = erase_has(&m.boxes[b], at);
        uint64_t v = erased ? m.fills[m.channels < 0 ? 0 : at[m.channels]]
                            : value_load(src + i * size, size);
        value_store(dst + i * size, size, v);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    hr_staged boxes, fills;
    *r = {};
    r->m = *(const hr_erase *)c->memo;
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->count = op::count(&c->out[0]);
    r->size = value_size(c->out[0].dtype);
    size_t box_bytes = (size_t)r->m.count * sizeof(hr_erase_box);
    size_t fill_bytes = (size_t)r->m.fill_count * sizeof(uint64_t);
    HR_TRY(staging->alloc(staging, box_bytes + 1, &boxes, error));
    HR_TRY(staging->alloc(staging, fill_bytes, &fills, error));
    if (box_bytes > 0)
        memcpy(boxes.host, r->m.boxes, box_bytes);
    memcpy(fills.host, r->m.fills, fill_bytes);
    r->m.boxes = (const hr_erase_box *)boxes.device;
    r->m.fills = (const uint64_t *)fills.device;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(erase, "erase", run);
