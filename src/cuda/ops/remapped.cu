// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// remap and warp_perspective: one thread per pixel.
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
    int64_t count, plane; // pixels of the output, and bytes of an image of the input

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

    // Pixel i from a position in the image. DTYPE -1: any type.
    template <int DTYPE, int TAPS>
    HR_DEVICE void make(const hr_remap *r, int64_t i, float x, float y) const
    {
        const hr_dtype dtype = DTYPE < 0 ? r->dtype : (hr_dtype)DTYPE;
        remap_axis columns, rows;
        remap_axis_at(&columns, r, 0, x, TAPS);
        remap_axis_at(&rows, r, 1, y, TAPS);
        HR_UNROLL_NOT
        for (int32_t c = 0; c < r->channels; c++)
            remap_store(dst, dtype, i * r->channels + c,
                        remap_value(r, &columns, &rows, c, dtype, TAPS));
    }

    template <int DTYPE>
    HR_DEVICE void make_as(const hr_remap *r, int64_t i, float x, float y) const
    {
        if (r->taps == 1)
            make<DTYPE, 1>(r, i, x, y);
        else if (r->taps == 2)
            make<DTYPE, 2>(r, i, x, y);
        else
            make<DTYPE, 4>(r, i, x, y);
    }

    HR_DEVICE void element(int64_t i) const
    {
        hr_remap r = m.image;
        int64_t at = i, x = op::digit(&at, m.out[0]), y = op::digit(&at, m.out[1]), frame = at;
        float at_x, at_y;

        op::digit(&frame, m.planes);
        position(frame, x, y, &at_x, &at_y);
        r.src = (const char *)src + at * plane;
        if (r.dtype == HR_DTYPE_UINT8)
            make_as<HR_DTYPE_UINT8>(&r, i, at_x, at_y);
        else
            make_as<-1>(&r, i, at_x, at_y);
    }
};

hr_status remapped_make(remapped_record *r, const hr_op_call *c, hr_staging *staging,
                        hr_error *error)
{
    *r = {};
    r->m = *(const hr_remapped *)c->memo;
    r->src = c->in[0].data;
    r->dst = c->out[0].data;
    r->count = op::count(&c->out[0]) / HR_MAX(r->m.image.channels, 1);
    r->plane = r->m.image.in[1] * r->m.image.step[1] * value_size(c->in[0].dtype);
    HR_TRY(op::stage_list(&r->m.image.fill, r->m.image.channels, staging, error));
    if (r->m.matrix)
        return op::stage_list(&r->m.matrix, 9 * (r->m.varies ? r->m.frames : 1), staging, error);
    r->map_x = (const float *)c->in[1].data;
    r->map_y = (const float *)c->in[2].data;
    return HR_STATUS_OK;
}

hr_status remapped_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                       hr_error *error)
{
    return op::run<remapped_record, 4>(l, calls, n, staging, remapped_make, error);
}

} // namespace

HR_CUDA_OP(experimental_remap, "experimental.remap", remapped_run);
HR_CUDA_OP(experimental_warp_perspective, "experimental.warp_perspective", remapped_run);
