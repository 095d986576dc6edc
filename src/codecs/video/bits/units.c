/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/bits/units.h"

#include <string.h>

enum { MPEG4_PICTURE = 0xb6 };

hr_status hr__units_create(hr_units **out, hr_video_codec codec, hr_error *error)
{
    if (!(*out = hr_calloc(1, sizeof(**out), error)))
        return HR_STATUS_NO_MEMORY;
    (*out)->codec = codec;
    (*out)->ended = true;
    return HR_STATUS_OK;
}

void hr__units_destroy(hr_units *u)
{
    if (u)
        hr_free(u->extra);
    hr_free(u);
}

hr_status hr__units_preset(hr_units *u, const hr_units *from, hr_error *error)
{
    if (!(u->extra = hr_calloc(from->extra_size + 1, 1, error)))
        return HR_STATUS_NO_MEMORY;
    if (from->extra_size > 0)
        memcpy(u->extra, from->extra, from->extra_size);
    u->extra_size = from->extra_size;
    memcpy(u->sps, from->sps, sizeof(u->sps));
    memcpy(u->pps, from->pps, sizeof(u->pps));
    u->width = from->width;
    u->height = from->height;
    u->rate_num = from->rate_num;
    u->rate_den = from->rate_den;
    u->time_bits = from->time_bits;
    u->preset = from->begun;
    return HR_STATUS_OK;
}

/* The byte behind the next start code (0, 0, 1); `end` if there is none. */
static const uint8_t *behind_start_code(const uint8_t *p, const uint8_t *end)
{
    for (; end - p > 3 && (p = memchr(p + 2, 1, (size_t)(end - p - 2))); p -= 1)
        if (p[-1] == 0 && p[-2] == 0)
            return p + 1;
    return end;
}

bool hr__units_next(const uint8_t **at, size_t *left, const uint8_t **unit, size_t *size)
{
    if (*left == 0)
        return false;
    const uint8_t *end = *at + *left, *next;
    do {
        *unit = behind_start_code(*at, end);
        next = behind_start_code(*unit, end);
        *at = next == end ? end : next - 3;
        *left = (size_t)(end - *at);
        *size = (size_t)(*at - *unit);
    } while (*size == 0 && *left > 0);
    return *size > 0;
}

static hr_status keep(hr_units *u, const uint8_t *unit, size_t size, hr_error *error)
{
    static const uint8_t start[] = {0, 0, 1};
    size_t grown = u->extra_size + sizeof(start) + size;
    if (grown > HR_UNIT_MOST_EXTRA)
        return HR_STATUS_OK;
    uint8_t *more = hr_realloc(u->extra, grown, 1, error);
    if (!more)
        return HR_STATUS_NO_MEMORY;
    memcpy(more + u->extra_size, start, sizeof(start));
    memcpy(more + u->extra_size + sizeof(start), unit, size);
    u->extra = more;
    u->extra_size = grown;
    return HR_STATUS_OK;
}

hr_status hr__units_read(hr_units *u, const uint8_t *unit, size_t size, hr_unit_kind *kind,
                         hr_error *error)
{
    bool parameters = false;
    *kind = HR_UNIT_OTHER;
    if (size == 0)
        return HR_STATUS_OK;
    u->seen++;
    if (u->codec == HR_VIDEO_CODEC_H264)
        u->odd += hr__h264_is_odd(unit);
    if (u->codec == HR_VIDEO_CODEC_HEVC)
        u->odd += hr__hevc_is_odd(unit, size);
    if (u->codec == HR_VIDEO_CODEC_H264)
        *kind = hr__h264_unit(u, unit, size, &parameters);
    else if (u->codec == HR_VIDEO_CODEC_HEVC)
        *kind = hr__hevc_unit(u, unit, size, &parameters);
    else
        *kind = hr__mpeg4_unit(u, unit, size, &parameters);
    if (parameters && !u->begun && !u->preset && size < HR_UNIT_MOST_HEAD)
        return keep(u, unit, size, error);
    u->begun = u->begun || *kind == HR_UNIT_PICTURE;
    return HR_STATUS_OK;
}

size_t hr__units_head(const hr_units *u, uint8_t first)
{
    bool slice = u->codec == HR_VIDEO_CODEC_H264   ? (first & 31) <= 5
                 : u->codec == HR_VIDEO_CODEC_HEVC ? first >> 1 < 32
                                                   : first == MPEG4_PICTURE;
    return slice ? HR_UNIT_SLICE_HEAD : HR_UNIT_MOST_HEAD;
}

void hr__units_describe(const hr_units *u, hr_video *v)
{
    v->layers = u->layers;
    if (v->width == 0 || v->height == 0) {
        v->width = u->width;
        v->height = u->height;
    }
    if (v->rate_num == 0 && u->rate_num > 0 && u->rate_den > 0 && u->rate_num <= INT32_MAX &&
        u->rate_den <= INT32_MAX) {
        v->rate_num = (int32_t)u->rate_num;
        v->rate_den = (int32_t)u->rate_den;
    }
}
