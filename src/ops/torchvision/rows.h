/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Boxes that move with their image. They are rows of five numbers, FLOAT: left, top, right, bottom,
 * and the number of the box. Row 0 is no box: its right and bottom are the size of the image. The
 * arithmetic is torchvision's, in single precision. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

enum { HR_ROW = 5 };

typedef struct hr_box_rows {
    float *v;
    int64_t n; /* with row 0 */
} hr_box_rows;

/* What an operator does with the boxes of a sample. */
typedef hr_status (*hr_box_rows_fn)(const hr_op_call *c, hr_box_rows *rows, hr_error *error);

/* Fails unless input 0 consists of rows. */
hr_status hr__rows_check(const hr_op_call *c, hr_error *error);

/* `infer` of an operator that keeps all rows, and its `run`: `move` changes a copy. */
hr_status hr__rows_infer(hr_op_call *c, hr_error *error);
hr_status hr__rows_run(hr_op_call *c, hr_box_rows_fn move, hr_error *error);

static inline int64_t hr__rows_width(const hr_box_rows *rows)
{
    return (int64_t)rows->v[2];
}

static inline int64_t hr__rows_height(const hr_box_rows *rows)
{
    return (int64_t)rows->v[3];
}

void hr__rows_resize(hr_box_rows *rows, int64_t h, int64_t w);
void hr__rows_clamp(hr_box_rows *rows);
/* The window becomes the image; boxes are cut at its edges. */
void hr__rows_window(hr_box_rows *rows, int64_t y, int64_t x, int64_t h, int64_t w);
