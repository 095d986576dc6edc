/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.image_random_crop: decodes a random window of an image, and nothing else. */
#include "ops/decoders/decode.h"
#include "ops/image/random_window.h"

typedef struct image_random_crop_args {
    hr_decode_args decode;
    hr_random_window_args random;
} image_random_crop_args;

static hr_status image_random_crop_window(const hr_op_call *c, const hr_decode_image *image,
                                          hr_window *window, hr_error *error)
{
    const image_random_crop_args *args = c->args;

    return hr__random_window(&args->random, &c->rng, image->height, image->width, window, error);
}

static hr_status image_random_crop_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    return hr__decode_lower(c, image_random_crop_window, program, error);
}

static hr_status image_random_crop_infer(hr_op_call *c, hr_error *error)
{
    return hr__pages_infer(c, image_random_crop_window, error);
}

const hr_op_def hr_op_decoders_image_random_crop = {
    HR_OP("decoders.image_random_crop"),
    .doc = "Decodes a random window of an image. Its area and aspect ratio are drawn from ranges, "
           "its position uniformly. Only what the window needs is decoded. The input is the bytes "
           "of one file per sample (1-D, UINT8), the output is HWC.",
    .aliases = HR_NAMES("image_decoder_random_crop", "ops:HostDecoderRandomCrop",
                        "ops:ImageDecoderRandomCrop", "ops:nvJPEGDecoderRandomCrop",
                        "experimental.decoders.image_random_crop"),
    .devices = "cpu|mixed",
    .flags = HR_OP_RANDOM,
    HR_ARGS(image_random_crop_args, HR_DECODE_ARG_DEFS(image_random_crop_args, decode),
            HR_RANDOM_WINDOW_ARG_DEFS(image_random_crop_args, random)),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"image"}),
    .infer = image_random_crop_infer,
    .run = hr__pages_run,
    .lower = image_random_crop_lower,
    .lower_rank = HR_LOWER_RANK_SOURCE,
};
