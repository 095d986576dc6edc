/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The marker segments before a JPEG scan, as far as our own decoder supports them. */
#pragma once

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
    uint8_t quant, dc, ac; /* table numbers */
} hr_jpeg_component;

/* The header of a progressive scan (a pass): components, spectral selection, and successive
 * approximation. */
typedef struct hr_jpeg_pass_header {
    int32_t components;  /* one or all */
    int32_t component;   /* its index, if one */
    int32_t first, last; /* Ss, Se: indices in zigzag order */
    int32_t high, low;   /* Ah, Al: lowest bit known before (0: none), and after the scan */
} hr_jpeg_pass_header;

/* Pointers are into the file. */
typedef struct hr_jpeg_markers {
    int32_t height, width, components;
    hr_jpeg_component component[HR_JPEG_COMPONENTS];
    hr_jpeg_color color;
    int32_t restart;                           /* restart interval (DRI) in MCUs; 0: none */
    const uint8_t *quant[HR_JPEG_TABLES];      /* 64 values in zigzag order, or NULL */
    bool wide[HR_JPEG_TABLES];                 /* of two bytes each */
    const uint8_t *huffman[2][HR_JPEG_TABLES]; /* DC, AC: 16 counts, then symbols; or NULL */
    size_t scan;                               /* offset of its entropy-coded data */
    bool progressive;
    hr_jpeg_pass_header pass; /* of a progressive file */
} hr_jpeg_markers;

/* False if the file is not one that we decode: not sequential Huffman coding, unusual sampling,
 * several scans, or any irregularity. */
bool hr_jpeg_markers_read(hr_jpeg_markers *m, const uint8_t *bytes, size_t size);

/* The same for a progressive file, up to its first scan. */
bool hr_jpeg_passes_open(hr_jpeg_markers *m, const uint8_t *bytes, size_t size);
/* Reads up to the next scan, from the marker at `at`. `end`: EOI came instead. */
bool hr_jpeg_passes_next(hr_jpeg_markers *m, const uint8_t *bytes, size_t size, size_t at,
                         bool *end);

/* In MCUs: the image, and the area that a window is computed from. */
typedef struct hr_jpeg_area {
    int32_t across, down;
    int32_t left, right, top, bottom;
} hr_jpeg_area;

/* Of the window from (y0, x0) to (y1, x1), exclusive, if `planes` components are wanted. */
hr_jpeg_area hr_jpeg_area_of(const hr_jpeg_markers *m, int32_t planes, int32_t y0, int32_t x0,
                             int32_t y1, int32_t x1);

/* Whether the codes of a table (checked by hr_jpeg_markers_read) are a valid prefix code. */
bool hr_jpeg_huffman_fits(const uint8_t *definition, bool ac);

/* Builds a table from its DHT definition: 16 counts, then symbols, checked by hr_jpeg_markers_read.
 * `ac`: symbols are runs and sizes, else sizes. False if it is not a valid prefix code. */
bool hr_jpeg_huffman_build(hr_jpeg_huffman *t, const uint8_t *definition, bool ac);

/* The same for an AC scan of a progressive file. */
bool hr_jpeg_huffman_build_pass(hr_jpeg_huffman *t, const uint8_t *definition);

/* 64 quantisers in the order of HR_JPEG_POSITION. */
void hr_jpeg_quant_build(int16_t quant[64], const uint8_t *definition, bool wide);
