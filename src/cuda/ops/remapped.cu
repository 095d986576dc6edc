// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// remap and warp_perspective: one thread per pixel, or, of RGB images of bytes interpolated from
// four neighbours, per four pixels.
#include "cuda/image/value.cuh"
#include "cuda/ops/fours.cuh"
#include "ops/image/remapped.h"

namespace
{

struct remapped_record {
    hr_remapped m;
    const void *src;
    const float *map_x, *map_y;
    void *dst;
    int64_t count, plane; // threads, and bytes of an image of the input

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

    HR_DEVICE int64_t frame_of(int64_t image) const
    {
        op::digit(&image, m.planes);
        return image;
    }

    HR_DEVICE void element(int64_t i) const
    {
        hr_remap r = m.image;
        int64_t image = i, x = op::digit(&image, m.out[0]), y = op::digit(&image, m.out[1]);
        float at_x, at_y;

        position(frame_of(image), x, y, &at_x, &at_y);
        r.src = (const char *)src + image * plane;
        if (r.dtype == HR_DTYPE_UINT8)
            make_as<HR_DTYPE_UINT8>(&r, i, at_x, at_y);
        else
            make_as<-1>(&r, i, at_x, at_y);
    }
};

// RGB images of bytes, interpolated from four neighbours.
struct rgb_record : remapped_record {
    HR_DEVICE void slow(const op::four &to, int64_t first, const uint8_t *from) const
    {
        hr_remap r = m.image;
        r.src = from;
        HR_UNROLL_NOT
        for (int k = 0; k < to.pixels; k++) {
            float at_x, at_y;
            position(frame_of(to.image), to.x + k, to.y, &at_x, &at_y);
            make<HR_DTYPE_UINT8, 2>(&r, first + k, at_x, at_y);
        }
    }

    // If all pixels are from inside, without a look at the border and at the ends of memory.
    HR_DEVICE void element(int64_t i) const
    {
        const int64_t width = m.out[0], line = 3 * m.image.in[0];
        const op::four to = op::four_at(i, width, m.out[1]);
        if (to.pixels < 1)
            return;
        const int64_t first = (to.image * m.out[1] + to.y) * width + to.x;
        const int64_t frame = frame_of(to.image);
        const float last_x = (float)(m.image.in[0] - 1), last_y = (float)(m.image.in[1] - 2);
        const uint8_t *from = (const uint8_t *)src + to.image * plane;
        float x[4], y[4];
        bool inside = true;
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            position(frame, HR_MIN(to.x + k, width - 1), to.y, &x[k], &y[k]);
            inside = inside && x[k] >= 0.0f && x[k] < last_x && y[k] >= 1.0f && y[k] < last_y;
        }
        if (!inside)
            return slow(to, first, from);
        uint32_t v[12];
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            float part_x, part_y, mean[3];
            const int32_t column = rgb_whole(x[k], &part_x), row = rgb_whole(y[k], &part_y);
            rgb_between(mean, from + row * line + 3 * column, line, part_x, part_y);
            HR_UNROLL
            for (int c = 0; c < 3; c++) // as remap_round
                v[3 * k + c] = bits_of_f32(mean[c] + 12582912.0f);
        }
        rgb_store_four((uint8_t *)dst + 3 * first, v, to.pixels);
    }
};

template <bool RGB>
hr_status remapped_make(remapped_record *r, const hr_op_call *c, hr_staging *staging,
                        hr_error *error)
{
    const hr_remapped *m = (const hr_remapped *)c->memo;
    const bool is_rgb = m->image.dtype == HR_DTYPE_UINT8 && m->image.channels == 3 &&
                        m->image.step[0] == 3 && m->image.taps == 2;
    *r = {};
    if (is_rgb != RGB || op::count(&c->out[0]) == 0)
        return HR_STATUS_OK;
    r->m = *m;
    r->src = c->in[0].data;
    r->dst = c->out[0].data;
    r->count = RGB ? op::fours(m->frames * m->planes, m->out[0], m->out[1])
                   : op::count(&c->out[0]) / m->image.channels;
    r->plane = m->image.in[1] * m->image.step[1] * value_size(c->in[0].dtype);
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
    hr_staged rgb, others;
    HR_TRY(op::stage<rgb_record>(calls, n, staging, remapped_make<true>, &rgb, error));
    HR_TRY(op::stage<remapped_record>(calls, n, staging, remapped_make<false>, &others, error));
    HR_TRY((op::launch<rgb_record, 1, 4>(l, rgb, n, error)));
    return op::launch<remapped_record, op::EACH, 4>(l, others, n, error);
}

} // namespace

HR_CUDA_OP(experimental_remap, "experimental.remap", remapped_run);
HR_CUDA_OP(experimental_warp_perspective, "experimental.warp_perspective", remapped_run);
