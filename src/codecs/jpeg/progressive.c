/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A refinement scan cannot be read without the coefficients of the same blocks in earlier scans,
 * but needs no others. So all scans are open at once and are read one row of MCUs after the other:
 * only the coefficients of one row are in memory. Strict like markers.c: files whose scans leave
 * out or repeat bits of a coefficient are left to libjpeg-turbo. */
#include "codecs/jpeg/progressive.h"

#include "codecs/jpeg/input.h"
#include "codecs/jpeg/segment.h"

#include <string.h>

/* A progressive scan (a pass). */
typedef struct scan {
    hr_jpeg_pass_header header;
    const hr_jpeg_huffman *table[HR_JPEG_COMPONENTS];
    hr_jpeg_input input;
    hr_jpeg_scan scan;
    hr_jpeg_pass pass;
    const uint8_t *end; /* the marker behind it */
} scan;

struct hr_jpeg_progressive {
    hr_jpeg_markers *m;
    const hr_kernels *kernels;
    int32_t rows, next; /* rows of MCUs: all, and those that were read */
    hr_jpeg_component_coefs coefs[HR_JPEG_COMPONENTS];
    hr_jpeg_progress known;
    int32_t count;
    scan *scan[HR_JPEG_PASSES_MAX];
};

typedef hr_jpeg_progressive progress;

static size_t blocks_of(const progress *p, int32_t component)
{
    return (size_t)p->coefs[component].across * (size_t)p->m->component[component].v;
}

static hr_status make_coefs(progress *p, hr_arena *arena, hr_error *error)
{
    const hr_jpeg_markers *m = p->m;
    int32_t h = m->component[0].h, v = m->component[0].v;
    for (int32_t i = 0; i < m->components; i++) {
        const hr_jpeg_component *c = &m->component[i];
        hr_jpeg_component_coefs *to = &p->coefs[i];
        to->across = HR_DIVIDE_UP(m->width, 8 * h) * c->h;
        to->width = HR_DIVIDE_UP(HR_DIVIDE_UP(m->width * c->h, h), 8);
        to->height = HR_DIVIDE_UP(HR_DIVIDE_UP(m->height * c->v, v), 8);
        size_t blocks = blocks_of(p, i);
        to->coef = hr_arena_alloc(arena, blocks * 64 * sizeof *to->coef, error);
        to->mask = hr_arena_alloc(arena, blocks * sizeof *to->mask, error);
        HR_TRY_ALLOC(to->coef && to->mask);
    }
    p->rows = HR_DIVIDE_UP(m->height, 8 * v);
    hr_jpeg_progress_begin(&p->known);
    return HR_STATUS_OK;
}

void hr_jpeg_progress_begin(hr_jpeg_progress *p)
{
    memset(p->low, HR_JPEG_UNKNOWN, sizeof p->low);
}

bool hr_jpeg_progress_add(hr_jpeg_progress *p, const hr_jpeg_pass_header *s)
{
    for (int32_t i = s->component; i < s->component + s->components; i++) {
        if (s->first > 0 && p->low[i][0] == HR_JPEG_UNKNOWN)
            return false;
        for (int32_t k = s->first; k <= s->last; k++) {
            if (p->low[i][k] != (s->high == 0 ? HR_JPEG_UNKNOWN : s->high))
                return false;
            p->low[i][k] = (int8_t)s->low;
        }
    }
    return true;
}

bool hr_jpeg_progress_ends(const hr_jpeg_progress *p, int32_t components)
{
    for (int32_t i = 0; i < components; i++)
        for (int32_t k = 0; k < 64; k++)
            if (p->low[i][k] != 0)
                return false;
    return true;
}

/* The tables of a scan. */
static hr_status make_tables(const progress *p, scan *to, hr_arena *arena, hr_error *error)
{
    const hr_jpeg_markers *m = p->m;
    const hr_jpeg_pass_header *s = &to->header;
    bool ac = s->first > 0;
    for (int32_t i = s->component; i < s->component + s->components; i++) {
        const uint8_t *definition = m->huffman[ac][ac ? m->component[i].ac : m->component[i].dc];
        if (!ac && s->high > 0) /* DC refinement has no Huffman codes */
            continue;
        hr_jpeg_huffman *table = hr_arena_alloc(arena, sizeof *table, error);
        HR_TRY_ALLOC(table);
        to->table[i] = table;
        if (!definition || !(ac ? hr_jpeg_huffman_build_pass(table, definition)
                                : hr_jpeg_huffman_build(table, definition, false)))
            return HR_STATUS_NOT_FUSABLE;
    }
    return HR_STATUS_OK;
}

/* Opens the scan that the markers were read up to. */
static hr_status open_scan(progress *p, const uint8_t *bytes, size_t size, hr_arena *arena,
                           hr_error *error)
{
    const hr_jpeg_markers *m = p->m;
    const hr_jpeg_pass_header *s = &m->pass;
    size_t end = hr_jpeg_segment_scan_end(bytes, size, m->scan);
    if (p->count == HR_JPEG_PASSES_MAX || end == size || !hr_jpeg_progress_add(&p->known, s))
        return HR_STATUS_NOT_FUSABLE;
    scan *to = hr_arena_alloc(arena, sizeof *to, error);
    HR_TRY_ALLOC(to);
    *to = (scan){.header = *s, .end = bytes + end};
    to->pass =
        (hr_jpeg_pass){.first = s->first, .last = s->last, .low = s->low, .refine = s->high > 0};
    p->scan[p->count++] = to;
    HR_TRY(make_tables(p, to, arena, error));
    size_t with_marker = end + 2 - m->scan;
    return hr_jpeg_input_open(&to->input, &to->scan, bytes + m->scan, with_marker, m->restart, NULL,
                              arena, error);
}

hr_status hr_jpeg_progressive_open(hr_jpeg_progressive **out, hr_jpeg_markers *m,
                                   const uint8_t *bytes, size_t size, const hr_kernels *kernels,
                                   hr_arena *arena, hr_error *error)
{
    progress *p = hr_arena_alloc(arena, sizeof *p, error);
    HR_TRY_ALLOC(p);
    memset(p, 0, sizeof *p);
    p->m = m;
    p->kernels = kernels;
    HR_TRY(make_coefs(p, arena, error));
    for (bool end = false; !end;) {
        HR_TRY(open_scan(p, bytes, size, arena, error));
        size_t at = (size_t)(p->scan[p->count - 1]->end - bytes);
        if (!hr_jpeg_passes_next(m, bytes, size, at, &end))
            return HR_STATUS_NOT_FUSABLE;
    }
    *out = p;
    return hr_jpeg_progress_ends(&p->known, m->components) ? HR_STATUS_OK : HR_STATUS_NOT_FUSABLE;
}

/* ---- rows of MCUs ---- */

static void add_block(const progress *p, scan *s, int32_t component, size_t at, size_t step)
{
    hr_jpeg_pass *pass = &s->pass;
    pass->block[pass->blocks].table = s->table[component];
    pass->block[pass->blocks].component = component;
    pass->block[pass->blocks].coef = p->coefs[component].coef + 64 * at;
    pass->block[pass->blocks++].step = 64 * step;
}

/* Points at the blocks of the first MCU of a row. In a scan of one component, a block is an MCU;
 * `row` is its row of blocks in the row of MCUs. */
static void aim_blocks(const progress *p, scan *s, int32_t row)
{
    int32_t first = s->header.component;
    s->pass.blocks = 0;
    s->pass.mask = NULL;
    if (s->header.components == 1) {
        size_t at = (size_t)row * (size_t)p->coefs[first].across;
        add_block(p, s, first, at, 1);
        if (s->header.first > 0)
            s->pass.mask = p->coefs[first].mask + at;
        return;
    }
    for (int32_t i = 0; i < s->header.components; i++) {
        int32_t h = p->m->component[i].h, v = p->m->component[i].v;
        for (int32_t k = 0; k < h * v; k++)
            add_block(p, s, i, (size_t)(k / h) * (size_t)p->coefs[i].across + (size_t)(k % h),
                      (size_t)h);
    }
}

/* See decoder.c. */
static bool dc_sane(const hr_jpeg_scan *s)
{
    const int32_t most = 1 << 28;
    for (int32_t i = 0; i < HR_JPEG_COMPONENTS; i++)
        if (s->predicted[i] > most || s->predicted[i] < -most)
            return false;
    return true;
}

static bool read_mcus(const progress *p, scan *s, int32_t mcus)
{
    while (mcus > 0) {
        if (s->input.restart > 0 && s->input.left == 0)
            s->pass.ended = 0;
        int32_t n = hr_jpeg_input_run(&s->input, &s->scan, mcus);
        if (n == 0 || !dc_sane(&s->scan) || !p->kernels->jpeg_pass(&s->scan, &s->pass, n))
            return false;
        mcus -= n;
    }
    return true;
}

/* Reads the scan's part of the next row of MCUs. */
static bool read_row(const progress *p, scan *s)
{
    const hr_jpeg_component_coefs *c = &p->coefs[s->header.component];
    const hr_jpeg_component *sampling = &p->m->component[s->header.component];
    bool one = s->header.components == 1;
    int32_t mcus = one ? c->width : c->across / sampling->h;
    int32_t above = p->next * sampling->v;
    int32_t rows = one ? HR_MIN(sampling->v, c->height - above) : 1;
    for (int32_t row = 0; row < rows; row++) {
        aim_blocks(p, s, row);
        if (!read_mcus(p, s, mcus))
            return false;
    }
    if (p->next + 1 < p->rows)
        return hr_jpeg_input_whole(&s->input, &s->scan);
    return hr_jpeg_input_end(&s->input, &s->scan) == s->end;
}

bool hr_jpeg_progressive_read(hr_jpeg_progressive *p, int32_t row)
{
    for (; p->next <= row; p->next++) {
        for (int32_t i = 0; i < p->m->components; i++) {
            memset(p->coefs[i].coef, 0, blocks_of(p, i) * 64 * sizeof *p->coefs[i].coef);
            memset(p->coefs[i].mask, 0, blocks_of(p, i) * sizeof *p->coefs[i].mask);
        }
        for (int32_t i = 0; i < p->count; i++)
            if (!read_row(p, p->scan[i]))
                return false;
    }
    return true;
}

const hr_jpeg_component_coefs *hr_jpeg_progressive_coefs(const hr_jpeg_progressive *p,
                                                         int32_t component)
{
    return &p->coefs[component];
}
