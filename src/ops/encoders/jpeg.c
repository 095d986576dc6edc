/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* encoders.jpeg: images as JPEG files in memory. */
#include "ops/encoders/jpeg.h"

#include "headrace/operator.h"
#include "ops/encoders/encode.h"

const hr_arg_def hr_jpeg_arg_defs[] = {
    HR_ARG(hr_jpeg_args, quality, INT, HR_ARG_PER_SAMPLE, "75",
           "Quality, from 1 (smallest file) to 100. It scales the quantisers as in libjpeg.",
           .min = 1, .max = 100),
    HR_ARG(hr_jpeg_args, subsampling, STRING, 0, "\"4:2:0\"",
           "Size of chroma: half the width and the height of the image (\"4:2:0\"), half the width "
           "(\"4:2:2\"), or all of it (\"4:4:4\"). Has no effect on grey images.",
           .choices = "4:2:0|4:2:2|4:4:4"),
    HR_ARG(hr_jpeg_args, optimize, BOOL, 0, "False",
           "Compute Huffman tables for every image. Files are a few percent smaller, and encoding "
           "takes longer."),
    HR_ARG(hr_jpeg_args, restart_rows, INT, 0, "1",
           "Rows of blocks (8 pixels high, or 16 with \"4:2:0\") from one restart marker to the "
           "next. Decoders can begin at these markers, so parts of an image can be decoded alone "
           "or in parallel; each takes 2 to 3 bytes. 0: none.",
           .min = 0, .max = 65535),
    HR_ARG_END};

hr_status hr_jpeg_take(const hr_op_call *c, hr_jpeg_pixels *image, hr_jpeg_encoding *how,
                       hr_error *error)
{
    const hr_jpeg_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_encode_image size;

    if (in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be UINT8",
                       hr_dtype_name(in->dtype));
    HR_TRY(hr_encode_take(in, HR_JPEG_SIDE_MAX, &size, error));
    if (size.channels != 1 && size.channels != 3)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %lld channels; it must have 3 (red, green and blue) or 1 "
                       "(grey)",
                       (long long)size.channels);
    *image = (hr_jpeg_pixels){in->data, size.height, size.width, (int32_t)size.channels};
    *how = (hr_jpeg_encoding){.quality = a->quality,
                              .h = a->subsampling[2] == '2' ? 2 : 1,
                              .v = a->subsampling[4] == '0' ? 2 : 1,
                              .restart_rows = a->restart_rows,
                              .optimize = a->optimize};
    return HR_STATUS_OK;
}

static hr_status jpeg_infer(hr_op_call *c, hr_error *error)
{
    hr_jpeg_pixels image;
    hr_jpeg_encoding how;
    hr_jpeg_encoded *encoded = NULL;

    HR_TRY(hr_jpeg_take(c, &image, &how, error));
    HR_TRY(hr_jpeg_encode(&image, &how, c->kernels, c->arena, &encoded, error));
    int64_t size = (int64_t)encoded->size;
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, hr_shape_make(1, &size), NULL);
    c->memo = encoded;
    return HR_STATUS_OK;
}

static hr_status jpeg_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_jpeg_encoded_write(c->out[0].data, c->memo);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_encoders_jpeg = {
    HR_OP("encoders.jpeg"),
    .doc = "Encodes images as baseline JPEG files: the output has the bytes of the file, 1-D "
           "UINT8. Not in DALI. The input is UINT8, RGB or grey. The file is the one that "
           "libjpeg-turbo writes with its accurate DCT.",
    .devices = "cpu|gpu",
    .args = hr_jpeg_arg_defs,
    .args_size = sizeof(hr_jpeg_args),
    .in = HR_INPUTS({.name = "images", .layouts = "HWC|HW"}),
    .infer = jpeg_infer,
    .run = jpeg_run,
    .on_gpu = HR_NAMES("_jpeg_scan", "_jpeg_file"),
};
