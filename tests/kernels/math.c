/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Functions of floats: every CPU level gives the bits of core/mathx.h's, one number at a time. */
#include "test.h"

#include "core/core.h"
#include "core/mathx_short.h"
#include "kernels/kernels.h"

#include <float.h>
#include <math.h>

enum { COUNT = 4099, SPECIAL = 12 };

static float input[COUNT],
    special[SPECIAL] = {0.0f,   -0.0f,    1.0f,      -1.0f,   INFINITY, NAN,
                        1e-40f, -FLT_MAX, -INFINITY, FLT_MAX, FLT_MIN,  89.0f};
static const double bases[] = {1.0, 0.69314718055994530942, 2.30258509299404568402};

static void fill(float low, float high)
{
    for (size_t i = 0; i < COUNT; i++)
        input[i] = low + (float)(hr_mix(i, 3) >> 40) * 0x1p-24f * (high - low);
}

static bool same(float a, float b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (isnan(a) && isnan(b));
}

static void check(const hr_kernels *k, const float *x, size_t n)
{
    static float out[COUNT];

    k->sqrt_f32(out, x, n);
    for (size_t i = 0; i < n; i++)
        CHECK(same(out[i], (float)sqrt((double)x[i])));
    k->exp_f32(out, x, n);
    for (size_t i = 0; i < n; i++)
        CHECK(same(out[i], (float)hr_exp((double)x[i])));
    for (size_t b = 0; b < HR_COUNT_OF(bases); b++) {
        k->log_f32(out, x, n, bases[b]);
        for (size_t i = 0; i < n; i++)
            CHECK(same(out[i], (float)(hr_log((double)x[i]) / bases[b])));
    }
}

static void check_ranges(const hr_kernels *k)
{
    const float ranges[][2] = {{-1.0f, 1.0f},   {-110.0f, 95.0f}, {0x1p-20f, 3.0f},
                               {-1e-6f, 1e-6f}, {1.0f, 1e30f},    {-800.0f, 800.0f}};

    for (size_t r = 0; r < HR_COUNT_OF(ranges); r++) {
        fill(ranges[r][0], ranges[r][1]);
        check(k, input, COUNT);
        for (size_t n = 0; n < 20; n++)
            check(k, input + n, n);
    }
    for (size_t i = 0; i < COUNT; i++) { /* all exponents */
        uint32_t bits = (uint32_t)(hr_mix(i, 7) >> 33);
        memcpy(&input[i], &bits, sizeof(bits));
    }
    check(k, input, COUNT);
    for (size_t i = 0; i < COUNT; i++)
        check(k, input + i, 1);
    check(k, special, SPECIAL);
    for (size_t i = 0; i < SPECIAL; i++)
        check(k, special + i, 1);
}

TEST(bits_are_those_of_one_at_a_time)
{
    for (hr_cpu_level level = HR_CPU_LEVEL_BASE; level <= HR_CPU_LEVEL_V4; level++)
        check_ranges(hr_kernels_get(level));
}

/* ---- those with a domain ---- */

static double reciprocal_root(double x)
{
    return 1.0 / sqrt(x);
}

typedef struct shortened { /* libm's is the judge */
    mathx_short function;
    double (*one)(double);
    double (*two)(double, double);
    float low, high, low_y, high_y;
} shortened;

static const shortened shorts[] = {
    {MATHX_SHORT_SIN, sin, NULL, -1.0f, 1.0f, 0.0f, 0.0f},
    {MATHX_SHORT_SIN, sin, NULL, -0x1p19f, 0x1p19f, 0.0f, 0.0f},
    {MATHX_SHORT_COS, cos, NULL, -1.0f, 1.0f, 0.0f, 0.0f},
    {MATHX_SHORT_COS, cos, NULL, -0x1p19f, 0x1p19f, 0.0f, 0.0f},
    {MATHX_SHORT_TAN, tan, NULL, -3.0f, 3.0f, 0.0f, 0.0f},
    {MATHX_SHORT_TAN, tan, NULL, -0x1p19f, 0x1p19f, 0.0f, 0.0f},
    {MATHX_SHORT_ASIN, asin, NULL, -1.0f, 1.0f, 0.0f, 0.0f},
    {MATHX_SHORT_ASIN, asin, NULL, -1e-4f, 1e-4f, 0.0f, 0.0f},
    {MATHX_SHORT_ACOS, acos, NULL, -1.0f, 1.0f, 0.0f, 0.0f},
    {MATHX_SHORT_ACOS, acos, NULL, 0.9999f, 1.0f, 0.0f, 0.0f},
    {MATHX_SHORT_ATAN, atan, NULL, -4.0f, 4.0f, 0.0f, 0.0f},
    {MATHX_SHORT_ATAN, atan, NULL, -1e30f, 1e30f, 0.0f, 0.0f},
    {MATHX_SHORT_SINH, sinh, NULL, -2.0f, 2.0f, 0.0f, 0.0f},
    {MATHX_SHORT_SINH, sinh, NULL, -700.0f, 700.0f, 0.0f, 0.0f},
    {MATHX_SHORT_COSH, cosh, NULL, -100.0f, 100.0f, 0.0f, 0.0f},
    {MATHX_SHORT_TANH, tanh, NULL, -2.0f, 2.0f, 0.0f, 0.0f},
    {MATHX_SHORT_TANH, tanh, NULL, -700.0f, 700.0f, 0.0f, 0.0f},
    {MATHX_SHORT_FABS, fabs, NULL, -9.0f, 9.0f, 0.0f, 0.0f},
    {MATHX_SHORT_FLOOR, floor, NULL, -9.0f, 9.0f, 0.0f, 0.0f},
    {MATHX_SHORT_FLOOR, floor, NULL, -1e30f, 1e30f, 0.0f, 0.0f},
    {MATHX_SHORT_CEIL, ceil, NULL, -9.0f, 9.0f, 0.0f, 0.0f},
    {MATHX_SHORT_RSQRT, reciprocal_root, NULL, -1.0f, 9.0f, 0.0f, 0.0f},
    {MATHX_SHORT_CBRT, cbrt, NULL, -30.0f, 30.0f, 0.0f, 0.0f},
    {MATHX_SHORT_CBRT, cbrt, NULL, -1e38f, 1e38f, 0.0f, 0.0f},
    {MATHX_SHORT_CBRT, cbrt, NULL, -1e-40f, 1e-40f, 0.0f, 0.0f},
    {MATHX_SHORT_ATAN2, NULL, atan2, -4.0f, 4.0f, -2.0f, 3.0f},
    {MATHX_SHORT_ATAN2, NULL, atan2, -1.0f, 1.0f, -1e30f, 1e30f},
    {MATHX_SHORT_POW, NULL, pow, 0.0f, 4.0f, -3.0f, 3.0f},
    {MATHX_SHORT_POW, NULL, pow, 0.0f, 300.0f, -30.0f, 30.0f},
    {MATHX_SHORT_MOD, NULL, fmod, -100.0f, 100.0f, -7.0f, 7.0f},
    {MATHX_SHORT_MOD, NULL, fmod, -1e9f, 1e9f, 40.0f, 70.0f},
};

static float second[COUNT];

static double judged(const shortened *s, size_t i)
{
    return s->one ? s->one((double)input[i]) : s->two((double)input[i], (double)second[i]);
}

/* Next to the exact result, and where that is a whole number it. */
static bool close(float x, double exact)
{
    float rounded = (float)exact;
    if (same(x, rounded))
        return true;
    return x == nextafterf(rounded, INFINITY) || x == nextafterf(rounded, -INFINITY)
               ? (double)rounded != exact
               : false;
}

static void fill_second(float low, float high)
{
    for (size_t i = 0; i < COUNT; i++)
        second[i] = low + (float)(hr_mix(i, 5) >> 40) * 0x1p-24f * (high - low);
}

TEST(short_functions_are_right_and_alike_on_all_levels)
{
    static float base[COUNT], out[COUNT];

    for (size_t k = 0; k < HR_COUNT_OF(shorts); k++) {
        const shortened *s = &shorts[k];
        fill(s->low, s->high);
        fill_second(s->low_y, s->high_y);
        const float whole[] = {0.0f, 1.0f, s->low, s->high};
        for (size_t i = 0; i < HR_COUNT_OF(whole); i++)
            input[i] = whole[i] < s->low ? s->low : whole[i] > s->high ? s->high : whole[i];
        CHECK(hr_kernels_get(HR_CPU_LEVEL_BASE)
                  ->short_f32((int)s->function, base, input, second, COUNT));
        size_t inexact = 0;
        for (size_t i = 0; i < COUNT; i++) {
            CHECK(close(base[i], judged(s, i)));
            inexact += !same(base[i], (float)judged(s, i));
        }
        CHECK(inexact <= 2);
        for (hr_cpu_level level = HR_CPU_LEVEL_V3; level <= HR_CPU_LEVEL_V4; level++) {
            CHECK(hr_kernels_get(level)->short_f32((int)s->function, out, input, second, COUNT));
            for (size_t i = 0; i < COUNT; i++)
                CHECK(same(out[i], base[i]));
        }
    }
}

TEST(short_functions_refuse_what_is_beyond)
{
    static const struct {
        mathx_short function;
        float x, y;
    } beyond[] = {
        {MATHX_SHORT_SIN, 1e6f, 0.0f},     {MATHX_SHORT_COS, INFINITY, 0.0f},
        {MATHX_SHORT_ASIN, 1.01f, 0.0f},   {MATHX_SHORT_ATAN, NAN, 0.0f},
        {MATHX_SHORT_TANH, -800.0f, 0.0f}, {MATHX_SHORT_CBRT, INFINITY, 0.0f},
        {MATHX_SHORT_ATAN2, 0.0f, 0.0f},   {MATHX_SHORT_ATAN2, INFINITY, INFINITY},
        {MATHX_SHORT_ATAN2, NAN, 1.0f},    {MATHX_SHORT_POW, -0.0f, 3.0f},
        {MATHX_SHORT_POW, -2.0f, 2.0f},    {MATHX_SHORT_POW, INFINITY, 2.0f},
        {MATHX_SHORT_POW, 2.0f, NAN},      {MATHX_SHORT_MOD, 1.0f, 0.0f},
        {MATHX_SHORT_MOD, 1.0f, INFINITY}, {MATHX_SHORT_MOD, 1e9f, 1.0f},
        {MATHX_SHORT_NONE, 1.0f, 1.0f},
    };
    const float good[4] = {0.5f, 0.5f, 0.5f, 0.5f};
    float out[4];

    for (size_t k = 0; k < HR_COUNT_OF(beyond); k++) {
        float x[4] = {0.5f, 0.5f, beyond[k].x, 0.5f}, y[4] = {0.5f, 0.5f, beyond[k].y, 0.5f};
        for (hr_cpu_level level = HR_CPU_LEVEL_BASE; level <= HR_CPU_LEVEL_V4; level++) {
            const hr_kernels *kernels = hr_kernels_get(level);
            CHECK(!kernels->short_f32((int)beyond[k].function, out, x, y, 4));
            CHECK(beyond[k].function == MATHX_SHORT_NONE ||
                  kernels->short_f32((int)beyond[k].function, out, good, good, 4));
        }
    }
}

TEST_MAIN
