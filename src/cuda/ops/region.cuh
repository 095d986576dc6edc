// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Outputs put together from boxes of inputs (ops/generic/region.h): a record a box, a thread a unit
// of up to 16 bytes.
#ifndef HR_CUDA_OPS_REGION_CUH
#define HR_CUDA_OPS_REGION_CUH

#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/generic/region.h"

namespace op
{

struct alignas(16) unit16 {
    uint64_t v[2];
};

struct region_record {
    char *to;
    const char *from;
    int64_t count;
    int32_t unit, ndim;
    // outermost first; the last one is the units of an element
    int64_t extent[HR_MAX_NDIM + 1], to_step[HR_MAX_NDIM + 1], from_step[HR_MAX_NDIM + 1];

    template <typename Index> HR_DEVICE void place(Index i, int64_t *out, int64_t *in) const
    {
        for (int32_t d = ndim - 1; d > 0; d--) {
            Index n = (Index)extent[d], next = i / n;
            int64_t at = (int64_t)(i - next * n);
            *out += at * to_step[d];
            *in += at * from_step[d];
            i = next;
        }
        *out += (int64_t)i * to_step[0];
        *in += (int64_t)i * from_step[0];
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t out = 0, in = 0;
        if (count <= UINT32_MAX) // divisions of 64 bits are dear
            place((uint32_t)i, &out, &in);
        else
            place(i, &out, &in);
        if (unit == 16)
            *(unit16 *)(to + out) = *(const unit16 *)(from + in);
        else
            value_store(to + out, unit, value_load(from + in, unit));
    }
};

static inline void region_make(region_record *r, const hr_region *region, void *to,
                               const void *from)
{
    uint64_t bits = 16 | region->item | (uintptr_t)to | (uintptr_t)from;
    *r = {};
    r->to = (char *)to;
    r->from = (const char *)from;
    r->count = 1;
    for (int32_t d = 0; d < region->ndim; d++) {
        r->extent[d] = region->extent[d];
        r->to_step[d] = region->to[d];
        r->from_step[d] = region->from[d];
        r->count *= region->extent[d];
        bits |= (uint64_t)region->to[d] | (uint64_t)region->from[d];
    }
    r->unit = (int32_t)(bits & (~bits + 1));
    r->ndim = region->ndim + 1;
    r->extent[region->ndim] = (int64_t)region->item / r->unit;
    r->to_step[region->ndim] = r->from_step[region->ndim] = r->unit;
    r->count *= r->extent[region->ndim];
}

// `run` of operators whose memo is hr_region_parts.
static inline hr_status parts_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n,
                                  hr_staging *staging, hr_error *error)
{
    hr_staged records;
    int32_t total = 0;
    for (int32_t i = 0; i < n; i++)
        total += ((const hr_region_parts *)calls[i].memo)->count;
    if (total == 0)
        return HR_STATUS_OK;
    HR_TRY(staging->alloc(staging, (size_t)total * sizeof(region_record), &records, error));
    region_record *to = (region_record *)records.host;
    for (int32_t i = 0; i < n; i++) {
        const hr_region_parts *parts = (const hr_region_parts *)calls[i].memo;
        for (int32_t k = 0; k < parts->count; k++, to++) {
            const hr_region_part *p = &parts->part[k];
            region_make(to, &p->region, (char *)calls[i].out[0].data + p->to,
                        (const char *)calls[i].in[p->input].data + p->from);
        }
    }
    HR_TRY(staging->flush(staging, error));
    return launch<region_record>(l, records, total, error);
}

} // namespace op

#endif
