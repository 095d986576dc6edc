/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Cases of the kernels for pixels. */
#include "levels.h"

#include <math.h>

#include "kernels/border.h"
#include "kernels/debayer.h"
#include "kernels/gather.h"
#include "kernels/lab.h"
#include "kernels/remap.h"

enum { N = 1000, WIDE = 300, SIDE = 224, TAPS = 3 };

#define OUT levels_out
#define OUT_F32 ((float *)levels_out)
#define IN levels_bytes

static void fixed_resampling(void)
{
    static _Alignas(64) uint8_t tables[3][1 << 16];
    static int32_t start[SIDE];
    static int16_t coef[SIDE * (TAPS + 1)];
    const uint8_t *rows[TAPS] = {IN, IN + 2000, IN + 4000};
    const int16_t weights[TAPS] = {4000, 9000, (1 << HR_FIX_COEF_BITS) - 13000};
    hr_filter_fix f = {.out = SIDE, .taps = TAPS, .stride = TAPS + 1, .start = start, .coef = coef};
    for (int32_t x = 0; x < SIDE; x++) {
        start[x] = x * (WIDE - TAPS) / SIDE;
        coef[4 * x] = (int16_t)(30 * x);
        coef[4 * x + 1] = 4000;
        coef[4 * x + 2] = (int16_t)((1 << HR_FIX_COEF_BITS) - 4000 - 30 * x);
    }
    KERNEL(vfilter_u8, "3 taps", N, OUT, 2 * N,
           k->vfilter_u8((int16_t *)(void *)OUT, rows, weights, TAPS, N))
    KERNEL(hfilter_table_size, "3 taps x 3", SIDE, OUT, 0, (void)k->hfilter_table_size(&f, 3))
    KERNEL(hfilter_table, "3 taps x 3", SIDE, OUT, 0, k->hfilter_table(tables[k->level - 1], &f, 3))
    KERNEL(hfilter_u8, "3 taps x 3", SIDE * 3, OUT, SIDE * 3,
           (f.table = tables[k->level - 1],
            k->hfilter_u8(OUT, (const int16_t *)(const void *)IN, &f, 3)))
}

static void float_resampling(void)
{
    static int32_t start[SIDE];
    const float *rows[TAPS], *weights = levels_floats(TAPS, -0.1f, 0.5f);
    const float *const coefs[2] = {weights, levels_floats(TAPS, -0.2f, 0.6f)};
    float *const two[2] = {OUT_F32, OUT_F32 + N};
    for (int i = 0; i < TAPS; i++)
        rows[i] = levels_floats(N, -200.0f, 200.0f);
    for (int32_t x = 0; x < SIDE; x++)
        start[x] = x * (WIDE - TAPS) / SIDE;
    hr_filter_float f = {.out = SIDE,
                         .taps = TAPS,
                         .stride = TAPS,
                         .start = start,
                         .coef = levels_floats(SIDE * TAPS, -0.1f, 0.6f)};
    KERNEL(vfilter_f32, "3 taps", N, OUT, 4 * N, k->vfilter_f32(OUT_F32, rows, weights, TAPS, N))
    KERNEL(vfilter_two_f32, "3 taps", 2 * N, OUT, 8 * N,
           k->vfilter_two_f32(two, rows, coefs, TAPS, N))
    KERNEL(hfilter_f32, "3 taps x 3", SIDE * 3, OUT, SIDE * 3 * 4,
           k->hfilter_f32(OUT_F32, NULL, rows[0], &f, 3))
}

static void conversions(void)
{
    const float *x = levels_floats(N, -20.0f, 280.0f);
    const uint16_t *u16 = (const uint16_t *)(const void *)IN;
    KERNEL(u8_to_f32, "", N, OUT, 4 * N, k->u8_to_f32(OUT_F32, IN, N))
    KERNEL(i16_to_f32, "", N, OUT, 4 * N, k->i16_to_f32(OUT_F32, (const int16_t *)u16, N))
    KERNEL(u16_to_f32, "", N, OUT, 4 * N, k->u16_to_f32(OUT_F32, u16, N))
    KERNEL(f32_to_u8, "", N, OUT, N, k->f32_to_u8(OUT, x, N))
    KERNEL(f32_to_f16, "", N, OUT, 2 * N, k->f32_to_f16((uint16_t *)(void *)OUT, x, N))
    KERNEL(f16_to_f32, "", N, OUT, 4 * N, k->f16_to_f32(OUT_F32, u16, N))
}

static void per_pixel(void)
{
    const hr_matrix m = {
        {{0.6f, 0.3f, 0.2f}, {-0.1f, 1.1f, 0.1f}, {0.2f, 0.3f, 0.4f}}, {1.0f, -7.5f, 20.0f}, 3, 3};
    const hr_matrix swap = {{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}, {0}, 3, 3};
    const hr_matrix spread = {{{1}, {1}, {1}}, {0}, 1, 3};
    const float *x = levels_floats(3 * N, 0.0f, 255.0f);
    KERNEL(matrix_u8, "3 x 3", 3 * N, OUT, 3 * N, k->matrix_u8(OUT, IN, N, &m))
    KERNEL(matrix_u8, "RGB to BGR", 3 * N, OUT, 3 * N, k->matrix_u8(OUT, IN, N, &swap))
    KERNEL(matrix_u8, "grey to RGB", N, OUT, 3 * N, k->matrix_u8(OUT, IN, N, &spread))
    KERNEL(matrix_f32, "3 x 3", 3 * N, OUT, 12 * N, k->matrix_f32(OUT_F32, x, N, &m))
    KERNEL(affine_u8, "", N, OUT, N, k->affine_u8(OUT, IN, N, 1.3f, -20.0f))
    KERNEL(affine_f32, "", N, OUT, 4 * N, k->affine_f32(OUT_F32, x, N, 1.3f, -20.0f))
    KERNEL(table_u8, "", N, OUT, N, k->table_u8(OUT, IN, N, IN + 5000))
    KERNEL(mirror_u8, "3 channels", 3 * N, OUT, 3 * N, k->mirror_u8(OUT, IN, N, 3))
    KERNEL(turn_hue, "", N, OUT, 3 * N, (memcpy(OUT, IN, 3 * N), k->turn_hue(OUT, N, 60)))
    KERNEL(saturate, "", N, OUT, 3 * N, (memcpy(OUT, IN, 3 * N), k->saturate(OUT, N, 0.6f)))
}

static void storing(void)
{
    static const float mean[3] = {123.675f, 116.28f, 103.53f}, mul[3] = {0.017f, 0.018f, 0.019f};
    uint16_t *half = (uint16_t *)(void *)OUT;
    KERNEL(norm_u8_chw_f32, "3 channels", 3 * N, OUT, 12 * N,
           k->norm_u8_chw_f32(OUT_F32, N, IN, N, 3, mean, mul, 0))
    KERNEL(norm_u8_chw_f32, "3 channels, mirrored", 3 * N, OUT, 12 * N,
           k->norm_u8_chw_f32(OUT_F32, N, IN, N, 3, mean, mul, 1))
    KERNEL(norm_u8_chw_f16, "3 channels", 3 * N, OUT, 6 * N,
           k->norm_u8_chw_f16(half, N, IN, N, 3, mean, mul, 0))
    KERNEL(norm_u8_hwc_f32, "3 channels", 3 * N, OUT, 12 * N,
           k->norm_u8_hwc_f32(OUT_F32, 3, IN, N, 3, mean, mul, 0))
}

static void positions_and_gathering(void)
{
    enum { ROW = HR_GATHER_RUN + 44, STRIDE = ROW + 2 * HR_GATHER_MORE };
    static float x[STRIDE], y[STRIDE], line[3 * ROW];
    static const int64_t first[2] = {0, 7};
    const hr_map map = {{{0.9f, 0.1f, 0.0f, 3.0f}, {-0.1f, 0.9f, 0.0f, 40.0f}}};
    hr_gather_spec g = {.axes = 2, .in = {WIDE, WIDE, 1}, .out = {ROW, ROW, 1}};
    hr_gather_row row = {
        &g, &map, IN, {3, 3 * WIDE, 0}, HR_DTYPE_UINT8, HR_DTYPE_UINT8, 3, {0, 7, 0}, ROW, x, y};
    KERNEL(gather_positions, "x of a row", ROW, OUT, 4 * ROW,
           k->gather_positions(OUT_F32, y, STRIDE, 1, &map, first, ROW))
    KERNEL(gather_positions, "y of a row", ROW, OUT, 4 * ROW,
           k->gather_positions(x, OUT_F32, STRIDE, 1, &map, first, ROW))
    hr_kernels_get(HR_CPU_LEVEL_BASE)->gather_positions(x, y, STRIDE, 1, &map, first, ROW);
    for (int nearest = 0; nearest < 2; nearest++) {
        g.nearest = nearest;
        KERNEL(gather_row, nearest ? "nearest, 3 channels" : "linear, 3 channels", 3 * ROW, OUT,
               3 * ROW, k->gather_row(&row, line, OUT))
    }
}

static void remapping(void)
{
    static const float m[9] = {1.1f, 0.05f, 3.0f, -0.02f, 0.9f, 7.0f, 1e-4f, 2e-4f, 1.0f};
    static const char *const names[] = {"", "nearest", "linear", "", "cubic"};
    const float *x = levels_floats(N, -10.0f, WIDE + 10.0f);
    const float *y = levels_floats(N, -10.0f, WIDE / 4.0f + 10.0f), fill[3] = {1.0f, 2.0f, 3.0f};
    for (int32_t taps = 1; taps <= 4; taps *= 2) {
        const hr_remap r = {.src = IN,
                            .fill = fill,
                            .dtype = HR_DTYPE_UINT8,
                            .border = HR_BORDER_REFLECT_101,
                            .taps = taps,
                            .channels = 3,
                            .in = {WIDE, WIDE / 4},
                            .step = {3, 3 * WIDE}};
        KERNEL(remap_row, names[taps], 3 * N, OUT, 3 * N, k->remap_row(OUT, &r, x, y, N))
    }
    KERNEL(given_row, "nearest", N, OUT, 4 * N, k->given_row(OUT_F32, x, N, 0.5f, true))
    KERNEL(perspective_row, "", N, OUT, 8 * N, k->perspective_row(OUT_F32, OUT_F32 + N, m, 5, N))
}

static void bayer_rows(void)
{
    static const char *const names[HR_DEBAYER_KIND_COUNT][3] = {
        {"bilinear, green", "bilinear, own", "bilinear, other"},
        {"edge-aware, green", "edge-aware, own", "edge-aware, other"},
        {"gray"}};
    static uint8_t colour[N];
    for (size_t i = 0; i < N; i += 2)
        colour[i] = 0xff;
    for (int kind = 0; kind < HR_DEBAYER_KIND_COUNT; kind++) {
        const hr_debayer_row r = {.kind = (hr_debayer_kind)kind,
                                  .above = IN + 64,
                                  .at = IN + 2064,
                                  .below = IN + 4064,
                                  .colour = colour,
                                  .n = N,
                                  .own = OUT + 64,
                                  .green = OUT + 2064,
                                  .other = OUT + 4064,
                                  .own_weight = HR_DEBAYER_RED,
                                  .other_weight = HR_DEBAYER_BLUE};
        KERNEL(debayer_row, names[kind][0], N, OUT + 2065, N - 2, k->debayer_row(&r))
        if (kind != HR_DEBAYER_KIND_GRAY) {
            KERNEL(debayer_row, names[kind][1], N, OUT + 65, N - 2, k->debayer_row(&r))
            KERNEL(debayer_row, names[kind][2], N, OUT + 4065, N - 2, k->debayer_row(&r))
        }
    }
}

static void bayer_gradients(void)
{
    enum { PIXELS = 512, LENGTH = PIXELS / 2 + HR_VNG_REACH + 64 };
    static int16_t memory[HR_VNG_LINES][HR_VNG_ARRAYS][LENGTH];
    static uint8_t halves[2][3][PIXELS / 2 + 64];
    hr_vng v = {.n = PIXELS, .own = OUT, .green = OUT + PIXELS, .other = OUT + 2 * PIXELS};
    for (int l = 0; l < HR_VNG_LINES; l++) {
        hr_vng_line *line = &v.line[l];
        int16_t **arrays[HR_VNG_ARRAYS] = {
            &line->s[0],       &line->s[1],       &line->down[0],     &line->down[1],
            &line->across[0],  &line->across[1],  &line->rising[0],   &line->rising[1],
            &line->falling[0], &line->falling[1], &line->rising_wide, &line->falling_wide,
            &line->green};
        for (int a = 0; a < HR_VNG_ARRAYS; a++) {
            for (int i = 0; i < LENGTH; i++)
                memory[l][a][i] = IN[(l * HR_VNG_ARRAYS + a) * LENGTH + i];
            *arrays[a] = memory[l][a] + 2;
        }
    }
    for (int i = 0; i < 6; i++)
        v.half[i / 3][i % 3] = halves[i / 3][i % 3];
    KERNEL(vng_row, "", PIXELS, OUT, 3 * PIXELS, k->vng_row(&v))
    hr_vng_line loaded = v.line[0];
    loaded.s[0] = (int16_t *)(void *)OUT + HR_VNG_REACH / 2;
    loaded.s[1] = loaded.s[0] + PIXELS / 2 + HR_VNG_REACH;
    KERNEL(vng_load, "", PIXELS, OUT, 2 * (PIXELS + 2 * HR_VNG_REACH),
           k->vng_load(&loaded, IN, PIXELS))
}

static void windows(void)
{
    static const char *const names[] = {"", "u8", "u16", "", "u32"};
    const void *rows[5] = {IN, IN + 5000, IN + 10000, IN + 15000, IN + 20000};
    for (size_t size = 1; size <= 4; size *= 2) {
        KERNEL(extremes, names[size], N, OUT, N * size,
               k->extremes(OUT, IN, IN + 5000, N, size, true))
        KERNEL(median, names[size], N, OUT, N * size, k->median(OUT, rows, 3, 3, 3, N, size))
    }
    KERNEL(median, "u8, 5 x 5", N, OUT, N, k->median(OUT, rows, 5, 5, 3, N, 1))
}

static void lab(void)
{
    static hr_lab_tables t;
    static uint32_t quads[256];
    uint8_t *const to[3] = {OUT, OUT + N, OUT + 2 * N};
    const uint8_t *const from[3] = {IN, IN + N, IN + 2 * N};
    for (int i = 0; i < 256; i++) {
        double f = ((double)i * 100.0 / 255.0 + 16.0) / 116.0;
        t.linear[i] = i * 8;
        t.y[i] = (int32_t)(f * f * f * HR_LAB_ONE);
        t.fy[i] = (int32_t)(f * HR_LAB_ONE);
        memcpy(&quads[i], IN + 4 * i, sizeof(quads[i]));
    }
    for (int i = 0; i < HR_LAB_ROOTS; i++)
        t.root[i] = (int32_t)(32768.0 * cbrt((double)i / 2040.0));
    for (int i = 0; i < HR_LAB_LIGHTS; i++)
        t.light[i] = i * 255 / HR_LAB_LIGHTS;
    KERNEL(lab_of_rgb, "", N, OUT, 3 * N, k->lab_of_rgb(&t, IN, to[0], to[1], to[2], N))
    KERNEL(lab_to_rgb, "", N, OUT, 3 * N, k->lab_to_rgb(&t, to, from, N))
    const float *right = levels_floats(N, 0.0f, 1.0f);
    KERNEL(blend_tables, "", N, OUT, N, k->blend_tables(OUT, IN, N, quads, right, 0.3f))
}

void levels_of_images(void)
{
    fixed_resampling();
    float_resampling();
    conversions();
    per_pixel();
    storing();
    positions_and_gathering();
    remapping();
    bayer_rows();
    bayer_gradients();
    windows();
    lab();
}
