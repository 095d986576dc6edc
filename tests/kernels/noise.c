/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Tiles of random numbers: every CPU level gives the draws of the generator and the same noise. */
#include "test.h"

#include "core/mathx.h"
#include "core/rng.h"
#include "core/rounding.h"
#include "kernels/kernels.h"
#include "kernels/noise.h"

#include <math.h>

/* Counters that overflow within a tile, and bits at both ends of all words. */
static const hr_rng generators[] = {
    {{1, 2}, {0, 3, 4, 5}},
    {{0xdeadbeef, 0xfedcba98}, {0xffffff80u, 0xf0000003u, 0x80000004u, 0xffffffffu}},
};

TEST(draws)
{
    static uint32_t bits[HR_NOISE_TILE];

    for (hr_cpu_level level = HR_CPU_LEVEL_BASE; level <= HR_CPU_LEVEL_V4; level++) {
        for (size_t g = 0; g < HR_COUNT_OF(generators); g++) {
            hr_kernels_get(level)->random_tile(bits, &generators[g], 512);
            for (uint64_t k = 0; k < HR_NOISE_TILE; k++) {
                size_t at = k % 4 * HR_NOISE_BLOCKS + k / 4;
                CHECK(bits[at] == hr_rng_u32(&generators[g], 4 * 512 + k));
                CHECK(at == (size_t)noise_element((int64_t)(k / 4)) + k % 4 * HR_NOISE_BLOCKS);
            }
        }
    }
}

TEST(normal_numbers)
{
    static uint32_t bits[HR_NOISE_TILE];
    static float noise[HR_NOISE_TILE], base[HR_NOISE_TILE];

    for (hr_cpu_level level = HR_CPU_LEVEL_BASE; level <= HR_CPU_LEVEL_V4; level++) {
        const hr_kernels *k = hr_kernels_get(level);
        k->random_tile(bits, &generators[0], 0);
        bits[0] = bits[HR_NOISE_BLOCKS + 1] = 0; /* the ends of the range */
        bits[1] = bits[HR_NOISE_BLOCKS + 2] = UINT32_MAX;
        bits[HR_NOISE_BLOCKS + 3] = 0x80000000u;
        k->normal_tile(noise, bits);
        if (level == HR_CPU_LEVEL_BASE)
            memcpy(base, noise, sizeof(base));
        CHECK(memcmp(base, noise, sizeof(base)) == 0);
    }
    for (int i = 0; i < HR_NOISE_BLOCKS; i++) { /* the radius follows from the first draw */
        double x = (double)base[i], y = (double)base[i + HR_NOISE_BLOCKS];
        double u = ((bits[i] >> 1) + 0.5) * 0x1p-31;
        CHECK(fabs(sqrt(x * x + y * y) - sqrt(-2.0 * hr_log(u))) <
              4e-4); /* a float u is coarse near 1 */
    }
}

TEST(added_noise)
{
    enum { COUNT = 300 };
    uint8_t src[COUNT], dst[COUNT + 1];
    float noise[COUNT];

    for (int i = 0; i < COUNT; i++) {
        src[i] = (uint8_t)i;
        noise[i] = (float)(i * 7 % 61 - 30) * 0.25f;
    }
    for (hr_cpu_level level = HR_CPU_LEVEL_BASE; level <= HR_CPU_LEVEL_V4; level++) {
        for (size_t n = 0; n <= COUNT; n += 1 + n / 3) {
            dst[n] = 77;
            hr_kernels_get(level)->add_noise_u8(dst, src, noise, n, 1.5f, 8.0f);
            CHECK(dst[n] == 77);
            for (size_t i = 0; i < n; i++) {
                double v = src[i] + (1.5 + 8.0 * (double)noise[i]);
                CHECK(dst[i] == (v < 0.0 ? 0.0 : v > 255.0 ? 255.0 : floor(v + 0.5)));
            }
        }
    }
}

TEST_MAIN
