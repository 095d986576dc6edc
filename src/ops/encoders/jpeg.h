/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* encoders.jpeg: what its table on the CPU and its two parts on a GPU share. */
#pragma once

#include "codecs/jpeg/encode.h"
#include "headrace/operator.h"

typedef struct hr_jpeg_args {
    int32_t quality, optimize, restart_rows;
    const char *subsampling;
} hr_jpeg_args;

extern const hr_arg_def hr_jpeg_arg_defs[];

/* Checks the input of a call. `image->pixels` is that of the tensor. */
hr_status hr_jpeg_take(const hr_op_call *c, hr_jpeg_pixels *image, hr_jpeg_encoding *how,
                       hr_error *error);
