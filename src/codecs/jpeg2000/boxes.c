/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg2000/boxes.h"

#include "codecs/bytes.h"
#include "core/core.h"

#include <string.h>

enum { ENUMERATED = 1, CMYK = 12, GREY = 17, SYCC = 18, EYCC = 24, MAX_ENTRIES = 1024 };

typedef struct box {
    const uint8_t *name; /* 4 bytes */
    const uint8_t *body;
    size_t size; /* of the body */
} box;

bool hr_jpeg2000_match(const uint8_t *bytes, size_t size)
{
    static const uint8_t signature[] = "\0\0\0\x0CjP  \r\n\x87\n";
    return hr_jpeg2000_is_codestream(bytes, size) ||
           (size >= sizeof signature - 1 && memcmp(bytes, signature, sizeof signature - 1) == 0);
}

/* The box at *at of `size` bytes; moves *at behind it. Only a codestream may be cut off. */
static hr_status next_box(const uint8_t *bytes, size_t size, size_t *at, box *b, hr_error *error)
{
    const uint8_t *p = bytes + *at;
    size_t left = size - *at, head = 8;
    uint64_t length = left >= head ? hr_get_be32(p) : 0;
    if (length == 1 && left >= 16) {
        head = 16;
        length = (uint64_t)hr_get_be32(p + 8) << 32 | hr_get_be32(p + 12);
    } else if (length == 0) {
        length = left;
    }
    if (left < head || length < head)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: a box is not valid");
    *b = (box){.name = p + 4, .body = p + head, .size = (size_t)HR_MIN(length, left) - head};
    if (length > left && memcmp(b->name, "jp2c", 4) != 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: the file ends in its box '%.4s'",
                       (const char *)b->name);
    *at += (size_t)HR_MIN(length, left);
    return HR_STATUS_OK;
}

static bool is_named(const box *b, const char *name)
{
    return memcmp(b->name, name, 4) == 0;
}

/* The boxes of a JP2 header that matter; those that are absent have no body. */
typedef struct header {
    box image, colours, palette, mapping, definition;
} header;

static hr_status read_header(const box *all, header *h, hr_error *error)
{
    for (size_t at = 0; at < all->size;) {
        box b;
        HR_TRY(next_box(all->body, all->size, &at, &b, error));
        const struct {
            const char *name;
            box *place;
        } known[] = {{"ihdr", &h->image},
                     {"colr", &h->colours},
                     {"pclr", &h->palette},
                     {"cmap", &h->mapping},
                     {"cdef", &h->definition}};
        for (size_t i = 0; i < HR_COUNT_OF(known); i++)
            if (is_named(&b, known[i].name) && !known[i].place->body) /* the first one counts */
                *known[i].place = b;
    }
    return HR_STATUS_OK;
}

static hr_status check_image(const hr_jpeg2000 *f, const box *b, hr_error *error)
{
    const hr_jpeg2000_siz *s = &f->siz;
    if (b->body &&
        (b->size < 14 || hr_get_be32(b->body) != s->y1 - s->y0 ||
         hr_get_be32(b->body + 4) != s->x1 - s->x0 || hr_get_be16(b->body + 8) != s->count))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG 2000: the box 'ihdr' does not fit the codestream");
    return HR_STATUS_OK;
}

static void read_colours(hr_jpeg2000 *f, const box *b)
{
    if (!b->body || b->size < 7 || b->body[0] != ENUMERATED)
        return;
    f->colour_space = hr_get_be32(b->body + 3);
    if (f->colour_space == GREY)
        f->colours = HR_JPEG2000_COLOURS_GREY;
    else if (f->colour_space == SYCC)
        f->colours = HR_JPEG2000_COLOURS_SYCC;
    else if (f->colour_space == CMYK || f->colour_space == EYCC)
        f->colours = HR_JPEG2000_COLOURS_UNSUPPORTED;
}

/* ---- palette ---- */

static hr_status read_palette(hr_jpeg2000 *f, const box *b, hr_error *error)
{
    const uint8_t *p = b->body;
    uint32_t entries = b->size >= 3 ? hr_get_be16(p) : 0, columns = b->size >= 3 ? p[2] : 0;
    uint32_t most = 0;
    if (entries == 0 || entries > MAX_ENTRIES || columns == 0 || b->size < 3 + (size_t)columns)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: the palette is not valid");
    for (uint32_t i = 0; i < columns; i++)
        most = HR_MAX(most, p[3 + i]);
    for (uint32_t i = 0; i < columns; i++)
        if (p[3 + i] != most || most > 15) /* also signed ones */
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "JPEG 2000: a palette with elements of this kind is not supported");
    f->entry_bits = most + 1;
    if (b->size - 3 - columns < (size_t)entries * columns * (f->entry_bits > 8 ? 2 : 1))
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: the palette is not valid");
    f->palette = p + 3 + columns;
    f->entries = entries;
    f->columns = columns;
    return HR_STATUS_OK;
}

uint32_t hr_jpeg2000_colour(const hr_jpeg2000 *f, uint32_t entry, uint32_t column)
{
    size_t i = (size_t)HR_MIN(entry, f->entries - 1) * f->columns + column;
    return f->entry_bits > 8 ? hr_get_be16(f->palette + 2 * i) : f->palette[i];
}

/* Which component or column of the palette makes a channel. A palette without a mapping counts as
 * absent. */
static hr_status read_mapping(hr_jpeg2000 *f, const header *h, hr_error *error)
{
    const uint8_t *p = h->mapping.body;
    size_t count = p ? h->mapping.size / 4 : 0;
    if (count == 0 || !h->palette.body)
        return HR_STATUS_OK;
    HR_TRY(read_palette(f, &h->palette, error));
    f->index = hr_get_be16(p);
    f->count = (uint32_t)HR_MIN(count, HR_JPEG2000_COMPONENTS);
    for (uint32_t i = 0; i < f->count; i++, p += 4) {
        if (p[2] != 1 || p[3] >= f->columns || hr_get_be16(p) != f->index ||
            f->index >= f->siz.count)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "JPEG 2000: this combination of a palette and components is not "
                           "supported");
        f->channels[i] = p[3];
    }
    return HR_STATUS_OK;
}

/* ---- the order of channels ---- */

/* Puts the channels of colours first, in the order of the colours. A definition that does not name
 * every channel once is ignored. */
static void read_definition(hr_jpeg2000 *f, const box *b)
{
    uint8_t order[HR_JPEG2000_COMPONENTS];
    bool used[HR_JPEG2000_COMPONENTS] = {false};
    uint32_t n = b->body && b->size >= 2 ? hr_get_be16(b->body) : 0, placed = 0;
    if (n == 0 || n != f->count || b->size < 2 + 6 * (size_t)n)
        return;
    for (uint32_t colour = 1; colour <= n + 1; colour++) /* the last round takes the others */
        for (uint32_t i = 0; i < n; i++) {
            const uint8_t *p = b->body + 2 + 6 * (size_t)i;
            uint32_t channel = hr_get_be16(p);
            bool fits = hr_get_be16(p + 2) == 0 && hr_get_be16(p + 4) == colour;
            if (channel >= n)
                return;
            if (used[channel] || (!fits && colour <= n))
                continue;
            used[channel] = true;
            order[placed++] = f->channels[channel];
        }
    if (placed == n)
        memcpy(f->channels, order, n);
}

hr_status hr_jpeg2000_read(const uint8_t *bytes, size_t size, hr_jpeg2000 *f, hr_error *error)
{
    header h = {0};
    *f = (hr_jpeg2000){.stream = bytes, .stream_size = size};
    for (size_t at = 0; !hr_jpeg2000_is_codestream(bytes, size);) {
        box b;
        if (at == size)
            return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: the file has no codestream");
        HR_TRY(next_box(bytes, size, &at, &b, error));
        f->stream = b.body;
        f->stream_size = b.size;
        if (is_named(&b, "jp2h"))
            HR_TRY(read_header(&b, &h, error));
        else if (is_named(&b, "jp2c"))
            break;
    }
    HR_TRY(hr_jpeg2000_read_siz(f->stream, f->stream_size, &f->siz, error));
    HR_TRY(check_image(f, &h.image, error));
    f->count = f->siz.count;
    for (uint32_t i = 0; i < f->count; i++)
        f->channels[i] = (uint8_t)i;
    read_colours(f, &h.colours);
    HR_TRY(read_mapping(f, &h, error));
    read_definition(f, &h.definition);
    if (f->colours == HR_JPEG2000_COLOURS_GREY && f->count > 2 && !f->palette)
        return hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: %u components of a grey image",
                       f->count);
    return HR_STATUS_OK;
}
