/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* GIF: pixels are numbers of colours in a table. A frame is drawn over those before it, except
 * where it is transparent; before the next one, it may be disposed of. What is between the lines of
 * the format (the colour of what nothing was drawn on, methods that are not given) is as in Pillow.
 */
#include "codecs/codec.h"

#include "codecs/bytes.h"
#include "codecs/lzw.h"

#include <string.h>

enum {
    SCREEN_HEADER = 13,
    IMAGE_HEADER = 9,
    CONTROL = 0xF9,   /* label of the extension with transparency and disposal */
    HAS_TABLE = 0x80, /* flags of the screen and of an image */
    INTERLACED = 0x40,
    MAX_BITS = 8,
    RGBA = 4,
    LARGEST_RATIO = 2730 /* a code of 12 bits stands for up to 4,095 pixels */
};

/* How a frame is disposed of. */
enum { KEEP = 1, TO_BACKGROUND = 2, TO_PREVIOUS = 3 };

typedef struct colours {
    const uint8_t *rgb; /* NULL: shades of grey */
    int32_t count;
} colours;

/* A file, read from block to block. */
typedef struct gif {
    const uint8_t *p, *end;
    int32_t height, width; /* of the screen */
    int32_t background;    /* number of a colour */
    colours table;
    int32_t disposal; /* of the latest image; one that gives none has that of the image before */
} gif;

typedef struct gif_image {
    int32_t x, y, w, h;
    colours table;
    int32_t transparent; /* number of a colour, or -1 */
    bool interlaced;
    uint32_t bits;       /* of a pixel */
    const uint8_t *data; /* first of the blocks */
} gif_image;

static bool match(const uint8_t *bytes, size_t size)
{
    return size >= 6 && (memcmp(bytes, "GIF87a", 6) == 0 || memcmp(bytes, "GIF89a", 6) == 0);
}

static hr_status too_short(hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "GIF: the file ends early");
}

/* ---- blocks ---- */

static hr_status read_table(gif *g, int flags, colours *out, hr_error *error)
{
    if (!(flags & HAS_TABLE))
        return HR_STATUS_OK;
    int32_t count = 2 << (flags & 7);
    if (g->end - g->p < 3 * (ptrdiff_t)count)
        return too_short(error);
    *out = (colours){g->p, count};
    g->p += 3 * (ptrdiff_t)count;
    return HR_STATUS_OK;
}

static hr_status gif_open(gif *g, const uint8_t *bytes, size_t size, hr_error *error)
{
    *g = (gif){.p = bytes, .end = bytes + size};
    if (size < SCREEN_HEADER)
        return too_short(error);
    g->width = (int32_t)hr_get_le16(bytes + 6);
    g->height = (int32_t)hr_get_le16(bytes + 8);
    g->p += SCREEN_HEADER;
    HR_TRY(read_table(g, bytes[10], &g->table, error));
    g->background = g->table.rgb ? bytes[11] : 0;
    return HR_STATUS_OK;
}

/* Goes past blocks up to the empty one that ends them. *total: bytes in them. */
static hr_status skip_blocks(gif *g, size_t *total, hr_error *error)
{
    *total = 0;
    while (g->p < g->end && *g->p != 0) {
        size_t length = *g->p;
        if ((size_t)(g->end - g->p) <= length)
            return too_short(error);
        g->p += 1 + length;
        *total += length;
    }
    if (g->p == g->end)
        return too_short(error);
    g->p++;
    return HR_STATUS_OK;
}

static hr_status read_extension(gif *g, gif_image *image, hr_error *error)
{
    size_t total;
    if (g->end - g->p < 2)
        return too_short(error);
    bool control = *g->p++ == CONTROL;
    const uint8_t *block = g->p; /* its length comes first */
    HR_TRY(skip_blocks(g, &total, error));
    if (!control)
        return HR_STATUS_OK;
    if (block[0] < 4)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "GIF: a graphic control extension has %d bytes instead of 4", block[0]);
    int32_t disposal = block[1] >> 2 & 7;
    if (block[1] & 1)
        image->transparent = block[4];
    if (disposal != 0)
        g->disposal = disposal;
    return HR_STATUS_OK;
}

static hr_status read_image(gif *g, gif_image *image, hr_error *error)
{
    size_t total;
    if (g->end - g->p < IMAGE_HEADER)
        return too_short(error);
    const uint8_t *p = g->p;
    image->x = (int32_t)hr_get_le16(p);
    image->y = (int32_t)hr_get_le16(p + 2);
    image->w = (int32_t)hr_get_le16(p + 4);
    image->h = (int32_t)hr_get_le16(p + 6);
    image->interlaced = (p[8] & INTERLACED) != 0;
    image->table = g->table;
    g->p += IMAGE_HEADER;
    HR_TRY(read_table(g, p[8], &image->table, error));
    if (g->p == g->end)
        return too_short(error);
    image->bits = *g->p++;
    image->data = g->p;
    if (image->bits < 1 || image->bits > MAX_BITS)
        return hr_fail(error, HR_STATUS_CORRUPT, "GIF: pixels of %u bits; they have 1 to 8",
                       image->bits);
    return skip_blocks(g, &total, error);
}

/* The next image; *there: whether there is one. */
static hr_status next_image(gif *g, gif_image *image, bool *there, hr_error *error)
{
    *image = (gif_image){.transparent = -1};
    *there = false;
    while (g->p < g->end) {
        switch (*g->p++) {
        case ',':
            *there = true;
            return read_image(g, image, error);
        case '!':
            HR_TRY(read_extension(g, image, error));
            break;
        case ';':
            g->p = g->end;
            break;
        case 0: /* some writers end blocks twice */
            break;
        default:
            return hr_fail(error, HR_STATUS_CORRUPT, "GIF: a block of the unknown kind 0x%02x",
                           g->p[-1]);
        }
    }
    return HR_STATUS_OK;
}

/* ---- the file as a whole ---- */

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    gif g;
    gif_image first, image;
    bool there;
    HR_TRY(gif_open(&g, bytes, size, error));
    HR_TRY(next_image(&g, &first, &there, error));
    if (!there)
        return hr_fail(error, HR_STATUS_CORRUPT, "GIF: the file has no image");
    int32_t pages = 1;
    hr_error damage = {0};
    /* A damaged frame is one that is there, but whoever decodes it gets the error. */
    while (next_image(&g, &image, &there, &damage) == HR_STATUS_OK && there)
        pages++;
    pages += damage.message[0] != '\0';
    HR_TRY(hr_image_set_pages(info, pages, pages - 1, error));
    info->height = HR_MAX(g.height, first.y + first.h);
    info->width = HR_MAX(g.width, first.x + first.w);
    if (info->height == 0 || info->width == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "GIF: the image has no pixels");
    info->channels = first.transparent >= 0 ? RGBA : 3;
    info->bits = 8;
    info->orientation = 1;
    return HR_STATUS_OK;
}

static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    (void)bytes;
    (void)info;
    (void)error;
    *pixels = (int64_t)HR_MIN(size, UINT32_MAX) * LARGEST_RATIO;
    return HR_STATUS_OK;
}

/* ---- drawing ---- */

typedef struct area {
    int32_t x, y, w, h;
} area;

typedef struct gif_state {
    gif g;
    hr_op_call *c;
    int32_t height, width, frames;
    uint8_t *rgba;
    int32_t disposal; /* of the latest frame, 0: nothing is left to do */
    area where;       /* it is */
    uint8_t fill[RGBA];
    uint8_t *saved; /* what was there before */
} gif_state;

static uint8_t *pixel_at(const gif_state *s, int32_t x, int32_t y)
{
    return s->rgba + RGBA * ((size_t)y * (size_t)s->width + (size_t)x);
}

/* False if the table has no such colour. */
static bool get_colour(const colours *table, int32_t i, uint8_t alpha, uint8_t rgba[RGBA])
{
    bool known = !table->rgb || i < table->count;
    for (int k = 0; k < 3; k++)
        rgba[k] = !table->rgb ? (uint8_t)i : table->rgb[known ? 3 * i + k : k];
    rgba[3] = alpha;
    return known;
}

static void fill_area(const gif_state *s, area a, const uint8_t rgba[RGBA])
{
    for (int32_t y = a.y; y < a.y + a.h; y++)
        for (int32_t x = a.x; x < a.x + a.w; x++)
            memcpy(pixel_at(s, x, y), rgba, RGBA);
}

static void copy_area(const gif_state *s, area a, bool save)
{
    size_t row = RGBA * (size_t)a.w;
    for (int32_t y = 0; y < a.h; y++) {
        uint8_t *here = pixel_at(s, a.x, a.y + y), *kept = s->saved + (size_t)y * row;
        memcpy(save ? kept : here, save ? here : kept, row);
    }
}

static void dispose(gif_state *s)
{
    if (s->disposal == TO_BACKGROUND)
        fill_area(s, s->where, s->fill);
    else if (s->disposal >= TO_PREVIOUS)
        copy_area(s, s->where, false);
    s->disposal = 0;
}

/* Prepares the disposal of a frame before it is drawn. */
static void plan_disposal(gif_state *s, const gif_image *image)
{
    bool clear = image->transparent >= 0;
    s->disposal = s->g.disposal;
    s->where = (area){image->x, image->y, image->w, image->h};
    get_colour(&image->table, clear ? image->transparent : s->g.background, clear ? 0 : UINT8_MAX,
               s->fill);
    if (s->frames > 0 && s->disposal >= TO_PREVIOUS) {
        copy_area(s, s->where, true);
    } else if (s->disposal >= TO_PREVIOUS) { /* nothing was there before */
        s->disposal = clear ? TO_BACKGROUND : KEEP;
    }
}

/* The data of an image, without the lengths of its blocks. */
static uint8_t *join_blocks(const gif_state *s, const gif_image *image, size_t *size,
                            hr_error *error)
{
    gif g = {.p = image->data, .end = s->g.end};
    if (skip_blocks(&g, size, error) != HR_STATUS_OK)
        return NULL;
    uint8_t *data = hr_arena_alloc(s->c->arena, *size + 1, error);
    const uint8_t *p = image->data;
    for (uint8_t *to = data; to && *p != 0; p += 1 + *p) {
        memcpy(to, p + 1, *p);
        to += *p;
    }
    return data;
}

/* Row of the image that is stored as row `i`. */
static int32_t row_of(const gif_image *image, int32_t i)
{
    static const struct {
        int32_t first, step;
    } passes[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
    if (!image->interlaced)
        return i;
    for (size_t k = 0; k < HR_COUNT_OF(passes); k++) {
        int32_t left = image->h - passes[k].first;
        int32_t rows = left > 0 ? (left + passes[k].step - 1) / passes[k].step : 0;
        if (i < rows)
            return passes[k].first + i * passes[k].step;
        i -= rows;
    }
    return image->h - 1;
}

static hr_status draw_row(const gif_state *s, const gif_image *image, const uint8_t *row, int32_t y,
                          hr_error *error)
{
    uint8_t *dst = pixel_at(s, image->x, y);
    for (int32_t x = 0; x < image->w; x++, dst += RGBA) {
        bool clear = row[x] == image->transparent;
        if (clear && s->frames > 0)
            continue;
        if (!get_colour(&image->table, row[x], clear ? 0 : UINT8_MAX, dst))
            return hr_fail(error, HR_STATUS_CORRUPT, "GIF: colour %d of a table of %d", row[x],
                           image->table.count);
    }
    return HR_STATUS_OK;
}

static hr_status draw_pixels(const gif_state *s, const gif_image *image, hr_error *error)
{
    size_t size, pixels = (size_t)image->w * (size_t)image->h;
    uint8_t *data = join_blocks(s, image, &size, error);
    uint8_t *numbers = data ? hr_arena_alloc(s->c->arena, pixels + 1, error) : NULL;
    if (!numbers)
        return error->status;
    switch (hr_lzw_unpack_lsb(data, size, image->bits, numbers, pixels)) {
    case HR_LZW_DONE:
        break;
    case HR_LZW_SHORT:
        return hr_fail(error, HR_STATUS_CORRUPT, "GIF: the data end before the pixels do");
    default:
        return hr_fail(error, HR_STATUS_CORRUPT, "GIF: damaged LZW data");
    }
    for (int32_t i = 0; i < image->h; i++)
        HR_TRY(draw_row(s, image, numbers + (size_t)i * (size_t)image->w,
                        image->y + row_of(image, i), error));
    return HR_STATUS_OK;
}

/* Before the first frame, all is transparent, or has the first colour. */
static void draw_ground(const gif_state *s, const gif_image *first)
{
    uint8_t rgba[RGBA];
    bool clear = first->transparent >= 0;
    get_colour(&first->table, clear ? first->transparent : 0, clear ? 0 : UINT8_MAX, rgba);
    fill_area(s, (area){0, 0, s->width, s->height}, rgba);
}

static hr_status animate(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         hr_op_call *c, void **state, hr_error *error)
{
    gif_state *s = hr_arena_alloc(c->arena, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    *s = (gif_state){.c = c, .height = info->height, .width = info->width};
    size_t canvas = RGBA * (size_t)s->height * (size_t)s->width;
    s->rgba = hr_arena_alloc(c->arena, canvas, error);
    s->saved = info->pages > 1 ? hr_arena_alloc(c->arena, canvas, error) : NULL;
    if (!s->rgba || (info->pages > 1 && !s->saved))
        return HR_STATUS_NO_MEMORY;
    *state = s;
    return gif_open(&s->g, bytes, size, error);
}

static hr_status frame(void *state, const uint8_t **rgba, hr_error *error)
{
    gif_state *s = state;
    gif_image image;
    bool there;
    HR_TRY(next_image(&s->g, &image, &there, error));
    if (!there)
        return too_short(error);
    if (image.x + image.w > s->width || image.y + image.h > s->height)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "GIF: frame %d is not inside the image of %dx%d pixels (width x height)",
                       s->frames, s->width, s->height);
    dispose(s);
    plan_disposal(s, &image);
    if (s->frames == 0)
        draw_ground(s, &image);
    hr_arena_mark mark = hr_arena_save(s->c->arena);
    hr_status status = draw_pixels(s, &image, error);
    hr_arena_restore(s->c->arena, mark);
    s->frames++;
    *rgba = s->rgba;
    return status;
}

const hr_codec hr_codec_gif = {
    .name = "gif",
    .library = "headrace",
    .version = hr_version,
    .match = match,
    .header = header,
    .check = check,
    .decode = hr_animation_decode,
    .animate = animate,
    .frame = frame,
    .paged = true,
    .luma_bits = 16,
};
