/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* transforms.crop: maps one box to another. */
#include "ops/geometry/transform.h"

static const hr_arg_def crop_arg_defs[] = {
    HR_ARG(hr_transform_args, absolute, BOOL, 0, "False",
           "Swap start and end where the end is less than the start, so that nothing is mirrored."),
    HR_TRANSFORM_LIST_ARG(from_end, 0, "[1.0]",
                          "End of the source box, one element per dimension or one for all."),
    HR_TRANSFORM_LIST_ARG(from_start, 0, "[0.0]",
                          "Start of the source box, one element per dimension or one for all."),
    HR_TRANSFORM_LIST_ARG(to_end, 0, "[1.0]",
                          "End of the target box, one element per dimension or one for all."),
    HR_TRANSFORM_LIST_ARG(to_start, 0, "[0.0]",
                          "Start of the target box, one element per dimension or one for all."),
    HR_TRANSFORM_ORDER_ARG,
    HR_ARG_END};

/* Start and end of a box along a dimension. */
static void side(const hr_transform_args *a, hr_floats start, hr_floats end, int32_t i, float *low,
                 float *high)
{
    float s = hr__frames_element(start, i), e = hr__frames_element(end, i);

    *low = a->absolute && e < s ? e : s;
    *high = a->absolute && e < s ? s : e;
}

static hr_status crop_make(const hr_transform_args *a, hr_affine *matrix, hr_error *error)
{
    const int32_t n = matrix->ndim;

    HR_TRY(hr__transform_length(a->from_start, "from_start", n, error));
    HR_TRY(hr__transform_length(a->from_end, "from_end", n, error));
    HR_TRY(hr__transform_length(a->to_start, "to_start", n, error));
    HR_TRY(hr__transform_length(a->to_end, "to_end", n, error));
    for (int32_t i = 0; i < n; i++) {
        float from, from_end, to, to_end;
        side(a, a->from_start, a->from_end, i, &from, &from_end);
        side(a, a->to_start, a->to_end, i, &to, &to_end);
        const float scale = (to_end - to) / (from_end - from);
        matrix->m[i * (n + 2)] = scale;
        matrix->m[i * (n + 1) + n] = to - scale * from;
    }
    return HR_STATUS_OK;
}

static hr_status crop_infer(hr_op_call *c, hr_error *error)
{
    const hr_transform_args *a = c->args;
    const hr_floats lists[] = {a->from_start, a->from_end, a->to_start, a->to_end};
    int32_t n = 1;

    for (size_t i = 0; i < HR_COUNT_OF(lists); i++)
        n = HR_MAX(n, hr__frames_part(lists[i], 0).n);
    return hr__transform_infer(c, n, false, crop_make, error);
}

const hr_op_def hr_op_transforms_crop = {
    HR_TRANSFORM_TABLE(crop, "The matrix that maps the corners of one box to those of another. If "
                             "there is an input, a transform, the result combines both."),
};
