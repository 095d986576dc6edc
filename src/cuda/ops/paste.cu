// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// paste: one thread per pixel of the canvas.
#include "ops/pixels/paste.h"
#include "cuda/ops/op.cuh"

#include <cstring>

namespace
{

struct record {
    hr_paste m;
    const uint8_t *src;
    uint8_t *dst;
    int64_t count;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t y = i, x = op::digit(&y, m.out_w) - m.x;
        y -= m.y;
        bool inside = y >= 0 && y < m.in_h && x >= 0 && x < m.in_w;
        const uint8_t *from = inside ? src + (y * m.in_w + x) * m.channels : m.fill;
        for (int32_t c = 0; c < m.channels; c++)
            dst[i * m.channels + c] = from[c];
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    *r = {};
    r->m = *(const hr_paste *)c->memo;
    r->src = (const uint8_t *)c->in[0].data;
    r->dst = (uint8_t *)c->out[0].data;
    r->count = r->m.out_h * r->m.out_w;
    return op::stage_list(&r->m.fill, r->m.channels, staging, error);
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(paste, "paste", run);
