/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* random_resized_crop: a random window of an image, resized. The window is the region of the
 * resampling, so the filter uses the pixels around it. */
#include "ops/image/filters.h"
#include "ops/image/pixels.h"
#include "ops/image/random_window.h"

typedef struct random_resized_crop_args {
    hr_filter_args filter;
    hr_random_window_args random;
    hr_ints size;
} random_resized_crop_args;

static hr_status random_resized_crop_lower(hr_op_call *c, hr_image_program *program,
                                           hr_error *error)
{
    const random_resized_crop_args *args = c->args;
    hr_window window;
    hr_dtype dtype;

    HR_TRY(hr__filter_dtype(&args->filter, hr_program_dtype(program), &dtype, error));
    HR_TRY(hr__random_window(&args->random, &c->rng, hr_program_extent(program, 'H'),
                             hr_program_extent(program, 'W'), &window, error));
    hr_resample_axis y = {
        .lo = (double)window.y, .hi = (double)(window.y + window.h), .out = args->size.v[0]};
    hr_resample_axis x = {.lo = (double)window.x,
                          .hi = (double)(window.x + window.w),
                          .out = args->size.v[args->size.n - 1]};
    HR_TRY(hr__pixels_check(c, 1, y.out, x.out, error));
    hr__filter_choose(&args->filter, &y);
    hr__filter_choose(&args->filter, &x);
    return hr_program_resample(program, &y, &x, dtype, error);
}

const hr_op_def hr_op_random_resized_crop = {
    HR_OP("random_resized_crop"),
    .doc = "Takes a window of random area, aspect ratio and position, and resizes it to `size`. "
           "All frames of a sequence share the window. Inputs are UINT8, INT16, UINT16 or FLOAT; "
           "the output has the type of the input or FLOAT.",
    .devices = "cpu|gpu",
    .flags = HR_OP_RANDOM | HR_OP_SEQUENCE,
    HR_ARGS(random_resized_crop_args,
            HR_ARG(random_resized_crop_args, size, INTS, HR_ARG_REQUIRED, NULL,
                   "Height and width of the output in pixels; a single number is used for both. "
                   "With 0 the output has no pixels.",
                   .min = 0, .max = 2147483647, .count_min = 1, .count_max = 2),
            HR_RANDOM_WINDOW_ARG_DEFS(random_resized_crop_args, random),
            HR_FILTER_ARG_DEFS(random_resized_crop_args, filter)),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|CHW|FHWC|FCHW|CFHW|HW"}),
    .lower = random_resized_crop_lower,
    .lower_rank = HR_LOWER_RANK_RESAMPLE,
};
