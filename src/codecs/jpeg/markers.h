/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What stands before a JPEG scan, as far as our own decoder takes it. */
#ifndef HR_CODECS_JPEG_MARKERS_H
#define HR_CODECS_JPEG_MARKERS_H

#include "core/core.h"
#include "kernels/jpeg.h"

enum { HR_JPEG_COMPONENTS = 3, HR_JPEG_TABLES = 4 };

typedef enum hr_jpeg_color {
    HR_JPEG_COLOR_GREY,
    HR_JPEG_COLOR_YCC,
    HR_JPEG_COLOR_RGB
} hr_jpeg_color;

typedef struct hr_jpeg_component {
    uint8_t id, h, v;      /* sampling factors */
    uint8_t quant, dc, ac; /* numbers of tables */
} hr_jpeg_component;

/* A progressive scan: which coefficients of which components, and which of their bits. */
typedef struct hr_jpeg_pass_header {
    int32_t components;  /* one, or all of them */
    int32_t component;   /* the one */
    int32_t first, last; /* places in zigzag order */
    int32_t high, low;   /* bits below those known, 0: nothing is known; below those that come */
} hr_jpeg_pass_header;

/* Borrows from the file. */
typedef struct hr_jpeg_markers {
    int32_t height, width, components;
    hr_jpeg_component component[HR_JPEG_COMPONENTS];
    hr_jpeg_color color;
    int32_t restart;                           /* MCUs between markers, 0: none */
    const uint8_t *quant[HR_JPEG_TABLES];      /* 64 values in zigzag order, or NULL */
    bool wide[HR_JPEG_TABLES];                 /* of two bytes each */
    const uint8_t *huffman[2][HR_JPEG_TABLES]; /* DC, AC: 16 counts, then symbols; or NULL */
    size_t scan;                               /* where its data begins */
    bool progressive;
    hr_jpeg_pass_header pass; /* of a progressive file: its scan */
} hr_jpeg_markers;

/* False when the file is not one that we take: another process than sequential Huffman, odd
 * sampling, several scans, or anything that is not as it should be. */
bool hr_jpeg_markers_read(hr_jpeg_markers *m, const uint8_t *bytes, size_t size);

/* The same of a progressive file, up to its first pass. */
bool hr_jpeg_passes_open(hr_jpeg_markers *m, const uint8_t *bytes, size_t size);
/* On to the next pass from the marker at `at`; `end`: there is none, and the file ends as it
 * should. */
bool hr_jpeg_passes_next(hr_jpeg_markers *m, const uint8_t *bytes, size_t size, size_t at,
                         bool *end);

/* MCUs: of the picture, and those that a window's samples come from. */
typedef struct hr_jpeg_area {
    int32_t across, down;
    int32_t left, right, top, bottom;
} hr_jpeg_area;

/* Of the window from (y0, x0) to (y1, x1), which is not in it, when `planes` components are wanted.
 */
hr_jpeg_area hr_jpeg_area_of(const hr_jpeg_markers *m, int32_t planes, int32_t y0, int32_t x0,
                             int32_t y1, int32_t x1);

/* Whether the codes of a table, checked by hr_jpeg_markers_read, fit and are of our kind. */
bool hr_jpeg_huffman_fits(const uint8_t *definition, bool ac);

/* Builds a table from 16 counts and their symbols, checked by hr_jpeg_markers_read; `ac`: symbols
 * are runs and sizes, else sizes. False when its codes do not fit. */
bool hr_jpeg_huffman_build(hr_jpeg_huffman *t, const uint8_t *definition, bool ac);

/* The table of a progressive AC pass, likewise. */
bool hr_jpeg_huffman_build_pass(hr_jpeg_huffman *t, const uint8_t *definition);

/* 64 quantisers in the order of HR_JPEG_PLACE. */
void hr_jpeg_quant_build(int16_t quant[64], const uint8_t *definition, bool wide);

#endif
