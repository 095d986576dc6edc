/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* encoders.jpeg on a GPU: its two parts, and the memory that they share. The first part,
 * `_jpeg_scan`, transforms the image and finds out where the bits of each block go; so the size is
 * known. The second one, `_jpeg_file`, writes the file. */
#pragma once

#include "codecs/jpeg/best_codes.h"
#include "headrace/operator.h"

/* Blocks in the order of the scan. */
typedef struct hr_jpeg_grid {
    int32_t height, width, components;
    int32_t h, v;         /* chroma has 1 / h of the width and 1 / v of the height */
    int32_t across, down; /* MCUs */
    int32_t mcu;          /* blocks of one */
    int64_t blocks;
    int64_t interval; /* blocks from one restart marker to the next, at most */
    int64_t intervals;
} hr_jpeg_grid;

/* What the header of the file says. */
typedef struct hr_jpeg_scan_head {
    int32_t height, width, components;
    int32_t h, v, quality, restart_rows, reserved;
} hr_jpeg_scan_head;

/* What is known of an image when the first part is done; in host memory. */
typedef struct hr_jpeg_scan_info {
    int64_t size; /* of the scan, with its markers */
    hr_jpeg_scan_head head;
    uint8_t definitions[2][2][HR_JPEG_DEFINITION_BYTES]; /* luma, chroma; DC, AC */
} hr_jpeg_scan_info;

/* For the kernels. */
typedef struct hr_jpeg_scan_tables {
    hr_jpeg_quantiser quantiser[2];
    uint8_t natural[64];                           /* by zigzag index */
    uint8_t usual[2][2][HR_JPEG_DEFINITION_BYTES]; /* definitions */
} hr_jpeg_scan_tables;

/* The memory that the first part leaves to the second one, as offsets. */
typedef struct hr_jpeg_left {
    size_t coef;     /* int16_t[64]: of each block, in zigzag order */
    size_t bit;      /* int64_t: of each block, where its bits begin in its interval */
    size_t stuffed;  /* int64_t: of each block, the zeros put in before its first byte */
    size_t interval; /* int64_t: of each interval, where it begins in the scan */
    size_t count;    /* uint64_t[2][2][256]: how often each symbol occurs */
    size_t codes;    /* hr_jpeg_codes[2][2] */
    size_t size;     /* a multiple of 256: samples may follow one another */
} hr_jpeg_left;

/* `memo` of the parts. */
typedef struct hr_jpeg_scan_memo {
    hr_jpeg_grid grid;
    hr_jpeg_left work;
    hr_jpeg_scan_head head;
    const hr_jpeg_scan_tables *tables; /* on the device */
    bool optimize;
} hr_jpeg_scan_memo;

typedef struct hr_jpeg_file_memo {
    hr_jpeg_grid grid;
    hr_jpeg_left work;
    int64_t size;          /* of the file */
    const uint8_t *header; /* on the device */
    int32_t header_size;
} hr_jpeg_file_memo;
