/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.image: decodes whole images. */
#include "ops/decoders/decode.h"

typedef struct image_args {
    hr_decode_args decode;
} image_args;

static hr_status image_window(const hr_op_call *c, const hr_decode_image *image, hr_window *window,
                              hr_error *error)
{
    (void)c;
    (void)error;
    *window = (hr_window){.h = image->height, .w = image->width};
    return HR_STATUS_OK;
}

static hr_status image_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    return hr__decode_lower(c, image_window, program, error);
}

static hr_status image_infer(hr_op_call *c, hr_error *error)
{
    return hr__pages_infer(c, image_window, error);
}

const hr_op_def hr_op_decoders_image = {
    HR_OP("decoders.image"),
    .doc = "Decodes images. The input is the bytes of one file per sample (1-D, UINT8): JPEG, JPEG "
           "2000, PNG, TIFF, BMP, PNM, GIF, WebP, AVIF, HEIC or JPEG XL, recognised by content. "
           "The output is HWC. A file that cannot be decoded raises an error, or its sample is "
           "replaced or skipped, as the pipeline argument `on_error` says.",
    .aliases = HR_NAMES("image_decoder", "ops:HostDecoder", "ops:ImageDecoder", "ops:nvJPEGDecoder",
                        "experimental.decoders.image"),
    .devices = "cpu|mixed",
    HR_ARGS(
        image_args, HR_DECODE_ARG_DEFS(image_args, decode),
        HR_ARG_ACCEPT(cache_size, INT, "0", "No effect: decoded images are not cached."),
        HR_ARG_ACCEPT(cache_threshold, INT, "0", "No effect: decoded images are not cached."),
        HR_ARG_ACCEPT(cache_type, STRING, "\"\"", "No effect: decoded images are not cached."),
        HR_ARG_ACCEPT(cache_batch_copy, BOOL, "True", "No effect: decoded images are not cached."),
        HR_ARG_ACCEPT(cache_debug, BOOL, "False", "No effect: decoded images are not cached.")),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"image"}),
    .infer = image_infer,
    .run = hr__pages_run,
    .lower = image_lower,
    .lower_rank = HR_LOWER_RANK_SOURCE,
};
