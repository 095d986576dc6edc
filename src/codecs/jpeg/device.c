/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Accepts the files that decoder.c accepts, and calls the same things damage. What requires reading
 * the entropy-coded data is left to the kernels. */
#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/device_cut.h"

#include "codecs/codec.h"

#include "codecs/bytes.h"
#include "image/coded.h"
#include "codecs/jpeg/index_cache.h"

#include <stdlib.h>
#include <string.h>

enum {
    ALIGN = 16,     /* bytes: of segments in the scan */
    BLOCK_BITS = 2, /* of the shortest block: DC and EOB */
    WHOLE_BITS = 3 * HR_JPEG_DEVICE_SUB
};

typedef hr_jpeg_cutter cutter;

/* ---- header ---- */

/* Equal tables share one slot. */
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
        if (!hr_jpeg_huffman_fits(dc, false) || !hr_jpeg_huffman_fits(ac, true))
            return false;
        size_t symbols = 0;
        for (int k = 0; k < 16; k++)
            symbols += dc[k];
        if (symbols > 16) /* repeated symbols: legal, but not worth the memory */
            return false;
        out->dc[i] = add_table(&out->dc_count, out->dc_table[0], sizeof out->dc_table[0], dc);
        out->ac[i] = add_table(&out->ac_count, out->ac_table[0], sizeof out->ac_table[0], ac);
    }
    return true;
}

static void take_quant(const hr_jpeg_markers *m, hr_jpeg_device_image *out)
{
    for (int32_t i = 0; i < m->components; i++) {
        const hr_jpeg_component *c = &m->component[i];
        const uint8_t *quant = m->quant[c->quant];
        for (size_t k = 0; k < 64; k++)
            out->quant[i][k] = m->wide[c->quant] ? (uint16_t)hr_get_be16(quant + 2 * k) : quant[k];
    }
}

static void take_geometry(const hr_jpeg_markers *m, const hr_codec_request *request,
                          hr_jpeg_device_image *out)
{
    const hr_window *w = &request->window;
    out->channels = request->channels;
    out->window_y = (int32_t)w->y;
    out->window_x = (int32_t)w->x;
    out->window_height = (int32_t)w->h;
    out->window_width = (int32_t)w->w;
    out->steps = hr_image_steps(request, request->channels);
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

bool hr__jpeg_cut_add(cutter *s, const uint8_t *from, const uint8_t *to, uint32_t subs)
{
    hr_jpeg_device_segment *segment = s->segment;
    hr_jpeg_device_image *out = s->out;
    uint32_t size = to > from ? (uint32_t)(to - from) : 0;
    if (size == 0 || out->scan_size > UINT32_MAX / 32) /* bits are counted in 32 bits */
        return false;
    segment->raw = (uint32_t)(from - s->bytes);
    segment->raw_end = (uint32_t)(to - s->bytes);
    segment->bit += 8 * out->scan_size;
    segment->first = out->subs;
    segment->strip = out->strips;
    out->subs += subs;
    out->strips += HR_DIVIDE_UP(size, HR_JPEG_DEVICE_STRIP);
    out->scan_size += (size + 2 * ALIGN + HR_JPEG_DEVICE_PAD) / ALIGN * ALIGN;
    s->segment++;
    return true;
}

/* Adds the next segment, of at most these bytes. False if they cannot hold its blocks. */
static bool add_segment(cutter *s, const uint8_t *from, const uint8_t *to)
{
    const hr_jpeg_device_segment *segment = s->segment;
    uint32_t bits = to > from ? 8 * (uint32_t)(to - from) : 0;
    if (segment->block_end - segment->block > bits / BLOCK_BITS)
        return false;
    /* synchronising does not pay in segments not much longer than a subsequence */
    uint32_t subs = bits <= WHOLE_BITS ? 1 : HR_DIVIDE_UP(bits, HR_JPEG_DEVICE_SUB);
    return hr__jpeg_cut_add(s, from, to, subs);
}

/* Adds the last needed segment: it extends to a marker or the end of the file. */
static bool add_last(cutter *s, const uint8_t *from)
{
    uint32_t first = s->out->subs;
    s->segment->kind = HR_JPEG_DEVICE_LAST;
    s->segment->block_end = (uint32_t)s->needed * s->blocks;
    if (!add_segment(s, from, s->end))
        return false;
    s->out->tail = s->m->restart > 0 ? s->out->subs : first;
    return true;
}

const uint8_t *hr__jpeg_cut_marker(const uint8_t *at, const uint8_t *end, int *marker)
{
    while ((at = memchr(at, 0xFF, (size_t)(end - at))) != NULL) {
        const uint8_t *next = at + 1;
        while (next < end && *next == 0xFF)
            next++;
        *marker = next < end ? *next : 0;
        if (*marker != 0)
            return at;
        if (next == end || next > at + 1)
            return NULL;
        at = next + 1;
    }
    return NULL;
}

/* All needed segments, from the start of the scan. */
static bool cut_segments(cutter *s)
{
    const uint8_t *from = s->scan;
    int32_t restart = s->m->restart;
    for (int32_t mcu = 0, restarts = 0, marker;; restarts++) {
        *s->segment = (hr_jpeg_device_segment){.kind = HR_JPEG_DEVICE_RESTART,
                                               .block = (uint32_t)mcu * s->blocks};
        if (restart == 0 || restart >= s->needed - mcu)
            return add_last(s, from);
        const uint8_t *end = hr__jpeg_cut_marker(from, s->end, &marker);
        mcu += restart;
        s->segment->block_end = (uint32_t)mcu * s->blocks;
        if (!end || marker != MARKER_RST0 + restarts % 8 || !add_segment(s, from, end))
            return false;
        from = end + 1;
        while (*from++ == 0xFF) { /* to the byte after the marker */
        }
    }
}

/* Whether the window needs one of the MCUs from `first` to `end` (exclusive). Chunks are looked at
 * in order. */
static bool wanted(cutter *s, int32_t first, int32_t end)
{
    const hr_jpeg_device_image *out = s->out;
    while (s->row_end <= first)
        s->row_end += out->across;
    for (int32_t row = s->row_end - out->across; row < end; row += out->across)
        if (row >= out->top * out->across && first < row + out->right && end > row + out->left)
            return true;
    return false;
}

/* The segment between two entries of the index; `next` may be NULL. */
static bool cut_chunk(cutter *s, const hr_jpeg_entry *e, const hr_jpeg_entry *next)
{
    *s->segment = (hr_jpeg_device_segment){
        .bit = e->bit % 8, .block = e->mcu * s->blocks, .dc = {e->dc[0], e->dc[1], e->dc[2]}};
    s->out->tail_byte = e->bit / 8;
    if (!next)
        return add_last(s, s->scan + e->bit / 8);
    s->segment->bits = next->bit % 8;
    s->segment->block_end = next->mcu * s->blocks;
    if (!add_segment(s, s->scan + e->bit / 8, s->scan + (next->bit + 7) / 8))
        return false;
    s->out->tail = s->out->subs;
    return true;
}

/* The first entry from i on whose segment the window needs, or `count`. */
static int32_t next_chunk(cutter *s, const hr_jpeg_index *index, int32_t i)
{
    for (; i < index->count && (int64_t)index->entry[i].mcu < s->needed; i++) {
        int32_t end = i + 1 < index->count ? (int32_t)index->entry[i + 1].mcu : s->needed;
        if (wanted(s, (int32_t)index->entry[i].mcu, end))
            return i;
    }
    return index->count;
}

/* The entry whose segment contains the first MCU. */
static int32_t first_chunk(cutter *s, const hr_jpeg_index *index)
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
    low = low > 0 ? low - 1 : 0;
    s->row_end = ((int32_t)index->entry[low].mcu / s->out->across + 1) * s->out->across;
    return next_chunk(s, index, low);
}

static bool cut_chunks(cutter *s, const hr_jpeg_index *index)
{
    for (int32_t i = first_chunk(s, index); i < index->count; i = next_chunk(s, index, i + 1))
        if (!cut_chunk(s, &index->entry[i], i + 1 < index->count ? &index->entry[i + 1] : NULL))
            return false;
    return true;
}

/* Restart markers already serve as an index. */
static bool index_fits(const cutter *s, const hr_jpeg_index *index, int32_t down)
{
    if (!index || index->count < 2 || s->m->restart > 0)
        return false;
    const hr_jpeg_entry *last = &index->entry[index->count - 1];
    return last->bit / 8 < (size_t)(s->end - s->scan) &&
           (int64_t)last->mcu < (int64_t)s->out->across * down;
}

/* An upper bound of the number of segments; 0: surely fewer than needed. */
static size_t count_segments(cutter *s, const hr_jpeg_index *index)
{
    size_t size = (size_t)(s->end - s->scan);
    if (index)
        return (size_t)(index->count - first_chunk(s, index));
    if (s->m->restart == 0)
        return 1;
    size_t count = ((size_t)s->needed + (size_t)s->m->restart - 1) / (size_t)s->m->restart;
    return count > size / 2 + 1 ? 0 : count;
}

/* Finds the bytes of all segments, and stages them unless the memory is pinned. */
static hr_status take_bytes(const cutter *s, hr_jpeg_device_segment *segments, bool pinned,
                            hr_staging *staging, hr_error *error)
{
    hr_staged staged;
    uint32_t from = segments[0].raw, size = 0; /* the first one begins first */
    for (hr_jpeg_device_segment *segment = segments; segment < s->segment; segment++) {
        segment->raw -= from;
        segment->raw_end -= from;
        size = HR_MAX(size, segment->raw_end);
    }
    s->out->raw = s->bytes + from;
    s->out->raw_size = size;
    if (pinned)
        return HR_STATUS_OK;
    HR_TRY(staging->alloc(staging, size + HR_JPEG_DEVICE_PAD, &staged, error));
    memcpy(staged.host, s->bytes + from, size);
    s->out->raw = staged.device;
    s->out->raw_size = 0;
    return HR_STATUS_OK;
}

static hr_status cut_scan(cutter *s, const hr_jpeg_index *index, hr_staging *staging,
                          hr_staged *segments, hr_error *error)
{
    size_t count = count_segments(s, index);
    if (count == 0 || count > INT32_MAX)
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(staging->alloc(staging, (count + 1) * sizeof *s->segment, segments, error));
    s->segment = segments->host;
    return (index ? cut_chunks(s, index) : cut_segments(s)) ? HR_STATUS_OK : HR_STATUS_NOT_FUSABLE;
}

/* What the window needs. A scan of a progressive file has to be read from its start, and another
 * one refines all of its blocks. */
static void take_area(const hr_jpeg_markers *m, hr_jpeg_device_image *out)
{
    if (!m->progressive)
        return;
    out->planes = m->components;
    out->left = out->top = 0;
    out->right = out->across;
}

hr_status hr_jpeg_device_prepare(const uint8_t *bytes, size_t size, const hr_image_info *info,
                                 const hr_codec_request *request, const hr_jpeg_index *index,
                                 int pinned, hr_staging *staging, hr_jpeg_device_image *out,
                                 hr_error *error)
{
    hr_jpeg_markers m;
    hr_staged segments;
    memset(out, 0, sizeof *out);
    if (!hr_jpeg_markers_read(&m, bytes, size) && !hr_jpeg_passes_open(&m, bytes, size))
        return HR_STATUS_NOT_FUSABLE;
    if (m.width != info->width || m.height != info->height ||
        (request->channels == 1 && m.color == HR_JPEG_COLOR_RGB) ||
        (!m.progressive && !take_tables(&m, out)) || size - m.scan > UINT32_MAX / 16)
        return HR_STATUS_NOT_FUSABLE;
    take_quant(&m, out);
    take_geometry(&m, request, out);
    take_area(&m, out);
    cutter s = {.m = &m,
                .bytes = bytes,
                .scan = bytes + m.scan,
                .end = bytes + size,
                .out = out,
                .blocks = (uint32_t)(out->h * out->v + (m.components == 3 ? 2 : 0)),
                .needed = (out->bottom - 1) * out->across + out->right};
    int32_t down = (out->height + 8 * out->v - 1) / (8 * out->v);
    if (m.progressive)
        HR_TRY(hr__jpeg_cut_passes(&s, &m, index, staging, &segments, error));
    else
        HR_TRY(cut_scan(&s, index_fits(&s, index, down) ? index : NULL, staging, &segments, error));
    if (s.segment == segments.host)
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(take_bytes(&s, segments.host, pinned, staging, error));
    *s.segment = (hr_jpeg_device_segment){.first = out->subs, .strip = out->strips};
    out->segment_count = (uint32_t)(s.segment - (hr_jpeg_device_segment *)segments.host);
    out->segments = segments.device;
    return HR_STATUS_OK;
}

static int by_bit(const void *a, const void *b)
{
    const hr_jpeg_entry *x = a, *y = b;
    return (x->bit > y->bit) - (x->bit < y->bit);
}

/* Those of the entries that can be packed. */
static size_t take_entries(const hr_jpeg_device_entry *entries, uint32_t count, hr_jpeg_entry *to)
{
    size_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        const hr_jpeg_device_entry *p = &entries[i];
        hr_jpeg_entry entry = {
            p->bit, p->mcu, {(int16_t)p->dc[0], (int16_t)p->dc[1], (int16_t)p->dc[2]}, 0};
        bool fits = p->mcu != HR_JPEG_DEVICE_NOWHERE;
        for (int k = 0; k < 3; k++)
            fits = fits && entry.dc[k] == p->dc[k];
        if (fits)
            to[n++] = entry;
    }
    return n;
}

void hr_jpeg_device_keep(const hr_jpeg_device_record *record, const hr_jpeg_device_entry *entries,
                         hr_cache *cache, hr_arena *arena)
{
    uint32_t count = hr_jpeg_device_entry_count(&record->image);
    const uint8_t *old;
    size_t old_size;
    hr_jpeg_index index;
    if (hr_jpeg_index_make(&index, record->size, arena, NULL) != HR_STATUS_OK)
        return;
    if (hr_cache_get(cache, &record->key, arena, &old, &old_size))
        hr_jpeg_index_unpack(&index, old, old_size);
    size_t known = (size_t)index.known - 1;
    hr_jpeg_entry *all = hr_arena_alloc(arena, (known + count) * sizeof *all, NULL);
    if (!all)
        return;
    memcpy(all, index.entry + 1, known * sizeof *all);
    size_t n = known + take_entries(entries, count, all + known);
    qsort(all, n, sizeof *all, by_bit); /* those of a progressive file are of many places */
    index.count = 1;
    for (size_t i = 0; i < n; i++)
        hr_jpeg_index_add(&index, &all[i]);
    uint8_t *packed = hr_arena_alloc(arena, (size_t)index.count * HR_JPEG_PACKED, NULL);
    if (packed && index.count > index.known)
        hr_cache_put(cache, &record->key, packed, hr_jpeg_index_pack(&index, packed));
}

static void bind(const hr_coded *coded, const hr_coded_memory *memory, void *record)
{
    hr_jpeg_device_image *image = record;
    *image = ((const hr_jpeg_device_record *)coded->record)->image;
    image->dst = memory->pixels;
    image->scan = memory->scratch;
    image->entries = memory->notes;
    image->status = memory->status;
}

static void keep(const hr_coded *coded, const void *notes, hr_cache *cache, hr_arena *arena)
{
    hr_jpeg_device_keep(coded->record, notes, cache, arena);
}

void hr_jpeg_device_coded(const hr_jpeg_device_record *record, hr_coded *out)
{
    static const hr_coded_decoder decoder = {"jpeg", sizeof(hr_jpeg_device_image), bind, keep};
    const hr_jpeg_device_image *image = &record->image;
    size_t entries = record->keyed ? hr_jpeg_device_entry_count(image) : 0;
    *out = (hr_coded){.decoder = &decoder,
                      .record = record,
                      .stride = image->steps.stride,
                      .rows = image->steps.rows,
                      .scratch = image->scan_size,
                      .notes = entries * sizeof(hr_jpeg_device_entry)};
}
