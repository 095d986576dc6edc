/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The interface of libheadrace_audio.so, which contains or needs libFLAC, libvorbis and libopus and
 * opens libmpg123, and of libheadrace_video.so for the sound of containers: one exported function,
 * hr_audio_module. The modules link none of our libraries. Their functions may be called from any
 * thread. */
#pragma once

#include "headrace/headrace.h"

enum { HR_AUDIO_ABI_VERSION = 3 };

typedef enum hr_audio_coding {
    HR_AUDIO_CODING_NONE,
    HR_AUDIO_CODING_FLAC,
    HR_AUDIO_CODING_OGG_FLAC,
    HR_AUDIO_CODING_VORBIS,
    HR_AUDIO_CODING_OPUS,
    HR_AUDIO_CODING_MP3,
    HR_AUDIO_CODING_CONTAINER, /* of the video module */
    HR_AUDIO_CODING_COUNT
} hr_audio_coding;

/* Decoders that are kept from one file to the next. */
typedef struct hr_audio_kept hr_audio_kept;

typedef struct hr_audio_job {
    const uint8_t *bytes;
    size_t size;
    hr_audio_coding coding;
    const char *container;   /* its demuxer in libavformat */
    double offset, duration; /* the part to decode, in seconds; a duration < 0: to the end */
    size_t limit;            /* bytes that the samples may need */
    /* Memory for samples, aligned for any type, or NULL. The caller frees all that it gave. */
    void *(*memory)(void *context, size_t size);
    void *context;
    /* At first NULL; one thread at a time; for `forget` in the end. The samples do not depend on
     * what is kept. If this is NULL, nothing is kept. */
    hr_audio_kept **kept;
    /* what was decoded: */
    int32_t channels, rate;
    bool is_float;  /* float from -1 to 1; otherwise int32_t whose highest bits are used */
    int64_t frames; /* so many times `channels` samples */
    void *samples;  /* in memory of the caller */
    /* of the module: */
    int64_t skip, most; /* frames that are left to drop, and to decode */
    size_t capacity;
    bool over_limit, no_memory;
    char message[160]; /* why decoding failed */
} hr_audio_job;

typedef struct hr_audio_module_def {
    uint32_t abi;         /* HR_AUDIO_ABI_VERSION */
    uint32_t struct_size; /* sizeof(hr_audio_module_def) when the module was compiled */
    const char *(*version)(void);
    bool (*decode)(hr_audio_job *job);
    void (*forget)(hr_audio_kept *kept);
} hr_audio_module_def;

typedef const hr_audio_module_def *(*hr_audio_module_fn)(void);
HR_API const hr_audio_module_def *hr_audio_module(void);
