/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The operations of SSE2 that the base level uses. On AArch64 they are made of NEON, with the same
 * results. HR_SSE2 is defined where they exist. The names are Intel's. */
#pragma once

#if defined(__SSE2__)

#define HR_SSE2
#include <emmintrin.h>

/* The first byte of the mask that is 255, not 0; 16: none. */
static inline int hr_bytes_first(__m128i mask)
{
    return __builtin_ctz((unsigned)_mm_movemask_epi8(mask) | 1u << 16);
}

static inline int hr_bytes_zero(__m128i v)
{
    return _mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_setzero_si128())) == 0xFFFF;
}

#elif defined(__aarch64__) && defined(__ARM_NEON) && !defined(__AARCH64EB__)

#define HR_SSE2
#include <arm_neon.h>

typedef int32x4_t __m128i __attribute__((may_alias));
typedef float32x4_t __m128;

#define HR_NEON static inline __attribute__((always_inline, unused))
#define NEON(type, name, parameters, result)                                                       \
    HR_NEON type name parameters                                                                   \
    {                                                                                              \
        return result;                                                                             \
    }

/* Vectors of another type. */
#define S8(v) vreinterpretq_s8_s32(v)
#define S16(v) vreinterpretq_s16_s32(v)
#define S64(v) vreinterpretq_s64_s32(v)
#define U8(v) vreinterpretq_u8_s32(v)
#define U32(v) vreinterpretq_u32_s32(v)
#define U64(v) vreinterpretq_u64_s32(v)
#define OF_S8(v) vreinterpretq_s32_s8(v)
#define OF_S16(v) vreinterpretq_s32_s16(v)
#define OF_S64(v) vreinterpretq_s32_s64(v)
#define OF_U8(v) vreinterpretq_s32_u8(v)
#define OF_U32(v) vreinterpretq_s32_u32(v)
#define OF_U64(v) vreinterpretq_s32_u64(v)

/* ---- memory ---- */

NEON(__m128i, _mm_loadu_si128, (const __m128i *p),
     OF_U8(vld1q_u8((const uint8_t *)(const void *)p)))
NEON(__m128i, _mm_loadl_epi64, (const __m128i *p),
     OF_U8(vcombine_u8(vld1_u8((const uint8_t *)(const void *)p), vdup_n_u8(0))))

HR_NEON void _mm_storeu_si128(__m128i *p, __m128i v)
{
    vst1q_u8((uint8_t *)(void *)p, U8(v));
}

HR_NEON void _mm_storel_epi64(__m128i *p, __m128i v)
{
    vst1_u8((uint8_t *)(void *)p, vget_low_u8(U8(v)));
}

HR_NEON void _mm_storeu_ps(float *p, __m128 v)
{
    vst1q_f32(p, v);
}

/* ---- constants and lanes ---- */

NEON(__m128i, _mm_setzero_si128, (void), vdupq_n_s32(0))
NEON(__m128i, _mm_set1_epi8, (char v), OF_S8(vdupq_n_s8((int8_t)v)))
NEON(__m128i, _mm_set1_epi16, (short v), OF_S16(vdupq_n_s16(v)))
NEON(__m128i, _mm_set1_epi32, (int v), vdupq_n_s32(v))
NEON(__m128, _mm_set1_ps, (float v), vdupq_n_f32(v))
NEON(__m128i, _mm_set1_epi64x, (long long v), OF_S64(vdupq_n_s64(v)))
NEON(__m128i, _mm_cvtsi32_si128, (int v), vsetq_lane_s32(v, vdupq_n_s32(0), 0))
NEON(int, _mm_cvtsi128_si32, (__m128i v), vgetq_lane_s32(v, 0))

/* ---- arithmetic ---- */

NEON(__m128i, _mm_add_epi8, (__m128i a, __m128i b), OF_S8(vaddq_s8(S8(a), S8(b))))
NEON(__m128i, _mm_add_epi16, (__m128i a, __m128i b), OF_S16(vaddq_s16(S16(a), S16(b))))
NEON(__m128i, _mm_add_epi32, (__m128i a, __m128i b), vaddq_s32(a, b))
NEON(__m128i, _mm_sub_epi16, (__m128i a, __m128i b), OF_S16(vsubq_s16(S16(a), S16(b))))
NEON(__m128i, _mm_sub_epi32, (__m128i a, __m128i b), vsubq_s32(a, b))
NEON(__m128i, _mm_mullo_epi16, (__m128i a, __m128i b), OF_S16(vmulq_s16(S16(a), S16(b))))

HR_NEON __m128i _mm_mulhi_epi16(__m128i a, __m128i b)
{
    int32x4_t low = vmull_s16(vget_low_s16(S16(a)), vget_low_s16(S16(b)));
    int32x4_t high = vmull_high_s16(S16(a), S16(b));
    return OF_S16(vuzp2q_s16(S16(low), S16(high)));
}

HR_NEON __m128i _mm_madd_epi16(__m128i a, __m128i b)
{
    int32x4_t low = vmull_s16(vget_low_s16(S16(a)), vget_low_s16(S16(b)));
    return vpaddq_s32(low, vmull_high_s16(S16(a), S16(b)));
}

NEON(__m128, _mm_add_ps, (__m128 a, __m128 b), vaddq_f32(a, b))
NEON(__m128, _mm_sub_ps, (__m128 a, __m128 b), vsubq_f32(a, b))
NEON(__m128, _mm_mul_ps, (__m128 a, __m128 b), vmulq_f32(a, b))
NEON(__m128i, _mm_and_si128, (__m128i a, __m128i b), vandq_s32(a, b))
NEON(__m128i, _mm_or_si128, (__m128i a, __m128i b), vorrq_s32(a, b))
NEON(__m128i, _mm_cmpeq_epi8, (__m128i a, __m128i b), OF_U8(vceqq_u8(U8(a), U8(b))))

/* ---- shifts; every count is a constant where these are inlined ---- */

NEON(__m128i, _mm_slli_epi16, (__m128i v, int n),
     OF_S16(vshlq_s16(S16(v), vdupq_n_s16((int16_t)n))))
NEON(__m128i, _mm_slli_epi64, (__m128i v, int n), OF_S64(vshlq_s64(S64(v), vdupq_n_s64(n))))
NEON(__m128i, _mm_srai_epi16, (__m128i v, int n),
     OF_S16(vshlq_s16(S16(v), vdupq_n_s16((int16_t)-n))))
NEON(__m128i, _mm_srai_epi32, (__m128i v, int n), vshlq_s32(v, vdupq_n_s32(-n)))
NEON(__m128i, _mm_srli_epi32, (__m128i v, int n), OF_U32(vshlq_u32(U32(v), vdupq_n_s32(-n))))
NEON(__m128i, _mm_srli_epi64, (__m128i v, int n), OF_U64(vshlq_u64(U64(v), vdupq_n_s64(-n))))

/* ---- conversions ---- */

NEON(__m128i, _mm_packs_epi16, (__m128i a, __m128i b),
     OF_S8(vqmovn_high_s16(vqmovn_s16(S16(a)), S16(b))))
NEON(__m128i, _mm_packs_epi32, (__m128i a, __m128i b), OF_S16(vqmovn_high_s32(vqmovn_s32(a), b)))
NEON(__m128i, _mm_packus_epi16, (__m128i a, __m128i b),
     OF_U8(vqmovun_high_s16(vqmovun_s16(S16(a)), S16(b))))
NEON(__m128i, _mm_unpacklo_epi8, (__m128i a, __m128i b), OF_S8(vzip1q_s8(S8(a), S8(b))))
NEON(__m128i, _mm_unpacklo_epi16, (__m128i a, __m128i b), OF_S16(vzip1q_s16(S16(a), S16(b))))
NEON(__m128i, _mm_unpacklo_epi32, (__m128i a, __m128i b), vzip1q_s32(a, b))
NEON(__m128i, _mm_unpacklo_epi64, (__m128i a, __m128i b), OF_S64(vzip1q_s64(S64(a), S64(b))))
NEON(__m128i, _mm_unpackhi_epi8, (__m128i a, __m128i b), OF_S8(vzip2q_s8(S8(a), S8(b))))
NEON(__m128i, _mm_unpackhi_epi16, (__m128i a, __m128i b), OF_S16(vzip2q_s16(S16(a), S16(b))))
NEON(__m128i, _mm_unpackhi_epi32, (__m128i a, __m128i b), vzip2q_s32(a, b))
NEON(__m128i, _mm_unpackhi_epi64, (__m128i a, __m128i b), OF_S64(vzip2q_s64(S64(a), S64(b))))
NEON(__m128, _mm_cvtepi32_ps, (__m128i v), vcvtq_f32_s32(v))

/* For values that fit 32 bits. */
NEON(__m128i, _mm_cvttps_epi32, (__m128 v), vcvtq_s32_f32(v))

#undef S8
#undef S16
#undef S64
#undef U8
#undef U16
#undef U32
#undef U64
#undef OF_S8
#undef OF_S16
#undef OF_S64
#undef OF_U8
#undef OF_U32
#undef OF_U64
#undef HR_NEON
#undef NEON

/* Macros: the number of the element, and the count, must be literals. */
#define _mm_insert_epi16(v, element, i)                                                            \
    vreinterpretq_s32_s16(vsetq_lane_s16((int16_t)(element), vreinterpretq_s16_s32(v), i))
#define _mm_srli_si128(v, n)                                                                       \
    vreinterpretq_s32_u8(vextq_u8(vreinterpretq_u8_s32(v), vdupq_n_u8(0), n))
#define _mm_slli_si128(v, n)                                                                       \
    vreinterpretq_s32_u8(vextq_u8(vdupq_n_u8(0), vreinterpretq_u8_s32(v), 16 - (n)))

/* Four bits for each byte of the mask. */
static inline int hr_bytes_first(__m128i mask)
{
    uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_s32(mask), 4);
    uint64_t bits = vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
    return bits == 0 ? 16 : __builtin_ctzll(bits) / 4;
}

static inline int hr_bytes_zero(__m128i v)
{
    return vmaxvq_u32(vreinterpretq_u32_s32(v)) == 0;
}

#endif
