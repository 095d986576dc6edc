/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the decoders of the module share: the samples of a job, which grow as it is decoded. */
#ifndef HR_MODULES_AUDIO_FRAMES_H
#define HR_MODULES_AUDIO_FRAMES_H

#include "codecs/audio/module.h"

enum { HR_AUDIO_CHANNELS = 255 };

/* Writes the message and returns false. */
bool hr__audio_fail(hr_audio_job *job, const char *fmt, ...) HR_PRINTF(2, 3);
/* Called when channels and rate are known: finds out which frames are wanted. */
bool hr__audio_begin(hr_audio_job *job, int64_t channels, int64_t rate, bool is_float);
/* Room for `frames` frames behind those that are there; NULL and the message if that is too much.
 */
void *hr__audio_room(hr_audio_job *job, int64_t frames);
/* Adds what was written to the room, without frames that are not wanted. */
void hr__audio_keep(hr_audio_job *job, int64_t frames);
/* Whether more is wanted. */
static inline bool hr__audio_wants(const hr_audio_job *job)
{
    return job->most > 0;
}

bool hr__flac_decode(hr_audio_job *job);
bool hr__vorbis_decode(hr_audio_job *job);
bool hr__opus_decode(hr_audio_job *job);
bool hr__mp3_decode(hr_audio_job *job);
/* The versions of the libraries, as they call themselves. */
const char *hr__flac_version(void);
const char *hr__vorbis_version(void);
const char *hr__opus_version(void);
const char *hr__mp3_version(void);

#endif
