/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Items of HEIF files to planes, with the decoders for videos. */
#include "codecs/bytes.h"
#include "codecs/codec.h"
#include "codecs/heif/image.h"
#include "codecs/video/video.h"

#include <string.h>

enum { AROUND = 4 }; /* pixels around a window that its chroma may need */

static size_t sample_bytes(uint32_t bits)
{
    return bits > 8 ? 2 : 1;
}

/* ---- one item ---- */

static hr_heif_span configuration(const hr_heif *h, const hr_heif_item *item)
{
    hr_heif_span v = hr_heif_property(h, item, HR_HEIF_TYPE('a', 'v', '1', 'C'));
    return v.p ? v : hr_heif_property(h, item, HR_HEIF_TYPE('h', 'v', 'c', 'C'));
}

static bool same(hr_heif_span a, hr_heif_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.p, b.p, a.size) == 0);
}

/* A decoder in its first state. That of the last item is used again if it fits. */
static hr_status open_decoder(const hr_heif *h, const hr_heif_item *item, uint32_t width,
                              uint32_t height, hr_op_call *c, hr_heif_planes *planes,
                              hr_error *error)
{
    char message[HR_VIDEO_MESSAGE] = "";
    int64_t most = hr_task_max_pixels(c->task);
    hr_heif_span config = configuration(h, item);
    if (planes->decoder && planes->open_for->type == item->type &&
        same(configuration(h, planes->open_for), config)) {
        planes->module->flush(planes->decoder, most);
        return HR_STATUS_OK;
    }
    if (planes->decoder)
        planes->module->close(planes->decoder);
    const hr_video_stream stream = {.codec = item->type == HR_HEIF_TYPE('a', 'v', '0', '1')
                                                 ? HR_VIDEO_CODEC_AV1
                                                 : HR_VIDEO_CODEC_HEVC,
                                    .extra = config.p,
                                    .extra_size = config.size,
                                    .width = (int32_t)width,
                                    .height = (int32_t)height,
                                    .max_pixels = most,
                                    .device = -1};
    planes->open_for = item;
    planes->decoder = planes->module->open(&stream, message);
    return planes->decoder
               ? HR_STATUS_OK
               : hr_fail(error, HR_STATUS_CORRUPT, "HEIF: item %u: %s", item->id, message);
}

static hr_video_result first_picture(hr_heif_planes *planes, const uint8_t *bytes, size_t size,
                                     char message[HR_VIDEO_MESSAGE])
{
    const hr_video_module_def *m = planes->module;
    hr_video_result result = m->send(planes->decoder, bytes, size, 0, true, message);
    if (result == HR_VIDEO_RESULT_MORE)
        result = m->receive(planes->decoder, &planes->picture, message);
    if (result == HR_VIDEO_RESULT_MORE) /* it waits for more that could come before */
        result = m->send(planes->decoder, NULL, 0, 0, true, message);
    if (result == HR_VIDEO_RESULT_MORE)
        result = m->receive(planes->decoder, &planes->picture, message);
    return result;
}

static hr_status check_picture(const hr_heif_item *item, const hr_heif_picture *p, uint32_t width,
                               uint32_t height, const hr_video_picture *v, hr_error *error)
{
    if (!v->plane[0] || (uint32_t)v->width != width || (uint32_t)v->height != height)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: item %u has %dx%d pixels (width x height), but the file says %ux%u",
                       item->id, v->width, v->height, width, height);
    if ((uint32_t)v->bits != p->bits || (v->colors == HR_VIDEO_COLORS_GRAY) != p->grey)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: item %u has %d bits%s, but the file says %u%s", item->id, v->bits,
                       v->colors == HR_VIDEO_COLORS_GRAY ? " and no colours" : "", p->bits,
                       p->grey ? " and no colours" : "");
    return HR_STATUS_OK;
}

/* The picture of an item is in planes->picture up to the next call. */
static hr_status decode_item(const hr_heif *h, const hr_heif_item *item, const hr_heif_picture *p,
                             uint32_t width, uint32_t height, hr_op_call *c, hr_heif_planes *planes,
                             hr_error *error)
{
    char message[HR_VIDEO_MESSAGE] = "there is no picture";
    size_t size;
    HR_TRY(hr_heif_size(h, item, &size, error));
    uint8_t *bytes = hr_arena_alloc(c->arena, size + HR_VIDEO_PAD, error);
    if (!bytes)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(hr_heif_read(h, item, bytes, error));
    memset(bytes + size, 0, HR_VIDEO_PAD);
    HR_TRY(open_decoder(h, item, width, height, c, planes, error));
    if (first_picture(planes, bytes, size, message) != HR_VIDEO_RESULT_PICTURE)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: item %u: %s", item->id, message);
    HR_TRY(check_picture(item, p, width, height, &planes->picture, error));
    if (!planes->picture.damaged)
        return HR_STATUS_OK;
    return hr_task_warn(c->task, error, "HEIF: item %u is damaged; what is missing was made up",
                        item->id);
}

static hr_status count_memory(const hr_heif *h, uint32_t width, uint32_t height, uint32_t bits,
                              hr_op_call *c, hr_heif_planes *planes, hr_error *error)
{
    size_t bytes = 3 * sample_bytes(bits) * (size_t)width * height;
    HR_TRY(hr_image_count(c->arena, bytes, h->file.size, error));
    planes->counted = bytes;
    return HR_STATUS_OK;
}

/* ---- grids ---- */

typedef struct grid {
    const hr_heif *h;
    const hr_heif_picture *p;
    const hr_window *window;
    uint32_t tile_w, tile_h;
    hr_video_picture whole;
    size_t total; /* bytes of the tiles so far */
} grid;

static hr_status read_tile(const grid *g, uint32_t i, const hr_heif_item **item, uint32_t *width,
                           uint32_t *height, hr_error *error)
{
    *item = hr_heif_find(g->h, hr_heif_listed(&g->p->tiles, i));
    hr_heif_span size =
        *item ? hr_heif_property(g->h, *item, HR_HEIF_TYPE('i', 's', 'p', 'e')) : (hr_heif_span){0};
    if (size.size < 12)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: tile %u has no size", i);
    *width = hr_get_be32(size.p + 4);
    *height = hr_get_be32(size.p + 8);
    return HR_STATUS_OK;
}

/* The tiles cover the image, and none is beyond it. */
static hr_status check_grid(grid *g, hr_error *error)
{
    const hr_heif_picture *p = g->p;
    const hr_heif_item *item;
    HR_TRY(read_tile(g, 0, &item, &g->tile_w, &g->tile_h, error));
    uint64_t w = g->tile_w, h = g->tile_h;
    if (w == 0 || h == 0 || w * p->columns < p->width || h * p->rows < p->height ||
        w * (p->columns - 1) >= p->width || h * (p->rows - 1) >= p->height)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: %ux%u tiles (columns x rows) of %ux%u pixels for an image of %ux%u",
                       p->columns, p->rows, g->tile_w, g->tile_h, p->width, p->height);
    return HR_STATUS_OK;
}

static bool needed(const grid *g, uint32_t column, uint32_t row)
{
    const hr_window *w = g->window;
    int64_t x = (int64_t)column * g->tile_w, y = (int64_t)row * g->tile_h;
    return x < w->x + w->w + AROUND && x + g->tile_w > w->x - AROUND && y < w->y + w->h + AROUND &&
           y + g->tile_h > w->y - AROUND;
}

static int32_t shifted(uint32_t size, int32_t shift)
{
    return (int32_t)((size + (1u << shift) - 1) >> shift);
}

/* Memory for the planes of the image, which are like those of the first tile. */
static hr_status start_whole(grid *g, const hr_video_picture *tile, hr_arena *arena,
                             hr_error *error)
{
    bool wide = g->p->columns > 1, tall = g->p->rows > 1;
    g->whole = *tile;
    g->whole.width = (int32_t)g->p->width;
    g->whole.height = (int32_t)g->p->height;
    if ((wide && g->tile_w & ((1u << tile->shift_x) - 1)) ||
        (tall && g->tile_h & ((1u << tile->shift_y) - 1)))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "HEIF: tiles of %ux%u pixels do not have whole samples of chroma", g->tile_w,
                       g->tile_h);
    for (int i = 0; i < (g->p->grey ? 1 : 3); i++) {
        int32_t w = shifted(g->p->width, i ? tile->shift_x : 0);
        int32_t h = shifted(g->p->height, i ? tile->shift_y : 0);
        g->whole.stride[i] = (int64_t)w * (int64_t)sample_bytes(g->p->bits);
        size_t bytes = (size_t)g->whole.stride[i] * (size_t)h;
        uint8_t *plane = hr_arena_alloc(arena, bytes, error);
        if (!plane)
            return HR_STATUS_NO_MEMORY;
        memset(plane, 0, bytes);
        g->whole.plane[i] = plane;
    }
    return HR_STATUS_OK;
}

static hr_status put_tile(grid *g, const hr_video_picture *t, uint32_t column, uint32_t row,
                          hr_error *error)
{
    const hr_video_picture *all = &g->whole;
    if (t->shift_x != all->shift_x || t->shift_y != all->shift_y || t->colors != all->colors ||
        t->signal.full_range != all->signal.full_range || t->signal.matrix != all->signal.matrix)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: the tiles have different colours");
    for (int i = 0; i < (g->p->grey ? 1 : 3); i++) {
        int32_t sx = i ? all->shift_x : 0, sy = i ? all->shift_y : 0;
        size_t x = (size_t)(column * g->tile_w) >> sx, y = (size_t)(row * g->tile_h) >> sy;
        size_t w = HR_MIN((size_t)shifted(g->tile_w, sx), (size_t)shifted(g->p->width, sx) - x);
        size_t h = HR_MIN((size_t)shifted(g->tile_h, sy), (size_t)shifted(g->p->height, sy) - y);
        size_t each = sample_bytes(g->p->bits);
        uint8_t *dst = (uint8_t *)(uintptr_t)all->plane[i] + y * (size_t)all->stride[i] + x * each;
        for (size_t k = 0; k < h; k++)
            memcpy(dst + k * (size_t)all->stride[i], t->plane[i] + (int64_t)k * t->stride[i],
                   w * each);
    }
    return HR_STATUS_OK;
}

/* A tile is in hand only until the next one is decoded. */
static hr_status add_tile(grid *g, uint32_t i, hr_op_call *c, hr_heif_planes *planes,
                          hr_error *error)
{
    const hr_heif_item *item;
    uint32_t width = 0, height = 0, column = i % g->p->columns, row = i / g->p->columns;
    size_t size;
    HR_TRY(read_tile(g, i, &item, &width, &height, error));
    if (width != g->tile_w || height != g->tile_h)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: the tiles have different sizes");
    HR_TRY(hr_heif_size(g->h, item, &size, error));
    g->total += size;
    if (g->total > g->h->file.size)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: the tiles have more bytes than the file");
    if (!needed(g, column, row))
        return HR_STATUS_OK;
    hr_arena_mark mark;
    HR_TRY(g->whole.plane[0] ? HR_STATUS_OK
                             : count_memory(g->h, width, height, g->p->bits, c, planes, error));
    mark = hr_arena_save(c->arena);
    HR_TRY(decode_item(g->h, item, g->p, width, height, c, planes, error));
    if (g->whole.plane[0])
        hr_arena_restore(c->arena, mark); /* the bytes of the item */
    else
        HR_TRY(start_whole(g, &planes->picture, c->arena, error));
    return put_tile(g, &planes->picture, column, row, error);
}

static hr_status decode_grid(const hr_heif *h, const hr_heif_picture *p, const hr_window *window,
                             hr_op_call *c, hr_heif_planes *planes, hr_error *error)
{
    grid g = {.h = h, .p = p, .window = window};
    HR_TRY(check_grid(&g, error));
    for (uint32_t i = 0; i < p->tiles.count; i++)
        HR_TRY(add_tile(&g, i, c, planes, error));
    planes->picture = g.whole;
    return HR_STATUS_OK;
}

hr_status hr_heif_decode(const hr_heif *h, const hr_heif_picture *p, const hr_window *window,
                         hr_op_call *c, hr_heif_planes *planes, hr_error *error)
{
    if (p->tiles.count > 0)
        return decode_grid(h, p, window, c, planes, error);
    HR_TRY(count_memory(h, p->width, p->height, p->bits, c, planes, error));
    return decode_item(h, p->item, p, p->width, p->height, c, planes, error);
}

void hr_heif_planes_fini(hr_heif_planes *planes, hr_arena *arena)
{
    if (planes->decoder)
        planes->module->close(planes->decoder);
    hr_arena_uncount(arena, planes->counted);
}
