/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The numbers and the arithmetic of JPEG that the CPU's kernels and the GPU's share. */
#pragma once

#include "core/shared.h"

#include <stdbool.h>
#include <stdint.h>

/* X(natural) for each coefficient in zigzag order; natural = 8 * row + column. */
#define HR_JPEG_ZIGZAG(X)                                                                          \
    X(0), X(1), X(8), X(16), X(9), X(2), X(3), X(10), X(17), X(24), X(32), X(25), X(18), X(11),    \
        X(4), X(5), X(12), X(19), X(26), X(33), X(40), X(48), X(41), X(34), X(27), X(20), X(13),   \
        X(6), X(7), X(14), X(21), X(28), X(35), X(42), X(49), X(56), X(57), X(50), X(43), X(36),   \
        X(29), X(22), X(15), X(23), X(30), X(37), X(44), X(51), X(58), X(59), X(52), X(45), X(38), \
        X(31), X(39), X(46), X(53), X(60), X(61), X(54), X(47), X(55), X(62), X(63)
#define HR_JPEG_NATURAL(natural) (natural)

/* ---- colours: factors with 16 bits of fraction ---- */

enum { R_CR = 91881, B_CB = 116130, G_CB = 22554, G_CR = 46802, ONE = 1 << 16, HALF = 1 << 15 };

enum {
    Y_R = 19595,
    Y_G = 38470,
    Y_B = 7471,
    CB_R = -11059,
    CB_G = -21709,
    CR_G = -27439,
    CR_B = -5329
};

/* From RGB, in 16 bits of fraction, rounded half up; the chroma's half is one less than 1/2 of the
 * last bit, as in libjpeg, so that 255.5 is 255. */
HR_SHARED int32_t hr_jpeg_luma(int32_t r, int32_t g, int32_t b)
{
    return (Y_R * r + Y_G * g + Y_B * b + HALF) >> 16;
}

HR_SHARED int32_t hr_jpeg_blue(int32_t r, int32_t g, int32_t b)
{
    return (CB_R * r + CB_G * g + HALF * b + 128 * ONE + HALF - 1) >> 16;
}

HR_SHARED int32_t hr_jpeg_red(int32_t r, int32_t g, int32_t b)
{
    return (HALF * r + CR_G * g + CR_B * b + 128 * ONE + HALF - 1) >> 16;
}

/* ---- quantising ---- */

/* A quantiser q, 1 to 255, for results v of the transform, which are 8 times the coefficients: the
 * quotient of n = |v| + 4 q, less than 2^14, and 8 q, for which |v| <= 8192. With 2^s <= q <
 * 2^(s+1) and factor = 2^(15+s) / q rounded up, it is n * factor / 2^(18+s) rounded down: the
 * factor is too large by less than 1, so the product by less than 2^14, and 2^(18+s) / 8 q is more.
 */
HR_SHARED void hr_jpeg_quantiser_of(int32_t q, uint16_t *half, uint16_t *factor, uint16_t *scale)
{
    int32_t s = 0;
    while (q >> (s + 1))
        s++;
    *half = (uint16_t)(4 * q);
    *factor = (uint16_t)(((1 << (15 + s)) + q - 1) / q);
    *scale = (uint16_t)(1 << (14 - s));
}

/* Rounded half away from zero. */
HR_SHARED int32_t hr_jpeg_quantised(int32_t v, uint32_t half, uint32_t factor, uint32_t scale)
{
    uint32_t n = (uint32_t)(v < 0 ? -v : v) + half;
    int32_t whole = (int32_t)(((n * factor >> 16) * scale) >> 16);
    return v < 0 ? -whole : whole;
}

/* ---- symbols ---- */

/* The bits of a value, those above its size included: negative ones are one less. */
HR_SHARED int32_t hr_jpeg_value(int32_t v)
{
    return v + (v >> 31);
}

/* The number of bits of |v|. */
HR_SHARED uint32_t hr_jpeg_size(int32_t v)
{
    uint32_t magnitude = (uint32_t)(hr_jpeg_value(v) ^ (v >> 31));
#if defined(__CUDA_ARCH__)
    return 32 - (uint32_t)__clz((int)magnitude);
#else
    return 31 - (uint32_t)__builtin_clz(2 * magnitude + 1);
#endif
}

/* ---- the DCT ---- */

enum { CONST_BITS = 13, PASS1_BITS = 2, CENTER = 128 };

/* 13 bits of fraction; sums of two constants where both factors meet the same input. */
enum {
    F_0_298 = 2446,
    F_0_390 = 3196,
    F_0_541 = 4433,
    F_0_765 = 6270,
    F_0_899 = 7373,
    F_1_175 = 9633,
    F_1_501 = 12299,
    F_1_847 = 15137,
    F_1_961 = 16069,
    F_2_053 = 16819,
    F_2_562 = 20995,
    F_3_072 = 25172,
    EVEN_2_2 = F_0_541,
    EVEN_2_6 = F_0_541 - F_1_847,
    EVEN_3_2 = F_0_541 + F_0_765,
    EVEN_3_6 = F_0_541,
    ODD_3_3 = F_1_175 - F_1_961,
    ODD_3_4 = F_1_175,
    ODD_4_3 = F_1_175,
    ODD_4_4 = F_1_175 - F_0_390,
    ODD_0_7 = F_0_298 - F_0_899,
    ODD_0_1 = -F_0_899,
    ODD_1_5 = F_2_053 - F_2_562,
    ODD_1_3 = -F_2_562,
    ODD_2_3 = F_3_072 - F_2_562,
    ODD_2_5 = -F_2_562,
    ODD_3_1 = F_1_501 - F_0_899,
    ODD_3_7 = -F_0_899
};

/* a is of 16 bits, so the product fits. */
HR_SHARED uint32_t hr_jpeg_mul(int32_t a, int32_t b)
{
    return (uint32_t)(a * b);
}

HR_SHARED int32_t hr_jpeg_wrapped(int32_t v, bool bounded)
{
    return bounded ? v : (int16_t)v;
}

HR_SHARED int32_t hr_jpeg_saturated(int32_t v, bool bounded)
{
    return bounded ? v : v < INT16_MIN ? INT16_MIN : v > INT16_MAX ? INT16_MAX : v;
}

/* One dimension of eight inputs of 16 bits, in place; rounded off by `shift` bits and saturated to
 * 16. Sums of two inputs wrap at 16 bits, sums of products at 32, as libjpeg-turbo's vectors do.
 * `bounded`: the coefficients are those of samples, quantised. Each is wrong by at most 128, so
 * what the first dimension gives is less than 2^14, and nothing wraps or saturates. */
HR_SHARED void hr_jpeg_idct_of(int32_t *x0, int32_t *x1, int32_t *x2, int32_t *x3, int32_t *x4,
                               int32_t *x5, int32_t *x6, int32_t *x7, int shift, bool bounded)
{
    uint32_t round = 1u << (shift - 1);
    uint32_t even0 = ((uint32_t)hr_jpeg_wrapped(*x0 + *x4, bounded) << CONST_BITS) + round;
    uint32_t even1 = ((uint32_t)hr_jpeg_wrapped(*x0 - *x4, bounded) << CONST_BITS) + round;
    uint32_t even2 = hr_jpeg_mul(*x2, EVEN_2_2) + hr_jpeg_mul(*x6, EVEN_2_6);
    uint32_t even3 = hr_jpeg_mul(*x2, EVEN_3_2) + hr_jpeg_mul(*x6, EVEN_3_6);
    int32_t z3 = hr_jpeg_wrapped(*x7 + *x3, bounded), z4 = hr_jpeg_wrapped(*x5 + *x1, bounded);
    uint32_t odd3 = hr_jpeg_mul(z3, ODD_3_3) + hr_jpeg_mul(z4, ODD_3_4);
    uint32_t odd4 = hr_jpeg_mul(z3, ODD_4_3) + hr_jpeg_mul(z4, ODD_4_4);
    uint32_t a0 = even0 + even3, a1 = even1 + even2, a2 = even1 - even2, a3 = even0 - even3;
    uint32_t b0 = hr_jpeg_mul(*x1, ODD_3_1) + hr_jpeg_mul(*x7, ODD_3_7) + odd4;
    uint32_t b1 = hr_jpeg_mul(*x5, ODD_2_5) + hr_jpeg_mul(*x3, ODD_2_3) + odd3;
    uint32_t b2 = hr_jpeg_mul(*x5, ODD_1_5) + hr_jpeg_mul(*x3, ODD_1_3) + odd4;
    uint32_t b3 = hr_jpeg_mul(*x1, ODD_0_1) + hr_jpeg_mul(*x7, ODD_0_7) + odd3;
    *x0 = hr_jpeg_saturated((int32_t)(a0 + b0) >> shift, bounded);
    *x7 = hr_jpeg_saturated((int32_t)(a0 - b0) >> shift, bounded);
    *x1 = hr_jpeg_saturated((int32_t)(a1 + b1) >> shift, bounded);
    *x6 = hr_jpeg_saturated((int32_t)(a1 - b1) >> shift, bounded);
    *x2 = hr_jpeg_saturated((int32_t)(a2 + b2) >> shift, bounded);
    *x5 = hr_jpeg_saturated((int32_t)(a2 - b2) >> shift, bounded);
    *x3 = hr_jpeg_saturated((int32_t)(a3 + b3) >> shift, bounded);
    *x4 = hr_jpeg_saturated((int32_t)(a3 - b3) >> shift, bounded);
}

HR_SHARED void hr_jpeg_idct_1d(int32_t *x0, int32_t *x1, int32_t *x2, int32_t *x3, int32_t *x4,
                               int32_t *x5, int32_t *x6, int32_t *x7, int shift)
{
    hr_jpeg_idct_of(x0, x1, x2, x3, x4, x5, x6, x7, shift, false);
}

HR_SHARED int32_t hr_jpeg_round(int32_t v, int shift)
{
    return (v + (1 << (shift - 1))) >> shift;
}

/* One dimension of the forward DCT, in place: the rows first, which keep PASS1_BITS bits of
 * fraction, then the columns (`last`). The result is 8 times the coefficient. */
HR_SHARED void hr_jpeg_fdct_1d(int32_t *x, bool last)
{
    int shift = last ? CONST_BITS + PASS1_BITS : CONST_BITS - PASS1_BITS;
    int32_t a0 = x[0] + x[7], a1 = x[1] + x[6], a2 = x[2] + x[5], a3 = x[3] + x[4];
    int32_t b0 = x[0] - x[7], b1 = x[1] - x[6], b2 = x[2] - x[5], b3 = x[3] - x[4];
    int32_t sum = a0 + a3, middle = a1 + a2, c0 = a0 - a3, c1 = a1 - a2;
    int32_t z3 = b3 + b1, z4 = b2 + b0;
    int32_t odd3 = z3 * ODD_3_3 + z4 * ODD_3_4, odd4 = z3 * ODD_4_3 + z4 * ODD_4_4;
    x[0] = last ? hr_jpeg_round(sum + middle, PASS1_BITS) : (sum + middle) * (1 << PASS1_BITS);
    x[4] = last ? hr_jpeg_round(sum - middle, PASS1_BITS) : (sum - middle) * (1 << PASS1_BITS);
    x[2] = hr_jpeg_round(c1 * EVEN_3_6 + c0 * EVEN_3_2, shift);
    x[6] = hr_jpeg_round(c1 * EVEN_2_6 + c0 * EVEN_2_2, shift);
    x[1] = hr_jpeg_round(b0 * ODD_3_1 + b3 * ODD_3_7 + odd4, shift);
    x[3] = hr_jpeg_round(b1 * ODD_2_3 + b2 * ODD_2_5 + odd3, shift);
    x[5] = hr_jpeg_round(b2 * ODD_1_5 + b1 * ODD_1_3 + odd4, shift);
    x[7] = hr_jpeg_round(b3 * ODD_0_7 + b0 * ODD_0_1 + odd3, shift);
}
