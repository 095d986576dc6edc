/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg2000/codestream.h"

#include "codecs/bytes.h"
#include "core/core.h"

#include <string.h>

enum {
    SOC = 0xFF4F,
    SIZ = 0xFF51,
    COD = 0xFF52,
    COC = 0xFF53,
    SOT = 0xFF90,
    SOD = 0xFF93,
    SIZ_FIXED = 38,
    SIZ_COMPONENT = 3,
    MAX_TILES = 65535,
    LEVELS = 33,
    USER_PRECINCTS = 1,
    REVERSIBLE = 1,
    LARGEST_PRECINCT = 15
};

/* Bytes that OpenJPEG needs at most for its records of a tile, a component of it, a precinct of a
 * band and a code-block. */
enum { TILE_BYTES = 6 << 10, COMPONENT_BYTES = 1200, PRECINCT_BYTES = 160, BLOCK_BYTES = 640 };

bool hr_jpeg2000_is_codestream(const uint8_t *bytes, size_t size)
{
    return size >= 4 && hr_get_be16(bytes) == SOC && hr_get_be16(bytes + 2) == SIZ;
}

/* ---- SIZ ---- */

static hr_status check_siz(const hr_jpeg2000_siz *s, hr_error *error)
{
    if (s->x1 <= s->x0 || s->y1 <= s->y0 || s->x1 > INT32_MAX || s->y1 > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG 2000: the image area, columns %u to %u and rows %u to %u, is not "
                       "valid",
                       s->x0, s->x1, s->y0, s->y1);
    if (s->tile_w == 0 || s->tile_h == 0 || s->tile_x0 > s->x0 || s->tile_y0 > s->y0 ||
        s->x0 - s->tile_x0 >= s->tile_w || s->y0 - s->tile_y0 >= s->tile_h)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG 2000: tiles of %ux%u pixels that begin at %u, %u do not fit the "
                       "image",
                       s->tile_w, s->tile_h, s->tile_x0, s->tile_y0);
    if (hr_jpeg2000_tiles(s) > MAX_TILES)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: %llu tiles; at most 65535 are allowed",
                       (unsigned long long)hr_jpeg2000_tiles(s));
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t dx = s->components[i].dx, dy = s->components[i].dy;
        if (dx == 0 || dy == 0 || hr_jpeg2000_sample(s->x1, dx) == hr_jpeg2000_sample(s->x0, dx) ||
            hr_jpeg2000_sample(s->y1, dy) == hr_jpeg2000_sample(s->y0, dy))
            return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: component %u has no samples", i);
    }
    return HR_STATUS_OK;
}

hr_status hr_jpeg2000_read_siz(const uint8_t *bytes, size_t size, hr_jpeg2000_siz *s,
                               hr_error *error)
{
    if (!hr_jpeg2000_is_codestream(bytes, size))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG 2000: the codestream does not begin with its size");
    size_t length = size >= 6 ? hr_get_be16(bytes + 4) : 0;
    if (length < SIZ_FIXED + SIZ_COMPONENT || length > size - 4)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: the file ends in its header");
    const uint8_t *p = bytes + 8;
    *s = (hr_jpeg2000_siz){.x1 = hr_get_be32(p),
                           .y1 = hr_get_be32(p + 4),
                           .x0 = hr_get_be32(p + 8),
                           .y0 = hr_get_be32(p + 12),
                           .tile_w = hr_get_be32(p + 16),
                           .tile_h = hr_get_be32(p + 20),
                           .tile_x0 = hr_get_be32(p + 24),
                           .tile_y0 = hr_get_be32(p + 28),
                           .count = hr_get_be16(p + 32)};
    if (s->count == 0 || s->count > HR_JPEG2000_COMPONENTS)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG 2000: %u components are not supported; at most %d are", s->count,
                       HR_JPEG2000_COMPONENTS);
    if (length != SIZ_FIXED + SIZ_COMPONENT * (size_t)s->count)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: the size segment is not valid");
    p += 34;
    for (uint32_t i = 0; i < s->count; i++, p += SIZ_COMPONENT)
        s->components[i] = (hr_jpeg2000_component){
            .bits = (uint8_t)((p[0] & 0x7F) + 1), .is_signed = p[0] >> 7, .dx = p[1], .dy = p[2]};
    return check_siz(s, error);
}

uint64_t hr_jpeg2000_tiles(const hr_jpeg2000_siz *s)
{
    uint64_t across = ((uint64_t)s->x1 - s->tile_x0 + s->tile_w - 1) / s->tile_w;
    uint64_t down = ((uint64_t)s->y1 - s->tile_y0 + s->tile_h - 1) / s->tile_h;
    return across * down;
}

/* ---- how tiles are coded ---- */

/* The coding style of a component. */
typedef struct style {
    uint32_t levels;           /* of decomposition */
    uint32_t block_w, block_h; /* logarithms of the size of code-blocks */
    uint8_t precincts[LEVELS]; /* logarithms: width in the low half, height in the high one */
} style;

typedef struct coding {
    uint32_t layers;
    bool set[HR_JPEG2000_COMPONENTS]; /* by a COC segment, which later COD segments respect */
    style styles[HR_JPEG2000_COMPONENTS];
} coding;

typedef struct reader {
    const uint8_t *bytes;
    size_t size, at;
    const hr_jpeg2000_siz *siz;
    hr_jpeg2000_cost *cost;
    coding main, tile;
    bool main_known;
    hr_error *error;
} reader;

static hr_status read_style(const reader *r, const uint8_t *p, size_t size, bool user, style *s)
{
    if (size < 5 || p[0] >= LEVELS || p[1] > 8 || p[2] > 8 || p[1] + p[2] > 8 ||
        (user && size - 5 < p[0] + (size_t)1))
        return hr_fail(r->error, HR_STATUS_CORRUPT, "JPEG 2000: a coding style is not valid");
    r->cost->reversible &= p[4] == REVERSIBLE;
    *s = (style){.levels = p[0], .block_w = p[1] + 2u, .block_h = p[2] + 2u};
    for (uint32_t i = 0; i <= s->levels; i++)
        s->precincts[i] = user ? p[5 + i] : LARGEST_PRECINCT << 4 | LARGEST_PRECINCT;
    return HR_STATUS_OK;
}

static hr_status read_cod(const reader *r, const uint8_t *p, size_t size, coding *c)
{
    style s;
    if (size < 5)
        return hr_fail(r->error, HR_STATUS_CORRUPT, "JPEG 2000: a coding style is not valid");
    HR_TRY(read_style(r, p + 5, size - 5, p[0] & USER_PRECINCTS, &s));
    c->layers = hr_get_be16(p + 2);
    for (uint32_t i = 0; i < r->siz->count; i++)
        if (!c->set[i])
            c->styles[i] = s;
    return HR_STATUS_OK;
}

static hr_status read_coc(const reader *r, const uint8_t *p, size_t size, coding *c)
{
    if (size < 2 || p[0] >= r->siz->count)
        return hr_fail(r->error, HR_STATUS_CORRUPT, "JPEG 2000: a coding style is not valid");
    c->set[p[0]] = true;
    return read_style(r, p + 2, size - 2, p[1] & USER_PRECINCTS, &c->styles[p[0]]);
}

/* Pieces of `step` samples (its logarithm) that `n` samples in a row can touch. */
static double pieces(double n, uint32_t step)
{
    double span = (double)((uint64_t)1 << step);
    return (double)(int64_t)((n + span - 2) / span) + 1;
}

typedef struct tally {
    double samples, precincts, blocks, most; /* most: precincts of one resolution */
    double step_w, step_h;                   /* smallest distances of precincts */
    uint32_t resolutions;
} tally;

static void count_component(tally *t, const style *s, double w, double h, uint32_t dx, uint32_t dy)
{
    t->samples += w * h;
    t->resolutions = HR_MAX(t->resolutions, s->levels + 1);
    for (uint32_t i = 0; i <= s->levels; i++) {
        uint32_t shift = s->levels - i, px = s->precincts[i] & 15, py = s->precincts[i] >> 4;
        double scale = (double)((uint64_t)1 << shift), halves = i > 0 ? 2 : 1;
        double rw = (double)(int64_t)(w / scale) + 1, rh = (double)(int64_t)(h / scale) + 1;
        double precincts = pieces(rw, px) * pieces(rh, py);
        /* blocks are not larger than the part of a precinct in a band */
        uint32_t bw = HR_MIN(s->block_w, i > 0 && px > 0 ? px - 1 : px);
        uint32_t bh = HR_MIN(s->block_h, i > 0 && py > 0 ? py - 1 : py);
        t->precincts += precincts;
        t->most = HR_MAX(t->most, precincts);
        t->blocks += (i > 0 ? 3 : 1) * (pieces(rw / halves + 1, bw) * pieces(rh / halves + 1, bh));
        t->step_w = HR_MIN(t->step_w, (double)dx * scale * (double)(1u << px));
        t->step_h = HR_MIN(t->step_h, (double)dy * scale * (double)(1u << py));
    }
}

/* Adds `tiles` tiles that are coded like this. */
static void add_tiles(const reader *r, const coding *c, double tiles)
{
    const hr_jpeg2000_siz *s = r->siz;
    double w = HR_MIN(s->tile_w, s->x1 - s->x0), h = HR_MIN(s->tile_h, s->y1 - s->y0);
    tally t = {.step_w = w, .step_h = h};
    for (uint32_t i = 0; i < s->count; i++) {
        const hr_jpeg2000_component *k = &s->components[i];
        count_component(&t, &c->styles[i], (double)(int64_t)(w / k->dx) + 1,
                        (double)(int64_t)(h / k->dy) + 1, k->dx, k->dy);
    }
    double ways = (double)s->count * t.resolutions;
    double memory = 4 * t.samples + BLOCK_BYTES * t.blocks + 3 * PRECINCT_BYTES * t.precincts +
                    2 * (c->layers + 1.0) * ways * t.most;
    r->cost->memory = HR_MAX(r->cost->memory, memory);
    r->cost->packets += tiles * c->layers * t.precincts;
    r->cost->steps += tiles * ways * (w / t.step_w + 2) * (h / t.step_h + 2);
}

/* ---- walking through the file ---- */

/* Reads a coding style if the segment is one. `changed`: it was. */
static hr_status read_segment(const reader *r, uint32_t marker, const uint8_t *p, size_t size,
                              coding *c, bool *changed)
{
    if (marker != COD && marker != COC)
        return HR_STATUS_OK;
    *changed = true;
    return marker == COD ? read_cod(r, p, size, c) : read_coc(r, p, size, c);
}

/* OpenJPEG looks for known markers inside of unknown segments. They are refused, so that it cannot
 * find a coding style there that was not counted. */
static bool is_known(uint32_t marker)
{
    /* CAP SIZ COD COC TLM PLM PLT CPF QCD QCC RGN POC PPM PPT CRG COM MCT MCC MCO CBD */
    static const uint8_t known[] = {0x50, 0x51, 0x52, 0x53, 0x55, 0x57, 0x58, 0x59, 0x5C, 0x5D,
                                    0x5E, 0x5F, 0x60, 0x61, 0x63, 0x64, 0x74, 0x75, 0x77, 0x78};
    return marker >> 8 == 0xFF && memchr(known, (int)(marker & 0xFF), sizeof known);
}

/* Reads segments up to the marker `last`; `at` is then behind it. */
static hr_status read_header(reader *r, uint32_t last, coding *c, bool *changed)
{
    for (;;) {
        if (r->size - r->at < 4)
            return hr_fail(r->error, HR_STATUS_CORRUPT, "JPEG 2000: the file ends in its headers");
        uint32_t marker = hr_get_be16(r->bytes + r->at);
        size_t length = hr_get_be16(r->bytes + r->at + 2);
        r->at += 2;
        if (marker == last)
            return HR_STATUS_OK;
        if (!is_known(marker))
            return hr_fail(r->error, HR_STATUS_CORRUPT,
                           "JPEG 2000: marker 0x%04X is not supported in a header", marker);
        if (length < 2 || length > r->size - r->at)
            return hr_fail(r->error, HR_STATUS_CORRUPT, "JPEG 2000: a header is not valid");
        HR_TRY(read_segment(r, marker, r->bytes + r->at + 2, length - 2, c, changed));
        r->at += length;
    }
}

/* Reads the header of the tile-part whose SOT marker is just before `at`. `next`: where the next
 * tile-part begins. */
static hr_status read_tile_part(reader *r, size_t *next)
{
    size_t begin = r->at - 2;
    bool changed = false;
    if (r->size - r->at < 10)
        return hr_fail(r->error, HR_STATUS_CORRUPT, "JPEG 2000: the file ends in its headers");
    size_t length = hr_get_be32(r->bytes + r->at + 4);
    *next = length == 0 || length > r->size - begin ? r->size : begin + length;
    r->at += 10;
    r->tile = r->main;
    memset(r->tile.set, 0, sizeof r->tile.set);
    HR_TRY(read_header(r, SOD, &r->tile, &changed));
    if (changed)
        add_tiles(r, &r->tile, 1);
    return HR_STATUS_OK;
}

hr_status hr_jpeg2000_read_cost(const uint8_t *bytes, size_t size, const hr_jpeg2000_siz *siz,
                                hr_jpeg2000_cost *cost, hr_error *error)
{
    reader r = {.bytes = bytes, .size = size, .at = 2, .siz = siz, .cost = cost, .error = error};
    double tiles = (double)hr_jpeg2000_tiles(siz);
    *cost = (hr_jpeg2000_cost){.reversible = true};
    HR_TRY(read_header(&r, SOT, &r.main, &r.main_known));
    if (!r.main_known)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: the file has no coding style");
    add_tiles(&r, &r.main, tiles);
    for (size_t next = 0;;) {
        HR_TRY(read_tile_part(&r, &next));
        if (next < r.at || size - next < 4 || hr_get_be16(bytes + next) != SOT)
            break;
        r.at = next + 2;
    }
    cost->memory += tiles * (TILE_BYTES + COMPONENT_BYTES * (double)siz->count) + (double)size;
    return HR_STATUS_OK;
}
