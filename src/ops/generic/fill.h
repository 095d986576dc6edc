/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Common code of `zeros`, `ones`, `full` and similar operators: tensors of equal or broadcast
 * elements. */
#pragma once

#include "core/core.h"

typedef struct hr_fill_args {
    hr_ints shape;
    const char *layout;
} hr_fill_args;

/* Describes the hr_fill_args called `field` in the args struct S. */
#define HR_FILL_ARG_DEFS(S, field)                                                                 \
    {.name = "shape",                                                                              \
     .type = HR_ARG_TYPE_INTS,                                                                     \
     .flags = HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL,                                                 \
     .offset = offsetof(S, field.shape),                                                           \
     .size = sizeof(hr_ints),                                                                      \
     .doc = "Shape of the output. Default: a scalar.",                                             \
     .min = 0,                                                                                     \
     .max = INT32_MAX},                                                                            \
    {                                                                                              \
        .name = "layout", .type = HR_ARG_TYPE_LAYOUT, .flags = HR_ARG_OPTIONAL,                    \
        .offset = offsetof(S, field.layout), .size = sizeof(const char *),                         \
        .doc = "Layout of the output."                                                             \
    }

/* `zeros`, `ones`, and both like another tensor. */
typedef struct hr_number_args {
    hr_fill_args fill;
    int32_t dtype;
} hr_number_args;

/* Their tables without the documentation. `id` is also the prefix of their functions. */
#define HR_NUMBER_TABLE(id)                                                                        \
    HR_OP(#id), .devices = "cpu|gpu", .flags = HR_OP_CHEAP | HR_OP_COLUMNS, .infer = id##_infer,   \
                .run = id##_run,                                                                   \
                HR_ARGS(hr_number_args, HR_FILL_ARG_DEFS(hr_number_args, fill),                    \
                        HR_ARG(hr_number_args, dtype, DTYPE, 0, "INT32", "Type of the output."))
#define HR_NUMBER_LIKE_TABLE(id)                                                                   \
    HR_OP(#id),                                                                                    \
        .devices = "cpu|gpu", .flags = HR_OP_CHEAP | HR_OP_COLUMNS | HR_OP_ANYWHERE,               \
        .infer = id##_infer, .run = id##_run, .in = HR_INPUTS({.name = "data_like"}),              \
        HR_ARGS(hr_number_args, HR_ARG(hr_number_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,        \
                                       "Type of the output. Default: that of the input."))

/* The whole infer of these operators, and of those with an input to be like. */
hr_status hr__number_infer(hr_op_call *c, double value, hr_error *error);
hr_status hr__number_like_infer(hr_op_call *c, double value, hr_error *error);

/* Describes output 0. */
hr_status hr__fill_infer(hr_op_call *c, const hr_fill_args *args, int32_t dtype, hr_error *error);
/* Ends infer of what hr__fill_number and hr__fill_tensor fill: for a device it leaves the memo of
 * its run, hr_region_parts. The latter takes input `i`. */
hr_status hr__fill_number_infer(hr_op_call *c, double value, hr_error *error);
hr_status hr__fill_tensor_infer(hr_op_call *c, int32_t i, hr_error *error);
/* Sets all elements of output 0, of all samples of the call, to `value`. */
hr_status hr__fill_number(const hr_op_call *c, double value);
/* Fills output 0 with `from`, converted to the type of the output and broadcast: extents from the
 * last on are equal or 1. One number is filled with the first element, whatever the shape of `from`
 * is. */
hr_status hr__fill_tensor(hr_op_call *c, const hr_tensor *from, hr_error *error);
