/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG 2000 through OpenJPEG, which is in a module. Levels of any number of bits fill 8 or 16. What
 * DALI refuses is decoded as Pillow does: signed and subsampled components, less than 8 bits, grey
 * with alpha. */
#include "codecs/codec.h"

#include "codecs/bytes.h"
#include "codecs/jpeg2000/boxes.h"
#include "codecs/jpeg2000/device.h"

#include <string.h>

enum {
    COLOURS = 3,
    MOST_BITS = 16,
    MOST_ENTRIES = 1024,
    PACKETS_SLACK = 1 << 18, /* a damaged file may lack so many packets */
    PACKETS_PER_BYTE = 4,    /* packets are counted generously */
    STEPS_SLACK = 1 << 24,
    STEPS_PER_BYTE = 64
};

/* ---- header ---- */

/* The most bits of a channel. */
static uint32_t most_bits(const hr_jpeg2000 *f)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < f->count && !f->palette; i++)
        most = HR_MAX(most, f->siz.components[f->channels[i]].bits);
    return f->palette ? f->entry_bits : most;
}

static bool is_subsampled(const hr_jpeg2000 *f)
{
    const hr_jpeg2000_component *c = f->siz.components;
    for (uint32_t i = 1; i < f->siz.count; i++)
        if (c[i].dx != c[0].dx || c[i].dy != c[0].dy)
            return true;
    return false;
}

/* Whether three channels are luma and colour differences. Subsampled ones are, whatever the file
 * says. */
static bool is_ycc(const hr_jpeg2000 *f)
{
    const hr_jpeg2000_component *c = f->siz.components;
    if (f->palette || f->count < COLOURS)
        return false;
    return f->colours == HR_JPEG2000_COLOURS_SYCC ||
           (f->count == COLOURS && (c[1].dx != c[0].dx || c[1].dy != c[0].dy));
}

static hr_status header(const uint8_t *bytes, size_t size, hr_image_info *info, hr_error *error)
{
    hr_jpeg2000 f;
    HR_TRY(hr_jpeg2000_read(bytes, size, &f, error));
    const hr_jpeg2000_siz *s = &f.siz;
    uint32_t dx = s->components[0].dx, dy = s->components[0].dy;
    info->width = (int32_t)(hr_jpeg2000_sample(s->x1, dx) - hr_jpeg2000_sample(s->x0, dx));
    info->height = (int32_t)(hr_jpeg2000_sample(s->y1, dy) - hr_jpeg2000_sample(s->y0, dy));
    /* as in DALI, the number of components counts, not the colours of a palette */
    info->channels = (int32_t)(f.palette ? s->count : f.count);
    info->bits = most_bits(&f) > 8 ? 16 : 8;
    info->luma = is_ycc(&f);
    info->orientation = 1;
    return HR_STATUS_OK;
}

static hr_status check_kind(const hr_jpeg2000 *f, hr_error *error)
{
    for (uint32_t i = 0; i < f->count && !f->palette; i++) {
        uint32_t bits = f->siz.components[f->channels[i]].bits;
        uint32_t first = f->siz.components[f->channels[0]].bits;
        if (bits > MOST_BITS)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "JPEG 2000: components of %u bits are not supported; 1 to 16 are", bits);
        if (is_ycc(f) && i < COLOURS && bits != first)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "JPEG 2000: YCbCr of %u and %u bits is not supported", first, bits);
    }
    if (f->palette && (f->siz.count != 1 || f->siz.components[0].bits > MOST_BITS))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG 2000: a palette for one of %u components is not supported",
                       f->siz.count);
    if (f->colours == HR_JPEG2000_COLOURS_UNSUPPORTED)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG 2000: colour space %u is not supported; grey, RGB and sYCC are",
                       f->colour_space);
    return HR_STATUS_OK;
}

static hr_status check_cost(const hr_jpeg2000_cost *cost, size_t size, hr_error *error)
{
    if (cost->packets > (double)size * PACKETS_PER_BYTE + PACKETS_SLACK)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "JPEG 2000: a file of %zu bytes cannot hold its %.0f packets", size,
                       cost->packets);
    if (cost->steps > (double)size * STEPS_PER_BYTE + STEPS_SLACK)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "JPEG 2000: packets in %.0f places are too many for a file of %zu bytes",
                       cost->steps, size);
    return hr_image_affordable((size_t)HR_MIN(cost->memory, (double)(SIZE_MAX / 4)), size, error);
}

static hr_status check(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       int64_t *pixels, hr_error *error)
{
    hr_jpeg2000 f;
    hr_jpeg2000_cost cost;
    (void)info;
    (void)pixels; /* empty packets hold any number of black ones */
    HR_TRY(hr_jpeg2000_read(bytes, size, &f, error));
    HR_TRY(check_kind(&f, error));
    HR_TRY(hr_jpeg2000_read_cost(f.stream, f.stream_size, &f.siz, &cost, error));
    return check_cost(&cost, size, error);
}

/* ---- pixels ---- */

typedef struct image {
    const hr_jpeg2000 *file;
    const hr_codec_request *request;
    const hr_jpeg2000_job *job;
    uint32_t bits;                           /* of a delivered element */
    uint16_t colours[MOST_ENTRIES][COLOURS]; /* of the palette */
    uint16_t greys[MOST_ENTRIES];
} image;

/* Position i of the window, in pixels of the image, as a sample of a plane: `begin` is the
 * image's first row or column on the reference grid, `step` the pixels' distance there, `own` the
 * component's, `first` and `n` the samples of the plane. */
static size_t sample_at(int64_t i, uint32_t begin, uint32_t step, uint32_t own, uint32_t first,
                        uint32_t n)
{
    int64_t at = (int64_t)(hr_jpeg2000_sample(begin, step) + (uint64_t)i) * step / own - first;
    return (size_t)HR_MIN(HR_MAX(at, 0), (int64_t)n - 1);
}

/* Values of the window's row y from component `i`, from 0 to the largest that its bits allow. */
static void load_row(const image *p, uint32_t i, int64_t y, int32_t *dst)
{
    const hr_jpeg2000_siz *s = &p->file->siz;
    const hr_jpeg2000_component *c = &s->components[i], *main = &s->components[0];
    const hr_jpeg2000_plane *plane = &p->job->planes[i];
    const hr_window *w = &p->request->window;
    int32_t offset = c->is_signed ? 1 << (c->bits - 1) : 0, top = (int32_t)((1u << c->bits) - 1);
    size_t row = sample_at(w->y + y, s->y0, main->dy, c->dy, plane->y0, plane->h);
    const int32_t *src = plane->data + row * plane->w;
    size_t n = (size_t)w->w;

    if (c->dx == main->dx) {
        size_t x = sample_at(w->x, s->x0, main->dx, c->dx, plane->x0, plane->w);
        n = HR_MIN(n, plane->w - x); /* all of them, unless OpenJPEG failed */
        memcpy(dst, src + x, n * sizeof *dst);
    } else {
        for (size_t x = 0; x < n; x++)
            dst[x] = src[sample_at(w->x + (int64_t)x, s->x0, main->dx, c->dx, plane->x0, plane->w)];
    }
    for (size_t x = 0; x < n; x++)
        dst[x] = HR_MIN(HR_MAX(dst[x], -offset), top - offset) + offset;
}

static void store(const image *p, uint8_t *dst, size_t i, int32_t v)
{
    if (p->bits == 16)
        ((uint16_t *)(void *)dst)[i] = (uint16_t)v;
    else
        dst[i] = (uint8_t)v;
}

/* One value per pixel, as channels first .. last of the row. */
static void put_channel(const image *p, uint8_t *dst, const int32_t *row, size_t first, size_t last)
{
    size_t n = (size_t)p->request->window.w, channels = (size_t)p->request->channels;
    for (size_t k = first; k <= last; k++)
        for (size_t x = 0; x < n; x++)
            store(p, dst, x * channels + k, row[x]);
}

static int32_t clamp(int32_t v, int32_t top)
{
    return v < 0 ? 0 : v > top ? top : v;
}

/* In place: luma and colour differences become red, green and blue. For components of one size, the
 * factors are those that DALI takes from OpenCV, made for YUV; otherwise the standard's. */
static void to_rgb(const image *p, int32_t *const rows[COLOURS])
{
    static const int32_t factors[2][4] = {{18678, -9519, -6472, 33292},
                                          {22970, -11700, -5638, 29032}};
    const int32_t *f = factors[is_subsampled(p->file)];
    uint32_t bits = p->file->siz.components[p->file->channels[0]].bits;
    int32_t top = (int32_t)(1u << bits) - 1, half = 1 << (bits - 1);
    size_t n = (size_t)p->request->window.w;
    for (size_t x = 0; x < n; x++) {
        int64_t y = rows[0][x], u = rows[1][x] - half, v = rows[2][x] - half;
        rows[0][x] = clamp((int32_t)(y + ((v * f[0] + (1 << 13)) >> 14)), top);
        rows[1][x] = clamp((int32_t)(y + ((v * f[1] + u * f[2] + (1 << 13)) >> 14)), top);
        rows[2][x] = clamp((int32_t)(y + ((u * f[3] + (1 << 13)) >> 14)), top);
    }
}

/* Levels fill the bits of an element. */
static void widen(const image *p, int32_t *row, uint32_t component)
{
    uint32_t bits = p->file->siz.components[component].bits;
    if (bits == p->bits)
        return;
    for (int64_t x = 0; x < p->request->window.w; x++)
        row[x] = (int32_t)hr_fill_bits((uint32_t)row[x], bits, p->bits);
}

static void put_palette(const image *p, uint8_t *dst, const int32_t *row)
{
    size_t n = (size_t)p->request->window.w, last = p->file->entries - 1;
    for (size_t x = 0; x < n; x++) {
        size_t entry = HR_MIN((size_t)row[x], last);
        if (p->request->channels == 1)
            store(p, dst, x, p->greys[entry]);
        for (size_t k = 0; k < COLOURS && p->request->channels == COLOURS; k++)
            store(p, dst, COLOURS * x + k, p->colours[entry][k]);
    }
}

/* `rows`: scratch for three rows. */
static void put_row(const image *p, int64_t y, int32_t *const rows[COLOURS])
{
    const hr_jpeg2000 *f = p->file;
    uint8_t *dst = (uint8_t *)p->request->dst + (size_t)y * p->request->stride;
    uint32_t channels = (uint32_t)p->request->channels, next = 0;
    bool colours = f->count >= COLOURS;
    if (f->palette) {
        load_row(p, f->index, y, rows[0]);
        put_palette(p, dst, rows[0]);
        return;
    }
    if (channels >= COLOURS && is_ycc(f)) {
        for (; next < COLOURS; next++)
            load_row(p, f->channels[next], y, rows[next]);
        to_rgb(p, rows);
        for (uint32_t k = 0; k < COLOURS; k++) {
            widen(p, rows[k], f->channels[k]);
            put_channel(p, dst, rows[k], k, k);
        }
    }
    for (; next < channels && next < f->count; next++) {
        bool repeat = channels == COLOURS && !colours;
        load_row(p, f->channels[next], y, rows[0]);
        widen(p, rows[0], f->channels[next]);
        put_channel(p, dst, rows[0], next, repeat ? COLOURS - 1 : next);
        if (repeat)
            return;
    }
}

/* With the weights that decode.c has for images without a palette. */
static void read_palette(image *p)
{
    const hr_jpeg2000 *f = p->file;
    for (uint32_t i = 0; i < f->entries; i++) {
        uint16_t *colour = p->colours[i];
        for (uint32_t k = 0; k < COLOURS; k++)
            colour[k] = (uint16_t)hr_fill_bits(
                hr_jpeg2000_colour(f, i, f->channels[f->count >= COLOURS ? k : 0]) &
                    ((1u << f->entry_bits) - 1),
                f->entry_bits, p->bits);
        p->greys[i] =
            (uint16_t)((9798u * colour[0] + 19235u * colour[1] + 3735u * colour[2] + (1u << 14)) >>
                       15);
    }
}

/* ---- decoding ---- */

/* The part of the reference grid that holds all samples for the window. */
static void choose_area(const hr_jpeg2000_siz *s, const hr_window *w, hr_jpeg2000_job *job)
{
    uint32_t dx = s->components[0].dx, dy = s->components[0].dy;
    uint64_t x0 = (hr_jpeg2000_sample(s->x0, dx) + (uint64_t)w->x) * dx;
    uint64_t y0 = (hr_jpeg2000_sample(s->y0, dy) + (uint64_t)w->y) * dy;
    uint64_t x1 = x0 + (uint64_t)(w->w - 1) * dx + 1, y1 = y0 + (uint64_t)(w->h - 1) * dy + 1;
    for (uint32_t i = 0; i < s->count; i++) {
        dx = HR_MAX(dx, s->components[i].dx);
        dy = HR_MAX(dy, s->components[i].dy);
    }
    job->x0 = (uint32_t)HR_MAX(x0 - HR_MIN(x0, dx - 1), s->x0);
    job->y0 = (uint32_t)HR_MAX(y0 - HR_MIN(y0, dy - 1), s->y0);
    /* a component may have no sample in a narrow window but one just behind it */
    job->x1 = (uint32_t)HR_MIN(x1 + dx - 1, s->x1);
    job->y1 = (uint32_t)HR_MIN(y1 + dy - 1, s->y1);
}

/* Extends the area to whole tiles. In a part of a tile that is not coded reversibly, OpenJPEG
 * rounds some samples in another way. */
static void choose_tiles(const hr_jpeg2000_siz *s, hr_jpeg2000_job *job)
{
    uint64_t w = s->tile_w, h = s->tile_h, left = s->tile_x0, top = s->tile_y0;
    job->x0 = (uint32_t)HR_MAX(left + (job->x0 - left) / w * w, s->x0);
    job->y0 = (uint32_t)HR_MAX(top + (job->y0 - top) / h * h, s->y0);
    job->x1 = (uint32_t)HR_MIN(left + ((job->x1 - left - 1) / w + 1) * w, s->x1);
    job->y1 = (uint32_t)HR_MIN(top + ((job->y1 - top - 1) / h + 1) * h, s->y1);
}

/* Chooses the area. `bytes`: what it takes to decode it, a tile and the area itself if it is put
 * together from tiles. */
static hr_status plan(const hr_jpeg2000 *f, const hr_window *w, size_t size, hr_jpeg2000_job *job,
                      size_t *bytes, hr_error *error)
{
    const hr_jpeg2000_siz *s = &f->siz;
    hr_jpeg2000_cost cost;
    HR_TRY(hr_jpeg2000_read_cost(f->stream, f->stream_size, s, &cost, error));
    HR_TRY(check_cost(&cost, size, error));
    choose_area(s, w, job);
    if (!cost.reversible)
        choose_tiles(s, job);
    job->whole = job->x0 == s->x0 && job->y0 == s->y0 && job->x1 == s->x1 && job->y1 == s->y1;
    if (hr_jpeg2000_tiles(s) > 1 || !job->whole)
        cost.memory += (double)(job->x1 - job->x0) * (job->y1 - job->y0) * s->count * 4;
    *bytes = (size_t)HR_MIN(cost.memory, (double)(SIZE_MAX / 4));
    return HR_STATUS_OK;
}

static hr_status put_rows(image *p, hr_arena *arena, hr_error *error)
{
    int32_t *rows[COLOURS];
    size_t n = (size_t)p->request->window.w;
    for (size_t k = 0; k < COLOURS; k++) {
        rows[k] = hr_arena_alloc(arena, n * sizeof *rows[k], error);
        HR_TRY_ALLOC(rows[k]);
        memset(rows[k], 0, n * sizeof *rows[k]);
    }
    if (p->file->palette)
        read_palette(p);
    for (int64_t y = 0; y < p->request->window.h; y++)
        put_row(p, y, rows);
    return HR_STATUS_OK;
}

static hr_status decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                        const hr_codec_request *request, hr_op_call *c, hr_error *error)
{
    const hr_jpeg2000_module_def *module;
    hr_jpeg2000 f;
    size_t memory;
    HR_TRY(hr_jpeg2000_open_module(&module, error));
    HR_TRY(hr_jpeg2000_read(bytes, size, &f, error));
    HR_TRY(check_kind(&f, error));
    hr_jpeg2000_job job = {.bytes = f.stream, .size = f.stream_size, .count = f.siz.count};
    HR_TRY(plan(&f, &request->window, size, &job, &memory, error));
    HR_TRY(hr_image_count(c->arena, memory, size, error));
    hr_status status;
    if (module->decode(&job)) {
        image p = {.file = &f, .request = request, .job = &job, .bits = (uint32_t)info->bits};
        status = put_rows(&p, c->arena, error);
        module->release(&job);
    } else {
        status = hr_fail(error, HR_STATUS_CORRUPT, "JPEG 2000: %s", job.message);
    }
    hr_arena_uncount(c->arena, memory);
    return status;
}

static hr_status stage(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       const hr_codec_request *request, hr_op_call *c, hr_staging *staging,
                       hr_arena *lasting, struct hr_coded *out, hr_error *error)
{
    hr_jpeg2000 f;
    (void)info;
    HR_TRY(hr_jpeg2000_read(bytes, size, &f, error));
    return hr_jpeg2000_device_prepare(&f, request, staging, c->arena, lasting, out, error);
}

static const char *version(void)
{
    const hr_jpeg2000_module_def *module;
    hr_error error;
    return hr_jpeg2000_open_module(&module, &error) == HR_STATUS_OK ? module->version()
                                                                    : "is not installed";
}

const hr_codec hr_codec_jpeg2000 = {
    .name = "jpeg2000",
    .library = "OpenJPEG",
    .version = version,
    .match = hr_jpeg2000_match,
    .header = header,
    .check = check,
    .decode = decode,
    .stage = stage,
};
