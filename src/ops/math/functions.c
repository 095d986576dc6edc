/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Roots, logarithms, trigonometry and hyperbolas. Near zero, where differences of exponentials
 * cancel, series. */
#include "ops/math/functions.h"

#include <math.h>

#define LN2 0.69314718055994530942
#define LN10 2.30258509299404568402

/* x + a[0] x^3 + a[1] x^5 + ... */
static double odd_series(double x, const double *a, int n)
{
    double square = x * x, sum = 0.0;

    while (n > 0)
        sum = (sum + a[--n]) * square;
    return x + x * sum;
}

static double square_root(double x)
{
    return sqrt(x);
}

static double reciprocal_root(double x)
{
    return 1.0 / sqrt(x);
}

static double cube_root(double x)
{
    if (x == 0.0 || !isfinite(x))
        return x;
    double y = copysign(hr_pow(fabs(x), 1.0 / 3.0), x);
    return y -
           (y * y * y - x) / (3.0 * y * y); /* one step of Newton's: whole roots come out whole */
}

static double log_2(double x)
{
    return hr_log(x) / LN2;
}

static double log_10(double x)
{
    return hr_log(x) / LN10;
}

static double tangent(double x)
{
    return hr_sin(x) / hr_cos(x);
}

/* For x >= 0: the angle is halved until it is small, then a series. */
static double atan_positive(double x)
{
    static const double a[] = {-1.0 / 3, 1.0 / 5,   -1.0 / 7, 1.0 / 9,  -1.0 / 11,
                               1.0 / 13, -1.0 / 15, 1.0 / 17, -1.0 / 19};
    bool flipped = x > 1.0;

    x = flipped ? 1.0 / x : x;
    x = x / (1.0 + sqrt(1.0 + x * x));
    x = x / (1.0 + sqrt(1.0 + x * x)); /* at most tan(pi / 16), 0.199 */
    double angle = 4.0 * odd_series(x, a, (int)HR_COUNT_OF(a));
    return flipped ? HR_PI / 2 - angle : angle;
}

static double arc_tangent(double x)
{
    return isnan(x) ? x : copysign(atan_positive(fabs(x)), x);
}

double hr__atan2(double y, double x)
{
    if (isnan(x) || isnan(y))
        return x + y;
    double ax = fabs(x), ay = fabs(y), angle;
    if (ay == 0.0)
        angle = 0.0;
    else if (isinf(ax) && isinf(ay))
        angle = HR_PI / 4;
    else
        angle = atan_positive(ay / ax); /* a division by zero is a right angle */
    return copysign(signbit(x) ? HR_PI - angle : angle, y);
}

static double arc_sine(double x)
{
    return fabs(x) <= 1.0 ? hr__atan2(x, sqrt((1.0 - x) * (1.0 + x))) : NAN;
}

static double arc_cosine(double x)
{
    return fabs(x) <= 1.0 ? hr__atan2(sqrt((1.0 - x) * (1.0 + x)), x) : NAN;
}

static double sinh_(double x)
{
    static const double a[] = {1.0 / 6,      1.0 / 120,      1.0 / 5040,
                               1.0 / 362880, 1.0 / 39916800, 1.0 / 6227020800};

    if (fabs(x) < 0.5)
        return odd_series(x, a, (int)HR_COUNT_OF(a));
    double half = hr_exp(fabs(x) * 0.5); /* in halves: the square may be infinite, the root not */
    double large = 0.5 * half * half, small = 0.5 / half / half;
    return copysign(large - small, x);
}

static double cosh_(double x)
{
    double half = hr_exp(fabs(x) * 0.5);

    return 0.5 * half * half + 0.5 / half / half;
}

static double tanh_(double x)
{
    return fabs(x) > 20.0 ? copysign(1.0, x) : sinh_(x) / cosh_(x);
}

static double atanh_(double x)
{
    static const double a[] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,
                               1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17};

    if (fabs(x) < 0.15)
        return odd_series(x, a, (int)HR_COUNT_OF(a));
    return 0.5 * hr_log((1.0 + x) / (1.0 - x));
}

static double asinh_(double x)
{
    double size = fabs(x);

    if (size < 0.15)
        return atanh_(x / sqrt(1.0 + x * x));
    if (size > 1e8) /* the square must not overflow, nor does it matter */
        return copysign(hr_log(size) + LN2, x);
    return copysign(hr_log(size + sqrt(x * x + 1.0)), x);
}

static double acosh_(double x)
{
    return x >= 1.0 ? 2.0 * asinh_(sqrt((x - 1.0) * 0.5)) : NAN;
}

static double absolute(double x)
{
    return fabs(x);
}

static double down(double x)
{
    return floor(x);
}

static double up(double x)
{
    return -floor(-x);
}

hr_math_function hr__math_function(hr_math_op op)
{
    static const hr_math_function functions[HR_MATH_OP_COUNT] = {
        [HR_MATH_OP_SQRT] = square_root, [HR_MATH_OP_RSQRT] = reciprocal_root,
        [HR_MATH_OP_CBRT] = cube_root,   [HR_MATH_OP_EXP] = hr_exp,
        [HR_MATH_OP_LOG] = hr_log,       [HR_MATH_OP_LOG2] = log_2,
        [HR_MATH_OP_LOG10] = log_10,     [HR_MATH_OP_FABS] = absolute,
        [HR_MATH_OP_FLOOR] = down,       [HR_MATH_OP_CEIL] = up,
        [HR_MATH_OP_SIN] = hr_sin,       [HR_MATH_OP_COS] = hr_cos,
        [HR_MATH_OP_TAN] = tangent,      [HR_MATH_OP_ASIN] = arc_sine,
        [HR_MATH_OP_ACOS] = arc_cosine,  [HR_MATH_OP_ATAN] = arc_tangent,
        [HR_MATH_OP_SINH] = sinh_,       [HR_MATH_OP_COSH] = cosh_,
        [HR_MATH_OP_TANH] = tanh_,       [HR_MATH_OP_ASINH] = asinh_,
        [HR_MATH_OP_ACOSH] = acosh_,     [HR_MATH_OP_ATANH] = atanh_};

    return functions[op];
}
