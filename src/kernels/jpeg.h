/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the JPEG kernels and the decoder over them (codecs/jpeg) share: the order of coefficients,
 * the Huffman tables and the state of a scan. */
#ifndef HR_KERNELS_JPEG_H
#define HR_KERNELS_JPEG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A block's coefficients and quantisers lie as the inverse DCT of v3 likes to load them: rows 0 and
 * 4 one after the other, then rows 1 and 7, 5 and 3, 2 and 6 interleaved. */
#define HR_JPEG_PLACE(row, col)                                                                    \
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
    HR_JPEG_LOOKUPS = 2,     /* in the AC table between two refills of 56 bits; one of them takes */
    HR_JPEG_TOTAL_MAX = 18,  /* at most so many, so that the index of a third is there too */
    HR_JPEG_RUN_END = 128,   /* added to the place in the block by an end of block ... */
    HR_JPEG_RUN_SLOW = 192,  /* ... and by symbols that the fast table does not have */
    HR_JPEG_BLOCKS_MAX = 6,  /* blocks in an MCU of the samplings that we take */
    HR_JPEG_INPUT_PAD = 512, /* bytes behind the scan that may be read: more than a block's */
    HR_JPEG_MARK_BYTES = 512,
    HR_JPEG_ROW_PAD = 64 /* samples beside a row that the row kernels may read or write */
};

/* A Huffman table. An entry of `fast` holds, from the lowest byte: bits of code and value together;
 * how far the place in the block moves on (1 .. 16, HR_JPEG_RUN_END, HR_JPEG_RUN_SLOW); bits of the
 * code; bits of the value. In the AC tables of progressive passes HR_JPEG_RUN_END stands for runs
 * of 2^n blocks and what the n bits behind it say, and sixteen zeros for themselves, without a
 * value. */
typedef struct hr_jpeg_huffman {
    uint32_t fast[1 << HR_JPEG_FAST_BITS];
    uint32_t limit[18]; /* first 16-bit window above the codes of this length; [17]: above all */
    int32_t offset[17]; /* of a code of this length to its symbol */
    uint8_t symbols[256];
    /* AC only: up to two symbols that the index shows. From the lowest byte: bits of both; how far
     * both move on; where the second value begins; minus its bits; where the first value begins;
     * minus its bits; bits of the first; how far it moves on. A second one that is not there moves
     * on by 0; its value means nothing. */
    uint64_t pair[1 << HR_JPEG_FAST_BITS];
} hr_jpeg_huffman;

/* A block's coefficients, from where its samples are made. */
typedef struct hr_jpeg_coefs {
    uint8_t *dst;
    size_t stride;               /* bytes between rows of samples */
    const int16_t *coef, *quant; /* in the order of HR_JPEG_PLACE, aligned to 64 bytes */
    int32_t last;                /* place in zigzag order behind which all are zero */
} hr_jpeg_coefs;

/* One block of an MCU. */
typedef struct hr_jpeg_block {
    const hr_jpeg_huffman *dc, *ac;
    const int16_t *quant; /* in the order of HR_JPEG_PLACE */
    int32_t component;
    uint8_t *dst;  /* of the next MCU's samples; NULL: they are not wanted */
    size_t step;   /* bytes to the same block of the MCU after it */
    size_t stride; /* bytes between rows of samples */
} hr_jpeg_block;

/* The start of an MCU that decoding came by. */
typedef struct hr_jpeg_mark {
    const uint8_t *next; /* as in hr_jpeg_scan */
    uint32_t count;
    int32_t mcu;
    int32_t predicted[3];
} hr_jpeg_mark;

/* A place in a scan whose stuffed bytes were taken out. `window` holds `count` bits of it, the next
 * one on top; it is as if all bytes before `next` were read. */
typedef struct hr_jpeg_scan {
    const uint8_t *next, *end; /* HR_JPEG_INPUT_PAD bytes behind the end can be read */
    uint64_t window, count;
    int32_t predicted[3]; /* DC of each component */
    int32_t mcu;          /* the number of the next one */
    /* Before the first MCU that begins at `due` or behind it a mark is written, and the next one is
     * due HR_JPEG_MARK_BYTES later. NULL: never. */
    const uint8_t *due;
    hr_jpeg_mark *mark;
    int32_t marks; /* written */
    int32_t blocks;
    hr_jpeg_block block[HR_JPEG_BLOCKS_MAX];
} hr_jpeg_scan;

/* A pass of a progressive scan over blocks: some coefficients' upper bits, or one more bit. Several
 * components only have their DC. */
typedef struct hr_jpeg_pass {
    int32_t first, last; /* places in zigzag order; 0, 0: DC */
    int32_t low;         /* bits below those that come */
    bool refine;
    uint32_t ended; /* blocks to come that have nothing new */
    uint64_t *mask; /* AC: of each block, which places are not zero */
    int32_t blocks; /* in an MCU */
    struct {
        const hr_jpeg_huffman *table; /* NULL for the refinement of DC */
        int32_t component;
        int16_t *coef; /* of the next MCU, in the order of HR_JPEG_PLACE */
        size_t step;   /* elements to the same block of the MCU after it */
    } block[HR_JPEG_BLOCKS_MAX];
} hr_jpeg_pass;

#endif
