/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* peek_image_shape: reads the size of an image from its header. */
#include "ops/decoders/decode.h"
#include "ops/common/extents.h"

typedef struct peek_args {
    hr_decode_args decode; /* its page and all_pages */
    int32_t dtype, image_type, adjust_orientation;
} peek_args;

static hr_status peek_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__extents_check(((const peek_args *)args)->dtype, error);
}

static hr_status peek_infer(hr_op_call *c, hr_error *error)
{
    const peek_args *args = c->args;
    (void)error;
    hr__extents_describe(c, args->dtype, args->decode.all_pages ? 4 : 3);
    return HR_STATUS_OK;
}

static hr_status peek_run(hr_op_call *c, hr_error *error)
{
    const peek_args *args = c->args;
    const hr_decode_args decode = {.output_type = args->image_type,
                                   .dtype = HR_DTYPE_UINT8,
                                   .adjust_orientation = args->adjust_orientation,
                                   .page = args->decode.page};
    hr_decode_image *image;

    HR_TRY(hr__decode_peek(c, &decode, &image, error));
    const int64_t shape[4] = {image->info.pages, image->height, image->width,
                              hr_image_type_channels(&image->info, image->type)};
    hr__extents_store(c, args->decode.all_pages ? shape : shape + 1);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_peek_image_shape = {
    HR_OP("peek_image_shape"),
    .doc = "Reads height, width and channels of an image from its header, without decoding it. The "
           "input is the bytes of one file per sample (1-D, UINT8), the output has shape (3,), or "
           "(4,) with `all_pages`: the frames come first.",
    .aliases = HR_NAMES("experimental.peek_image_shape"),
    .devices = "cpu",
    HR_ARGS(peek_args, HR_EXTENTS_DTYPE_ARG(peek_args),
            HR_ARG(peek_args, image_type, IMAGE_TYPE, 0, "RGB",
                   "Colour space to which the image would be decoded; it determines the number of "
                   "channels."),
            HR_ARG(peek_args, adjust_orientation, BOOL, 0, "True",
                   "Return height and width after applying the EXIF orientation."),
            HR_PAGE_ARG_DEFS(peek_args, decode)),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"shape"}),
    .check = peek_check,
    .infer = peek_infer,
    .run = peek_run,
};
