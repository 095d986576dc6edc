/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What decoders.audio and readers.nemo_asr share: from stored samples to the output. */
#ifndef HR_OPS_DECODERS_SOUND_H
#define HR_OPS_DECODERS_SOUND_H

#include "codecs/audio/audio.h"
#include "headrace/operator.h"

typedef struct hr_sound_options {
    hr_dtype dtype;
    bool downmix;
    float rate; /* of the output; 0: that of the file */
    float quality;
} hr_sound_options;

typedef struct hr_sound {
    hr_audio audio;
    const uint8_t *samples; /* as stored, `frames` of them */
    int64_t frames;
} hr_sound;

/* HR_STATUS_ERROR: the type is none that sounds can have. */
hr_status hr__sound_check(const hr_sound_options *options, hr_error *error);
/* Describes the output: (frames, channels), or (frames) after the downmix. */
hr_status hr__sound_describe(const hr_sound *sound, const hr_sound_options *options, hr_tensor *out,
                             hr_error *error);
/* Computes it. */
hr_status hr__sound_run(const hr_sound *sound, const hr_sound_options *options, hr_tensor *out,
                        hr_arena *arena, hr_error *error);

#endif
