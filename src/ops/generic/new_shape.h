/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The shape that `reshape` and `reinterpret` give a tensor: their arguments, and what they mean. */
#ifndef HR_OPS_GENERIC_NEW_SHAPE_H
#define HR_OPS_GENERIC_NEW_SHAPE_H

#include "core/core.h"

typedef struct hr_new_shape_args {
    hr_ints shape, src_dims;
    hr_floats rel_shape;
    const char *layout;
} hr_new_shape_args;

#define HR_NEW_SHAPE_ARG(S, field, id, kind, text)                                                 \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL,     \
        .offset = offsetof(S, field.id), .size = sizeof(((S *)0)->field.id), .doc = text           \
    }
/* Describes the hr_new_shape_args called `field` in the args struct S. */
#define HR_NEW_SHAPE_ARG_DEFS(S, field)                                                            \
    HR_NEW_SHAPE_ARG(S, field, shape, INTS,                                                        \
                     "The new extents; one of them may be negative and is what is left. Not "      \
                     "together with `rel_shape` or a second input."),                              \
        HR_NEW_SHAPE_ARG(S, field, rel_shape, FLOATS,                                              \
                         "The new extents as factors of the input's, rounded; one of them may be " \
                         "negative and is what is left."),                                         \
        HR_NEW_SHAPE_ARG(S, field, src_dims, INTS,                                                 \
                         "Which extent of the input stands at each place of the new shape, times " \
                         "`rel_shape` if that is given; -1 is an extent of 1. Extents alone are "  \
                         "reordered, elements stay where they are."),                              \
    {                                                                                              \
        .name = "layout", .type = HR_ARG_TYPE_LAYOUT, .flags = HR_ARG_OPTIONAL,                    \
        .offset = offsetof(S, field.layout), .size = sizeof(const char *),                         \
        .doc = "The new layout, or \"\" for none. Not given: the input's, if the number of "       \
               "dimensions stays, or none."                                                        \
    }

/* More than one way to give a shape: HR_STATUS_ERROR. For `check`. */
hr_status hr__new_shape_check(const hr_arg_def *args, uint64_t given, hr_error *error);
/* Describes output 0: input 0's bytes as elements of `dtype`. */
hr_status hr__new_shape(hr_op_call *c, const hr_new_shape_args *args, hr_dtype dtype,
                        hr_error *error);

#endif
