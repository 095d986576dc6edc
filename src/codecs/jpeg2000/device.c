/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg2000/device.h"

#include "codecs/bytes.h"
#include "codecs/codec.h"
#include "codecs/jpeg2000/boxes.h"
#include "codecs/jpeg2000/packets.h"
#include "image/coded.h"

#include <stdlib.h>
#include <string.h>

enum {
    EOC = 0xFFD9,
    SOT = 0xFF90,
    SOT_SIZE = 12,
    BITS = 8,
    PARTS_MOST = 1 << 16,   /* resolutions of all components and tiles */
    SAMPLES_MOST = 1 << 28, /* of the tiles that are decoded */
    BLOCKS_SLACK = 1 << 16, /* so many more code-blocks than bytes */
    PRECINCT_BITS_MOST = 30 /* of a precinct's size on the reference grid */
};

/* The bytes of a tile: of its only tile-part, or copied from several. */
typedef struct body {
    const uint8_t *bytes;
    uint8_t *copy;
    size_t size;
    uint32_t parts, stated; /* tile-parts; as many as the file says, 0: it does not */
} body;

typedef struct preparing {
    const hr_jpeg2000 *file;
    const hr_codec_request *request;
    hr_jpeg2000_coding coding;
    hr_jpeg2000_device_image *image;
    hr_arena *arena;
    body *bodies;
    hr_jpeg2000_tile *tiles; /* that the window needs */
    uint32_t left, top, tile_count;
    size_t blocks, bytes; /* of all tiles */
} preparing;

/* ---- what the device decodes ---- */

static bool is_simple(const hr_jpeg2000 *f, const hr_jpeg2000_coding *c)
{
    const hr_jpeg2000_component *k = f->siz.components;
    uint64_t parts = hr_jpeg2000_tiles(&f->siz) * f->siz.count * (c->levels + 1);
    if (f->palette || f->siz.count > HR_JPEG2000_DEVICE_CHANNELS || parts > PARTS_MOST ||
        f->count > HR_JPEG2000_DEVICE_CHANNELS || f->colours == HR_JPEG2000_COLOURS_SYCC ||
        f->colours == HR_JPEG2000_COLOURS_UNSUPPORTED || (c->mixed && f->siz.count < 3))
        return false;
    for (uint32_t i = 0; i < f->siz.count; i++)
        if (k[i].bits != BITS || k[i].is_signed || k[i].dx != 1 || k[i].dy != 1)
            return false;
    for (uint32_t i = 0; i <= c->levels; i++)
        if (HR_MAX(c->precincts[i] & 15, c->precincts[i] >> 4) + c->levels - i > PRECINCT_BITS_MOST)
            return false;
    return true;
}

/* ---- tile-parts ---- */

/* The tile-part at `at`, whose bytes become part of the tile's. Returns where the next one begins,
 * or 0. `copying`: the tile's bytes are copied, otherwise they are counted. */
static size_t read_tile_part(preparing *p, size_t at, bool copying)
{
    const uint8_t *bytes = p->file->stream;
    size_t size = p->file->stream_size;
    if (size - at < SOT_SIZE || hr_get_be16(bytes + at) != SOT || hr_get_be16(bytes + at + 2) != 10)
        return 0;
    uint32_t tile = hr_get_be16(bytes + at + 4), length = hr_get_be32(bytes + at + 6);
    if (tile >= hr_jpeg2000_tiles(&p->file->siz) || length < SOT_SIZE + 2 || length > size - at)
        return 0;
    size_t data = hr_jpeg2000_skip_header(bytes, at + length, at + SOT_SIZE);
    body *b = &p->bodies[tile];
    if (data == 0 || (!copying && bytes[at + 10] != b->parts++))
        return 0;
    if (bytes[at + 11] != 0 && b->stated != 0 && b->stated != bytes[at + 11])
        return 0;
    b->stated = HR_MAX(b->stated, bytes[at + 11]);
    data += 2;
    size_t count = at + length - data;
    if (copying && b->copy)
        memcpy(b->copy + b->size, bytes + data, count);
    b->bytes = b->copy ? b->copy : bytes + data;
    b->size += count;
    return at + length;
}

/* Reads all tile-parts up to the end of the codestream, which is the end of the file, too. */
static bool walk(preparing *p, size_t at, bool copying)
{
    const uint8_t *bytes = p->file->stream;
    size_t size = p->file->stream_size;
    while (size - at >= 2 && hr_get_be16(bytes + at) != EOC)
        if ((at = read_tile_part(p, at, copying)) == 0)
            return false;
    return size - at >= 2;
}

/* Finds the bytes of all tiles. */
static hr_status find_bodies(preparing *p, size_t at, hr_error *error)
{
    size_t tiles = (size_t)hr_jpeg2000_tiles(&p->file->siz);
    bool several = false;
    if (!(p->bodies = hr_arena_alloc(p->arena, tiles * sizeof *p->bodies, error)))
        return HR_STATUS_NO_MEMORY;
    memset(p->bodies, 0, tiles * sizeof *p->bodies);
    if (!walk(p, at, false))
        return HR_STATUS_NOT_FUSABLE;
    for (size_t i = 0; i < tiles; i++) {
        body *b = &p->bodies[i];
        if (b->parts == 0 || b->parts != b->stated)
            return HR_STATUS_NOT_FUSABLE;
        if (b->parts > 1 && !(b->copy = hr_arena_alloc(p->arena, b->size + 1, error)))
            return HR_STATUS_NO_MEMORY;
        several |= b->parts > 1;
        b->size = 0;
    }
    return walk(p, at, true) || !several ? HR_STATUS_OK : HR_STATUS_NOT_FUSABLE;
}

/* ---- tiles ---- */

static size_t count_blocks(const hr_jpeg2000_tile *tile, const hr_jpeg2000_coding *c,
                           uint32_t components)
{
    size_t count = 0;
    for (uint32_t i = 0; i < components; i++)
        for (uint32_t k = 0; k <= c->levels; k++) {
            const hr_jpeg2000_resolution *r = &tile->parts[i].resolutions[k];
            for (uint32_t b = 0; b < r->band_count; b++)
                for (size_t n = 0; n < (size_t)r->across * r->down; n++)
                    count += (size_t)r->bands[b].patches[n].across * r->bands[b].patches[n].down;
        }
    return count;
}

/* Tiles of the window, and where their samples will be. */
static bool take_geometry(preparing *p)
{
    const hr_jpeg2000_siz *s = &p->file->siz;
    const hr_window *w = &p->request->window;
    hr_jpeg2000_device_image *out = p->image;
    out->steps = hr_image_steps(p->request, p->request->channels);
    out->x0 = s->x0 + (uint32_t)w->x;
    out->y0 = s->y0 + (uint32_t)w->y;
    out->width = (uint32_t)w->w;
    out->height = (uint32_t)w->h;
    p->left = (out->x0 - s->tile_x0) / s->tile_w;
    p->top = (out->y0 - s->tile_y0) / s->tile_h;
    uint32_t right = (out->x0 + out->width - 1 - s->tile_x0) / s->tile_w;
    uint32_t bottom = (out->y0 + out->height - 1 - s->tile_y0) / s->tile_h;
    out->across = right - p->left + 1;
    p->tile_count = out->across * (bottom - p->top + 1);
    out->tile_x0 = s->tile_x0 + p->left * s->tile_w;
    out->tile_y0 = s->tile_y0 + p->top * s->tile_h;
    out->tile_w = s->tile_w;
    out->tile_h = s->tile_h;
    out->components = s->count;
    out->part_count = p->tile_count * s->count;
    out->levels = p->coding.levels;
    out->reversible = p->coding.reversible;
    out->mixed = p->coding.mixed;
    out->channels = (uint32_t)p->request->channels;
    bool grey = p->file->count < 3 && out->channels != p->file->count;
    for (uint32_t k = 0; k < out->channels && k < HR_JPEG2000_DEVICE_CHANNELS; k++)
        out->channel[k] = p->file->channels[grey ? 0 : k];
    return out->channels <= HR_JPEG2000_DEVICE_CHANNELS &&
           (grey || out->channels <= p->file->count);
}

static hr_status stage_parts(preparing *p, hr_staging *staging, hr_error *error)
{
    hr_jpeg2000_device_image *out = p->image;
    hr_staged staged;
    uint64_t samples = 0;
    HR_TRY(
        staging->alloc(staging, out->part_count * sizeof(hr_jpeg2000_device_part), &staged, error));
    hr_jpeg2000_device_part *part = staged.host;
    for (uint32_t i = 0; i < p->tile_count; i++) {
        const hr_jpeg2000_area *a = &p->tiles[i].area;
        for (uint32_t k = 0; k < out->components; k++, part++) {
            *part = (hr_jpeg2000_device_part){(uint32_t)samples, a->x0, a->y0, a->x1, a->y1};
            samples += (uint64_t)(a->x1 - a->x0) * (a->y1 - a->y0);
            if (samples > SAMPLES_MOST)
                return HR_STATUS_NOT_FUSABLE;
        }
        out->part_w = HR_MAX(out->part_w, a->x1 - a->x0);
        out->part_h = HR_MAX(out->part_h, a->y1 - a->y0);
    }
    out->samples = (uint32_t)samples;
    out->parts = staged.device;
    return HR_STATUS_OK;
}

/* Lays out the tiles of the window and reads their packets. */
static hr_status read_tiles(preparing *p, hr_error *error)
{
    const hr_jpeg2000_siz *s = &p->file->siz;
    uint32_t all_across = (uint32_t)(((uint64_t)s->x1 - s->tile_x0 + s->tile_w - 1) / s->tile_w);
    if (!(p->tiles = hr_arena_alloc(p->arena, p->tile_count * sizeof *p->tiles, error)))
        return HR_STATUS_NO_MEMORY;
    for (uint32_t i = 0; i < p->tile_count; i++) {
        uint32_t x = p->left + i % p->image->across, y = p->top + i / p->image->across;
        uint32_t number = y * all_across + x;
        const body *b = &p->bodies[number];
        HR_TRY(hr_jpeg2000_lay_out(s, &p->coding, number, p->arena, &p->tiles[i], error));
        p->blocks += count_blocks(&p->tiles[i], &p->coding, s->count);
        if (p->blocks > p->file->stream_size + BLOCKS_SLACK)
            return HR_STATUS_NOT_FUSABLE;
        HR_TRY(hr_jpeg2000_read_packets(&p->coding, &p->tiles[i], s->count, b->bytes, b->size,
                                        p->arena, error));
    }
    return HR_STATUS_OK;
}

/* ---- code-blocks ---- */

/* A code-block with bytes, and where its coefficients go. */
typedef struct found {
    const hr_jpeg2000_block *block;
    hr_jpeg2000_device_block record;
} found;

/* The step of a band's coefficients, which have half a bit more. As in OpenJPEG, the gain of the
 * bands is part of its 9/7 wavelet. */
static float step_of(const hr_jpeg2000_step *s)
{
    double step = 1.0 + s->mantissa / 2048.0;
    for (uint32_t i = s->exponent; i < BITS; i++)
        step *= 2;
    for (uint32_t i = BITS; i < s->exponent; i++)
        step /= 2;
    return 0.5f * (float)step;
}

static void find_in_band(const hr_jpeg2000_resolution *r, const hr_jpeg2000_resolution *lower,
                         const hr_jpeg2000_band *band, uint32_t at, uint32_t stride, found **out)
{
    uint32_t right = band->kind & 1 ? lower->area.x1 - lower->area.x0 : 0;
    uint32_t below = band->kind & 2 ? lower->area.y1 - lower->area.y0 : 0;
    for (size_t n = 0; n < (size_t)r->across * r->down; n++) {
        const hr_jpeg2000_patch *p = &band->patches[n];
        for (size_t i = 0; i < (size_t)p->across * p->down; i++) {
            const hr_jpeg2000_block *b = &p->blocks[i];
            const hr_jpeg2000_area *a = &b->area;
            if (b->passes == 0)
                continue;
            uint32_t x = a->x0 - band->area.x0 + right, y = a->y0 - band->area.y0 + below;
            (*out)->block = b;
            (*out)->record = (hr_jpeg2000_device_block){
                .size = b->size,
                .at = at + y * stride + x,
                .stride = stride,
                .w = (uint16_t)(a->x1 - a->x0),
                .h = (uint16_t)(a->y1 - a->y0),
                .passes = (uint8_t)HR_MIN(b->passes, 3 * (uint32_t)b->planes - 2),
                .planes = b->planes,
                .kind = (uint8_t)band->kind,
                .step = step_of(&band->step)};
            (*out)++;
        }
    }
}

static size_t find_blocks(const preparing *p, found *blocks)
{
    found *end = blocks;
    uint32_t at = 0;
    for (uint32_t i = 0; i < p->tile_count; i++)
        for (uint32_t k = 0; k < p->image->components; k++) {
            const hr_jpeg2000_part *part = &p->tiles[i].parts[k];
            uint32_t w = part->area.x1 - part->area.x0, h = part->area.y1 - part->area.y0;
            for (uint32_t n = 0; n <= p->coding.levels; n++) {
                const hr_jpeg2000_resolution *r = &part->resolutions[n];
                for (uint32_t b = 0; b < r->band_count; b++)
                    find_in_band(r, r - (n > 0), &r->bands[b], at, w, &end);
            }
            at += w * h;
        }
    return (size_t)(end - blocks);
}

/* Blocks of many passes first. */
static int compare_found(const void *a, const void *b)
{
    const hr_jpeg2000_device_block *p = &((const found *)a)->record;
    const hr_jpeg2000_device_block *q = &((const found *)b)->record;
    if (p->passes != q->passes)
        return p->passes > q->passes ? -1 : 1;
    if (p->size != q->size)
        return p->size > q->size ? -1 : 1;
    return p->at < q->at ? -1 : p->at > q->at;
}

static hr_status stage_blocks(preparing *p, hr_staging *staging, hr_error *error)
{
    hr_jpeg2000_device_image *out = p->image;
    hr_staged records, bytes;
    size_t total = 0;
    found *blocks = hr_arena_alloc(p->arena, (p->blocks + 1) * sizeof *blocks, error);
    HR_TRY_ALLOC(blocks);
    out->block_count = (uint32_t)find_blocks(p, blocks);
    qsort(blocks, out->block_count, sizeof *blocks, compare_found);
    for (uint32_t i = 0; i < out->block_count; i++) {
        const hr_jpeg2000_device_block *r = &blocks[i].record;
        blocks[i].record.from = (uint32_t)total;
        total += r->size;
        out->flag_words = HR_MAX(out->flag_words, r->w * ((r->h + 3u) / 4));
    }
    if (total > UINT32_MAX || p->blocks > INT32_MAX)
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(staging->alloc(staging, (out->block_count + (size_t)1) * sizeof(blocks->record),
                          &records, error));
    HR_TRY(staging->alloc(staging, total + 1, &bytes, error));
    uint8_t *to = bytes.host;
    for (uint32_t i = 0; i < out->block_count; i++) {
        ((hr_jpeg2000_device_block *)records.host)[i] = blocks[i].record;
        for (const hr_jpeg2000_chunk *k = blocks[i].block->first; k; k = k->next) {
            memcpy(to, k->bytes, k->size);
            to += k->size;
        }
    }
    out->blocks = records.device;
    out->bytes = bytes.device;
    return HR_STATUS_OK;
}

/* ---- the record ---- */

static void bind(const hr_coded *coded, const hr_coded_memory *memory, void *record)
{
    hr_jpeg2000_device_image *image = record;
    *image = *(const hr_jpeg2000_device_image *)coded->record;
    image->dst = memory->pixels;
    image->status = memory->status;
}

static hr_status prepare(preparing *p, hr_staging *staging, hr_error *error)
{
    size_t at;
    if (!hr_jpeg2000_read_coding(p->file->stream, p->file->stream_size, &p->coding, &at) ||
        !is_simple(p->file, &p->coding) || !take_geometry(p))
        return HR_STATUS_NOT_FUSABLE;
    HR_TRY(find_bodies(p, at, error));
    HR_TRY(read_tiles(p, error));
    HR_TRY(stage_parts(p, staging, error));
    return stage_blocks(p, staging, error);
}

hr_status hr_jpeg2000_device_prepare(const hr_jpeg2000 *file, const hr_codec_request *request,
                                     hr_staging *staging, hr_arena *arena, hr_arena *lasting,
                                     hr_coded *out, hr_error *error)
{
    static const hr_coded_decoder decoder = {"jpeg2000", sizeof(hr_jpeg2000_device_image), bind,
                                             NULL};
    preparing p = {.file = file, .request = request, .arena = arena};
    p.image = hr_arena_alloc(lasting, sizeof *p.image, error);
    HR_TRY_ALLOC(p.image);
    memset(p.image, 0, sizeof *p.image);
    hr_arena_mark mark = hr_arena_save(arena);
    hr_status status = prepare(&p, staging, error);
    hr_arena_restore(arena, mark);
    *out = (hr_coded){.decoder = &decoder,
                      .record = p.image,
                      .stride = p.image->steps.stride,
                      .rows = p.image->steps.rows};
    return status;
}
