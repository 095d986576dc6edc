// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// A picture of NVDEC to interleaved pixels, with the operations of codecs/video/planes.c.
#pragma once

#include <stdint.h>

#include "codecs/video/module.h"

namespace video
{

// Luma, and chroma with both samples next to each other for 2 x 2 pixels. With more than 8 bits, a
// sample is the upper bits of a uint16_t.
struct Picture {
    const uint8_t *luma, *chroma;
    int64_t stride; // bytes, of both
    int32_t width, height, bits;
    hr_video_form form;
    uint8_t *dst; // height x width x 3 bytes
};

HR_SHARED int32_t sample_of(const Picture &p, const uint8_t *row, int32_t i)
{
    return p.bits > 8 ? ((const uint16_t *)row)[i] >> (16 - p.bits) : row[i];
}

HR_SHARED int32_t clamped(int32_t i, int32_t count)
{
    return i < 0 ? 0 : i >= count ? count - 1 : i;
}

HR_SHARED int32_t chroma_of(const Picture &p, int32_t plane, int32_t y, int32_t x)
{
    int32_t row = clamped(y, (p.height + 1) / 2), column = clamped(x, (p.width + 1) / 2);
    return sample_of(p, p.chroma + row * p.stride, 2 * column + plane);
}

// Where both sizes are even: weights are quarters. 16 times the chroma, about zero.
HR_SHARED int32_t quarters(const Picture &p, int32_t plane, int32_t y, int32_t x)
{
    int32_t y0 = y >> 1, x0 = x >> 1, y1 = y0 + (y & 1 ? 1 : -1), x1 = x0 + (x & 1 ? 1 : -1);
    int32_t near = 3 * chroma_of(p, plane, y0, x0) + chroma_of(p, plane, y1, x0);
    int32_t far = 3 * chroma_of(p, plane, y0, x1) + chroma_of(p, plane, y1, x1);
    return 3 * near + far - (16 << (p.bits - 1));
}

// Where a size is odd: weights change along the axes. 512 times chroma of 8 bits, about zero.
HR_SHARED int32_t tapped(const Picture &p, int32_t plane, int32_t y, int32_t x)
{
    const hr_yuv_tap across = hr_yuv_tap_of(x, (p.width + 1) / 2, p.width, HR_YUV_ONE_X);
    const hr_yuv_tap down = hr_yuv_tap_of(y, (p.height + 1) / 2, p.height, HR_YUV_ONE_Y);
    int32_t v[2];
    for (int32_t k = 0; k < 2; k++)
        v[k] = hr_yuv_across(
            chroma_of(p, plane, clamped(down.first + k, (p.height + 1) / 2), across.first),
            chroma_of(p, plane, clamped(down.first + k, (p.height + 1) / 2), across.first + 1),
            across, p.bits);
    return hr_yuv_down(v[0], v[1], down);
}

// Writes pixel x of row y.
HR_SHARED void put_pixel(const Picture &p, int32_t y, int32_t x)
{
    const bool even = p.width % 2 == 0 && p.height % 2 == 0;
    const int32_t more = p.bits - 8, luma = sample_of(p, p.luma + y * p.stride, x);
    int32_t c[2];
    for (int32_t i = 0; i < 2; i++)
        c[i] = even ? quarters(p, i, y, x) : tapped(p, i, y, x);
    const hr_yuv_place &place = p.form.place;
    uint8_t *dst = p.dst + 3 * (place.first + y * place.down + x * place.across);
    if (p.form.ycbcr) {
        dst[0] = hr_yuv_byte((luma + (1 << more >> 1)) >> more);
        for (int32_t i = 0; i < 2; i++)
            dst[1 + i] =
                hr_yuv_byte(even ? (c[i] + (16 << (p.bits - 1)) + (8 << more)) >> (4 + more)
                                 : (c[i] + 65536 + 256) >> 9);
    } else if (even) {
        hr_yuv_pixel(dst, &p.form.colors, luma, c[0], c[1]);
    } else {
        hr_yuv_pixel_wide(dst, &p.form.colors, luma, c[0], c[1]);
    }
}

} // namespace video
