/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Boxes that move with their image. */
#include "ops/torchvision/rows.h"

#include <string.h>

enum { SIDE_MAX = 1 << 24 }; /* whole numbers up to this are exact in single precision */

static bool is_side(float v)
{
    return v >= 0.0f && v <= (float)SIDE_MAX && v == (float)(int64_t)v;
}

hr_status hr__rows_check(const hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const float *v = in->data;

    if (in->dtype != HR_DTYPE_FLOAT || in->shape.ndim != 2 || in->shape.extent[1] != HR_ROW ||
        in->shape.extent[0] < 1 || in->shape.extent[0] > SIDE_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "boxes must be FLOAT, with rows of 5 numbers");
    if (!is_side(v[2]) || !is_side(v[3]))
        return hr_fail(error, HR_STATUS_ERROR, "the first row must have the size of the image");
    return HR_STATUS_OK;
}

hr_status hr__rows_infer(hr_op_call *c, hr_error *error)
{
    HR_TRY(hr__rows_check(c, error));
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, c->in[0].shape, NULL);
    return HR_STATUS_OK;
}

hr_status hr__rows_run(hr_op_call *c, hr_box_rows_fn move, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_box_rows rows = {c->out[0].data, in->shape.extent[0]};
    memcpy(rows.v, in->data, (size_t)rows.n * HR_ROW * sizeof(float));
    return move(c, &rows, error);
}

void hr__rows_resize(hr_box_rows *rows, int64_t h, int64_t w)
{
    rows->v[2] = (float)w;
    rows->v[3] = (float)h;
}

void hr__rows_clamp(hr_box_rows *rows)
{
    const float most[2] = {rows->v[2], rows->v[3]};

    for (int64_t i = 1; i < rows->n; i++)
        for (int32_t k = 0; k < 4; k++) {
            float *v = &rows->v[i * HR_ROW + k]; /* NaN stays */
            *v = *v < 0.0f ? 0.0f : *v > most[k % 2] ? most[k % 2] : *v;
        }
}

void hr__rows_window(hr_box_rows *rows, int64_t y, int64_t x, int64_t h, int64_t w)
{
    const float start[2] = {(float)x, (float)y};

    for (int64_t i = 1; i < rows->n; i++)
        for (int32_t k = 0; k < 4; k++)
            rows->v[i * HR_ROW + k] -= start[k % 2];
    hr__rows_resize(rows, h, w);
    hr__rows_clamp(rows);
}
