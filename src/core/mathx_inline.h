/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The functions of core/mathx.h for the CPU and the GPU: range reduction by integers or exact
 * products, then a Taylor polynomial. Where a double is not precise enough, a value is a pair: the
 * unevaluated sum of a double and its rounding error (Dekker, 1971). FMA would change the bytes. */
#pragma once

#include "core/bits.h"
#include "core/mathx.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#if defined(__FAST_MATH__)
#error "the pairs below need IEEE 754 arithmetic"
#endif

static const double MATHX_LN2_HI = 0x1.62e42fefa0000p-1,
                    MATHX_LN2_LO = 0x1.cf79abc9e3b3ap-40; /* 37 + 53 bits */
static const double MATHX_INV_LN2 = 0x1.71547652b82fep+0;
static const double MATHX_PIO2_HI = 0x1.921fb54442d18p+0, MATHX_PIO2_LO = 0x1.1a62633145c07p-54;
static const double MATHX_SQRT2 = 0x1.6a09e667f3bcdp+0;

/* 2^k, -1022 <= k <= 1023 */
HR_SHARED double mathx_power_of_two(int k)
{
    return bits_as_f64((uint64_t)(k + 1023) << 52);
}

HR_SHARED double mathx_quiet_nan(void)
{
    return bits_as_f64(UINT64_C(0x7ff8000000000000));
}

HR_SHARED double mathx_infinity(void)
{
    return bits_as_f64(UINT64_C(0x7ff0000000000000));
}

/* ---- pairs ---- */

typedef struct mathx_pair {
    double hi, lo;
} mathx_pair;

HR_SHARED mathx_pair mathx_pair_of(double hi, double lo)
{
    mathx_pair p;
    p.hi = hi;
    p.lo = lo;
    return p;
}

HR_SHARED mathx_pair mathx_sum_ordered(double a, double b) /* |a| >= |b| */
{
    double s = a + b;
    return mathx_pair_of(s, b - (s - a));
}

HR_SHARED mathx_pair mathx_sum_exact(double a, double b)
{
    double s = a + b, t = s - a;
    return mathx_pair_of(s, (a - (s - t)) + (b - t));
}

HR_SHARED mathx_pair mathx_product_exact(double a, double b)
{
    double ca = 134217729.0 * a, cb = 134217729.0 * b; /* 2^27 + 1 splits 53 bits in halves */
    double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
    double p = a * b;
    return mathx_pair_of(p, ((ah * bh - p) + ah * bl + al * bh) + al * bl);
}

HR_SHARED mathx_pair mathx_product(mathx_pair a, mathx_pair b)
{
    mathx_pair p = mathx_product_exact(a.hi, b.hi);
    return mathx_sum_ordered(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* ---- exp ---- */

/* exp(hi + lo) is the result times 2^k; -746 < hi < 710 */
HR_SHARED double mathx_exp_scaled(double hi, double lo, double *k)
{
    double n = floor(hi * MATHX_INV_LN2 + 0.5);
    *k = n;
    double a = hi - n * MATHX_LN2_HI, b = n * MATHX_LN2_LO - lo; /* n * MATHX_LN2_HI is exact */
    double r = a - b, rest = (a - r) - b;
    double p = 1.0 / 6227020800.0; /* 1 / 13! ... */
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    mathx_pair s = mathx_sum_ordered(1.0, r);
    return s.hi + (s.lo + (r * r * p + rest));
}

/* exp(hi + lo), |lo| tiny against hi */
HR_SHARED double mathx_exp_pair(double hi, double lo)
{
    if (hi > 709.79)
        return mathx_infinity();
    if (hi < -745.2)
        return 0.0;
    double n, y = mathx_exp_scaled(hi, lo, &n);
    int k = (int)n;
    if (k > 1022)
        return y * 0x1p1022 * mathx_power_of_two(k - 1022);
    if (k < -1021)
        return y * mathx_power_of_two(k + 600) * 0x1p-600;
    return y * mathx_power_of_two(k);
}

HR_SHARED double mathx_exp(double x)
{
    return x == x ? mathx_exp_pair(x, 0.0) : x;
}

/* ---- log ---- */

/* x = 2^k * m with m in [sqrt(1/2), sqrt(2)]; x is positive and finite. */
HR_SHARED double mathx_split_log(double x, int *k)
{
    *k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        *k = -54;
    }
    uint64_t bits = bits_of_f64(x);
    *k += (int)(bits >> 52) - 1023;
    double m = bits_as_f64((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
    if (m > MATHX_SQRT2) {
        m *= 0.5;
        *k += 1;
    }
    return m;
}

/* 2/5 + 2/7 z + 2/9 z^2 + ..., for log((1 + s) / (1 - s)) = 2 s + 2/3 s z + s z^2 (this), z = s^2 <
 * 0.0295 */
HR_SHARED double mathx_log_series(double z)
{
    double p = 2.0 / 25.0;
    p = p * z + 2.0 / 23.0;
    p = p * z + 2.0 / 21.0;
    p = p * z + 2.0 / 19.0;
    p = p * z + 2.0 / 17.0;
    p = p * z + 2.0 / 15.0;
    p = p * z + 2.0 / 13.0;
    p = p * z + 2.0 / 11.0;
    p = p * z + 2.0 / 9.0;
    p = p * z + 2.0 / 7.0;
    p = p * z + 2.0 / 5.0;
    return p;
}

/* log((f + 1) * 2^k) */
HR_SHARED double mathx_log_joined(double f, double k)
{
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double series = z * (2.0 / 3.0 + z * mathx_log_series(z));
    /* 2 s = f - f^2 / 2 + s f^2 / 2: the large part of it is exact */
    double rest = half - (s * (half + series) + k * MATHX_LN2_LO);
    return k * MATHX_LN2_HI - (rest - f);
}

HR_SHARED double mathx_log(double x)
{
    if (x != x || x == mathx_infinity())
        return x;
    if (x <= 0)
        return x < 0 ? mathx_quiet_nan() : -mathx_infinity();
    int k;
    double f = mathx_split_log(x, &k) - 1.0; /* exact */
    return mathx_log_joined(f, k);
}

/* As a pair, with a relative error of about 2^-64. */
HR_SHARED mathx_pair mathx_log_pair(double x)
{
    int k;
    double f = mathx_split_log(x, &k) - 1.0;
    mathx_pair d = mathx_sum_ordered(2.0, f);
    double sh = f / d.hi;
    mathx_pair back = mathx_product_exact(sh, d.hi);
    mathx_pair s = mathx_sum_ordered(sh, (((f - back.hi) - back.lo) - sh * d.lo) / d.hi);
    mathx_pair z = mathx_product(s, s);
    mathx_pair t =
        mathx_product(z, mathx_pair_of(0x1.5555555555555p-1, 0x1.5555555555555p-55)); /* 2/3 z */
    mathx_pair u = mathx_sum_ordered(t.hi, z.hi * z.hi * mathx_log_series(z.hi));
    mathx_pair tail = mathx_product(s, mathx_pair_of(u.hi, u.lo + t.lo));
    mathx_pair a = mathx_sum_ordered(2.0 * s.hi, tail.hi);
    double a_lo = a.lo + (2.0 * s.lo + tail.lo);
    mathx_pair b = mathx_sum_exact(k * MATHX_LN2_HI, a.hi);
    return mathx_sum_ordered(b.hi, b.lo + (a_lo + k * MATHX_LN2_LO));
}

/* ---- pow ---- */

/* 0: not an integer, 1: odd, 2: even */
HR_SHARED int mathx_integer_kind(double y)
{
    double magnitude = fabs(y);
    if (magnitude >= 0x1p53)
        return 2;
    if (floor(magnitude) != magnitude)
        return 0;
    return (int64_t)magnitude % 2 ? 1 : 2;
}

/* x is 0 or infinite, or y infinite; neither is a NaN, x is not 1 and y is not 0 */
HR_SHARED double mathx_pow_special(double x, double y, bool negative)
{
    double magnitude = fabs(x), result;
    if (fabs(y) == mathx_infinity()) {
        if (magnitude == 1.0)
            return 1.0;
        return (magnitude > 1.0) == (y > 0) ? mathx_infinity() : 0.0;
    }
    result = (magnitude == 0.0) == (y > 0) ? 0.0 : mathx_infinity();
    return negative ? -result : result;
}

HR_SHARED double mathx_pow(double x, double y)
{
    if (x == 1.0 || y == 0.0)
        return 1.0;
    if (x != x || y != y)
        return mathx_quiet_nan();
    int kind = mathx_integer_kind(y);
    bool negative = (bits_of_f64(x) >> 63) && kind == 1;
    double magnitude = fabs(x), result;
    if (magnitude == 0.0 || magnitude == mathx_infinity() || fabs(y) == mathx_infinity())
        return mathx_pow_special(x, y, negative);
    if (x < 0 && kind == 0)
        return mathx_quiet_nan();
    if (magnitude == 1.0) {
        result = 1.0;
    } else if (fabs(y) > 0x1p65) { /* even where x is next to 1 */
        result = (magnitude > 1.0) == (y > 0) ? mathx_infinity() : 0.0;
    } else {
        mathx_pair l = mathx_log_pair(magnitude);
        mathx_pair p = mathx_product_exact(y, l.hi);
        mathx_pair q = mathx_sum_ordered(p.hi, p.lo + y * l.lo);
        result = mathx_exp_pair(q.hi, q.lo);
    }
    return negative ? -result : result;
}

/* ---- sin and cos ---- */

/* sin(r) = r + r z (this), z = r^2 */
HR_SHARED double mathx_sin_series(double z)
{
    double p = 1.0 / 355687428096000.0; /* 1 / 17! ... */
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    return p * z - 1.0 / 6.0;
}

/* sin(r + lo), |r| <= pi/4 */
HR_SHARED double mathx_sin_kernel(double r, double lo)
{
    double z = r * r;
    return r + (r * z * mathx_sin_series(z) + lo * (1.0 - 0.5 * z));
}

HR_SHARED double mathx_cos_kernel(double r, double lo)
{
    double z = r * r, half = 0.5 * z, w = 1.0 - half;
    double p = 1.0 / 20922789888000.0; /* 1 / 16! ... */
    p = p * z - 1.0 / 87178291200.0;
    p = p * z + 1.0 / 479001600.0;
    p = p * z - 1.0 / 3628800.0;
    p = p * z + 1.0 / 40320.0;
    p = p * z - 1.0 / 720.0;
    p = p * z + 1.0 / 24.0;
    return w + (((1.0 - w) - half) + (z * z * p - r * lo));
}

HR_SHARED int mathx_leading_zeros(uint64_t x) /* x is not 0 */
{
#if defined(__CUDA_ARCH__)
    return __clzll((long long)x);
#else
    return __builtin_clzll(x);
#endif
}

HR_SHARED uint64_t mathx_multiply_wide(uint64_t a, uint64_t b, uint64_t *high)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (uint32_t)mid;
    *high = a1 * b1 + (mid >> 32) + (mid2 >> 32);
    return mid2 << 32 | (uint32_t)low;
}

/* The 128 bits below the binary point and the 2 bits above it of |x| * 2/pi, pi/4 <= |x| < inf.
 * Higher bits are whole turns (Payne and Hanek, 1983). */
HR_SHARED unsigned mathx_quarter_turns(double x, uint64_t *f0, uint64_t *f1)
{
    /* 64 zero bits, then the bits of 2/pi after the binary point */
    static const uint64_t two_over_pi[20] = {
        0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
        0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
        0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
        0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
        0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB};
    uint64_t bits = bits_of_f64(x);
    uint64_t m = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x0010000000000000);
    unsigned at = (unsigned)(bits >> 52 & 0x7ff) - 1023 - 52 + 62; /* x = m * 2^(at - 62) */
    const uint64_t *t = two_over_pi + at / 64;
    unsigned left = at % 64, right = 63 - left;
    uint64_t w0 = t[0] << left | t[1] >> 1 >> right, w1 = t[1] << left | t[2] >> 1 >> right,
             w2 = t[2] << left | t[3] >> 1 >> right;
    uint64_t h1, h2;
    uint64_t r2 = mathx_multiply_wide(m, w2, &h2), r1 = mathx_multiply_wide(m, w1, &h1),
             r0 = m * w0 + h1;
    r1 += h2;
    r0 += r1 < h2;
    *f0 = r0 << 2 | r1 >> 62;
    *f1 = r1 << 2 | r2 >> 62;
    return (unsigned)(r0 >> 62);
}

/* The same for |x| < 2^20, by pi/2 in parts of 33, 33 and 53 bits: the first two products are exact
 * (Cody and Waite, 1980). */
HR_SHARED mathx_pair mathx_reduce_small_angle(double x, unsigned *quarter)
{
    double n = floor(x * 0x1.45f306dc9c883p-1 + 0.5);
    mathx_pair r = mathx_sum_exact(x - n * 0x1.921fb544p+0, -(n * 0x1.0b4611a6p-34));
    *quarter = (unsigned)n;
    return mathx_sum_exact(r.hi, r.lo - n * 0x1.3198a2e037073p-69);
}

/* |x| = quarter * pi/2 + r, |r| <= pi/4; pi/4 <= |x| < inf */
HR_SHARED mathx_pair mathx_reduce_angle(double x, unsigned *quarter)
{
    if (fabs(x) < 0x1p20)
        return mathx_reduce_small_angle(fabs(x), quarter);
    uint64_t f0, f1;
    *quarter = mathx_quarter_turns(x, &f0, &f1);
    bool negative = f0 >> 63;
    if (negative) { /* closer to the next quarter */
        *quarter += 1;
        f1 = ~f1 + 1;
        f0 = ~f0 + (f1 == 0);
    }
    int shift = 0;
    if (f0 == 0) {
        f0 = f1;
        f1 = 0;
        shift = 64;
    }
    int zeros = f0 ? mathx_leading_zeros(f0) : 0;
    f0 = f0 << zeros | f1 >> 1 >> (63 - zeros);
    f1 <<= zeros;
    double scale = mathx_power_of_two(-shift - zeros);
    if (negative)
        scale = -scale;
    double hi = (double)(f0 >> 11) * 0x1p-53 * scale;
    double lo = (double)((f0 & 0x7ff) << 42 | f1 >> 22) * 0x1p-106 * scale;
    return mathx_product(mathx_pair_of(hi, lo), mathx_pair_of(MATHX_PIO2_HI, MATHX_PIO2_LO));
}

HR_SHARED double mathx_sin(double x)
{
    double magnitude = fabs(x);
    if (!(magnitude < mathx_infinity()))
        return mathx_quiet_nan();
    if (magnitude < 0x1p-27)
        return x; /* also keeps the sign of 0 */
    if (magnitude < 0.785)
        return mathx_sin_kernel(x, 0.0);
    unsigned quarter;
    mathx_pair r = mathx_reduce_angle(x, &quarter);
    double y = quarter & 1 ? mathx_cos_kernel(r.hi, r.lo) : mathx_sin_kernel(r.hi, r.lo);
    return ((quarter & 2) != 0) != (x < 0) ? -y : y;
}

HR_SHARED double mathx_cos(double x)
{
    double magnitude = fabs(x);
    if (!(magnitude < mathx_infinity()))
        return mathx_quiet_nan();
    if (magnitude < 0.785)
        return mathx_cos_kernel(x, 0.0);
    unsigned quarter;
    mathx_pair r = mathx_reduce_angle(x, &quarter);
    double y = quarter & 1 ? mathx_sin_kernel(r.hi, r.lo) : mathx_cos_kernel(r.hi, r.lo);
    return (quarter + 1) & 2 ? -y : y;
}

HR_SHARED double mathx_sinc(double x)
{
    const mathx_pair pi = mathx_pair_of(0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53);
    double magnitude = fabs(x);
    if (magnitude >= 0x1p52)
        return 0.0; /* a whole number, or infinite */
    if (magnitude < 0x1p-27 || magnitude != magnitude)
        return x != x ? x : 1.0;
    double n = floor(magnitude + 0.5), f = magnitude - n; /* |f| <= 1/2, exact */
    mathx_pair p = mathx_product(mathx_pair_of(f, 0.0), pi);
    double y;
    if (fabs(f) <= 0.25) {
        y = mathx_sin_kernel(p.hi, p.lo);
    } else { /* cosine of the distance to pi/2 */
        mathx_pair q = mathx_product(mathx_pair_of(0.5 - fabs(f), 0.0), pi);
        y = mathx_cos_kernel(q.hi, q.lo);
        y = f < 0 ? -y : y;
    }
    if ((int64_t)n % 2)
        y = -y;
    mathx_pair d = mathx_product(mathx_pair_of(magnitude, 0.0), pi);
    double quotient = y / d.hi;
    return quotient - quotient * (d.lo / d.hi);
}

HR_SHARED double mathx_round(double x)
{
    double magnitude = fabs(x), whole = floor(magnitude);
    if (magnitude - whole >= 0.5) /* false for infinities: their difference is a NaN */
        whole += 1.0;
    return copysign(whole, x);
}
