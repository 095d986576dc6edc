/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What decoders.audio and readers.nemo_asr share: from stored samples to the output. */
#pragma once

#include "codecs/audio/coded.h"
#include "headrace/operator.h"
#include "ops/audio/resample.h"

typedef struct hr_sound_options {
    hr_dtype dtype;
    bool downmix, lowpass;
    float rate; /* of the output; 0: that of the file */
    const hr_resampler *resampler;
    const hr_kernels *kernels;
} hr_sound_options;

typedef struct hr_sound {
    hr_audio audio;
    const uint8_t *samples; /* as stored, `frames` of them */
    int64_t frames;
    bool scaled; /* floats that become integers are scaled */
    uint64_t file_size;
    uint64_t limit; /* bytes that the output may have; 0: by file_size */
} hr_sound;

/* What a worker keeps for a node from one file to the next. */
typedef struct hr_sound_local {
    hr_audio_kept *kept;
} hr_sound_local;

/* For `local_create` and `local_destroy`. */
hr_status hr__sound_local_create(const void *args, void *state, void **local, hr_error *error);
void hr__sound_local_destroy(void *local);

/* HR_STATUS_ERROR: the type is none that sounds can have. */
hr_status hr__sound_check(const hr_sound_options *options, hr_error *error);
/* Opens a file, for the part from `offset` on, in seconds; `duration` < 0: to the end. The sound
 * refers to the bytes, or to memory of the arena. `local` may be NULL. */
hr_status hr__sound_open(hr_sound *sound, hr_sound_local *local, const uint8_t *bytes, size_t size,
                         double offset, double duration, hr_arena *arena, hr_error *error);
/* For a file whose header was read to sound->audio: sets the number of frames of the part.
 * `*start`: the first of them. */
hr_status hr__sound_select(hr_sound *sound, double offset, double duration, int64_t *start,
                           hr_error *error);
/* Describes the output: (frames, channels), or (frames) after the downmix. */
hr_status hr__sound_describe(const hr_sound *sound, const hr_sound_options *options, hr_tensor *out,
                             hr_error *error);
/* Computes it. */
hr_status hr__sound_run(const hr_sound *sound, const hr_sound_options *options, hr_tensor *out,
                        hr_arena *arena, hr_error *error);
