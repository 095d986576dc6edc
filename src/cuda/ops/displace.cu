// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// sphere, water and jitter.
#include "cuda/ops/fours.cuh"
#include "ops/pixels/displace.h"

namespace
{

// A thread makes an element; with SPHERE and WATER a pixel, with JITTER two elements.
struct displace_record {
    hr_displace m;
    const void *src;
    void *dst;
    int64_t count;    // threads
    int64_t elements; // of the output

    bool is_by_pixel() const
    {
        return m.kind == HR_DISPLACE_KIND_SPHERE || m.kind == HR_DISPLACE_KIND_WATER;
    }

    template <typename T> HR_DEVICE static void store(T *at, float v)
    {
        if constexpr (sizeof(T) == 1)
            *at = (T)round_byte(v);
        else
            *at = v;
    }

    // Sets channels from the four pixels around (x, y), or from the fill outside of the image.
    template <typename T, int C> HR_DEVICE void blend(T *to, float x, float y, int channels) const
    {
        int width = (int)m.gather.in[0], height = (int)m.gather.in[1];
        float first_x = floorf(x - 0.5f), first_y = floorf(y - 0.5f);
        float part_x = (x - 0.5f) - first_x, part_y = (y - 0.5f) - first_y;
        int left = (int)first_x, top = (int)first_y;
        bool in_left = left >= 0 && left < width, in_right = left >= -1 && left + 1 < width;
        bool in_top = top >= 0 && top < height, in_bottom = top >= -1 && top + 1 < height;
        const T *at = (const T *)src + ((int64_t)top * width + left) * channels;
        int64_t row = (int64_t)width * channels;
        float fill = m.gather.fill;
        HR_UNROLL
        for (int c = 0; c < (C ? C : channels); c++) {
            float v[4] = {in_left && in_top ? (float)at[c] : fill,
                          in_right && in_top ? (float)at[c + channels] : fill,
                          in_left && in_bottom ? (float)at[c + row] : fill,
                          in_right && in_bottom ? (float)at[c + row + channels] : fill};
            float upper = v[0] + (v[1] - v[0]) * part_x, lower = v[2] + (v[3] - v[2]) * part_x;
            store(to + c, upper + (lower - upper) * part_y);
        }
    }

    template <typename T, int C> HR_DEVICE void pixel(int64_t i) const
    {
        const float far = 1e9f;
        int channels = C ? C : m.channels, width = (int)m.gather.in[0];
        int64_t y = i;
        int32_t x = (int32_t)op::digit(&y, width);
        T *to = (T *)dst + i * channels;
        float p[2];
        displace_position(&m, x, (int32_t)y, p);
        bool known = p[0] > -far && p[0] < far && p[1] > -far && p[1] < far;
        if (known && !m.gather.nearest)
            return blend<T, C>(to, p[0], p[1], channels);
        bool inside =
            p[0] >= 0.0f && p[0] < (float)width && p[1] >= 0.0f && p[1] < (float)m.gather.in[1];
        const T *from = (const T *)src;
        if (inside)
            from += ((int64_t)(int)p[1] * width + (int)p[0]) * channels;
        HR_UNROLL
        for (int c = 0; c < channels; c++)
            store(to + c, inside ? (float)from[c] : m.gather.fill);
    }

    // Two elements, from one block of random numbers.
    template <typename T> HR_DEVICE void jitter(int64_t i) const
    {
        uint32_t bits[4];
        rng_block(&m.rng, (uint64_t)i / 2, bits);
        HR_UNROLL
        for (int k = 0; k < 2; k++)
            if (i + k < elements) {
                int64_t y = i + k;
                int32_t c = (int32_t)op::digit(&y, m.channels);
                int64_t x = op::digit(&y, m.gather.in[0]);
                store((T *)dst + i + k, displace_by(&m, src, x, y, c, bits + 2 * k));
            }
    }

    template <typename T> HR_DEVICE void make(int64_t i) const
    {
        if (m.kind == HR_DISPLACE_KIND_NONE)
            ((T *)dst)[i] = ((const T *)src)[i];
        else if (m.kind == HR_DISPLACE_KIND_JITTER)
            jitter<T>(2 * i);
        else if (m.channels == 3)
            pixel<T, 3>(i);
        else if (m.channels == 1)
            pixel<T, 1>(i);
        else
            pixel<T, 0>(i);
    }

    HR_DEVICE void element(int64_t i) const
    {
        if (m.is_float)
            make<float>(i);
        else
            make<uint8_t>(i);
    }
};

// RGB images of bytes, of four pixels or more; four pixels are loaded before the first is stored.
struct rgb_record : displace_record {
    int64_t last; // where the last pixel is that is loaded as words

    HR_DEVICE void nearest(uint32_t *v, const float (*p)[2]) const
    {
        const int64_t width = m.gather.in[0], height = m.gather.in[1];
        const uint8_t *from = (const uint8_t *)src;
        int64_t at[4];
        uint32_t words[4];
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            const float x = p[k][0], y = p[k][1];
            const bool inside = x >= 0.0f && x < (float)width && y >= 0.0f && y < (float)height;
            at[k] = inside ? 3 * ((int)y * width + (int)x) : -1;
            words[k] = rgb_load(from + HR_MAX(3, HR_MIN(at[k], last)));
        }
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            if (at[k] < 0)
                words[k] = round_byte(m.gather.fill) * 0x10101u;
            else if (at[k] < 3 || at[k] > last)
                words[k] =
                    from[at[k]] | (uint32_t)from[at[k] + 1] << 8 | (uint32_t)from[at[k] + 2] << 16;
            HR_UNROLL
            for (int c = 0; c < 3; c++)
                v[3 * k + c] = words[k] >> 8 * c;
        }
    }

    // Between four pixels each. False: not all of these are inside the image, or one is in the
    // first or in the last row, where words may be outside of memory.
    HR_DEVICE bool linear(uint32_t *v, const float (*p)[2]) const
    {
        const int64_t line = 3 * m.gather.in[0];
        const float width = (float)m.gather.in[0], height = (float)m.gather.in[1];
        bool inside = true;
        HR_UNROLL
        for (int k = 0; k < 4; k++)
            inside = inside && p[k][0] >= 0.5f && p[k][0] < width - 0.5f && p[k][1] >= 1.5f &&
                     p[k][1] < height - 1.5f;
        if (!inside)
            return false;
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            float part_x, part_y, mean[3];
            const int32_t x = rgb_whole(p[k][0] - 0.5f, &part_x);
            const int32_t y = rgb_whole(p[k][1] - 0.5f, &part_y);
            rgb_between(mean, (const uint8_t *)src + y * line + 3 * x, line, part_x, part_y);
            HR_UNROLL
            for (int c = 0; c < 3; c++)
                v[3 * k + c] = rgb_rounded(mean[c]);
        }
        return true;
    }

    HR_DEVICE void element(int64_t i) const
    {
        const int32_t width = (int32_t)m.gather.in[0];
        const op::four to = op::four_at(i, width, m.gather.in[1]);
        const int64_t first = (int64_t)to.y * width + to.x;
        float p[4][2];
        uint32_t v[12];
        if (to.pixels < 1)
            return;
        HR_UNROLL
        for (int k = 0; k < 4; k++)
            displace_position(&m, HR_MIN(to.x + k, width - 1), to.y, p[k]);
        if (m.gather.nearest) {
            nearest(v, p);
        } else if (!linear(v, p)) {
            HR_UNROLL_NOT
            for (int k = 0; k < to.pixels; k++)
                pixel<uint8_t, 3>(first + k);
            return;
        }
        rgb_store_four((uint8_t *)dst + 3 * first, v, to.pixels);
    }
};

hr_status displace_make(displace_record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = {};
    r->m = *(const hr_displace *)c->memo;
    r->src = c->in[0].data;
    r->dst = c->out[0].data;
    r->count = r->elements = op::count(&c->out[0]);
    if (r->m.kind == HR_DISPLACE_KIND_JITTER)
        r->count = HR_DIVIDE_UP(r->count, 2);
    if (r->is_by_pixel() && r->count > 0)
        r->count /= r->m.channels;
    return HR_STATUS_OK;
}

hr_status jitter_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                     hr_error *error)
{
    return op::run<displace_record>(l, calls, n, staging, displace_make, error);
}

// Of sphere and water.
hr_status pixels_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                     hr_error *error)
{
    hr_staged rgb, others;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(rgb_record), &rgb, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(displace_record), &others, error));
    for (int32_t i = 0; i < n; i++) {
        rgb_record *r = (rgb_record *)rgb.host + i;
        displace_record *other = (displace_record *)others.host + i;
        HR_TRY(displace_make(other, &calls[i], staging, error));
        *r = {};
        if (!other->is_by_pixel() || other->m.is_float || other->m.channels != 3 ||
            other->count < 4)
            continue;
        (displace_record &)*r = *other;
        r->last = r->elements - 8;
        r->count = op::fours(1, r->m.gather.in[0], r->m.gather.in[1]);
        other->count = 0;
    }
    HR_TRY(staging->flush(staging, error));
    HR_TRY((op::launch<rgb_record, 1>(l, rgb, n, error)));
    return op::launch<displace_record>(l, others, n, error);
}

} // namespace

HR_CUDA_OP(jitter, "jitter", jitter_run);
HR_CUDA_OP(sphere, "sphere", pixels_run);
HR_CUDA_OP(water, "water", pixels_run);
