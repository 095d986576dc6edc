/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shared by the files that are compiled once per CPU level. HR_LEVELED(hr__x) is hr__x_base,
 * hr__x_v3 or hr__x_v4, so that all levels can be linked into one library. Only table.c refers to
 * the functions below. */
#pragma once

#include "kernels/kernels.h"

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)
#include <immintrin.h>
#endif

#define HR_LEVEL_PASTE(name, level) name##_##level
#define HR_LEVEL_JOIN(name, level) HR_LEVEL_PASTE(name, level)
#define HR_LEVELED(name) HR_LEVEL_JOIN(name, HR_LEVEL)

/* resample_u8.c */
void HR_LEVELED(hr__vfilter_u8)(int16_t *dst, const uint8_t *const *rows, const int16_t *coef,
                                int32_t taps, size_t n);
size_t HR_LEVELED(hr__hfilter_table_size)(const hr_filter_fix *f, int32_t channels);
void HR_LEVELED(hr__hfilter_table)(void *table, const hr_filter_fix *f, int32_t channels);
void HR_LEVELED(hr__hfilter_u8)(uint8_t *dst, const int16_t *src, const hr_filter_fix *f,
                                int32_t channels);

/* resample_f32.c */
void HR_LEVELED(hr__vfilter_f32)(float *dst, const float *const *rows, const float *coef,
                                 int32_t taps, size_t n);
void HR_LEVELED(hr__vfilter_two_f32)(float *const *dst, const float *const *rows,
                                     const float *const *coef, int32_t taps, size_t n);
void HR_LEVELED(hr__hfilter_f32)(float *dst, const float *add, const float *src,
                                 const hr_filter_float *f, int32_t channels);

/* convert.c */
void HR_LEVELED(hr__u8_to_f32)(float *dst, const uint8_t *src, size_t n);
void HR_LEVELED(hr__i16_to_f32)(float *dst, const int16_t *src, size_t n);
void HR_LEVELED(hr__u16_to_f32)(float *dst, const uint16_t *src, size_t n);
void HR_LEVELED(hr__f32_to_u8)(uint8_t *dst, const float *src, size_t n);
void HR_LEVELED(hr__f32_to_f16)(uint16_t *dst, const float *src, size_t n);
void HR_LEVELED(hr__f16_to_f32)(float *dst, const uint16_t *src, size_t n);
void HR_LEVELED(hr__mirror_u8)(uint8_t *dst, const uint8_t *src, size_t n, int32_t channels);

/* gather_positions.c */
void HR_LEVELED(hr__gather_positions)(float *x, float *y, size_t stride, int32_t rows,
                                      const struct hr_map *map, const int64_t *first, int64_t n);

/* gather.c */
void HR_LEVELED(hr__gather_row)(const struct hr_gather_row *r, float *line, void *dst);

/* remap.c */
void HR_LEVELED(hr__remap_row)(void *dst, const struct hr_remap *r, const float *x, const float *y,
                               size_t n);
void HR_LEVELED(hr__given_row)(float *dst, const float *given, size_t n, float shift, bool nearest);
void HR_LEVELED(hr__perspective_row)(float *x, float *y, const float *m, int32_t row, size_t n);

/* points.c */
void HR_LEVELED(hr__matrix_u8)(uint8_t *dst, const uint8_t *src, size_t n, const hr_matrix *m);
void HR_LEVELED(hr__matrix_f32)(float *dst, const float *src, size_t n, const hr_matrix *m);
void HR_LEVELED(hr__affine_u8)(uint8_t *dst, const uint8_t *src, size_t n, float mul, float add);
void HR_LEVELED(hr__affine_f32)(float *dst, const float *src, size_t n, float mul, float add);
void HR_LEVELED(hr__table_u8)(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *table);

/* normalize.c */
void HR_LEVELED(hr__norm_u8_chw_f32)(float *dst, size_t plane, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror);
void HR_LEVELED(hr__norm_u8_chw_f16)(uint16_t *dst, size_t plane, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror);
void HR_LEVELED(hr__norm_u8_hwc_f32)(float *dst, int32_t out_channels, const uint8_t *src, size_t n,
                                     int32_t channels, const float *mean, const float *mul,
                                     int mirror);

/* math.c */
void HR_LEVELED(hr__sqrt_f32)(float *dst, const float *src, size_t n);
void HR_LEVELED(hr__exp_f32)(float *dst, const float *src, size_t n);
void HR_LEVELED(hr__log_f32)(float *dst, const float *src, size_t n, double base);
bool HR_LEVELED(hr__short_f32)(int function, float *dst, const float *x, const float *y, size_t n);

/* noise.c */
void HR_LEVELED(hr__random_tile)(uint32_t *bits, const struct hr_rng *rng, uint64_t block);
void HR_LEVELED(hr__normal_tile)(float *noise, const uint32_t *bits);
void HR_LEVELED(hr__add_noise_u8)(uint8_t *dst, const uint8_t *src, const float *noise, size_t n,
                                  float mean, float stddev);

/* reduce.c */
extern const hr_reduce_table HR_LEVELED(hr__reduce);

/* debayer.c, debayer_vng.c */
void HR_LEVELED(hr__debayer_row)(const struct hr_debayer_row *r);
void HR_LEVELED(hr__vng_load)(const struct hr_vng_line *line, const uint8_t *src, size_t n);
void HR_LEVELED(hr__vng_row)(const struct hr_vng *v);

/* window.c */
void HR_LEVELED(hr__extremes)(void *dst, const void *a, const void *b, size_t n, size_t size,
                              bool max);
void HR_LEVELED(hr__median)(void *dst, const void *const *rows, int32_t row_count, int32_t columns,
                            size_t step, size_t n, size_t size);

/* clahe.c */
void HR_LEVELED(hr__lab_of_rgb)(const struct hr_lab_tables *t, const uint8_t *src, uint8_t *l,
                                uint8_t *a, uint8_t *b, size_t n);
void HR_LEVELED(hr__lab_to_rgb)(const struct hr_lab_tables *t, uint8_t *const rgb[3],
                                const uint8_t *const lab[3], size_t n);
void HR_LEVELED(hr__blend_tables)(uint8_t *dst, const uint8_t *src, size_t n, const uint32_t *quads,
                                  const float *right, float down);

/* sound.c */
void HR_LEVELED(hr__sound_16)(float *dst, const uint8_t *src, size_t n);
void HR_LEVELED(hr__sound_32)(float *dst, const uint8_t *src, size_t n);

/* hash.c */
hr_hash HR_LEVELED(hr__hash)(const hr_hash_key *key, const void *data, size_t size);
hr_hash HR_LEVELED(hr__hash_copy)(const hr_hash_key *key, const void *data, size_t size, void *to);

/* crc32c.c */
uint32_t HR_LEVELED(hr__crc32c)(const void *data, size_t size);

/* jpeg_entropy.c */
bool HR_LEVELED(hr__jpeg_mcus)(struct hr_jpeg_scan *scan, int32_t mcus);
bool HR_LEVELED(hr__jpeg_skip)(struct hr_jpeg_scan *scan, int32_t mcus);

/* fft.c */
void HR_LEVELED(hr__fft_pass)(float *dst, const float *src, const struct hr_fft_pass *p);
void HR_LEVELED(hr__fft_load)(float *dst, size_t row, const float *const *signals,
                              const float *window, size_t n);
void HR_LEVELED(hr__fft_multiply)(float *dst, const float *src, const float *factors, size_t n,
                                  bool conjugate);
void HR_LEVELED(hr__fft_norms)(float *dst, const float *src, size_t n, int32_t result);
void HR_LEVELED(hr__fft_real_norms)(float *dst, const float *src, const float *turns, size_t half,
                                    int32_t result);

/* dot.c */
float HR_LEVELED(hr__dot_f32)(const float *a, const float *b, size_t n);

/* sinc.c */
void HR_LEVELED(hr__sinc)(float *dst, size_t stride, const struct hr_sinc_filter *f,
                          const struct hr_sinc_signal *in, int64_t count);

/* hue.c */
void HR_LEVELED(hr__turn_hue)(uint8_t *pixels, size_t n, int32_t turn);
void HR_LEVELED(hr__saturate)(uint8_t *pixels, size_t n, float factor);

/* jpeg_progressive.c */
bool HR_LEVELED(hr__jpeg_pass)(struct hr_jpeg_scan *scan, struct hr_jpeg_pass *pass, int32_t mcus);

/* jpeg_idct.c */
void HR_LEVELED(hr__jpeg_idct)(const struct hr_jpeg_coefs *block);
void HR_LEVELED(hr__jpeg_idct_two)(const struct hr_jpeg_coefs *blocks);

/* jpeg_rows.c */
void HR_LEVELED(hr__jpeg_h2v1)(uint8_t *dst, const uint8_t *src, size_t n);
void HR_LEVELED(hr__jpeg_h2v2)(uint8_t *dst, const uint8_t *near, const uint8_t *far, size_t n);
void HR_LEVELED(hr__jpeg_h1v2)(uint8_t *dst, const uint8_t *near, const uint8_t *far, size_t n,
                               bool below);
void HR_LEVELED(hr__jpeg_h4v1)(uint8_t *dst, const uint8_t *src, size_t n);
void HR_LEVELED(hr__jpeg_ycc_rgb)(uint8_t *dst, const uint8_t *y, const uint8_t *cb,
                                  const uint8_t *cr, size_t n);
void HR_LEVELED(hr__jpeg_interleave)(uint8_t *dst, const uint8_t *a, const uint8_t *b,
                                     const uint8_t *c, size_t n);

/* jpeg_forward.c */
void HR_LEVELED(hr__jpeg_fdct)(int16_t *coef, const uint8_t *src, size_t stride,
                               const struct hr_jpeg_quantiser *q);
void HR_LEVELED(hr__jpeg_fdct_row)(int16_t *coef, const uint8_t *src, size_t stride,
                                   const struct hr_jpeg_quantiser *q, size_t n);

/* jpeg_forward_rows.c */
void HR_LEVELED(hr__jpeg_rgb_ycc)(uint8_t *y, uint8_t *cb, uint8_t *cr, const uint8_t *src,
                                  size_t n);
void HR_LEVELED(hr__jpeg_half)(uint8_t *dst, const uint8_t *upper, const uint8_t *lower, size_t n);
void HR_LEVELED(hr__jpeg_half_across)(uint8_t *dst, const uint8_t *src, size_t n);

/* jpeg_symbols.c */
void HR_LEVELED(hr__jpeg_put)(struct hr_jpeg_sink *sink, int32_t mcus);
void HR_LEVELED(hr__jpeg_count)(struct hr_jpeg_sink *sink, int32_t mcus);

/* yuv.c */
void HR_LEVELED(hr__yuv_chroma)(int16_t *dst, const struct hr_yuv_chroma *c);
void HR_LEVELED(hr__yuv_rgb)(uint8_t *dst, const void *y, const int16_t *u, const int16_t *v,
                             size_t n, const struct hr_yuv_colors *c);
void HR_LEVELED(hr__yuv_rgb_wide)(uint8_t *dst, const void *y, const int32_t *u, const int32_t *v,
                                  size_t n, const struct hr_yuv_colors *c);

extern const hr_kernels hr__kernels_base, hr__kernels_v3, hr__kernels_v4;
