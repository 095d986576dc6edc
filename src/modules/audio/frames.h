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
/* Says that about `frames` more frames will follow, so that there is room for them at once. */
void hr__audio_expect(hr_audio_job *job, int64_t frames);
/* Adds n frames of floats, which come as one plane per channel. */
bool hr__audio_planes(hr_audio_job *job, float *const *planes, int64_t n);
/* The position that the last page of an Ogg file states; 0 if it is not found. */
int64_t hr__audio_ogg_end(const hr_audio_job *job);
/* Adds what was written to the room, without frames that are not wanted. */
void hr__audio_keep(hr_audio_job *job, int64_t frames);
/* Whether more is wanted. */
static inline bool hr__audio_wants(const hr_audio_job *job)
{
    return job->most > 0;
}

struct hr_audio_kept {
    struct hr_flac_kept *flac;
    struct hr_vorbis_kept *vorbis;
};
void hr__flac_kept_destroy(struct hr_flac_kept *k);
struct hr_vorbis_kept *hr__vorbis_kept_create(void);
void hr__vorbis_kept_destroy(struct hr_vorbis_kept *d);

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
