/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* color_twist: hue and saturation in the colour space YIQ, brightness and contrast. All of it is
 * one matrix of the three channels. */
#include "ops/color/color_twist.h"

static const double to_yiq[3][3] = {
    {0.299, 0.587, 0.114}, {0.596, -0.274, -0.321}, {0.211, -0.523, 0.311}};
/* The inverse of to_yiq. */
static const double from_yiq[3][3] = {
    {0.99966432051240561, 0.95654118965208523, 0.62086170205757296},
    {0.99962482323189594, -0.27227450319254154, -0.64745127129659796},
    {1.0028122537690163, -1.1068480906311551, 1.7054056783849885}};

static void multiply(double to[3][3], const double a[3][3], const double b[3][3])
{
    for (int32_t i = 0; i < 3; i++)
        for (int32_t k = 0; k < 3; k++)
            to[i][k] = a[i][0] * b[0][k] + a[i][1] * b[1][k] + a[i][2] * b[2][k];
}

static void matrix_make(const hr_color_twist_args *a, int64_t frame, bool is_float, hr_matrix *m)
{
    /* Rounded to float, as in DALI: it matters for large angles. */
    double angle = (float)((double)hr__color_value(a->hue, frame, 0.0f) * HR_PI / 180.0);
    double saturation = (double)hr__color_value(a->saturation, frame, 1.0f);
    double brightness = (double)hr__color_value(a->brightness, frame, 1.0f);
    double contrast = (double)hr__color_value(a->contrast, frame, 1.0f);
    double all = brightness * contrast * (double)hr__color_value(a->value, frame, 1.0f);
    double half = is_float ? 0.5 : 128.0;
    double c = saturation * hr_cos(angle), s = saturation * hr_sin(angle);
    const double twist[3][3] = {{1.0, 0.0, 0.0}, {0.0, c, s}, {0.0, -s, c}};
    double turned[3][3], whole[3][3];

    multiply(turned, twist, to_yiq);
    multiply(whole, from_yiq, (const double(*)[3])turned);
    *m = (hr_matrix){.in = 3, .out = 3};
    for (int32_t i = 0; i < 3; i++) {
        m->add[i] = (float)((half - half * contrast) * brightness);
        for (int32_t k = 0; k < 3; k++)
            m->m[i][k] = (float)(all * whole[i][k]);
    }
}

hr_status hr__color_twist_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const hr_color_twist_args *a = c->args;
    const hr_color_arg args[] = {{"hue", a->hue},
                                 {"saturation", a->saturation},
                                 {"value", a->value},
                                 {"brightness", a->brightness},
                                 {"contrast", a->contrast}};
    hr_point_step step = {.kind = HR_POINT_KIND_MATRIX};
    hr_matrix *matrices;
    bool is_float = hr_dtype_is_float(hr_program_dtype(program));

    HR_TRY(hr__color_types(program, a->dtype, true, &step.dtype, error));
    if (hr_program_extent(program, 'C') != 3)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %lld channels; it must have red, green and blue",
                       (long long)hr_program_extent(program, 'C'));
    HR_TRY(hr__color_matrices(c, program, args, HR_COUNT_OF(args), &step, &matrices, error));
    for (int32_t f = 0; f < HR_MAX(step.frames, 1); f++)
        matrix_make(a, f, is_float, &matrices[f]);
    return hr__color_add(program, &step, matrices, error);
}

const hr_op_def hr_op_color_twist = {
    HR_OP("color_twist"),
    .doc = "Changes hue, saturation, brightness and contrast of RGB images. Types are UINT8, "
           "INT16, INT32, FLOAT16 and FLOAT.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        hr_color_twist_args, HR_HUE_ARG_DEF, HR_SATURATION_ARG_DEF,
        HR_ARG(hr_color_twist_args, brightness, FLOATS, HR_COLOR_FLAGS, "1.0",
               "Factor: 0 gives black."),
        HR_ARG(hr_color_twist_args, contrast, FLOATS, HR_COLOR_FLAGS, "1.0",
               "Factor of the distance from 128, or from 0.5 for floats: 0 gives a grey image."),
        HR_COLOR_DTYPE_ARG_DEF(hr_color_twist_args), HR_TWIST_IMAGE_TYPE_ARG_DEF),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|FHWC|DHWC"}),
    .lower = hr__color_twist_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
};
