/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Encodes images as PNG files. */
#pragma once

#include "core/core.h"

/* Interleaved: grey, grey and alpha, RGB, or RGB and alpha. */
typedef struct hr_png_pixels {
    const void *pixels;
    int32_t height, width, channels;
    int32_t bits; /* of an element: 8 or 16 */
} hr_png_pixels;

/* `level`: of Deflate, 0 .. HR_DEFLATE_LEVEL_MAX. The file is in the arena. */
hr_status hr_png_encode(const hr_png_pixels *image, int32_t level, hr_arena *arena,
                        const uint8_t **file, size_t *size, hr_error *error);
