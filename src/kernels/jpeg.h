/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the JPEG kernels and the decoder over them (codecs/jpeg) share: the order of coefficients,
 * the Huffman tables and the state of a scan. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The position of a coefficient or quantiser in memory, in the order that the inverse DCT of v3
 * loads: rows 0 and 4, then rows 1 and 7, 5 and 3, 2 and 6 interleaved. */
#define HR_JPEG_POSITION(row, col)                                                                 \
    ((row) == 0   ? (col)                                                                          \
     : (row) == 4 ? 8 + (col)                                                                      \
     : (row) == 1 ? 16 + 2 * (col)                                                                 \
     : (row) == 7 ? 17 + 2 * (col)                                                                 \
     : (row) == 5 ? 32 + 2 * (col)                                                                 \
     : (row) == 3 ? 33 + 2 * (col)                                                                 \
     : (row) == 2 ? 48 + 2 * (col)                                                                 \
                  : 49 + 2 * (col))

enum {
    HR_JPEG_FAST_BITS = 10,  /* index bits of the fast tables */
    HR_JPEG_LOOKUPS = 2,     /* in the AC table between two refills of 56 bits; each takes */
    HR_JPEG_TOTAL_MAX = 18,  /* at most this many bits, so that the index of a third is available */
    HR_JPEG_RUN_END = 128,   /* added to the zigzag index by EOB ... */
    HR_JPEG_RUN_SLOW = 192,  /* ... and by symbols that are not in the fast table */
    HR_JPEG_BLOCKS_MAX = 6,  /* per MCU, in the samplings that we decode */
    HR_JPEG_INPUT_PAD = 512, /* bytes after the scan that may be read: more than one block has */
    HR_JPEG_MARK_BYTES = 512,
    HR_JPEG_ROW_PAD = 64, /* samples before and after a row that row kernels may read or write */
    HR_JPEG_BLOCK_BYTES = 212, /* 27 bits for DC, 16 + 10 for each of 63 AC */
    HR_JPEG_SINK_PAD = 8,
    HR_JPEG_WIDE = 2 /* blocks that are transformed together, at most */
};

/* A Huffman table. An entry of `fast` holds, from the lowest byte: bits of code and value together;
 * advance of the zigzag index (1 .. 16, HR_JPEG_RUN_END, HR_JPEG_RUN_SLOW); bits of the code; bits
 * of the value. In the AC tables of progressive scans, HR_JPEG_RUN_END is an EOB run (EOBn), whose
 * n bits follow, and ZRL is an advance of 16 without a value. */
typedef struct hr_jpeg_huffman {
    uint32_t fast[1 << HR_JPEG_FAST_BITS];
    uint32_t limit[18]; /* first 16-bit window above the codes of this length; [17]: above all */
    int32_t offset[17]; /* of a code of this length to its symbol */
    uint8_t symbols[256];
    /* AC only: one or two symbols. From the lowest byte: bits of both; advance of both; where the
     * second value begins; minus its bits; where the first value begins; minus its bits; bits of
     * the first; its advance. A missing second symbol advances by 0, and its value has no meaning.
     */
    uint64_t pair[1 << HR_JPEG_FAST_BITS];
} hr_jpeg_huffman;

/* The input and output of the inverse DCT of one block. */
typedef struct hr_jpeg_coefs {
    uint8_t *dst;
    size_t stride;               /* bytes between rows of samples */
    const int16_t *coef, *quant; /* in the order of HR_JPEG_POSITION, aligned to 64 bytes */
    int32_t last;                /* index in zigzag order after which all are zero */
    bool ones_complement;        /* negative values, except DC, are in ones' complement: v - 1 */
} hr_jpeg_coefs;

/* A table of quantisers q for the forward DCT, in natural order; see hr_jpeg_quantised. */
typedef struct hr_jpeg_quantiser {
    uint16_t half[64], factor[64], scale[64];
} hr_jpeg_quantiser;

/* A Huffman table for encoding: by symbol, the code with room below it for the bits of the value,
 * and the number of both. */
typedef struct hr_jpeg_code {
    uint32_t code, bits;
} hr_jpeg_code;
typedef struct hr_jpeg_codes {
    hr_jpeg_code of[256];
} hr_jpeg_codes;

/* Blocks that are encoded: of an MCU, and those at the same place of the MCUs after it. */
typedef struct hr_jpeg_coded {
    const hr_jpeg_codes *dc, *ac;
    uint64_t *dc_count, *ac_count; /* of symbols, if they are only counted */
    int32_t component;
    const int16_t *coef; /* of the next MCU, in zigzag order */
    size_t step;         /* elements to the next block at this place */
} hr_jpeg_coded;

/* A position in a scan that is written, before bytes are stuffed. The lowest `count` bits of
 * `window`, fewer than 8, have not been written. */
typedef struct hr_jpeg_sink {
    uint8_t *next; /* HR_JPEG_BLOCK_BYTES per block, and HR_JPEG_SINK_PAD, can be written */
    uint64_t window;
    uint32_t count;
    int32_t predicted[3]; /* DC prediction of each component */
    int32_t blocks;
    hr_jpeg_coded block[HR_JPEG_BLOCKS_MAX];
} hr_jpeg_sink;

/* One block of an MCU. */
typedef struct hr_jpeg_block {
    const hr_jpeg_huffman *dc, *ac;
    const int16_t *quant; /* in the order of HR_JPEG_POSITION */
    int32_t component;
    uint8_t *dst;  /* samples of the next MCU; NULL: not needed */
    size_t step;   /* bytes to the same block of the MCU after it */
    size_t stride; /* bytes between rows of samples */
} hr_jpeg_block;

/* The start of an MCU, noted while decoding. */
typedef struct hr_jpeg_mark {
    const uint8_t *next; /* as in hr_jpeg_scan */
    uint32_t count;
    int32_t mcu;
    int32_t predicted[3];
} hr_jpeg_mark;

/* A position in an unstuffed scan. `window` holds `count` bits, the next one on top; all bytes
 * before `next` count as read. */
typedef struct hr_jpeg_scan {
    const uint8_t *next, *end; /* HR_JPEG_INPUT_PAD bytes behind the end can be read */
    uint64_t window, count;
    int32_t predicted[3]; /* DC prediction of each component */
    int32_t mcu;          /* the number of the next one */
    /* A mark is written at the first MCU that begins at or after `due`; the next one is due
     * HR_JPEG_MARK_BYTES later. NULL: never. */
    const uint8_t *due;
    hr_jpeg_mark *mark;
    int32_t marks; /* written */
    int32_t blocks;
    hr_jpeg_block block[HR_JPEG_BLOCKS_MAX];
} hr_jpeg_scan;

/* The state of a progressive scan (a pass), the first of its coefficients or a refinement. Scans of
 * several components contain only DC. */
typedef struct hr_jpeg_pass {
    int32_t first, last; /* Ss, Se; 0, 0: DC */
    int32_t low;         /* Al: the lowest bit that the scan contains */
    bool refine;
    uint32_t ended; /* EOBRUN: blocks left in the EOB run */
    uint64_t *mask; /* AC, per block: nonzero coefficients by zigzag index, less 1 */
    int32_t blocks; /* in an MCU */
    struct {
        const hr_jpeg_huffman *table; /* NULL for the refinement of DC */
        int32_t component;
        int16_t *coef; /* of the next MCU, in the order of HR_JPEG_POSITION */
        size_t step;   /* elements to the same block of the MCU after it */
    } block[HR_JPEG_BLOCKS_MAX];
} hr_jpeg_pass;
