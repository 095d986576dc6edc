/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Filter arguments of resampling operators. */
#include "ops/image/filters.h"

#include <math.h>

void hr__filter_choose(const hr_filter_args *args, hr_resample_axis *axis)
{
    bool shrinks = (double)axis->out < fabs(axis->hi - axis->lo);
    int32_t own = shrinks ? args->min_filter : args->mag_filter;
    int32_t interp = own != HR_INTERP_NONE ? own : args->interp_type;

    axis->interp = interp != HR_INTERP_NONE ? (hr_interp)interp : HR_INTERP_LINEAR;
    axis->antialias = args->antialias != 0;
}

hr_status hr__filter_dtype(const hr_filter_args *args, hr_dtype in, hr_dtype *out, hr_error *error)
{
    if (in != HR_DTYPE_UINT8 && in != HR_DTYPE_INT16 && in != HR_DTYPE_UINT16 &&
        in != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR,
                       "images of type %s cannot be resampled, only UINT8, INT16, UINT16 and FLOAT",
                       hr_dtype_name(in));
    *out = args->dtype == HR_DTYPE_NONE ? in : (hr_dtype)args->dtype;
    if (*out != in && *out != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`dtype` is %s; it must be the type of the input, %s, or FLOAT",
                       hr_dtype_name(*out), hr_dtype_name(in));
    return HR_STATUS_OK;
}
