/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* ADPCM with 4 bits per sample, in blocks that do not depend on each other. */
#pragma once

#include "codecs/audio/audio.h"

#define HR_ADPCM_MS_PREDICTORS 7
extern const int16_t hr_adpcm_ms_weights[HR_ADPCM_MS_PREDICTORS][2]; /* Microsoft's */

/* Frames of a block of `bytes` bytes, which may be cut; 0: it is too short for one. */
int64_t hr_adpcm_block_frames(hr_audio_code code, int32_t channels, size_t bytes);
/* Decodes `count` frames from frame `first` on. `src` has the audio->length bytes of the samples;
 * scratch memory comes from the arena. */
hr_status hr_adpcm_decode(const hr_audio *audio, const uint8_t *src, int64_t first, int64_t count,
                          int16_t *dst, hr_arena *arena, hr_error *error);
