/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/audio/coded.h"

#include "codecs/audio/container.h"
#include "codecs/video/frames.h"
#include "core/library.h"

#include <string.h>

/* Memory for samples: silence is coded in almost nothing, so a small file may be long. */
#define MEMORY ((size_t)1 << 30)
#define MEMORY_PER_BYTE 256

static hr_status open_module(hr_audio_coding coding, const hr_audio_module_def **out,
                             hr_error *error)
{
    hr_library library = {
        .name = "audio module",
        .file = "libheadrace_audio.so",
        .variable = "HEADRACE_AUDIO_MODULE",
        .entry = "hr_audio_module",
        .advice = "it needs libFLAC, libvorbis and libopus: install libflac12, libvorbisfile3 and "
                  "libopus0, or build Headrace where libflac-dev, libvorbis-dev and libopus-dev "
                  "are installed. WAV and AIFF files need no module",
        .abi = HR_AUDIO_ABI_VERSION,
        .size = sizeof(hr_audio_module_def)};
    void *symbol = NULL;
    if (coding == HR_AUDIO_CODING_CONTAINER)
        library = hr_video_library(library.entry, library.abi, library.size);
    hr_audio_module_fn entry = NULL;
    HR_TRY(hr_library_open(&library, &symbol, error));
    memcpy(&entry, &symbol, sizeof(entry));
    *out = entry();
    return hr_library_check(&library, *out, error);
}

/* The codec of an Ogg file, whose first packet is in the first page. */
static hr_audio_coding ogg_coding(const uint8_t *bytes, size_t size)
{
    size_t at = size > 26 ? 27 + (size_t)bytes[26] : size;
    size_t left = size > at ? size - at : 0;
    if (left >= 5 && memcmp(bytes + at,
                            "\x7F"
                            "FLAC",
                            5) == 0)
        return HR_AUDIO_CODING_OGG_FLAC;
    if (left >= 8 && memcmp(bytes + at, "OpusHead", 8) == 0)
        return HR_AUDIO_CODING_OPUS;
    if (left >= 7 && memcmp(bytes + at, "\1vorbis", 7) == 0)
        return HR_AUDIO_CODING_VORBIS;
    return HR_AUDIO_CODING_NONE;
}

/* Whether a frame of layer III begins here. */
static bool is_mp3_frame(const uint8_t *b, size_t size)
{
    return size >= 4 && b[0] == 0xFF && (b[1] & 0xE6) == 0xE2 && (b[1] & 0x18) != 0x08 &&
           b[2] >> 4 != 15 && (b[2] & 0x0C) != 0x0C;
}

hr_audio_coding hr_audio_coding_of(const uint8_t *bytes, size_t size, size_t *start)
{
    size_t at = *start = (size_t)HR_MIN(hr_audio_tags(bytes, size), size);
    if (size - at >= 4 && memcmp(bytes + at, "fLaC", 4) == 0)
        return HR_AUDIO_CODING_FLAC;
    if (hr_audio_container_of(bytes + at, size - at))
        return HR_AUDIO_CODING_CONTAINER;
    if (size - at >= 4 && memcmp(bytes + at, "OggS", 4) == 0)
        return ogg_coding(bytes + at, size - at);
    while (at < size && bytes[at] == 0)
        at++;
    if (is_mp3_frame(bytes + at, size - at)) {
        *start = at;
        return HR_AUDIO_CODING_MP3;
    }
    return *start > 0 && !hr_audio_is_named(bytes + *start, size - *start)
               ? HR_AUDIO_CODING_MP3 /* its decoder finds the first frame */
               : HR_AUDIO_CODING_NONE;
}

/* Where the samples go, and why there is no memory for them. */
typedef struct room {
    hr_arena *arena;
    hr_error *error;
} room;

static void *take_memory(void *context, size_t size)
{
    const room *r = context;
    return hr_arena_alloc(r->arena, size, r->error);
}

hr_status hr_audio_coded_decode(hr_audio_job *job, hr_arena *arena, hr_error *error)
{
    static const char *const names[HR_AUDIO_CODING_COUNT] = {"",       "FLAC", "Ogg FLAC",
                                                             "Vorbis", "Opus", "MP3"};
    const hr_audio_container *container = job->coding == HR_AUDIO_CODING_CONTAINER
                                              ? hr_audio_container_of(job->bytes, job->size)
                                              : NULL;
    const char *name = container ? container->name : names[job->coding];
    const hr_audio_module_def *module;
    room r = {arena, error};
    hr_status status = open_module(job->coding, &module, error);
    if (status != HR_STATUS_OK)
        return hr_error_prefix(error, "%s", name);
    job->container = container ? container->demuxer : NULL;
    job->limit = job->size > (SIZE_MAX - MEMORY) / MEMORY_PER_BYTE
                     ? SIZE_MAX
                     : MEMORY + job->size * MEMORY_PER_BYTE;
    job->memory = take_memory;
    job->context = &r;
    if (module->decode(job))
        return HR_STATUS_OK;
    if (job->no_memory)
        return hr_error_prefix(error, "%s", name);
    return hr_fail(error, job->over_limit ? HR_STATUS_LIMIT : HR_STATUS_CORRUPT, "%s: %s", name,
                   job->message);
}

void hr_audio_coded_forget(hr_audio_kept *kept)
{
    const hr_audio_module_def *module;
    hr_error error;
    if (kept && open_module(HR_AUDIO_CODING_NONE, &module, &error) == HR_STATUS_OK)
        module->forget(kept);
}

const char *hr_audio_coded_version(void)
{
    const hr_audio_module_def *module;
    hr_error error;
    return open_module(HR_AUDIO_CODING_NONE, &module, &error) == HR_STATUS_OK ? module->version()
                                                                              : "is not installed";
}
