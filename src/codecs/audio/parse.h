/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the parsers of sound files share: numbers, and checks of what a header says. */
#pragma once

#include "codecs/audio/audio.h"

typedef struct hr_audio_parser {
    const char *name; /* of the format */
    const uint8_t *bytes;
    size_t size;             /* at hand */
    uint64_t file_size;      /* may be more */
    char encoding[64];       /* as the file names it, for the message that it is not supported */
    uint64_t offset, length; /* of the samples */
    bool has_format, has_data;
    hr_audio *out;
} hr_audio_parser;

/* An integer without sign, of up to 8 bytes. */
static inline uint64_t hr__audio_get(const uint8_t *p, size_t size, bool big)
{
    uint64_t v = 0;
    for (size_t i = 0; i < size; i++)
        v = v << 8 | p[big ? i : size - 1 - i];
    return v;
}

/* Integers of so many bits, left-aligned in whole bytes; HR_AUDIO_CODE_NONE: not supported. */
static inline hr_audio_code hr__audio_integers(uint64_t bits, bool is_signed)
{
    static const hr_audio_code wide[] = {HR_AUDIO_CODE_NONE, HR_AUDIO_CODE_S8, HR_AUDIO_CODE_S16,
                                         HR_AUDIO_CODE_S24, HR_AUDIO_CODE_S32};
    if (bits > 32)
        return HR_AUDIO_CODE_NONE;
    return bits > 0 && bits <= 8 && !is_signed ? HR_AUDIO_CODE_U8 : wide[(bits + 7) / 8];
}

/* The format of the samples, once per file. */
hr_status hr__audio_format(hr_audio_parser *p, hr_audio_code code, uint64_t channels, int64_t rate,
                           hr_error *error);
/* Where the samples are, once per file; UINT64_MAX: up to the end of the file. */
hr_status hr__audio_data(hr_audio_parser *p, uint64_t offset, uint64_t length, hr_error *error);

/* Parsers. They set format and data, or say why not. */
typedef struct hr_audio_opener {
    const char *name;
    bool (*match)(const uint8_t *bytes, size_t size, uint64_t file_size);
    hr_status (*read)(hr_audio_parser *p, hr_error *error);
} hr_audio_opener;

extern const hr_audio_opener
    hr__audio_headers[]; /* of formats without chunks; the last has no name */
/* The name of a format that is recognised but not supported, or NULL. */
const char *hr__audio_refused(const uint8_t *bytes, size_t size);
