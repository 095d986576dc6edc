/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A per-pixel step of an image program. Kernels read the same record (nvcc compiles this header,
 * too), with the table in device memory. */
#pragma once

#include "headrace/headrace.h"
#include "kernels/kernels.h"

#define HR_POINT_MAX 8 /* of a program */

typedef enum hr_point_kind {
    HR_POINT_KIND_CAST,   /* DALI's cast rule */
    HR_POINT_KIND_CUT,    /* fractions truncated: hr_convert_cut */
    HR_POINT_KIND_MATRIX, /* of the channels of a pixel, in float; rounded half away from zero */
    HR_POINT_KIND_TABLE,  /* of a UINT8 element; any number of channels */
    HR_POINT_KIND_AFFINE  /* of an element, any number of channels, in float: matrix.m[0][0] * v +
                             matrix.add[0]; rounded as with MATRIX */
} hr_point_kind;

typedef struct hr_point_step {
    hr_point_kind kind;
    hr_dtype dtype;    /* of the result */
    hr_matrix matrix;  /* MATRIX, AFFINE; weights of channels that it does not have are 0 */
    const void *table; /* TABLE: 256 elements of `dtype`, borrowed until the program has run */
    /* With `frames` > 0, each frame has its own matrix or table: `matrices` instead of `matrix`, as
     * many as frames, borrowed like the table, which has 256 elements for every frame. All of them
     * have the numbers of channels of `matrix`. The program sets first_frame: the frame of its
     * source to which the first of them belongs. */
    const hr_matrix *matrices;
    int32_t frames;
    int32_t first_frame;
} hr_point_step;

HR_SHARED const hr_matrix *hr_point_matrix(const hr_point_step *step, int64_t frame)
{
    return step->frames > 0 ? step->matrices + (frame - step->first_frame) : &step->matrix;
}

/* `size`: bytes of an element of the table. */
HR_SHARED const void *hr_point_table(const hr_point_step *step, int64_t frame, int32_t size)
{
    int64_t number = step->frames > 0 ? frame - step->first_frame : 0;
    return (const char *)step->table + number * 256 * size;
}
