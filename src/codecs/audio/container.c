/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/audio/container.h"

#include "core/core.h"

#include <string.h>

static bool is_mp4(const uint8_t *b, size_t size)
{
    static const char types[][5] = {"ftyp", "moov", "mdat", "moof", "wide", "skip", "free"};
    for (size_t i = 0; size >= 16 && i < HR_COUNT_OF(types); i++)
        if (memcmp(b + 4, types[i], 4) == 0)
            return true;
    return false;
}

static bool is_matroska(const uint8_t *b, size_t size)
{
    return size >= 4 && memcmp(b, "\x1A\x45\xDF\xA3", 4) == 0;
}

static bool is_flv(const uint8_t *b, size_t size)
{
    return size >= 9 && memcmp(b, "FLV\1", 4) == 0;
}

static bool is_avi(const uint8_t *b, size_t size)
{
    return size >= 12 && memcmp(b, "RIFF", 4) == 0 && memcmp(b + 8, "AVI ", 4) == 0;
}

static bool is_mpeg(const uint8_t *b, size_t size)
{
    return size >= 12 && memcmp(b, "\0\0\1\xBA", 4) == 0;
}

/* Packets of 188 bytes, or of 192 with a time in front of each. */
static bool is_mpegts(const uint8_t *b, size_t size)
{
    return (size >= 377 && b[0] == 0x47 && b[188] == 0x47 && b[376] == 0x47) ||
           (size >= 389 && b[4] == 0x47 && b[196] == 0x47 && b[388] == 0x47);
}

/* A frame of AAC with a header (ADTS), and another one or the end behind it. */
static bool is_adts_frame(const uint8_t *b, size_t size)
{
    return size >= 7 && b[0] == 0xFF && (b[1] & 0xF6) == 0xF0 && (b[2] >> 2 & 15) < 13;
}

static bool is_adts(const uint8_t *b, size_t size)
{
    if (!is_adts_frame(b, size))
        return false;
    const size_t length = (size_t)(b[3] & 3) << 11 | (size_t)b[4] << 3 | b[5] >> 5;
    return length > 7 && (length + 7 > size || is_adts_frame(b + length, size - length));
}

const hr_audio_container *hr_audio_container_of(const uint8_t *bytes, size_t size)
{
    static const hr_audio_container known[] = {
        {"MP4", "mov", is_mp4},          {"Matroska", "matroska", is_matroska},
        {"AAC", "aac", is_adts},         {"FLV", "flv", is_flv},
        {"AVI", "avi", is_avi},          {"MPEG program stream", "mpeg", is_mpeg},
        {"MPEG-TS", "mpegts", is_mpegts}};
    for (size_t i = 0; i < HR_COUNT_OF(known); i++)
        if (known[i].match(bytes, size))
            return &known[i];
    return NULL;
}
