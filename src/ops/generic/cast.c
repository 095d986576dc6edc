/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* cast: converts elements to another type. On images it is a step of an image program. */
#include "ops/generic/cast.h"
#include "image/program.h"
#include "kernels/elements.h"

typedef struct cast_args {
    int32_t dtype;
} cast_args;

static hr_status cast_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    if (((const cast_args *)args)->dtype == HR_DTYPE_NONE)
        return hr_fail(error, HR_STATUS_ERROR, "`dtype` must be an element type");
    return HR_STATUS_OK;
}

hr_status hr__cast_describe(hr_op_call *c, hr_dtype to, hr_error *error)
{
    hr_dtype from = c->in[0].dtype;

    if ((hr_dtype_is_enum(from) && hr_dtype_is_float(to)) ||
        (hr_dtype_is_float(from) && hr_dtype_is_enum(to)))
        return hr_fail(error, HR_STATUS_ERROR,
                       "Cannot cast from %s to %s. Enums can only participate in casts with "
                       "integral types, but not floating point types.",
                       hr_dtype_dali_name(from), hr_dtype_dali_name(to));
    hr_tensor_describe(&c->out[0], to, c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status cast_infer(hr_op_call *c, hr_error *error)
{
    return hr__cast_describe(c, (hr_dtype)((const cast_args *)c->args)->dtype, error);
}

static hr_status cast_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const hr_point_step step = {.kind = HR_POINT_KIND_CAST,
                                .dtype = (hr_dtype)((const cast_args *)c->args)->dtype};

    return hr_program_point(program, &step, error);
}

hr_status hr__cast_run(hr_op_call *c, hr_error *error)
{
    size_t count;
    if (!hr_shape_volume(&c->in[0].shape, &count))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    hr_kernels_convert(c->kernels, c->out[0].data, c->out[0].dtype, c->in[0].data, c->in[0].dtype,
                       count * (size_t)c->count);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_cast = {
    HR_OP("cast"),
    .doc = "Converts elements to another type. Floats are rounded (halves away from zero), values "
           "outside the range of the type saturate, and NaN becomes 0. BOOL is True where the "
           "rounded value is not 0. Enumerations (INTERP_TYPE) convert from and to integers. Shape "
           "and layout do not change.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(cast_args,
            HR_ARG(cast_args, dtype, DTYPE, HR_ARG_REQUIRED, NULL, "Type of the output.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = cast_check,
    .infer = cast_infer,
    .lower = cast_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
    .run = hr__cast_run,
};
