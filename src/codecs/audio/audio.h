/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Sound files whose samples are stored as numbers, or as ADPCM: WAV, AIFF, AU and others. A frame
 * has one sample of every channel. */
#pragma once

#include "core/core.h"
#include "kernels/kernels.h"

typedef enum hr_audio_code { /* how a sample is stored */
                             HR_AUDIO_CODE_NONE,
                             HR_AUDIO_CODE_S8,
                             HR_AUDIO_CODE_U8,
                             HR_AUDIO_CODE_S16,
                             HR_AUDIO_CODE_S24,
                             HR_AUDIO_CODE_S32,
                             HR_AUDIO_CODE_F32,
                             HR_AUDIO_CODE_F64,
                             HR_AUDIO_CODE_ULAW,
                             HR_AUDIO_CODE_ALAW,
                             /* ADPCM (adpcm.h), in blocks: */
                             HR_AUDIO_CODE_IMA,
                             HR_AUDIO_CODE_MS,
                             HR_AUDIO_CODE_IMA_QT
} hr_audio_code;

typedef struct hr_audio {
    const char *format; /* "WAV", for messages */
    hr_audio_code code;
    bool big_endian;
    int32_t channels, rate;
    uint64_t offset; /* of the first frame in the file */
    uint64_t length; /* bytes of the samples in the file */
    int64_t frames;  /* those that the file has, if it is cut */
    size_t frame_bytes;
    int32_t block_bytes, block_frames; /* of ADPCM, whose frame_bytes are those of INT16; or 0 */
} hr_audio;

enum { HR_AUDIO_MOST_CHANNELS = 1024 };

/* The bytes of tags (ID3v2) in front of a file. They may go beyond `size`. */
uint64_t hr_audio_tags(const uint8_t *bytes, size_t size);
/* Whether a file begins like one that hr_audio_open reads, or refuses by its name. */
bool hr_audio_is_named(const uint8_t *bytes, size_t size);
/* Reads the headers from the first `size` bytes of a file of `file_size` bytes. */
hr_status hr_audio_open(const uint8_t *bytes, size_t size, uint64_t file_size, hr_audio *audio,
                        hr_error *error);

/* Converts `count` samples of any channels to INT16, INT32 or FLOAT. Integers fill the range of the
 * type, and floats that of -1 to 1. Floats that become integers are rounded and not scaled, as by
 * libsndfile. */
void hr_audio_read(const hr_audio *audio, const hr_kernels *kernels, const uint8_t *src,
                   size_t count, hr_dtype dtype, void *dst);
/* The mean of the channels of each frame. */
void hr_audio_downmix(const float *src, size_t frames, int32_t channels, float *dst);
/* Scales samples from -1 .. 1 to the range of INT16 or INT32, or copies them. */
void hr_audio_scale(const float *src, size_t count, hr_dtype dtype, void *dst);
