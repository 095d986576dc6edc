/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Progressive scans (passes) are decoded into coefficients of the whole picture, because a
 * refinement scan cannot be read without the coefficients before it. Strict like markers.c: files
 * whose scans leave out or repeat bits of a coefficient are left to libjpeg-turbo. */
#include "codecs/jpeg/progressive.h"

#include "codecs/jpeg/input.h"

#include <string.h>

enum { PASSES_MAX = 256, UNKNOWN = -1 };

typedef struct progress {
    hr_jpeg_markers *m;
    hr_jpeg_component_coefs *coefs;
    const hr_kernels *kernels;
    int8_t low[HR_JPEG_COMPONENTS][64]; /* lowest bit known of each coefficient */
    hr_jpeg_huffman *table[HR_JPEG_COMPONENTS];
    hr_jpeg_input input;
    hr_jpeg_scan scan;
    hr_jpeg_pass pass;
} progress;

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
        size_t blocks = (size_t)to->across * (size_t)(HR_DIVIDE_UP(m->height, 8 * v) * c->v), bytes;
        if (!hr_size_mul(blocks, 64 * sizeof *to->coef, &bytes))
            return hr_fail_memory(error, SIZE_MAX);
        to->coef = hr_arena_alloc(arena, bytes, error);
        to->mask = hr_arena_alloc(arena, blocks * sizeof *to->mask, error);
        if (!to->coef || !to->mask)
            return HR_STATUS_NO_MEMORY;
        memset(to->coef, 0, bytes);
        memset(to->mask, 0, blocks * sizeof *to->mask);
    }
    memset(p->low, UNKNOWN, sizeof p->low);
    return HR_STATUS_OK;
}

/* Bits of a coefficient must come once, from the highest down, and DC before AC. */
static bool note_progress(progress *p)
{
    const hr_jpeg_pass_header *s = &p->m->pass;
    for (int32_t i = s->component; i < s->component + s->components; i++) {
        if (s->first > 0 && p->low[i][0] == UNKNOWN)
            return false;
        for (int32_t k = s->first; k <= s->last; k++) {
            if (p->low[i][k] != (s->high == 0 ? UNKNOWN : s->high))
                return false;
            p->low[i][k] = (int8_t)s->low;
        }
    }
    return true;
}

static bool all_known(const progress *p)
{
    for (int32_t i = 0; i < p->m->components; i++)
        for (int32_t k = 0; k < 64; k++)
            if (p->low[i][k] != 0)
                return false;
    return true;
}

/* The tables of a scan. */
static bool make_tables(progress *p)
{
    const hr_jpeg_markers *m = p->m;
    const hr_jpeg_pass_header *s = &m->pass;
    bool ac = s->first > 0;
    for (int32_t i = s->component; i < s->component + s->components; i++) {
        const uint8_t *definition = m->huffman[ac][ac ? m->component[i].ac : m->component[i].dc];
        if (!ac && s->high > 0) /* DC refinement has no Huffman codes */
            continue;
        if (!definition || !(ac ? hr_jpeg_huffman_build_pass(p->table[i], definition)
                                : hr_jpeg_huffman_build(p->table[i], definition, false)))
            return false;
    }
    return true;
}

static void add_block(progress *p, int32_t component, size_t at, size_t step)
{
    hr_jpeg_pass *pass = &p->pass;
    pass->block[pass->blocks].table = p->table[component];
    pass->block[pass->blocks].component = component;
    pass->block[pass->blocks].coef = p->coefs[component].coef + 64 * at;
    pass->block[pass->blocks++].step = 64 * step;
}

/* Points at the blocks of the first MCU of a row. In a scan of one component, a block is an MCU. */
static void aim_blocks(progress *p, int32_t row)
{
    const hr_jpeg_pass_header *s = &p->m->pass;
    hr_jpeg_pass *pass = &p->pass;
    pass->blocks = 0;
    pass->mask = NULL;
    if (s->components == 1) {
        size_t at = (size_t)row * (size_t)p->coefs[s->component].across;
        add_block(p, s->component, at, 1);
        if (s->first > 0)
            pass->mask = p->coefs[s->component].mask + at;
        return;
    }
    for (int32_t i = 0; i < s->components; i++) {
        int32_t h = p->m->component[i].h, v = p->m->component[i].v;
        for (int32_t k = 0; k < h * v; k++)
            add_block(p, i,
                      (size_t)(row * v + k / h) * (size_t)p->coefs[i].across + (size_t)(k % h),
                      (size_t)h);
    }
}

/* See decoder.c. */
static bool dc_sane(const hr_jpeg_scan *scan)
{
    const int32_t most = 1 << 28;
    for (int32_t i = 0; i < HR_JPEG_COMPONENTS; i++)
        if (scan->predicted[i] > most || scan->predicted[i] < -most)
            return false;
    return true;
}

static bool read_row(progress *p, int32_t mcus)
{
    while (mcus > 0) {
        if (p->input.restart > 0 && p->input.left == 0)
            p->pass.ended = 0;
        int32_t n = hr_jpeg_input_run(&p->input, &p->scan, mcus);
        if (n == 0 || !dc_sane(&p->scan) || !p->kernels->jpeg_pass(&p->scan, &p->pass, n))
            return false;
        mcus -= n;
    }
    return true;
}

/* Decodes one scan; `at`: the marker behind it. */
static hr_status read_pass(progress *p, const uint8_t *bytes, size_t size, size_t *at,
                           hr_arena *arena, hr_error *error)
{
    const hr_jpeg_markers *m = p->m;
    const hr_jpeg_pass_header *s = &m->pass;
    const hr_jpeg_component_coefs *c = &p->coefs[s->component];
    bool one = s->components == 1;
    int32_t mcus = one ? c->width : p->coefs[0].across / m->component[0].h;
    int32_t rows = one ? c->height : HR_DIVIDE_UP(m->height, 8 * m->component[0].v);
    if (!note_progress(p) || !make_tables(p))
        return HR_STATUS_NOT_FUSABLE;
    p->pass =
        (hr_jpeg_pass){.first = s->first, .last = s->last, .low = s->low, .refine = s->high > 0};
    p->scan = (hr_jpeg_scan){0};
    HR_TRY(hr_jpeg_input_open(&p->input, &p->scan, bytes + m->scan, size - m->scan, m->restart,
                              NULL, arena, error));
    for (int32_t row = 0; row < rows; row++) {
        aim_blocks(p, row);
        if (!read_row(p, mcus))
            return HR_STATUS_NOT_FUSABLE;
    }
    const uint8_t *end = hr_jpeg_input_end(&p->input, &p->scan);
    if (!end)
        return HR_STATUS_NOT_FUSABLE;
    *at = (size_t)(end - bytes);
    return HR_STATUS_OK;
}

hr_status hr_jpeg_progressive_read(hr_jpeg_component_coefs coefs[HR_JPEG_COMPONENTS],
                                   hr_jpeg_markers *m, const uint8_t *bytes, size_t size,
                                   const hr_kernels *kernels, hr_arena *arena, hr_error *error)
{
    progress *p = hr_arena_alloc(arena, sizeof *p, error);
    if (!p)
        return HR_STATUS_NO_MEMORY;
    memset(p, 0, sizeof *p);
    p->m = m;
    p->coefs = coefs;
    p->kernels = kernels;
    HR_TRY(make_coefs(p, arena, error));
    for (int32_t i = 0; i < m->components; i++) {
        p->table[i] = hr_arena_alloc(arena, sizeof *p->table[i], error);
        if (!p->table[i])
            return HR_STATUS_NO_MEMORY;
    }
    bool end = false;
    for (int32_t passes = 0; !end; passes++) {
        size_t at;
        hr_arena_mark mark = hr_arena_save(arena);
        hr_status status = passes < PASSES_MAX ? read_pass(p, bytes, size, &at, arena, error)
                                               : HR_STATUS_NOT_FUSABLE;
        hr_arena_restore(arena, mark);
        HR_TRY(status);
        if (!hr_jpeg_passes_next(m, bytes, size, at, &end))
            return HR_STATUS_NOT_FUSABLE;
    }
    return all_known(p) ? HR_STATUS_OK : HR_STATUS_NOT_FUSABLE;
}
