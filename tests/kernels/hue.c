/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Hue and saturation: every CPU level gives the bytes of the base level, whatever the number of
 * pixels, and writes nothing else. tests/python compares them with Pillow. */
#include "test.h"

#include "core/core.h"
#include "kernels/kernels.h"

enum { PIXELS = 4111, GUARD = 64 };

static uint8_t input[3 * PIXELS + GUARD], expected[sizeof(input)], got[sizeof(input)];

static void check(const hr_kernels *k, size_t first, size_t n, int32_t turn)
{
    const hr_kernels *base = hr_kernels_get(HR_CPU_LEVEL_BASE);
    float factor = (float)turn / 40.0f;

    memcpy(expected, input, sizeof(input));
    memcpy(got, input, sizeof(input));
    for (size_t i = 0; i < n; i++) { /* one at a time */
        base->turn_hue(expected + 3 * (first + i), 1, turn);
        base->saturate(expected + 3 * (first + i), 1, factor);
    }
    k->turn_hue(got + 3 * first, n, turn);
    k->saturate(got + 3 * first, n, factor);
    CHECK(memcmp(got, expected, sizeof(got)) == 0);
}

TEST(levels_give_the_same_colours)
{
    for (size_t i = 0; i < sizeof(input); i++)
        input[i] = (uint8_t)(hr_mix(i, 5) >> 40);
    for (size_t i = 0; i < 300; i++) /* grey and near grey */
        input[i] = (uint8_t)(i / 3 + i % 3 % 2);
    for (hr_cpu_level level = HR_CPU_LEVEL_BASE; level <= HR_CPU_LEVEL_V4; level++) {
        const hr_kernels *k = hr_kernels_get(level);
        for (size_t n = 0; n < 270; n += n < 5 ? 1 : 53)
            check(k, n % 7, n, (int32_t)n);
        check(k, 0, PIXELS, -127);
        check(k, 0, PIXELS, 60);
        uint8_t before[3];
        memcpy(before, input + 900, sizeof(before));
        k->turn_hue(input + 900, 1, 85);
        CHECK(memcmp(before, input + 900, sizeof(before)) != 0);
        memcpy(input + 900, before, sizeof(before));
    }
}

TEST_MAIN
