/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The same files as the decoder here takes, and the same idea of damage; what needs symbols to be
 * seen is left to the kernels. */
#include "codecs/jpeg/device.h"

#include "codecs/codec.h"
#include "codecs/jpeg/index.h"
#include "codecs/jpeg/input.h"
#include "codecs/jpeg/markers.h"

#include "codecs/bytes.h"
#include "io/cache.h"

#include <string.h>

enum {
    MARKER_RST0 = 0xD0,
    SLACK = 16,     /* bytes that unstuffing may write beyond what it says */
    BLOCK_BITS = 2, /* that a block has at least */
    WHOLE_BITS = 3 * HR_JPEG_DEVICE_SUB
};

/* A scan on its way into staged memory. */
typedef struct stager {
    const hr_jpeg_markers *m;
    const uint8_t *scan, *end; /* of the file */
    hr_jpeg_device_image *out;
    hr_jpeg_device_segment *segment; /* the next one */
    uint8_t *base, *at;              /* staged bytes: the first, the next */
    uint32_t blocks;                 /* in an MCU */
    int32_t needed;                  /* MCUs from the scan's start to the window's last */
} stager;

/* ---- header ---- */

/* Equal tables are built once. */
static uint8_t add_table(uint8_t *count, uint8_t *tables, size_t room, const uint8_t *definition)
{
    size_t size = 16;
    for (int i = 0; i < 16; i++)
        size += definition[i];
    for (uint8_t i = 0; i < *count; i++)
        if (memcmp(tables + i * room, definition, size) == 0)
            return i;
    memcpy(tables + *count * room, definition, size);
    return (*count)++;
}

static bool take_tables(const hr_jpeg_markers *m, hr_jpeg_device_image *out)
{
    for (int32_t i = 0; i < m->components; i++) {
        const hr_jpeg_component *c = &m->component[i];
        const uint8_t *dc = m->huffman[0][c->dc], *ac = m->huffman[1][c->ac];
        const uint8_t *quant = m->quant[c->quant];
        if (!hr_jpeg_huffman_fits(dc, false) || !hr_jpeg_huffman_fits(ac, true))
            return false;
        size_t symbols = 0;
        for (int k = 0; k < 16; k++)
            symbols += dc[k];
        if (symbols > 16) /* some twice: legal, and not worth the room */
            return false;
        out->dc[i] = add_table(&out->dc_count, out->dc_table[0], sizeof out->dc_table[0], dc);
        out->ac[i] = add_table(&out->ac_count, out->ac_table[0], sizeof out->ac_table[0], ac);
        for (size_t k = 0; k < 64; k++)
            out->quant[i][k] = m->wide[c->quant] ? (uint16_t)hr_get_be16(quant + 2 * k) : quant[k];
    }
    return true;
}

static void take_geometry(const hr_jpeg_markers *m, const hr_codec_request *request,
                          hr_jpeg_device_image *out)
{
    const hr_window *w = &request->window;
    out->channels = request->channels;
    out->stride = (int64_t)request->stride;
    out->window_y = (int32_t)w->y;
    out->window_x = (int32_t)w->x;
    out->window_height = (int32_t)w->h;
    out->window_width = (int32_t)w->w;
    out->height = m->height;
    out->width = m->width;
    out->components = m->components;
    out->planes = request->channels == 1 ? 1 : m->components;
    out->rgb = m->color == HR_JPEG_COLOR_RGB;
    out->h = m->component[0].h;
    out->v = m->component[0].v;
    hr_jpeg_area a = hr_jpeg_area_of(m, out->planes, out->window_y, out->window_x,
                                     (int32_t)(w->y + w->h), (int32_t)(w->x + w->w));
    out->across = a.across;
    out->left = a.left;
    out->right = a.right;
    out->top = a.top;
    out->bottom = a.bottom;
}

/* ---- the scan ---- */

static uint32_t bits_at(const stager *s, const uint8_t *at)
{
    return 8 * (uint32_t)(at - s->base);
}

/* False when it cannot hold its blocks. */
static bool add_segment(stager *s, hr_jpeg_device_segment segment)
{
    uint32_t bits = segment.end - segment.bit;
    if (segment.end <= segment.bit || (segment.block_end - segment.block) > bits / BLOCK_BITS)
        return false;
    segment.first = s->out->subs;
    /* one that is not much longer than a subsequence is not worth synchronising */
    s->out->subs += bits <= WHOLE_BITS ? 1 : (bits + HR_JPEG_DEVICE_SUB - 1) / HR_JPEG_DEVICE_SUB;
    *s->segment++ = segment;
    return true;
}

/* The last segment that is needed: it may go on behind what is needed, but what is needed must be
 * all there. */
static bool add_last(stager *s, hr_jpeg_device_segment segment, int marker)
{
    uint32_t first = s->out->subs;
    uint32_t bits = segment.end - segment.bit;
    uint32_t ahead = marker == 0 ? 8 * HR_JPEG_READ_AHEAD : 0;
    if (marker < 0 || bits < ahead)
        return false;
    segment.block_end = (uint32_t)s->needed * s->blocks;
    segment.least = segment.bit;
    segment.most = segment.end - ahead;
    if (!add_segment(s, segment))
        return false;
    s->out->tail = s->m->restart > 0 ? s->out->subs : first;
    return true;
}

/* All segments from the start on, as long as they are needed. */
static bool stage_segments(stager *s)
{
    const uint8_t *from = s->scan;
    int32_t restart = s->m->restart;
    for (int32_t mcu = 0, restarts = 0;; restarts++) {
        hr_jpeg_device_segment segment = {.bit = bits_at(s, s->at),
                                          .block = (uint32_t)mcu * s->blocks};
        int marker = hr_jpeg_unstuff(&from, &s->at, s->end, s->end);
        segment.end = bits_at(s, s->at);
        if (restart == 0 || restart >= s->needed - mcu)
            return add_last(s, segment, marker);
        mcu += restart;
        segment.block_end = (uint32_t)mcu * s->blocks;
        segment.least = HR_MAX(segment.end, 7) - 7;
        segment.most = segment.end;
        if (marker != MARKER_RST0 + restarts % 8 || !add_segment(s, segment))
            return false;
    }
}

/* Whether the window needs one of the MCUs from `first` to `end` (exclusive). */
static bool wanted(const hr_jpeg_device_image *out, int32_t first, int32_t end)
{
    int32_t row = HR_MAX(first / out->across, out->top);
    int32_t last = HR_MIN((end - 1) / out->across, out->bottom - 1);
    for (; row <= last; row++)
        if (first < row * out->across + out->right && end > row * out->across + out->left)
            return true;
    return false;
}

/* What lies between two entries of the index, the second of which may be missing. */
static bool stage_chunk(stager *s, const hr_jpeg_entry *e, const hr_jpeg_entry *next,
                        const uint8_t **from)
{
    const uint8_t *begin = s->scan + e->bit / 8;
    if (*from == begin + 1) /* the byte that the chunk before ended in */
        s->at--;
    *from = begin;
    hr_jpeg_device_segment segment = {.bit = bits_at(s, s->at) + e->bit % 8,
                                      .block = e->mcu * s->blocks,
                                      .dc = {e->dc[0], e->dc[1], e->dc[2]}};
    const uint8_t *stop = next ? s->scan + next->bit / 8 : s->end;
    s->out->tail_byte = e->bit / 8;
    int marker = hr_jpeg_unstuff(from, &s->at, stop, s->end);
    segment.end = bits_at(s, s->at);
    if (!next)
        return add_last(s, segment, marker);
    if (marker != HR_JPEG_CUT || *from != stop)
        return false;
    segment.end += next->bit % 8;
    segment.block_end = next->mcu * s->blocks;
    segment.least = segment.most = segment.end;
    if (next->bit % 8 > 0) {
        *s->at++ = *stop;
        *from = stop + 1;
    }
    if (!add_segment(s, segment))
        return false;
    s->out->tail = s->out->subs;
    return true;
}

/* The first entry at or behind i of which the window needs something; `count` behind the last. */
static int32_t next_chunk(const stager *s, const hr_jpeg_index *index, int32_t i)
{
    for (; i < index->count && (int64_t)index->entry[i].mcu < s->needed; i++) {
        int32_t end = i + 1 < index->count ? (int32_t)index->entry[i + 1].mcu : s->needed;
        if (wanted(s->out, (int32_t)index->entry[i].mcu, end))
            return i;
    }
    return index->count;
}

/* The chunk that the first MCU lies in. */
static int32_t first_chunk(const stager *s, const hr_jpeg_index *index)
{
    int32_t first = s->out->top * s->out->across + s->out->left;
    int32_t low = 0, high = index->count; /* entries before `low` begin at or before it */
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if ((int64_t)index->entry[middle].mcu <= first)
            low = middle + 1;
        else
            high = middle;
    }
    return next_chunk(s, index, low > 0 ? low - 1 : 0);
}

static const hr_jpeg_entry *entry_behind(const hr_jpeg_index *index, int32_t i)
{
    return i + 1 < index->count ? &index->entry[i + 1] : NULL;
}

/* How many chunks, and bytes of the file in them. */
static size_t measure_chunks(const stager *s, const hr_jpeg_index *index, size_t *count)
{
    size_t size = 0;
    *count = 0;
    for (int32_t i = first_chunk(s, index); i < index->count; i = next_chunk(s, index, i + 1)) {
        const hr_jpeg_entry *e = &index->entry[i], *next = entry_behind(index, i);
        size_t end = next ? next->bit / 8 : (size_t)(s->end - s->scan);
        size += end - e->bit / 8 + 1; /* and the byte that the last bits are in */
        (*count)++;
    }
    return size;
}

static bool stage_chunks(stager *s, const hr_jpeg_index *index)
{
    const uint8_t *from = NULL;
    for (int32_t i = first_chunk(s, index); i < index->count; i = next_chunk(s, index, i + 1))
        if (!stage_chunk(s, &index->entry[i], entry_behind(index, i), &from))
            return false;
    return true;
}

/* Restart markers are an index of their own, and an index across them is not worth the trouble. */
static bool index_fits(const stager *s, const hr_jpeg_index *index, int32_t down)
{
    if (!index || index->count < 2 || s->m->restart > 0)
        return false;
    const hr_jpeg_entry *last = &index->entry[index->count - 1];
    return last->bit / 8 < (size_t)(s->end - s->scan) &&
           (int64_t)last->mcu < (int64_t)s->out->across * down;
}

/* How many segments there may be (0: surely fewer than are needed), and bytes of the file in them.
 */
static size_t measure(const stager *s, const hr_jpeg_index *index, size_t *count)
{
    size_t size = (size_t)(s->end - s->scan);
    *count = 1;
    if (index)
        return measure_chunks(s, index, count);
    if (s->m->restart > 0)
        *count = ((size_t)s->needed + (size_t)s->m->restart - 1) / (size_t)s->m->restart;
    if (*count > size / 2 + 1)
        *count = 0;
    return size;
}

static hr_status stage_scan(stager *s, const hr_jpeg_index *index, hr_staging *staging,
                            hr_error *error)
{
    size_t count, size = measure(s, index, &count);
    hr_staged bytes, segments;
    if (count == 0 || size > UINT32_MAX / 16)
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(staging->alloc(staging, (count + 1) * sizeof *s->segment, &segments, error));
    HR_TRY(staging->alloc(staging, size + SLACK + HR_JPEG_DEVICE_PAD, &bytes, error));
    s->base = s->at = bytes.host;
    s->segment = segments.host;
    if (!(index ? stage_chunks(s, index) : stage_segments(s)))
        return HR_STATUS_NOT_FUSABLE;
    memset(s->at, 0, HR_JPEG_DEVICE_PAD);
    *s->segment = (hr_jpeg_device_segment){.first = s->out->subs};
    s->out->segment_count = (uint32_t)(s->segment - (hr_jpeg_device_segment *)segments.host);
    s->out->segments = segments.device;
    s->out->scan = bytes.device;
    return HR_STATUS_OK;
}

hr_status hr_jpeg_device_prepare(const uint8_t *bytes, size_t size, const hr_image_info *info,
                                 const hr_codec_request *request, const hr_jpeg_index *index,
                                 hr_staging *staging, hr_jpeg_device_image *out, hr_error *error)
{
    hr_jpeg_markers m;
    memset(out, 0, sizeof *out);
    if (!hr_jpeg_markers_read(&m, bytes, size) || m.width != info->width ||
        m.height != info->height || (request->channels == 1 && m.color == HR_JPEG_COLOR_RGB) ||
        !take_tables(&m, out))
        return HR_STATUS_NOT_FUSABLE;
    take_geometry(&m, request, out);
    stager s = {.m = &m,
                .scan = bytes + m.scan,
                .end = bytes + size,
                .out = out,
                .blocks = (uint32_t)(out->h * out->v + (m.components == 3 ? 2 : 0)),
                .needed = (out->bottom - 1) * out->across + out->right};
    int32_t down = (out->height + 8 * out->v - 1) / (8 * out->v);
    return stage_scan(&s, index_fits(&s, index, down) ? index : NULL, staging, error);
}

void hr_jpeg_device_keep(const hr_jpeg_device_picture *picture, const hr_jpeg_device_place *places,
                         hr_cache *cache, hr_arena *arena)
{
    uint32_t count = hr_jpeg_device_places(&picture->image);
    const uint8_t *old;
    size_t old_size;
    hr_jpeg_index index;
    if (hr_jpeg_index_make(&index, picture->size, arena, NULL) != HR_STATUS_OK)
        return;
    if (hr_cache_get(cache, &picture->key, arena, &old, &old_size))
        hr_jpeg_index_unpack(&index, old, old_size);
    for (uint32_t i = 0; i < count; i++) {
        const hr_jpeg_device_place *p = &places[i];
        hr_jpeg_entry entry = {
            p->bit, p->mcu, {(int16_t)p->dc[0], (int16_t)p->dc[1], (int16_t)p->dc[2]}, 0};
        bool fits = p->mcu != HR_JPEG_DEVICE_NOWHERE;
        for (int k = 0; k < 3; k++)
            fits = fits && entry.dc[k] == p->dc[k];
        if (fits)
            hr_jpeg_index_add(&index, &entry);
    }
    uint8_t *packed = hr_arena_alloc(arena, (size_t)index.count * HR_JPEG_PACKED, NULL);
    if (packed && index.count > index.known)
        hr_cache_put(cache, &picture->key, packed, hr_jpeg_index_pack(&index, packed));
}
