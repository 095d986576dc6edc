/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* transpose: changes the order of dimensions. */
#include "ops/generic/region.h"
#include "ops/generic/view.h"

#include <string.h>

typedef struct transpose_args {
    hr_ints perm;
    int32_t transpose_layout;
    const char *output_layout;
} transpose_args;

static hr_status transpose_check(const void *args, const hr_given *given, hr_error *error)
{
    const transpose_args *a = args;
    uint64_t seen = 0;

    (void)given;
    for (int32_t i = 0; i < a->perm.n; i++) {
        int32_t d = a->perm.v[i];
        if (d < 0 || d >= HR_MIN(a->perm.n, 64) || (seen >> d & 1))
            return hr_fail(
                error, HR_STATUS_ERROR,
                "`perm` has %d at position %d; it must have each of 0 .. %d exactly once", (int)d,
                (int)i, (int)a->perm.n - 1);
        seen |= UINT64_C(1) << d;
    }
    return HR_STATUS_OK;
}

static int32_t source_dim(const transpose_args *a, int32_t ndim, int32_t d)
{
    return a->perm.v ? a->perm.v[d] : ndim - 1 - d;
}

static hr_status parts_make(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    int64_t stride[HR_MAX_NDIM];
    hr_region_parts *parts;

    HR_TRY(hr__parts_make(c->arena, 1, &parts, error));
    hr_region *region = &parts->part[0].region;
    hr__region_init(region, &c->out[0].shape, hr_dtype_size(in->dtype));
    hr__strides(&in->shape, region->item, stride);
    for (int32_t d = 0; d < region->ndim; d++)
        region->from[d] = stride[source_dim(c->args, region->ndim, d)];
    hr__region_simplify(region);
    c->memo = parts;
    return HR_STATUS_OK;
}

static hr_status transpose_infer(hr_op_call *c, hr_error *error)
{
    const transpose_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_tensor *out = &c->out[0];
    int32_t ndim = in->shape.ndim;

    if (a->perm.v && a->perm.n != ndim)
        return hr_fail(error, HR_STATUS_ERROR, "`perm` has %d elements for %d dimensions",
                       (int)a->perm.n, (int)ndim);
    if (a->output_layout && strlen(a->output_layout) != (size_t)ndim)
        return hr_fail(error, HR_STATUS_ERROR, "`output_layout` is \"%s\" for %d dimensions",
                       a->output_layout, (int)ndim);
    hr_tensor_describe(out, in->dtype, in->shape,
                       a->output_layout ? a->output_layout : in->layout.name);
    for (int32_t d = 0; d < ndim; d++) {
        int32_t from = source_dim(a, ndim, d);
        out->shape.extent[d] = in->shape.extent[from];
        if (!a->output_layout && a->transpose_layout)
            out->layout.name[d] = in->layout.name[from];
    }
    return parts_make(c, error);
}

const hr_op_def hr_op_transpose = {
    HR_OP("transpose"),
    .doc = "Changes the order of the dimensions.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(transpose_args,
            HR_ARG(transpose_args, perm, INTS, HR_ARG_OPTIONAL, NULL,
                   "For each dimension of the output, the dimension of the input. Default: "
                   "reversed order."),
            HR_ARG(transpose_args, transpose_layout, BOOL, 0, "True",
                   "Move the letters of the layout with their dimensions; otherwise the layout "
                   "does not change."),
            HR_ARG(transpose_args, output_layout, LAYOUT, HR_ARG_OPTIONAL, NULL,
                   "Layout of the output; overrides `transpose_layout`.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = transpose_check,
    .infer = transpose_infer,
    .run = hr__parts_run,
};
