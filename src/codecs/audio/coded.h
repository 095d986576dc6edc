/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Sound files that a module decodes: FLAC, Vorbis, Opus and MP3. */
#ifndef HR_CODECS_AUDIO_CODED_H
#define HR_CODECS_AUDIO_CODED_H

#include "codecs/audio/audio.h"
#include "codecs/audio/module.h"

hr_audio_coding hr_audio_coding_of(const uint8_t *bytes, size_t size);
/* Decodes job->bytes. After success, hr_audio_coded_release frees the samples. */
hr_status hr_audio_coded_decode(hr_audio_job *job, hr_error *error);
void hr_audio_coded_release(hr_audio_job *job);
/* What the module consists of, or that it is not installed. */
const char *hr_audio_coded_version(void);

#endif
