/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Where a program's pixels go: the same for every executor. */
#ifndef HR_IMAGE_PLACE_H
#define HR_IMAGE_PLACE_H

#include "image/program.h"

typedef struct hr_place {
    hr_window inside; /* the part of the program's window that exists, relative to the window */
    size_t y, x, c, outer[HR_OUTER_MAX];              /* strides of the output in elements */
    int64_t first[HR_OUTER_MAX], there[HR_OUTER_MAX]; /* outer indices that exist */
    bool none;                                        /* exists: all of the output is fill */
    size_t total;                                     /* elements of the output */
    int32_t plane_letter;                             /* the outer dimension that is C, or -1 */
} hr_place;

/* HR_STATUS_LIMIT when the output does not fit in memory. */
hr_status hr__place_make(hr_place *place, const hr_image_program *p, hr_error *error);

#endif
