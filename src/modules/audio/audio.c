/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* libheadrace_audio.so: the table of the module, and the samples of a job. */
#include "modules/audio/frames.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool hr__audio_fail(hr_audio_job *job, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(job->message, sizeof(job->message), fmt, args);
    va_end(args);
    return false;
}

bool hr__audio_begin(hr_audio_job *job, int64_t channels, int64_t rate, bool is_float)
{
    const double most = 9e18;
    if (channels < 1 || channels > HR_AUDIO_CHANNELS || rate < 1 || rate > INT32_MAX)
        return hr__audio_fail(job, "%lld channels with a rate of %lld Hz are not possible",
                              (long long)channels, (long long)rate);
    double skip = job->offset > 0 ? job->offset * (double)rate : 0;
    double wanted = job->duration >= 0 ? job->duration * (double)rate : most;
    job->channels = (int32_t)channels;
    job->rate = (int32_t)rate;
    job->is_float = is_float;
    job->skip = (int64_t)(skip < most ? skip : most);
    job->most = (int64_t)(wanted < most ? wanted : most);
    return true;
}

void *hr__audio_room(hr_audio_job *job, int64_t frames)
{
    size_t item = (size_t)job->channels * sizeof(float);
    size_t needed = ((size_t)job->frames + (size_t)frames) * item;
    if (needed > job->limit) {
        job->over_limit = true;
        hr__audio_fail(job,
                       "the samples need more than %zu bytes, too much for a file of %zu bytes",
                       job->limit, job->size);
        return NULL;
    }
    if (needed > job->capacity) {
        size_t capacity = needed + needed / 2;
        void *more = realloc(job->samples, capacity);
        if (!more) {
            hr__audio_fail(job, "there is no memory for %zu bytes of samples", capacity);
            return NULL;
        }
        job->samples = more;
        job->capacity = capacity;
    }
    return (char *)job->samples + (size_t)job->frames * item;
}

void hr__audio_keep(hr_audio_job *job, int64_t frames)
{
    size_t item = (size_t)job->channels * sizeof(float);
    int64_t dropped = frames < job->skip ? frames : job->skip, kept = frames - dropped;
    char *at = (char *)job->samples + (size_t)job->frames * item;
    kept = kept < job->most ? kept : job->most;
    if (dropped > 0 && kept > 0)
        memmove(at, at + (size_t)dropped * item, (size_t)kept * item);
    job->skip -= dropped;
    job->most -= kept;
    job->frames += kept;
}

static bool decode(hr_audio_job *job)
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
    if (done && job->skip > 0 && job->offset > 0)
        return hr__audio_fail(job, "the offset of %g s is beyond the end of the sound",
                              job->offset);
    return done;
}

static void release(hr_audio_job *job)
{
    free(job->samples);
    job->samples = NULL;
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
                                               .release = release};
    return &module;
}
