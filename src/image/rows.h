/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The first half of running a program on the CPU: makes the rows of its window after the resample,
 * one at a time, and reads only the pixels of the source that they need. */
#pragma once

#include "image/program.h"
#include "image/sums.h"

typedef enum hr_rows_kind {
    HR_ROWS_KIND_COPY,   /* rows of the source */
    HR_ROWS_KIND_PICK,   /* one tap per axis: elements of the source, any type */
    HR_ROWS_KIND_GATHER, /* positions by a map */
    HR_ROWS_KIND_FIXED,  /* u8, fixed point */
    HR_ROWS_KIND_FLOAT
} hr_rows_kind;

/* The kind for a program whose filters have these taps. */
hr_rows_kind hr__rows_kind(const hr_image_program *p, int32_t y_taps, int32_t x_taps);

/* The second filter of a sum. */
typedef struct hr_rows_sum {
    const int32_t *y_start;
    int32_t y_taps;
    const float *y_coef;
    hr_filter_float x;
    float *row; /* one row after the vertical filter */
} hr_rows_sum;

/* Positions of some rows. */
typedef struct hr_rows_positions {
    float *x, *y;
    size_t stride;     /* from row to row */
    int32_t rows;      /* that are made at once */
    const hr_map *map; /* for which they are; NULL: none yet */
    int64_t at;        /* the first of the rows */
} hr_rows_positions;

typedef struct hr_rows {
    const hr_image_program *p;
    hr_op_call *call;
    hr_rows_kind kind;
    hr_window view;  /* the rows and columns to make, inside the image after the resample */
    hr_window need;  /* the pixels that they are made from, in source coordinates */
    size_t pixel;    /* bytes of a source pixel */
    size_t elements; /* of an output row: view.w * channels */

    const char *src; /* pixel (need.y, need.x) of the current image */
    size_t stride;   /* bytes from row to row */
    char *decoded;   /* a coded source's window, or a ring of its rows */
    bool whole;      /* decode the window at once, not by rows */
    int64_t ring;    /* rows of the ring, or 0 */
    int64_t made;    /* rows of `need` that were read into the ring so far */
    /* Rows from `tail_from` on are too close to the end of borrowed memory for kernels that read
     * whole vectors; they are copied to `tail`. */
    int64_t tail_from, tail_rows;
    char *tail;
    size_t tail_stride;

    const int32_t *y_start, *x_start; /* relative to `need` */
    int32_t y_taps;
    const float *y_coef;
    int16_t *y_fixed;
    hr_filter_fix x_fixed;
    hr_filter_float x_float;
    hr_rows_sum sum;    /* FLOAT, with p->sum */
    const void **list;  /* y_taps row pointers */
    int16_t *row_fixed; /* one row after the vertical filter */
    float *row_float, *row_out;
    float *cache; /* FLOAT: y_taps converted source rows, row r in slot r % y_taps */
    int64_t *cache_row;
    bool summing; /* FLOAT: the rows are too large to cache; `sums` is the vertical filter */
    bool running; /* `sums` has all overlapping outputs in flight, not just one */
    hr_sums sums;
    size_t need_elements;        /* of a source row: need.w * channels */
    const hr_map *map;           /* GATHER: of the current frame */
    int64_t slice;               /* GATHER: the current slice of the output */
    hr_rows_positions positions; /* GATHER of images */
} hr_rows;

/* `view` must be inside the image and not empty. Memory from the call's arena. */
hr_status hr__rows_init(hr_rows *r, const hr_image_program *p, hr_op_call *c, hr_window view,
                        bool whole, hr_error *error);
/* Starts an image of the source: `data` is its first pixel; a coded source is decoded. For GATHER,
 * `data` is the first pixel of the frame, and r->map and r->slice are set. */
hr_status hr__rows_image(hr_rows *r, const void *data, hr_error *error);
/* Reads the source rows that row y needs; to be called before hr__rows_read. If the source is read
 * by rows, y must not decrease. HR_STATUS_NOT_FUSABLE: start again with r->whole. */
hr_status hr__rows_want(hr_rows *r, int64_t y, hr_error *error);
/* Row y of the view, r->elements elements of p->resampled: in `scratch`, or in the source. */
const void *hr__rows_read(hr_rows *r, int64_t y, void *scratch);
