/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* reinterpret: the same bytes as elements of another type, shape or layout. */
#include "ops/generic/new_shape.h"
#include "ops/generic/view.h"

#include <string.h>

typedef struct reinterpret_args {
    hr_new_shape_args to;
    int32_t dtype;
} reinterpret_args;

static hr_status reinterpret_infer(hr_op_call *c, hr_error *error)
{
    const reinterpret_args *a = c->args;
    bool same = a->dtype == HR_DTYPE_NONE;

    if (c->n_in == 1 && same && !a->to.shape.v && !a->to.rel_shape.v && !a->to.src_dims.v &&
        !a->to.layout)
        return hr_fail(error, HR_STATUS_ERROR,
                       "give `dtype`, a new shape (`shape`, `rel_shape`, `src_dims` or a second "
                       "input) or `layout`");
    return hr__new_shape(c, &a->to, same ? c->in[0].dtype : (hr_dtype)a->dtype, error);
}

/* A window of smaller elements may begin at any address. Where elements of the new type would not
 * be aligned, they are copied. */
static hr_status reinterpret_run(hr_op_call *c, hr_error *error)
{
    hr_tensor *out = &c->out[0];
    size_t bytes, total;

    HR_TRY(hr__view_run(c, error));
    if ((uintptr_t)out->data % hr_dtype_size(out->dtype) == 0)
        return HR_STATUS_OK;
    if (c->staging || (out->buffer && hr_buffer_device(out->buffer) != HR_DEVICE_HOST))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input begins at an address that no element of type %s can have; "
                       "copy it first (fn.copy)",
                       hr_dtype_name(out->dtype));
    if (!hr_tensor_bytes(out, &bytes) || !hr_size_mul(bytes, (size_t)c->count, &total))
        return hr_fail(error, HR_STATUS_LIMIT, "the input's size overflows");
    out->data = hr_arena_alloc(c->arena, total, error);
    out->buffer = NULL;
    HR_TRY_ALLOC(out->data);
    memcpy(out->data, c->in[0].data, total);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_reinterpret = {
    HR_OP("reinterpret"),
    .doc = "Returns the same bytes as elements of another type, with another shape or layout. An "
           "optional second input is the new shape.",
    .devices = "cpu|gpu",
    .flags =
        HR_OP_ENUMS | HR_OP_VIEW | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(reinterpret_args, HR_NEW_SHAPE_ARG_DEFS(reinterpret_args, to),
            HR_ARG(reinterpret_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                   "Type of the elements of the output. Default: that of the input. Unless a shape "
                   "is given, the last extent changes with the size of the elements.")),
    .in = HR_INPUTS({.name = "data"}, {.name = "shape_input", .host = true}),
    .in_min = 1,
    .infer = reinterpret_infer,
    .run = reinterpret_run,
};
