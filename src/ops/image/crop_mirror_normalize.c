/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* crop_mirror_normalize: window, mirror, (v - mean) / std * scale + shift, type and layout. */
#include "ops/image/crop_window.h"
#include "ops/common/wrap.h"

#include <string.h>

#define LAYOUTS "HWC|CHW|DHWC|CDHW|FHWC|FCHW|CFHW|FDHWC|FCDHW|CFDHW"

typedef struct cmn_args {
    hr_crop_args crop;
    const char *out_of_bounds_policy, *output_layout;
    int32_t dtype, mirror, pad_output;
    hr_floats fill_values, mean, std;
    float scale, shift;
} cmn_args;

static hr_status cmn_check(const void *args, const hr_given *given, hr_error *error)
{
    const cmn_args *a = args;

    if (a->dtype != HR_DTYPE_FLOAT && a->dtype != HR_DTYPE_FLOAT16 && a->dtype != HR_DTYPE_UINT8 &&
        a->dtype != HR_DTYPE_INT8)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`dtype` is %s: it must be FLOAT, FLOAT16, UINT8 or INT8",
                       hr_dtype_name((hr_dtype)a->dtype));
    return hr__crop_check(given, error);
}

/* The constants of (v - mean) * mul, computed in double as in DALI, which gives the same bits. */
static hr_status fold(const cmn_args *a, int32_t channels, float *mean, float *mul, int32_t *count,
                      hr_error *error)
{
    int32_t n = HR_MAX(a->mean.n, a->std.n);

    if (a->mean.n < 1 || a->std.n < 1 || n > HR_CHANNELS_MAX || (n != 1 && n != channels) ||
        (a->mean.n != n && a->mean.n != 1) || (a->std.n != n && a->std.n != 1))
        return hr_fail(
            error, HR_STATUS_ERROR,
            "`mean` has %d and `std` %d elements: each must have one, or one per channel; "
            "the input has %d channels",
            (int)a->mean.n, (int)a->std.n, (int)channels);
    for (int32_t i = 0; i < n; i++) {
        double m = (double)a->mean.v[a->mean.n == 1 ? 0 : i];
        double s = (double)a->std.v[a->std.n == 1 ? 0 : i];
        double scale = (double)a->scale, shift = (double)a->shift;
        mean[i] = (float)(shift != 0.0 ? m - shift * s / scale : m);
        mul[i] = (float)(scale / s);
    }
    *count = n;
    return HR_STATUS_OK;
}

static int32_t power_of_two(int32_t n)
{
    int32_t p = 1;

    while (p < n)
        p *= 2;
    return p;
}

static hr_status layout_check(const char *layout, const hr_layout *in, hr_error *error)
{
    bool same = strlen(layout) == strlen(in->name);

    for (const char *p = layout; *p && same; p++)
        same = strchr(in->name, *p) != NULL && strchr(p + 1, *p) == NULL;
    if (same)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`output_layout` is \"%s\": it must be a permutation of the input's, \"%s\"",
                   layout, in->name);
}

/* Fill values, converted to the type of the output: one, or one per channel. Of the channels that
 * `pad_output` adds, those without a value contain zeros. */
static hr_status fills(const cmn_args *a, int32_t channels, float *fill, int32_t *count,
                       hr_error *error)
{
    *count = HR_MAX(a->fill_values.n, 1);
    fill[0] = 0.0f; /* if the list is empty */
    if (*count > 1 && *count < channels && a->pad_output)
        for (; *count < HR_MIN(channels, HR_CHANNELS_MAX); (*count)++)
            fill[*count] = 0.0f;
    if ((*count != 1 && *count != channels) || *count > HR_CHANNELS_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`fill_values` has %d elements: it must have one, or one per output channel "
                       "(%d)",
                       (int)*count, (int)channels);
    for (int32_t i = 0; i < a->fill_values.n; i++)
        fill[i] = hr__value_wrap(a->fill_values.v[i], (hr_dtype)a->dtype);
    return HR_STATUS_OK;
}

/* Adds mirror and window. The image is mirrored before the window is taken, so that normalising
 * and mirroring come before the fill. */
static hr_status add_window(hr_image_program *p, const cmn_args *a, const hr_crop_box *box,
                            const float *fill, int32_t fill_count, hr_error *error)
{
    char axis = hr__crop_depth_axis(p);
    int64_t depth = axis ? hr_program_extent(p, axis) : 1, width = hr_program_extent(p, 'W');
    hr_window window = {box->y.start, box->x.start, box->y.size, box->x.size};

    if (a->mirror) {
        window.x = width - (box->x.start + box->x.size);
        HR_TRY(hr_program_flip(p, true, false, false, error));
    }
    if (box->z.start != 0 || box->z.size != depth)
        HR_TRY(hr_program_crop_outer(p, axis, box->z.start, box->z.size, fill, fill_count, error));
    if (window.y != 0 || window.x != 0 || window.h != hr_program_extent(p, 'H') ||
        window.w != width)
        HR_TRY(hr_program_crop(p, window, fill, fill_count, error));
    return HR_STATUS_OK;
}

static hr_status check_input(hr_dtype in, hr_error *error)
{
    switch (in) {
    case HR_DTYPE_UINT8:
    case HR_DTYPE_UINT16:
    case HR_DTYPE_INT16:
    case HR_DTYPE_INT32:
    case HR_DTYPE_FLOAT16:
    case HR_DTYPE_FLOAT:
        return HR_STATUS_OK;
    default:
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input is %s: it must be UINT8, UINT16, INT16, INT32, FLOAT16 or FLOAT",
                       hr_dtype_name(in));
    }
}

static hr_status cmn_box(const hr_op_call *c, const hr_image_program *p, hr_crop_box *box,
                         hr_error *error)
{
    const cmn_args *a = c->args;
    char depth = hr__crop_depth_axis(p);
    int64_t d = depth ? hr_program_extent(p, depth) : 1, h = hr_program_extent(p, 'H');
    int64_t w = hr_program_extent(p, 'W');

    HR_TRY(hr__crop_box(&a->crop, depth != 0, d, h, w, box, error));
    return hr__crop_bound(c, box, hr__bounds_parse(a->out_of_bounds_policy), d, h, w, error);
}

static hr_status add_all(const cmn_args *a, hr_image_program *p, const hr_crop_box *box,
                         hr_error *error)
{
    int32_t channels = (int32_t)hr_program_extent(p, 'C'), count = 0, fill_count = 0;
    int32_t padded = a->pad_output ? power_of_two(channels) : channels;
    float mean[HR_CHANNELS_MAX], mul[HR_CHANNELS_MAX], fill[HR_CHANNELS_MAX], zero = 0.0f;
    bool pads = hr__bounds_parse(a->out_of_bounds_policy) == HR_BOUNDS_PAD;
    const char *layout = a->output_layout;

    HR_TRY(check_input(hr_program_dtype(p), error));
    HR_TRY(fold(a, channels, mean, mul, &count, error));
    HR_TRY(hr_program_normalize(p, mean, mul, count, (hr_dtype)a->dtype, error));
    if (pads) {
        HR_TRY(fills(a, padded, fill, &fill_count, error));
        HR_TRY(add_window(p, a, box, fill, HR_MIN(fill_count, channels), error));
    } else {
        HR_TRY(add_window(p, a, box, NULL, 0, error));
    }
    if (layout && *layout)
        HR_TRY(layout_check(layout, &p->layout, error));
    return hr_program_output(p, layout, padded == channels ? 0 : padded, pads ? fill : &zero,
                             pads ? fill_count : 1, error);
}

static hr_status cmn_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const cmn_args *a = c->args;
    hr_crop_box box;

    HR_TRY(cmn_box(c, program, &box, error));
    hr_image_program before = *program;
    hr_status status = add_all(a, program, &box, error);
    if (status != HR_STATUS_OK)
        *program = before;
    return status;
}

const hr_op_def hr_op_crop_mirror_normalize = {
    HR_OP("crop_mirror_normalize"),
    .doc = "Takes a window, mirrors it, computes (v - mean) / std * scale + shift for every "
           "channel and converts type and layout. The input is UINT8, UINT16, INT16, INT32, "
           "FLOAT16 or FLOAT. For sequences and volumes, give `output_layout`.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(
        cmn_args, HR_CROP_ARG_DEFS(cmn_args, crop),
        HR_ARG(
            cmn_args, out_of_bounds_policy, STRING, 0, "\"error\"",
            "What to do if the window extends beyond the image: \"error\", \"pad\" or \"constant\" "
            "(fill with `fill_values`), or \"trim_to_shape\" (make the window smaller).",
            .choices = HR_BOUNDS_CHOICES),
        HR_ARG(cmn_args, fill_values, FLOATS, 0, "[0.0]",
               "What \"pad\" writes outside the image and into channels that `pad_output` adds: "
               "one value, or one per output channel, in units of the output (not normalised). "
               "With `pad_output`, channels without a value contain zeros."),
        HR_ARG(cmn_args, mirror, INT, HR_ARG_PER_SAMPLE, "0",
               "If not 0, the window is mirrored left to right."),
        HR_ARG(cmn_args, mean, FLOATS, HR_ARG_PER_SAMPLE, "[0.0]",
               "Is subtracted: one value, or one per channel, in units of the input."),
        HR_ARG(cmn_args, std, FLOATS, HR_ARG_PER_SAMPLE, "[1.0]",
               "Divisor: one value, or one per channel, in units of the input."),
        HR_ARG(cmn_args, scale, FLOAT, 0, "1.0", "Factor of the normalised values."),
        HR_ARG(cmn_args, shift, FLOAT, 0, "0.0", "Is added to the scaled values."),
        HR_ARG(cmn_args, dtype, DTYPE, 0, "FLOAT",
               "Type of the output: FLOAT, FLOAT16, UINT8 or INT8. For integers, halves are "
               "rounded away from zero, and values outside the range saturate."),
        HR_ARG(cmn_args, output_layout, LAYOUT, 0, "\"CHW\"",
               "Layout of the output, a permutation of the input's; empty: as the input."),
        HR_ARG(cmn_args, pad_output, BOOL, 0, "False",
               "Add channels up to the next power of two. They contain zeros, or `fill_values` "
               "with the policy \"pad\"."),
        HR_ARG_RENAMED(output_dtype, DTYPE, dtype, "0.24"),
        HR_ARG_GONE(image_type, IMAGE_TYPE, NULL, "0.24")),
    .in = HR_INPUTS({.name = "data", .layouts = LAYOUTS}),
    .check = cmn_check,
    .lower = cmn_lower,
    .lower_rank = HR_LOWER_RANK_NORMALIZE,
};
