/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the readers of videos share: an item is a sequence of frames. The bytes of its packets are
 * read ahead, and `emit` decodes them. The operators (video.c, legacy.c, resize.c) only turn their
 * arguments into a hr_video_wish. */
#pragma once

#include "headrace/operator.h"
#include "ops/decoders/on_device.h"
#include "readers/video/sequences.h"
#include "readers/video/tables.h"

typedef enum hr_video_numbers { /* the argument enable_frame_num */
                                HR_VIDEO_NUMBERS_NONE,
                                HR_VIDEO_NUMBERS_SCALAR,
                                HR_VIDEO_NUMBERS_SEQUENCE
} hr_video_numbers;

typedef struct hr_video_output {
    uint8_t fill[3];
    bool ycbcr;
    hr_frames_look look;
    bool is_float, normalized; /* FLOAT instead of UINT8; from 0 to 1 */
    bool label, times;
    hr_video_numbers numbers;
    /* Makes output 0 of the frames; or NULL: they are the output. */
    hr_status (*change)(hr_op_call *c, const hr_tensor *frames, hr_error *error);
} hr_video_output;

/* What a reader is asked for. */
typedef struct hr_video_wish {
    hr_video_names names;
    hr_video_output output;
    hr_video_rounding rounding;
    hr_video_step sequences;
    hr_video_pad_mode pad;
    bool same_codec, constant_rate; /* of all files; otherwise an error */
} hr_video_wish;

typedef struct hr_video_reader hr_video_reader;

/* The state of a node, for hr_op_def. */
hr_status hr_video_reader_create(void **state, const hr_video_wish *wish, hr_error *error);
void hr_video_reader_destroy(void *state);

const hr_video_output *hr_video_reader_output(const hr_video_reader *r);

/* Functions of a source (hr_source_def); `state` is a hr_video_reader. */
int64_t hr_video_reader_count(const void *state);
const char *hr_video_reader_name(const void *state, int64_t index, char *room, size_t size);
hr_status hr_video_reader_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                                 hr_error *error);
int64_t hr_video_reader_label(const void *state, int64_t index);

/* A sequence that is being made. */
typedef struct hr_video_sequence {
    const hr_video *video;
    int64_t size; /* of the file */
    const char *path;
    int32_t label;
    int32_t *numbers; /* frames of the video; -1: one of the fill colour */
    int32_t count;
} hr_video_sequence;

/* `numbers` are from the arena. */
hr_status hr_video_reader_sequence(const hr_video_reader *r, int64_t index, hr_arena *arena,
                                   hr_video_sequence *out, hr_error *error);
/* Seconds of a frame from the first one; -1 of a frame that does not exist. */
double hr_video_reader_time(const hr_video_sequence *s, int32_t k);
/* Warns, once, of files that cannot be used. */
hr_status hr_video_reader_warn(const hr_video_reader *r, hr_task *task, hr_error *error);

/* The file of a sequence, of which only the located bytes can be read. */
typedef struct hr_video_bytes {
    hr_span spans[HR_SOURCE_MAX_SPANS];
    const hr_tensor *tensors;
    int32_t count;
} hr_video_bytes;
hr_status hr_video_bytes_read(void *bytes, int64_t offset, size_t size, void *dst, hr_error *error);
