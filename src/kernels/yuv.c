/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "kernels/yuv.h"
#include "kernels/interleave.h"
#include "kernels/level.h"

#include <string.h>

static void down_u8(int16_t *restrict dst, const uint8_t *restrict near,
                    const uint8_t *restrict far, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (int16_t)(3 * near[i] + far[i]);
}

static void down_u16(int16_t *restrict dst, const uint16_t *restrict near,
                     const uint16_t *restrict far, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dst[i] = (int16_t)(3 * near[i] + far[i]);
}

void HR_LEVELED(hr__yuv_chroma)(int16_t *restrict dst, const hr_yuv_chroma *c)
{
    int16_t *restrict line = c->line + 1;
    const int32_t zero = 16 << (c->bits - 1);
    if (c->bits > 8)
        down_u16(line, c->near, c->far, c->width);
    else
        down_u8(line, c->near, c->far, c->width);
    if (!c->halved) {
        for (size_t i = 0; i < c->width; i++)
            dst[i] = (int16_t)(4 * line[i] - zero);
        return;
    }
    line[-1] = line[0];
    line[c->width] = line[c->width - 1];
    for (size_t i = 0; i < c->width; i++) {
        dst[2 * i] = (int16_t)(3 * line[i] + line[(ptrdiff_t)i - 1] - zero);
        dst[2 * i + 1] = (int16_t)(3 * line[i] + line[i + 1] - zero);
    }
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

typedef struct factors {
    __m256i black, r, g, g_u, b, round;
    __m128i shift;
} factors;

static inline __m256i pair(int16_t low, int16_t high)
{
    return _mm256_set1_epi32((int)((uint32_t)(uint16_t)low | (uint32_t)(uint16_t)high << 16));
}

static inline factors factors_of(const hr_yuv_colors *c)
{
    return (factors){.black = _mm256_set1_epi16((short)c->black),
                     .r = pair(c->y, c->r_v),
                     .g = pair(c->y, c->g_v),
                     .g_u = pair(0, c->g_u),
                     .b = pair(c->y, c->b_u),
                     .round = _mm256_set1_epi32(1 << (c->shift - 1)),
                     .shift = _mm_cvtsi32_si128(c->shift)};
}

static inline __m256i sum(const factors *f, __m256i products)
{
    return _mm256_sra_epi32(_mm256_add_epi32(products, f->round), f->shift);
}

/* 16 pixels as 16-bit numbers, in order. */
static inline void rgb_16(__m256i rgb[3], const factors *f, __m256i luma, __m256i u, __m256i v)
{
    __m256i y = _mm256_slli_epi16(_mm256_sub_epi16(luma, f->black), 3);
    __m256i yu0 = _mm256_unpacklo_epi16(y, u), yu1 = _mm256_unpackhi_epi16(y, u);
    __m256i yv0 = _mm256_unpacklo_epi16(y, v), yv1 = _mm256_unpackhi_epi16(y, v);
    __m256i g0 = _mm256_add_epi32(_mm256_madd_epi16(yv0, f->g), _mm256_madd_epi16(yu0, f->g_u));
    __m256i g1 = _mm256_add_epi32(_mm256_madd_epi16(yv1, f->g), _mm256_madd_epi16(yu1, f->g_u));
    rgb[0] = _mm256_packs_epi32(sum(f, _mm256_madd_epi16(yv0, f->r)),
                                sum(f, _mm256_madd_epi16(yv1, f->r)));
    rgb[1] = _mm256_packs_epi32(sum(f, g0), sum(f, g1));
    rgb[2] = _mm256_packs_epi32(sum(f, _mm256_madd_epi16(yu0, f->b)),
                                sum(f, _mm256_madd_epi16(yu1, f->b)));
}

static inline __m256i load_16(const int16_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

static inline __m256i luma_16(const void *y, size_t i, bool wide)
{
    if (wide)
        return _mm256_loadu_si256((const __m256i *)(const void *)((const uint16_t *)y + i));
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)((const uint8_t *)y + i)));
}

static inline __m256i in_order(__m256i a, __m256i b)
{
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(a, b), 0xD8);
}

static inline void rgb_32(uint8_t *dst, const factors *f, const void *y, const int16_t *u,
                          const int16_t *v, size_t i, bool wide)
{
    __m256i a[3], b[3];
    rgb_16(a, f, luma_16(y, i, wide), load_16(u + i), load_16(v + i));
    rgb_16(b, f, luma_16(y, i + 16, wide), load_16(u + i + 16), load_16(v + i + 16));
    hr_store_pixels(dst, in_order(a[0], b[0]), in_order(a[1], b[1]), in_order(a[2], b[2]));
}

static inline void rgb_row(uint8_t *dst, const void *y, const int16_t *u, const int16_t *v,
                           size_t n, const hr_yuv_colors *c, bool wide)
{
    const factors f = factors_of(c);
    const size_t size = wide ? 2 : 1;
    uint8_t pixels[96], luma[64] = {0};
    size_t i = 0;
    for (; i + 32 <= n; i += 32)
        rgb_32(dst + 3 * i, &f, y, u, v, i, wide);
    if (i < n) {
        memcpy(luma, (const uint8_t *)y + i * size, (n - i) * size);
        rgb_32(pixels, &f, luma, u + i, v + i, 0, wide);
        memcpy(dst + 3 * i, pixels, 3 * (n - i));
    }
}

void HR_LEVELED(hr__yuv_rgb)(uint8_t *dst, const void *y, const int16_t *u, const int16_t *v,
                             size_t n, const hr_yuv_colors *c)
{
    if (c->bits > 8)
        rgb_row(dst, y, u, v, n, c, true);
    else
        rgb_row(dst, y, u, v, n, c, false);
}

#else

void HR_LEVELED(hr__yuv_rgb)(uint8_t *dst, const void *y, const int16_t *u, const int16_t *v,
                             size_t n, const hr_yuv_colors *c)
{
    const hr_yuv_colors k = *c;
    if (k.bits > 8)
        for (size_t i = 0; i < n; i++)
            hr_yuv_pixel(dst + 3 * i, &k, ((const uint16_t *)y)[i], u[i], v[i]);
    else
        for (size_t i = 0; i < n; i++)
            hr_yuv_pixel(dst + 3 * i, &k, ((const uint8_t *)y)[i], u[i], v[i]);
}

#endif

void HR_LEVELED(hr__yuv_rgb_wide)(uint8_t *restrict dst, const void *restrict y,
                                  const int32_t *restrict u, const int32_t *restrict v, size_t n,
                                  const hr_yuv_colors *c)
{
    const hr_yuv_colors k = *c;
    if (k.bits > 8)
        for (size_t i = 0; i < n; i++)
            hr_yuv_pixel_wide(dst + 3 * i, &k, ((const uint16_t *)y)[i], u[i], v[i]);
    else
        for (size_t i = 0; i < n; i++)
            hr_yuv_pixel_wide(dst + 3 * i, &k, ((const uint8_t *)y)[i], u[i], v[i]);
}
