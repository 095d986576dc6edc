/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The headers of a JPEG 2000 codestream: the size of the image and its components, and what it
 * takes to decode them. Names are those of ITU-T T.800. */
#pragma once

#include "codecs/jpeg2000/module.h"

typedef struct hr_jpeg2000_component {
    uint8_t bits; /* 1 .. 128 as far as the header goes */
    bool is_signed;
    uint8_t dx, dy; /* distances of samples on the reference grid */
} hr_jpeg2000_component;

/* The SIZ segment. The image is the area x0 .. x1, y0 .. y1 of the reference grid. */
typedef struct hr_jpeg2000_siz {
    uint32_t x0, y0, x1, y1;
    uint32_t tile_x0, tile_y0, tile_w, tile_h;
    uint32_t count;
    hr_jpeg2000_component components[HR_JPEG2000_COMPONENTS];
} hr_jpeg2000_siz;

/* What decoding takes: upper bounds, as floating-point numbers because a file can state any size.
 */
typedef struct hr_jpeg2000_cost {
    double memory;   /* bytes for decoding one tile */
    double packets;  /* of the whole file; each takes at least one byte */
    double steps;    /* places that the search for the next packet visits */
    bool reversible; /* all components: integers, so that any part of a tile decodes to the same */
} hr_jpeg2000_cost;

bool hr_jpeg2000_is_codestream(const uint8_t *bytes, size_t size);
hr_status hr_jpeg2000_read_siz(const uint8_t *bytes, size_t size, hr_jpeg2000_siz *siz,
                               hr_error *error);
/* Reads the main header and the headers of all tile-parts. */
hr_status hr_jpeg2000_read_cost(const uint8_t *bytes, size_t size, const hr_jpeg2000_siz *siz,
                                hr_jpeg2000_cost *cost, hr_error *error);
/* Tiles of the image. */
uint64_t hr_jpeg2000_tiles(const hr_jpeg2000_siz *siz);

/* The first sample of a component at or after `at` on the reference grid. */
static inline uint32_t hr_jpeg2000_sample(uint32_t at, uint32_t step)
{
    return at / step + (at % step != 0);
}
