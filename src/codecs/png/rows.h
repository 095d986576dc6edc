/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The pixels of the usual PNG files at once: IDAT chunks, Deflate, filters. */
#pragma once

#include "codecs/codec.h"

typedef struct hr_png_form {
    int32_t channels, bits; /* as stored; bits: 8 or 16 of each */
    const uint8_t *palette; /* 256 colours of 3 bytes, for one channel; or NULL */
} hr_png_form;

/* Decodes the window of an image that is not interlaced. `bytes` begins with its first IDAT chunk.
 * False if it takes another decoder to do that or to say what is wrong, or if the image is larger
 * than what should be in memory at once; then the request's pixels have no meaning. */
bool hr_png_rows(const uint8_t *bytes, size_t size, const hr_png_form *form,
                 const hr_image_info *info, const hr_codec_request *request, hr_arena *arena);
