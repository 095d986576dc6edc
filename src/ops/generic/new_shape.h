/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The arguments with which `reshape` and `reinterpret` describe the new shape. */
#pragma once

#include "core/core.h"

typedef struct hr_new_shape_args {
    hr_ints shape, src_dims;
    hr_floats rel_shape;
    const char *layout;
} hr_new_shape_args;

#define HR_NEW_SHAPE_ARG(S, field, id, kind, ...)                                                  \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL,     \
        .offset = offsetof(S, field.id), .size = sizeof(((S *)0)->field.id), .doc = __VA_ARGS__    \
    }
/* Describes the hr_new_shape_args called `field` in the args struct S. */
#define HR_NEW_SHAPE_ARG_DEFS(S, field)                                                            \
    HR_NEW_SHAPE_ARG(S, field, shape, INTS,                                                        \
                     "The new extents. One of them may be negative; it is computed from the "      \
                     "number of elements. Not together with `rel_shape` or a second input.",       \
                     .excludes = "rel_shape"),                                                     \
        HR_NEW_SHAPE_ARG(S, field, rel_shape, FLOATS,                                              \
                         "The new extents as factors of those of the input, rounded. One of them " \
                         "may be negative; it is computed from the number of elements."),          \
        HR_NEW_SHAPE_ARG(S, field, src_dims, INTS,                                                 \
                         "For each dimension of the new shape, the dimension of the input whose "  \
                         "extent it has, multiplied by `rel_shape` if that is given. -1 is an "    \
                         "extent of 1. Only the shape changes; elements are not moved."),          \
    {                                                                                              \
        .name = "layout", .type = HR_ARG_TYPE_LAYOUT, .flags = HR_ARG_OPTIONAL,                    \
        .offset = offsetof(S, field.layout), .size = sizeof(const char *),                         \
        .doc = "The new layout; \"\" for none. Default: that of the input if the number of "       \
               "dimensions does not change, otherwise none."                                       \
    }

/* Describes output 0: the bytes of input 0 as elements of `dtype`. */
hr_status hr__new_shape(hr_op_call *c, const hr_new_shape_args *args, hr_dtype dtype,
                        hr_error *error);
