/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The first half of running a program: the rows of its window after the resample, one at a time,
 * and only what they need of the source. */
#ifndef HR_IMAGE_ROWS_H
#define HR_IMAGE_ROWS_H

#include "image/program.h"
#include "image/sums.h"

typedef enum hr_rows_kind {
    HR_ROWS_KIND_COPY,   /* no resample: rows of the source */
    HR_ROWS_KIND_GATHER, /* one tap an axis: elements of the source, any type */
    HR_ROWS_KIND_FIXED,  /* u8, fixed point */
    HR_ROWS_KIND_FLOAT
} hr_rows_kind;

/* How a program's pixels come about, given the taps of its filters. */
hr_rows_kind hr__rows_kind(const hr_image_program *p, int32_t y_taps, int32_t x_taps);

typedef struct hr_rows {
    const hr_image_program *p;
    hr_op_call *call;
    hr_rows_kind kind;
    hr_window view;  /* the rows and columns to make, inside the picture after the resample */
    hr_window need;  /* what they are made of, in source coordinates */
    size_t pixel;    /* bytes of a source pixel */
    size_t elements; /* of a row made: view.w * channels */

    const char *src; /* pixel (need.y, need.x) of the picture at hand */
    size_t stride;   /* bytes from row to row */
    char *decoded;   /* a coded source's window, or a ring of its rows */
    bool whole;      /* do not ask for rows: the window at once */
    int64_t ring;    /* rows of the ring; 0: there is none */
    int64_t made;    /* rows of `need` that were read into the ring so far */
    /* Rows from `tail_from` on lie too close to the end of borrowed memory for a kernel that reads
     * in whole vectors; they are copied to `tail`. */
    int64_t tail_from, tail_rows;
    char *tail;
    size_t tail_stride;

    const int32_t *y_start, *x_start; /* relative to `need` */
    int32_t y_taps;
    const float *y_coef;
    int16_t *y_fixed;
    hr_filter_fix x_fixed;
    hr_filter_float x_float;
    const void **list;  /* y_taps row pointers */
    int16_t *row_fixed; /* one row after the vertical filter */
    float *row_float, *row_out;
    float *cache; /* FLOAT: y_taps converted source rows, row r in slot r % y_taps */
    int64_t *cache_row;
    bool summing; /* FLOAT: too many rows to keep; the vertical filter is `sums` */
    bool running; /* ... of all outputs at once; else of one after the other */
    hr_sums sums;
    size_t need_elements; /* of a source row: need.w * channels */
} hr_rows;

/* `view` must be inside the picture and not empty. Memory from the call's arena. */
hr_status hr__rows_init(hr_rows *r, const hr_image_program *p, hr_op_call *c, hr_window view,
                        bool whole, hr_error *error);
/* Turns to a picture of the source: `data` is its first pixel; a coded source is decoded. */
hr_status hr__rows_picture(hr_rows *r, const void *data, hr_error *error);
/* Before hr__rows_read of row y: has the source rows that it is made of. Rows may only be asked for
 * in rising order when the source comes row by row. HR_STATUS_NOT_FUSABLE: start again with
 * r->whole. */
hr_status hr__rows_want(hr_rows *r, int64_t y, hr_error *error);
/* Row y of the view, r->elements elements of p->resampled: in `scratch`, or lying in the source. */
const void *hr__rows_read(hr_rows *r, int64_t y, void *scratch);

#endif
