/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Per-pixel steps in the form in which operators of plug-ins ask for them. */
#include "image/program.h"

hr_status hr_program_cast(hr_image_program *p, hr_dtype dtype, hr_error *error)
{
    const hr_point_step step = {.kind = HR_POINT_KIND_CAST, .dtype = dtype};
    return hr_program_point(p, &step, error);
}

hr_status hr_program_matrix(hr_image_program *p, const float *weights, int32_t out, int32_t in,
                            hr_dtype dtype, hr_error *error)
{
    hr_point_step step = {.kind = HR_POINT_KIND_MATRIX, .dtype = dtype};
    if (out < 1 || out > HR_MATRIX_MAX || in < 1 || in > HR_MATRIX_MAX)
        return hr_fail(error, HR_STATUS_NOT_FUSABLE, "a matrix of more than %d channels",
                       HR_MATRIX_MAX);
    step.matrix.out = out;
    step.matrix.in = in;
    for (int32_t i = 0; i < out; i++, weights += in + 1) {
        for (int32_t k = 0; k < in; k++)
            step.matrix.m[i][k] = weights[k];
        step.matrix.add[i] = weights[in];
    }
    return hr_program_point(p, &step, error);
}

hr_status hr_program_table(hr_image_program *p, const void *table, hr_dtype dtype, hr_error *error)
{
    const hr_point_step step = {.kind = HR_POINT_KIND_TABLE, .dtype = dtype, .table = table};
    return hr_program_point(p, &step, error);
}
