/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The JPEG kernels of every CPU level against plain arithmetic written here, with guard bytes.
 * Symbols and whole images: unit/jpeg_own.c. */
#include "test.h"
#include "xorshift.h"

#include "kernels/jpeg.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdlib.h>

enum { GUARD = 64, WIDE = 300 };

static const hr_kernels *level(int i)
{
    static const hr_cpu_level wanted[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    const hr_kernels *k = hr_kernels_get(wanted[i]);
    return k->level == wanted[i] ? k : NULL;
}

static int zigzag_row(int at)
{
    int d = 0;
    while (at > (d < 8 ? d : 14 - d)) {
        at -= (d < 8 ? d : 14 - d) + 1;
        d++;
    }
    int from = d < 8 ? 0 : d - 7;
    return d % 2 ? from + at : d - from - at;
}

static int zigzag_col(int at)
{
    int d = 0, left = at;
    while (left > (d < 8 ? d : 14 - d)) {
        left -= (d < 8 ? d : 14 - d) + 1;
        d++;
    }
    return d - zigzag_row(at);
}

/* Coefficients up to `last` in zigzag order. */
static void random_block(int16_t coef[64], int16_t quant[64], int last, int size)
{
    memset(coef, 0, 64 * sizeof *coef);
    for (int i = 0; i < 64; i++) {
        int at = HR_JPEG_POSITION(zigzag_row(i), zigzag_col(i));
        quant[at] = (int16_t)(1 + rnd() % 32);
        if (i <= last && rnd() % 3)
            coef[at] = (int16_t)((int)(rnd() % (uint32_t)(2 * size + 1)) - size);
    }
}

static double exact_sample(const int16_t *coef, const int16_t *quant, int y, int x)
{
    double sum = 0, pi = 3.14159265358979323846;
    for (int v = 0; v < 8; v++)
        for (int u = 0; u < 8; u++) {
            int at = HR_JPEG_POSITION(v, u);
            double by = (u ? 1 : sqrt(0.5)) * (v ? 1 : sqrt(0.5)) / 4;
            sum += by * coef[at] * quant[at] * cos((2 * x + 1) * u * pi / 16) *
                   cos((2 * y + 1) * v * pi / 16);
        }
    return fmin(fmax(sum + 128, 0), 255);
}

TEST(positions)
{
    bool seen[64] = {false};
    for (int r = 0; r < 8; r++)
        for (int c = 0; c < 8; c++)
            seen[HR_JPEG_POSITION(r, c)] = true;
    for (int i = 0; i < 64; i++)
        CHECK(seen[i]);
    CHECK(zigzag_row(2) == 1 && zigzag_col(2) == 0 && zigzag_row(62) == 7 && zigzag_col(62) == 6);
}

TEST(idct_is_one)
{
    _Alignas(64) int16_t coef[64], quant[64];
    for (int round = 0; round < 300; round++) {
        uint8_t out[64];
        hr_jpeg_coefs block = {out, 8, coef, quant, round % 64};
        random_block(coef, quant, block.last, 30);
        level(0)->jpeg_idct(&block);
        for (int i = 0; i < 64; i++)
            CHECK(fabs(out[i] - exact_sample(coef, quant, i / 8, i % 8)) <= 1.001);
    }
}

/* Stores the negative values as the decoder of sequential scans does. */
static void lessen(hr_jpeg_coefs blocks[2], int16_t coef[2][64])
{
    for (int k = 0; k < 2; k++) {
        blocks[k].ones_complement = true;
        for (int i = 1; i < 64; i++)
            coef[k][i] = (int16_t)(coef[k][i] - (coef[k][i] < 0));
    }
}

/* Two blocks, side by side, one by one at the lowest level, and in all ways at the others. */
TEST(idct_levels_agree)
{
    _Alignas(64) int16_t coef[2][64], quant[2][64];
    static const int sizes[] = {3, 40, 1000, 32767};
    for (int round = 0; round < 40000; round++) {
        uint8_t want[8 * 24 + GUARD], got[8 * 24 + GUARD];
        hr_jpeg_coefs blocks[2];
        for (int k = 0; k < 2; k++) {
            blocks[k] = (hr_jpeg_coefs){want + 8 * k, 24, coef[k], quant[k], (int)(rnd() % 64)};
            random_block(coef[k], quant[k], blocks[k].last, sizes[rnd() % 4]);
            if (rnd() % 7 == 0) /* only the first row: another case */
                for (int i = 8; i < 64; i++)
                    coef[k][i] = 0;
        }
        memset(want, 0xA5, sizeof want);
        level(0)->jpeg_idct(&blocks[0]);
        level(0)->jpeg_idct(&blocks[1]);
        blocks[0].dst = got;
        blocks[1].dst = got + 8;
        if (round % 2)
            lessen(blocks, coef);
        for (int i = 0; i < 6; i++) {
            const hr_kernels *k = level(i / 2);
            if (!k)
                continue;
            memset(got, 0xA5, sizeof got);
            if (i % 2) {
                k->jpeg_idct_two(blocks);
            } else {
                k->jpeg_idct(&blocks[0]);
                k->jpeg_idct(&blocks[1]);
            }
            CHECK(memcmp(want, got, sizeof want) == 0);
        }
    }
}

static void random_quantisers(hr_jpeg_quantiser *q, int *step)
{
    for (int i = 0; i < 64; i++) {
        step[i] = 1 + (int)(rnd() % (rnd() & 1 ? 255 : 8));
        q->half[i] = 4.0f * (float)step[i] + 0.5f;
        q->inverse[i] = 1.0f / (8.0f * (float)step[i]);
    }
}

static double exact_coefficient(const uint8_t *samples, int v, int u)
{
    double sum = 0, pi = 3.14159265358979323846;
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 8; x++)
            sum += (samples[8 * y + x] - 128) * cos((2 * x + 1) * u * pi / 16) *
                   cos((2 * y + 1) * v * pi / 16);
    return sum * (u ? 1 : sqrt(0.5)) * (v ? 1 : sqrt(0.5)) / 4;
}

TEST(forward_dct)
{
    _Alignas(64) int16_t coef[64], again[64];
    uint8_t samples[64];
    hr_jpeg_quantiser q;
    int step[64];
    for (int round = 0; round < 2000; round++) {
        uint32_t kind = rnd() % 3;
        for (int i = 0; i < 64; i++)
            samples[i] = (uint8_t)(kind == 0   ? rnd()
                                   : kind == 1 ? 255 * (rnd() & 1)
                                               : 255 * (i & 1));
        random_quantisers(&q, step);
        level(0)->jpeg_fdct(coef, samples, 8, &q);
        for (int i = 0; i < 64; i++) {
            double want = exact_coefficient(samples, i / 8, i % 8) / step[i];
            CHECK(fabs(coef[HR_JPEG_POSITION(i / 8, i % 8)] - want) <= 0.5 + 0.4 / step[i]);
        }
        for (int i = 1; i < 3; i++)
            if (level(i)) {
                level(i)->jpeg_fdct(again, samples, 8, &q);
                CHECK(memcmp(coef, again, sizeof coef) == 0);
            }
    }
}

typedef struct rows {
    uint8_t data[3][WIDE + 2 * HR_JPEG_ROW_PAD];
    const uint8_t *in[3];
} rows;

static void random_rows(rows *r)
{
    for (int i = 0; i < 3; i++) {
        for (size_t k = 0; k < sizeof r->data[i]; k++)
            r->data[i][k] = (uint8_t)(rnd() % 5 == 0 ? 255 * (rnd() & 1) : rnd());
        r->in[i] = r->data[i] + HR_JPEG_ROW_PAD;
    }
}

TEST(upsampling)
{
    static rows r;
    static uint8_t out[4 * WIDE + HR_JPEG_ROW_PAD];
    for (int round = 0; round < 600; round++) {
        const hr_kernels *k = level(round % 3);
        int n = 1 + (int)(rnd() % (WIDE - 1));
        if (!k)
            continue;
        random_rows(&r);
        const uint8_t *a = r.in[0], *b = r.in[1];
        k->jpeg_h2v1(out, a, (size_t)n);
        for (int x = 0; x < n; x++) {
            CHECK(out[2 * x] == (3 * a[x] + a[x - 1] + 1) / 4);
            CHECK(out[2 * x + 1] == (3 * a[x] + a[x + 1] + 2) / 4);
        }
        k->jpeg_h2v2(out, a, b, (size_t)n);
        for (int x = 0; x < n; x++) {
            int left = 3 * a[x - 1] + b[x - 1], right = 3 * a[x + 1] + b[x + 1];
            CHECK(out[2 * x] == (3 * (3 * a[x] + b[x]) + left + 8) / 16);
            CHECK(out[2 * x + 1] == (3 * (3 * a[x] + b[x]) + right + 7) / 16);
        }
        k->jpeg_h1v2(out, a, b, (size_t)n, round % 2);
        for (int x = 0; x < n; x++)
            CHECK(out[x] == (3 * a[x] + b[x] + 1 + round % 2) / 4);
        k->jpeg_h4v1(out, a, (size_t)n);
        for (int x = 0; x < 4 * n; x++)
            CHECK(out[x] == a[x / 4]);
    }
}

static uint8_t nearest(double v)
{
    return (uint8_t)fmin(fmax(floor(v + 0.5), 0), 255);
}

TEST(colours)
{
    static rows r;
    static uint8_t out[3 * WIDE + 2 * GUARD];
    int off = 0, total = 0;
    for (int round = 0; round < 3000; round++) {
        const hr_kernels *k = level(round % 3);
        size_t n = 1 + rnd() % (WIDE - 1);
        if (!k)
            continue;
        random_rows(&r);
        memset(out, 0xA5, sizeof out);
        uint8_t *dst = out + GUARD;
        k->jpeg_ycc_rgb(dst, r.in[0], r.in[1], r.in[2], n);
        for (size_t x = 0; x < n; x++) {
            double y = r.in[0][x], cb = r.in[1][x] - 128.0, cr = r.in[2][x] - 128.0;
            uint8_t want[3] = {nearest(y + 1.402 * cr),
                               nearest(y - 0.344136286 * cb - 0.714136286 * cr),
                               nearest(y + 1.772 * cb)};
            for (size_t i = 0; i < 3; i++) { /* ties may fall to the other side */
                CHECK(abs(dst[3 * x + i] - want[i]) <= 1);
                off += dst[3 * x + i] != want[i];
                total++;
            }
        }
        CHECK(dst[-1] == 0xA5 && dst[3 * n] == 0xA5);
        k->jpeg_interleave(dst, r.in[0], r.in[1], r.in[2], n);
        for (size_t x = 0; x < 3 * n; x++)
            CHECK(dst[x] == r.in[x % 3][x / 3]);
        CHECK(dst[-1] == 0xA5 && dst[3 * n] == 0xA5);
    }
    CHECK(off < total / 200);
    printf("%d of %d colours rounded the other way\n", off, total);
}

/* Every pair of chroma gives on every level what it gives on base. */
TEST(colour_levels_agree)
{
    static uint8_t y[256 + HR_JPEG_ROW_PAD], cb[256 + HR_JPEG_ROW_PAD], cr[256 + HR_JPEG_ROW_PAD];
    uint8_t want[768], got[768];
    for (int luma = 0; luma < 256; luma += 51)
        for (int red = 0; red < 256; red++) {
            for (int i = 0; i < 256; i++) {
                y[i] = (uint8_t)luma;
                cb[i] = (uint8_t)i;
                cr[i] = (uint8_t)red;
            }
            level(0)->jpeg_ycc_rgb(want, y, cb, cr, 256);
            for (int i = 1; i < 3; i++)
                if (level(i)) {
                    level(i)->jpeg_ycc_rgb(got, y, cb, cr, 256);
                    CHECK(memcmp(want, got, sizeof want) == 0);
                }
        }
}

TEST_MAIN
