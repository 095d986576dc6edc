/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The decoders of the module, one file each. */
#pragma once

#include "modules/audio/frames.h"

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
