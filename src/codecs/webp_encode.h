/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Encodes images as WebP files, through libwebp. */
#pragma once

#include "core/core.h"

enum { HR_WEBP_SIDE_MAX = 16383 };

typedef struct hr_webp_encoding {
    float quality;  /* 0 .. 100; of a lossless file, how much effort is made */
    int32_t method; /* 0 .. 6: fast .. small */
    bool lossless;
} hr_webp_encoding;

/* RGB, or with alpha RGBA. The file is in the arena. */
hr_status hr_webp_encode(const uint8_t *pixels, int32_t height, int32_t width, bool alpha,
                         const hr_webp_encoding *how, hr_arena *arena, const uint8_t **file,
                         size_t *size, hr_error *error);
