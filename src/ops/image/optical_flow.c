/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* optical_flow: the motion between the frames of a sequence, by the engine for it in a GPU. */
#include "ops/image/optical_flow.h"
#include "headrace/operator.h"

static hr_status optical_flow_check(const void *args, const hr_given *given, hr_error *error)
{
    const optical_flow_args *a = args;
    const int32_t out = a->output_grid, hint = a->hint_grid;
    (void)given;
    if (out != 1 && out != 2 && out != 4)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Output grid size: %d is not supported, supported are: 1, 2, 4", (int)out);
    if (hint != 1 && hint != 2 && hint != 4 && hint != 8)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Hint grid size: %d is not supported, supported are: 1, 2, 4, 8", (int)hint);
    if (a->image_type > HR_IMAGE_TYPE_GRAY)
        return hr_fail(error, HR_STATUS_ERROR, "`image_type` must be RGB, BGR or GRAY");
    return HR_STATUS_OK;
}

static hr_status frames_check(const optical_flow_args *a, const hr_tensor *in, hr_error *error)
{
    static const char *const names[] = {"RGB", "BGR", "GRAY"};
    const int64_t *extent = in->shape.extent, channels = extent[3];
    bool gray = a->image_type == HR_IMAGE_TYPE_GRAY;
    if (in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the frames must be UINT8, not %s",
                       hr_dtype_name(in->dtype));
    if (extent[0] < 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "a sequence needs at least 2 frames, but this one has %lld",
                       (long long)extent[0]);
    if (gray ? channels != 1 : channels != 3 && channels != 4)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the frames have %lld channels, but with image_type=%s they need %s",
                       (long long)channels, names[a->image_type], gray ? "1" : "3 or 4");
    return HR_STATUS_OK;
}

/* Vectors for the frames after the first one. */
static hr_shape vectors_shape(const hr_tensor *frames, int32_t grid)
{
    const int64_t *extent = frames->shape.extent;
    return (hr_shape){
        4, {extent[0] - 1, HR_DIVIDE_UP(extent[1], grid), HR_DIVIDE_UP(extent[2], grid), 2}};
}

static hr_status hints_check(const hr_op_call *c, int32_t grid, hr_error *error)
{
    if (c->n_in < 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "with enable_external_hints, the second input must be the hints");
    const hr_shape want = vectors_shape(&c->in[0], grid);
    if (c->in[1].dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the hints must be FLOAT, not %s",
                       hr_dtype_name(c->in[1].dtype));
    if (!hr_shape_equal(&c->in[1].shape, &want))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the hints must have the shape %lld x %lld x %lld x 2: one vector per cell "
                       "of `hint_grid`, for every frame but the first",
                       (long long)want.extent[0], (long long)want.extent[1],
                       (long long)want.extent[2]);
    return HR_STATUS_OK;
}

static hr_status optical_flow_infer(hr_op_call *c, hr_error *error)
{
    const optical_flow_args *a = c->args;
    HR_TRY(frames_check(a, &c->in[0], error));
    if (a->enable_external_hints)
        HR_TRY(hints_check(c, a->hint_grid, error));
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, vectors_shape(&c->in[0], a->output_grid),
                       "FHWC");
    return HR_STATUS_OK;
}

const hr_op_def hr_op_optical_flow = {
    HR_OP("optical_flow"),
    .doc = "Finds where the pixels of each frame of a sequence were in the frame before, with the "
           "optical flow engine of NVIDIA GPUs. For every frame but the first, the output has a "
           "vector (x, y) per cell of the grid, in pixels of the input: what is at a position in "
           "the frame was at this position plus the vector in the frame before. The engine "
           "computes in steps of 1/32 pixel.",
    .devices = "gpu",
    .flags = HR_OP_SEQUENCE,
    HR_ARGS(optical_flow_args,
            HR_ARG(optical_flow_args, preset, FLOAT, 0, "0.0",
                   "Speed against accuracy: below 0.375 slowest and most accurate, from 0.75 "
                   "fastest, otherwise in between.",
                   .min = 0, .max = 1),
            HR_ARG(optical_flow_args, output_grid, INT, 0, "4",
                   "Width and height, in pixels, of the cells that have one vector each: 1, 2 or "
                   "4. GPUs before the Ampere architecture accept only 4."),
            HR_ARG_RENAMED(output_format, INT, output_grid, "1.11"),
            HR_ARG(optical_flow_args, hint_grid, INT, 0, "4",
                   "Width and height of the cells of external hints, in pixels: 1, 2, 4 or 8. GPUs "
                   "before the Ampere architecture accept fewer."),
            HR_ARG(optical_flow_args, enable_temporal_hints, BOOL, 0, "False",
                   "Whether the search begins with the vectors of the frame before. The first two "
                   "frames of a sequence have no such hints."),
            HR_ARG(optical_flow_args, enable_external_hints, BOOL, 0, "False",
                   "Whether the second input contains vectors near which to search. Without this, "
                   "a second input has no effect."),
            HR_ARG(optical_flow_args, image_type, IMAGE_TYPE, 0, "RGB",
                   "Colours of the frames: RGB, BGR or GRAY. RGB and BGR have three channels, or "
                   "four, of which the last one is ignored.")),
    .in = HR_INPUTS({.name = "frames", .layouts = "FHWC"}, {.name = "hints", .layouts = "FHWC"}),
    .in_min = 1,
    .check = optical_flow_check,
    .infer = optical_flow_infer,
};
