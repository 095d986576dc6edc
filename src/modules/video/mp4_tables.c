/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* How many samples the tables of an MP4 file describe. libavformat makes an entry in memory for
 * each, also where a table of a few bytes states one size for millions of them. Tables are found
 * wherever they are outside of the samples, because libavformat accepts them in any box. */
#include "modules/video/sound.h"

#include <string.h>

/* QuickTime counts samples as they are after decoding, at most so many per byte. */
enum { SAMPLES_PER_BYTE = 8, SAMPLES = 1 << 16 };
enum { CHUNK_SAMPLES = 160 }; /* that have one entry together, at least */

typedef struct tables {
    uint64_t samples;
    uint64_t chunks; /* of the track that has most */
    bool counted;    /* chunks were counted, so that samples can be */
} tables;

static uint64_t be32(const uint8_t *p)
{
    return (uint64_t)p[0] << 24 | (uint64_t)p[1] << 16 | (uint64_t)p[2] << 8 | p[3];
}

static bool is_type(const uint8_t *p, const char *type)
{
    return memcmp(p, type, 4) == 0;
}

/* The samples of all chunks. A run of chunks with as many samples goes on to the next run. */
static uint64_t chunk_samples(const uint8_t *runs, uint64_t count, uint64_t chunks)
{
    uint64_t samples = 0;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *run = runs + 12 * i;
        uint64_t first = be32(run), end = i + 1 < count ? be32(run + 12) : chunks + 1;
        end = end < chunks + 1 ? end : chunks + 1;
        if (first < end)
            samples += (end - first) * be32(run + 4) / CHUNK_SAMPLES;
        if (samples > UINT32_MAX)
            break;
    }
    return samples;
}

/* A table of the type at `p`, which `left` bytes follow. */
static void take(tables *t, const uint8_t *p, uint64_t left)
{
    const uint8_t *content = p + 4;
    const uint64_t second = left >= 8 ? be32(content + 4) : 0;
    if (is_type(p, "stco") || is_type(p, "co64"))
        t->chunks = second > t->chunks ? second : t->chunks;
    if (!t->counted)
        return;
    if (is_type(p, "stsz") || is_type(p, "stz2"))
        t->samples += left >= 12 ? be32(content + 8) : 0;
    else if (is_type(p, "trun"))
        t->samples += second;
    else if (is_type(p, "stsc") && left >= 8)
        t->samples += chunk_samples(content + 8,
                                    second < (left - 8) / 12 ? second : (left - 8) / 12, t->chunks);
    else if (is_type(p, "cmov")) /* compressed: nobody knows */
        t->samples = UINT32_MAX;
}

/* Looks at all bytes of boxes that are not samples. */
static void look(tables *t, const uint8_t *bytes, uint64_t size)
{
    for (uint64_t at = 0, length; size - at >= 8; at += length) {
        const uint8_t *box = bytes + at;
        length = be32(box);
        if (length == 1 && size - at >= 16)
            length = be32(box + 8) << 32 | be32(box + 12);
        length = length == 0 || length > size - at ? size - at : length < 8 ? 8 : length;
        if (is_type(box + 4, "mdat"))
            continue;
        for (uint64_t i = 4; i + 4 <= length; i++)
            if (box[i] == 's' || box[i] == 't' || box[i] == 'c')
                take(t, box + i, length - i - 4);
    }
}

bool hr__mp4_tables_are_small(const uint8_t *bytes, uint64_t size)
{
    tables t = {0};
    look(&t, bytes, size);
    t.counted = true;
    look(&t, bytes, size);
    return t.samples <= SAMPLES_PER_BYTE * size + SAMPLES;
}
