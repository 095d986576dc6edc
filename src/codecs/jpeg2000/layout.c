/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg2000/layout.h"

#include "core/core.h"

#include <string.h>

/* Logarithms of sizes on the grid of a band. */
typedef struct cuts {
    uint32_t precinct_w, precinct_h, block_w, block_h;
} cuts;

static void *allocate(hr_arena *arena, size_t count, size_t size, hr_error *error)
{
    size_t bytes;
    void *memory =
        hr_size_mul(count, size, &bytes) ? hr_arena_alloc(arena, HR_MAX(bytes, 1), error) : NULL;
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

hr_jpeg2000_area hr_jpeg2000_tile_area(const hr_jpeg2000_siz *s, uint32_t tile)
{
    uint64_t across = ((uint64_t)s->x1 - s->tile_x0 + s->tile_w - 1) / s->tile_w;
    uint64_t x = s->tile_x0 + tile % across * s->tile_w, y = s->tile_y0 + tile / across * s->tile_h;
    return (hr_jpeg2000_area){(uint32_t)HR_MAX(x, s->x0), (uint32_t)HR_MAX(y, s->y0),
                              (uint32_t)HR_MIN(x + s->tile_w, s->x1),
                              (uint32_t)HR_MIN(y + s->tile_h, s->y1)};
}

static hr_jpeg2000_area shrink(const hr_jpeg2000_area *a, uint32_t shift)
{
    return (hr_jpeg2000_area){hr_jpeg2000_up(a->x0, shift), hr_jpeg2000_up(a->y0, shift),
                              hr_jpeg2000_up(a->x1, shift), hr_jpeg2000_up(a->y1, shift)};
}

/* A coordinate on the grid of a band that was made by `level` splits; `high`: of its high half. */
static uint32_t to_band(uint32_t v, uint32_t level, bool high)
{
    uint32_t half = high ? 1u << (level - 1) : 0;
    return v <= half ? 0 : hr_jpeg2000_up(v - half, level);
}

static hr_jpeg2000_area band_area(const hr_jpeg2000_area *a, uint32_t level, uint32_t kind)
{
    bool right = kind & 1, below = kind & 2;
    if (kind == 0)
        return shrink(a, level);
    return (hr_jpeg2000_area){to_band(a->x0, level, right), to_band(a->y0, level, below),
                              to_band(a->x1, level, right), to_band(a->y1, level, below)};
}

static uint32_t tree_nodes(uint32_t across, uint32_t down)
{
    uint32_t nodes = 0;
    for (; across > 1 || down > 1; across = (across + 1) / 2, down = (down + 1) / 2)
        nodes += across * down;
    return nodes + (across > 0 && down > 0);
}

/* Blocks of the part of a band that lies in a precinct. */
static hr_status lay_out_patch(const hr_jpeg2000_area *a, const cuts *c, hr_arena *arena,
                               hr_jpeg2000_patch *out, hr_error *error)
{
    if (hr_jpeg2000_is_empty(a))
        return HR_STATUS_OK;
    uint32_t left = a->x0 >> c->block_w, top = a->y0 >> c->block_h;
    out->across = hr_jpeg2000_up(a->x1, c->block_w) - left;
    out->down = hr_jpeg2000_up(a->y1, c->block_h) - top;
    size_t nodes = tree_nodes(out->across, out->down);
    out->blocks = allocate(arena, (size_t)out->across * out->down, sizeof *out->blocks, error);
    out->included = allocate(arena, nodes, sizeof *out->included, error);
    out->empty = allocate(arena, nodes, sizeof *out->empty, error);
    HR_TRY_ALLOC(out->blocks && out->included && out->empty);
    hr_jpeg2000_block *block = out->blocks;
    for (uint32_t y = top; y < top + out->down; y++)
        for (uint32_t x = left; x < left + out->across; x++, block++)
            block->area = (hr_jpeg2000_area){
                HR_MAX(x << c->block_w, a->x0), HR_MAX(y << c->block_h, a->y0),
                HR_MIN((x + 1) << c->block_w, a->x1), HR_MIN((y + 1) << c->block_h, a->y1)};
    return HR_STATUS_OK;
}

static hr_status lay_out_band(const hr_jpeg2000_resolution *r, const cuts *c, uint32_t left,
                              uint32_t top, hr_arena *arena, hr_jpeg2000_band *out, hr_error *error)
{
    const hr_jpeg2000_area *a = &out->area;
    size_t precincts = (size_t)r->across * r->down;
    if (!(out->patches = allocate(arena, precincts, sizeof *out->patches, error)))
        return HR_STATUS_NO_MEMORY;
    for (size_t i = 0; i < precincts && !hr_jpeg2000_is_empty(a); i++) {
        uint64_t x = left + i % r->across, y = top + i / r->across;
        hr_jpeg2000_area part = {(uint32_t)HR_MAX(x << c->precinct_w, a->x0),
                                 (uint32_t)HR_MAX(y << c->precinct_h, a->y0),
                                 (uint32_t)HR_MIN((x + 1) << c->precinct_w, a->x1),
                                 (uint32_t)HR_MIN((y + 1) << c->precinct_h, a->y1)};
        HR_TRY(lay_out_patch(&part, c, arena, &out->patches[i], error));
    }
    return HR_STATUS_OK;
}

/* Resolution `number` of a component, and its bands. */
static hr_status lay_out_resolution(const hr_jpeg2000_coding *c, const hr_jpeg2000_area *part,
                                    uint32_t number, hr_arena *arena, hr_jpeg2000_resolution *r,
                                    hr_error *error)
{
    uint32_t level = c->levels - number, w = c->precincts[number] & 15;
    uint32_t h = c->precincts[number] >> 4, split = number > 0;
    r->area = shrink(part, level);
    uint32_t left = r->area.x0 >> w, top = r->area.y0 >> h;
    if (!hr_jpeg2000_is_empty(&r->area)) {
        r->across = hr_jpeg2000_up(r->area.x1, w) - left;
        r->down = hr_jpeg2000_up(r->area.y1, h) - top;
    }
    cuts cut = {.precinct_w = w - split, .precinct_h = h - split};
    cut.block_w = HR_MIN(c->block_w, cut.precinct_w);
    cut.block_h = HR_MIN(c->block_h, cut.precinct_h);
    r->band_count = split ? 3 : 1;
    for (uint32_t i = 0; i < r->band_count; i++) {
        hr_jpeg2000_band *band = &r->bands[i];
        band->kind = split ? i + 1 : 0;
        band->area = band_area(part, level + split, band->kind);
        band->step = c->steps[split ? 3 * (number - 1) + i + 1 : 0];
        uint32_t planes = band->step.exponent + c->guard;
        band->planes = planes > 0 ? planes - 1 : 0;
        HR_TRY(lay_out_band(r, &cut, left, top, arena, band, error));
    }
    return HR_STATUS_OK;
}

hr_status hr_jpeg2000_lay_out(const hr_jpeg2000_siz *siz, const hr_jpeg2000_coding *c,
                              uint32_t tile, hr_arena *arena, hr_jpeg2000_tile *out,
                              hr_error *error)
{
    out->area = hr_jpeg2000_tile_area(siz, tile);
    if (!(out->parts = allocate(arena, siz->count, sizeof *out->parts, error)))
        return HR_STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < siz->count; i++) {
        hr_jpeg2000_part *part = &out->parts[i];
        part->area = out->area;
        part->resolutions = allocate(arena, c->levels + 1, sizeof *part->resolutions, error);
        HR_TRY_ALLOC(part->resolutions);
        for (uint32_t k = 0; k <= c->levels; k++)
            HR_TRY(lay_out_resolution(c, &part->area, k, arena, &part->resolutions[k], error));
    }
    return HR_STATUS_OK;
}
