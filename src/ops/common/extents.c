/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Outputs that contain extents. */
#include "ops/common/extents.h"

hr_status hr__extents_check(int32_t dtype, hr_error *error)
{
    switch (dtype) {
    case HR_DTYPE_INT32:
    case HR_DTYPE_UINT32:
    case HR_DTYPE_INT64:
    case HR_DTYPE_UINT64:
    case HR_DTYPE_FLOAT:
    case HR_DTYPE_FLOAT64:
        return HR_STATUS_OK;
    default:
        return hr_fail(error, HR_STATUS_ERROR,
                       "`dtype` is %s; it must be INT32, UINT32, INT64, UINT64, FLOAT or FLOAT64",
                       hr_dtype_name((hr_dtype)dtype));
    }
}

void hr__extents_describe(hr_op_call *c, int32_t dtype, int32_t count)
{
    const int64_t extent = count;

    hr_tensor_describe(&c->out[0], (hr_dtype)dtype, hr_shape_make(1, &extent), NULL);
}

void hr__extents_store(hr_op_call *c, const int64_t *extent)
{
    hr_convert(c->out[0].data, c->out[0].dtype, extent, HR_DTYPE_INT64,
               (size_t)c->out[0].shape.extent[0]);
}
