/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* experimental.inputs.video: sequences of a video file that is fed. The caller that feeds makes
 * three inputs of the file: the file itself and its table of packets (_video_table), which all
 * sequences share, and the numbers of the sequence's frames. */
#include "ops/decoders/clip.h"
#include "ops/decoders/on_device.h"

typedef struct input_video_args {
    int32_t sequence_length;
    const char *last_sequence_policy;
    hr_frames_look look;
} input_video_args;

static hr_status select_numbers(const hr_op_call *c, int32_t frames, hr_video_request *r,
                                hr_error *error)
{
    const hr_tensor *in = &c->in[2];
    if (in->dtype != HR_DTYPE_INT32 || in->shape.ndim != 1)
        return hr_fail(error, HR_STATUS_ERROR, "the third input must be numbers of frames");
    hr__frames_look(&((const input_video_args *)c->args)->look, r);
    r->frames = in->data;
    r->count = (int32_t)in->shape.extent[0];
    for (int32_t i = 0; i < r->count; i++)
        if (r->frames[i] >= frames)
            return hr_fail(error, HR_STATUS_ERROR, "frame %d does not exist: the video has %d",
                           r->frames[i], frames);
    return HR_STATUS_OK;
}

static hr_status input_video_infer(hr_op_call *c, hr_error *error)
{
    if (c->n_in != 3)
        return hr_fail(error, HR_STATUS_ERROR, "no video was fed: pass one to feed_input");
    return hr__clip_infer(c, &c->in[1], select_numbers, error);
}

const hr_op_def hr_op_experimental_inputs_video = {
    HR_OP("experimental.inputs.video"),
    .doc = "Cuts a video into sequences of frames. `Pipeline.feed_input` takes the bytes of one "
           "file; the batches that follow are its sequences, as many as fit in a batch.",
    .devices = "cpu|mixed",
    HR_ARGS(
        input_video_args,
        HR_ARG(input_video_args, sequence_length, INT, HR_ARG_REQUIRED, NULL,
               "Number of frames of a sequence.", .min = 1, .max = 1 << 24),
        HR_ARG(input_video_args, last_sequence_policy, STRING, 0, "\"partial\"",
               "What happens to a last sequence with too few frames: it is `partial`, or it is "
               "filled up with black frames (`pad`).",
               .choices = "partial|pad"),
        HR_ARG_ACCEPT(affine, BOOL, "True", "No effect: it concerns threads of other decoders."),
        HR_ARG_ACCEPT(blocking, BOOL, "False", "No effect: data must be fed before it is needed."),
        HR_ARG_ACCEPT(no_copy, BOOL, "False", "No effect: the file is copied when it is fed."),
        HR_FRAMES_LOOK_ARG_DEFS(input_video_args, look)),
    .in = HR_INPUTS({.name = "encoded"}, {.name = "table"}, {.name = "frames"}),
    .in_max = 3,
    .out = HR_OUTPUTS({"video"}),
    .infer = input_video_infer,
    .run = hr__clip_run,
    .local_create = hr__clip_local_create,
    .local_destroy = hr__clip_local_destroy,
};
