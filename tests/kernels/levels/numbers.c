/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Cases of the kernels for floats, random numbers, reductions, sounds and hashes. */
#include "levels.h"

#include "core/mathx_short.h"
#include "core/rng.h"
#include "kernels/fft.h"
#include "kernels/noise.h"
#include "kernels/sinc.h"

enum { N = 1000 };

#define OUT levels_out
#define OUT_F32 ((float *)levels_out)
#define IN levels_bytes

static void functions(void)
{
    const float *x = levels_floats(N, 0.001f, 80.0f), *y = levels_floats(N, -3.0f, 3.0f);
    static const struct {
        mathx_short function;
        const char *name;
    } shorts[] = {{MATHX_SHORT_SIN, "sin"}, {MATHX_SHORT_CBRT, "cbrt"}, {MATHX_SHORT_POW, "pow"}};
    bool inside = true;
    KERNEL(sqrt_f32, "", N, OUT, 4 * N, k->sqrt_f32(OUT_F32, x, N))
    KERNEL(exp_f32, "", N, OUT, 4 * N, k->exp_f32(OUT_F32, x, N))
    KERNEL(log_f32, "natural", N, OUT, 4 * N, k->log_f32(OUT_F32, x, N, 1.0))
    for (size_t i = 0; i < HR_COUNT_OF(shorts); i++)
        KERNEL(short_f32, shorts[i].name, N, OUT, 4 * N,
               inside = inside && k->short_f32((int)shorts[i].function, OUT_F32, x, y, N))
    levels_require(inside, "numbers are outside of the domain");
}

static void noise(void)
{
    const hr_rng rng = {{1, 2}, {0, 3, 4, 5}};
    static float normal[HR_NOISE_TILE];
    const uint32_t *bits = (const uint32_t *)(const void *)IN;
    KERNEL(random_tile, "", HR_NOISE_TILE, OUT, 4 * HR_NOISE_TILE,
           k->random_tile((uint32_t *)(void *)OUT, &rng, 512))
    KERNEL(normal_tile, "", HR_NOISE_TILE, OUT, 4 * HR_NOISE_TILE, k->normal_tile(OUT_F32, bits))
    memcpy(normal, OUT, sizeof(normal));
    KERNEL(add_noise_u8, "", N, OUT, N, k->add_noise_u8(OUT, IN, normal, N, 1.5f, 8.0f))
}

static void reductions(void)
{
    enum { ROWS = 16, COLS = 1000 };
    static const struct {
        hr_dtype type;
        const char *names[HR_REDUCE_COUNT];
    } types[] = {
        {HR_DTYPE_UINT8, {"sum u8", "squares u8", "total u8", "distances u8", "min u8", "max u8"}},
        {HR_DTYPE_INT16,
         {"sum i16", "squares i16", "total i16", "distances i16", "min i16", "max i16"}},
        {HR_DTYPE_FLOAT, {"", "", "total f32", "distances f32", "min f32", "max f32"}},
    };
    static double mean[COLS];
    const float *floats = levels_floats((size_t)ROWS * COLS, -100.0f, 100.0f);
    for (size_t t = 0; t < HR_COUNT_OF(types); t++) {
        const hr_dtype type = types[t].type;
        const void *x = type == HR_DTYPE_FLOAT ? (const void *)floats : (const void *)IN;
        for (int kind = 0; kind < HR_REDUCE_COUNT; kind++) {
            size_t size = kind >= HR_REDUCE_MIN ? hr_dtype_size(type) : 8;
            if (!types[t].names[kind][0])
                continue;
            KERNEL(reduce, types[t].names[kind], (size_t)ROWS * COLS, OUT, COLS * size,
                   k->reduce->of[kind][type](OUT, x, mean, ROWS, COLS, COLS, 1))
        }
    }
}

static void transforms(void)
{
    enum { POINTS = 256, LANES = HR_FFT_LANES };
    static const char *const names[] = {"",        "",        "radix 2", "radix 3",
                                        "radix 4", "radix 5", "",        "radix 7"};
    const float *src = levels_floats((size_t)POINTS * HR_FFT_POINT, -1.0f, 1.0f);
    const float *factors = levels_floats((size_t)2 * POINTS + 2, -1.0f, 1.0f);
    const float *signals[LANES];
    for (int l = 0; l < LANES; l++)
        signals[l] = src + l * POINTS;
    for (int32_t radix = 2; radix <= 7; radix += radix == 5 ? 2 : 1) {
        const hr_fft_pass p = {radix, 8, 4, factors, factors + 100};
        const size_t points = (size_t)radix * 8 * 4;
        KERNEL(fft_pass, names[radix], points, OUT, points * HR_FFT_POINT * 4,
               k->fft_pass(OUT_F32, src, &p))
    }
    KERNEL(fft_load, "", POINTS, OUT, (size_t)POINTS * LANES * 4,
           k->fft_load(OUT_F32, LANES, signals, factors, POINTS))
    KERNEL(fft_multiply, "conjugate", POINTS, OUT, (size_t)POINTS * HR_FFT_POINT * 4,
           k->fft_multiply(OUT_F32, src, factors, POINTS, true))
    for (int32_t result = 1; result <= 2; result++) {
        const char *name = result == HR_FFT_RESULT_POWER ? "power" : "magnitude";
        KERNEL(fft_norms, name, POINTS, OUT, (size_t)POINTS * LANES * 4,
               k->fft_norms(OUT_F32, src, POINTS, result))
        KERNEL(fft_real_norms, name, POINTS, OUT, (size_t)(POINTS + 1) * LANES * 4,
               k->fft_real_norms(OUT_F32, src, factors, POINTS, result))
    }
}

static void sounds(void)
{
    enum { LOBES = 16, SAMPLES = 1600 };
    const float *a = levels_floats(1024, -1.0f, 1.0f), *b = levels_floats(1024, -1.0f, 1.0f);
    const float *phases = levels_floats((size_t)HR_SINC_PHASES * 2 * LOBES, -1.0f, 1.0f);
    const float *steps = levels_floats((size_t)HR_SINC_PHASES * 2 * LOBES, -0.1f, 0.1f);
    const hr_sinc_filter f = {LOBES, 2 * LOBES, phases, steps};
    const hr_sinc_signal in = {levels_floats(SAMPLES + 8 * LOBES, -1.0f, 1.0f), SAMPLES, 1.5};
    KERNEL(dot_f32, "", 1024, OUT, 4, *OUT_F32 = k->dot_f32(a, b, 1024))
    KERNEL(sinc, "16 lobes", N, OUT, 4 * N, k->sinc(OUT_F32, 1, &f, &in, N))
    KERNEL(sound_16, "", N, OUT, 4 * N, k->sound_16(OUT_F32, IN + 1, N))
    KERNEL(sound_32, "", N, OUT, 4 * N, k->sound_32(OUT_F32, IN + 1, N))
}

static void hashes(void)
{
    enum { SIZE = 110000 };
    static hr_hash_key key;
    for (size_t i = 0; i < HR_HASH_WORDS; i++)
        key.word[i] = hr_mix(i, 3) >> 4; /* below 2^60 */
    KERNEL(hash, "", SIZE, OUT, sizeof(hr_hash), *(hr_hash *)(void *)OUT = k->hash(&key, IN, SIZE))
    KERNEL(hash_copy, "the copy", SIZE, OUT, SIZE, (void)k->hash_copy(&key, IN, SIZE, OUT))
    KERNEL(crc32c, "", SIZE, OUT, 4, *(uint32_t *)(void *)OUT = k->crc32c(IN, SIZE))
}

void levels_of_numbers(void)
{
    functions();
    noise();
    reductions();
    transforms();
    sounds();
    hashes();
}
