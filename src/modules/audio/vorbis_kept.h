/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A decoder of Vorbis that is kept from one file to the next. */
#pragma once

#include "modules/audio/decoders.h"

typedef enum hr_vorbis_result {
    HR_VORBIS_RESULT_DONE,
    HR_VORBIS_RESULT_FAILED, /* with the message */
    HR_VORBIS_RESULT_OTHER   /* the file is not a plain one, or it is damaged */
} hr_vorbis_result;

/* Decodes a plain file from its beginning: one stream of whole pages that follow one another
 * without gaps, and nothing else. Its samples are those of libvorbisfile. */
hr_vorbis_result hr__vorbis_plain(hr_audio_job *job);
