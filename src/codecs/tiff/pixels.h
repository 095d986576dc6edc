/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* From the samples of a TIFF file to pixels. Samples become elements (u8, u16 or float) of all
 * planes, interleaved; colours are made of these, so that files with planes give the same pixels as
 * files without. */
#pragma once

#include "codecs/tiff/directory.h"
#include "headrace/operator.h"

enum { HR_TIFF_COLOURS = 3 };

typedef struct hr_tiff_pixels {
    const hr_tiff *t;
    size_t channels;     /* of a delivered pixel */
    size_t used;         /* samples of a pixel that are read */
    size_t size;         /* bytes of an element */
    uint8_t *row;        /* scratch for a row of elements */
    uint8_t levels[256]; /* elements of samples of less than 8 bits */
    uint16_t palette[HR_TIFF_COLOURS << 8];
} hr_tiff_pixels;

/* Channels that the file can deliver. */
uint32_t hr_tiff_channels(const hr_tiff *t);
/* Bits of a delivered element: 8, 16, or 32 for floats. */
uint32_t hr_tiff_element_bits(const hr_tiff *t);
/* The planes that `channels` need. */
uint32_t hr_tiff_planes(const hr_tiff *t, uint32_t channels);

/* For rows of at most `width` pixels. */
hr_status hr_tiff_pixels_init(hr_tiff_pixels *p, const hr_tiff *t, uint32_t channels, size_t width,
                              hr_arena *arena, hr_error *error);
/* Writes `n` pixels that begin at column `x` of rows[0], or of one row for each plane. */
void hr_tiff_pixels_put(const hr_tiff_pixels *p, uint8_t *dst, const uint8_t *const *rows, size_t x,
                        size_t n);
