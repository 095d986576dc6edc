/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Vorbis through libvorbisfile. */
#include "modules/audio/vorbis_kept.h"

#include <stdio.h>
#include <string.h>

#define OV_EXCLUDE_STATIC_CALLBACKS
#include <vorbis/vorbisfile.h>

enum { PART = 4096, MOST_HOLES = 1 << 16 };

typedef struct source {
    const uint8_t *bytes;
    size_t size, at;
} source;

static size_t on_read(void *dst, size_t item, size_t count, void *user)
{
    source *s = user;
    size_t left = s->size - s->at, n = item * count;
    n = n < left ? n : left;
    memcpy(dst, s->bytes + s->at, n);
    s->at += n;
    return item > 0 ? n / item : 0;
}

static int on_seek(void *user, ogg_int64_t offset, int from)
{
    source *s = user;
    int64_t at = offset + (from == SEEK_CUR   ? (int64_t)s->at
                           : from == SEEK_END ? (int64_t)s->size
                                              : 0);
    if (at < 0 || (uint64_t)at > s->size)
        return -1;
    s->at = (size_t)at;
    return 0;
}

static long on_tell(void *user)
{
    return (long)((source *)user)->at;
}

static const char *reason(long code)
{
    switch (code) {
    case OV_EREAD:
        return "the file is cut";
    case OV_ENOTVORBIS:
        return "the stream is not Vorbis";
    case OV_EBADHEADER:
        return "the header is damaged";
    case OV_EBADLINK:
        return "the links between streams are damaged";
    case OV_HOLE:
        return "too many packets are missing";
    default:
        return "the stream is damaged";
    }
}

/* A file may have several streams one after the other, which must be alike. */
static bool append(hr_audio_job *job, OggVorbis_File *v, float **planes, long n)
{
    const vorbis_info *info = ov_info(v, -1);
    if (!info || info->channels != job->channels || info->rate != job->rate)
        return hr__audio_fail(job, "another stream follows with other channels or another rate");
    return hr__audio_planes(job, planes, n);
}

static bool run(hr_audio_job *job, OggVorbis_File *v)
{
    const vorbis_info *info = ov_info(v, -1);
    int32_t holes = 0;
    if (!info || !hr__audio_begin(job, info->channels, info->rate, true))
        return info ? false : hr__audio_fail(job, "the header is damaged");
    if (job->skip > 0 && job->skip <= ov_pcm_total(v, -1)) {
        int failed = ov_pcm_seek(v, job->skip);
        if (failed)
            return hr__audio_fail(job, "%s", reason(failed));
        job->skip = 0;
    }
    while (hr__audio_wants(job)) {
        float **planes = NULL;
        int stream = 0;
        long n = ov_read_float(v, &planes, PART, &stream);
        if (n == 0)
            break;
        if (n < 0 && (n != OV_HOLE || ++holes > MOST_HOLES))
            return hr__audio_fail(job, "%s", reason(n));
        if (n > 0 && !append(job, v, planes, n))
            return false;
    }
    return true;
}

/* Any file: with several streams, with damage, or from a later frame on. */
static bool decode_other(hr_audio_job *job)
{
    source s = {job->bytes, job->size, 0};
    const ov_callbacks callbacks = {on_read, on_seek, NULL, on_tell};
    OggVorbis_File v;
    int failed = ov_open_callbacks(&s, &v, NULL, 0, callbacks);
    if (failed)
        return hr__audio_fail(job, "%s", reason(failed));
    bool done = run(job, &v);
    ov_clear(&v);
    return done;
}

bool hr__vorbis_decode(hr_audio_job *job)
{
    hr_vorbis_result result = job->offset > 0 ? HR_VORBIS_RESULT_OTHER : hr__vorbis_plain(job);
    if (result != HR_VORBIS_RESULT_OTHER)
        return result == HR_VORBIS_RESULT_DONE;
    job->frames = 0;
    return decode_other(job);
}

const char *hr__vorbis_version(void)
{
    return vorbis_version_string();
}
