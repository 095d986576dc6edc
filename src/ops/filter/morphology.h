/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What dilate and erode share. */
#pragma once

#include "ops/filter/window.h"

typedef struct hr_morphology_args {
    hr_ints mask_size, anchor;
    int32_t iterations;
    const char *border_mode;
} hr_morphology_args;

extern const hr_arg_def hr__morphology_arg_defs[];
hr_status hr__morphology_check(const void *args, const hr_given *given, hr_error *error);
hr_status hr__morphology_infer(hr_op_call *c, hr_window_kind kind, hr_error *error);

/* What the tables of both have in common. */
#define HR_MORPHOLOGY_FIELDS                                                                       \
    HR_WINDOW_FIELDS, .args = hr__morphology_arg_defs, .args_size = sizeof(hr_morphology_args),    \
                      .check = hr__morphology_check
