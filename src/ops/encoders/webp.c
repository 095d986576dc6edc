/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* encoders.webp: images as WebP files in memory. */
#include "codecs/webp_encode.h"
#include "ops/encoders/encode.h"

typedef struct webp_args {
    float quality;
    int32_t lossless, method;
} webp_args;

static hr_status webp_infer(hr_op_call *c, hr_error *error)
{
    const webp_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_encode_image image;
    hr_encoded encoded = {0};

    if (in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be UINT8",
                       hr_dtype_name(in->dtype));
    HR_TRY(hr_encode_take(in, HR_WEBP_SIDE_MAX, &image, error));
    if (image.channels != 3 && image.channels != 4)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %lld channels; it must have 3 (red, green and blue) or 4 "
                       "(with alpha)",
                       (long long)image.channels);
    hr_webp_encoding how = {a->quality, a->method, a->lossless};
    HR_TRY(hr_webp_encode(in->data, image.height, image.width, image.channels == 4, &how, c->arena,
                          &encoded.bytes, &encoded.size, error));
    return hr_encode_keep(c, &encoded, error);
}

const hr_op_def hr_op_encoders_webp = {
    HR_OP("encoders.webp"),
    .doc = "Encodes images as WebP files, through libwebp: the output has the bytes of the file, "
           "1-D UINT8. Not in DALI. The input is UINT8, RGB or RGBA.",
    .devices = "cpu",
    HR_ARGS(webp_args,
            HR_ARG(webp_args, quality, FLOAT, HR_ARG_PER_SAMPLE, "75",
                   "Quality, from 0 (smallest file) to 100. With `lossless`, larger values take "
                   "longer and make smaller files.",
                   .max = 100),
            HR_ARG(webp_args, lossless, BOOL, 0, "False", "Keep all pixels as they are."),
            HR_ARG(webp_args, method, INT, 0, "4", "From 0 (fast) to 6 (slow, small files).",
                   .max = 6)),
    .in = HR_INPUTS({.name = "images", .layouts = "HWC"}),
    .infer = webp_infer,
    .run = hr_encode_run,
};
