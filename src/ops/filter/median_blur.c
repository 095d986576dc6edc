/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* median_blur: the median of a window around each pixel. */
#include "ops/filter/window.h"

typedef struct median_blur_args {
    hr_ints window_size;
} median_blur_args;

static hr_status median_blur_infer(hr_op_call *c, hr_error *error)
{
    const median_blur_args *a = c->args;
    const hr_ints size = a->window_size;
    hr_windows *m;
    hr_reach *reach;
    hr_data_axes axes;

    HR_TRY(hr__axis_count_check("window_size", size.n, 2, error));
    for (int32_t i = 0; i < size.n; i++)
        if (size.v[i] % 2 == 0)
            return hr_fail(error, HR_STATUS_ERROR, "`window_size` is %d; it must be odd",
                           (int)size.v[i]);
    HR_TRY(
        hr__windows_infer(c, HR_WINDOW_KIND_MEDIAN, HR_BORDER_CLAMP, 1, &m, &reach, &axes, error));
    int32_t x = size.v[0] / 2, y = size.v[size.n - 1] / 2;
    *reach = (hr_reach){.up = y, .down = y, .left = x, .right = x};
    return HR_STATUS_OK;
}

const hr_op_def hr_op_median_blur = {
    HR_OP("experimental.median_blur"),
    .doc = "Makes each pixel the median of a rectangular window around it, per channel. Pixels "
           "outside the image are those at its edge. " HR_WINDOW_TYPES,
    HR_WINDOW_FIELDS,
    HR_ARGS(median_blur_args,
            HR_ARG(median_blur_args, window_size, INTS, HR_ARG_PER_SAMPLE | HR_ARG_SCALAR_OK,
                   "[3, 3]", "Width and height of the window, odd; one number stands for both.",
                   .min = 1, .max = 255)),
    .infer = median_blur_infer,
};
