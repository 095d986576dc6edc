/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.image_crop: decodes a window of an image, positioned as in `crop`, and nothing else. */
#include "ops/decoders/decode.h"
#include "ops/image/crop_window.h"

typedef struct image_crop_args {
    hr_decode_args decode;
    hr_crop_args crop;
} image_crop_args;

static hr_status image_crop_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)args;
    return hr__crop_check(given, error);
}

static hr_status image_crop_window(const hr_op_call *c, const hr_decode_image *image,
                                   hr_window *window, hr_error *error)
{
    const image_crop_args *args = c->args;
    hr_crop_box box;

    HR_TRY(hr__crop_box(&args->crop, false, 1, image->height, image->width, &box, error));
    if (box.y.size > image->height || box.x.size > image->width)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "cropping window of rows %lld..%lld and columns %lld..%lld is not valid for image "
            "dimensions [%lldx%lld]",
            (long long)box.y.start, (long long)(box.y.start + box.y.size), (long long)box.x.start,
            (long long)(box.x.start + box.x.size), (long long)image->height,
            (long long)image->width);
    *window = (hr_window){box.y.start, box.x.start, box.y.size, box.x.size};
    return HR_STATUS_OK;
}

static hr_status image_crop_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    return hr__decode_lower(c, image_crop_window, program, error);
}

static hr_status image_crop_infer(hr_op_call *c, hr_error *error)
{
    return hr__pages_infer(c, image_crop_window, error);
}

const hr_op_def hr_op_decoders_image_crop = {
    HR_OP("decoders.image_crop"),
    .doc =
        "Decodes a window of an image. The pixels are those of `decoders.image` followed by "
        "`crop`, but only what the window needs is decoded. The input is the bytes of one file per "
        "sample (1-D, UINT8), the output is HWC. A window larger than the image is an error.",
    .aliases = HR_NAMES("image_decoder_crop", "ops:HostDecoderCrop", "ops:ImageDecoderCrop",
                        "ops:nvJPEGDecoderCrop", "experimental.decoders.image_crop"),
    .devices = "cpu|mixed",
    HR_ARGS(image_crop_args, HR_DECODE_ARG_DEFS(image_crop_args, decode),
            HR_CROP_ARG_DEFS(image_crop_args, crop)),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"image"}),
    .check = image_crop_check,
    .infer = image_crop_infer,
    .run = hr__pages_run,
    .lower = image_crop_lower,
    .lower_rank = HR_LOWER_RANK_SOURCE,
};
