/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* expand_dims: inserts dimensions of extent 1. */
#include "ops/generic/view.h"

#include <string.h>

typedef struct expand_dims_args {
    hr_ints axes;
    const char *new_axis_names;
} expand_dims_args;

static hr_status axes_check(const expand_dims_args *a, hr_error *error)
{
    size_t names = strlen(a->new_axis_names);

    for (int32_t i = 0; i < a->axes.n; i++)
        if (a->axes.v[i] < 0)
            return hr_fail(error, HR_STATUS_ERROR, "Axis value can't be negative; `axes` has %d",
                           (int)a->axes.v[i]);
    if (names != 0 && names != (size_t)a->axes.n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Specified %d new dimensions, but layout contains only %d new dimension "
                       "names. `new_axis_names` must have one letter per element of `axes`",
                       (int)a->axes.n, (int)names);
    for (int32_t i = 0; i < a->axes.n; i++)
        for (int32_t k = 0; k < i; k++)
            if (a->axes.v[i] == a->axes.v[k])
                return hr_fail(error, HR_STATUS_ERROR,
                               "Duplicate axis index found. `axes` has %d twice",
                               (int)a->axes.v[i]);
    return HR_STATUS_OK;
}

static hr_status expand_dims_infer(hr_op_call *c, hr_error *error)
{
    const expand_dims_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_tensor *out = &c->out[0];
    int32_t ndim = in->shape.ndim + a->axes.n, from = 0;
    const char *names = a->new_axis_names;

    HR_TRY(axes_check(a, error));
    HR_TRY(hr__ndim_check(ndim, error));
    if (names[0] && in->shape.ndim > 0 && !in->layout.name[0])
        return hr_fail(
            error, HR_STATUS_ERROR,
            "Specifying ``new_axis_names`` requires an input with a proper layout. The input "
            "has none");
    hr_tensor_describe(out, in->dtype, (hr_shape){0}, NULL);
    for (int32_t d = 0; d < ndim; d++) {
        int32_t k = 0;
        while (k < a->axes.n && a->axes.v[k] != d)
            k++;
        if (k < a->axes.n) {
            hr__dim_insert(out, d, 1, names[0] ? names[k] : '\0');
        } else if (from < in->shape.ndim) {
            bool named = names[0] || a->axes.n == 0;
            hr__dim_insert(out, d, in->shape.extent[from], named ? in->layout.name[from] : '\0');
            from++;
        } else {
            return hr_fail(error, HR_STATUS_ERROR,
                           "Data has not enough dimensions to add new axes at specified indices: "
                           "the output has %d",
                           (int)ndim);
        }
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_expand_dims = {
    HR_OP("expand_dims"),
    .doc = "Inserts dimensions of extent 1 into the shape. The elements do not change.",
    .devices = "cpu|gpu",
    .flags =
        HR_OP_ENUMS | HR_OP_VIEW | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(expand_dims_args,
            HR_ARG(expand_dims_args, axes, INTS, HR_ARG_REQUIRED, NULL,
                   "The positions of the new dimensions in the output; 0 is the first dimension."),
            HR_ARG(expand_dims_args, new_axis_names, LAYOUT, 0, "\"\"",
                   "Letters of the new dimensions, in the order of `axes`. Without them the output "
                   "has no layout.")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = expand_dims_infer,
    .run = hr__view_run,
};
