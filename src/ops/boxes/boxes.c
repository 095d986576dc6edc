/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Checks of inputs with boxes and labels. */
#include "ops/boxes/boxes.h"

hr_status hr__boxes_flat(const hr_op_call *c, int32_t i, int64_t *count, hr_error *error)
{
    const hr_tensor *in = &c->in[i];
    char text[128];
    size_t volume;

    if (in->dtype != HR_DTYPE_FLOAT || !hr_shape_volume(&in->shape, &volume) || volume % 4 != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has type %s and shape %s; boxes must be FLOAT, with four numbers "
                       "for each box",
                       hr_dtype_name(in->dtype), hr_shape_text(&in->shape, text, sizeof(text)));
    *count = (int64_t)(volume / 4);
    return HR_STATUS_OK;
}

hr_status hr__boxes_rows(const hr_op_call *c, int32_t i, int64_t least, int64_t most,
                         hr_error *error)
{
    const hr_tensor *in = &c->in[i];
    char text[128];

    if (in->dtype == HR_DTYPE_FLOAT && in->shape.ndim == 2 && in->shape.extent[1] % 2 == 0 &&
        in->shape.extent[1] >= least && in->shape.extent[1] <= most &&
        in->shape.extent[0] <= INT32_MAX)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "input %d has type %s and shape %s; boxes must be FLOAT with shape (boxes, %lld)"
                   "%s",
                   (int)i, hr_dtype_name(in->dtype), hr_shape_text(&in->shape, text, sizeof(text)),
                   (long long)least, most > least ? ", or (boxes, 6) with three dimensions" : "");
}

hr_status hr__boxes_labels(const hr_op_call *c, int32_t i, int64_t count, hr_error *error)
{
    const hr_tensor *in = &c->in[i];
    char text[128];

    if (in->dtype == HR_DTYPE_INT32 && in->shape.ndim >= 1 && in->shape.extent[0] == count)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "input %d has type %s and shape %s; labels must be INT32, one for each of %lld "
                   "boxes",
                   (int)i, hr_dtype_name(in->dtype), hr_shape_text(&in->shape, text, sizeof(text)),
                   (long long)count);
}
