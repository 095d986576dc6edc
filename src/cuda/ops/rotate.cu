// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// rotate: one thread per pixel of the output.
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/image/rotate_warp.h"

namespace
{

struct record {
    const hr_warp *warps;
    const char *src;
    char *dst;
    int64_t count, frame_in, frame_out; // pixels
    int32_t from, to, warp_step;

    HR_DEVICE float load(const hr_warp *w, int64_t pixel, int32_t c) const
    {
        int size = value_size(from);
        if (pixel < 0)
            return w->fill;
        return value_to_float(value_load(src + (pixel * w->channels + c) * size, size), from);
    }

    HR_DEVICE void store(int64_t at, float v) const
    {
        int size = value_size(to);
        value_store(dst + at * size, size,
                    to == HR_DTYPE_UINT8 ? warp_u8(v) : value_of_float(v, to));
    }

    HR_DEVICE void position(const hr_warp *w, int64_t at, float *p) const
    {
        int64_t column = at % w->out[0];
        float x = (float)column + 0.5f;
        at /= w->out[0];
        if (w->rotation.axes == 2) {
            warp_position_2d(w, column, at, p);
            return;
        }
        float y = (float)(at % w->out[1]) + 0.5f, z = (float)(at / w->out[1]) + 0.5f;
        for (int i = 0; i < 3; i++)
            p[i] = warp_at_3d(w, i, x, y, z);
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t frame = i / frame_out, before = frame * frame_in, tap[8];
        const hr_warp *w = warps + frame * warp_step;
        float p[3] = {0}, part[3] = {0}, v[8];
        int taps = w->nearest ? 1 : 1 << w->rotation.axes;
        position(w, i - frame * frame_out, p);
        if (w->nearest) {
            const int64_t at[3] = {warp_floor(p[0]), warp_floor(p[1]), warp_floor(p[2])};
            tap[0] = warp_pixel(w, at);
        } else {
            warp_taps(w, p, tap, part);
        }
        for (int k = 0; k < taps; k++)
            tap[k] += tap[k] < 0 ? 0 : before;
        for (int32_t c = 0; c < w->channels; c++) {
            for (int k = 0; k < taps; k++)
                v[k] = load(w, tap[k], c);
            store(i * w->channels + c, w->nearest ? v[0] : warp_blend(v, part, w->rotation.axes));
        }
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_rotate *m = (const hr_rotate *)c->memo;
    size_t size = (size_t)(m->count < 1 ? 1 : m->count) * sizeof(hr_warp);
    hr_staged warps;
    HR_TRY(staging->alloc(staging, size, &warps, error));
    memcpy(warps.host, m->warps, size);
    *r = {};
    r->warps = (const hr_warp *)warps.device;
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->frame_in = r->frame_out = 1;
    for (int i = 0; i < m->warps->rotation.axes; i++) {
        r->frame_in *= m->warps->in[i];
        r->frame_out *= m->warps->out[i];
    }
    r->count = m->frames * r->frame_out;
    r->from = c->in[0].dtype;
    r->to = c->out[0].dtype;
    r->warp_step = m->count > 1;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(rotate, "rotate", run);
