/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Where in its output a program writes: strides, and the part that is not fill. The CPU and the
 * device use the same map. */
#pragma once

#include "image/program.h"

typedef struct hr_output_map {
    hr_window inside; /* the part of the program's window that is not fill, relative to it */
    size_t y, x, c, outer[HR_OUTER_MAX];              /* strides of the output in elements */
    int64_t first[HR_OUTER_MAX], count[HR_OUTER_MAX]; /* outer indices that are not fill */
    bool all_fill;
    size_t total;        /* elements of the output */
    int32_t plane_outer; /* index of the outer dimension that is C, or -1 */
} hr_output_map;

/* HR_STATUS_LIMIT when the output does not fit in memory. */
hr_status hr__output_map_make(hr_output_map *map, const hr_image_program *p, hr_error *error);
