/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* transforms.translation: translates points. */
#include "ops/geometry/transform.h"

static const hr_arg_def translation_arg_defs[] = {
    HR_TRANSFORM_LIST_ARG(offset, HR_ARG_REQUIRED, NULL,
                          "The offset to add, one element per dimension: x, y, ..."),
    HR_TRANSFORM_ORDER_ARG, HR_ARG_END};

static hr_status translation_make(const hr_transform_args *a, hr_affine *matrix, hr_error *error)
{
    const int32_t n = matrix->ndim;

    (void)error;
    for (int32_t i = 0; i < n; i++)
        matrix->m[i * (n + 1) + n] = a->offset.v[i];
    return HR_STATUS_OK;
}

static hr_status translation_infer(hr_op_call *c, hr_error *error)
{
    const hr_transform_args *a = c->args;

    return hr__transform_infer(c, hr__frames_part(a->offset, 0).n, false, translation_make, error);
}

const hr_op_def hr_op_transforms_translation = {
    HR_TRANSFORM_TABLE(translation, "The matrix of a translation. If there is an input, a "
                                    "transform, the result combines both."),
    .aliases = HR_NAMES("transform_translation", "ops:TransformTranslation"),
};
