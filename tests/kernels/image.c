/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Every CPU level of the pixel kernels against base, on random sizes, with guard bytes before and
 * behind what is written; base itself against plain arithmetic. */
#include "test.h"
#include "xorshift.h"

#include "core/core.h"
#include "core/rounding.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>

enum { GUARD = 64, ROUNDS = 300 };

static const hr_kernels *levels[3];
static int level_count;

static void find_levels(void)
{
    static const hr_cpu_level wanted[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    level_count = 0;
    for (int i = 0; i < 3; i++) {
        const hr_kernels *k = hr_kernels_get(wanted[i]);
        if (k->level == wanted[i])
            levels[level_count++] = k;
    }
}

/* A buffer of `size` bytes between guards; `slack` bytes behind may be written too. */
typedef struct guarded {
    unsigned char *memory, *data;
    size_t size, slack;
} guarded;

static guarded guarded_make(size_t size, size_t slack)
{
    guarded g = {aligned_alloc(64, (2 * GUARD + size + slack + 63) / 64 * 64), NULL, size, slack};
    memset(g.memory, 0xA5, 2 * GUARD + size + slack);
    g.data = g.memory + GUARD;
    return g;
}

static bool guarded_intact(const guarded *g)
{
    for (size_t i = 0; i < GUARD; i++)
        if (g->memory[i] != 0xA5 || g->data[g->size + g->slack + i] != 0xA5)
            return false;
    return true;
}

/* Source bytes that end exactly at the end of an allocation, so that a sanitizer sees reads beyond.
 */
static void *random_bytes(size_t size)
{
    unsigned char *data = malloc(size > 0 ? size : 1);
    for (size_t i = 0; i < size; i++)
        data[i] = (unsigned char)rnd();
    return data;
}

/* `taps` int16 weights that sum to one, some negative. */
static void random_coefs(int16_t *coef, int32_t taps, int32_t stride)
{
    int32_t left = 1 << HR_FIX_COEF_BITS;
    for (int32_t k = 0; k < stride; k++) {
        coef[k] = (int16_t)(k >= taps ? 0 : k == taps - 1 ? left : between(-800, 16000 / taps));
        left -= coef[k];
    }
}

TEST(levels)
{
    find_levels();
    CHECK(level_count >= 1);
    CHECK(levels[0]->level == HR_CPU_LEVEL_BASE && strcmp(levels[0]->name, "base") == 0);
    CHECK(hr_kernels_get(HR_CPU_LEVEL_AUTO) != NULL);
    setenv("HEADRACE_CPU_LEVEL", "base", 1);
    CHECK(hr_kernels_get(HR_CPU_LEVEL_AUTO)->level == HR_CPU_LEVEL_BASE);
    unsetenv("HEADRACE_CPU_LEVEL");
}

TEST(vfilter_u8)
{
    find_levels();
    for (int round = 0; round < ROUNDS; round++) {
        int32_t taps = between(1, round % 10 == 0 ? 60 : 8);
        size_t n = (size_t)between(1, 700);
        uint8_t *rows[60];
        int16_t coef[60];
        for (int32_t k = 0; k < taps; k++)
            rows[k] = random_bytes(n + 63);
        random_coefs(coef, taps, taps);
        guarded out[3] = {0};
        for (int l = 0; l < level_count; l++) {
            out[l] = guarded_make(n * 2, 63 * 2);
            levels[l]->vfilter_u8((int16_t *)out[l].data, (const uint8_t *const *)rows, coef, taps,
                                  n);
        }
        for (size_t i = 0; i < n; i++) {
            double sum = 0;
            for (int32_t k = 0; k < taps; k++)
                sum += coef[k] * (double)rows[k][i];
            sum = floor(sum / 256 + 0.5);
            sum = sum < -32768 ? -32768 : sum > 32767 ? 32767 : sum;
            CHECK(((int16_t *)out[0].data)[i] == (int16_t)sum);
        }
        for (int l = 0; l < level_count; l++) {
            CHECK(memcmp(out[l].data, out[0].data, n * 2) == 0);
            CHECK(guarded_intact(&out[l]));
        }
        for (int l = 0; l < level_count; l++)
            free(out[l].memory);
        for (int32_t k = 0; k < taps; k++)
            free(rows[k]);
    }
}

typedef struct filter_case {
    hr_filter_fix f;
    int32_t start[600];
    int16_t coef[600 * 64];
    int16_t *row;
    int32_t width, channels;
} filter_case;

/* Some of the outputs are even. */
static void make_even(filter_case *t)
{
    int32_t from = between(0, t->f.out - 1), to = between(from, t->f.out);
    for (int32_t x = from + 1; x < to; x++) {
        t->start[x] = t->start[from] + x - from;
        memcpy(t->coef + (size_t)x * (size_t)t->f.stride,
               t->coef + (size_t)from * (size_t)t->f.stride,
               (size_t)t->f.stride * sizeof(*t->coef));
    }
    t->f.even_from = from;
    t->f.even_to = to;
    t->width += t->f.out;
}

/* A filter such as a resize makes: starts that grow by about `scale`, or shrink when mirrored. */
static void random_filter(filter_case *t)
{
    double scale = (1 + rnd() % 60) / 10.0;
    int32_t out = between(1, 300), taps = between(1, scale > 4 ? 40 : 9);
    bool mirror = rnd() % 4 == 0;
    t->channels = between(1, 4);
    t->width = (int32_t)(out * scale) + taps + 1;
    t->f = (hr_filter_fix){
        .out = out, .taps = taps, .stride = taps + (taps & 1), .start = t->start, .coef = t->coef};
    for (int32_t x = 0; x < out; x++) {
        t->start[x] = (int32_t)((mirror ? out - 1 - x : x) * scale);
        random_coefs(t->coef + (size_t)x * (size_t)t->f.stride, taps, t->f.stride);
    }
    if (rnd() % 3 == 0)
        make_even(t);
    size_t elements = (size_t)t->width * (size_t)t->channels + HR_FIX_ROW_PAD;
    t->row = malloc(elements * sizeof(int16_t));
    for (size_t i = 0; i < elements; i++)
        t->row[i] = (int16_t)between(-3000, 20000);
}

static void run_hfilter(const hr_kernels *k, filter_case *t, uint8_t *out)
{
    size_t size = k->hfilter_table_size(&t->f, t->channels);
    void *table = size > 0 ? aligned_alloc(64, (size + 63) / 64 * 64) : NULL;
    if (size > 0)
        k->hfilter_table(table, &t->f, t->channels);
    t->f.table = table;
    k->hfilter_u8(out, t->row, &t->f, t->channels);
    free(table);
}

static uint8_t exact_hfilter(const filter_case *t, int32_t x, int32_t c)
{
    double sum = 0;
    for (int32_t k = 0; k < t->f.taps; k++)
        sum += t->coef[(size_t)x * (size_t)t->f.stride + (size_t)k] *
               (double)t->row[(t->start[x] + k) * t->channels + c];
    sum = nearbyint(sum / (1 << 20)); /* ties to even */
    return (uint8_t)(sum < 0 ? 0 : sum > 255 ? 255 : sum);
}

TEST(hfilter_u8)
{
    static filter_case t;
    find_levels();
    for (int round = 0; round < ROUNDS; round++) {
        random_filter(&t);
        size_t n = (size_t)t.f.out * (size_t)t.channels;
        guarded out[3] = {0};
        for (int l = 0; l < level_count; l++) {
            out[l] = guarded_make(n, 0);
            run_hfilter(levels[l], &t, out[l].data);
        }
        for (int32_t x = 0; x < t.f.out; x++)
            for (int32_t c = 0; c < t.channels; c++)
                CHECK(out[0].data[x * t.channels + c] == exact_hfilter(&t, x, c));
        for (int l = 0; l < level_count; l++) {
            CHECK(memcmp(out[l].data, out[0].data, n) == 0);
            CHECK(guarded_intact(&out[l]));
        }
        for (int l = 0; l < level_count; l++)
            free(out[l].memory);
        free(t.row);
    }
}

static void make_even_float(hr_filter_float *f, int32_t *start, float *coef)
{
    f->even_from = between(0, f->out - 1);
    f->even_to = f->even_from + 1;
    for (; f->even_to < f->out && start[f->even_to - 1] < f->out; f->even_to++) {
        size_t to = (size_t)f->even_to * (size_t)f->stride;
        start[f->even_to] = start[f->even_to - 1] + 1;
        memcpy(coef + to, coef + to - f->stride, (size_t)f->stride * sizeof(*coef));
    }
}

/* Two filters at once give the bytes of each: `expected` is that of `coef`. */
static void filter_two(const hr_kernels *k, const guarded *expected, guarded *other,
                       const float *const *rows, const float *coef, const float *other_coef,
                       int32_t taps)
{
    guarded one = guarded_make(other->size, 0), alone = guarded_make(other->size, 0);
    float *const to[2] = {(float *)one.data, (float *)other->data};
    const float *const coefs[2] = {coef, other_coef};
    k->vfilter_two_f32(to, rows, coefs, taps, one.size / sizeof(float));
    k->vfilter_f32((float *)alone.data, rows, other_coef, taps, one.size / sizeof(float));
    CHECK(memcmp(one.data, expected->data, one.size) == 0 && guarded_intact(&one));
    CHECK(memcmp(other->data, alone.data, one.size) == 0 && guarded_intact(other));
    free(one.memory);
    free(alone.memory);
}

TEST(filters_f32)
{
    find_levels();
    for (int round = 0; round < ROUNDS; round++) {
        int32_t taps = between(1, 9), channels = between(1, 5), count = between(1, 90);
        size_t n = (size_t)(count + taps) * (size_t)channels;
        float *rows[9], coef[9];
        int32_t start[90];
        float weights[90 * 9];
        for (int32_t k = 0; k < taps; k++) {
            rows[k] = malloc(n * sizeof(float));
            for (size_t i = 0; i < n; i++)
                rows[k][i] = (float)rnd() / 1e5f - 1e4f;
            coef[k] = (float)rnd() / 4e9f;
        }
        for (int32_t i = 0; i < count; i++)
            start[i] = between(0, count);
        for (int32_t i = 0; i < count * taps; i++)
            weights[i] = (float)rnd() / 4e9f - 0.3f;
        hr_filter_float f = {count, taps, taps, start, weights, 0, 0};
        if (round % 2)
            make_even_float(&f, start, weights);
        guarded v[3] = {0}, h[3] = {0}, two[3] = {0}, added[3] = {0};
        for (int l = 0; l < level_count; l++) {
            v[l] = guarded_make(n * 4, 0);
            h[l] = guarded_make((size_t)(count * channels) * 4, 0);
            levels[l]->vfilter_f32((float *)v[l].data, (const float *const *)rows, coef, taps, n);
            levels[l]->hfilter_f32((float *)h[l].data, NULL, rows[0], &f, channels);
            CHECK(memcmp(v[l].data, v[0].data, v[l].size) == 0 && guarded_intact(&v[l]));
            CHECK(memcmp(h[l].data, h[0].data, h[l].size) == 0 && guarded_intact(&h[l]));
            two[l] = guarded_make(n * 4, 0);
            added[l] = guarded_make(h[l].size, 0);
            filter_two(levels[l], &v[l], &two[l], (const float *const *)rows, coef, weights, taps);
            memcpy(added[l].data, h[l].data, h[l].size);
            levels[l]->hfilter_f32((float *)added[l].data, (float *)added[l].data, rows[0], &f,
                                   channels);
            for (int32_t i = 0; i < count * channels; i++)
                CHECK(((float *)added[l].data)[i] == 2 * ((float *)h[l].data)[i]);
            CHECK(guarded_intact(&added[l]));
        }
        double sum = 0, wide = 0;
        for (int32_t k = 0; k < taps; k++) {
            sum += (double)coef[k] * rows[k][n - 1];
            wide += (double)weights[k] * rows[0][(start[0] + k) * channels];
        }
        CHECK(fabs(sum - ((float *)v[0].data)[n - 1]) < 5e-2);
        CHECK(fabs(wide - ((float *)h[0].data)[0]) < 1e-2);
        for (int l = 0; l < level_count; l++) {
            free(v[l].memory);
            free(h[l].memory);
            free(two[l].memory);
            free(added[l].memory);
        }
        for (int32_t k = 0; k < taps; k++)
            free(rows[k]);
    }
}

/* Where output element (pixel i, channel c) comes from. */
static float normalized(const uint8_t *src, size_t n, size_t i, int32_t c, int32_t channels,
                        int mirror, float mean, float mul)
{
    size_t at = mirror ? n - 1 - i : i;
    volatile float difference = (float)src[at * (size_t)channels + (size_t)c] - mean;
    return difference * mul;
}

TEST(normalize)
{
    static const float mean[4] = {123.675f, 116.28f, 103.53f, 7.1f};
    static const float mul[4] = {1 / 58.395f, 1 / 57.12f, 1 / 57.375f, 0.3f};
    find_levels();
    for (int round = 0; round < ROUNDS; round++) {
        int32_t channels = between(1, 4), added = channels + between(0, 2);
        size_t n = (size_t)between(1, 130), plane = n + (size_t)between(0, 5);
        int mirror = rnd() & 1;
        uint8_t *src = random_bytes(n * (size_t)channels);
        size_t elements = plane * (size_t)(channels - 1) + n;
        guarded f32[3] = {0}, f16[3] = {0}, hwc[3] = {0}, flipped[3] = {0};
        for (int l = 0; l < level_count; l++) {
            const hr_kernels *k = levels[l];
            f32[l] = guarded_make(elements * 4, 0);
            f16[l] = guarded_make(elements * 2, 0);
            hwc[l] = guarded_make(n * (size_t)added * 4, 0);
            flipped[l] = guarded_make(n * (size_t)channels, 0);
            k->norm_u8_chw_f32((float *)f32[l].data, plane, src, n, channels, mean, mul, mirror);
            k->norm_u8_chw_f16((uint16_t *)f16[l].data, plane, src, n, channels, mean, mul, mirror);
            k->norm_u8_hwc_f32((float *)hwc[l].data, added, src, n, channels, mean, mul, mirror);
            k->mirror_u8(flipped[l].data, src, n, channels);
            CHECK(memcmp(f32[l].data, f32[0].data, f32[l].size) == 0 && guarded_intact(&f32[l]));
            CHECK(memcmp(f16[l].data, f16[0].data, f16[l].size) == 0 && guarded_intact(&f16[l]));
            CHECK(memcmp(hwc[l].data, hwc[0].data, hwc[l].size) == 0 && guarded_intact(&hwc[l]));
            CHECK(memcmp(flipped[l].data, flipped[0].data, n * (size_t)channels) == 0);
            CHECK(guarded_intact(&flipped[l]));
        }
        for (size_t i = 0; i < n; i++) {
            for (int32_t c = 0; c < channels; c++) {
                float want = normalized(src, n, i, c, channels, mirror, mean[c], mul[c]);
                size_t at = (size_t)c * plane + i;
                CHECK(((float *)f32[0].data)[at] == want);
                CHECK(((uint16_t *)f16[0].data)[at] == hr_half_from_float(want));
                CHECK(((float *)hwc[0].data)[i * (size_t)added + (size_t)c] == want);
                CHECK(flipped[0].data[i * (size_t)channels + (size_t)c] ==
                      src[(n - 1 - i) * (size_t)channels + (size_t)c]);
            }
            for (int32_t c = channels; c < added; c++)
                CHECK(((float *)hwc[0].data)[i * (size_t)added + (size_t)c] == 0.0f);
        }
        for (int l = 0; l < level_count; l++) {
            free(f32[l].memory);
            free(f16[l].memory);
            free(hwc[l].memory);
            free(flipped[l].memory);
        }
        free(src);
    }
}

static hr_matrix random_matrix(void)
{
    static const float scale[] = {0.5f, 1.0f, 1.0f, 3e8f};
    hr_matrix m = {.in = rnd() & 1 ? 3 : between(1, 4), .out = rnd() & 1 ? 3 : between(1, 4)};
    float s = scale[rnd() % 4];
    for (int i = 0; i < HR_MATRIX_MAX; i++) {
        for (int k = 0; k < HR_MATRIX_MAX; k++)
            m.m[i][k] = s * (float)between(-4, 8) / 8;
        m.add[i] = s * (float)between(-400, 400) / 4;
    }
    return m;
}

TEST(affine_maps)
{
    find_levels();
    for (int round = 0; round < ROUNDS; round++) {
        hr_matrix m = random_matrix();
        float mul = m.m[0][0], add = m.add[0];
        size_t n = (size_t)between(1, 400);
        uint8_t *src = random_bytes(n);
        float *floats = malloc(n * sizeof(float));
        for (size_t i = 0; i < n; i++)
            floats[i] = (float)src[i] * 3.1f;
        for (int l = 0; l < level_count; l++) {
            guarded bytes = guarded_make(n, 0), f32 = guarded_make(n * 4, 0);
            levels[l]->affine_u8(bytes.data, src, n, mul, add);
            levels[l]->affine_f32((float *)f32.data, floats, n, mul, add);
            CHECK(guarded_intact(&bytes) && guarded_intact(&f32));
            for (size_t i = 0; i < n; i++) {
                volatile float product = mul * (float)src[i], sum = product + add;
                CHECK(bytes.data[i] == (uint8_t)floor(fmin(fmax((double)sum, 0), 255) + 0.5));
                product = mul * floats[i];
                sum = product + add;
                CHECK(((float *)f32.data)[i] == sum);
            }
            free(bytes.memory);
            free(f32.memory);
        }
        free(floats);
        free(src);
    }
}

/* Each result is one channel. */
static hr_matrix random_move(void)
{
    hr_matrix m = {.in = between(1, 4), .out = 3};
    for (int c = 0; c < m.out; c++)
        m.m[c][between(0, m.in - 1)] = 1.0f;
    return m;
}

/* Weights are multiples of 1/8, so that there are many ties. */
TEST(points)
{
    find_levels();
    for (int round = 0; round < ROUNDS; round++) {
        hr_matrix m = round % 3 ? random_matrix() : random_move();
        size_t n = (size_t)between(1, 200), in = n * (size_t)m.in, made = n * (size_t)m.out;
        uint8_t *src = random_bytes(in), *table = random_bytes(256);
        float *floats = malloc(in * sizeof(float));
        for (size_t i = 0; i < in; i++)
            floats[i] = src[i];
        guarded bytes[3] = {0}, f32[3] = {0}, found[3] = {0};
        for (int l = 0; l < level_count; l++) {
            bytes[l] = guarded_make(made, 63);
            f32[l] = guarded_make(made * 4, 0);
            found[l] = guarded_make(in, 0);
            levels[l]->matrix_u8(bytes[l].data, src, n, &m);
            levels[l]->matrix_f32((float *)f32[l].data, floats, n, &m);
            levels[l]->table_u8(found[l].data, src, in, table);
            CHECK(memcmp(bytes[l].data, bytes[0].data, made) == 0 && guarded_intact(&bytes[l]));
            CHECK(memcmp(f32[l].data, f32[0].data, made * 4) == 0 && guarded_intact(&f32[l]));
            CHECK(memcmp(found[l].data, found[0].data, in) == 0 && guarded_intact(&found[l]));
        }
        for (size_t i = 0; i < in; i++)
            CHECK(found[0].data[i] == table[src[i]]);
        for (size_t i = 0; i < made; i++) {
            int32_t c = (int32_t)(i % (size_t)m.out);
            double sum = m.add[c], most = fabs(sum);
            for (int32_t k = 0; k < m.in; k++) {
                double v = (double)m.m[c][k] * src[i / (size_t)m.out * (size_t)m.in + (size_t)k];
                sum += v;
                most += fabs(v);
            }
            CHECK(fabs(((float *)f32[0].data)[i] - sum) <= 1e-6 * most);
            if (most < 1e5) { /* exact in float */
                sum = floor(fmin(fmax(sum, 0), 255) + 0.5);
                CHECK(bytes[0].data[i] == (uint8_t)sum);
            }
        }
        for (int l = 0; l < level_count; l++) {
            free(bytes[l].memory);
            free(f32[l].memory);
            free(found[l].memory);
        }
        free(src);
        free(table);
        free(floats);
    }
}

TEST(round_byte_rounds_halves_away_from_zero)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 1e30f, -1e30f, 254.5f, 255.5f};
    for (size_t i = 0; i < HR_COUNT_OF(odd); i++)
        CHECK(round_byte(odd[i]) == (uint8_t)round_clamp_f(odd[i], 0.0f, 255.0f));
    for (int i = -4; i < 520; i++) {
        float below = (float)i / 2 - 1e-4f * (float)(1 + (rnd() & 1));
        for (float v = below; v < (float)i / 2; v = nextafterf(v + 1e-5f, 1e9f))
            CHECK(round_byte(v) == (uint8_t)round_clamp_f(v, 0.0f, 255.0f));
        float half = (float)i / 2;
        for (int k = 0; k < 3; k++, half = nextafterf(half, k ? -1e9f : 1e9f))
            CHECK(round_byte(half) == (uint8_t)round_clamp_f(half, 0.0f, 255.0f));
        CHECK(round_byte(nextafterf((float)i / 2, -1e9f)) ==
              (uint8_t)round_clamp_f(nextafterf((float)i / 2, -1e9f), 0.0f, 255.0f));
    }
}

/* Every half as a float, rounded half away from zero and saturated; NaN is 0. */
static void check_bytes(const hr_kernels *k, const float *in, size_t n)
{
    uint8_t *out = malloc(n);
    k->f32_to_u8(out, in, n);
    for (size_t i = 0; i < n; i++) {
        double whole = in[i] > 0 ? floor((double)in[i] + 0.5) : 0;
        CHECK(out[i] == (uint8_t)(whole < 255 ? whole : 255));
    }
    free(out);
}

TEST(conversions)
{
    find_levels();
    uint16_t *halves = malloc(65536 * sizeof(uint16_t)), *back = malloc(65536 * sizeof(uint16_t));
    float *floats = malloc(65536 * sizeof(float)), *first = malloc(65536 * sizeof(float));
    for (size_t i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    for (int l = 0; l < level_count; l++) {
        levels[l]->f16_to_f32(floats, halves, 65536);
        if (l == 0)
            memcpy(first, floats, 65536 * sizeof(float));
        CHECK(memcmp(first, floats, 65536 * sizeof(float)) == 0);
        levels[l]->f32_to_f16(back, floats, 65536);
        check_bytes(levels[l], floats, 65536);
        for (size_t i = 0; i < 65536; i++) {
            bool nan = (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0;
            CHECK(back[i] == (nan ? i | 0x200 : i));
        }
        levels[l]->u16_to_f32(floats, halves, 65535);
        CHECK(floats[65534] == 65534.0f);
        levels[l]->i16_to_f32(floats, (const int16_t *)halves, 65535);
        CHECK(floats[65534] == -2.0f && floats[5] == 5.0f);
        levels[l]->sound_16(floats, (const uint8_t *)halves + 1, 65535);
        CHECK(floats[1] == 0x200 * 0x1p-15f && floats[0x7F] == -1.0f && floats[0x80FF] == 0x1p-8f);
        levels[l]->sound_32(floats, (const uint8_t *)halves + 1, 32767);
        CHECK(floats[0] == 0x02000100 * 0x1p-31f &&
              floats[32766] == (float)(int32_t)0xFEFFFDFF * 0x1p-31f);
        levels[l]->u8_to_f32(floats, (const uint8_t *)halves, 1001);
        CHECK(floats[1000] == (float)((const uint8_t *)halves)[1000]);
    }
    for (int round = 0; round < 20000; round++) { /* ties, denormals, overflow */
        uint32_t bits = rnd() << 12 | (rnd() & 0x1000 ? 0x1000u : rnd() & 0x1fff);
        float value[8];
        uint16_t want[8], got[8];
        for (int i = 0; i < 8; i++)
            memcpy(&value[i], &bits, 4);
        levels[0]->f32_to_f16(want, value, 8);
        for (int l = 1; l < level_count; l++) {
            levels[l]->f32_to_f16(got, value, 8);
            CHECK(memcmp(want, got, sizeof(want)) == 0);
        }
    }
    free(halves);
    free(back);
    free(floats);
    free(first);
}

TEST_MAIN
