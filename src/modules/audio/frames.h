/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the decoders of both modules share: the samples of a job, which grow as it is decoded. A
 * decoder is one file; it calls frames.c only, and decoders.h declares it for audio.c. */
#pragma once

#include "codecs/audio/module.h"

enum { HR_AUDIO_CHANNELS = 255 };

/* Writes the message and returns false. */
bool hr__audio_fail(hr_audio_job *job, const char *fmt, ...) HR_PRINTF(2, 3);
/* Called when channels and rate are known: finds out which frames are wanted. */
bool hr__audio_begin(hr_audio_job *job, int64_t channels, int64_t rate, bool is_float);
/* Room for `frames` frames behind those that are there; NULL and the message if that is too much.
 */
void *hr__audio_room(hr_audio_job *job, int64_t frames);
/* Says that about `frames` more frames will follow, so that there is room for them at once. */
void hr__audio_expect(hr_audio_job *job, int64_t frames);
/* Adds n frames of floats, which come as one plane per channel. */
bool hr__audio_planes(hr_audio_job *job, float *const *planes, int64_t n);
/* The position that the last page of an Ogg file states; 0 if it is not found. */
int64_t hr__audio_ogg_end(const hr_audio_job *job);
/* Adds what was written to the room, without frames that are not wanted. */
void hr__audio_keep(hr_audio_job *job, int64_t frames);
/* Fails if the sound ended before the first frame that is wanted. */
bool hr__audio_end(hr_audio_job *job);
/* Whether more is wanted. */
static inline bool hr__audio_wants(const hr_audio_job *job)
{
    return job->most > 0;
}
