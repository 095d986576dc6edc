/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Functions with FLOAT results: computed as doubles without branches, so that loops are vectorised;
 * relative error 2^-40 or less. mathx_short_X accepts the values for which mathx_short_X_takes is
 * true; the functions of mathx_inline.h handle the others. */
#pragma once

#include "core/mathx_inline.h"

#define MATHX_TO_INTEGER 0x1.8p52 /* adding it leaves a rounded integer in the lowest bits */

/* ---- sin, cos, tan: |x| <= 2^19 ---- */

/* sin(r), |r| <= pi/2 */
HR_SHARED double mathx_short_sin_kernel(double r)
{
    double z = r * r;
    return r + r * z * mathx_sin_series(z);
}

/* x = n pi + r; pi in parts of 33 and 53 bits, so that the first product is exact. */
HR_SHARED double mathx_short_reduce(double x, double n)
{
    return (x - n * 0x1.921fb544p+1) - n * 0x1.0b4611a626331p-33;
}

/* -y where the integer in `sum` is odd */
HR_SHARED double mathx_short_alternate(double y, double sum)
{
    return bits_as_f64(bits_of_f64(y) ^ bits_of_f64(sum) << 63);
}

HR_SHARED double mathx_short_sin(double x)
{
    double sum = x * 0x1.45f306dc9c883p-2 + MATHX_TO_INTEGER, n = sum - MATHX_TO_INTEGER;
    return mathx_short_alternate(mathx_short_sin_kernel(mathx_short_reduce(x, n)), sum);
}

HR_SHARED double mathx_short_cos(double x)
{
    double sum = (x * 0x1.45f306dc9c883p-2 - 0.5) + MATHX_TO_INTEGER, n = sum - MATHX_TO_INTEGER;
    return mathx_short_alternate(-mathx_short_sin_kernel(mathx_short_reduce(x, n + 0.5)), sum);
}

HR_SHARED double mathx_short_tan(double x)
{
    return mathx_short_sin(x) / mathx_short_cos(x);
}

/* ---- atan, asin, acos, atan2 ---- */

/* The angle whose tangent is n / d; both >= 0, not both 0 nor both infinite. */
HR_SHARED double mathx_short_angle(double n, double d)
{
    bool steep = n > 2.414213562373095 * d, middle = n > 0.4142135623730951 * d;
    double numerator = steep    ? -d
                       : middle ? n - d
                                : n,
           denominator = steep    ? n
                         : middle ? n + d
                                  : d;
    double from = steep ? HR_PI / 2 : middle ? HR_PI / 4 : 0.0;
    double x = numerator / denominator, z = x * x, p = 1.0 / 33; /* |x| <= tan(pi/8) */
    p = p * z - 1.0 / 31;
    p = p * z + 1.0 / 29;
    p = p * z - 1.0 / 27;
    p = p * z + 1.0 / 25;
    p = p * z - 1.0 / 23;
    p = p * z + 1.0 / 21;
    p = p * z - 1.0 / 19;
    p = p * z + 1.0 / 17;
    p = p * z - 1.0 / 15;
    p = p * z + 1.0 / 13;
    p = p * z - 1.0 / 11;
    p = p * z + 1.0 / 9;
    p = p * z - 1.0 / 7;
    p = p * z + 1.0 / 5;
    p = p * z - 1.0 / 3;
    return from + (x + x * z * p);
}

HR_SHARED double mathx_short_atan(double x) /* any number */
{
    return copysign(mathx_short_angle(fabs(x), 1.0), x);
}

HR_SHARED double mathx_short_asin(double x) /* |x| <= 1 */
{
    return copysign(mathx_short_angle(fabs(x), sqrt((1.0 - x) * (1.0 + x))), x);
}

HR_SHARED double mathx_short_acos(double x) /* |x| <= 1 */
{
    double angle = mathx_short_angle(sqrt((1.0 - x) * (1.0 + x)), fabs(x));
    return x < 0.0 ? HR_PI - angle : angle;
}

HR_SHARED bool mathx_short_atan2_takes(double y, double x)
{
    double sum = fabs(y) + fabs(x);
    return (int)(sum > 0.0) & (int)(sum < mathx_infinity());
}

HR_SHARED double mathx_short_atan2(double y, double x)
{
    double angle = mathx_short_angle(fabs(y), fabs(x));
    return copysign(copysign(1.0, x) < 0.0 ? HR_PI - angle : angle, y);
}

/* ---- exp and what is made of it: |x| <= 700 ---- */

HR_SHARED double mathx_short_exp(double x)
{
    double k, y = mathx_exp_scaled(x, 0.0, &k);
    uint64_t bits = (bits_of_f64(k + MATHX_TO_INTEGER) + 1023) << 52; /* 2^k */
    return y * bits_as_f64(bits);
}

HR_SHARED double mathx_short_cosh(double x)
{
    double e = mathx_short_exp(fabs(x));
    return 0.5 * (e + 1.0 / e);
}

HR_SHARED double mathx_short_sinh(double x)
{
    double a = fabs(x), z = x * x, e = mathx_short_exp(a), p = 1.0 / 6227020800.0; /* 1 / 13! */
    p = p * z + 1.0 / 39916800.0;
    p = p * z + 1.0 / 362880.0;
    p = p * z + 1.0 / 5040.0;
    p = p * z + 1.0 / 120.0;
    p = p * z + 1.0 / 6.0;
    return copysign(a < 0.5 ? a + a * z * p : 0.5 * (e - 1.0 / e), x);
}

HR_SHARED double mathx_short_tanh(double x)
{
    return mathx_short_sinh(x) / mathx_short_cosh(x);
}

/* ---- log and pow ---- */

HR_SHARED double mathx_short_log(double x) /* >= 2^-1022, finite */
{
    uint64_t bits = bits_of_f64(x);
    double m = bits_as_f64((bits & UINT64_C(0x000fffffffffffff)) | UINT64_C(0x3ff0000000000000));
    /* the exponent below 2^52's digits is a number */
    double k = bits_as_f64(bits >> 52 | UINT64_C(0x4330000000000000)) - 0x1p52 - 1023.0;
    k += m > MATHX_SQRT2 ? 1.0 : 0.0;
    m *= m > MATHX_SQRT2 ? 0.5 : 1.0;
    return mathx_log_joined(m - 1.0, k);
}

/* FLOATs: x without sign, both finite */
HR_SHARED bool mathx_short_pow_takes(double x, double y)
{
    bool plus = copysign(1.0, x) > 0.0, both = fabs(y) < mathx_infinity();
    return (int)plus & (int)(x < mathx_infinity()) & (int)both;
}

HR_SHARED double mathx_short_pow(double x, double y)
{
    double t = y * (x > 0.0 ? mathx_short_log(x) : -0x1p1000);
    t = t < 700.0 ? t : 700.0; /* too large for a FLOAT in any case */
    return mathx_short_exp(t > -700.0 ? t : -700.0);
}

/* ---- magnitudes and whole numbers ---- */

HR_SHARED double mathx_short_fabs(double x) /* any number, as the next two */
{
    return fabs(x);
}

HR_SHARED double mathx_short_floor(double x)
{
    return floor(x);
}

HR_SHARED double mathx_short_ceil(double x)
{
    return -floor(-x);
}

/* ---- roots and remainders ---- */

HR_SHARED double mathx_short_rsqrt(double x) /* any number */
{
    return 1.0 / sqrt(x);
}

HR_SHARED double mathx_short_cbrt(double x) /* |x| <= 2^128 */
{
    double a = fabs(x);
    /* A third of the exponent and, as if it were part of it, of the fraction: within 5 %. */
    double high = bits_as_f64(bits_of_f64(a) >> 32 | UINT64_C(0x4330000000000000)) - 0x1p52;
    double third = high * (1.0 / 3.0) + (715094163.0 + 0x1p52);
    double y = bits_as_f64(bits_of_f64(third) << 32), c = y * y * y;
    y = y * (c + 2.0 * a) / (2.0 * c + a); /* Halley's */
    c = y * y * y;
    y = y * (c + 2.0 * a) / (2.0 * c + a);
    y = y - (y * y * y - a) / (3.0 * y * y); /* Newton's: exact for perfect cubes */
    return copysign(a > 0.0 ? y : 0.0, x);
}

/* FLOATs whose quotient is well below 2^29: rounding never reaches the next integer, and the
 * remainder is exact. */
HR_SHARED bool mathx_short_mod_takes(double x, double y)
{
    return (int)(fabs(x / y) < 0x1p28) & (int)(fabs(y) < mathx_infinity());
}

HR_SHARED double mathx_short_mod(double x, double y)
{
    return copysign(x - (double)(int32_t)(x / y) * y, x);
}

/* clang-format off */
/* X(name, function, the domain's ends) */
#define MATHX_SHORT_ONE(X) \
    X(SIN, sin, -0x1p19, 0x1p19) X(COS, cos, -0x1p19, 0x1p19) X(TAN, tan, -0x1p19, 0x1p19) \
    X(ASIN, asin, -1.0, 1.0) X(ACOS, acos, -1.0, 1.0) X(ATAN, atan, -INFINITY, INFINITY) \
    X(SINH, sinh, -700.0, 700.0) X(COSH, cosh, -700.0, 700.0) X(TANH, tanh, -700.0, 700.0) \
    X(FABS, fabs, -INFINITY, INFINITY) X(FLOOR, floor, -INFINITY, INFINITY) \
    X(CEIL, ceil, -INFINITY, INFINITY) X(RSQRT, rsqrt, -INFINITY, INFINITY) \
    X(CBRT, cbrt, -0x1p128, 0x1p128)
/* X(name, function) */
#define MATHX_SHORT_TWO(X) X(ATAN2, atan2) X(POW, pow) X(MOD, mod)
/* clang-format on */

#define MATHX_SHORT_TAKES(name, function, low, high)                                               \
    HR_SHARED bool mathx_short_##function##_takes(double x)                                        \
    {                                                                                              \
        return (int)(x >= (low)) & (int)(x <= (high));                                             \
    }
MATHX_SHORT_ONE(MATHX_SHORT_TAKES)

#define MATHX_SHORT_ENUM(name, ...) MATHX_SHORT_##name,
typedef enum mathx_short {
    MATHX_SHORT_NONE,
    MATHX_SHORT_ONE(MATHX_SHORT_ENUM) MATHX_SHORT_TWO(MATHX_SHORT_ENUM) MATHX_SHORT_COUNT
} mathx_short;
