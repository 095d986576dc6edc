/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* encoders.png: images as PNG files in memory. */
#include "codecs/png/encode.h"
#include "core/deflate.h"
#include "ops/encoders/encode.h"

typedef struct png_args {
    int32_t compression;
} png_args;

static hr_status png_infer(hr_op_call *c, hr_error *error)
{
    const png_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_encode_image image;
    hr_encoded encoded = {0};

    if (in->dtype != HR_DTYPE_UINT8 && in->dtype != HR_DTYPE_UINT16)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be UINT8 or UINT16",
                       hr_dtype_name(in->dtype));
    HR_TRY(hr_encode_take(in, INT32_MAX, &image, error));
    if (image.channels < 1 || image.channels > 4)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %lld channels; it must have 1 (grey), 2 (grey and alpha), 3 "
                       "(red, green and blue) or 4 (with alpha)",
                       (long long)image.channels);
    hr_png_pixels pixels = {in->data, image.height, image.width, (int32_t)image.channels,
                            8 * (int32_t)hr_dtype_size(in->dtype)};
    HR_TRY(hr_png_encode(&pixels, a->compression, c->arena, &encoded.bytes, &encoded.size, error));
    return hr_encode_keep(c, &encoded, error);
}

const hr_op_def hr_op_encoders_png = {
    HR_OP("encoders.png"),
    .doc =
        "Encodes images as PNG files: the output has the bytes of the file, 1-D UINT8. Not in "
        "DALI. The input is UINT8 or UINT16: grey or RGB, with or without alpha. Nothing is lost.",
    .devices = "cpu",
    HR_ARGS(png_args,
            HR_ARG(png_args, compression, INT, HR_ARG_PER_SAMPLE, "6",
                   "Level of compression, from 0 (none) to 12 (smallest files).", .max = 12)),
    .in = HR_INPUTS({.name = "images", .layouts = "HWC|HW"}),
    .infer = png_infer,
    .run = hr_encode_run,
};
