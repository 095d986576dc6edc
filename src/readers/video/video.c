/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* experimental.readers.video: sequences of frames of video files. */
#include <string.h>

#include "readers/video/emit.h"

typedef struct video_args {
    hr_sampler_args sampler;
    const char *file_root, *file_list, *file_list_format, *file_list_rounding, *pad_mode;
    hr_strings filenames;
    hr_ints labels, fill_value;
    int32_t relative_to_list;
    int32_t sequence_length, step, stride, uniform_sample, enable_timestamps, image_type;
    const hr_json *enable_frame_num;
    hr_frames_look look;
} video_args;

static bool is_labelled(const video_args *a)
{
    return a->labels.v || a->file_root[0] || a->file_list[0];
}

static hr_status video_check(const void *args, const hr_given *given, hr_error *error)
{
    const video_args *a = args;
    (void)given;
    if (a->fill_value.n == 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "fill_value must have 1 or 3 elements, but it has 2");
    return hr_video_image_type_check(a->image_type, error);
}

static int32_t video_outputs(const void *args, int32_t n_in)
{
    const video_args *a = args;
    (void)n_in;
    return hr_video_output_count(is_labelled(a), a->enable_frame_num, a->enable_timestamps);
}

static hr_video_pad_mode pad_of(const video_args *a)
{
    return a->uniform_sample ? HR_VIDEO_PAD_EDGE : hr_video_pad_mode_of(a->pad_mode);
}

static hr_status video_wish(const video_args *a, hr_video_wish *w, hr_error *error)
{
    const char *rounding = a->file_list_rounding;
    int64_t span = (int64_t)a->sequence_length * a->stride;
    if (span > INT32_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "sequence_length * stride is %lld, more than 2^31 - 1", (long long)span);
    *w = (hr_video_wish){.names = {a->file_root, a->file_list, a->filenames, a->labels, false,
                                   a->relative_to_list != 0},
                         .rounding = {.frames = strcmp(a->file_list_format, "frames") == 0,
                                      .start_up = strcmp(rounding, "all_up") == 0 ||
                                                  strcmp(rounding, "start_up_end_down") == 0,
                                      .end_down = strcmp(rounding, "all_down") == 0 ||
                                                  strcmp(rounding, "start_up_end_down") == 0},
                         .sequences = {.length = a->sequence_length,
                                       .stride = a->stride,
                                       .step = a->step > 0 ? a->step : (int32_t)span,
                                       .span = (int32_t)span,
                                       .uniform = a->uniform_sample != 0,
                                       .tails = pad_of(a) != HR_VIDEO_PAD_NONE},
                         .pad = pad_of(a)};
    return HR_STATUS_OK;
}

static hr_status video_create(const void *args, void **state, hr_error *error)
{
    const video_args *a = args;
    hr_video_wish wish;
    HR_TRY(video_wish(a, &wish, error));
    wish.output = hr_video_output_of(is_labelled(a), a->enable_frame_num, a->enable_timestamps,
                                     a->image_type);
    wish.output.look = a->look;
    for (int32_t i = 0; i < 3; i++)
        wish.output.fill[i] = (uint8_t)a->fill_value.v[a->fill_value.n == 3 ? i : 0];
    return hr_video_reader_create(state, &wish, error);
}

const hr_op_def hr_op_experimental_readers_video = {
    HR_OP("experimental.readers.video"),
    .doc = "Reads sequences of frames of video files. The outputs are the frames, UINT8 with the "
           "layout FHWC; the label, if there are labels, INT32 of shape (1); and what "
           "`enable_frame_num` and `enable_timestamps` ask for. Give one of `file_root`, "
           "`file_list` and `filenames`. Files that cannot be read are left out, with a warning. "
           "Frames are counted in the order of presentation, and times are those of the file, so "
           "that variable frame rates are exact.",
    .devices = "cpu|gpu",
    HR_ARGS(video_args,
            HR_ARG(video_args, sequence_length, INT, HR_ARG_REQUIRED, NULL, "Frames of a sequence.",
                   .min = 1, .max = HR_VIDEO_MOST_FRAMES),
            HR_ARG(video_args, enable_frame_num, JSON, 0, "\"none\"",
                   "Whether there is an output with numbers of frames, INT32: `\"scalar\"` or "
                   "True, that of the first frame; `\"sequence\"`, those of all frames, -1 for "
                   "frames that do not exist; `\"none\"` or False: no output.",
                   .form = HR_VIDEO_NUMBERS_FORM),
            HR_ARG(video_args, enable_timestamps, BOOL, 0, "False",
                   "Whether there is an output with the times of the frames, FLOAT64: seconds from "
                   "the first frame of the file, -1 for frames that do not exist."),
            HR_ARG(video_args, file_list, STRING, 0, "\"\"",
                   "A text file with lines `path label [start end]`, separated by blanks. The "
                   "label is a number >= 0. `start` and `end` select a part of the file. Relative "
                   "paths start from the working folder."),
            HR_ARG(video_args, file_list_format, STRING, 0, "\"timestamps\"",
                   "What start and end in a `file_list` are: `timestamps`, seconds from the first "
                   "frame; `frames`, numbers of frames, of which negative ones count from the end. "
                   "The frame at the end is not read.",
                   .choices = "timestamps|frames"),
            HR_ARG_ACCEPT(file_list_include_end, BOOL, "True", "No effect, as in DALI 2.4."),
            HR_ARG(video_args, file_list_rounding, STRING, 0, "\"start_down_end_up\"",
                   "Which frame start and end stand for if they are between two frames: the one "
                   "before (down) or the one after (up).",
                   .choices = "start_down_end_up|start_up_end_down|all_up|all_down"),
            HR_ARG(video_args, file_root, STRING, 0, "\"\"",
                   "A folder with a folder of videos per class. The label is the number of the "
                   "class, in the order of the names."),
            HR_ARG(video_args, filenames, STRINGS, HR_ARG_SCALAR_OK, "[]", "Paths of the videos."),
            HR_ARG(video_args, fill_value, INTS, HR_ARG_SCALAR_OK, "[0]",
                   "Colour of frames that do not exist, with pad_mode=\"constant\": one number, or "
                   "one per channel.",
                   .min = 0, .max = 255, .count_min = 1, .count_max = 3),
            HR_ARG(video_args, image_type, IMAGE_TYPE, 0, "RGB", "RGB or YCbCr."),
            HR_ARG(video_args, labels, INTS, HR_ARG_OPTIONAL, NULL,
                   "Labels of the `filenames`, one per file."),
            HR_ARG(video_args, pad_mode, STRING, 0, "\"none\"",
                   "What is done with frames that are left over at the end of a video: `none` "
                   "ignores them; with another mode there is one more sequence, completed with "
                   "frames of `fill_value` (`constant`), the last frame (`edge`, `repeat`), or the "
                   "frames in reverse order, with the last frame twice (`reflect_1001`, "
                   "`symmetric`) or once (`reflect_101`, `reflect`).",
                   .choices = HR_VIDEO_PAD_MODES),
            HR_ARG(video_args, relative_to_list, BOOL, 0, "False",
                   "Not in DALI. Relative paths in `file_list` start from its folder, instead of "
                   "the working folder."),
            HR_ARG(video_args, step, INT, 0, "-1",
                   "Frames between the starts of sequences; 0 or less: sequence_length * stride.",
                   .min = INT32_MIN, .max = INT32_MAX),
            HR_ARG(video_args, stride, INT, 0, "1", "Distance between the frames of a sequence.",
                   .min = 1, .max = INT32_MAX),
            HR_ARG(video_args, uniform_sample, BOOL, 0, "False",
                   "Read one sequence per video or part: frames at equal distances from the first "
                   "to the last. `step`, `stride` and `pad_mode` have no effect."),
            HR_FRAMES_LOOK_ARG_DEFS(video_args, look), HR_SAMPLER_ORDER_DEFS(video_args),
            HR_READER_ACCEPTED_DEFS),
    .out = HR_OUTPUTS({"video"}, {"label"}, {"frame_num"}, {"timestamps"}),
    .outputs = video_outputs,
    .check = video_check,
    .create = video_create,
    .destroy = hr_video_reader_destroy,
    .local_create = hr_video_local_create,
    .local_destroy = hr_video_local_destroy,
    .source = &hr_video_source,
};
