/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Roots, logarithms, trigonometric and hyperbolic functions, for the CPU and the GPU. Series are
 * used near zero, where differences of exponentials cancel. */
#pragma once

#include "core/mathx_short.h"

#include <math.h>
#include <stdbool.h>

#define MATH_LN2 0.69314718055994530942
#define MATH_LN10 2.30258509299404568402

/* x + a[0] x^3 + a[1] x^5 + ... */
HR_SHARED double math_odd_series(double x, const double *a, int n)
{
    double square = x * x, sum = 0.0;

    while (n > 0)
        sum = (sum + a[--n]) * square;
    return x + x * sum;
}

HR_SHARED double math_square_root(double x)
{
    return sqrt(x);
}

HR_SHARED double math_reciprocal_root(double x)
{
    return 1.0 / sqrt(x);
}

HR_SHARED double math_cube_root(double x)
{
    if (x == 0.0 || !isfinite(x))
        return x;
    double y = copysign(mathx_pow(fabs(x), 1.0 / 3.0), x);
    return y -
           (y * y * y - x) / (3.0 * y * y); /* one Newton step, so that integer roots are exact */
}

HR_SHARED double math_log_2(double x)
{
    return mathx_log(x) / MATH_LN2;
}

HR_SHARED double math_log_10(double x)
{
    return mathx_log(x) / MATH_LN10;
}

HR_SHARED double math_tangent(double x)
{
    return mathx_sin(x) / mathx_cos(x);
}

/* For x >= 0: halves the angle until it is small, then uses a series. */
HR_SHARED double math_atan_positive(double x)
{
    static const double a[] = {-1.0 / 3, 1.0 / 5,   -1.0 / 7, 1.0 / 9,  -1.0 / 11,
                               1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19};
    bool flipped = x > 1.0;

    x = flipped ? 1.0 / x : x;
    x = x / (1.0 + sqrt(1.0 + x * x));
    x = x / (1.0 + sqrt(1.0 + x * x)); /* at most tan(pi / 16), 0.199 */
    double angle = 4.0 * math_odd_series(x, a, (int)(sizeof a / sizeof *a));
    return flipped ? HR_PI / 2 - angle : angle;
}

HR_SHARED double math_arc_tangent(double x)
{
    return isnan(x) ? x : copysign(math_atan_positive(fabs(x)), x);
}

HR_SHARED double math_atan2(double y, double x)
{
    if (isnan(x) || isnan(y))
        return x + y;
    double ax = fabs(x), ay = fabs(y), angle;
    if (ay == 0.0)
        angle = 0.0;
    else if (isinf(ax) && isinf(ay))
        angle = HR_PI / 4;
    else
        angle = math_atan_positive(ay / ax); /* a division by zero gives a right angle */
    return copysign(signbit(x) ? HR_PI - angle : angle, y);
}

HR_SHARED double math_arc_sine(double x)
{
    return fabs(x) <= 1.0 ? math_atan2(x, sqrt((1.0 - x) * (1.0 + x))) : NAN;
}

HR_SHARED double math_arc_cosine(double x)
{
    return fabs(x) <= 1.0 ? math_atan2(sqrt((1.0 - x) * (1.0 + x)), x) : NAN;
}

HR_SHARED double math_sinh(double x)
{
    static const double a[] = {1.0 / 6,      1.0 / 120,      1.0 / 5040,
                               1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800};

    if (fabs(x) < 0.5)
        return math_odd_series(x, a, (int)(sizeof a / sizeof *a));
    double half = mathx_exp(
        fabs(x) * 0.5); /* of half the argument: the square may be infinite where the root is not */
    double large = 0.5 * half * half, small = 0.5 / half / half;
    return copysign(large - small, x);
}

HR_SHARED double math_cosh(double x)
{
    double half = mathx_exp(fabs(x) * 0.5);

    return 0.5 * half * half + 0.5 / half / half;
}

HR_SHARED double math_tanh(double x)
{
    return fabs(x) > 20.0 ? copysign(1.0, x) : math_sinh(x) / math_cosh(x);
}

HR_SHARED double math_atanh(double x)
{
    static const double a[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                               1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17};

    if (fabs(x) < 0.15)
        return math_odd_series(x, a, (int)(sizeof a / sizeof *a));
    return 0.5 * mathx_log((1.0 + x) / (1.0 - x));
}

HR_SHARED double math_asinh(double x)
{
    double size = fabs(x);

    if (size < 0.15)
        return math_atanh(x / sqrt(1.0 + x * x));
    if (size > 1e8) /* the square might overflow, and adding 1 has no effect */
        return copysign(mathx_log(size) + MATH_LN2, x);
    return copysign(mathx_log(size + sqrt(x * x + 1.0)), x);
}

HR_SHARED double math_acosh(double x)
{
    return x >= 1.0 ? 2.0 * math_asinh(sqrt((x - 1.0) * 0.5)) : NAN;
}

HR_SHARED double math_absolute(double x)
{
    return fabs(x);
}

HR_SHARED double math_down(double x)
{
    return floor(x);
}

HR_SHARED double math_up(double x)
{
    return -floor(-x);
}

/* For results of type FLOAT. */
#define MATH_SHORT(function, full)                                                                 \
    HR_SHARED double math_short_##function(double x)                                               \
    {                                                                                              \
        return mathx_short_##function##_takes(x) ? mathx_short_##function(x) : full(x);            \
    }
#define MATH_SHORT_TWO(function, full)                                                             \
    HR_SHARED double math_short_##function(double x, double y)                                     \
    {                                                                                              \
        return mathx_short_##function##_takes(x, y) ? mathx_short_##function(x, y) : full(x, y);   \
    }
MATH_SHORT(sin, mathx_sin)
MATH_SHORT(cos, mathx_cos)
MATH_SHORT(tan, math_tangent)
MATH_SHORT(asin, math_arc_sine)
MATH_SHORT(acos, math_arc_cosine)
MATH_SHORT(atan, math_arc_tangent)
MATH_SHORT(sinh, math_sinh)
MATH_SHORT(cosh, math_cosh)
MATH_SHORT(tanh, math_tanh)
MATH_SHORT(rsqrt, math_reciprocal_root)
MATH_SHORT(cbrt, math_cube_root)
MATH_SHORT_TWO(atan2, math_atan2)
MATH_SHORT_TWO(pow, mathx_pow)
MATH_SHORT_TWO(mod, fmod)

/* clang-format off */
/* Functions that are faster if the result is a FLOAT. */
#define HR_MATH_FUNCTIONS_SHORT(X) \
    X(HR_MATH_OP_SIN, math_short_sin) X(HR_MATH_OP_COS, math_short_cos) \
    X(HR_MATH_OP_TAN, math_short_tan) X(HR_MATH_OP_ASIN, math_short_asin) \
    X(HR_MATH_OP_ACOS, math_short_acos) X(HR_MATH_OP_ATAN, math_short_atan) \
    X(HR_MATH_OP_SINH, math_short_sinh) X(HR_MATH_OP_COSH, math_short_cosh) \
    X(HR_MATH_OP_TANH, math_short_tanh) X(HR_MATH_OP_RSQRT, math_short_rsqrt) \
    X(HR_MATH_OP_CBRT, math_short_cbrt)
/* All operators that are functions of one number. */
#define HR_MATH_FUNCTIONS(X) \
    X(HR_MATH_OP_SQRT, math_square_root) X(HR_MATH_OP_RSQRT, math_reciprocal_root) \
    X(HR_MATH_OP_CBRT, math_cube_root) X(HR_MATH_OP_EXP, mathx_exp) \
    X(HR_MATH_OP_LOG, mathx_log) X(HR_MATH_OP_LOG2, math_log_2) \
    X(HR_MATH_OP_LOG10, math_log_10) X(HR_MATH_OP_FABS, math_absolute) \
    X(HR_MATH_OP_FLOOR, math_down) X(HR_MATH_OP_CEIL, math_up) \
    X(HR_MATH_OP_SIN, mathx_sin) X(HR_MATH_OP_COS, mathx_cos) \
    X(HR_MATH_OP_TAN, math_tangent) X(HR_MATH_OP_ASIN, math_arc_sine) \
    X(HR_MATH_OP_ACOS, math_arc_cosine) X(HR_MATH_OP_ATAN, math_arc_tangent) \
    X(HR_MATH_OP_SINH, math_sinh) X(HR_MATH_OP_COSH, math_cosh) \
    X(HR_MATH_OP_TANH, math_tanh) X(HR_MATH_OP_ASINH, math_asinh) \
    X(HR_MATH_OP_ACOSH, math_acosh) X(HR_MATH_OP_ATANH, math_atanh)
/* clang-format on */
