/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/heif/image.h"

#include "codecs/bytes.h"

#include <string.h>

#define AV01 HR_HEIF_TYPE('a', 'v', '0', '1')
#define HVC1 HR_HEIF_TYPE('h', 'v', 'c', '1')
#define GRID HR_HEIF_TYPE('g', 'r', 'i', 'd')
#define AUXL HR_HEIF_TYPE('a', 'u', 'x', 'l')
#define PREM HR_HEIF_TYPE('p', 'r', 'e', 'm')
#define DIMG HR_HEIF_TYPE('d', 'i', 'm', 'g')

enum { MOST_TILES = 4096, MOST_GRID_BYTES = 12 };

static hr_status refuse(hr_error *error, uint32_t type, const char *format)
{
    const char name[5] = {(char)(type >> 24), (char)(type >> 16), (char)(type >> 8), (char)type, 0};
    return hr_fail(error, HR_STATUS_CORRUPT, format, name);
}

/* ---- one picture ---- */

static hr_status read_size(const hr_heif *h, hr_heif_picture *p, hr_error *error)
{
    hr_heif_span size = hr_heif_property(h, p->item, HR_HEIF_TYPE('i', 's', 'p', 'e'));
    if (size.size < 12)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: the size of item %u is not given",
                       p->item->id);
    p->width = hr_get_be32(size.p + 4);
    p->height = hr_get_be32(size.p + 8);
    if (p->width == 0 || p->height == 0 || p->width > INT32_MAX || p->height > INT32_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: an image of %ux%u pixels", p->width,
                       p->height);
    return HR_STATUS_OK;
}

static hr_heif_span configuration(const hr_heif *h, const hr_heif_item *item)
{
    return hr_heif_property(h, item,
                            item->type == AV01 ? HR_HEIF_TYPE('a', 'v', '1', 'C')
                                               : HR_HEIF_TYPE('h', 'v', 'c', 'C'));
}

/* Bits and chroma, as the configuration of the decoder says. */
static hr_status read_coding(const hr_heif *h, const hr_heif_item *item, hr_heif_picture *p,
                             hr_error *error)
{
    hr_heif_span v = configuration(h, item);
    if (item->type != AV01 && item->type != HVC1)
        return refuse(error, item->type,
                      "HEIF: images coded as '%s' are not supported; AV1 and HEVC are");
    if (v.size < (item->type == AV01 ? 4u : 23u))
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: item %u has no configuration of a decoder",
                       item->id);
    if (item->type == AV01) {
        p->bits = v.p[2] & 0x40 ? (v.p[2] & 0x20 ? 12 : 10) : 8;
        p->grey = v.p[2] & 0x10;
    } else {
        p->bits = 8 + (v.p[17] & 7u);
        p->grey = (v.p[16] & 3) == 0;
    }
    return HR_STATUS_OK;
}

static hr_status read_grid(const hr_heif *h, hr_heif_picture *p, hr_error *error)
{
    uint8_t body[MOST_GRID_BYTES];
    size_t size;
    HR_TRY(hr_heif_size(h, p->item, &size, error));
    if (size < 8 || size > sizeof(body))
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: a grid of %zu bytes", size);
    HR_TRY(hr_heif_read(h, p->item, body, error));
    bool wide = body[1] & 1;
    p->rows = body[2] + 1u;
    p->columns = body[3] + 1u;
    p->tiles = hr_heif_references(h, p->item->id, DIMG);
    if (size != (wide ? 12u : 8u) ||
        p->width != (wide ? hr_get_be32(body + 4) : hr_get_be16(body + 4)) ||
        p->height != (wide ? hr_get_be32(body + 8) : hr_get_be16(body + 6)))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: the size of a grid is not that of its item");
    if (p->tiles.count != p->rows * p->columns || p->tiles.count > MOST_TILES)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: a grid of %ux%u (rows x columns) has %u tiles", p->rows, p->columns,
                       p->tiles.count);
    const hr_heif_item *first = hr_heif_find(h, hr_heif_listed(&p->tiles, 0));
    if (!first)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: a tile is not in the file");
    return read_coding(h, first, p, error);
}

static hr_status read_picture(const hr_heif *h, const hr_heif_item *item, hr_heif_picture *p,
                              hr_error *error)
{
    *p = (hr_heif_picture){.item = item};
    HR_TRY(read_size(h, p, error));
    return item->type == GRID ? read_grid(h, p, error) : read_coding(h, item, p, error);
}

/* ---- properties of the whole ---- */

/* Quarter turns to the left, and then a mirror: 0 exchanges top and bottom, 1 left and right. */
static int32_t orientation_of(uint32_t turns, int32_t mirror)
{
    static const uint8_t turned[3][4] = {{1, 8, 3, 6}, {4, 5, 2, 7}, {2, 7, 4, 5}};
    return turned[mirror + 1][turns & 3];
}

/* A signed and an unsigned number. False: the quotient is no integer. */
static bool whole(const uint8_t *p, int64_t *out)
{
    int64_t n = (int32_t)hr_get_be32(p), d = hr_get_be32(p + 4);
    if (d == 0 || n % d != 0)
        return false;
    *out = n / d;
    return true;
}

/* The clean aperture: a centred window and how far its centre is from that of the image. */
static hr_status read_aperture(hr_heif_span v, hr_heif_image *m, hr_error *error)
{
    int64_t size[2], of[2] = {m->main.width, m->main.height}, first[2];
    bool good = v.size >= 32;
    for (int i = 0; i < 2 && good; i++) {
        const uint8_t *offset = v.p + 16 + 8 * i;
        int64_t n = (int32_t)hr_get_be32(offset), d = hr_get_be32(offset + 4);
        good = whole(v.p + 8 * i, &size[i]) && d != 0 && size[i] > 0 && size[i] <= of[i];
        /* (of - size) / 2 + n / d */
        int64_t twice = good ? (of[i] - size[i]) * d + 2 * n : 0;
        good = good && twice >= 0 && twice % (2 * d) == 0;
        first[i] = good ? twice / (2 * d) : 0;
        good = good && first[i] <= of[i] - size[i];
    }
    if (!good)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: a clean aperture (clap) that is not a window of whole pixels");
    m->x = (uint32_t)first[0];
    m->y = (uint32_t)first[1];
    m->width = (uint32_t)size[0];
    m->height = (uint32_t)size[1];
    return HR_STATUS_OK;
}

typedef struct turning {
    uint32_t turns;
    int32_t mirror;
} turning;

static hr_status use_property(const hr_heif_box *box, bool essential, hr_heif_image *m, turning *t,
                              hr_error *error)
{
    hr_heif_span v = box->body;
    switch (box->type) {
    case HR_HEIF_TYPE('i', 'r', 'o', 't'):
        t->turns += v.size > 0 ? v.p[0] & 3 : 0;
        return HR_STATUS_OK;
    case HR_HEIF_TYPE('i', 'm', 'i', 'r'): /* turning after it is turning the other way before */
        if (t->mirror >= 0)
            return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: an image that is mirrored twice");
        t->mirror = v.size > 0 ? v.p[0] & 1 : 0;
        return HR_STATUS_OK;
    case HR_HEIF_TYPE('c', 'l', 'a', 'p'):
        if (t->turns || t->mirror >= 0)
            return refuse(error, box->type, "HEIF: '%s' after a rotation is not supported");
        return read_aperture(v, m, error);
    case HR_HEIF_TYPE('c', 'o', 'l', 'r'):
        if (v.size >= 11 && memcmp(v.p, "nclx", 4) == 0)
            m->colours = (hr_heif_colours){(int32_t)hr_get_be16(v.p + 8), v.p[10] >> 7};
        return HR_STATUS_OK;
    case HR_HEIF_TYPE('a', '1', 'o', 'p'):
    case HR_HEIF_TYPE('l', 's', 'e', 'l'):
        if (v.size > 0 && v.p[v.size - 1] != 0 && v.p[v.size - 1] != 255)
            return refuse(error, box->type,
                          "HEIF: images of several layers ('%s') are not supported");
        return HR_STATUS_OK;
    case HR_HEIF_TYPE('i', 's', 'p', 'e'):
    case HR_HEIF_TYPE('p', 'i', 'x', 'i'):
    case HR_HEIF_TYPE('p', 'a', 's', 'p'):
    case HR_HEIF_TYPE('a', 'v', '1', 'C'):
    case HR_HEIF_TYPE('h', 'v', 'c', 'C'):
        return HR_STATUS_OK;
    default:
        if (essential)
            return refuse(error, box->type,
                          "HEIF: the image needs a property '%s', which is not supported");
        return HR_STATUS_OK;
    }
}

static hr_status read_properties(const hr_heif *h, hr_heif_image *m, hr_error *error)
{
    hr_heif_box box;
    bool essential;
    turning t = {.mirror = -1};
    for (uint32_t i = 0; hr_heif_property_at(h, m->main.item, i, &box, &essential); i++) {
        uint32_t before = t.turns;
        HR_TRY(use_property(&box, essential, m, &t, error));
        if (t.mirror >= 0 && t.turns != before) /* a turn after the mirror */
            t.turns = 2 * before - t.turns;
    }
    m->orientation = orientation_of(t.turns, t.mirror);
    return HR_STATUS_OK;
}

/* ---- other items ---- */

static bool is_alpha(const hr_heif *h, const hr_heif_item *item)
{
    static const char *const names[] = {"urn:mpeg:mpegB:cicp:systems:auxiliary:alpha",
                                        "urn:mpeg:hevc:2015:auxid:1"};
    hr_heif_span kind = hr_heif_property(h, item, HR_HEIF_TYPE('a', 'u', 'x', 'C'));
    for (size_t i = 0; i < HR_COUNT_OF(names); i++) {
        size_t n = strlen(names[i]) + 1;
        if (kind.size >= 4 + n && memcmp(kind.p + 4, names[i], n) == 0)
            return true;
    }
    return false;
}

static hr_status read_alpha(const hr_heif *h, hr_heif_image *m, hr_error *error)
{
    size_t at = 0;
    const hr_heif_item *item;
    while ((item = hr_heif_referring(h, m->main.item->id, AUXL, &at)) && !is_alpha(h, item))
        ;
    if (!item)
        return HR_STATUS_OK;
    if (hr_heif_references(h, m->main.item->id, PREM).count > 0)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: colours that are multiplied by alpha are not supported");
    HR_TRY(read_picture(h, item, &m->alpha, error));
    if (m->alpha.width != m->main.width || m->alpha.height != m->main.height)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: alpha of %ux%u pixels for an image of %ux%u (width x height)",
                       m->alpha.width, m->alpha.height, m->main.width, m->main.height);
    return HR_STATUS_OK;
}

static int32_t count_others(const hr_heif *h)
{
    int32_t count = 0;
    for (int32_t i = 0; i < h->count; i++) {
        const hr_heif_item *item = &h->items[i];
        bool image = item->type == AV01 || item->type == HVC1 || item->type == GRID;
        count += image && !item->hidden && !item->part && item->id != h->primary;
    }
    return count;
}

hr_status hr_heif_describe(const hr_heif *h, hr_heif_image *out, hr_error *error)
{
    *out = (hr_heif_image){.colours = {.matrix = -1}};
    HR_TRY(read_picture(h, hr_heif_find(h, h->primary), &out->main, error));
    out->width = out->main.width;
    out->height = out->main.height;
    HR_TRY(read_properties(h, out, error));
    if (out->colours.matrix < 0 && out->main.tiles.count > 0) { /* that of the tiles */
        hr_heif_image first = {.colours = {.matrix = -1}, .main = out->main};
        first.main.item = hr_heif_find(h, hr_heif_listed(&out->main.tiles, 0));
        HR_TRY(read_properties(h, &first, error));
        out->colours = first.colours;
    }
    out->others = count_others(h) + h->has_track;
    return read_alpha(h, out, error);
}
