/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Lossless JPEG (SOF3): differences from a prediction, Huffman-coded, of 2 to 16 bits per sample.
 * libjpeg-turbo reads these files only from version 3 on. */
#pragma once

#include "codecs/codec.h"

/* Decodes the window to u8, or to u16 if info->bits is 16. A file that is damaged is an error. */
hr_status hr_jpeg_lossless_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                                  const hr_codec_request *request, hr_arena *arena,
                                  hr_error *error);
