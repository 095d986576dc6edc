/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* brightness_contrast: an affine map of every element. */
#include "ops/color/brightness_contrast.h"

/* The largest value of an integer type; 1 for floats. */
static float range_of(hr_dtype t)
{
    return hr_dtype_is_float(t) ? 1.0f : (float)hr_dtype_max(t);
}

static float center_of(hr_dtype t)
{
    return hr_dtype_is_float(t) ? 0.5f : (float)((hr_dtype_max(t) + 1.0) / 2.0);
}

static void map_make(const hr_brightness_contrast_args *a, int64_t frame, hr_dtype in, hr_dtype out,
                     hr_matrix *m)
{
    float brightness = hr__color_value(a->brightness, frame, 1.0f);
    float shift = hr__color_value(a->brightness_shift, frame, 0.0f);
    float contrast = hr__color_value(a->contrast, frame, 1.0f);
    float center = hr__color_value(a->contrast_center, frame, center_of(in));

    *m = (hr_matrix){.in = 1, .out = 1};
    m->m[0][0] = brightness * contrast;
    m->add[0] = shift * range_of(out) + brightness * (center - contrast * center);
}

hr_status hr__brightness_contrast_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const hr_brightness_contrast_args *a = c->args;
    const hr_color_arg args[] = {{"brightness", a->brightness},
                                 {"brightness_shift", a->brightness_shift},
                                 {"contrast", a->contrast},
                                 {"contrast_center", a->contrast_center}};
    hr_point_step step = {.kind = HR_POINT_KIND_AFFINE};
    hr_matrix *maps;

    HR_TRY(hr__color_types(program, a->dtype, false, &step.dtype, error));
    HR_TRY(hr__color_matrices(c, program, args, HR_COUNT_OF(args), &step, &maps, error));
    for (int32_t f = 0; f < HR_MAX(step.frames, 1); f++)
        map_make(a, f, hr_program_dtype(program), step.dtype, &maps[f]);
    return hr__color_add(program, &step, maps, error);
}

const hr_op_def hr_op_brightness_contrast = {
    HR_OP("brightness_contrast"),
    .doc = "Changes brightness and contrast: brightness_shift * range + brightness * "
           "(contrast_center + contrast * (x - contrast_center)). Range is the largest value of "
           "the output's type, or 1 for FLOAT. Types are UINT8, INT16, INT32 and FLOAT.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(hr_brightness_contrast_args, HR_BRIGHTNESS_ARG_DEFS, HR_CONTRAST_ARG_DEFS,
            HR_COLOR_DTYPE_ARG_DEF(hr_brightness_contrast_args)),
    .in = HR_INPUTS({.name = "data", .layouts = "FHWC|DHWC|HWC"}),
    .lower = hr__brightness_contrast_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
};
