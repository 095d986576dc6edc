/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A per-pixel step of an image program. Kernels read the same record (nvcc compiles this header,
 * too), with the table in device memory. */
#ifndef HR_IMAGE_POINT_H
#define HR_IMAGE_POINT_H

#include "headrace/headrace.h"
#include "kernels/kernels.h"

#define HR_POINT_MAX 8 /* of a program */

typedef enum hr_point_kind {
    HR_POINT_KIND_CAST,   /* DALI's cast rule */
    HR_POINT_KIND_CUT,    /* fractions truncated: hr_convert_cut */
    HR_POINT_KIND_MATRIX, /* of the channels of a pixel, in float; rounded half away from zero */
    HR_POINT_KIND_TABLE   /* of a UINT8 element; any number of channels */
} hr_point_kind;

typedef struct hr_point_step {
    hr_point_kind kind;
    hr_dtype dtype;    /* of the result */
    hr_matrix matrix;  /* MATRIX; weights of channels that it does not have are 0 */
    const void *table; /* TABLE: 256 elements of `dtype`, borrowed until the program has run */
} hr_point_step;

#endif
