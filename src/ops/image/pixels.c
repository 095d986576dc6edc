/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The limit on pixels. */
#include "ops/image/pixels.h"

hr_status hr__pixels_check(const hr_op_call *c, int64_t depth, int64_t height, int64_t width,
                           hr_error *error)
{
    const int64_t limit = hr_task_max_pixels(c->task), extent[3] = {depth, height, width};
    const hr_shape shape = hr_shape_make(3, extent);
    size_t pixels;

    if (hr_shape_volume(&shape, &pixels) && pixels <= (size_t)limit)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "an output of %lldx%lldx%lld (depth x height x width) has more than %lld "
                   "pixels, the limit set by `max_image_pixels`",
                   (long long)depth, (long long)height, (long long)width, (long long)limit);
}
