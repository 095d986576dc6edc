/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The parts of a tile: components, resolutions, bands, precincts, code-blocks. Coordinates are, as
 * in T.800, on the grid of the component, resolution or band. */
#pragma once

#include "codecs/jpeg2000/coding.h"

struct hr_arena;

typedef struct hr_jpeg2000_area {
    uint32_t x0, y0, x1, y1;
} hr_jpeg2000_area;

/* Coded bytes of a code-block in a packet. */
typedef struct hr_jpeg2000_chunk {
    const uint8_t *bytes;
    uint32_t size;
    struct hr_jpeg2000_chunk *next;
} hr_jpeg2000_chunk;

typedef struct hr_jpeg2000_block {
    hr_jpeg2000_area area;
    hr_jpeg2000_chunk *first, *last;
    uint32_t size;   /* bytes of all chunks */
    uint32_t passes; /* 0: no packet has included it yet */
    uint8_t planes;  /* bits of the largest coefficient */
    uint8_t length_bits;
} hr_jpeg2000_block;

/* A node of a tag tree: the value is at least `low`, and equal to it once it is `known`. */
typedef struct hr_jpeg2000_node {
    uint8_t known;
    uint16_t low;
} hr_jpeg2000_node;

/* The code-blocks of a band in a precinct. The trees have a node for each, row by row, then those
 * of the levels above. */
typedef struct hr_jpeg2000_patch {
    uint32_t across, down;
    hr_jpeg2000_block *blocks;
    hr_jpeg2000_node *included, *empty; /* in which layer; planes without bits */
} hr_jpeg2000_patch;

typedef struct hr_jpeg2000_band {
    hr_jpeg2000_area area;
    uint32_t kind;   /* 0 LL, 1 HL, 2 LH, 3 HH */
    uint32_t planes; /* Mb */
    hr_jpeg2000_step step;
    hr_jpeg2000_patch *patches; /* of each precinct */
} hr_jpeg2000_band;

typedef struct hr_jpeg2000_resolution {
    hr_jpeg2000_area area;
    uint32_t across, down; /* precincts */
    uint32_t band_count;
    hr_jpeg2000_band bands[3];
} hr_jpeg2000_resolution;

typedef struct hr_jpeg2000_part {
    hr_jpeg2000_area area;
    hr_jpeg2000_resolution *resolutions; /* levels + 1 */
} hr_jpeg2000_part;

typedef struct hr_jpeg2000_tile {
    hr_jpeg2000_area area;
    hr_jpeg2000_part *parts; /* one per component */
} hr_jpeg2000_tile;

/* The area of a tile, counted row by row. Components are not subsampled. */
hr_jpeg2000_area hr_jpeg2000_tile_area(const hr_jpeg2000_siz *siz, uint32_t tile);
/* Lays out a tile in memory of the arena. */
hr_status hr_jpeg2000_lay_out(const hr_jpeg2000_siz *siz, const hr_jpeg2000_coding *coding,
                              uint32_t tile, struct hr_arena *arena, hr_jpeg2000_tile *out,
                              hr_error *error);

/* v / 2^shift, rounded up. */
static inline uint32_t hr_jpeg2000_up(uint32_t v, uint32_t shift)
{
    return (uint32_t)(((uint64_t)v + ((uint64_t)1 << shift) - 1) >> shift);
}

static inline bool hr_jpeg2000_is_empty(const hr_jpeg2000_area *a)
{
    return a->x0 >= a->x1 || a->y0 >= a->y1;
}
