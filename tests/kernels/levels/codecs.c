/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Cases of the kernels for JPEG files and videos. Scans are random bits: they are codes, too. */
#include "levels.h"

#include "codecs/jpeg/encode_codes.h"
#include "codecs/jpeg/markers.h"
#include "kernels/jpeg.h"
#include "kernels/jpeg_shared.h"
#include "kernels/yuv.h"

enum { N = 1000, MCUS = 64, BLOCKS = 3, PLANE = MCUS * 64 };

#define OUT levels_out
#define IN levels_bytes
#define SCAN (levels_bytes + 512) /* from here on, the bits are codes */

/* Counts of codes by length, and their symbols: a code of each length, so that random bits are
 * hardly ever the one that is no code. Half of the AC codes end their block. */
static const uint8_t dc_codes[16 + 12] = {
    1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, [16] = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
static const uint8_t
    ac_codes[16 + 14] = {1,    1,    1,    1,    1,           1,    1,    1,    1,    1,
                         1,    1,    1,    1,    [16] = 0x00, 0x01, 0x02, 0x11, 0x03, 0x31,
                         0x41, 0x12, 0x51, 0x04, 0x21,        0x61, 0x32, 0x05};
static const uint8_t
    refining_codes[16 + 14] = {1,    1,    1,    1,    1,           1,    1,    1,    1,    1,
                               1,    1,    1,    1,    [16] = 0x00, 0x01, 0x11, 0x21, 0x31, 0x41,
                               0x51, 0x61, 0x71, 0x81, 0x91,        0xa1, 0xb1, 0xc1};

static _Alignas(64) int16_t quant[64];

static void scan_make(hr_jpeg_scan *s, const hr_jpeg_huffman *dc, const hr_jpeg_huffman *ac)
{
    *s = (hr_jpeg_scan){.next = SCAN, .end = SCAN + 30000, .blocks = BLOCKS};
    for (int b = 0; b < BLOCKS; b++)
        s->block[b] = (hr_jpeg_block){dc, ac, quant, b, OUT + b * PLANE, 8, (size_t)8 * MCUS};
}

/* Where the scan stands, in bits, and the predictions. */
static void scan_state(const hr_jpeg_scan *s, bool good, int64_t state[5])
{
    state[0] = good;
    state[1] = 8 * (s->next - SCAN) - (int64_t)s->count;
    for (int i = 0; i < 3; i++)
        state[2 + i] = s->predicted[i];
}

static void scans(void)
{
    static hr_jpeg_huffman dc, ac;
    hr_jpeg_scan start, s;
    bool good =
        hr_jpeg_huffman_build(&dc, dc_codes, false) && hr_jpeg_huffman_build(&ac, ac_codes, true);
    int64_t *state = (int64_t *)(void *)(OUT + BLOCKS * PLANE);
    scan_make(&start, &dc, &ac);
    KERNEL(jpeg_mcus, "MCUs of 3 blocks", MCUS, OUT, BLOCKS * PLANE + 40,
           (s = start, scan_state(&s, k->jpeg_mcus(&s, MCUS), state)))
    good = good && state[0];
    KERNEL(jpeg_skip, "MCUs of 3 blocks", MCUS, OUT + BLOCKS * PLANE, 40,
           (s = start, scan_state(&s, k->jpeg_skip(&s, MCUS), state)))
    levels_require(good && state[0], "the scan is damaged");
}

static void passes(void)
{
    static hr_jpeg_huffman table;
    static uint64_t mask[MCUS];
    hr_jpeg_scan s;
    int16_t *coef = (int16_t *)(void *)OUT;
    hr_jpeg_pass p, start = {.first = 1, .last = 63, .mask = mask, .blocks = 1};
    start.block[0].table = &table;
    start.block[0].coef = coef;
    start.block[0].step = 64;
    int64_t *state = (int64_t *)(void *)(OUT + MCUS * 128);
    for (int refine = 0; refine < 2; refine++) {
        bool good = hr_jpeg_huffman_build_pass(&table, refine ? refining_codes : ac_codes);
        start.refine = refine;
        KERNEL(jpeg_pass, refine ? "refinement" : "first", MCUS, OUT, MCUS * 128 + 40,
               (memset(OUT, 0, MCUS * 128), memset(mask, 0, sizeof(mask)), p = start,
                scan_make(&s, &table, &table), scan_state(&s, k->jpeg_pass(&s, &p, MCUS), state)))
        levels_require(good && state[0], "the pass is damaged");
    }
}

static void transforms(void)
{
    static _Alignas(64) int16_t coefs[2][64];
    static hr_jpeg_quantiser q;
    hr_jpeg_coefs blocks[2];
    for (int i = 0; i < 128; i++)
        coefs[i / 64][i % 64] = (int16_t)(i % 64 < 20 ? IN[i] - 128 : 0);
    for (int b = 0; b < 2; b++)
        blocks[b] = (hr_jpeg_coefs){OUT + 8 * b, 16, coefs[b], quant, 63, false};
    for (int i = 0; i < 64; i++)
        hr_jpeg_quantiser_of(i + 1, &q.half[i], &q.factor[i], &q.scale[i]);
    KERNEL(jpeg_idct, "blocks", 2, OUT, 128, (k->jpeg_idct(&blocks[0]), k->jpeg_idct(&blocks[1])))
    KERNEL(jpeg_idct_two, "blocks", 2, OUT, 128, k->jpeg_idct_two(blocks))
    KERNEL(jpeg_fdct, "blocks", 1, OUT, 128, k->jpeg_fdct((int16_t *)(void *)OUT, IN, 16, &q))
    KERNEL(jpeg_fdct_row, "blocks", 16, OUT, 16 * 128,
           k->jpeg_fdct_row((int16_t *)(void *)OUT, IN, 200, &q, 16))
}

/* Blocks in which every third coefficient, and fewer of the later ones, is not zero. */
static void symbols(void)
{
    static hr_jpeg_codes dc, ac;
    static int16_t coefs[MCUS * BLOCKS][64];
    static uint64_t count[2][256];
    hr_jpeg_sink start = {.next = OUT, .blocks = BLOCKS}, s;
    for (int i = 0; i < MCUS * BLOCKS * 64; i++)
        coefs[i / 64][i % 64] =
            (int16_t)(IN[i] % 3 == 0 && IN[i + 1] > 4 * (i % 64) ? IN[i + 2] - 128 : 0);
    hr_jpeg_codes_build(&dc, hr_jpeg_usual_codes(0, false));
    hr_jpeg_codes_build(&ac, hr_jpeg_usual_codes(0, true));
    for (int b = 0; b < BLOCKS; b++)
        start.block[b] = (hr_jpeg_coded){&dc, &ac, count[0], count[1], b, coefs[b], 64 * BLOCKS};
    s = start;
    hr_kernels_get(HR_CPU_LEVEL_BASE)->jpeg_put(&s, MCUS);
    size_t size = (size_t)(s.next - OUT);
    levels_require(size > MCUS * BLOCKS && size < MCUS * BLOCKS * HR_JPEG_BLOCK_BYTES,
                   "the blocks are not usual");
    KERNEL(jpeg_put, "MCUs of 3 blocks", MCUS, OUT, size, (s = start, k->jpeg_put(&s, MCUS)))
    KERNEL(jpeg_count, "MCUs of 3 blocks", MCUS, OUT, sizeof count,
           (memset(count, 0, sizeof count), s = start, k->jpeg_count(&s, MCUS),
            memcpy(OUT, count, sizeof count)))
}

static void rows(void)
{
    const uint8_t *a = IN + 64, *b = IN + 2064, *c = IN + 4064;
    KERNEL(jpeg_h2v1, "", 2 * N, OUT, 2 * N, k->jpeg_h2v1(OUT, a, N))
    KERNEL(jpeg_h2v2, "", 2 * N, OUT, 2 * N, k->jpeg_h2v2(OUT, a, b, N))
    KERNEL(jpeg_h1v2, "", N, OUT, N, k->jpeg_h1v2(OUT, a, b, N, true))
    KERNEL(jpeg_h4v1, "", 4 * N, OUT, 4 * N, k->jpeg_h4v1(OUT, a, N))
    KERNEL(jpeg_ycc_rgb, "", N, OUT, 3 * N, k->jpeg_ycc_rgb(OUT, a, b, c, N))
    KERNEL(jpeg_interleave, "", N, OUT, 3 * N, k->jpeg_interleave(OUT, a, b, c, N))
    KERNEL(jpeg_rgb_ycc, "", N, OUT, 3 * N, k->jpeg_rgb_ycc(OUT, OUT + N, OUT + 2 * N, a, N))
    KERNEL(jpeg_half, "", N, OUT, N, k->jpeg_half(OUT, a, b + N, N))
    KERNEL(jpeg_half_across, "", N, OUT, N, k->jpeg_half_across(OUT, a, N))
}

static void videos(void)
{
    static int16_t line[N + 2 + HR_YUV_PAD], u[N + HR_YUV_PAD], v[N + HR_YUV_PAD];
    static int32_t wide_u[N + HR_YUV_PAD], wide_v[N + HR_YUV_PAD];
    const hr_yuv_chroma chroma = {IN, IN + 2000, N, 8, true, line};
    const hr_yuv_colors colors = hr_yuv_colors_of(8, false, HR_YUV_MATRIX_BT601);
    for (int i = 0; i < N; i++) {
        u[i] = (int16_t)(16 * (IN[i] - 128));
        v[i] = (int16_t)(16 * (IN[i + N] - 128));
        wide_u[i] = 32 * u[i];
        wide_v[i] = 32 * v[i];
    }
    KERNEL(yuv_chroma, "halved", 2 * N, OUT, 4 * N, k->yuv_chroma((int16_t *)(void *)OUT, &chroma))
    KERNEL(yuv_rgb, "8 bits", N, OUT, 3 * N, k->yuv_rgb(OUT, IN, u, v, N, &colors))
    KERNEL(yuv_rgb_wide, "8 bits", N, OUT, 3 * N,
           k->yuv_rgb_wide(OUT, IN, wide_u, wide_v, N, &colors))
}

void levels_of_codecs(void)
{
    for (int i = 0; i < 64; i++)
        quant[i] = (int16_t)(1 + i / 4);
    scans();
    passes();
    transforms();
    symbols();
    rows();
    videos();
}
