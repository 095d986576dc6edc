/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Elementary functions: range reduction by integers or exact products, then a Taylor polynomial.
 * Where a double is too short a value is a pair, the unevaluated sum of a double and its rounding
 * error (Dekker, 1971). */
#include "core/mathx.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__FAST_MATH__)
#error "the pairs below need IEEE 754 arithmetic"
#endif
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("-ffp-contract=off")
#endif

static const double LN2_HI = 0x1.62e42fefa0000p-1,
                    LN2_LO = 0x1.cf79abc9e3b3ap-40; /* 37 + 53 bits */
static const double INV_LN2 = 0x1.71547652b82fep+0;
static const double PIO2_HI = 0x1.921fb54442d18p+0, PIO2_LO = 0x1.1a62633145c07p-54;
static const double SQRT2 = 0x1.6a09e667f3bcdp+0;

static uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^k, -1022 <= k <= 1023 */
static double power_of_two(int k)
{
    return from_bits((uint64_t)(k + 1023) << 52);
}

static double quiet_nan(void)
{
    return from_bits(UINT64_C(0x7ff8000000000000));
}

static double infinity(void)
{
    return from_bits(UINT64_C(0x7ff0000000000000));
}

/* ---- pairs ---- */

typedef struct pair {
    double hi, lo;
} pair;

static pair sum_ordered(double a, double b) /* |a| >= |b| */
{
    double s = a + b;
    return (pair){s, b - (s - a)};
}

static pair sum_exact(double a, double b)
{
    double s = a + b, t = s - a;
    return (pair){s, (a - (s - t)) + (b - t)};
}

static pair product_exact(double a, double b)
{
    double ca = 134217729.0 * a, cb = 134217729.0 * b; /* 2^27 + 1 splits 53 bits in halves */
    double ah = ca - (ca - a), bh = cb - (cb - b), al = a - ah, bl = b - bh;
    double p = a * b;
    return (pair){p, ((ah * bh - p) + ah * bl + al * bh) + al * bl};
}

static pair product(pair a, pair b)
{
    pair p = product_exact(a.hi, b.hi);
    return sum_ordered(p.hi, p.lo + (a.hi * b.lo + a.lo * b.hi));
}

/* ---- exp ---- */

/* exp(hi + lo), |lo| tiny against hi */
static double exp_pair(double hi, double lo)
{
    if (hi > 709.79)
        return infinity();
    if (hi < -745.2)
        return 0.0;
    double n = floor(hi * INV_LN2 + 0.5);
    int k = (int)n;
    double a = hi - n * LN2_HI, b = n * LN2_LO - lo; /* n * LN2_HI is exact */
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
    pair s = sum_ordered(1.0, r);
    double y = s.hi + (s.lo + (r * r * p + rest));
    if (k > 1022)
        return y * 0x1p1022 * power_of_two(k - 1022);
    if (k < -1021)
        return y * power_of_two(k + 600) * 0x1p-600;
    return y * power_of_two(k);
}

double hr_exp(double x)
{
    return x == x ? exp_pair(x, 0.0) : x;
}

/* ---- log ---- */

/* x = 2^k * m with m in [sqrt(1/2), sqrt(2)]; x is positive and finite. */
static double split_log(double x, int *k)
{
    *k = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        *k = -54;
    }
    uint64_t bits = bits_of(x);
    *k += (int)(bits >> 52) - 1023;
    double m = from_bits((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
    if (m > SQRT2) {
        m *= 0.5;
        *k += 1;
    }
    return m;
}

/* 2/5 + 2/7 z + 2/9 z^2 + ..., for log((1 + s) / (1 - s)) = 2 s + 2/3 s z + s z^2 (this), z = s^2 <
 * 0.0295 */
static double log_series(double z)
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

double hr_log(double x)
{
    if (x != x || x == infinity())
        return x;
    if (x <= 0)
        return x < 0 ? quiet_nan() : -infinity();
    int k;
    double f = split_log(x, &k) - 1.0; /* exact */
    double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double series = z * (2.0 / 3.0 + z * log_series(z));
    /* 2 s = f - f^2 / 2 + s f^2 / 2: the large part of it is exact */
    double rest = half - (s * (half + series) + k * LN2_LO);
    return k * LN2_HI - (rest - f);
}

/* The same to about 2^-64 of the result. */
static pair log_pair(double x)
{
    int k;
    double f = split_log(x, &k) - 1.0;
    pair d = sum_ordered(2.0, f);
    double sh = f / d.hi;
    pair back = product_exact(sh, d.hi);
    pair s = sum_ordered(sh, (((f - back.hi) - back.lo) - sh * d.lo) / d.hi);
    pair z = product(s, s);
    pair t = product(z, (pair){0x1.5555555555555p-1, 0x1.5555555555555p-55}); /* 2/3 z */
    pair u = sum_ordered(t.hi, z.hi * z.hi * log_series(z.hi));
    pair tail = product(s, (pair){u.hi, u.lo + t.lo});
    pair a = sum_ordered(2.0 * s.hi, tail.hi);
    double a_lo = a.lo + (2.0 * s.lo + tail.lo);
    pair b = sum_exact(k * LN2_HI, a.hi);
    return sum_ordered(b.hi, b.lo + (a_lo + k * LN2_LO));
}

/* ---- pow ---- */

/* 0: not an integer, 1: odd, 2: even */
static int integer_kind(double y)
{
    double magnitude = fabs(y);
    if (magnitude >= 0x1p53)
        return 2;
    if (floor(magnitude) != magnitude)
        return 0;
    return (int64_t)magnitude % 2 ? 1 : 2;
}

/* x is 0 or infinite, or y infinite; neither is a NaN, x is not 1 and y is not 0 */
static double pow_special(double x, double y, bool negative)
{
    double magnitude = fabs(x), result;
    if (fabs(y) == infinity()) {
        if (magnitude == 1.0)
            return 1.0;
        return (magnitude > 1.0) == (y > 0) ? infinity() : 0.0;
    }
    result = (magnitude == 0.0) == (y > 0) ? 0.0 : infinity();
    return negative ? -result : result;
}

double hr_pow(double x, double y)
{
    if (x == 1.0 || y == 0.0)
        return 1.0;
    if (x != x || y != y)
        return quiet_nan();
    int kind = integer_kind(y);
    bool negative = (bits_of(x) >> 63) && kind == 1;
    double magnitude = fabs(x), result;
    if (magnitude == 0.0 || magnitude == infinity() || fabs(y) == infinity())
        return pow_special(x, y, negative);
    if (x < 0 && kind == 0)
        return quiet_nan();
    if (magnitude == 1.0) {
        result = 1.0;
    } else if (fabs(y) > 0x1p65) { /* even where x is next to 1 */
        result = (magnitude > 1.0) == (y > 0) ? infinity() : 0.0;
    } else {
        pair l = log_pair(magnitude);
        pair p = product_exact(y, l.hi);
        pair q = sum_ordered(p.hi, p.lo + y * l.lo);
        result = exp_pair(q.hi, q.lo);
    }
    return negative ? -result : result;
}

/* ---- sin and cos ---- */

/* sin(r + lo), |r| <= pi/4 */
static double sin_kernel(double r, double lo)
{
    double z = r * r;
    double p = 1.0 / 355687428096000.0; /* 1 / 17! ... */
    p = p * z - 1.0 / 1307674368000.0;
    p = p * z + 1.0 / 6227020800.0;
    p = p * z - 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z - 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z - 1.0 / 6.0;
    return r + (r * z * p + lo * (1.0 - 0.5 * z));
}

static double cos_kernel(double r, double lo)
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

/* 64 zero bits, then 2/pi behind the binary point */
static const uint64_t two_over_pi[20] = {
    0x0000000000000000, 0xA2F9836E4E441529, 0xFC2757D1F534DDC0, 0xDB6295993C439041,
    0xFE5163ABDEBBC561, 0xB7246E3A424DD2E0, 0x06492EEA09D1921C, 0xFE1DEB1CB129A73E,
    0xE88235F52EBB4484, 0xE99C7026B45F7E41, 0x3991D639835339F4, 0x9C845F8BBDF9283B,
    0x1FF897FFDE05980F, 0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7, 0x4F463F669E5FEA2D,
    0x7527BAC7EBE5F17B, 0x3D0739F78A5292EA, 0x6BFB5FB11F8D5D08, 0x56033046FC7B6BAB};

static uint64_t multiply_wide(uint64_t a, uint64_t b, uint64_t *high)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t low = a0 * b0, mid = a1 * b0 + (low >> 32), mid2 = a0 * b1 + (uint32_t)mid;
    *high = a1 * b1 + (mid >> 32) + (mid2 >> 32);
    return mid2 << 32 | (uint32_t)low;
}

/* The 128 bits below the binary point and the 2 above it of |x| * 2/pi, pi/4 <= |x| < inf: what
 * lies higher is a whole number of turns (Payne and Hanek, 1983). */
static unsigned quarter_turns(double x, uint64_t *f0, uint64_t *f1)
{
    uint64_t bits = bits_of(x);
    uint64_t m = (bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x0010000000000000);
    unsigned at = (unsigned)(bits >> 52 & 0x7ff) - 1023 - 52 + 62; /* x = m * 2^(at - 62) */
    const uint64_t *t = two_over_pi + at / 64;
    unsigned left = at % 64, right = 63 - left;
    uint64_t w0 = t[0] << left | t[1] >> 1 >> right, w1 = t[1] << left | t[2] >> 1 >> right,
             w2 = t[2] << left | t[3] >> 1 >> right;
    uint64_t h1, h2;
    uint64_t r2 = multiply_wide(m, w2, &h2), r1 = multiply_wide(m, w1, &h1), r0 = m * w0 + h1;
    r1 += h2;
    r0 += r1 < h2;
    *f0 = r0 << 2 | r1 >> 62;
    *f1 = r1 << 2 | r2 >> 62;
    return (unsigned)(r0 >> 62);
}

/* |x| = quarter * pi/2 + r, |r| <= pi/4; pi/4 <= |x| < inf */
static pair reduce_angle(double x, unsigned *quarter)
{
    uint64_t f0, f1;
    *quarter = quarter_turns(x, &f0, &f1);
    bool negative = f0 >> 63;
    if (negative) { /* nearer to the next quarter */
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
    int zeros = f0 ? __builtin_clzll(f0) : 0;
    f0 = f0 << zeros | f1 >> 1 >> (63 - zeros);
    f1 <<= zeros;
    double scale = power_of_two(-shift - zeros);
    if (negative)
        scale = -scale;
    double hi = (double)(f0 >> 11) * 0x1p-53 * scale;
    double lo = (double)((f0 & 0x7ff) << 42 | f1 >> 22) * 0x1p-106 * scale;
    return product((pair){hi, lo}, (pair){PIO2_HI, PIO2_LO});
}

double hr_sin(double x)
{
    double magnitude = fabs(x);
    if (!(magnitude < infinity()))
        return quiet_nan();
    if (magnitude < 0x1p-27)
        return x; /* also keeps the sign of 0 */
    if (magnitude < 0.785)
        return sin_kernel(x, 0.0);
    unsigned quarter;
    pair r = reduce_angle(x, &quarter);
    double y = quarter & 1 ? cos_kernel(r.hi, r.lo) : sin_kernel(r.hi, r.lo);
    return ((quarter & 2) != 0) != (x < 0) ? -y : y;
}

double hr_cos(double x)
{
    double magnitude = fabs(x);
    if (!(magnitude < infinity()))
        return quiet_nan();
    if (magnitude < 0.785)
        return cos_kernel(x, 0.0);
    unsigned quarter;
    pair r = reduce_angle(x, &quarter);
    double y = quarter & 1 ? sin_kernel(r.hi, r.lo) : cos_kernel(r.hi, r.lo);
    return (quarter + 1) & 2 ? -y : y;
}

double hr_sinc(double x)
{
    static const pair pi = {0x1.921fb54442d18p+1, 0x1.1a62633145c07p-53};
    double magnitude = fabs(x);
    if (magnitude >= 0x1p52)
        return 0.0; /* a whole number, or infinite */
    if (magnitude < 0x1p-27 || magnitude != magnitude)
        return x != x ? x : 1.0;
    double n = floor(magnitude + 0.5), f = magnitude - n; /* |f| <= 1/2, exact */
    pair p = product((pair){f, 0.0}, pi);
    double y;
    if (fabs(f) <= 0.25) {
        y = sin_kernel(p.hi, p.lo);
    } else { /* cos of what is left to pi/2 */
        pair q = product((pair){0.5 - fabs(f), 0.0}, pi);
        y = cos_kernel(q.hi, q.lo);
        y = f < 0 ? -y : y;
    }
    if ((int64_t)n % 2)
        y = -y;
    pair d = product((pair){magnitude, 0.0}, pi);
    double quotient = y / d.hi;
    return quotient - quotient * (d.lo / d.hi);
}

double hr_round(double x)
{
    double magnitude = fabs(x), whole = floor(magnitude);
    if (magnitude - whole >= 0.5) /* false for infinities: their difference is a NaN */
        whole += 1.0;
    return copysign(whole, x);
}
