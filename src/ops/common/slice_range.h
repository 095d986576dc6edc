/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Windows given by start and end: the common arguments of `slice` and `decoders.image_slice`. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

typedef struct hr_slice_args {
    hr_ints axes, start, end, shape;
    hr_floats rel_start, rel_end, rel_shape;
    const char *axis_names;
    int32_t normalized_anchor, normalized_shape;
} hr_slice_args;

#define HR_SLICE_ARG(S, field, id, kind, flag, deflt, ...)                                         \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .flags = (flag), .offset = offsetof(S, field.id), \
        .size = sizeof(((S *)0)->field.id), .def = (deflt), .doc = __VA_ARGS__                     \
    }
#define HR_SLICE_WHEN_GIVEN (HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL)
/* Describes the hr_slice_args called `field` in the args struct S. */
#define HR_SLICE_ARG_DEFS(S, field)                                                                \
    HR_SLICE_ARG(                                                                                  \
        S, field, axes, INTS, HR_SLICE_WHEN_GIVEN, "[1, 0]",                                       \
        "The axes to which the elements of the window's arguments refer; negative numbers count "  \
        "from the end. Other axes are not sliced. Not together with `axis_names`.",                \
        .excludes = "axis_names"),                                                                 \
        HR_SLICE_ARG(S, field, axis_names, LAYOUT, HR_ARG_OPTIONAL, "\"WH\"",                      \
                     "The axes as letters of the layout. Other axes are not sliced."),             \
        HR_SLICE_ARG(S, field, start, INTS, HR_SLICE_WHEN_GIVEN, NULL,                             \
                     "Start of the window in elements.", .excludes = "rel_start"),                 \
        HR_SLICE_ARG(S, field, rel_start, FLOATS, HR_SLICE_WHEN_GIVEN | HR_ARG_NONFINITE, NULL,    \
                     "Start of the window as a fraction of the extent."),                          \
        HR_SLICE_ARG(S, field, end, INTS, HR_SLICE_WHEN_GIVEN, NULL,                               \
                     "End of the window in elements (not included)."),                             \
        HR_SLICE_ARG(S, field, rel_end, FLOATS, HR_SLICE_WHEN_GIVEN | HR_ARG_NONFINITE, NULL,      \
                     "End of the window as a fraction of the extent."),                            \
        HR_SLICE_ARG(S, field, shape, INTS, HR_SLICE_WHEN_GIVEN, NULL,                             \
                     "Size of the window in elements."),                                           \
        HR_SLICE_ARG(S, field, rel_shape, FLOATS, HR_SLICE_WHEN_GIVEN | HR_ARG_NONFINITE, NULL,    \
                     "Size of the window as a fraction of the extent."),                           \
        HR_SLICE_ARG(S, field, normalized_anchor, BOOL, 0, "True",                                 \
                     "If the input `anchor` is a float, it is a fraction of the extent."),         \
        HR_SLICE_ARG(S, field, normalized_shape, BOOL, 0, "True",                                  \
                     "If the input `shape` is a float, it is a fraction of the extent.")

/* Fails unless the window is given either by inputs 1 and 2 or by arguments, with at most one of
 * `end`, `rel_end`, `shape`, `rel_shape`. Scripts expect this error when the pipeline runs. */
hr_status hr__slice_given(const hr_op_call *c, const hr_slice_args *args, hr_error *error);
/* The window in elements along the i-th of `count` sliced axes. It may be anywhere; start <= end.
 */
hr_status hr__slice_range(const hr_op_call *c, const hr_slice_args *args, int32_t count, int32_t i,
                          int64_t extent, int64_t *start, int64_t *end, hr_error *error);
