/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reshape: the same elements with another shape or layout. */
#include "ops/generic/new_shape.h"
#include "ops/generic/view.h"

typedef struct reshape_args {
    hr_new_shape_args to;
} reshape_args;

static hr_status reshape_infer(hr_op_call *c, hr_error *error)
{
    const reshape_args *a = c->args;

    if (c->n_in == 1 && !a->to.shape.v && !a->to.rel_shape.v && !a->to.src_dims.v && !a->to.layout)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "give a new shape (`shape`, `rel_shape`, `src_dims` or a second input) or `layout`");
    return hr__new_shape(c, &a->to, c->in[0].dtype, error);
}

const hr_op_def hr_op_reshape = {
    HR_OP("reshape"),
    .doc = "Returns the same elements with another shape or layout, or both. An optional second "
           "input is the new shape.",
    .devices = "cpu|gpu",
    .flags =
        HR_OP_ENUMS | HR_OP_VIEW | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(reshape_args, HR_NEW_SHAPE_ARG_DEFS(reshape_args, to)),
    .in = HR_INPUTS({.name = "data"}, {.name = "shape_input", .host = true}),
    .in_min = 1,
    .infer = reshape_infer,
    .run = hr__view_run,
};
