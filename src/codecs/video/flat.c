/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/flat.h"

#include <string.h>

#include "codecs/video/demux/demuxer.h"

/* This header, then `extra_size` and HR_VIDEO_PAD bytes, rounded up to 8, `count` packets, `frames`
 * and `key_count` numbers. */
typedef struct header {
    char format[16];
    uint8_t prefix[32];
    int64_t file_size, time_num, time_den, extra_size;
    int32_t codec, width, height, rate_num, rate_den, matrix, full_range, rotation, mirrored,
        packing;
    int32_t layers, prefix_size, count, key_count, frames;
} header;

static size_t padded(size_t extra_size)
{
    return (extra_size + HR_VIDEO_PAD + 7) & ~(size_t)7;
}

/* Numbers within the limits of a video, so that the sum fits. */
static size_t size_of(size_t extra_size, int32_t count, int32_t frames, int32_t key_count)
{
    return sizeof(header) + padded(extra_size) + (size_t)count * sizeof(hr_video_packet) +
           ((size_t)frames + (size_t)key_count) * sizeof(int32_t);
}

/* ---- writing ---- */

size_t hr_video_flat_size(const hr_video *v)
{
    return size_of(v->extra_size, v->count, v->frames, v->key_count);
}

static char *put(char *at, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(at, bytes, size);
    return at + size;
}

void hr_video_flat_write(const hr_video *v, int64_t file_size, void *out)
{
    header h;
    memset(&h, 0, sizeof(h)); /* no byte of it may depend on chance */
    h.file_size = file_size;
    h.time_num = v->time_num;
    h.time_den = v->time_den;
    h.extra_size = (int64_t)v->extra_size;
    h.codec = (int32_t)v->codec;
    h.width = v->width;
    h.height = v->height;
    h.rate_num = v->rate_num;
    h.rate_den = v->rate_den;
    h.matrix = v->signal.matrix;
    h.full_range = v->signal.full_range;
    h.rotation = v->rotation;
    h.mirrored = v->mirrored;
    h.packing = v->packing;
    h.layers = v->layers;
    h.prefix_size = v->prefix_size;
    h.count = v->count;
    h.key_count = v->key_count;
    h.frames = v->frames;
    memcpy(h.prefix, v->prefix, sizeof(h.prefix));
    memcpy(h.format, v->format, strnlen(v->format, sizeof(h.format) - 1));
    char *at = put(out, &h, sizeof(h));
    put(at, v->extra, v->extra_size);
    at = put(at + padded(v->extra_size), v->packets, (size_t)v->count * sizeof(*v->packets));
    at = put(at, v->order, (size_t)v->frames * sizeof(*v->order));
    put(at, v->keys, (size_t)v->key_count * sizeof(*v->keys));
}

/* ---- reading ---- */

static const char *find_format(const char *name)
{
    for (int32_t i = 0; hr_demuxers[i]; i++)
        if (strncmp(hr_demuxers[i]->name, name, sizeof(((header *)0)->format)) == 0)
            return hr_demuxers[i]->name;
    return NULL;
}

/* Whether the parts that `h` announces are the whole table. */
static bool sizes_fit(const header *h, size_t size)
{
    if (h->extra_size < 0 || h->extra_size > HR_VIDEO_MOST_EXTRA || h->count < 1 ||
        h->count > HR_VIDEO_MOST_PACKETS || h->frames < 1 || h->frames > h->count ||
        h->key_count < 1 || h->key_count > h->count)
        return false;
    return size == size_of((size_t)h->extra_size, h->count, h->frames, h->key_count);
}

static bool header_valid(const header *h, int64_t size)
{
    return h->file_size == size && find_format(h->format) && h->time_num > 0 && h->time_den > 0 &&
           h->time_num <= INT32_MAX && h->time_den <= INT32_MAX && h->rate_num > 0 &&
           h->rate_den > 0 && h->codec > HR_VIDEO_CODEC_NONE && h->codec < HR_VIDEO_CODEC_COUNT &&
           h->width >= 0 && h->height >= 0 && h->rotation >= -1 && h->rotation < 360 &&
           h->prefix_size >= 0 && h->prefix_size <= (int32_t)sizeof(h->prefix);
}

static bool arrays_valid(const hr_video *v, int64_t size)
{
    for (size_t i = 0; v->extra && i < HR_VIDEO_PAD; i++)
        if (v->extra[v->extra_size + i] != 0)
            return false;
    for (int32_t i = 0; i < v->count; i++) {
        const hr_video_packet *p = &v->packets[i];
        if (p->size < 1 || p->offset < 0 || p->offset > size - p->size ||
            p->pts > HR_VIDEO_MOST_PTS || p->pts < -HR_VIDEO_MOST_PTS)
            return false;
    }
    for (int32_t i = 0; i < v->key_count; i++)
        if (v->keys[i] < (i > 0 ? v->keys[i - 1] + 1 : 0) || v->keys[i] >= v->count)
            return false;
    for (int32_t i = 0; i < v->frames; i++) /* none is before the first key */
        if (v->order[i] < v->keys[0] || v->order[i] >= v->count ||
            (i > 0 && v->packets[v->order[i]].pts < v->packets[v->order[i - 1]].pts))
            return false;
    return true;
}

int64_t hr_video_flat_open(const void *flat, hr_video *v)
{
    header h;
    memcpy(&h, flat, sizeof(h));
    /* of a struct that owners may change; who borrows it does not */
    char *at = (char *)(uintptr_t)flat + sizeof(h);
    *v = (hr_video){.format = find_format(h.format),
                    .codec = (hr_video_codec)h.codec,
                    .width = h.width,
                    .height = h.height,
                    .time_num = h.time_num,
                    .time_den = h.time_den,
                    .rate_num = h.rate_num,
                    .rate_den = h.rate_den,
                    .signal = {h.matrix, h.full_range != 0},
                    .rotation = h.rotation,
                    .mirrored = h.mirrored != 0,
                    .extra = h.extra_size > 0 ? (uint8_t *)at : NULL,
                    .extra_size = (size_t)h.extra_size,
                    .packing = h.packing,
                    .layers = h.layers,
                    .prefix_size = h.prefix_size,
                    .count = h.count,
                    .key_count = h.key_count,
                    .frames = h.frames};
    memcpy(v->prefix, h.prefix, sizeof(v->prefix));
    at += padded(v->extra_size);
    v->packets = (hr_video_packet *)(void *)at;
    at += (size_t)v->count * sizeof(*v->packets);
    v->order = (int32_t *)(void *)at;
    at += (size_t)v->frames * sizeof(*v->order);
    v->keys = (int32_t *)(void *)at;
    return h.file_size;
}

bool hr_video_flat_valid(const void *flat, size_t size, int64_t file_size)
{
    header h;
    hr_video v;
    if (size < sizeof(h) || (uintptr_t)flat % sizeof(int64_t) != 0)
        return false;
    memcpy(&h, flat, sizeof(h));
    if (!sizes_fit(&h, size) || !header_valid(&h, file_size))
        return false;
    hr_video_flat_open(flat, &v);
    return arrays_valid(&v, file_size);
}
