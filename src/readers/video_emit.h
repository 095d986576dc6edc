/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The outputs of the readers of videos: frames, label, numbers and times of frames. */
#ifndef HR_READERS_VIDEO_EMIT_H
#define HR_READERS_VIDEO_EMIT_H

#include "readers/video_reader.h"

typedef enum hr_video_numbers { /* the argument enable_frame_num */
                                HR_VIDEO_NUMBERS_NONE,
                                HR_VIDEO_NUMBERS_SCALAR,
                                HR_VIDEO_NUMBERS_SEQUENCE
} hr_video_numbers;

typedef struct hr_video_output {
    uint8_t fill[3];
    bool ycbcr;
    bool is_float, normalized; /* FLOAT instead of UINT8; from 0 to 1 */
    bool label, times;
    hr_video_numbers numbers;
    /* Makes output 0 of the frames; or NULL: they are the output. */
    hr_status (*change)(hr_op_call *c, const hr_tensor *frames, hr_error *error);
} hr_video_output;

/* Makes the outputs of item `index` from the bytes that hr_video_reader_locate asked for. c->local
 * is a hr_video_decoder. */
hr_status hr_video_emit(hr_op_call *c, const hr_video_reader *r, const hr_video_output *o,
                        int64_t index, const hr_tensor *bytes, hr_error *error);

/* The decoder of a worker, for hr_op_def. */
hr_status hr_video_local_create(const void *args, void *state, void **local, hr_error *error);
void hr_video_local_destroy(void *local);

/* False, "none", True, "scalar" or "sequence". */
hr_video_numbers hr_video_numbers_of(const hr_json *value);
#define HR_VIDEO_NUMBERS_FORM "bool | 'none' | 'scalar' | 'sequence'"

#endif
