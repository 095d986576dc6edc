/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* transforms.shear: shears. */
#include "ops/geometry/transform.h"

static const hr_arg_def shear_arg_defs[] = {
    HR_TRANSFORM_LIST_ARG(
        angles, HR_ARG_OPTIONAL, NULL,
        "The factors as shear angles in degrees, -90 .. 90. Not together with `shear`."),
    HR_TRANSFORM_CENTER_ARG,
    HR_TRANSFORM_LIST_ARG(shear, HR_ARG_OPTIONAL, NULL,
                          "The factors. In the plane (xy, yx), in space (xy, xz, yx, yz, zx, zy), "
                          "where xy is the factor by which y is added to x."),
    HR_TRANSFORM_ORDER_ARG, HR_ARG_END};

static hr_status shear_make(const hr_transform_args *a, hr_affine *matrix, hr_error *error)
{
    const int32_t n = matrix->ndim;
    int32_t at = 0;

    for (int32_t r = 0; r < n; r++)
        for (int32_t k = 0; k < n; k++) {
            if (r == k)
                continue;
            float v = a->shear.v ? a->shear.v[at] : a->angles.v[at];
            if (a->angles.v && !(v >= -90.0f && v <= 90.0f))
                return hr_fail(error, HR_STATUS_ERROR,
                               "`angles` has %g; angles must be in -90 .. 90", (double)v);
            double radians = (double)(v * (float)(HR_PI / 180.0));
            matrix->m[r * (n + 1) + k] =
                a->shear.v ? v : (float)(hr_sin(radians) / hr_cos(radians));
            at++;
        }
    return hr__transform_center(matrix, a->center, error);
}

static hr_status shear_check(const void *args, const hr_given *given, hr_error *error)
{
    const bool shear = hr_arg_given(given, "shear");

    (void)args;
    if (shear == hr_arg_given(given, "angles"))
        return hr_fail(error, HR_STATUS_ERROR, "exactly one of `shear` and `angles` must be given");
    return HR_STATUS_OK;
}

static hr_status shear_infer(hr_op_call *c, hr_error *error)
{
    const hr_transform_args *a = c->args;
    const int32_t n = hr__frames_part(a->shear.v ? a->shear : a->angles, 0).n;

    if (n != 2 && n != 6)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "there are %d factors; there must be 2 for a shear in the plane or 6 for one in space",
            (int)n);
    return hr__transform_infer(c, n == 2 ? 2 : 3, false, shear_make, error);
}

const hr_op_def hr_op_transforms_shear = {
    HR_TRANSFORM_TABLE(shear,
                       "The matrix that moves points along an axis by multiples of the other "
                       "coordinates. If there is an input, a transform, the result combines both."),
    .check = shear_check,
};
