/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* squeeze: removes dimensions of extent 1. */
#include "ops/generic/view.h"

#include <string.h>

typedef struct squeeze_args {
    hr_ints axes;
    const char *axis_names;
} squeeze_args;

static hr_status squeeze_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)args;
    if (hr_arg_given(given, "axes") == hr_arg_given(given, "axis_names"))
        return hr_fail(error, HR_STATUS_ERROR,
                       hr_arg_given(given, "axes")
                           ? "Provided both ``axes`` and ``axis_names`` arguments: give one of them"
                           : "one of `axes` and `axis_names` must be given");
    return HR_STATUS_OK;
}

/* Number of elements of the dimensions that are not in `dropped`. */
static int64_t volume_without(const hr_shape *shape, uint32_t dropped)
{
    int64_t volume = 1;
    for (int32_t d = 0; d < shape->ndim; d++)
        volume *= dropped >> d & 1 ? 1 : shape->extent[d];
    return volume;
}

/* One bit for each dimension to remove. */
static hr_status find_dropped(const squeeze_args *a, const hr_tensor *in, uint32_t *dropped,
                              hr_error *error)
{
    int32_t n = a->axes.v ? a->axes.n : (int32_t)strlen(a->axis_names);

    for (int32_t i = 0; i < n; i++) {
        int32_t d = a->axes.v ? a->axes.v[i] : hr_layout_find(&in->layout, a->axis_names[i]);
        if (!a->axes.v && d < 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "`axis_names`: axis '%c' is not present in the input layout \"%s\"",
                           a->axis_names[i], in->layout.name);
        if (d < 0 || d >= in->shape.ndim)
            continue;
        if (*dropped >> d & 1)
            return hr_fail(error, HR_STATUS_ERROR,
                           "Specified at least twice same dimension to remove. `axes` has %d twice",
                           (int)d);
        *dropped |= 1u << d;
    }
    /* As in DALI, of a tensor without elements any dimension may go that leaves none, too. */
    const int64_t requested = volume_without(&in->shape, *dropped);
    const int64_t original = volume_without(&in->shape, 0);
    if (requested != original)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Requested a shape with %lld elements but the original shape has %lld "
                       "elements. Only dimensions of extent 1 can be removed",
                       (long long)requested, (long long)original);
    return HR_STATUS_OK;
}

static hr_status squeeze_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_tensor *out = &c->out[0];
    uint32_t dropped = 0;

    HR_TRY(find_dropped(c->args, in, &dropped, error));
    hr_tensor_describe(out, in->dtype, (hr_shape){0}, NULL);
    for (int32_t d = 0; d < in->shape.ndim; d++)
        if (!(dropped >> d & 1))
            hr__dim_insert(out, out->shape.ndim, in->shape.extent[d], in->layout.name[d]);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_squeeze = {
    HR_OP("squeeze"),
    .doc = "Removes dimensions of extent 1 from shape and layout. The elements do not change.",
    .devices = "cpu|gpu",
    .flags =
        HR_OP_ENUMS | HR_OP_VIEW | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(
        squeeze_args,
        HR_ARG(squeeze_args, axes, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
               "Dimensions to remove, each of extent 1. Dimensions that do not exist are ignored."),
        HR_ARG(squeeze_args, axis_names, LAYOUT, HR_ARG_OPTIONAL, NULL,
               "The dimensions as letters of the layout. Not together with `axes`.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = squeeze_check,
    .infer = squeeze_infer,
    .run = hr__view_run,
};
