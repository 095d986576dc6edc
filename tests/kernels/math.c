/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Functions of floats: every CPU level gives the bits of core/mathx.h's, one number at a time. */
#include "test.h"

#include "core/core.h"
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

TEST_MAIN
