/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/jpeg/lossless.h"

#include "codecs/bytes.h"
#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/segment.h"

#include <string.h>

enum {
    COMPONENTS = 4,
    TABLES = 4,
    COUNTS = 16,     /* of codes of 1 to 16 bits, before the values of a table */
    CATEGORIES = 17, /* of differences, by their bits */
    COLOURS = 3,
    BLACK = 3,
    ADOBE_SIZE = 12
};

typedef enum colours { COLOURS_GREY, COLOURS_RGB, COLOURS_YCC, COLOURS_CMYK } colours;

/* Codes of a length are numbers that follow one another, as their values do. */
typedef struct table {
    const uint8_t *values;                                        /* NULL: not in the file */
    int32_t first[COUNTS + 1], count[COUNTS + 1], at[COUNTS + 1]; /* by length */
} table;

typedef struct component {
    uint8_t id;
    int32_t table;
    bool read;
    uint16_t *row, *above; /* while its scan is read */
} component;

typedef struct lossless {
    const uint8_t *bytes;
    size_t size, at;
    int32_t height, width, precision, count, restart; /* restart interval in samples; 0: none */
    component component[COMPONENTS];
    table tables[TABLES];
    bool jfif;
    int32_t adobe;    /* the transform, or -1 */
    uint16_t *window; /* samples of all components, interleaved */
    const hr_codec_request *request;
    hr_arena *arena;
    hr_error *error;
} lossless;

typedef struct scan {
    component *component[COMPONENTS];
    int32_t count, predictor, shift;
    uint64_t bits; /* the next `left` bits, in the lowest places */
    uint32_t left;
    uint32_t missing; /* zeros that were added to `bits` behind the end of the data */
} scan;

static hr_status fail(lossless *f, const char *what)
{
    return hr_fail(f->error, HR_STATUS_CORRUPT, "JPEG: lossless: %s", what);
}

/* ---- segments ---- */

static hr_status read_frame(lossless *f, const hr_jpeg_segment *s)
{
    f->precision = s->data[0];
    f->count = s->data[5];
    if (f->count > COMPONENTS || s->size < 6 + 3 * (size_t)f->count)
        return fail(f, "the frame header is too short");
    for (int32_t i = 0; i < f->count; i++) {
        const uint8_t *p = s->data + 6 + 3 * i;
        f->component[i].id = p[0];
        if (f->count > 1 && p[1] != 0x11)
            return fail(f, "subsampled components are not supported");
    }
    return HR_STATUS_OK;
}

static hr_status read_tables(lossless *f, const hr_jpeg_segment *s)
{
    const uint8_t *p = s->data, *end = p + s->size;
    while (end - p > COUNTS) {
        int32_t total = 0, code = 0;
        table t = {.values = p + 1 + COUNTS};
        for (int32_t length = 1; length <= COUNTS; length++) {
            t.first[length] = code;
            t.count[length] = p[length];
            t.at[length] = total;
            total += p[length];
            code = (code + p[length]) << 1;
            if (code > 2 << length)
                return fail(f, "a Huffman table is not valid");
        }
        if (total > end - t.values || p[0] >> 4 > 1 || (p[0] & 15) >= TABLES)
            return fail(f, "a Huffman table is not valid");
        for (int32_t i = 0; i < total && p[0] >> 4 == 0; i++)
            if (t.values[i] >= CATEGORIES)
                return fail(f, "a Huffman table is not valid");
        if (p[0] >> 4 == 0)
            f->tables[p[0] & 15] = t;
        p = t.values + total;
    }
    return HR_STATUS_OK;
}

static hr_status read_scan(lossless *f, const hr_jpeg_segment *s, scan *out)
{
    const uint8_t *p = s->data;
    *out = (scan){.count = s->size > 0 ? p[0] : 0};
    if (out->count < 1 || out->count > f->count || s->size < 4 + 2 * (size_t)out->count)
        return fail(f, "a scan header is not valid");
    for (int32_t i = 0; i < out->count; i++) {
        for (int32_t k = 0; k < f->count; k++)
            if (f->component[k].id == p[1 + 2 * i])
                out->component[i] = &f->component[k];
        component *c = out->component[i];
        if (!c || c->read)
            return fail(f, "a scan has a component twice, or none of the frame");
        c->read = true;
        c->table = p[2 + 2 * i] >> 4;
        if (c->table >= TABLES || !f->tables[c->table].values)
            return fail(f, "a scan needs a Huffman table that the file lacks");
    }
    p += 1 + 2 * out->count;
    out->predictor = p[0];
    out->shift = p[2] & 15;
    if (out->predictor < 1 || out->predictor > 7 || out->shift >= f->precision)
        return fail(f, "a predictor or point transform is not valid");
    if (f->restart % f->width != 0)
        return fail(f, "restart intervals that are not whole rows are not supported");
    return HR_STATUS_OK;
}

static hr_status read_segment(lossless *f, const hr_jpeg_segment *s)
{
    switch (s->marker) {
    case MARKER_DHT:
        return read_tables(f, s);
    case MARKER_DRI:
        f->restart = s->size >= 2 ? (int32_t)hr_get_be16(s->data) : 0;
        return HR_STATUS_OK;
    case MARKER_APP0:
        f->jfif |= s->size >= 5 && memcmp(s->data, "JFIF", 5) == 0;
        return HR_STATUS_OK;
    case MARKER_APP14:
        if (s->size >= ADOBE_SIZE && memcmp(s->data, "Adobe", 5) == 0)
            f->adobe = s->data[ADOBE_SIZE - 1];
        return HR_STATUS_OK;
    default:
        return HR_STATUS_OK;
    }
}

/* ---- entropy-coded data ---- */

/* At least 32 bits, of which those behind the segment are zeros. */
static void fill(lossless *f, scan *s)
{
    while (s->left <= 32) {
        uint8_t byte = 0;
        bool there = false;
        if (f->at < f->size) {
            bool stuffed = f->bytes[f->at] == 0xFF;
            there = !stuffed || (f->at + 1 < f->size && f->bytes[f->at + 1] == 0);
            byte = there ? f->bytes[f->at] : 0; /* else a marker */
            f->at += there ? 1 + stuffed : 0;
        }
        s->missing += there ? 0 : 8;
        s->bits = s->bits << 8 | byte;
        s->left += 8;
    }
}

static uint32_t take(scan *s, uint32_t n)
{
    s->left -= n;
    return (uint32_t)(s->bits >> s->left) & (uint32_t)((1u << n) - 1);
}

/* A difference, modulo 2^16; false for a code that the table lacks. */
static bool read_difference(lossless *f, scan *s, const table *t, uint16_t *difference)
{
    int32_t code = 0, length = 0, i;
    fill(f, s);
    do {
        if (++length > COUNTS)
            return false;
        code = code << 1 | (int32_t)take(s, 1);
        i = code - t->first[length];
    } while (i < 0 || i >= t->count[length]);
    uint32_t category = t->values[t->at[length] + i];
    *difference = (uint16_t)(category == 16 ? 32768 : 0);
    if (category == 0 || category == 16)
        return true;
    fill(f, s);
    uint32_t v = take(s, category);
    bool negative = !(v >> (category - 1));
    *difference = (uint16_t)(negative ? v + 1 - (1u << category) : v);
    return true;
}

static int32_t predict(int32_t predictor, int32_t left, int32_t above, int32_t corner)
{
    switch (predictor) {
    case 1:
        return left;
    case 2:
        return above;
    case 3:
        return corner;
    case 4:
        return left + above - corner;
    case 5:
        return left + ((above - corner) >> 1);
    case 6:
        return above + ((left - corner) >> 1);
    default:
        return (left + above) >> 1;
    }
}

/* One row of the scan. `first`: of the scan, or after a restart marker. */
static bool read_row(lossless *f, scan *s, bool first)
{
    for (int32_t x = 0; x < f->width; x++)
        for (int32_t i = 0; i < s->count; i++) {
            component *c = s->component[i];
            uint16_t difference;
            int32_t p;
            if (!read_difference(f, s, &f->tables[c->table], &difference))
                return false;
            if (x == 0)
                p = first ? 1 << (f->precision - s->shift - 1) : c->above[0];
            else if (first)
                p = c->row[x - 1];
            else
                p = predict(s->predictor, c->row[x - 1], c->above[x], c->above[x - 1]);
            c->row[x] = (uint16_t)(p + difference);
            if (c->row[x] >> (f->precision - s->shift) || s->missing > s->left)
                return false; /* more than the largest value, or than the data */
        }
    return true;
}

/* Moves behind a restart marker. */
static bool read_restart(lossless *f, scan *s)
{
    if (f->at + 1 >= f->size || f->bytes[f->at] != 0xFF || f->bytes[f->at + 1] < MARKER_RST0 ||
        f->bytes[f->at + 1] >= MARKER_SOI)
        return false;
    f->at += 2;
    s->bits = s->left = s->missing = 0;
    return true;
}

/* Keeps the part of a row that is in the window. */
static void keep_row(lossless *f, const scan *s, int64_t y)
{
    const hr_window *w = &f->request->window;
    if (y < w->y)
        return;
    uint16_t *dst = f->window + (size_t)(y - w->y) * (size_t)w->w * (size_t)f->count;
    for (int32_t i = 0; i < s->count; i++) {
        const component *c = s->component[i];
        uint16_t *to = dst + (c - f->component);
        for (int64_t x = 0; x < w->w; x++, to += f->count)
            *to = (uint16_t)(c->row[w->x + x] << s->shift);
    }
}

static hr_status read_rows(lossless *f, scan *s)
{
    int64_t end = f->request->window.y + f->request->window.h;
    int64_t every = f->restart / f->width;
    for (int64_t y = 0; y < end; y++) {
        bool restart = every > 0 && y > 0 && y % every == 0;
        if ((restart && !read_restart(f, s)) || !read_row(f, s, y == 0 || restart))
            return fail(f, "the entropy-coded data are damaged");
        keep_row(f, s, y);
        for (int32_t i = 0; i < s->count; i++) {
            component *c = s->component[i];
            uint16_t *row = c->row;
            c->row = c->above;
            c->above = row;
        }
    }
    f->at = hr_jpeg_segment_scan_end(f->bytes, f->size, f->at);
    return HR_STATUS_OK;
}

static hr_status make_rows(lossless *f)
{
    const hr_window *w = &f->request->window;
    size_t pixels, bytes;
    if (!hr_size_mul((size_t)w->h, (size_t)w->w, &pixels) ||
        !hr_size_mul(pixels, (size_t)f->count * sizeof *f->window, &bytes))
        return hr_fail_memory(f->error, SIZE_MAX);
    HR_TRY(hr_image_affordable(bytes, f->size, f->error));
    f->window = hr_arena_alloc(f->arena, bytes, f->error);
    uint16_t *rows =
        hr_arena_alloc(f->arena, 2 * (size_t)f->width * (size_t)f->count * sizeof *rows, f->error);
    HR_TRY_ALLOC(f->window && rows);
    for (int32_t i = 0; i < f->count; i++) {
        f->component[i].row = rows + 2 * (size_t)i * (size_t)f->width;
        f->component[i].above = f->component[i].row + f->width;
    }
    return HR_STATUS_OK;
}

static hr_status read_scans(lossless *f)
{
    int32_t frames = 0, read = 0;
    while (frames == 0 || read < f->count) {
        hr_jpeg_segment s = hr_jpeg_segment_next(f->bytes, f->size, &f->at);
        scan one;
        if (s.marker < 0 || s.marker == MARKER_EOI)
            return fail(f, "the file ends before its pixels do");
        if (hr_jpeg_segment_is_frame(s.marker)) {
            if (s.marker != MARKER_SOF3 || frames++ > 0 || s.size < 6)
                return fail(f, "the file has two frames");
            HR_TRY(read_frame(f, &s));
            HR_TRY(make_rows(f));
        } else if (s.marker == MARKER_SOS) {
            if (frames == 0)
                return fail(f, "a scan comes before the frame");
            HR_TRY(read_scan(f, &s, &one));
            HR_TRY(read_rows(f, &one));
            read += one.count;
        } else {
            HR_TRY(read_segment(f, &s));
        }
    }
    return HR_STATUS_OK;
}

/* ---- pixels ---- */

/* As libjpeg-turbo decides: without a marker, three lossless components are red, green, blue. */
static hr_status find_colours(lossless *f, colours *out)
{
    *out = f->count == 1 ? COLOURS_GREY : f->count == COLOURS ? COLOURS_RGB : COLOURS_CMYK;
    if (f->count == COLOURS && (f->jfif || f->adobe > 0))
        *out = COLOURS_YCC;
    if (f->count == COMPONENTS && f->adobe > 0)
        return fail(f, "YCCK is not supported");
    return HR_STATUS_OK;
}

static uint32_t clamp(int64_t v, uint32_t top)
{
    return v < 0 ? 0 : v > (int64_t)top ? top : (uint32_t)v;
}

/* Red, green and blue, or three times grey, as levels of `bits` bits. */
static void to_rgb(const lossless *f, colours kind, uint32_t bits, const uint16_t *in,
                   uint32_t rgb[COLOURS])
{
    uint32_t from = (uint32_t)f->precision, top = (1u << from) - 1, full = (1u << bits) - 1;
    if (kind == COLOURS_YCC) {
        int64_t half = 1 << 15, middle = (int64_t)1 << (from - 1);
        int64_t y = in[0], cb = in[1] - middle, cr = in[2] - middle;
        rgb[0] = clamp(y + ((91881 * cr + half) >> 16), top);
        rgb[1] = clamp(y + ((-22554 * cb - 46802 * cr + half) >> 16), top);
        rgb[2] = clamp(y + ((116130 * cb + half) >> 16), top);
    }
    for (size_t k = 0; k < COLOURS; k++) {
        uint32_t v = kind == COLOURS_YCC ? rgb[k] : in[kind == COLOURS_GREY ? 0 : k];
        rgb[k] = hr_fill_bits(v, from, bits);
    }
    if (kind == COLOURS_CMYK) {
        uint32_t flip = f->adobe >= 0 ? 0 : full,
                 black = hr_fill_bits(in[BLACK], from, bits) ^ flip;
        for (size_t k = 0; k < COLOURS; k++)
            rgb[k] = (uint32_t)((uint64_t)(rgb[k] ^ flip) * black / full);
    }
}

static void put_row(const lossless *f, colours kind, uint32_t bits, const uint16_t *in,
                    uint8_t *dst)
{
    const hr_codec_request *q = f->request;
    for (int64_t x = 0; x < q->window.w; x++, in += f->count) {
        uint32_t v[COLOURS];
        to_rgb(f, kind, bits, in, v);
        if (q->channels == 1)
            v[0] = kind == COLOURS_GREY || kind == COLOURS_YCC
                       ? hr_fill_bits(in[0], (uint32_t)f->precision, bits)
                       : (19595 * v[0] + 38470 * v[1] + 7471 * v[2] + (1u << 15)) >> 16;
        for (int32_t k = 0; k < q->channels; k++, dst += bits / 8) {
            uint16_t value = (uint16_t)v[k];
            memcpy(dst, &value, bits / 8);
        }
    }
}

hr_status hr_jpeg_lossless_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                                  const hr_codec_request *request, hr_arena *arena, hr_error *error)
{
    const hr_window *w = &request->window;
    lossless f = {.bytes = bytes,
                  .size = size,
                  .at = 2,
                  .height = info->height,
                  .width = info->width,
                  .adobe = -1,
                  .request = request,
                  .arena = arena,
                  .error = error};
    colours kind;
    HR_TRY(read_scans(&f));
    HR_TRY(find_colours(&f, &kind));
    for (int64_t y = 0; y < w->h; y++)
        put_row(&f, kind, (uint32_t)info->bits,
                f.window + (size_t)y * (size_t)w->w * (size_t)f.count,
                (uint8_t *)request->dst + (size_t)y * request->stride);
    return HR_STATUS_OK;
}
