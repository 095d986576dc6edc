/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Loops over pixels and samples, compiled once per CPU level; all levels give the same bytes. A
 * kernel never reads or writes beyond the stated element counts unless its comment says how far
 * (buffers are padded by HR_PAD bytes; a sample in a dense batch is not). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/shared.h"
#include "kernels/hash.h"

typedef enum hr_cpu_level {
    HR_CPU_LEVEL_AUTO = 0,
    HR_CPU_LEVEL_BASE, /* x86-64 (SSE2), or any other machine */
    HR_CPU_LEVEL_V3,   /* AVX2, BMI2; FMA is never used */
    HR_CPU_LEVEL_V4    /* AVX-512 F, BW, CD, DQ, VL */
} hr_cpu_level;

/* Fixed point of the u8 resampler (docs/architecture/sample.md, "Resampling"). */
#define HR_FIX_COEF_BITS 14 /* of a coefficient's fraction, in int16; a filter sums to 1 << 14 */
#define HR_FIX_ROW_BITS 6   /* the intermediate row is int16 with this many fraction bits */

/* Horizontal filter of one axis. Output x reads source elements start[x] .. start[x] + taps - 1
 * (pixel numbers, always inside the row) with weights coef[x * stride + k]; zero weights pad to
 * `stride`, which is even. */
typedef struct hr_filter_fix {
    int32_t out, taps, stride;
    const int32_t *start;
    const int16_t *coef;
    /* Outputs even_from .. even_to - 1 have the same coefficients, and starts that rise by 1. */
    int32_t even_from, even_to;
    const void *table; /* filled by hfilter_table from the fields above, in the format of a CPU
                          level */
} hr_filter_fix;

/* hfilter_u8 may read this many elements beyond its row and ignores their values. */
#define HR_FIX_ROW_PAD 128

typedef struct hr_filter_float {
    int32_t out, taps, stride;
    const int32_t *start;
    const float *coef;
    int32_t even_from, even_to; /* as above */
} hr_filter_float;

#define HR_WINDOW_SLACK 64

#define HR_DOT_LANES 16

#define HR_MATRIX_MAX 4

/* A pixel's channels as a matrix of its channels before: see hr_matrix_row. */
typedef struct hr_matrix {
    float m[HR_MATRIX_MAX][HR_MATRIX_MAX], add[HR_MATRIX_MAX];
    int32_t in, out; /* channels: 1 to HR_MATRIX_MAX */
} hr_matrix;

/* Channel c of the result: ((m[c][0] * v[0] + m[c][1] * v[1]) + ...) + add[c]. */
HR_SHARED float hr_matrix_row(const hr_matrix *m, int32_t c, const float *v)
{
    float sum = m->m[c][0] * v[0];
    for (int32_t k = 1; k < m->in; k++)
        sum += m->m[c][k] * v[k];
    return sum + m->add[c];
}

struct hr_debayer_row;
struct hr_fft_pass;
struct hr_sinc_filter;
struct hr_sinc_signal;
struct hr_gather_row;
struct hr_map;
struct hr_jpeg_coefs;
struct hr_jpeg_pass;
struct hr_jpeg_quantiser;
struct hr_jpeg_scan;
struct hr_jpeg_sink;
struct hr_lab_tables;
struct hr_remap;
struct hr_rng;
struct hr_vng;
struct hr_vng_line;
struct hr_yuv_chroma;
struct hr_yuv_colors;

/* What is accumulated, and in which type. */
typedef enum hr_reduce_kind {
    HR_REDUCE_SUM,       /* of integers: uint64_t, int64_t for signed types; wraps */
    HR_REDUCE_SQUARES,   /* of integers: uint64_t; wraps */
    HR_REDUCE_TOTAL,     /* the sum, as double */
    HR_REDUCE_DISTANCES, /* squared differences from the column's mean, as double */
    HR_REDUCE_MIN,       /* in the elements' type; NaN is ignored */
    HR_REDUCE_MAX,
    HR_REDUCE_COUNT
} hr_reduce_kind;

/* Accumulates x[r * stride + c * step] into acc[c] for c < cols and, in this order, r < rows.
 * Vectorised if `step` is 1. `mean` has one element per column; only DISTANCES reads it. */
typedef void (*hr_reduce_fn)(void *acc, const void *x, const double *mean, size_t rows, size_t cols,
                             size_t stride, size_t step);
/* By kind and hr_dtype; NULL where not supported: FLOAT16, BOOL, and floats for the first two. */
typedef struct hr_reduce_table {
    hr_reduce_fn of[HR_REDUCE_COUNT][12];
} hr_reduce_table;

typedef struct hr_kernels {
    hr_cpu_level level;
    const char *name; /* "base", "v3", "v4" */

    /* ---- u8 resampling, fixed point ---- */
    /* dst[i] = round(sum_k coef[k] * rows[k][i]) to HR_FIX_ROW_BITS, saturated to int16; n
     * elements. dst is padded: up to 63 elements beyond n may be written, rows may be read up to 63
     * bytes beyond n. */
    void (*vfilter_u8)(int16_t *dst, const uint8_t *const *rows, const int16_t *coef, int32_t taps,
                       size_t n);
    /* hfilter_table_size: the bytes of this level's table for `f`, or 0 if it needs none.
     * hfilter_table fills it; it must be 64-byte aligned. Starts must be at least 0 and below 2^24.
     */
    size_t (*hfilter_table_size)(const hr_filter_fix *f, int32_t channels);
    void (*hfilter_table)(void *table, const hr_filter_fix *f, int32_t channels);
    /* One row, interleaved channels (1 to 4): dst[x * channels + c], rounded half even, saturated
     * to u8. Reads up to HR_FIX_ROW_PAD elements beyond the row; writes exactly f->out * channels
     * bytes. f->table must have been filled by the same level for the same number of channels. */
    void (*hfilter_u8)(uint8_t *dst, const int16_t *src, const hr_filter_fix *f, int32_t channels);

    /* ---- float resampling: one order of operations, no FMA ---- */
    void (*vfilter_f32)(float *dst, const float *const *rows, const float *coef, int32_t taps,
                        size_t n);
    /* Two filters of the same rows. */
    void (*vfilter_two_f32)(float *const *dst, const float *const *rows, const float *const *coef,
                            int32_t taps, size_t n);
    /* Unless `add` is NULL, dst[i] is the sum of add[i] and output i; dst may be add. */
    void (*hfilter_f32)(float *dst, const float *add, const float *src, const hr_filter_float *f,
                        int32_t channels);
    void (*u8_to_f32)(float *dst, const uint8_t *src, size_t n);
    void (*i16_to_f32)(float *dst, const int16_t *src, size_t n);
    void (*u16_to_f32)(float *dst, const uint16_t *src, size_t n);
    void (*f32_to_u8)(uint8_t *dst, const float *src, size_t n); /* half away, saturated */

    /* ---- gathered pixels; kernels/gather.h ---- */
    /* Positions of the pixels first[0] to first[0] + n - 1 in row first[1] and below it: `rows` is
     * 1 or HR_GATHER_ROWS. Rows are `stride`, at least HR_GATHER_STRIDE(n), floats apart. */
    void (*gather_positions)(float *x, float *y, size_t stride, int32_t rows,
                             const struct hr_map *map, const int64_t *first, int64_t n);
    /* Writes exactly the row. `line` has room for it as floats. */
    void (*gather_row)(const struct hr_gather_row *r, float *line, void *dst);
    /* The pixels at n positions; kernels/remap.h. Writes exactly the pixels. */
    void (*remap_row)(void *dst, const struct hr_remap *r, const float *x, const float *y,
                      size_t n);
    /* Positions of n pixels of a row: those given by inputs, or by a matrix of nine numbers. */
    void (*given_row)(float *dst, const float *given, size_t n, float shift, bool nearest);
    void (*perspective_row)(float *x, float *y, const float *m, int32_t row, size_t n);

    /* ---- per-pixel steps; dst and src must not overlap ---- */
    /* n pixels, rounded half away from zero and saturated. May write 63 bytes beyond. */
    void (*matrix_u8)(uint8_t *dst, const uint8_t *src, size_t n, const hr_matrix *m);
    void (*matrix_f32)(float *dst, const float *src, size_t n, const hr_matrix *m);
    /* mul * v + add of n elements; UINT8 is rounded as above. affine_f32: dst may be src. */
    void (*affine_u8)(uint8_t *dst, const uint8_t *src, size_t n, float mul, float add);
    void (*affine_f32)(float *dst, const float *src, size_t n, float mul, float add);
    /* n elements; the table has 256. */
    void (*table_u8)(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *table);

    /* ---- storing: (v - mean[c]) * mul[c] in float32 ---- */
    /* n u8 pixels of `channels` interleaved elements; `mirror` reads from the last pixel to the
     * first. CHW planes are `plane` elements apart; HWC writes `out_channels` elements per pixel,
     * the added ones 0. */
    void (*norm_u8_chw_f32)(float *dst, size_t plane, const uint8_t *src, size_t n,
                            int32_t channels, const float *mean, const float *mul, int mirror);
    void (*norm_u8_chw_f16)(uint16_t *dst, size_t plane, const uint8_t *src, size_t n,
                            int32_t channels, const float *mean, const float *mul, int mirror);
    void (*norm_u8_hwc_f32)(float *dst, int32_t out_channels, const uint8_t *src, size_t n,
                            int32_t channels, const float *mean, const float *mul, int mirror);
    void (*f32_to_f16)(uint16_t *dst, const float *src, size_t n); /* nearest even */
    void (*f16_to_f32)(float *dst, const uint16_t *src, size_t n);
    /* dst and src must not overlap. */
    void (*mirror_u8)(uint8_t *dst, const uint8_t *src, size_t n, int32_t channels);

    /* ---- functions, with the same bits as core/mathx.h ---- */
    void (*sqrt_f32)(float *dst, const float *src, size_t n);
    void (*exp_f32)(float *dst, const float *src, size_t n);
    /* Natural logarithms divided by `base`: the natural logarithm of another base, or 1. */
    void (*log_f32)(float *dst, const float *src, size_t n, double base);
    /* A function of core/mathx_short.h, given as mathx_short, of n numbers or pairs. false: some
     * values are outside its domain. dst must not overlap x or y. */
    bool (*short_f32)(int function, float *dst, const float *x, const float *y, size_t n);

    /* ---- random numbers, in tiles; kernels/noise.h ---- */
    /* HR_NOISE_TILE draws: those of HR_NOISE_BLOCKS blocks from `block` on. */
    void (*random_tile)(uint32_t *bits, const struct hr_rng *rng, uint64_t block);
    /* Normal numbers from the draws of a tile. */
    void (*normal_tile)(float *noise, const uint32_t *bits);
    /* dst[i] = src[i] + (mean + stddev * noise[i]), rounded half up and saturated. */
    void (*add_noise_u8)(uint8_t *dst, const uint8_t *src, const float *noise, size_t n, float mean,
                         float stddev);

    /* ---- Bayer filters; kernels/debayer.h ---- */
    void (*debayer_row)(const struct hr_debayer_row *r);
    /* Takes a row of n pixels with HR_VNG_REACH more before and after it; src is the first of
     * these. */
    void (*vng_load)(const struct hr_vng_line *line, const uint8_t *src, size_t n);
    /* Makes the gradients of line[3]. If `own` is not NULL, makes the results for line[2] from the
     * gradients of lines 1 to 3. */
    void (*vng_row)(const struct hr_vng *v);

    /* ---- windows: unsigned integers of 1, 2 or 4 bytes ---- */
    /* dst[i] is the larger, or the smaller, of a[i] and b[i]. dst must not overlap them. */
    void (*extremes)(void *dst, const void *a, const void *b, size_t n, size_t size, bool max);
    /* dst[i] is the median of the elements rows[r][i + c * step], an odd number that the type can
     * hold. Reads up to HR_WINDOW_SLACK elements beyond the rows. */
    void (*median)(void *dst, const void *const *rows, int32_t row_count, int32_t columns,
                   size_t step, size_t n, size_t size);

    /* ---- clahe; kernels/lab.h ---- */
    /* Interleaved RGB to planes, and planes to planes. */
    void (*lab_of_rgb)(const struct hr_lab_tables *t, const uint8_t *src, uint8_t *l, uint8_t *a,
                       uint8_t *b, size_t n);
    void (*lab_to_rgb)(const struct hr_lab_tables *t, uint8_t *const rgb[3],
                       const uint8_t *const lab[3], size_t n);
    /* In place, of n interleaved RGB pixels, with Pillow's rounding: adds `turn` 255ths to the hue;
     * blends with grey (0: grey, 1: unchanged). */
    void (*turn_hue)(uint8_t *pixels, size_t n, int32_t turn);
    void (*saturate)(uint8_t *pixels, size_t n, float factor);
    /* What four tables make of src[i], from the lowest byte of quads[src[i]]: at the top left, top
     * right, bottom left and bottom right. Blends them with the weights right[i] and `down`, and
     * rounds to the nearest integer, ties to even. */
    void (*blend_tables)(uint8_t *dst, const uint8_t *src, size_t n, const uint32_t *quads,
                         const float *right, float down);

    /* ---- reductions: one order of additions on all levels ---- */
    const hr_reduce_table *reduce;

    /* ---- Fourier transforms of HR_FFT_LANES signals; kernels/fft.h ---- */
    void (*fft_pass)(float *dst, const float *src, const struct hr_fft_pass *p);
    /* dst[i * row + lane] = signals[lane][i] * window[i] */
    void (*fft_load)(float *dst, size_t row, const float *const *signals, const float *window,
                     size_t n);
    /* Multiplies n points by complex factors; the results are conjugated if asked for. */
    void (*fft_multiply)(float *dst, const float *src, const float *factors, size_t n,
                         bool conjugate);
    /* Rows of norms (hr_fft_result) of n points. */
    void (*fft_norms)(float *dst, const float *src, size_t n, int32_t result);
    /* half + 1 rows of norms: of the spectrum of 2 * half real samples, of which `src` is the
     * transform as `half` complex ones. turns: exp(-2 pi i k / (2 half)). */
    void (*fft_real_norms)(float *dst, const float *src, const float *turns, size_t half,
                           int32_t result);
    /* The sum of a[i] * b[i] in HR_DOT_LANES partial sums; n is a multiple of HR_DOT_LANES. */
    float (*dot_f32)(const float *a, const float *b, size_t n);
    /* `count` outputs of a signal, `stride` elements apart; kernels/sinc.h. */
    void (*sinc)(float *dst, size_t stride, const struct hr_sinc_filter *f,
                 const struct hr_sinc_signal *in, int64_t count);

    /* ---- sounds ---- */
    /* n INT16 or INT32 samples in the order of this machine, at any address, to floats from -1 to
     * 1. */
    void (*sound_16)(float *dst, const uint8_t *src, size_t n);
    void (*sound_32)(float *dst, const uint8_t *src, size_t n);

    /* ---- hashing ---- */
    hr_hash (*hash)(const hr_hash_key *key, const void *data, size_t size);
    /* Also copies the data past the CPU's caches to `to`, aligned to HR_HASH_STRIPE. */
    hr_hash (*hash_copy)(const hr_hash_key *key, const void *data, size_t size, void *to);
    uint32_t (*crc32c)(const void *data, size_t size);

    /* ---- JPEG; kernels/jpeg.h ---- */
    /* Decodes the next `mcus` MCUs and moves the blocks' dst on; `skip`: only past them, writing
     * nothing. False when the scan is damaged; what was written then has no meaning. */
    bool (*jpeg_mcus)(struct hr_jpeg_scan *scan, int32_t mcus);
    bool (*jpeg_skip)(struct hr_jpeg_scan *scan, int32_t mcus);
    /* The next `mcus` MCUs of a pass; moves its coefficients and masks on. False: damage. */
    bool (*jpeg_pass)(struct hr_jpeg_scan *scan, struct hr_jpeg_pass *pass, int32_t mcus);
    /* Inverse DCT of one block, and of two, whose `ones_complement` is the same. The bytes are
     * those of libjpeg-turbo's accurate integer DCT on x86-64, also where 16 bits overflow. */
    void (*jpeg_idct)(const struct hr_jpeg_coefs *block);
    void (*jpeg_idct_two)(const struct hr_jpeg_coefs *blocks);
    /* The forward DCT of one block, quantised; `coef` as in hr_jpeg_coefs. */
    void (*jpeg_fdct)(int16_t *coef, const uint8_t *src, size_t stride,
                      const struct hr_jpeg_quantiser *q);
    /* The same for n blocks next to one another, in zigzag order. Reads and writes up to
     * HR_JPEG_WIDE - 1 blocks beyond them. */
    void (*jpeg_fdct_row)(int16_t *coef, const uint8_t *src, size_t stride,
                          const struct hr_jpeg_quantiser *q, size_t n);
    /* Writes the symbols of the next `mcus` MCUs, or counts them, and moves the blocks on. */
    void (*jpeg_put)(struct hr_jpeg_sink *sink, int32_t mcus);
    void (*jpeg_count)(struct hr_jpeg_sink *sink, int32_t mcus);
    /* Upsample n samples of one row. `near` and `far` are the nearest and second-nearest input
     * rows; `below`: far is below near. h2*: src[-1] and src[n] exist. Rows are padded by
     * HR_JPEG_ROW_PAD. */
    void (*jpeg_h2v1)(uint8_t *dst, const uint8_t *src, size_t n);
    void (*jpeg_h2v2)(uint8_t *dst, const uint8_t *near, const uint8_t *far, size_t n);
    void (*jpeg_h1v2)(uint8_t *dst, const uint8_t *near, const uint8_t *far, size_t n, bool below);
    void (*jpeg_h4v1)(uint8_t *dst, const uint8_t *src, size_t n);
    /* Converts rows padded as above to exactly n interleaved pixels. */
    void (*jpeg_ycc_rgb)(uint8_t *dst, const uint8_t *y, const uint8_t *cb, const uint8_t *cr,
                         size_t n);
    void (*jpeg_interleave)(uint8_t *dst, const uint8_t *a, const uint8_t *b, const uint8_t *c,
                            size_t n);
    void (*jpeg_rgb_ycc)(uint8_t *y, uint8_t *cb, uint8_t *cr, const uint8_t *src, size_t n);
    /* n means of four samples in two rows, or of two in one, rounded down and up in turn. */
    void (*jpeg_half)(uint8_t *dst, const uint8_t *upper, const uint8_t *lower, size_t n);
    void (*jpeg_half_across)(uint8_t *dst, const uint8_t *src, size_t n);

    /* ---- planes of videos; kernels/yuv.h ---- */
    /* A row of interpolated chroma. May write HR_YUV_PAD elements beyond it. */
    void (*yuv_chroma)(int16_t *dst, const struct hr_yuv_chroma *c);
    /* Exactly n pixels. y: uint8_t, or uint16_t if there are more than 8 bits. Rows of chroma are
     * read up to HR_YUV_PAD elements beyond n. */
    void (*yuv_rgb)(uint8_t *dst, const void *y, const int16_t *u, const int16_t *v, size_t n,
                    const struct hr_yuv_colors *c);
    /* The same, of chroma as hr_yuv_down makes it. */
    void (*yuv_rgb_wide)(uint8_t *dst, const void *y, const int32_t *u, const int32_t *v, size_t n,
                         const struct hr_yuv_colors *c);
} hr_kernels;

/* The table of a level: `wanted`, or the best below it that this CPU supports; AUTO means the best.
 * HEADRACE_CPU_LEVEL (base, v3, v4) limits AUTO. Never NULL. */
const hr_kernels *hr_kernels_get(hr_cpu_level wanted);
