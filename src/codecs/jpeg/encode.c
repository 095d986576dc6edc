/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* One row of MCUs after the other becomes samples, coefficients, and a piece of the scan. Huffman
 * tables for the image need all coefficients first. */
#include "codecs/jpeg/encode.h"

#include "codecs/jpeg/codes.h"
#include "codecs/jpeg/quality.h"

#include <string.h>

enum { COMPONENTS = 3 };

/* A component in a row of MCUs. */
typedef struct plane {
    uint8_t *rows; /* samples, with HR_JPEG_ROW_PAD around every row */
    size_t stride;
    int32_t h, v;           /* blocks of an MCU */
    int32_t width;          /* samples of the image */
    int32_t blocks, across; /* in a row: of the image, and to the end of the last MCU */
    int32_t down;           /* rows of blocks in the image */
    size_t first;           /* block, of those of the row of MCUs */
    const hr_jpeg_quantiser *quantiser;
} plane;

typedef struct encoder {
    const hr_kernels *kernels;
    const hr_jpeg_pixels *image;
    const hr_jpeg_encoding *how;
    hr_jpeg_header header;
    int32_t mcus, rows; /* across, down */
    plane plane[COMPONENTS];
    uint8_t *full[2][2]; /* two rows of Cb and two of Cr, before they are halved */
    int16_t *coef;       /* of a row of MCUs, or of all */
    size_t row_blocks;
    uint8_t *raw; /* the bytes of a row of MCUs */
    hr_jpeg_sink sink;
    hr_jpeg_quantiser quantiser[2];
    hr_jpeg_codes codes[2][2]; /* luma and chroma; DC and AC */
    uint64_t count[2][2][256];
    uint8_t best[2][2][HR_JPEG_DEFINITION_BYTES];
    hr_jpeg_forest forest;
} encoder;

/* ---- opening ---- */

hr_status hr_jpeg_header_make(hr_jpeg_header *head, const hr_jpeg_pixels *image,
                              const hr_jpeg_encoding *how, hr_error *error)
{
    bool grey = image->components == 1;
    *head = (hr_jpeg_header){.height = image->height,
                             .width = image->width,
                             .components = image->components,
                             .h = grey ? 1 : how->h,
                             .v = grey ? 1 : how->v};
    for (int i = 0; i < 2; i++)
        hr_jpeg_quality_table(head->tables[i].quant, i, how->quality);
    int64_t interval = (int64_t)how->restart_rows * HR_DIVIDE_UP(head->width, 8 * head->h);
    if (interval > UINT16_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%d rows of blocks between restart markers are %lld blocks (MCUs) of an "
                       "image that is %d pixels wide; the file format has at most 65535",
                       how->restart_rows, (long long)interval, head->width);
    head->restart = (int32_t)interval;
    return HR_STATUS_OK;
}

static hr_status plane_make(encoder *e, int32_t i, hr_arena *arena, hr_error *error)
{
    plane *p = &e->plane[i];
    const hr_jpeg_header *head = &e->header;
    int32_t less_h = i > 0 ? head->h : 1, less_v = i > 0 ? head->v : 1;

    p->h = i > 0 ? 1 : head->h;
    p->v = i > 0 ? 1 : head->v;
    p->width = HR_DIVIDE_UP(head->width, less_h);
    p->blocks = HR_DIVIDE_UP(p->width, 8);
    p->across = e->mcus * p->h;
    p->down = HR_DIVIDE_UP(HR_DIVIDE_UP(head->height, less_v), 8);
    p->first = e->row_blocks;
    p->quantiser = &e->quantiser[i > 0];
    e->row_blocks += (size_t)p->across * (size_t)p->v;
    p->stride = 8 * (size_t)p->across + (size_t)2 * HR_JPEG_ROW_PAD;
    p->rows = hr_arena_alloc(arena, p->stride * 8 * (size_t)p->v, error);
    HR_TRY_ALLOC(p->rows);
    p->rows += HR_JPEG_ROW_PAD;
    return HR_STATUS_OK;
}

static hr_status memory_make(encoder *e, hr_arena *arena, hr_error *error)
{
    const size_t kept = e->how->optimize ? (size_t)e->rows : 1;
    size_t blocks, bytes;

    for (int i = 0; i < 4 && e->header.h > 1; i++) {
        uint8_t *row = hr_arena_alloc(arena, 2 * e->plane[1].stride, error);
        HR_TRY_ALLOC(row);
        e->full[i / 2][i % 2] = row + HR_JPEG_ROW_PAD;
    }
    if (!hr_size_mul(e->row_blocks, kept, &blocks) ||
        !hr_size_mul(blocks + HR_JPEG_WIDE, 64 * sizeof(*e->coef), &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    e->coef = hr_arena_alloc(arena, bytes, error);
    e->raw = hr_arena_alloc(arena, e->row_blocks * HR_JPEG_BLOCK_BYTES + HR_JPEG_SINK_PAD, error);
    return e->coef && e->raw ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static hr_status encoder_make(encoder *e, hr_arena *arena, hr_error *error)
{
    hr_jpeg_header *head = &e->header;

    HR_TRY(hr_jpeg_header_make(head, e->image, e->how, error));
    e->mcus = HR_DIVIDE_UP(head->width, 8 * head->h);
    e->rows = HR_DIVIDE_UP(head->height, 8 * head->v);
    for (int i = 0; i < 2; i++)
        hr_jpeg_quantiser_make(&e->quantiser[i], head->tables[i].quant);
    for (int32_t i = 0; i < head->components; i++)
        HR_TRY(plane_make(e, i, arena, error));
    return memory_make(e, arena, error);
}

/* ---- samples ---- */

static uint8_t *plane_row(const plane *p, int32_t y)
{
    return p->rows + (size_t)y * p->stride;
}

/* Repeats the last of n samples. */
static void pad_row(uint8_t *row, int32_t n, int32_t to)
{
    memset(row + n, row[n - 1], (size_t)(to - n));
}

/* Row y of a row of MCUs. */
static void split_row(encoder *e, const uint8_t *src, int32_t y)
{
    const int32_t width = e->header.width;
    plane *p = e->plane;
    uint8_t *luma = plane_row(&p[0], y);
    bool whole = e->header.h == 1;
    uint8_t *chroma[2];

    if (e->header.components == 1) {
        memcpy(luma, src, (size_t)width);
        pad_row(luma, width, 8 * p[0].blocks);
        return;
    }
    for (int i = 0; i < 2; i++)
        chroma[i] = whole ? plane_row(&p[1 + i], y) : e->full[i][y & 1];
    e->kernels->jpeg_rgb_ycc(luma, chroma[0], chroma[1], src, (size_t)width);
    pad_row(luma, width, 8 * p[0].blocks);
    for (int i = 0; i < 2; i++)
        pad_row(chroma[i], width, 8 * p[1].blocks * e->header.h);
}

/* Chroma of row y, or, at half the height, of this row and the one above it; of the last row alone
 * if the height is odd. */
static void halve_row(encoder *e, int32_t y, bool last)
{
    const size_t n = 8 * (size_t)e->plane[1].blocks;
    for (int i = 0; i < 2; i++) {
        uint8_t *const *full = e->full[i];
        uint8_t *dst = plane_row(&e->plane[1 + i], y / e->header.v);
        if (e->header.v == 1)
            e->kernels->jpeg_half_across(dst, full[y & 1], n);
        else if (y & 1 || last)
            e->kernels->jpeg_half(dst, full[0], full[y & 1], n);
    }
}

/* The samples of a row of MCUs, to the end of the last blocks. */
static void split_rows(encoder *e, int32_t r)
{
    const hr_jpeg_header *head = &e->header;
    const size_t pitch = (size_t)head->width * (size_t)head->components;
    const int32_t top = 8 * head->v * r, n = HR_MIN(8 * head->v, head->height - top);

    for (int32_t y = 0; y < n; y++) {
        split_row(e, e->image->pixels + (size_t)(top + y) * pitch, y);
        if (head->h > 1)
            halve_row(e, y, y == n - 1);
    }
    for (int32_t i = 0; i < head->components; i++) {
        plane *p = &e->plane[i];
        for (int32_t y = i > 0 ? HR_DIVIDE_UP(n, head->v) : n; y & 7; y++)
            memcpy(plane_row(p, y), plane_row(p, y - 1), 8 * (size_t)p->blocks);
    }
}

/* ---- coefficients ---- */

static int16_t *row_coefs(const encoder *e, int32_t r)
{
    return e->coef + (e->how->optimize ? (size_t)r * e->row_blocks * 64 : 0);
}

/* MCUs may exceed the image. Their blocks there cost the fewest bits if their DC is that of the
 * block before. */
static void fill_block(int16_t *block, const int16_t *before)
{
    memset(block, 0, 64 * sizeof(*block));
    block[0] = before[0];
}

/* The blocks of a component in a row of MCUs. They are written from the first to the last, as the
 * kernel may write beyond those of the image. */
static void transform_plane(const encoder *e, const plane *p, int32_t r)
{
    int16_t *row = row_coefs(e, r) + 64 * p->first;
    for (int32_t y = 0; y < p->v; y++, row += 64 * (size_t)p->across) {
        int32_t x = 0;
        if (r * p->v + y < p->down) {
            e->kernels->jpeg_fdct_row(row, plane_row(p, 8 * y), p->stride, p->quantiser,
                                      (size_t)p->blocks);
            for (x = p->blocks; x < p->across; x++)
                fill_block(row + 64 * (size_t)x, row + 64 * (size_t)(x - 1));
            continue;
        }
        const int16_t *above = row - 64 * (size_t)p->across;
        for (; x < p->across; x++) /* before: the last one of the MCU in the row above */
            fill_block(row + 64 * (size_t)x, above + 64 * (size_t)(x - x % p->h + p->h - 1));
    }
}

static void transform(encoder *e, int32_t r)
{
    split_rows(e, r);
    for (int32_t i = 0; i < e->header.components; i++)
        transform_plane(e, &e->plane[i], r);
}

/* ---- the scan ---- */

/* Points the sink to the blocks of a row of MCUs. */
static void sink_bind(encoder *e, int32_t r)
{
    hr_jpeg_sink *s = &e->sink;
    s->blocks = 0;
    for (int32_t i = 0; i < e->header.components; i++) {
        const plane *p = &e->plane[i];
        const int16_t *coef = row_coefs(e, r) + 64 * p->first;
        for (int32_t k = 0; k < p->h * p->v; k++) {
            size_t at = (size_t)(k / p->h) * (size_t)p->across + (size_t)(k % p->h);
            s->block[s->blocks++] = (hr_jpeg_coded){.dc = &e->codes[i > 0][0],
                                                    .ac = &e->codes[i > 0][1],
                                                    .dc_count = e->count[i > 0][0],
                                                    .ac_count = e->count[i > 0][1],
                                                    .component = i,
                                                    .coef = coef + 64 * at,
                                                    .step = 64 * (size_t)p->h};
        }
    }
    if (e->how->restart_rows > 0 && r % e->how->restart_rows == 0)
        memset(s->predicted, 0, sizeof s->predicted);
}

/* The last byte of a scan, or before a marker, ends with ones. */
static void sink_end(hr_jpeg_sink *s)
{
    uint32_t left = 8 - s->count;
    if (s->count > 0)
        *s->next++ = (uint8_t)(s->window << left | ((1u << left) - 1));
    s->count = 0;
}

static size_t stuffed_size(const uint8_t *bytes, size_t size)
{
    size_t more = 0;
    for (size_t i = 0, n; i < size; i += n) {
        uint8_t found = 0; /* of a byte, which vectors count fast */
        n = HR_MIN(size - i, 192);
        for (size_t k = 0; k < n; k++)
            found = (uint8_t)(found + (bytes[i + k] == 0xFF));
        more += found;
    }
    return size + more;
}

static hr_status put_row(encoder *e, int32_t r, hr_jpeg_encoded *out, hr_arena *arena,
                         hr_error *error)
{
    const int32_t next = r + 1, every = e->how->restart_rows;
    bool marker = every > 0 && next % every == 0;

    sink_bind(e, r);
    e->sink.next = e->raw;
    e->kernels->jpeg_put(&e->sink, e->mcus);
    if (marker || next == e->rows)
        sink_end(&e->sink);
    size_t size = (size_t)(e->sink.next - e->raw);
    uint8_t *bytes = hr_arena_alloc(arena, size, error);
    HR_TRY_ALLOC(bytes);
    memcpy(bytes, e->raw, size);
    out->row[r] = (hr_jpeg_piece){bytes, size};
    out->size += stuffed_size(bytes, size) + (marker && next < e->rows ? 2 : 0);
    return HR_STATUS_OK;
}

/* Counts the symbols of all coefficients for the best tables, or takes the usual tables. */
static void tables_make(encoder *e)
{
    bool best = e->how->optimize;
    for (int32_t r = 0; best && r < e->rows; r++) {
        transform(e, r);
        sink_bind(e, r);
        e->kernels->jpeg_count(&e->sink, e->mcus);
    }
    memset(e->sink.predicted, 0, sizeof e->sink.predicted);
    for (int i = 0; i < (e->header.components > 1 ? 2 : 1); i++)
        for (int ac = 0; ac < 2; ac++) {
            if (best)
                hr_jpeg_best_codes(e->best[i][ac], e->count[i][ac], &e->forest);
            const uint8_t *definition = best ? e->best[i][ac] : hr_jpeg_usual_codes(i, ac);
            e->header.tables[i].huffman[ac] = definition;
            hr_jpeg_codes_build(&e->codes[i][ac], definition);
        }
}

static hr_status encode(encoder *e, hr_jpeg_encoded *out, hr_arena *arena, hr_error *error)
{
    tables_make(e);
    out->header_size = hr_jpeg_header_write(out->header, &e->header);
    out->size = out->header_size + 2;
    for (int32_t r = 0; r < e->rows; r++) {
        if (!e->how->optimize)
            transform(e, r);
        HR_TRY(put_row(e, r, out, arena, error));
    }
    return HR_STATUS_OK;
}

hr_status hr_jpeg_encode(const hr_jpeg_pixels *image, const hr_jpeg_encoding *how,
                         const hr_kernels *kernels, hr_arena *arena, hr_jpeg_encoded **out,
                         hr_error *error)
{
    encoder *e = hr_arena_alloc(arena, sizeof(*e), error);
    hr_jpeg_encoded *f = hr_arena_alloc(arena, sizeof(*f), error);

    HR_TRY_ALLOC(e && f);
    *e = (encoder){.kernels = kernels, .image = image, .how = how};
    HR_TRY(encoder_make(e, arena, error));
    f->rows = e->rows;
    f->restart_rows = how->restart_rows;
    f->row = hr_arena_alloc(arena, (size_t)e->rows * sizeof(*f->row), error);
    HR_TRY_ALLOC(f->row);
    *out = f;
    return encode(e, f, arena, error);
}

/* ---- the file ---- */

static uint8_t *put_marker(uint8_t *to, int marker)
{
    *to++ = 0xFF;
    *to++ = (uint8_t)marker;
    return to;
}

/* A zero follows every 255 of the scan, so that it is no marker. */
static uint8_t *put_stuffed(uint8_t *to, const uint8_t *bytes, size_t size)
{
    const uint8_t *end = bytes + size;
    while (bytes < end) {
        const uint8_t *found = memchr(bytes, 0xFF, (size_t)(end - bytes));
        size_t n = (size_t)((found ? found + 1 : end) - bytes);
        memcpy(to, bytes, n);
        to += n;
        bytes += n;
        if (found)
            *to++ = 0;
    }
    return to;
}

void hr_jpeg_encoded_write(uint8_t *dst, const hr_jpeg_encoded *f)
{
    uint8_t *to = dst + f->header_size;
    memcpy(dst, f->header, f->header_size);
    for (int32_t r = 0; r < f->rows; r++) {
        if (r > 0 && f->restart_rows > 0 && r % f->restart_rows == 0)
            to = put_marker(to, MARKER_RST0 + (r / f->restart_rows - 1) % 8);
        to = put_stuffed(to, f->row[r].bytes, f->row[r].size);
    }
    put_marker(to, MARKER_EOI);
}
