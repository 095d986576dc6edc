/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The marker segments that an encoder writes before the scan. */
#pragma once

#include "codecs/jpeg/encode_codes.h"

/* Of luma or a grey image (0), and of chroma (1). */
typedef struct hr_jpeg_tables {
    uint8_t quant[64];         /* in zigzag order */
    const uint8_t *huffman[2]; /* definitions: DC, AC */
} hr_jpeg_tables;

/* What they say of an image; `h`, `v`: sampling factors of luma, those of chroma are 1. */
typedef struct hr_jpeg_header {
    int32_t height, width, components;
    int32_t h, v;
    int32_t restart; /* interval in MCUs, at most 65535; 0: none */
    hr_jpeg_tables tables[2];
} hr_jpeg_header;

enum { HR_JPEG_HEADER_MAX = 2 * 69 + 4 * (5 + HR_JPEG_DEFINITION_BYTES) + 128 };

/* From SOI to SOS; returns the size, at most HR_JPEG_HEADER_MAX. */
size_t hr_jpeg_header_write(uint8_t *dst, const hr_jpeg_header *h);
