/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What readers.video and readers.video_resize share. */
#pragma once

#include "readers/video/emit.h"

typedef struct hr_video_legacy_args {
    const char *file_root, *file_list;
    hr_strings filenames;
    hr_ints labels;
    int32_t sequence_length, step, stride, channels, pad_sequences, skip_vfr_check;
    int32_t file_list_frame_num, file_list_include_preceding_frame;
    int32_t image_type, normalized, enable_timestamps, relative_to_list;
    const hr_json *enable_frame_num;
    hr_frames_look look;
} hr_video_legacy_args;

#define HR_VIDEO_LEGACY_ARG(S, from, arg, kind, flag, deflt, ...)                                  \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = (flag),                                 \
        .offset = offsetof(S, from.arg), .size = sizeof(((S *)0)->from.arg), .def = (deflt),       \
        .doc = __VA_ARGS__                                                                         \
    }
/* Describes the hr_video_legacy_args called `from` in the args struct S. */
#define HR_VIDEO_LEGACY_ARG_DEFS(S, from)                                                          \
    HR_VIDEO_LEGACY_ARG(S, from, sequence_length, INT, HR_ARG_REQUIRED, NULL,                      \
                        "Frames of a sequence.", .min = 1, .max = HR_VIDEO_MOST_FRAMES),           \
        HR_ARG_ACCEPT(additional_decode_surfaces, INT, "2",                                        \
                      "No effect: it concerns decoders of a GPU."),                                \
        HR_VIDEO_LEGACY_ARG(S, from, channels, INT, 0, "3", "Channels of the frames: 3.",          \
                            .min = 3, .max = 3),                                                   \
        HR_VIDEO_LEGACY_ARG(                                                                       \
            S, from, enable_frame_num, JSON, 0, "\"none\"",                                        \
            "Whether there is an output with numbers of frames, INT32: `\"scalar\"` or True, "     \
            "that of the first frame; `\"sequence\"`, those of all frames, -1 for frames that do " \
            "not exist; `\"none\"` or False: no output.",                                          \
            .form = HR_VIDEO_NUMBERS_FORM),                                                        \
        HR_VIDEO_LEGACY_ARG(S, from, enable_timestamps, BOOL, 0, "False",                          \
                            "Whether there is an output with the times of the frames, FLOAT64: "   \
                            "seconds from the first frame of the file, -1 for frames that do not " \
                            "exist."),                                                             \
        HR_VIDEO_LEGACY_ARG(                                                                       \
            S, from, file_list, STRING, 0, "\"\"",                                                 \
            "A text file with lines `path label [start end]`, separated by blanks. The label is "  \
            "a number >= 0. `start` and `end` select a part of the file, in seconds; the frame "   \
            "at the end is not read. Relative paths start from the working folder."),              \
        HR_VIDEO_LEGACY_ARG(S, from, file_list_frame_num, BOOL, 0, "False",                        \
                            "`start` and `end` are numbers of frames, of which negative ones "     \
                            "count from the end."),                                                \
        HR_VIDEO_LEGACY_ARG(S, from, file_list_include_preceding_frame, BOOL, 0, "False",          \
                            "If `start` is between two frames, begin with the one before it "      \
                            "instead of the one behind it; the same for `end`."),                  \
        HR_VIDEO_LEGACY_ARG(S, from, file_root, STRING, 0, "\"\"",                                 \
                            "A folder with a folder of videos per class. The label is the number " \
                            "of the class, in the order of the names."),                           \
        HR_VIDEO_LEGACY_ARG(S, from, filenames, STRINGS, HR_ARG_SCALAR_OK, "[]",                   \
                            "Paths of the videos."),                                               \
        HR_VIDEO_LEGACY_ARG(S, from, image_type, IMAGE_TYPE, 0, "RGB", "RGB or YCbCr."),           \
        HR_VIDEO_LEGACY_ARG(S, from, labels, INTS, HR_ARG_OPTIONAL, NULL,                          \
                            "Labels of the `filenames`, one per file; an empty list: they are "    \
                            "numbered."),                                                          \
        HR_VIDEO_LEGACY_ARG(S, from, normalized, BOOL, 0, "False",                                 \
                            "With dtype=FLOAT, divide by 255."),                                   \
        HR_VIDEO_LEGACY_ARG(S, from, pad_sequences, BOOL, 0, "False",                              \
                            "Also read sequences that the end of the video cuts, completed with "  \
                            "black frames."),                                                      \
        HR_VIDEO_LEGACY_ARG(S, from, relative_to_list, BOOL, 0, "False",                           \
                            "Not in DALI. Relative paths in `file_list` start from its folder, "   \
                            "instead of the working folder."),                                     \
        HR_VIDEO_LEGACY_ARG(S, from, skip_vfr_check, BOOL, 0, "False",                             \
                            "Also accept files with a variable frame rate."),                      \
        HR_VIDEO_LEGACY_ARG(S, from, step, INT, 0, "-1",                                           \
                            "Frames between the starts of sequences; 0 or less: sequence_length "  \
                            "* stride.",                                                           \
                            .min = INT32_MIN, .max = INT32_MAX),                                   \
        HR_VIDEO_LEGACY_ARG(S, from, stride, INT, 0, "1",                                          \
                            "Distance between the frames of a sequence.", .min = 1,                \
                            .max = INT32_MAX),                                                     \
        HR_FRAMES_LOOK_ARG_DEFS(S, from.look)

hr_status hr_video_legacy_check(const hr_video_legacy_args *a, int32_t dtype, hr_error *error);
int32_t hr_video_legacy_outputs(const hr_video_legacy_args *a);

/* `change`: see hr_video_output; or NULL. */
hr_status hr_video_legacy_create(const hr_video_legacy_args *a, int32_t dtype,
                                 hr_status (*change)(hr_op_call *c, const hr_tensor *frames,
                                                     hr_error *error),
                                 void **state, hr_error *error);
