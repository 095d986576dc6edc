/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* stack: joins tensors of one shape along a new axis. */
#include "ops/generic/join.h"
#include "ops/generic/region.h"
#include "ops/generic/view.h"

#include <string.h>

typedef struct stack_args {
    int32_t axis;
    const char *axis_name;
} stack_args;

static hr_status stack_check(const void *args, const hr_given *given, hr_error *error)
{
    const char *name = ((const stack_args *)args)->axis_name;

    (void)given;
    if (name && strlen(name) != 1)
        return hr_fail(error, HR_STATUS_ERROR, "`axis_name` must be a single character; got \"%s\"",
                       name);
    return HR_STATUS_OK;
}

static hr_status stack_infer(hr_op_call *c, hr_error *error)
{
    const stack_args *a = c->args;
    const char *layout = c->in[0].layout.name;
    int32_t ndim = c->in[0].shape.ndim, axis = a->axis;

    HR_TRY(hr__ndim_check(ndim + 1, error));
    HR_TRY(hr__join_axis(&axis, ndim + 1, error));
    HR_TRY(hr__join_check(c, -1, error));
    if (a->axis_name && ndim > 0 && !layout[0])
        return hr_fail(error, HR_STATUS_ERROR,
                       "`axis_name` requires a non-empty input layout: give the first input one");
    hr_tensor_describe(&c->out[0], c->in[0].dtype, c->in[0].shape, a->axis_name ? layout : NULL);
    hr__dim_insert(&c->out[0], axis, c->n_in, a->axis_name ? a->axis_name[0] : '\0');
    return hr__join_parts(c, axis, error);
}

const hr_op_def hr_op_stack = {
    HR_OP("stack"),
    .doc = "Joins inputs of the same type and shape along a new axis.",
    .devices = "cpu|gpu",
    HR_ARGS(stack_args,
            HR_ARG(stack_args, axis, INT, 0, "0",
                   "Position of the new axis in the output; negative numbers count from the end."),
            HR_ARG(stack_args, axis_name, STRING, HR_ARG_OPTIONAL, NULL,
                   "Letter of the new axis. Without it the output has no layout.")),
    .in = HR_INPUTS({.name = "data"}),
    .in_min = 1,
    .in_max = 999,
    .check = stack_check,
    .infer = stack_infer,
    .run = hr__parts_run,
};
