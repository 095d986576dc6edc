/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "modules/audio/frames.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LIKELY = 64 }; /* bytes of samples that a byte of a file often stands for, or fewer */

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

static bool grow(hr_audio_job *job, size_t capacity)
{
    void *more = job->memory(job->context, capacity);
    if (!more) {
        job->no_memory = true;
        return hr__audio_fail(job, "out of memory for %zu bytes of samples", capacity);
    }
    if (job->frames > 0)
        memcpy(more, job->samples, (size_t)job->frames * (size_t)job->channels * sizeof(float));
    job->samples = more;
    job->capacity = capacity;
    return true;
}

void hr__audio_expect(hr_audio_job *job, int64_t frames)
{
    if (job->channels < 1)
        return;
    size_t item = (size_t)job->channels * sizeof(float);
    size_t likely = job->size > SIZE_MAX / LIKELY ? SIZE_MAX : job->size * LIKELY;
    int64_t wanted = frames < job->most ? frames : job->most;
    likely = likely < job->limit ? likely : job->limit;
    if (wanted > 0 && (uint64_t)wanted < likely / item && (size_t)wanted * item > job->capacity)
        grow(job, (size_t)wanted * item); /* or later */
    job->no_memory = false;
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
    if (needed > job->capacity && !grow(job, needed < job->limit / 2 ? 2 * needed : job->limit))
        return NULL;
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

bool hr__audio_planes(hr_audio_job *job, float *const *planes, int64_t n)
{
    float *room = hr__audio_room(job, n);
    if (!room)
        return false;
    if (job->channels == 1)
        memcpy(room, planes[0], (size_t)n * sizeof(*room));
    else
        for (int32_t k = 0; k < job->channels; k++)
            for (int64_t i = 0; i < n; i++)
                room[i * job->channels + k] = planes[k][i];
    hr__audio_keep(job, n);
    return true;
}

bool hr__audio_end(hr_audio_job *job)
{
    return job->skip == 0 || job->offset <= 0 ||
           hr__audio_fail(job, "the offset of %g s is beyond the end of the sound", job->offset);
}

int64_t hr__audio_ogg_end(const hr_audio_job *job)
{
    const size_t head = 27, most = head + 255 + 255 * 255;
    size_t first = job->size > most ? job->size - most : 0;
    for (size_t at = job->size > head ? job->size - head : 0; at > first; at--)
        if (memcmp(job->bytes + at, "OggS", 4) == 0) {
            uint64_t position = 0;
            for (size_t i = 13; i >= 6; i--)
                position = position << 8 | job->bytes[at + i];
            return position < INT64_MAX / 2 ? (int64_t)position : 0;
        }
    return 0;
}
