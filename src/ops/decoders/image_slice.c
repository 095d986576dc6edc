/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.image_slice: decodes a window of an image, given by start and end, and nothing else. */
#include "ops/decoders/decode.h"
#include "ops/common/slice_range.h"

typedef struct image_slice_args {
    hr_decode_args decode;
    hr_slice_args window;
} image_slice_args;

/* The axes (0 height, 1 width) to which the elements of the window's arguments refer. */
static hr_status slice_axes(const hr_slice_args *a, int32_t *axes, int32_t *count, hr_error *error)
{
    const char *names = a->axis_names ? a->axis_names : "WH";

    *count = 0;
    for (int32_t i = 0; a->axes.v ? i < a->axes.n : names[i] != '\0'; i++) {
        int32_t axis = a->axes.v ? a->axes.v[i] : names[i] == 'H' ? 0 : names[i] == 'W' ? 1 : 9;
        axis += axis < 0 ? 2 : 0;
        if (axis < 0 || axis > 1)
            return hr_fail(
                error, HR_STATUS_ERROR,
                "%s has an axis that cannot be sliced; only height (0, H) and width (1, W) can",
                a->axes.v ? "`axes`" : "`axis_names`");
        if (*count == 2 || (*count == 1 && axes[0] == axis))
            return hr_fail(error, HR_STATUS_ERROR, "%s has an axis twice",
                           a->axes.v ? "`axes`" : "`axis_names`");
        axes[(*count)++] = axis;
    }
    return HR_STATUS_OK;
}

static hr_status slice_window(const hr_op_call *c, const hr_decode_image *image, hr_window *window,
                              hr_error *error)
{
    const hr_slice_args *a = &((const image_slice_args *)c->args)->window;
    const int64_t extent[2] = {image->height, image->width};
    int64_t from[2] = {0, 0}, to[2] = {extent[0], extent[1]};
    int32_t axes[2], count = 0;

    HR_TRY(hr__slice_given(c, a, error));
    HR_TRY(slice_axes(a, axes, &count, error));
    for (int32_t i = 0; i < count; i++) {
        int32_t axis = axes[i];
        HR_TRY(hr__slice_range(c, a, count, i, extent[axis], &from[axis], &to[axis], error));
        if (from[axis] < 0 || to[axis] == from[axis] || to[axis] > extent[axis])
            return hr_fail(
                error, HR_STATUS_ERROR,
                "cropping window %lld..%lld along the %s, which is 0..%lld, is not valid "
                "for image dimensions [%lldx%lld]",
                (long long)from[axis], (long long)to[axis], axis == 0 ? "height" : "width",
                (long long)extent[axis], (long long)extent[0], (long long)extent[1]);
    }
    *window = (hr_window){from[0], from[1], to[0] - from[0], to[1] - from[1]};
    return HR_STATUS_OK;
}

static hr_status image_slice_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    return hr__decode_lower(c, slice_window, program, error);
}

static hr_status image_slice_infer(hr_op_call *c, hr_error *error)
{
    return hr__pages_infer(c, slice_window, error);
}

const hr_op_def hr_op_decoders_image_slice = {
    HR_OP("decoders.image_slice"),
    .doc = "Decodes a window of an image. The window is given by its start and its end or size, in "
           "pixels or in fractions of the extent; x comes before y unless `axes` or `axis_names` "
           "are given. Inputs are the bytes of one file per sample (1-D, UINT8), and optionally "
           "the anchor and shape of the window. The output is HWC. A window that extends beyond "
           "the image is an error.",
    .aliases = HR_NAMES("image_decoder_slice", "ops:HostDecoderSlice", "ops:ImageDecoderSlice",
                        "ops:nvJPEGDecoderSlice", "experimental.decoders.image_slice"),
    .devices = "cpu|mixed",
    HR_ARGS(image_slice_args, HR_DECODE_ARG_DEFS(image_slice_args, decode),
            HR_SLICE_ARG_DEFS(image_slice_args, window)),
    .in = HR_INPUTS({.name = "data"}, {.name = "anchor"}, {.name = "shape_input"}),
    .in_min = 1,
    .out = HR_OUTPUTS({"image"}),
    .infer = image_slice_infer,
    .run = hr__pages_run,
    .lower = image_slice_lower,
    .lower_rank = HR_LOWER_RANK_SOURCE,
};
