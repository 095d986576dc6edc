/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* color_space_conversion: each conversion is one matrix. YCbCr is BT.601 in studio range. */
#include "image/program.h"

typedef struct color_space_args {
    int32_t image_type, output_type;
} color_space_args;

static hr_status color_space_check(const void *args, const hr_given *given, hr_error *error)
{
    const color_space_args *a = args;

    (void)given;
    if (a->image_type == HR_IMAGE_TYPE_ANY_DATA || a->output_type == HR_IMAGE_TYPE_ANY_DATA)
        return hr_fail(error, HR_STATUS_ERROR,
                       "ANY_DATA is not a colour space; use RGB, BGR, GRAY or YCbCr");
    if (a->image_type == a->output_type)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`image_type` and `output_type` are the same; leave the conversion out");
    return HR_STATUS_OK;
}

/* Weights of red, green and blue in Y, Cb and Cr, and back. */
static const hr_matrix from_rgb = {.m = {{0.25678824f, 0.50412941f, 0.09790588f},
                                         {-0.14822290f, -0.29099279f, 0.43921569f},
                                         {0.43921569f, -0.36778831f, -0.07142737f}},
                                   .add = {16.0f, 128.0f, 128.0f},
                                   .in = 3,
                                   .out = 3};
static const hr_matrix to_rgb = {.m = {{1.164383562f, 0.0f, 1.596026786f},
                                       {1.164383562f, -0.391762290f, -0.812967647f},
                                       {1.164383562f, 2.017232143f, 0.0f}},
                                 .add = {-222.921565599f, 135.575294944f, -276.835851295f},
                                 .in = 3,
                                 .out = 3};
static const hr_matrix swap = {
    .m = {{0.0f, 0.0f, 1.0f}, {0.0f, 1.0f, 0.0f}, {1.0f, 0.0f, 0.0f}}, .in = 3, .out = 3};
static const hr_matrix grey_of_rgb = {.m = {{0.299f, 0.587f, 0.114f}}, .in = 3, .out = 1};
static const hr_matrix grey_of_ycbcr = {
    .m = {{1.164383562f, 0.0f, 0.0f}}, .add = {-18.630136992f}, .in = 3, .out = 1};
static const hr_matrix rgb_of_grey = {.m = {{1.0f}, {1.0f}, {1.0f}}, .in = 1, .out = 3};
static const hr_matrix ycbcr_of_grey = {
    .m = {{0.85882353f}, {0.0f}, {0.0f}}, .add = {16.0f, 128.0f, 128.0f}, .in = 1, .out = 3};

/* The matrix between RGB, GRAY and YCbCr. */
static const hr_matrix *matrix_of(int32_t from, int32_t to)
{
    if (from == HR_IMAGE_TYPE_GRAY)
        return to == HR_IMAGE_TYPE_YCBCR ? &ycbcr_of_grey : &rgb_of_grey;
    if (from == HR_IMAGE_TYPE_YCBCR)
        return to == HR_IMAGE_TYPE_GRAY ? &grey_of_ycbcr : &to_rgb;
    return to == HR_IMAGE_TYPE_GRAY ? &grey_of_rgb : to == HR_IMAGE_TYPE_YCBCR ? &from_rgb : &swap;
}

/* BGR differs from RGB in the order of columns or rows. */
static void reverse_channels(const color_space_args *a, hr_matrix *m)
{
    const hr_matrix of = *m;

    for (int32_t i = 0; i < m->out; i++) {
        bool row = a->output_type == HR_IMAGE_TYPE_BGR && a->image_type != HR_IMAGE_TYPE_RGB;
        bool column = a->image_type == HR_IMAGE_TYPE_BGR && a->output_type != HR_IMAGE_TYPE_RGB;
        int32_t from = row ? m->out - 1 - i : i;
        m->add[i] = of.add[from];
        for (int32_t k = 0; k < m->in; k++)
            m->m[i][k] = of.m[from][column ? m->in - 1 - k : k];
    }
}

static hr_status color_space_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const color_space_args *a = c->args;
    hr_point_step step = {.kind = HR_POINT_KIND_MATRIX,
                          .dtype = HR_DTYPE_UINT8,
                          .matrix = *matrix_of(a->image_type, a->output_type)};

    if (hr_program_dtype(program) != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s: it must be UINT8",
                       hr_dtype_name(hr_program_dtype(program)));
    if (hr_program_extent(program, 'C') != step.matrix.in)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %lld channels; the colour space `image_type` has %d",
                       (long long)hr_program_extent(program, 'C'), (int)step.matrix.in);
    reverse_channels(a, &step.matrix);
    return hr_program_point(program, &step, error);
}

const hr_op_def hr_op_color_space_conversion = {
    HR_OP("color_space_conversion"),
    .doc = "Converts between RGB, BGR, GRAY and YCbCr (BT.601, studio range). The input is UINT8.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        color_space_args,
        HR_ARG(color_space_args, image_type, IMAGE_TYPE, HR_ARG_REQUIRED, NULL,
               "Colour space of the input: RGB, BGR, GRAY or YCbCr."),
        HR_ARG(
            color_space_args, output_type, IMAGE_TYPE, HR_ARG_REQUIRED, NULL,
            "Colour space of the output: RGB, BGR, GRAY or YCbCr, other than that of the input.")),
    .in = HR_INPUTS({.name = "data", .layouts = "FDHWC|FHWC|DHWC|HWC"}),
    .check = color_space_check,
    .lower = color_space_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
};
