/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The blocks of a TIFF file (strips or tiles), decompressed: rows of samples as they would be
 * without compression, in the machine's byte order and without predictor. */
#pragma once

#include "codecs/tiff/directory.h"
#include "headrace/operator.h"

typedef struct hr_tiff_blocks {
    const hr_tiff *t;
    hr_op_call *c;
    size_t row_size; /* bytes of a row */
    uint8_t *memory; /* of `slots` blocks; NULL if the file's bytes need no work */
    size_t slot_size;
    uint8_t *row; /* scratch of the floating-point predictor */
} hr_tiff_blocks;

/* For blocks of at most `rows` rows, of which `slots` are kept at a time. */
hr_status hr_tiff_blocks_init(hr_tiff_blocks *b, const hr_tiff *t, uint64_t rows, uint32_t slots,
                              hr_op_call *c, hr_error *error);
/* The first `rows` rows of block i, in memory of the slot or of the file. */
hr_status hr_tiff_blocks_read(hr_tiff_blocks *b, uint64_t i, uint32_t slot, uint32_t rows,
                              const uint8_t **pixels, hr_error *error);
/* The most bytes that a byte of a block can become. */
uint64_t hr_tiff_largest_ratio(const hr_tiff *t);
