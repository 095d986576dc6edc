/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Values per frame. */
#include "ops/geometry/frames.h"

hr_status hr__frames_join(int64_t *frames, int64_t count, bool is_input, const char *name,
                          hr_error *error)
{
    if (*frames == HR_FRAMES_NONE) {
        *frames = count;
        return HR_STATUS_OK;
    }
    if (count == *frames || (count == 1 && !is_input))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s%s%s has %lld frames, but %lld are expected; the numbers must be equal",
                   is_input ? "" : "`", name, is_input ? "" : "`", (long long)count,
                   (long long)*frames);
}

hr_floats hr__frames_part(hr_floats list, int64_t frame)
{
    if (list.frames == 0)
        return list;
    int32_t n = list.n / list.frames;
    return (hr_floats){list.v + (list.frames == 1 ? 0 : frame) * n, n, 0};
}

float hr__frames_element(hr_floats list, int32_t i)
{
    return list.v[list.n == 1 ? 0 : i];
}
