/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/video/bits/split.h"

#include <string.h>

hr_status hr__split_create(hr_split **out, hr_video_codec codec, hr_error *error)
{
    if (!(*out = hr_calloc(1, sizeof(**out), error)))
        return HR_STATUS_NO_MEMORY;
    (*out)->recent = UINT32_MAX;
    return hr__units_create(&(*out)->units, codec, error);
}

void hr__split_destroy(hr_split *s)
{
    if (s)
        hr__units_destroy(s->units);
    hr_free(s);
}

/* Byte `at` of the stream, which is in one of the last pieces. */
static hr_split_point point_of(const hr_split *s, int64_t at)
{
    int64_t i = s->piece_count - 1, oldest = HR_MAX(s->piece_count - HR_SPLIT_PIECES, 0);
    while (i > oldest && s->pieces[i % HR_SPLIT_PIECES].start > at)
        i--;
    const hr_split_piece *p = &s->pieces[i % HR_SPLIT_PIECES].piece;
    size_t before = (size_t)HR_MAX(at - s->pieces[i % HR_SPLIT_PIECES].start, 0);
    return (hr_split_point){p->place, p->group, p->pts, before, p->size - 1 - before};
}

/* A start code has ended with byte `at` of the stream; a zero before its three bytes belongs to it.
 */
static void begin_unit(hr_split *s, int64_t at)
{
    int64_t start = at - ((s->recent >> 16 & 255) == 0 ? 3 : 2);
    hr_split_point here = point_of(s, at);
    s->unit = (hr_split_packet){.first = point_of(s, start), .group = here.group, .pts = here.pts};
    if (start > 0)
        s->unit.last = point_of(s, start - 1);
    s->in_head = true;
    s->head_size = 0;
}

static hr_status end_packet(hr_split *s, const hr_split_point *last, hr_error *error)
{
    if (!s->has_current)
        return HR_STATUS_OK;
    s->has_current = false;
    s->current.last = *last;
    return s->found(s->user, &s->current, error);
}

/* The head of the unit is complete. */
static hr_status end_head(hr_split *s, hr_error *error)
{
    hr_unit_kind kind;
    if (!s->in_head)
        return HR_STATUS_OK;
    s->in_head = false;
    HR_TRY(hr__units_read(s->units, s->head, s->head_size, &kind, error));
    if (kind == HR_UNIT_PICTURE || kind == HR_UNIT_PREFIX) {
        if (!s->has_next)
            s->next = s->unit;
        s->has_next = true;
    }
    if (kind == HR_UNIT_SLICE)
        s->has_next = false;
    if (kind != HR_UNIT_PICTURE)
        return HR_STATUS_OK;
    HR_TRY(end_packet(s, &s->next.last, error));
    s->current = s->next;
    s->current.picture = s->units->picture;
    s->has_current = true;
    s->has_next = false;
    return HR_STATUS_OK;
}

static hr_status add_byte(hr_split *s, uint8_t byte, hr_error *error)
{
    bool start = byte == 1 && (s->recent & 0xffff) == 0;
    if (s->in_head)
        s->head[s->head_size++] = byte;
    if (start && s->in_head) { /* the start code and zeros before it are not part of the unit */
        s->head_size -= HR_MIN(s->head_size, 3);
        while (s->head_size > 0 && s->head[s->head_size - 1] == 0)
            s->head_size--;
    }
    if (start || (s->in_head && s->head_size >= hr__units_head(s->units, s->head[0])))
        HR_TRY(end_head(s, error));
    if (start)
        begin_unit(s, s->at);
    s->recent = s->recent << 8 | byte;
    s->at++;
    return HR_STATUS_OK;
}

hr_status hr__split_add(hr_split *s, const hr_split_piece *piece, hr_error *error)
{
    const uint8_t *p = piece->bytes, *end = p + piece->size;
    int64_t slot = s->piece_count++ % HR_SPLIT_PIECES;
    s->pieces[slot].start = s->at;
    s->pieces[slot].piece = *piece;
    s->pieces[slot].piece.bytes = NULL;
    while (p < end) {
        if (!s->in_head && end - p > 4) { /* up to a byte of 1 there is nothing to look for */
            const uint8_t *one = memchr(p, 1, (size_t)(end - p)), *to = one ? one : end;
            ptrdiff_t skipped = HR_MAX(to - p - 4, 0);
            s->at += skipped;
            p += skipped;
            for (; p < to; p++)
                HR_TRY(add_byte(s, *p, error));
            if (p == end)
                break;
        }
        HR_TRY(add_byte(s, *p++, error));
    }
    return HR_STATUS_OK;
}

hr_status hr__split_end(hr_split *s, hr_error *error)
{
    hr_split_point last;
    HR_TRY(end_head(s, error));
    if (s->at == 0)
        return HR_STATUS_OK;
    last = point_of(s, s->at - 1);
    return end_packet(s, &last, error);
}
