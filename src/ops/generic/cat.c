/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* cat: joins tensors along an existing axis. */
#include "ops/generic/join.h"
#include "ops/generic/region.h"
#include "ops/generic/view.h"

#include <string.h>

typedef struct cat_args {
    int32_t axis;
    const char *axis_name;
} cat_args;

static hr_status cat_check(const void *args, const hr_given *given, hr_error *error)
{
    const cat_args *a = args;

    (void)given;
    if (a->axis_name && strlen(a->axis_name) != 1)
        return hr_fail(error, HR_STATUS_ERROR, "`axis_name` must be a single character; got \"%s\"",
                       a->axis_name);
    return HR_STATUS_OK;
}

static hr_status cat_axis(const hr_op_call *c, int32_t *axis, hr_error *error)
{
    const cat_args *a = c->args;
    const char *layout = c->in[0].layout.name;
    const char *at = a->axis_name ? strchr(layout, a->axis_name[0]) : NULL;

    *axis = at ? (int32_t)(at - layout) : a->axis;
    if (a->axis_name && !at)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`axis_name` specifies an undefined axis '%s' for layout \"%s\"",
                       a->axis_name, layout);
    return hr__join_axis(axis, c->in[0].shape.ndim, error);
}

static hr_status cat_infer(hr_op_call *c, hr_error *error)
{
    hr_tensor *out = &c->out[0];
    int32_t axis;

    HR_TRY(cat_axis(c, &axis, error));
    HR_TRY(hr__join_check(c, axis, error));
    hr_tensor_describe(out, c->in[0].dtype, c->in[0].shape, c->in[0].layout.name);
    for (int32_t i = 1; i < c->n_in; i++)
        out->shape.extent[axis] += c->in[i].shape.extent[axis];
    return hr__join_parts(c, axis, error);
}

const hr_op_def hr_op_cat = {
    HR_OP("cat"),
    .doc = "Joins the inputs along an axis. They must have the same type and equal extents along "
           "all other axes. The layout is that of the first input.",
    .devices = "cpu|gpu",
    HR_ARGS(
        cat_args,
        HR_ARG(cat_args, axis, INT, 0, "0",
               "The axis along which the inputs are joined; negative numbers count from the end."),
        HR_ARG(cat_args, axis_name, STRING, HR_ARG_OPTIONAL, NULL,
               "The axis as a letter of the layout. Not together with `axis`.",
               .excludes = "axis")),
    .in = HR_INPUTS({.name = "data"}),
    .in_min = 1,
    .in_max = 999,
    .check = cat_check,
    .infer = cat_infer,
    .run = hr__parts_run,
};
