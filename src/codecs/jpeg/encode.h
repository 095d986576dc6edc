/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Encodes images as baseline JPEG files (JFIF). The bytes are those of libjpeg-turbo with the
 * accurate integer DCT. */
#pragma once

#include "codecs/jpeg/encode_header.h"
#include "core/core.h"
#include "kernels/kernels.h"

enum { HR_JPEG_SIDE_MAX = 65500 }; /* that libjpeg reads */

/* Interleaved: red, green and blue, or grey. */
typedef struct hr_jpeg_pixels {
    const uint8_t *pixels;
    int32_t height, width, components; /* components: 1 or 3 */
} hr_jpeg_pixels;

typedef struct hr_jpeg_encoding {
    int32_t quality;      /* 1 .. 100 */
    int32_t h, v;         /* chroma has 1 / h of the width and 1 / v of the height: 1 or 2 */
    int32_t restart_rows; /* MCU rows between restart markers; 0: none */
    bool optimize;        /* Huffman tables for this image */
} hr_jpeg_encoding;

/* A row of MCUs in the scan, before bytes are stuffed. */
typedef struct hr_jpeg_piece {
    const uint8_t *bytes;
    size_t size;
} hr_jpeg_piece;

typedef struct hr_jpeg_encoded {
    size_t size; /* of the file */
    int32_t rows, restart_rows;
    hr_jpeg_piece *row;
    size_t header_size;
    uint8_t header[HR_JPEG_HEADER_MAX];
} hr_jpeg_encoded;

/* All but the Huffman tables. The restart interval must fit the format. */
hr_status hr_jpeg_header_make(hr_jpeg_header *head, const hr_jpeg_pixels *image,
                              const hr_jpeg_encoding *how, hr_error *error);
/* Encodes all but the file, which hr_jpeg_encoded_write writes: by then the size is known. */
hr_status hr_jpeg_encode(const hr_jpeg_pixels *image, const hr_jpeg_encoding *how,
                         const hr_kernels *kernels, hr_arena *arena, hr_jpeg_encoded **out,
                         hr_error *error);
/* Writes encoded->size bytes. */
void hr_jpeg_encoded_write(uint8_t *dst, const hr_jpeg_encoded *encoded);
