/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* transforms.rotation: rotates in the plane or about an axis. */
#include "ops/geometry/transform.h"

#include <math.h>

static const hr_arg_def rotation_arg_defs[] = {
    HR_TRANSFORM_LIST_ARG(angle, HR_ARG_REQUIRED, NULL, "The angle in degrees."),
    HR_TRANSFORM_LIST_ARG(axis, HR_ARG_OPTIONAL, NULL,
                          "Axis of a rotation in space, (x, y, z), of any length except 0."),
    HR_TRANSFORM_CENTER_ARG, HR_TRANSFORM_ORDER_ARG, HR_ARG_END};

static hr_status rotation_make(const hr_transform_args *a, hr_affine *matrix, hr_error *error)
{
    if (a->angle.n != 1)
        return hr_fail(error, HR_STATUS_ERROR, "`angle` has %d elements; it must have one",
                       (int)a->angle.n);
    const float angle = a->angle.v[0] * (float)(HR_PI / 180.0);
    const double c = hr_cos((double)angle), s = hr_sin((double)angle);
    float *m = matrix->m;

    if (matrix->ndim == 2) {
        m[0] = m[4] = (float)c;
        m[1] = (float)-s;
        m[3] = (float)s;
        return hr__transform_center(matrix, a->center, error);
    }
    HR_TRY(hr__transform_length(a->axis, "axis", 3, error));
    double v[3], length = 0.0;
    for (int32_t i = 0; i < 3; i++) {
        v[i] = (double)hr__frames_element(a->axis, i);
        length += v[i] * v[i];
    }
    for (int32_t r = 0; r < 3; r++)
        for (int32_t k = 0; k < 3; k++) {
            /* Rodrigues' formula; the axis that is neither r nor k has the sine's sign. */
            double cross = r == k ? c : (k - r + 3) % 3 == 1 ? -s : s;
            double third = r == k ? 1.0 : v[3 - r - k] / sqrt(length);
            m[r * 4 + k] = (float)(v[r] * v[k] / length * (1.0 - c) + cross * third);
        }
    return hr__transform_center(matrix, a->center, error);
}

static hr_status rotation_infer(hr_op_call *c, hr_error *error)
{
    const hr_transform_args *a = c->args;

    return hr__transform_infer(c, a->axis.v ? 3 : 2, false, rotation_make, error);
}

const hr_op_def hr_op_transforms_rotation = {
    HR_TRANSFORM_TABLE(rotation,
                       "The matrix that rotates about a point, or in space about an axis through "
                       "it. If there is an input, a transform, the result combines both."),
};
