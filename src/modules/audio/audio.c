/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* libheadrace_audio.so: the table of the module. */
#include "modules/audio/decoders.h"

#include <stdio.h>
#include <stdlib.h>

static bool decode_any(hr_audio_job *job)
{
    bool done = false;
    switch (job->coding) {
    case HR_AUDIO_CODING_FLAC:
    case HR_AUDIO_CODING_OGG_FLAC:
        done = hr__flac_decode(job);
        break;
    case HR_AUDIO_CODING_VORBIS:
        done = hr__vorbis_decode(job);
        break;
    case HR_AUDIO_CODING_OPUS:
        done = hr__opus_decode(job);
        break;
    case HR_AUDIO_CODING_MP3:
        done = hr__mp3_decode(job);
        break;
    default:
        break;
    }
    return done && hr__audio_end(job);
}

static void forget(hr_audio_kept *kept)
{
    if (!kept)
        return;
    hr__flac_kept_destroy(kept->flac);
    hr__vorbis_kept_destroy(kept->vorbis);
    free(kept);
}

static bool decode(hr_audio_job *job)
{
    hr_audio_kept *own = NULL, **kept = job->kept;
    if (!kept)
        job->kept = &own;
    if (!*job->kept)
        *job->kept = calloc(1, sizeof(**job->kept));
    bool done = *job->kept ? decode_any(job) : hr__audio_fail(job, "out of memory for a decoder");
    job->kept = kept;
    forget(own);
    return done;
}

static const char *version(void)
{
    static char text[200];
    if (!text[0])
        snprintf(text, sizeof(text), "libFLAC %s, %s, %s, %s", hr__flac_version(),
                 hr__vorbis_version(), hr__opus_version(), hr__mp3_version());
    return text;
}

const hr_audio_module_def *hr_audio_module(void)
{
    static const hr_audio_module_def module = {.abi = HR_AUDIO_ABI_VERSION,
                                               .struct_size = sizeof(hr_audio_module_def),
                                               .version = version,
                                               .decode = decode,
                                               .forget = forget};
    return &module;
}
