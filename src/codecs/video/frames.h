/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Frames of a video as pixels, decoded by the module libheadrace_video. */
#pragma once

#include "codecs/video/colors.h"
#include "codecs/video/module.h"
#include "codecs/video/video.h"
#include "core/library.h"
#include "kernels/kernels.h"

/* What one worker needs to decode. The decoder inside is kept for videos that need the same one. */
typedef struct hr_video_decoder hr_video_decoder;

hr_status hr_video_decoder_create(hr_video_decoder **out, hr_error *error);
void hr_video_decoder_destroy(hr_video_decoder *decoder);

/* Decoders on a CUDA device. */
typedef struct hr_video_device {
    const hr_video_module_def *module;
    int32_t id;
} hr_video_device;

/* Frames of one video. Everything lives until hr_video_frames_finish. */
typedef struct hr_video_request {
    const hr_video *video;
    const hr_video_file *file;
    const int32_t *frames; /* numbers in order of presentation; < 0: a frame of `fill` */
    int32_t count;
    uint8_t fill[3];
    bool ycbcr; /* luma and chroma as they are stored, instead of RGB */
    hr_video_space space;
    bool rotate;        /* as the container says; otherwise frames are as they are stored */
    int64_t max_pixels; /* of a frame */
    const hr_kernels *kernels;
    hr_arena *arena; /* not reset until hr_video_frames_finish */
    /* Where to decode, if it can; NULL: on the CPU. hr_video_frames_begin sets it to NULL if the
     * device cannot decode the frames. */
    const hr_video_device *device;
    /* results: */
    int32_t width, height; /* of the frames */
    int32_t damaged;       /* frames in which missing parts were made up */
    /* of frames.c: */
    struct hr_video_work *work;
} hr_video_request;

/* Decodes up to the first of the frames and sets their size, which is that of the stream: what the
 * container says may be wrong. */
hr_status hr_video_frames_begin(hr_video_decoder *decoder, hr_video_request *r, hr_error *error);
/* Decodes the frames into count x height x width x 3 bytes, of the device if the request has one.
 * Costs more if the decoder was used for another request after hr_video_frames_begin. After a
 * failure on a device, the request can begin again without one. */
hr_status hr_video_frames_finish(hr_video_decoder *decoder, hr_video_request *r, uint8_t *dst,
                                 hr_error *error);

/* The cudaStream_t of a decoder whose request has a device. */
void *hr_video_frames_stream(const hr_video_decoder *decoder);

/* The module, whose function `entry` returns a table with these first fields. */
hr_library hr_video_library(const char *entry, uint32_t abi, uint32_t size);
/* Fails with what to install if the module is not there. */
hr_status hr_video_module_open(const hr_video_module_def **out, hr_error *error);
/* What the module consists of, or that it is not installed. */
const char *hr_video_module_version(void);
