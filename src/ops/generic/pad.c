/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* pad: adds elements at the ends of axes, up to the largest extent in the batch or a given size. */
#include "ops/generic/view.h"
#include "ops/generic/window_parts.h"

typedef struct pad_args {
    hr_ints axes, shape, align;
    const char *axis_names;
    float fill_value;
} pad_args;

/* Sizes given per sample may refer to the batch. */
static bool pad_whole_batch(const void *args, const hr_given *given)
{
    const pad_args *a = args;
    bool whole = !a->shape.v || a->shape.n == 0;

    (void)given;
    for (int32_t i = 0; i < a->shape.n; i++)
        whole = whole || a->shape.v[i] <= 0;
    return whole;
}

/* Writes the largest extents of all samples, from which `infer` chooses. */
static hr_status pad_infer_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    hr_shape most = calls[0].in[0].shape;

    (void)error;
    for (int32_t i = 1; i < n; i++)
        for (int32_t d = 0; d < HR_MIN(most.ndim, calls[i].in[0].shape.ndim); d++)
            most.extent[d] = HR_MAX(most.extent[d], calls[i].in[0].shape.extent[d]);
    for (int32_t i = 0; i < n; i++)
        calls[i].out[0].shape = most;
    return HR_STATUS_OK;
}

static hr_status element(const char *name, hr_ints list, int32_t i, int32_t count, int64_t *value,
                         hr_error *error)
{
    if (!list.v || list.n == 0)
        return HR_STATUS_OK;
    if (list.n != 1 && list.n != count)
        return hr_fail(error, HR_STATUS_ERROR, "`%s` has %d elements for %d axes", name,
                       (int)list.n, (int)count);
    *value = list.v[list.n == 1 ? 0 : i];
    return HR_STATUS_OK;
}

static hr_status pad_infer(hr_op_call *c, hr_error *error)
{
    const pad_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const int64_t start[HR_MAX_NDIM] = {0};
    hr_shape most = c->out[0].shape;
    int32_t axes[HR_MAX_NDIM], count;

    if (in->shape.ndim == 0)
        return hr_fail(error, HR_STATUS_ERROR, "a number without dimensions cannot be padded");
    HR_TRY(hr__axes_resolve(in, a->axes, a->axis_names, axes, &count, error));
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, in->layout.name);
    for (int32_t i = 0; i < count; i++) {
        int64_t *extent = &c->out[0].shape.extent[axes[i]], wanted = 0, align = 1;
        HR_TRY(element("shape", a->shape, i, count, &wanted, error));
        HR_TRY(element("align", a->align, i, count, &align, error));
        if (align < 1)
            return hr_fail(error, HR_STATUS_ERROR,
                           "Values of `align` argument must be positive. Got %lld",
                           (long long)align);
        *extent = HR_MAX(*extent, wanted > 0 ? wanted : most.extent[axes[i]]);
        int64_t over = *extent % align;
        *extent += over ? align - over : 0;
    }
    return hr__window_parts(c, start, &a->fill_value, 1, -1, error);
}

const hr_op_def hr_op_pad = {
    HR_OP("pad"),
    .doc = "Adds elements at the ends of axes, so that all samples reach the largest extent in the "
           "batch, or a given extent.",
    .devices = "cpu|gpu",
    HR_ARGS(pad_args,
            HR_ARG(pad_args, axes, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "Axes to pad; negative numbers count from the end. Default: all."),
            HR_ARG(pad_args, axis_names, LAYOUT, HR_ARG_OPTIONAL, NULL,
                   "The axes as letters of the layout. Not together with `axes`.",
                   .excludes = "axes"),
            HR_ARG(pad_args, shape, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "Extents to reach, one per axis or one for all. Larger samples do not change. 0 "
                   "or less, or not given: the largest extent in the batch."),
            HR_ARG(pad_args, align, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "Extents become multiples of these numbers, one per axis or one for all."),
            HR_ARG(pad_args, fill_value, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_NONFINITE, "0.0",
                   "Value of the new elements; for integer types it is truncated.")),
    .in = HR_INPUTS({.name = "data"}),
    .whole_batch = pad_whole_batch,
    .infer_batch = pad_infer_batch,
    .infer = pad_infer,
    .run = hr__parts_run,
};
