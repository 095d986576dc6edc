/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* transforms.scale: scales coordinates. */
#include "ops/geometry/transform.h"

static const hr_arg_def scale_arg_defs[] = {
    HR_TRANSFORM_CENTER_ARG,
    HR_ARG(hr_transform_args, ndim, INT, HR_ARG_OPTIONAL, NULL,
           "Number of dimensions if `scale` is one number and there is no input. Default: 1."),
    HR_TRANSFORM_LIST_ARG(scale, HR_ARG_REQUIRED, NULL,
                          "The factors, one per dimension or one for all."),
    HR_TRANSFORM_ORDER_ARG, HR_ARG_END};

static hr_status scale_make(const hr_transform_args *a, hr_affine *matrix, hr_error *error)
{
    HR_TRY(hr__transform_length(a->scale, "scale", matrix->ndim, error));
    for (int32_t i = 0; i < matrix->ndim; i++)
        matrix->m[i * (matrix->ndim + 2)] = hr__frames_element(a->scale, i);
    return hr__transform_center(matrix, a->center, error);
}

static hr_status scale_infer(hr_op_call *c, hr_error *error)
{
    const hr_transform_args *a = c->args;
    const int32_t n = hr__frames_part(a->scale, 0).n;

    if (n == 1)
        return hr__transform_infer(c, a->ndim > 1 ? a->ndim : 1, true, scale_make, error);
    return hr__transform_infer(c, n, false, scale_make, error);
}

const hr_op_def hr_op_transforms_scale = {
    HR_TRANSFORM_TABLE(scale, "The matrix that scales coordinates about a point. If there is an "
                              "input, a transform, the result combines both."),
};
