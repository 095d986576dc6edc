/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.video, and what readers.video_resize shares with it. */
#include "readers/video/legacy.h"

static bool is_labelled(const hr_video_legacy_args *a)
{
    return a->labels.v || a->file_root[0] || a->file_list[0];
}

hr_status hr_video_legacy_check(const hr_video_legacy_args *a, int32_t dtype, hr_error *error)
{
    HR_TRY(hr_video_image_type_check(a->image_type, error));
    if (dtype != HR_DTYPE_UINT8 && dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "dtype must be UINT8 or FLOAT, not %s",
                       hr_dtype_name((hr_dtype)dtype));
    return HR_STATUS_OK;
}

int32_t hr_video_legacy_outputs(const hr_video_legacy_args *a)
{
    return hr_video_output_count(is_labelled(a), a->enable_frame_num, a->enable_timestamps);
}

static hr_status make_wish(const hr_video_legacy_args *a, hr_video_wish *w, hr_error *error)
{
    int64_t step = (int64_t)a->sequence_length * a->stride;
    int64_t span = 1 + (int64_t)(a->sequence_length - 1) * a->stride;
    bool before = a->file_list_include_preceding_frame != 0;
    if (step > INT32_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "sequence_length * stride is %lld, more than 2^31 - 1", (long long)step);
    *w = (hr_video_wish){.names = {a->file_root, a->file_list, a->filenames, a->labels, true,
                                   a->relative_to_list != 0},
                         .rounding = {.frames = a->file_list_frame_num != 0,
                                      .rate = true,
                                      .start_up = !before,
                                      .end_down = !before},
                         .sequences = {.length = a->sequence_length,
                                       .stride = a->stride,
                                       .step = a->step > 0 ? a->step : (int32_t)step,
                                       .span = (int32_t)span,
                                       .tails = a->pad_sequences != 0,
                                       .many = true},
                         .pad = a->pad_sequences ? HR_VIDEO_PAD_CONSTANT : HR_VIDEO_PAD_NONE,
                         .same_codec = true,
                         .constant_rate = !a->skip_vfr_check};
    return HR_STATUS_OK;
}

hr_status hr_video_legacy_create(const hr_video_legacy_args *a, int32_t dtype,
                                 hr_status (*change)(hr_op_call *c, const hr_tensor *frames,
                                                     hr_error *error),
                                 void **state, hr_error *error)
{
    hr_video_wish wish;
    HR_TRY(make_wish(a, &wish, error));
    wish.output = hr_video_output_of(is_labelled(a), a->enable_frame_num, a->enable_timestamps,
                                     a->image_type);
    wish.output.look = a->look;
    wish.output.is_float = dtype == HR_DTYPE_FLOAT;
    wish.output.normalized = a->normalized != 0;
    wish.output.change = change;
    return hr_video_reader_create(state, &wish, error);
}

/* ---- readers.video ---- */

typedef struct video_args {
    hr_sampler_args sampler;
    hr_video_legacy_args video;
    int32_t dtype;
} video_args;

static hr_status video_check(const void *args, const hr_given *given, hr_error *error)
{
    const video_args *a = args;
    (void)given;
    return hr_video_legacy_check(&a->video, a->dtype, error);
}

static int32_t video_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return hr_video_legacy_outputs(&((const video_args *)args)->video);
}

static hr_status video_create(const void *args, void **state, hr_error *error)
{
    const video_args *a = args;
    return hr_video_legacy_create(&a->video, a->dtype, NULL, state, error);
}

const hr_op_def hr_op_readers_video = {
    HR_OP("readers.video"),
    .doc = "Reads sequences of frames of video files that all have one codec and a constant frame "
           "rate. The outputs are the frames, with the layout FHWC; the label, if there are "
           "labels, INT32 of shape (1); and what `enable_frame_num` and `enable_timestamps` ask "
           "for. Give one of `file_root`, `file_list` and `filenames`. Files that cannot be read "
           "are left out, with a warning. In DALI this reader exists on the GPU only. "
           "`experimental.readers.video` has more choices.",
    .aliases = HR_NAMES("video_reader"),
    .devices = "gpu",
    HR_ARGS(video_args, HR_VIDEO_LEGACY_ARG_DEFS(video_args, video),
            HR_ARG(video_args, dtype, DTYPE, 0, "UINT8", "Type of the frames: UINT8 or FLOAT."),
            HR_SAMPLER_ORDER_DEFS(video_args), HR_READER_ACCEPTED_DEFS),
    .out = HR_OUTPUTS({"video"}, {"label"}, {"frame_num"}, {"timestamps"}),
    .outputs = video_outputs,
    .check = video_check,
    .create = video_create,
    .destroy = hr_video_reader_destroy,
    .local_create = hr_video_local_create,
    .local_destroy = hr_video_local_destroy,
    .source = &hr_video_source,
};
