/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The table of one CPU level. */
#include "kernels/level.h"

#define LEVEL_TEXT(level) LEVEL_TEXT_OF(level)
#define LEVEL_TEXT_OF(level) #level

#if defined(HR_LEVEL_v4)
#define LEVEL_NUMBER HR_CPU_LEVEL_V4
#elif defined(HR_LEVEL_v3)
#define LEVEL_NUMBER HR_CPU_LEVEL_V3
#else
#define LEVEL_NUMBER HR_CPU_LEVEL_BASE
#endif

const hr_kernels HR_LEVELED(hr__kernels) = {
    .level = LEVEL_NUMBER,
    .name = LEVEL_TEXT(HR_LEVEL),
    .vfilter_u8 = HR_LEVELED(hr__vfilter_u8),
    .hfilter_table_size = HR_LEVELED(hr__hfilter_table_size),
    .hfilter_table = HR_LEVELED(hr__hfilter_table),
    .hfilter_u8 = HR_LEVELED(hr__hfilter_u8),
    .vfilter_f32 = HR_LEVELED(hr__vfilter_f32),
    .vfilter_two_f32 = HR_LEVELED(hr__vfilter_two_f32),
    .hfilter_f32 = HR_LEVELED(hr__hfilter_f32),
    .u8_to_f32 = HR_LEVELED(hr__u8_to_f32),
    .i16_to_f32 = HR_LEVELED(hr__i16_to_f32),
    .u16_to_f32 = HR_LEVELED(hr__u16_to_f32),
    .gather_positions = HR_LEVELED(hr__gather_positions),
    .gather_row = HR_LEVELED(hr__gather_row),
    .remap_row = HR_LEVELED(hr__remap_row),
    .given_row = HR_LEVELED(hr__given_row),
    .perspective_row = HR_LEVELED(hr__perspective_row),
    .matrix_u8 = HR_LEVELED(hr__matrix_u8),
    .matrix_f32 = HR_LEVELED(hr__matrix_f32),
    .affine_u8 = HR_LEVELED(hr__affine_u8),
    .affine_f32 = HR_LEVELED(hr__affine_f32),
    .table_u8 = HR_LEVELED(hr__table_u8),
    .norm_u8_chw_f32 = HR_LEVELED(hr__norm_u8_chw_f32),
    .norm_u8_chw_f16 = HR_LEVELED(hr__norm_u8_chw_f16),
    .norm_u8_hwc_f32 = HR_LEVELED(hr__norm_u8_hwc_f32),
    .f32_to_u8 = HR_LEVELED(hr__f32_to_u8),
    .f32_to_f16 = HR_LEVELED(hr__f32_to_f16),
    .f16_to_f32 = HR_LEVELED(hr__f16_to_f32),
    .mirror_u8 = HR_LEVELED(hr__mirror_u8),
    .sqrt_f32 = HR_LEVELED(hr__sqrt_f32),
    .exp_f32 = HR_LEVELED(hr__exp_f32),
    .log_f32 = HR_LEVELED(hr__log_f32),
    .short_f32 = HR_LEVELED(hr__short_f32),
    .random_tile = HR_LEVELED(hr__random_tile),
    .normal_tile = HR_LEVELED(hr__normal_tile),
    .add_noise_u8 = HR_LEVELED(hr__add_noise_u8),
    .debayer_row = HR_LEVELED(hr__debayer_row),
    .vng_load = HR_LEVELED(hr__vng_load),
    .vng_row = HR_LEVELED(hr__vng_row),
    .extremes = HR_LEVELED(hr__extremes),
    .median = HR_LEVELED(hr__median),
    .lab_of_rgb = HR_LEVELED(hr__lab_of_rgb),
    .lab_to_rgb = HR_LEVELED(hr__lab_to_rgb),
    .turn_hue = HR_LEVELED(hr__turn_hue),
    .saturate = HR_LEVELED(hr__saturate),
    .blend_tables = HR_LEVELED(hr__blend_tables),
    .reduce = &HR_LEVELED(hr__reduce),
    .fft_pass = HR_LEVELED(hr__fft_pass),
    .fft_load = HR_LEVELED(hr__fft_load),
    .fft_multiply = HR_LEVELED(hr__fft_multiply),
    .fft_norms = HR_LEVELED(hr__fft_norms),
    .fft_real_norms = HR_LEVELED(hr__fft_real_norms),
    .dot_f32 = HR_LEVELED(hr__dot_f32),
    .sinc = HR_LEVELED(hr__sinc),
    .sound_16 = HR_LEVELED(hr__sound_16),
    .sound_32 = HR_LEVELED(hr__sound_32),
    .hash = HR_LEVELED(hr__hash),
    .hash_copy = HR_LEVELED(hr__hash_copy),
    .crc32c = HR_LEVELED(hr__crc32c),
    .jpeg_mcus = HR_LEVELED(hr__jpeg_mcus),
    .jpeg_skip = HR_LEVELED(hr__jpeg_skip),
    .jpeg_pass = HR_LEVELED(hr__jpeg_pass),
    .jpeg_idct = HR_LEVELED(hr__jpeg_idct),
    .jpeg_idct_two = HR_LEVELED(hr__jpeg_idct_two),
    .jpeg_h2v1 = HR_LEVELED(hr__jpeg_h2v1),
    .jpeg_h2v2 = HR_LEVELED(hr__jpeg_h2v2),
    .jpeg_h1v2 = HR_LEVELED(hr__jpeg_h1v2),
    .jpeg_h4v1 = HR_LEVELED(hr__jpeg_h4v1),
    .jpeg_ycc_rgb = HR_LEVELED(hr__jpeg_ycc_rgb),
    .jpeg_interleave = HR_LEVELED(hr__jpeg_interleave),
    .jpeg_fdct = HR_LEVELED(hr__jpeg_fdct),
    .jpeg_rgb_ycc = HR_LEVELED(hr__jpeg_rgb_ycc),
    .jpeg_half = HR_LEVELED(hr__jpeg_half),
    .yuv_chroma = HR_LEVELED(hr__yuv_chroma),
    .yuv_rgb = HR_LEVELED(hr__yuv_rgb),
    .yuv_rgb_wide = HR_LEVELED(hr__yuv_rgb_wide),
};
