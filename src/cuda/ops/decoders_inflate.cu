// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// decoders.inflate: LZ4. A chunk can only be decompressed from its beginning, so one thread does it;
// the chunks are spread over warps, whose threads would wait for one another.
#include "ops/decoders/inflate.h"
#include "cuda/ops/op.cuh"

#include <cstdio>

namespace
{

constexpr int WARP = 32;

struct record {
    const hr_inflate_chunk *chunks;
    const uint8_t *src;
    uint8_t *dst;
    int64_t inflated, count;

    HR_DEVICE void element(int64_t i) const
    {
        if (i % WARP != 0)
            return;
        hr_inflate_chunk chunk = chunks[i / WARP];
        uint8_t *to = dst + i / WARP * inflated;
        int64_t done = lz4_inflate(src + chunk.from, chunk.size, to, inflated);
        for (int64_t k = done < 0 ? ~done : done; k < inflated; k++)
            to[k] = 0;
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_inflate_plan *plan = (const hr_inflate_plan *)c->memo;
    if (plan->format != HR_INFLATE_LZ4) {
        if (error) {
            error->status = HR_STATUS_ERROR;
            snprintf(error->message, sizeof(error->message),
                     "on a GPU `algorithm` must be \"LZ4\"; zlib's formats need device=\"cpu\"");
        }
        return HR_STATUS_ERROR;
    }
    size_t size = (size_t)plan->count * sizeof(hr_inflate_chunk);
    hr_staged chunks = {};
    HR_TRY(staging->alloc(staging, size, &chunks, error));
    memcpy(chunks.host, plan->chunks, size);
    *r = {};
    r->chunks = (const hr_inflate_chunk *)chunks.device;
    r->src = (const uint8_t *)c->in[0].data;
    r->dst = (uint8_t *)c->out[0].data;
    r->inflated = plan->inflated;
    r->count = plan->count * WARP;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged records;
    HR_TRY(op::stage<record>(calls, n, staging, make, &records, error));
    return op::launch<record, 1>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(decoders_inflate, "decoders.inflate", run);
