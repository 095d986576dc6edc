/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows of JPEG samples: triangle upsampling with libjpeg's rounding, and colours. Rows in between
 * are padded, so that vectors may run over their ends; pixels are written exactly. */
#include "kernels/interleave.h"
#include "kernels/jpeg.h"
#include "kernels/jpeg_shared.h"
#include "kernels/level.h"
#include "kernels/sse2.h"

#include <string.h>

void HR_LEVELED(hr__jpeg_h4v1)(uint8_t *dst, const uint8_t *src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t four = 0x01010101u * src[i];
        memcpy(dst + 4 * i, &four, 4);
    }
}

void HR_LEVELED(hr__jpeg_h1v2)(uint8_t *restrict dst, const uint8_t *restrict near,
                               const uint8_t *restrict far, size_t n, bool below)
{
    uint16_t round = below ? 2 : 1;
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)((3 * near[i] + far[i] + round) >> 2);
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

static inline __m256i widen(const uint8_t *p)
{
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)p));
}

static inline __m256i triple(__m256i v)
{
    return _mm256_add_epi16(v, _mm256_add_epi16(v, v));
}

/* Bytes of even and odd outputs, at most 255 each, in turn. */
static inline void store_turns(uint8_t *dst, __m256i even, __m256i odd)
{
    _mm256_storeu_si256((__m256i *)(void *)dst, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
}

void HR_LEVELED(hr__jpeg_h2v1)(uint8_t *dst, const uint8_t *src, size_t n)
{
    const __m256i one = _mm256_set1_epi16(1), two = _mm256_set1_epi16(2);
    for (size_t i = 0; i < n; i += 16) {
        __m256i middle = triple(widen(src + i));
        __m256i even = _mm256_add_epi16(_mm256_add_epi16(middle, widen(src + i - 1)), one);
        __m256i odd = _mm256_add_epi16(_mm256_add_epi16(middle, widen(src + i + 1)), two);
        store_turns(dst + 2 * i, _mm256_srli_epi16(even, 2), _mm256_srli_epi16(odd, 2));
    }
}

static inline __m256i column(const uint8_t *near, const uint8_t *far)
{
    return _mm256_add_epi16(triple(widen(near)), widen(far));
}

void HR_LEVELED(hr__jpeg_h2v2)(uint8_t *dst, const uint8_t *near, const uint8_t *far, size_t n)
{
    const __m256i seven = _mm256_set1_epi16(7), eight = _mm256_set1_epi16(8);
    for (size_t i = 0; i < n; i += 16) {
        __m256i middle = triple(column(near + i, far + i));
        __m256i even = _mm256_add_epi16(middle, column(near + i - 1, far + i - 1));
        __m256i odd = _mm256_add_epi16(middle, column(near + i + 1, far + i + 1));
        store_turns(dst + 2 * i, _mm256_srli_epi16(_mm256_add_epi16(even, eight), 4),
                    _mm256_srli_epi16(_mm256_add_epi16(odd, seven), 4));
    }
}

/* round(v * factor / 65536) of 16-bit v and factor: pmulhw of 2 v, then half of it. */
static inline __m256i scale(__m256i v, int factor)
{
    __m256i twice = _mm256_mulhi_epi16(_mm256_add_epi16(v, v), _mm256_set1_epi16((short)factor));
    return _mm256_srai_epi16(_mm256_add_epi16(twice, _mm256_set1_epi16(1)), 1);
}

static inline __m256i green(__m256i cb, __m256i cr)
{
    const __m256i by =
        _mm256_set1_epi32((int)((uint32_t)(uint16_t)-G_CB | (uint32_t)(ONE - G_CR) << 16));
    const __m256i half = _mm256_set1_epi32(HALF);
    __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(cb, cr), by);
    __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(cb, cr), by);
    low = _mm256_srai_epi32(_mm256_add_epi32(low, half), 16);
    high = _mm256_srai_epi32(_mm256_add_epi32(high, half), 16);
    return _mm256_sub_epi16(_mm256_packs_epi32(low, high), cr);
}

static inline __m256i load_32(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* 16 pixels: rgb from luma and chroma about zero. */
static inline void ycc_16(__m256i rgb[3], __m256i y, __m256i cb, __m256i cr)
{
    rgb[0] = _mm256_add_epi16(_mm256_add_epi16(y, cr), scale(cr, R_CR - ONE));
    rgb[1] = _mm256_add_epi16(y, green(cb, cr));
    rgb[2] =
        _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(cb, cb)), scale(cb, B_CB - 2 * ONE));
}

/* The halves are unpacked in turns, so that packing puts the pixels back in order. */
static inline void ycc_32(uint8_t *dst, const uint8_t *y, const uint8_t *cb, const uint8_t *cr)
{
    const __m256i zero = _mm256_setzero_si256(), center = _mm256_set1_epi16(128);
    __m256i l = load_32(y), b = load_32(cb), r = load_32(cr), low[3], high[3];
    ycc_16(low, _mm256_unpacklo_epi8(l, zero),
           _mm256_sub_epi16(_mm256_unpacklo_epi8(b, zero), center),
           _mm256_sub_epi16(_mm256_unpacklo_epi8(r, zero), center));
    ycc_16(high, _mm256_unpackhi_epi8(l, zero),
           _mm256_sub_epi16(_mm256_unpackhi_epi8(b, zero), center),
           _mm256_sub_epi16(_mm256_unpackhi_epi8(r, zero), center));
    hr_store_pixels(dst, _mm256_packus_epi16(low[0], high[0]), _mm256_packus_epi16(low[1], high[1]),
                    _mm256_packus_epi16(low[2], high[2]));
}

void HR_LEVELED(hr__jpeg_ycc_rgb)(uint8_t *dst, const uint8_t *y, const uint8_t *cb,
                                  const uint8_t *cr, size_t n)
{
    size_t i = 0;
    uint8_t rest[96];
    for (; i + 32 <= n; i += 32)
        ycc_32(dst + 3 * i, y + i, cb + i, cr + i);
    if (i < n) {
        ycc_32(rest, y + i, cb + i, cr + i);
        memcpy(dst + 3 * i, rest, 3 * (n - i));
    }
}

void HR_LEVELED(hr__jpeg_interleave)(uint8_t *dst, const uint8_t *a, const uint8_t *b,
                                     const uint8_t *c, size_t n)
{
    size_t i = 0;
    uint8_t rest[96];
    for (; i + 32 <= n; i += 32)
        hr_store_pixels(dst + 3 * i, load_32(a + i), load_32(b + i), load_32(c + i));
    if (i < n) {
        hr_store_pixels(rest, load_32(a + i), load_32(b + i), load_32(c + i));
        memcpy(dst + 3 * i, rest, 3 * (n - i));
    }
}

#else

void HR_LEVELED(hr__jpeg_h2v1)(uint8_t *restrict dst, const uint8_t *restrict src, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dst[2 * i] = (uint8_t)((3 * src[i] + src[(ptrdiff_t)i - 1] + 1) >> 2);
        dst[2 * i + 1] = (uint8_t)((3 * src[i] + src[i + 1] + 2) >> 2);
    }
}

void HR_LEVELED(hr__jpeg_h2v2)(uint8_t *restrict dst, const uint8_t *restrict near,
                               const uint8_t *restrict far, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t *a = near + i, *b = far + i;
        uint16_t now = (uint16_t)(3 * a[0] + b[0]);
        uint16_t before = (uint16_t)(3 * a[-1] + b[-1]), next = (uint16_t)(3 * a[1] + b[1]);
        dst[2 * i] = (uint8_t)((uint16_t)(3 * now + before + 8) >> 4);
        dst[2 * i + 1] = (uint8_t)((uint16_t)(3 * now + next + 7) >> 4);
    }
}

#if defined(HR_SSE2)

static inline __m128i scale(__m128i v, int factor)
{
    __m128i twice = _mm_mulhi_epi16(_mm_add_epi16(v, v), _mm_set1_epi16((short)factor));
    return _mm_srai_epi16(_mm_add_epi16(twice, _mm_set1_epi16(1)), 1);
}

static inline __m128i green(__m128i cb, __m128i cr)
{
    const __m128i by =
        _mm_set1_epi32((int)((uint32_t)(uint16_t)-G_CB | (uint32_t)(ONE - G_CR) << 16));
    const __m128i half = _mm_set1_epi32(HALF);
    __m128i low = _mm_madd_epi16(_mm_unpacklo_epi16(cb, cr), by);
    __m128i high = _mm_madd_epi16(_mm_unpackhi_epi16(cb, cr), by);
    low = _mm_srai_epi32(_mm_add_epi32(low, half), 16);
    high = _mm_srai_epi32(_mm_add_epi32(high, half), 16);
    return _mm_sub_epi16(_mm_packs_epi32(low, high), cr);
}

static inline __m128i widen(const uint8_t *p)
{
    return _mm_unpacklo_epi8(_mm_loadl_epi64((const __m128i *)(const void *)p),
                             _mm_setzero_si128());
}

/* Eight pixels of the lower halves of three planes; writes one byte more. */
static inline void store_8(uint8_t *dst, __m128i a, __m128i b, __m128i c)
{
#if defined(__SSE2__)
    __m128i ab = _mm_unpacklo_epi8(a, b), c0 = _mm_unpacklo_epi8(c, c);
    uint32_t pixels[8];
    _mm_storeu_si128((__m128i *)(void *)pixels, _mm_unpacklo_epi16(ab, c0));
    _mm_storeu_si128((__m128i *)(void *)(pixels + 4), _mm_unpackhi_epi16(ab, c0));
    for (int i = 0; i < 8; i++)
        memcpy(dst + 3 * i, &pixels[i], 4);
#else
    vst3_u8(dst, (uint8x8x3_t){{vget_low_u8(vreinterpretq_u8_s32(a)),
                                vget_low_u8(vreinterpretq_u8_s32(b)),
                                vget_low_u8(vreinterpretq_u8_s32(c))}});
#endif
}

/* Eight pixels; writes one byte more. */
static inline void ycc_8(uint8_t *dst, const uint8_t *y, const uint8_t *cb, const uint8_t *cr)
{
    const __m128i center = _mm_set1_epi16(128);
    __m128i l = widen(y), b = _mm_sub_epi16(widen(cb), center);
    __m128i r = _mm_sub_epi16(widen(cr), center);
    __m128i red = _mm_add_epi16(_mm_add_epi16(l, r), scale(r, R_CR - ONE));
    __m128i blue = _mm_add_epi16(_mm_add_epi16(l, _mm_add_epi16(b, b)), scale(b, B_CB - 2 * ONE));
    __m128i middle = _mm_add_epi16(l, green(b, r));
    red = _mm_packus_epi16(red, red);
    middle = _mm_packus_epi16(middle, middle);
    blue = _mm_packus_epi16(blue, blue);
    store_8(dst, red, middle, blue);
}

void HR_LEVELED(hr__jpeg_ycc_rgb)(uint8_t *dst, const uint8_t *y, const uint8_t *cb,
                                  const uint8_t *cr, size_t n)
{
    size_t i = 0;
    uint8_t rest[25];
    for (; i + 8 < n; i += 8)
        ycc_8(dst + 3 * i, y + i, cb + i, cr + i);
    if (i < n) {
        ycc_8(rest, y + i, cb + i, cr + i);
        memcpy(dst + 3 * i, rest, 3 * (n - i));
    }
}

#else

static inline uint8_t clamp(int32_t v)
{
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

static inline void ycc_pixel(uint8_t *dst, int32_t y, int32_t cb, int32_t cr)
{
    cb -= 128;
    cr -= 128;
    dst[0] = clamp(y + ((R_CR * cr + HALF) >> 16));
    dst[1] = clamp(y + ((HALF - G_CB * cb - G_CR * cr) >> 16));
    dst[2] = clamp(y + ((B_CB * cb + HALF) >> 16));
}

void HR_LEVELED(hr__jpeg_ycc_rgb)(uint8_t *restrict dst, const uint8_t *restrict y,
                                  const uint8_t *restrict cb, const uint8_t *restrict cr, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ycc_pixel(dst + 3 * i, y[i], cb[i], cr[i]);
}

#endif

void HR_LEVELED(hr__jpeg_interleave)(uint8_t *restrict dst, const uint8_t *restrict a,
                                     const uint8_t *restrict b, const uint8_t *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dst[3 * i] = a[i];
        dst[3 * i + 1] = b[i];
        dst[3 * i + 2] = c[i];
    }
}

#endif
