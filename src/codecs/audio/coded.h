/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Sound files that a module decodes: FLAC, Vorbis, Opus, MP3, and containers with AAC and others.
 */
#pragma once

#include "codecs/audio/audio.h"
#include "codecs/audio/module.h"

/* `*start`: where the file begins, behind tags and in front of MP3 behind zero bytes, too. */
hr_audio_coding hr_audio_coding_of(const uint8_t *bytes, size_t size, size_t *start);
/* Decodes job->bytes. The samples are in the arena. */
hr_status hr_audio_coded_decode(hr_audio_job *job, hr_arena *arena, hr_error *error);
/* For job->kept in the end; NULL is allowed. */
void hr_audio_coded_forget(hr_audio_kept *kept);
/* What the module consists of, or that it is not installed. */
const char *hr_audio_coded_version(void);
