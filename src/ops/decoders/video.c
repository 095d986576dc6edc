/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.video: frames of video files. */
#include "codecs/video/select.h"
#include "ops/decoders/clip.h"
#include "ops/decoders/on_device.h"

typedef struct video_args {
    hr_ints frames, fill_value;
    int32_t start_frame, stride, sequence_length, end_frame;
    const char *pad_mode;
    hr_frames_look look;
} video_args;

static hr_status video_check(const void *args, const hr_given *given, hr_error *error)
{
    const hr_ints *fill = &((const video_args *)args)->fill_value;
    (void)given;
    if (fill->n == 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "fill_value must have 1 or 3 elements, but it has 2");
    return HR_STATUS_OK;
}

static hr_status given_frames(const hr_op_call *c, hr_video_pad_mode mode, int32_t frames,
                              hr_video_request *r, hr_error *error)
{
    const hr_ints *given = &((const video_args *)c->args)->frames;
    int32_t *numbers = hr_arena_alloc(c->arena, (size_t)(given->n + 1) * sizeof(*numbers), error);
    HR_TRY_ALLOC(numbers);
    for (int32_t i = 0; i < given->n; i++) {
        if (mode == HR_VIDEO_PAD_NONE && (given->v[i] < 0 || given->v[i] >= frames))
            return hr_fail(error, HR_STATUS_ERROR,
                           "frame %d does not exist: the video has %d frames, and pad_mode is "
                           "\"none\"",
                           given->v[i], frames);
        numbers[i] = hr_video_pad(mode, given->v[i], frames);
    }
    r->frames = numbers;
    r->count = given->n;
    return HR_STATUS_OK;
}

static hr_status select_frames(const hr_op_call *c, int32_t frames, hr_video_request *r,
                               hr_error *error)
{
    const video_args *a = c->args;
    const hr_video_pad_mode mode = hr_video_pad_mode_of(a->pad_mode);
    int64_t start = a->start_frame, length = a->sequence_length;
    int32_t *numbers = NULL;
    for (int32_t i = 0; i < 3; i++)
        r->fill[i] = (uint8_t)a->fill_value.v[a->fill_value.n == 3 ? i : 0];
    hr__frames_look(&a->look, r);
    if (a->frames.v)
        return given_frames(c, mode, frames, r, error);
    if (start >= frames)
        return hr_fail(error, HR_STATUS_ERROR,
                       "start_frame is %lld, but the video has only %d frames", (long long)start,
                       frames);
    if (a->end_frame >= 0 && a->end_frame <= start)
        return hr_fail(error, HR_STATUS_ERROR,
                       "end_frame must be greater than start_frame (%lld), but it is %d",
                       (long long)start, a->end_frame);
    if (length < 0)
        length =
            HR_DIVIDE_UP((a->end_frame >= 0 ? a->end_frame : frames) - start, (int64_t)a->stride);
    HR_TRY(hr_video_select(mode, frames, start, a->stride, length, c->arena, &numbers, &r->count,
                           error));
    r->frames = numbers;
    return HR_STATUS_OK;
}

static hr_status video_infer(hr_op_call *c, hr_error *error)
{
    return hr__clip_infer(c, NULL, select_frames, error);
}

const hr_op_def hr_op_decoders_video = {
    HR_OP("decoders.video"),
    .doc = "Decodes video files: frames of H.264, HEVC, VP8, VP9, AV1, MPEG-4 and MJPEG, as RGB. "
           "The output has the layout FHWC. Frames are counted in the order of presentation. Only "
           "what is needed for the selected frames is decoded, from the key frame before each. The "
           "decoders are a package of their own, `headrace-video`.",
    .aliases = HR_NAMES("experimental.decoders.video"),
    .devices = "cpu|mixed",
    HR_ARGS(
        video_args,
        HR_ARG(video_args, frames, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK,
               NULL,
               "Numbers of the frames, in any order, repeated as often as needed; what stands for "
               "those that do not exist depends on `pad_mode`.",
               .excludes = "start_frame|stride|sequence_length|end_frame"),
        HR_ARG(video_args, start_frame, INT, HR_ARG_PER_SAMPLE, "0", "Number of the first frame.",
               .min = INT32_MIN, .max = INT32_MAX),
        HR_ARG(video_args, stride, INT, HR_ARG_PER_SAMPLE, "1",
               "Distance between frames: 4 gives every fourth.", .min = 1, .max = INT32_MAX),
        HR_ARG(video_args, sequence_length, INT, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
               "Number of frames of the output. By default they are those up to the end.", .min = 0,
               .max = INT32_MAX, .excludes = "end_frame"),
        HR_ARG(video_args, end_frame, INT, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
               "Number of the frame before which the sequence ends.", .min = 0, .max = INT32_MAX),
        HR_ARG(video_args, pad_mode, STRING, HR_ARG_PER_SAMPLE, "\"constant\"",
               "What stands for frames that do not exist: `constant`, a frame of `fill_value`; "
               "`edge` or `repeat`, the nearest frame; `reflect_1001` or `symmetric`, and "
               "`reflect_101` or `reflect`, the frames in reverse order, with the last frame twice "
               "or once; `none`: the sequence ends there.",
               .choices = HR_VIDEO_PAD_MODES),
        HR_ARG(video_args, fill_value, INTS, HR_ARG_SCALAR_OK, "[0]",
               "Colour of frames that do not exist: one number, or one per channel.", .min = 0,
               .max = 255, .count_min = 1, .count_max = 3),
        HR_ARG_ACCEPT(affine, BOOL, "True", "No effect: it concerns threads of other decoders."),
        HR_ARG_ACCEPT(build_index, BOOL, "True", "No effect: where frames are is always known."),
        HR_FRAMES_LOOK_ARG_DEFS(video_args, look)),
    .in = HR_INPUTS({.name = "encoded"}),
    .out = HR_OUTPUTS({"video"}),
    .check = video_check,
    .infer = video_infer,
    .run = hr__clip_run,
    .local_create = hr__clip_local_create,
    .local_destroy = hr__clip_local_destroy,
};
