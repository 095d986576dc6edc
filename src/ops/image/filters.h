/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The filter arguments of resampling operators, and their meaning for one axis. */
#pragma once

#include "image/program.h"

typedef struct hr_filter_args {
    int32_t interp_type, min_filter, mag_filter, antialias, dtype;
} hr_filter_args;

#define HR_FILTER_ARG(S, field, id, kind, flag, deflt, text)                                       \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .flags = (flag), .offset = offsetof(S, field.id), \
        .size = sizeof(int32_t), .def = (deflt), .doc = (text)                                     \
    }

/* Describes the hr_filter_args called `field` in the args struct S. */
#define HR_FILTER_ARG_DEFS(S, field) HR_FILTER_ARG_DEFS_WITH(S, field, "True")
/* `wide` is the default of antialias. */
#define HR_FILTER_ARG_DEFS_WITH(S, field, wide)                                                    \
    HR_FILTER_ARG(S, field, interp_type, INTERP, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL,              \
                  "INTERP_LINEAR",                                                                 \
                  "Filter for all axes; `min_filter` and `mag_filter` override it."),              \
        HR_FILTER_ARG(S, field, min_filter, INTERP, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL,           \
                      "INTERP_LINEAR", "Filter for axes that shrink."),                            \
        HR_FILTER_ARG(S, field, mag_filter, INTERP, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL,           \
                      "INTERP_LINEAR", "Filter for axes that grow or do not change."),             \
        HR_FILTER_ARG(S, field, antialias, BOOL, 0, wide,                                          \
                      "Widen the filter on axes that shrink, so that fine detail does not alias. " \
                      "No effect for INTERP_NN."),                                                 \
        HR_FILTER_ARG(S, field, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,                               \
                      "Type of the output: that of the input (default) or FLOAT."),                \
        HR_ARG_ACCEPT(minibatch_size, INT, "32", "No effect: batches are launched as a whole."),   \
        HR_ARG_ACCEPT(temp_buffer_hint, INT, "0",                                                  \
                      "No effect: scratch memory is allocated as needed.")

/* Fills `interp` and `antialias` of an axis whose lo, hi and out are set. */
void hr__filter_choose(const hr_filter_args *args, hr_resample_axis *axis);
/* The type of the output for images of type `in`: UINT8, INT16, UINT16 or FLOAT. */
hr_status hr__filter_dtype(const hr_filter_args *args, hr_dtype in, hr_dtype *out, hr_error *error);
