// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// sphere, water and jitter: one thread per element.
#ifndef HR_CUDA_OPS_DISPLACE_CUH
#define HR_CUDA_OPS_DISPLACE_CUH

#include "cuda/ops/op.cuh"
#include "ops/pixels/displace.h"

namespace op
{

struct displace_record {
    hr_displace m;
    const void *src;
    void *dst;
    int64_t count;

    HR_DEVICE float made(int64_t i) const
    {
        if (m.kind == HR_DISPLACE_KIND_NONE)
            return displace_read(&m, src, i, 0);
        if (m.kind == HR_DISPLACE_KIND_JITTER)
            return displace_jitter(&m, src, i);
        int64_t y = i;
        int32_t c = (int32_t)digit(&y, m.channels), x = (int32_t)digit(&y, m.gather.in[0]);
        float p[2];
        displace_position(&m, x, (int32_t)y, p);
        return displace_sample(&m, src, p, c);
    }

    HR_DEVICE void element(int64_t i) const
    {
        if (m.is_float)
            ((float *)dst)[i] = made(i);
        else
            ((uint8_t *)dst)[i] = round_byte(made(i));
    }
};

inline hr_status displace_make(displace_record *r, const hr_op_call *c, hr_staging *staging,
                               hr_error *error)
{
    *r = {};
    r->m = *(const hr_displace *)c->memo;
    r->src = c->in[0].data;
    r->dst = c->out[0].data;
    r->count = count(&c->out[0]);
    if (r->m.shift_x == nullptr)
        return HR_STATUS_OK;
    HR_TRY(stage_floats(&r->m.shift_x, r->m.gather.in[1], staging, error));
    return stage_floats(&r->m.shift_y, r->m.gather.in[0], staging, error);
}

inline hr_status displace_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                              hr_error *error)
{
    return run<displace_record>(l, calls, n, staging, displace_make, error);
}

} // namespace op

#endif
