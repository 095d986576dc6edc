/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/filter/axes.h"

#include "image/program.h"

#include <string.h>

hr_status hr__data_axes(const hr_layout *layout, int32_t ndim, hr_data_axes *out, hr_error *error)
{
    const char *name = layout->name;
    int32_t first = 0, end = ndim;

    out->layout = name;
    out->frames = name[0] == 'F';
    if (strspn(name, "FC") > 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Found more the one occurrence of 'F' or 'C' axes in layout: %s.", name);
    if (name[0] != '\0') {
        bool channels = false;
        for (; first < ndim && first < 2 && (name[first] == 'F' || name[first] == 'C'); first++)
            channels |= name[first] == 'C';
        if (!channels && end > first && name[end - 1] == 'C')
            end--;
        for (int32_t d = first; d < end; d++)
            if (name[d] == 'F' || name[d] == 'C')
                return hr_fail(error, HR_STATUS_ERROR,
                               name[d] == 'F'
                                   ? "For sequences, layout should begin with 'F' or 'C', got: %s."
                                   : "Only channel-first or channel-last layouts are supported, "
                                     "got: %s.",
                               name);
    }
    if (end - first < 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "No spatial axes found in the layout: the input has no dimensions to filter");
    if (end - first > HR_DATA_AXES_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Too many dimensions, found: %d data axes, maximum supported is: %d. Frames "
                       "and channels are not counted.",
                       (int)(end - first), HR_DATA_AXES_MAX);
    out->first = first;
    out->count = end - first;
    return HR_STATUS_OK;
}

hr_status hr__data_axes_of_program(const hr_image_program *p, hr_data_axes *out, hr_error *error)
{
    return hr__data_axes(&p->layout, (int32_t)strlen(p->layout.name), out, error);
}

hr_floats hr__frame_floats(hr_floats list, int64_t frame)
{
    if (list.frames < 1)
        return list;
    int32_t n = list.n / list.frames;
    return (hr_floats){list.v + (list.frames == 1 ? 0 : frame) * n, n, 0};
}

hr_ints hr__frame_ints(hr_ints list, int64_t frame)
{
    if (list.frames < 1)
        return list;
    int32_t n = list.n / list.frames;
    return (hr_ints){list.v + (list.frames == 1 ? 0 : frame) * n, n, 0};
}

hr_status hr__frame_count_check(const char *name, int32_t given, const hr_data_axes *axes,
                                int64_t frames, hr_error *error)
{
    if (given == 0 || given == 1)
        return HR_STATUS_OK;
    if (!axes->frames)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "Tensor input for argument %s is specified per frame (got F layout). In that "
            "case, samples in the input 0 must contain frames too. Got layout `%s` that "
            "does not contain frames.",
            name, axes->layout);
    if (given != frames)
        return hr_fail(error, HR_STATUS_ERROR, "`%s` has values for %d frames; the input has %lld",
                       name, (int)given, (long long)frames);
    return HR_STATUS_OK;
}

hr_status hr__axis_count_check(const char *name, int32_t n, int32_t axes, hr_error *error)
{
    if (n == 1 || n == axes)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "Argument \"%s\" expects either a single value or a list of %d elements. %d "
                   "given.",
                   name, (int)axes, (int)n);
}

hr_status hr__filtered_dtype(int32_t dtype, hr_dtype in, hr_dtype *out, hr_error *error)
{
    *out = dtype == HR_DTYPE_NONE ? in : (hr_dtype)dtype;
    if (in == HR_DTYPE_BOOL)
        return hr_fail(error, HR_STATUS_ERROR, "the input is BOOL, which cannot be filtered");
    if (*out == in || *out == HR_DTYPE_FLOAT)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "Output data type must be same as input, FLOAT or skipped. `dtype` is %s, the "
                   "input %s.",
                   hr_dtype_name(*out), hr_dtype_name(in));
}
