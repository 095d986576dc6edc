/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg2000/packets.h"

#include "codecs/bytes.h"
#include "core/core.h"

#include <stdlib.h>
#include <string.h>

enum {
    SOP = 0xFF91,
    SOP_SIZE = 6,
    EPH = 0xFF92,
    PASSES_MOST = 109, /* of a segment; more would begin another one */
    PLANES_MOST = 30,
    FIRST_LENGTH_BITS = 3,
    TREE_LEVELS = 32
};

typedef struct reader {
    const hr_jpeg2000_coding *coding;
    const uint8_t *at, *end;
    uint32_t bits, left; /* of the header: the byte being read, and how many of its bits are left */
    bool failed;         /* the header goes on behind the end */
    hr_arena *arena;
} reader;

/* ---- bits of a packet header; after 0xFF, a byte has seven ---- */

static uint32_t read_bit(reader *r)
{
    if (r->left == 0) {
        r->failed |= r->at == r->end;
        if (r->failed)
            return 0;
        r->left = r->bits == 0xFF ? 7 : 8;
        r->bits = *r->at++;
    }
    return r->bits >> --r->left & 1;
}

static uint32_t read_bits(reader *r, uint32_t count)
{
    uint32_t v = 0;
    for (uint32_t i = 0; i < count; i++)
        v = v << 1 | read_bit(r);
    return v;
}

static void begin_bits(reader *r)
{
    r->bits = r->left = 0;
}

/* Goes on to the next whole byte. */
static void end_bits(reader *r)
{
    if (r->bits == 0xFF) {
        r->failed |= r->at == r->end;
        r->at += !r->failed;
    }
}

/* ---- tag trees ---- */

/* Whether the value of a leaf is below `threshold`; reads bits until that is known. */
static bool is_below(reader *r, hr_jpeg2000_node *tree, const hr_jpeg2000_patch *p, uint32_t x,
                     uint32_t y, uint32_t threshold)
{
    hr_jpeg2000_node *path[TREE_LEVELS];
    uint32_t across = p->across, down = p->down, levels = 0, low = 0;
    for (;; x /= 2, y /= 2) {
        path[levels++] = tree + y * across + x;
        if (across == 1 && down == 1)
            break;
        tree += across * down;
        across = (across + 1) / 2;
        down = (down + 1) / 2;
    }
    while (levels-- > 0) {
        hr_jpeg2000_node *node = path[levels];
        low = HR_MAX(low, node->low);
        while (low < threshold && !node->known) {
            if (read_bit(r))
                node->known = 1;
            else
                low++;
        }
        node->low = (uint16_t)low;
    }
    return path[0]->known && path[0]->low < threshold;
}

/* ---- packets ---- */

static uint32_t read_passes(reader *r)
{
    static const uint8_t widths[] = {2, 5, 7};
    static const uint8_t bases[] = {3, 6, 37};
    if (!read_bit(r))
        return 1;
    if (!read_bit(r))
        return 2;
    for (size_t i = 0;; i++) {
        uint32_t v = read_bits(r, widths[i]);
        if (i == 2 || v != (1u << widths[i]) - 1)
            return bases[i] + v;
    }
}

static uint32_t logarithm(uint32_t v)
{
    uint32_t n = 0;
    while (v >>= 1)
        n++;
    return n;
}

/* How many planes of a block that is included for the first time are empty. */
static bool read_planes(reader *r, const hr_jpeg2000_band *band, const hr_jpeg2000_patch *p,
                        uint32_t x, uint32_t y, hr_jpeg2000_block *block)
{
    uint32_t empty = 0;
    while (!r->failed && empty < band->planes && !is_below(r, p->empty, p, x, y, empty + 1))
        empty++;
    if (empty >= band->planes || band->planes - empty > PLANES_MOST)
        return false;
    block->planes = (uint8_t)(band->planes - empty);
    block->length_bits = FIRST_LENGTH_BITS;
    return true;
}

/* What the header says of a block that the packet includes; `size`: its bytes there. */
static bool read_contribution(reader *r, hr_jpeg2000_block *block, uint32_t *size)
{
    uint32_t passes = read_passes(r), bits = block->length_bits;
    while (!r->failed && bits <= 32 && read_bit(r))
        bits++;
    if (bits > 32 || bits + logarithm(passes) > 32 || block->passes + passes > PASSES_MOST)
        return false;
    block->length_bits = (uint8_t)bits;
    *size = read_bits(r, bits + logarithm(passes));
    block->passes += passes;
    return !r->failed;
}

static hr_status add_chunk(reader *r, hr_jpeg2000_block *block, uint32_t size, hr_error *error)
{
    hr_jpeg2000_chunk *chunk = hr_arena_alloc(r->arena, sizeof *chunk, error);
    HR_TRY_ALLOC(chunk);
    *chunk = (hr_jpeg2000_chunk){.size = size};
    *(block->last ? &block->last->next : &block->first) = chunk;
    block->last = chunk;
    return HR_STATUS_OK;
}

/* Blocks that the packet includes get a chunk, whose bytes are found later. */
static hr_status read_patch(reader *r, const hr_jpeg2000_band *band, const hr_jpeg2000_patch *p,
                            uint32_t layer, hr_error *error)
{
    hr_jpeg2000_block *block = p->blocks;
    uint32_t size;
    for (uint32_t y = 0; y < p->down; y++)
        for (uint32_t x = 0; x < p->across; x++, block++) {
            bool first = block->passes == 0;
            if (!(first ? is_below(r, p->included, p, x, y, layer + 1) : read_bit(r)))
                continue;
            if ((first && !read_planes(r, band, p, x, y, block)) ||
                !read_contribution(r, block, &size))
                return HR_STATUS_NOT_FUSABLE;
            HR_TRY(add_chunk(r, block, size, error));
        }
    return HR_STATUS_OK;
}

/* Gives their bytes to the chunks of the packet whose header was read: those without any. */
static bool take_bytes(reader *r, const hr_jpeg2000_patch *p)
{
    for (size_t i = 0; i < (size_t)p->across * p->down; i++) {
        hr_jpeg2000_block *block = &p->blocks[i];
        hr_jpeg2000_chunk *chunk = block->last;
        if (!chunk || chunk->bytes)
            continue;
        if (chunk->size > (size_t)(r->end - r->at) || chunk->size > UINT32_MAX / 2 - block->size)
            return false;
        chunk->bytes = r->at;
        r->at += chunk->size;
        block->size += chunk->size;
    }
    return true;
}

static bool skip_marker(reader *r, uint32_t marker, uint32_t size)
{
    bool found = (size_t)(r->end - r->at) >= size && hr_get_be16(r->at) == marker;
    r->at += found ? size : 0;
    return found;
}

static hr_status read_packet(reader *r, const hr_jpeg2000_resolution *res, size_t precinct,
                             uint32_t layer, hr_error *error)
{
    if (r->coding->sop)
        (void)skip_marker(r, SOP, SOP_SIZE);
    begin_bits(r);
    bool present = read_bit(r);
    for (uint32_t i = 0; present && i < res->band_count; i++)
        HR_TRY(read_patch(r, &res->bands[i], &res->bands[i].patches[precinct], layer, error));
    end_bits(r);
    if (r->failed || (r->coding->eph && !skip_marker(r, EPH, 2)))
        return HR_STATUS_NOT_FUSABLE;
    for (uint32_t i = 0; present && i < res->band_count; i++)
        if (!take_bytes(r, &res->bands[i].patches[precinct]))
            return HR_STATUS_NOT_FUSABLE;
    return HR_STATUS_OK;
}

/* ---- the order of packets ---- */

/* A precinct of a component's resolution, whose packets follow one another, or are in one layer
 * each. */
typedef struct place {
    uint64_t key[5]; /* in the order of significance */
    const hr_jpeg2000_resolution *resolution;
    size_t precinct;
} place;

static int compare_places(const void *a, const void *b)
{
    const place *p = a, *q = b;
    for (int i = 0; i < 5; i++)
        if (p->key[i] != q->key[i])
            return p->key[i] < q->key[i] ? -1 : 1;
    return 0;
}

/* Where a precinct begins on the reference grid: `i` counts from the first, which may begin before
 * the tile. */
static uint64_t position(uint32_t tile0, uint32_t res0, uint32_t i, uint32_t size, uint32_t level)
{
    uint64_t first = res0 >> size, step = size + level;
    return i == 0 && first << size != res0 ? tile0 : (first + i) << step;
}

static void set_key(const hr_jpeg2000_coding *c, const hr_jpeg2000_tile *tile, uint32_t component,
                    uint32_t resolution, place *p)
{
    const hr_jpeg2000_resolution *r = p->resolution;
    uint32_t level = c->levels - resolution, size = c->precincts[resolution];
    uint64_t y =
        position(tile->area.y0, r->area.y0, (uint32_t)(p->precinct / r->across), size >> 4, level);
    uint64_t x =
        position(tile->area.x0, r->area.x0, (uint32_t)(p->precinct % r->across), size & 15, level);
    switch (c->order) {
    case HR_JPEG2000_ORDER_LRCP:
    case HR_JPEG2000_ORDER_RLCP:
        memcpy(p->key, (uint64_t[]){resolution, component, p->precinct, 0, 0}, sizeof p->key);
        return;
    case HR_JPEG2000_ORDER_RPCL:
        memcpy(p->key, (uint64_t[]){resolution, y, x, component, p->precinct}, sizeof p->key);
        return;
    case HR_JPEG2000_ORDER_PCRL:
        memcpy(p->key, (uint64_t[]){y, x, component, resolution, p->precinct}, sizeof p->key);
        return;
    default:
        memcpy(p->key, (uint64_t[]){component, y, x, resolution, p->precinct}, sizeof p->key);
    }
}

static hr_status list_places(const hr_jpeg2000_coding *c, const hr_jpeg2000_tile *tile,
                             uint32_t components, hr_arena *arena, place **out, size_t *count,
                             hr_error *error)
{
    size_t most = 0;
    *count = 0;
    for (uint32_t i = 0; i < components; i++)
        for (uint32_t k = 0; k <= c->levels; k++) {
            const hr_jpeg2000_resolution *r = &tile->parts[i].resolutions[k];
            most += (size_t)r->across * r->down;
        }
    if (!(*out = hr_arena_alloc(arena, (most + 1) * sizeof **out, error)))
        return HR_STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < components; i++)
        for (uint32_t k = 0; k <= c->levels; k++) {
            const hr_jpeg2000_resolution *r = &tile->parts[i].resolutions[k];
            for (size_t n = 0; n < (size_t)r->across * r->down; n++) {
                place *p = &(*out)[(*count)++];
                *p = (place){.resolution = r, .precinct = n};
                set_key(c, tile, i, k, p);
            }
        }
    qsort(*out, *count, sizeof **out, compare_places);
    return HR_STATUS_OK;
}

/* All layers of the places from..to - 1, layer by layer. */
static hr_status read_layers(reader *r, const place *places, size_t from, size_t to,
                             hr_error *error)
{
    for (uint32_t layer = 0; layer < r->coding->layers; layer++)
        for (size_t i = from; i < to; i++)
            HR_TRY(read_packet(r, places[i].resolution, places[i].precinct, layer, error));
    return HR_STATUS_OK;
}

hr_status hr_jpeg2000_read_packets(const hr_jpeg2000_coding *c, const hr_jpeg2000_tile *tile,
                                   uint32_t components, const uint8_t *bytes, size_t size,
                                   hr_arena *arena, hr_error *error)
{
    reader r = {.coding = c, .at = bytes, .end = bytes + size, .arena = arena};
    place *places;
    size_t count, to;
    HR_TRY(list_places(c, tile, components, arena, &places, &count, error));
    for (size_t from = 0; from < count; from = to) {
        to = c->order == HR_JPEG2000_ORDER_LRCP ? count : from + 1;
        while (c->order == HR_JPEG2000_ORDER_RLCP && to < count &&
               places[to].key[0] == places[from].key[0])
            to++;
        HR_TRY(read_layers(&r, places, from, to, error));
    }
    return r.at == r.end ? HR_STATUS_OK : HR_STATUS_NOT_FUSABLE;
}
