/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The scans of a progressive file as segments for a device: one for each scan or restart interval,
 * or for each entry of the index. They are sorted by level: what a scan refines is in levels before
 * its own. The criteria for a file are those of progressive.c. */
#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/device_cut.h"
#include "codecs/jpeg/progressive.h"
#include "codecs/jpeg/segment.h"

#include <string.h>

enum {
    PASSES_MOST = 64,
    /* of a scan, whose symbols the device decodes one after the other; about a second */
    SERIAL_BLOCKS = 1 << 20,
    SERIAL_BYTES = 8 << 20
};

/* A scan, as its headers describe it. Pointers are into the file. */
typedef struct pass {
    hr_jpeg_pass_header header;
    const uint8_t *from, *end; /* entropy-coded data */
    const uint8_t *table[HR_JPEG_COMPONENTS];
    int32_t restart, level;
    uint32_t mcu, mcus, needed; /* MCUs before it, in it, down to the window's last row */
    uint32_t across, blocks;    /* MCUs in a row; blocks in an MCU */
    int32_t entry, entries;     /* of the index */
} pass;

typedef struct passes {
    hr_jpeg_progress known;
    uint8_t level[HR_JPEG_COMPONENTS][64]; /* of the next scan of each coefficient */
    int32_t count;
    pass pass[PASSES_MOST];
} passes;

/* ---- headers ---- */

static bool take_tables(const hr_jpeg_markers *m, pass *p)
{
    const hr_jpeg_pass_header *h = &p->header;
    bool ac = h->first > 0;
    for (int32_t i = 0; i < h->components && (ac || h->high == 0); i++) {
        const hr_jpeg_component *c = &m->component[h->component + i];
        p->table[i] = m->huffman[ac][ac ? c->ac : c->dc];
        if (!p->table[i] || !hr_jpeg_huffman_fits(p->table[i], ac))
            return false;
    }
    return true;
}

static void measure(const hr_jpeg_cutter *s, pass *p)
{
    const hr_jpeg_markers *m = s->m;
    const hr_jpeg_component *c = &m->component[p->header.component];
    int32_t h = m->component[0].h, v = m->component[0].v, rows, needed;
    if (p->header.components == 1) {
        p->across = (uint32_t)HR_DIVIDE_UP(HR_DIVIDE_UP(m->width * c->h, h), 8);
        rows = HR_DIVIDE_UP(HR_DIVIDE_UP(m->height * c->v, v), 8);
        needed = HR_MIN(rows, s->out->bottom * c->v);
        p->blocks = 1;
    } else {
        p->across = (uint32_t)s->out->across;
        rows = HR_DIVIDE_UP(m->height, 8 * v);
        needed = s->out->bottom;
        p->blocks = s->blocks;
    }
    p->mcus = p->across * (uint32_t)rows;
    p->needed = p->across * (uint32_t)needed;
}

static void find_level(passes *all, pass *p)
{
    const hr_jpeg_pass_header *h = &p->header;
    for (int32_t i = h->component; i < h->component + h->components; i++)
        for (int32_t k = h->first; k <= h->last; k++)
            p->level = HR_MAX(p->level, all->level[i][k]);
    for (int32_t i = h->component; i < h->component + h->components; i++)
        for (int32_t k = h->first; k <= h->last; k++)
            all->level[i][k] = (uint8_t)(p->level + 1);
}

/* Adds the scan that the markers were read up to. */
static bool add_pass(const hr_jpeg_cutter *s, passes *all, size_t size)
{
    const hr_jpeg_markers *m = s->m;
    size_t end = hr_jpeg_segment_scan_end(s->bytes, size, m->scan);
    if (all->count == PASSES_MOST || end == size || !hr_jpeg_progress_add(&all->known, &m->pass))
        return false;
    pass *p = &all->pass[all->count++];
    *p = (pass){.header = m->pass,
                .from = s->bytes + m->scan,
                .end = s->bytes + end,
                .restart = m->restart};
    while (p->end > p->from && p->end[-1] == 0xFF) /* fill bytes */
        p->end--;
    measure(s, p);
    find_level(all, p);
    if (all->count > 1)
        p->mcu = p[-1].mcu + p[-1].mcus;
    return p->level < HR_JPEG_DEVICE_LEVELS && p->mcus <= SERIAL_BLOCKS && take_tables(m, p);
}

static bool read_passes(const hr_jpeg_cutter *s, hr_jpeg_markers *m, passes *all)
{
    size_t size = (size_t)(s->end - s->bytes);
    memset(all, 0, sizeof *all);
    hr_jpeg_progress_begin(&all->known);
    for (bool end = false; !end;) {
        if (!add_pass(s, all, size))
            return false;
        size_t at = (size_t)(all->pass[all->count - 1].end - s->bytes);
        if (!hr_jpeg_passes_next(m, s->bytes, size, at, &end))
            return false;
    }
    return hr_jpeg_progress_ends(&all->known, m->components);
}

/* Finds the entries that are in each scan. Entries count bits and MCUs from the first scan on. */
static void share_entries(const hr_jpeg_cutter *s, passes *all, const hr_jpeg_index *index)
{
    int32_t i = 1;
    for (int32_t n = 0; n < all->count && index; n++) {
        pass *p = &all->pass[n];
        uint32_t from = (uint32_t)(p->from - s->scan), end = (uint32_t)(p->end - s->scan);
        while (i < index->count && index->entry[i].bit / 8 < from)
            i++;
        p->entry = i;
        while (i < index->count && index->entry[i].bit / 8 < end && p->restart == 0 &&
               index->entry[i].mcu > p->mcu && index->entry[i].mcu - p->mcu < p->needed)
            i++;
        p->entries = i - p->entry;
    }
}

/* ---- segments ---- */

static bool add_segment(hr_jpeg_cutter *s, const pass *p, const uint8_t *from, const uint8_t *to)
{
    hr_jpeg_device_segment *segment = s->segment;
    hr_jpeg_device_image *out = s->out;
    size_t size = to > from ? (size_t)(to - from) : 0;
    bool serial = p->header.first > 0 || p->header.high == 0; /* others need no entries */
    if (size > SERIAL_BYTES)
        return false;
    segment->note = out->notes;
    if (serial && p->restart == 0 && size > 2 * HR_JPEG_DEVICE_NOTE)
        segment->notes = (uint32_t)(size / HR_JPEG_DEVICE_NOTE);
    out->notes += segment->notes;
    return hr__jpeg_cut_add(s, from, to, 1);
}

static void begin_segment(hr_jpeg_cutter *s, const passes *all, const pass *p, uint32_t mcu,
                          uint32_t end)
{
    *s->segment = (hr_jpeg_device_segment){.pass = (uint32_t)(p - all->pass),
                                           .kind = HR_JPEG_DEVICE_RESTART,
                                           .block = mcu * p->blocks,
                                           .block_end = end * p->blocks};
}

static bool cut_restarts(hr_jpeg_cutter *s, const passes *all, const pass *p)
{
    const uint8_t *from = p->from;
    uint32_t restart = (uint32_t)p->restart;
    for (uint32_t mcu = 0, restarts = 0; mcu < p->needed; restarts++) {
        uint32_t whole = HR_MIN(restart, p->mcus - mcu), left = p->needed - mcu;
        int marker = MARKER_EOI;
        const uint8_t *end = p->end;
        begin_segment(s, all, p, mcu, mcu + HR_MIN(whole, left));
        s->segment->kind = left < whole ? HR_JPEG_DEVICE_PART : HR_JPEG_DEVICE_RESTART;
        mcu += whole;
        if (mcu < p->mcus) {
            end = hr__jpeg_cut_marker(from, p->end, &marker);
            if (!end || marker != MARKER_RST0 + (int)(restarts % 8))
                return false;
        } else if (hr__jpeg_cut_marker(from, p->end, &marker)) {
            return false; /* one too many */
        }
        if (!add_segment(s, p, from, end))
            return false;
        from = end + 1;
        while (mcu < p->mcus && *from++ == 0xFF) { /* to the byte after the marker */
        }
    }
    return true;
}

/* From the start of the scan or an entry to the next one, or to the end. */
static bool cut_entries(hr_jpeg_cutter *s, const passes *all, const pass *p,
                        const hr_jpeg_index *index)
{
    const hr_jpeg_entry *e = p->entries > 0 ? &index->entry[p->entry] : NULL;
    const uint8_t *from = p->from;
    uint32_t mcu = 0, bit = 0;
    int32_t dc[3] = {0};
    for (int32_t i = 0; i <= p->entries; i++) {
        bool last = i == p->entries;
        const uint8_t *to = last ? p->end : s->scan + (e[i].bit + 7) / 8;
        begin_segment(s, all, p, mcu, last ? p->needed : e[i].mcu - p->mcu);
        memcpy(s->segment->dc, dc, sizeof dc);
        s->segment->bit = bit;
        s->segment->kind = !last                 ? HR_JPEG_DEVICE_CUT
                           : p->needed < p->mcus ? HR_JPEG_DEVICE_PART
                                                 : HR_JPEG_DEVICE_RESTART;
        s->segment->bits = last ? 0 : e[i].bit % 8;
        if (!add_segment(s, p, from, to))
            return false;
        if (last)
            break;
        from = s->scan + e[i].bit / 8;
        bit = e[i].bit % 8;
        mcu = e[i].mcu - p->mcu;
        for (int k = 0; k < 3; k++)
            dc[k] = e[i].dc[k];
    }
    return true;
}

static size_t count_segments(const passes *all)
{
    size_t count = 0;
    for (int32_t n = 0; n < all->count; n++) {
        const pass *p = &all->pass[n];
        size_t most = (size_t)(p->end - p->from) / 2 + 1; /* of restart intervals */
        count += 1 + (size_t)p->entries;
        if (p->restart > 0)
            count += HR_MIN((size_t)p->needed / (size_t)p->restart, most);
    }
    return count;
}

static hr_status stage_passes(hr_jpeg_cutter *s, const passes *all, hr_staging *staging,
                              hr_error *error)
{
    hr_staged staged;
    HR_TRY(
        staging->alloc(staging, (size_t)all->count * sizeof(hr_jpeg_device_pass), &staged, error));
    hr_jpeg_device_pass *to = staged.host;
    for (int32_t n = 0; n < all->count; n++, to++) {
        const pass *p = &all->pass[n];
        const hr_jpeg_pass_header *h = &p->header;
        *to = (hr_jpeg_device_pass){.components = h->components,
                                    .component = h->component,
                                    .first = h->first,
                                    .last = h->last,
                                    .low = h->low,
                                    .refine = h->high > 0,
                                    .across = p->across,
                                    .mcu = p->mcu};
        for (int32_t i = 0; i < h->components && p->table[i]; i++) {
            size_t size = 16;
            for (int k = 0; k < 16; k++)
                size += p->table[i][k];
            memcpy(to->table[i], p->table[i], size);
        }
    }
    s->out->passes = staged.device;
    return HR_STATUS_OK;
}

hr_status hr__jpeg_cut_passes(hr_jpeg_cutter *s, hr_jpeg_markers *m, const hr_jpeg_index *index,
                              hr_staging *staging, hr_staged *segments, hr_error *error)
{
    passes all;
    if (!read_passes(s, m, &all))
        return HR_STATUS_NOT_FUSABLE;
    share_entries(s, &all, index);
    size_t count = count_segments(&all) + 1;
    HR_TRY(stage_passes(s, &all, staging, error));
    HR_TRY(staging->alloc(staging, count * sizeof *s->segment, segments, error));
    s->segment = segments->host;
    for (int32_t level = 0; level < HR_JPEG_DEVICE_LEVELS; level++) {
        for (int32_t n = 0; n < all.count; n++) {
            const pass *p = &all.pass[n];
            if (p->level == level &&
                !(p->restart > 0 ? cut_restarts(s, &all, p) : cut_entries(s, &all, p, index)))
                return HR_STATUS_NOT_FUSABLE;
        }
        s->out->level[level + 1] =
            (uint32_t)(s->segment - (hr_jpeg_device_segment *)segments->host);
    }
    s->out->tail = s->out->subs;
    return HR_STATUS_OK;
}
