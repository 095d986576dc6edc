/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Images in FITS files: uncompressed ones, and those in tables of tiles that are compressed with
 * RICE_1 or GZIP_1. header.c reads cards, image.c pixels; only fits.c knows arguments and outputs.
 */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

#define HR_FITS_AXES 64
#define HR_FITS_COLUMNS 64

typedef struct hr_fits_column {
    bool tiles;     /* COMPRESSED_DATA */
    char type;      /* the letter of TFORM; 0: unknown */
    int64_t repeat; /* the number before it */
    char element;   /* of P and Q */
} hr_fits_column;

/* What a header says: a header-data unit. Names are those of the keywords. */
typedef struct hr_fits_hdu {
    int64_t bitpix, naxis, axis[HR_FITS_AXES], pcount, gcount, theap, tfields;
    double bzero, bscale;
    bool groups, zimage, table, image;
    int64_t zbitpix, znaxis, zaxis[HR_FITS_AXES], ztile[HR_FITS_AXES];
    char zcmptype[16];
    int64_t zname[2], zval[2]; /* numbers of BLOCKSIZE and BYTEPIX among ZNAMEi; ZVALi */
    hr_fits_column column[HR_FITS_COLUMNS];
    size_t data, size; /* of the data in the file, without padding */
    /* of the array that is delivered: */
    hr_dtype dtype;
    hr_shape shape;
    bool flip;  /* the top bit is inverted: unsigned numbers, or signed bytes */
    bool scale; /* elements become bzero + bscale * stored */
} hr_fits_hdu;

/* Bytes of an element; 0: it is not a value of BITPIX. */
static inline size_t hr_fits_element(int64_t bitpix)
{
    switch (bitpix) {
    case 8:
        return 1;
    case 16:
        return 2;
    case 32:
    case -32:
        return 4;
    case 64:
    case -64:
        return 8;
    default:
        return 0;
    }
}

/* Finds the HDU of this number, from 1, and describes its array. Errors name the byte. */
hr_status hr_fits_find(const uint8_t *file, size_t size, int32_t number, hr_fits_hdu *out,
                       hr_error *error);
/* Reads the array that hr_fits_find described. Scratch memory comes from the arena. */
hr_status hr_fits_read(const uint8_t *file, const hr_fits_hdu *hdu, void *out, hr_arena *arena,
                       hr_error *error);

/* Pixels of `bytes` (1, 2 or 4) each that RICE_1 compressed in blocks of `block`; they are 32-bit
 * numbers modulo 2^(8 bytes). false: the data is damaged. */
bool hr_fits_rice(const uint8_t *data, size_t size, int32_t bytes, int32_t block, uint32_t *out,
                  size_t count);
