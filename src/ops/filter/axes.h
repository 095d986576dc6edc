/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The axes that filters work along: all dimensions but frames and channels. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

enum { HR_DATA_AXES_MAX = 3 };

typedef struct hr_data_axes {
    int32_t first, count; /* dimensions first .. first + count - 1 */
    bool frames;          /* dimension 0 is frames */
    const char *layout;   /* of the data; empty if there is none */
} hr_data_axes;

/* Without a layout, all dimensions are data axes. */
hr_status hr__data_axes(const hr_layout *layout, int32_t ndim, hr_data_axes *out, hr_error *error);

/* The same for the current image of a program. */
hr_status hr__data_axes_of_program(const hr_image_program *p, hr_data_axes *out, hr_error *error);

/* The part of a list for one frame. */
hr_floats hr__frame_floats(hr_floats list, int64_t frame);
hr_ints hr__frame_ints(hr_ints list, int64_t frame);
/* Fails if values per frame were given for an input without frames, or for another number. */
hr_status hr__frame_count_check(const char *name, int32_t given, const hr_data_axes *axes,
                                int64_t frames, hr_error *error);
/* Fails unless a list has one element, or one per axis. */
hr_status hr__axis_count_check(const char *name, int32_t n, int32_t axes, hr_error *error);
/* The type of the output: that of the input, or FLOAT. `dtype` is an argument. */
hr_status hr__filtered_dtype(int32_t dtype, hr_dtype in, hr_dtype *out, hr_error *error);
