// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// remap and warp_perspective: one thread per element.
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/image/remapped.h"

namespace
{

struct remapped_record {
    hr_remapped m;
    const void *src;
    const float *map_x, *map_y;
    void *dst;
    int64_t count, plane; // elements of the output, and bytes of a picture of the input

    HR_DEVICE void position(int64_t frame, int64_t x, int64_t y, float *at_x, float *at_y) const
    {
        int64_t given = m.varies ? frame : 0;
        if (m.matrix) {
            remap_perspective(m.matrix + 9 * given, (float)x, (float)y, at_x, at_y);
            return;
        }
        int64_t at = (given * m.out[1] + y) * m.out[0] + x;
        *at_x = remapped_position(&m, map_x[at]);
        *at_y = remapped_position(&m, map_y[at]);
    }

    template <int taps> HR_DEVICE float value(const hr_remap *r, int32_t c, float x, float y) const
    {
        remap_axis columns, rows;
        remap_axis_at(&columns, r, 0, x, taps);
        remap_axis_at(&rows, r, 1, y, taps);
        return remap_value(r, &columns, &rows, c, r->dtype, taps);
    }

    HR_DEVICE void element(int64_t i) const
    {
        hr_remap r = m.picture;
        int64_t at = i;
        int32_t c = (int32_t)op::digit(&at, r.channels);
        int64_t x = op::digit(&at, m.out[0]), y = op::digit(&at, m.out[1]), frame = at;
        float at_x, at_y;

        op::digit(&frame, m.planes);
        position(frame, x, y, &at_x, &at_y);
        r.src = (const char *)src + at * plane;
        float v = r.taps == 1   ? value<1>(&r, c, at_x, at_y)
                  : r.taps == 2 ? value<2>(&r, c, at_x, at_y)
                                : value<4>(&r, c, at_x, at_y);
        remap_store(dst, r.dtype, i, v);
    }
};

hr_status remapped_make(remapped_record *r, const hr_op_call *c, hr_staging *staging,
                        hr_error *error)
{
    *r = {};
    r->m = *(const hr_remapped *)c->memo;
    r->src = c->in[0].data;
    r->dst = c->out[0].data;
    r->count = op::count(&c->out[0]);
    r->plane = r->m.picture.in[1] * r->m.picture.step[1] * value_size(c->in[0].dtype);
    HR_TRY(op::stage_list(&r->m.picture.fill, r->m.picture.channels, staging, error));
    if (r->m.matrix)
        return op::stage_list(&r->m.matrix, 9 * (r->m.varies ? r->m.frames : 1), staging, error);
    r->map_x = (const float *)c->in[1].data;
    r->map_y = (const float *)c->in[2].data;
    return HR_STATUS_OK;
}

hr_status remapped_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                       hr_error *error)
{
    return op::run<remapped_record>(l, calls, n, staging, remapped_make, error);
}

} // namespace

HR_CUDA_OP(experimental_remap, "experimental.remap", remapped_run);
HR_CUDA_OP(experimental_warp_perspective, "experimental.warp_perspective", remapped_run);
