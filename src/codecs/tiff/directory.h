/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* An image directory of a TIFF or BigTIFF file. Names are those of the TIFF 6.0 standard. */
#pragma once

#include "headrace/headrace.h"

typedef enum hr_tiff_compression {
    HR_TIFF_COMPRESSION_NONE = 1,
    HR_TIFF_COMPRESSION_FAX_RLE = 2, /* CCITT: rows that begin with a byte, in one dimension */
    HR_TIFF_COMPRESSION_FAX_3 = 3,
    HR_TIFF_COMPRESSION_FAX_4 = 4,
    HR_TIFF_COMPRESSION_LZW = 5,
    HR_TIFF_COMPRESSION_JPEG = 7,
    HR_TIFF_COMPRESSION_DEFLATE = 8,
    HR_TIFF_COMPRESSION_OLD_DEFLATE = 32946, /* the same with an older number */
    HR_TIFF_COMPRESSION_PACKBITS = 32773,
    HR_TIFF_COMPRESSION_ZSTD = 50000
} hr_tiff_compression;

typedef enum hr_tiff_photometric {
    HR_TIFF_PHOTOMETRIC_WHITE_IS_ZERO,
    HR_TIFF_PHOTOMETRIC_BLACK_IS_ZERO,
    HR_TIFF_PHOTOMETRIC_RGB,
    HR_TIFF_PHOTOMETRIC_PALETTE,
    HR_TIFF_PHOTOMETRIC_CMYK = 5,
    HR_TIFF_PHOTOMETRIC_YCBCR
} hr_tiff_photometric;

typedef enum hr_tiff_format {
    HR_TIFF_FORMAT_UINT = 1,
    HR_TIFF_FORMAT_INT,
    HR_TIFF_FORMAT_FLOAT,
    HR_TIFF_FORMAT_UNDEFINED
} hr_tiff_format;

/* The values of a field, which lie in the file. */
typedef struct hr_tiff_values {
    const uint8_t *first;
    uint64_t count; /* 0: the field is absent */
    uint32_t size;  /* bytes per value: 1, 2, 4 or 8 */
} hr_tiff_values;

typedef struct hr_tiff {
    const uint8_t *bytes;
    size_t size;
    bool big_endian;
    uint32_t width, height, bits, samples; /* bits per sample, samples per pixel */
    uint32_t compression, predictor, orientation;
    hr_tiff_photometric photometric; /* of decompressed samples: JPEG blocks are RGB or grey */
    hr_tiff_format format;
    uint32_t fax_options;
    uint32_t extra;                /* of the samples: how many are not colours */
    uint32_t stored;               /* samples per pixel of a decompressed block */
    bool reversed;                 /* the first pixel is in the lowest bit of a byte */
    bool planar;                   /* one sample per block */
    bool inks, luma;               /* JPEG blocks of CMYK, or YCbCr, which become RGB */
    bool tiled;                    /* else blocks are strips */
    uint32_t block_w, block_h;     /* of a tile, or of a strip (the last one may have fewer rows) */
    uint32_t across, down;         /* blocks of a plane */
    hr_tiff_values offset, length; /* of the blocks; planes follow one another */
    hr_tiff_values palette;        /* all reds, all greens, all blues; 16 bits each */
    hr_tiff_values tables;         /* of JPEG blocks */
    hr_tiff_values description;    /* text */
} hr_tiff;

bool hr_tiff_match(const uint8_t *bytes, size_t size);
/* Directory `page` of the chain, from 0. Fails for files that are damaged, and for those that this
 * reader does not support. */
hr_status hr_tiff_open(hr_tiff *t, const uint8_t *bytes, size_t size, int32_t page,
                       hr_error *error);
/* The directories of the chain, up to one that is damaged. */
typedef struct hr_tiff_pages {
    int32_t count;
    int32_t others; /* pages of their own, apart from the first: not smaller copies or masks */
} hr_tiff_pages;
hr_tiff_pages hr_tiff_count(const uint8_t *bytes, size_t size);
/* Value i < v->count of a field. */
uint64_t hr_tiff_value(const hr_tiff *t, const hr_tiff_values *v, uint64_t i);
/* The bytes of block i; fails if they are not in the file. */
hr_status hr_tiff_block(const hr_tiff *t, uint64_t i, const uint8_t **bytes, size_t *size,
                        hr_error *error);
/* Bytes of a row of a block. */
size_t hr_tiff_row_size(const hr_tiff *t);
