/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The coefficients of a progressive JPEG file, one row of MCUs at a time. */
#pragma once

#include "codecs/jpeg/markers.h"
#include "kernels/kernels.h"

/* The coefficients of one component in a row of MCUs: blocks in raster order, those of incomplete
 * MCUs included. Each has 64 coefficients in the order of HR_JPEG_POSITION, aligned to 64 bytes,
 * and a mask of nonzero AC coefficients by index in zigzag order. */
typedef struct hr_jpeg_component_coefs {
    int16_t *coef;
    uint64_t *mask;
    int32_t across;        /* blocks in a row */
    int32_t width, height; /* blocks of the image that contain pixels */
} hr_jpeg_component_coefs;

typedef struct hr_jpeg_progressive hr_jpeg_progressive;

enum { HR_JPEG_PASSES_MAX = 256 };

/* What the scans so far contain: the lowest bit of each coefficient, or HR_JPEG_UNKNOWN. */
typedef struct hr_jpeg_progress {
    int8_t low[HR_JPEG_COMPONENTS][64];
} hr_jpeg_progress;

enum { HR_JPEG_UNKNOWN = -1 };

void hr_jpeg_progress_begin(hr_jpeg_progress *p);
/* Adds a scan. False: bits of a coefficient must come once, from the highest down, and DC before
 * AC. */
bool hr_jpeg_progress_add(hr_jpeg_progress *p, const hr_jpeg_pass_header *s);
/* Whether all bits are known. */
bool hr_jpeg_progress_ends(const hr_jpeg_progress *p, int32_t components);

/* Opens all scans of a file whose markers were read up to the first scan. Memory comes from the
 * arena. HR_STATUS_NOT_FUSABLE: libjpeg-turbo would warn, fail, or smooth incomplete blocks. */
hr_status hr_jpeg_progressive_open(hr_jpeg_progressive **out, hr_jpeg_markers *m,
                                   const uint8_t *bytes, size_t size, const hr_kernels *kernels,
                                   hr_arena *arena, hr_error *error);
/* Decodes up to MCU row `row`, not above the last one. False: damage. */
bool hr_jpeg_progressive_read(hr_jpeg_progressive *p, int32_t row);
/* Of the last MCU row that was decoded. */
const hr_jpeg_component_coefs *hr_jpeg_progressive_coefs(const hr_jpeg_progressive *p,
                                                         int32_t component);
