/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Decodes a window of a JPEG file, one MCU row at a time. Symbols outside the window are only
 * skipped. Samples are kept in a ring of one or two MCU rows; rows of pixels are written as soon as
 * the chroma they need is available. */
#include "codecs/jpeg/decoder.h"

#include "codecs/jpeg/input.h"
#include "codecs/jpeg/markers.h"
#include "codecs/jpeg/progressive.h"

#include <string.h>

/* The samples of one component around the window. */
typedef struct plane {
    uint8_t *rows; /* ring of `ring` rows, a power of two */
    size_t stride;
    int32_t ring, h, v;    /* h, v: blocks in an MCU */
    int32_t left;          /* column of a row's first sample */
    int32_t width, height; /* of the whole component */
} plane;

struct hr_jpeg_reader {
    hr_jpeg_markers m;
    hr_jpeg_input input;
    hr_jpeg_scan scan;
    const hr_kernels *kernels;
    int32_t channels;       /* wanted */
    int32_t h, v;           /* sampling of luma against chroma */
    int32_t across, down;   /* MCUs of the image */
    int32_t left, right;    /* MCU columns wanted */
    int32_t top, bottom;    /* MCU rows wanted */
    int32_t planes;         /* components wanted */
    int32_t x0, x1, y0, y1; /* the window */
    plane plane[HR_JPEG_COMPONENTS];
    uint8_t *chroma[2];               /* upsampled rows */
    int16_t (*quant)[64];             /* of each component */
    hr_jpeg_progressive *progressive; /* NULL: the file is sequential */
    int32_t row;                      /* next MCU row */
    int32_t y, ready; /* next row of pixels, and the first one that is not available yet */
};

typedef hr_jpeg_reader decoder;

/* ---- geometry ---- */

/* Computes the MCUs that the window needs. */
static void choose_mcus(decoder *d, const hr_window *w)
{
    d->h = d->m.component[0].h;
    d->v = d->m.component[0].v;
    d->x0 = (int32_t)w->x;
    d->x1 = (int32_t)(w->x + w->w);
    d->y0 = (int32_t)w->y;
    d->y1 = (int32_t)(w->y + w->h);
    hr_jpeg_area a = hr_jpeg_area_of(&d->m, d->planes, d->y0, d->x0, d->y1, d->x1);
    d->across = a.across;
    d->down = a.down;
    d->left = a.left;
    d->right = a.right;
    d->top = a.top;
    d->bottom = a.bottom;
}

static hr_status make_planes(decoder *d, hr_arena *arena, hr_error *error)
{
    size_t widest = 0;
    for (int32_t i = 0; i < d->planes; i++) {
        plane *p = &d->plane[i];
        p->h = d->m.component[i].h;
        p->v = d->m.component[i].v;
        p->left = d->left * 8 * p->h;
        p->width = HR_DIVIDE_UP(d->m.width * p->h, d->h);
        p->height = HR_DIVIDE_UP(d->m.height * p->v, d->v);
        p->ring = 8 * p->v * (d->v == 2 ? 2 : 1);
        size_t samples = (size_t)(d->right - d->left) * 8 * (size_t)p->h;
        widest = HR_MAX(widest, samples);
        p->stride = ((samples + 63) & ~(size_t)63) + (size_t)2 * HR_JPEG_ROW_PAD;
        p->rows = hr_arena_alloc(arena, p->stride * (size_t)p->ring, error);
        HR_TRY_ALLOC(p->rows);
        p->rows += HR_JPEG_ROW_PAD;
    }
    for (int i = 0; i < 2 && d->planes > 1; i++) {
        d->chroma[i] = hr_arena_alloc(arena, widest + 2 * HR_JPEG_ROW_PAD, error);
        HR_TRY_ALLOC(d->chroma[i]);
    }
    return HR_STATUS_OK;
}

static uint8_t *plane_row(const plane *p, int32_t y)
{
    return p->rows + (size_t)(y & (p->ring - 1)) * p->stride;
}

/* ---- tables ---- */

static hr_status make_quant(decoder *d, hr_arena *arena, hr_error *error)
{
    d->quant = hr_arena_alloc(arena, (size_t)d->m.components * sizeof *d->quant, error);
    HR_TRY_ALLOC(d->quant);
    for (int32_t i = 0; i < d->m.components; i++) {
        int32_t q = d->m.component[i].quant;
        hr_jpeg_quant_build(d->quant[i], d->m.quant[q], d->m.wide[q]);
    }
    return HR_STATUS_OK;
}

static hr_status make_tables(decoder *d, hr_arena *arena, bool *good, hr_error *error)
{
    hr_jpeg_huffman *built[2][HR_JPEG_TABLES] = {{NULL}};
    *good = true;
    int32_t n = 0;
    for (int32_t i = 0; i < d->m.components && *good; i++) {
        const hr_jpeg_component *c = &d->m.component[i];
        const int number[2] = {c->dc, c->ac};
        for (int ac = 0; ac < 2 && *good; ac++) {
            hr_jpeg_huffman **t = &built[ac][number[ac]];
            if (*t)
                continue;
            *t = hr_arena_alloc(arena, sizeof **t, error);
            HR_TRY_ALLOC(*t);
            *good = hr_jpeg_huffman_build(*t, d->m.huffman[ac][number[ac]], ac != 0);
        }
        for (int32_t k = 0; k < c->h * c->v; k++)
            d->scan.block[n++] = (hr_jpeg_block){
                .dc = built[0][c->dc], .ac = built[1][c->ac], .quant = d->quant[i], .component = i};
    }
    d->scan.blocks = n;
    return HR_STATUS_OK;
}

/* ---- rows of pixels ---- */

/* Repeats the outermost samples beyond the edges of the component. */
static void extend_row(const plane *p, uint8_t *row)
{
    if (p->left == 0)
        row[-1] = row[0];
    int32_t end = p->width - p->left;
    if ((size_t)end < p->stride - HR_JPEG_ROW_PAD)
        row[end] = row[end - 1];
}

/* A row of upsampled chroma, as wide as the window. */
static const uint8_t *chroma_row(decoder *d, int32_t i, int32_t y)
{
    const plane *p = &d->plane[i];
    const hr_kernels *k = d->kernels;
    uint8_t *dst = d->chroma[i - 1];
    int32_t first = d->x0 / d->h, at = y / d->v, odd = y & 1;
    size_t n = (size_t)((d->x1 - 1) / d->h + 1 - first);
    uint8_t *near = plane_row(p, at), *far = near;
    if (d->h == 2)
        extend_row(p, near);
    if (d->v == 2) {
        far = plane_row(p, odd ? HR_MIN(at + 1, p->height - 1) : HR_MAX(at - 1, 0));
        if (d->h == 2)
            extend_row(p, far);
    }
    near += first - p->left;
    far += first - p->left;
    if (d->h == 1 && d->v == 1)
        return near;
    if (d->v == 2 && d->h == 2)
        k->jpeg_h2v2(dst, near, far, n);
    else if (d->v == 2)
        k->jpeg_h1v2(dst, near, far, n, odd);
    else if (d->h == 2)
        k->jpeg_h2v1(dst, near, n);
    else
        k->jpeg_h4v1(dst, near, n);
    return dst + (d->x0 - first * d->h);
}

static void write_row(decoder *d, int32_t y, uint8_t *dst)
{
    const hr_kernels *k = d->kernels;
    size_t n = (size_t)(d->x1 - d->x0);
    const uint8_t *luma = plane_row(&d->plane[0], y) + (d->x0 - d->plane[0].left);
    if (d->channels == 1) {
        memcpy(dst, luma, n);
    } else if (d->m.color == HR_JPEG_COLOR_GREY) {
        k->jpeg_interleave(dst, luma, luma, luma, n);
    } else {
        const uint8_t *b = chroma_row(d, 1, y), *c = chroma_row(d, 2, y);
        if (d->m.color == HR_JPEG_COLOR_YCC)
            k->jpeg_ycc_rgb(dst, luma, b, c, n);
        else
            k->jpeg_interleave(dst, luma, b, c, n);
    }
}

/* ---- the scan ---- */

/* DC predictions beyond this range are damage, and libjpeg-turbo fails if they overflow 32 bits.
 * Checked once per row of MCUs, within which they cannot overflow. */
static bool dc_sane(const hr_jpeg_scan *scan)
{
    const int32_t most = 1 << 28;
    for (int32_t i = 0; i < HR_JPEG_COMPONENTS; i++)
        if (scan->predicted[i] > most || scan->predicted[i] < -most)
            return false;
    return true;
}

static bool run_mcus(decoder *d, int32_t mcus, bool wanted)
{
    while (mcus > 0) {
        int32_t n = hr_jpeg_input_run(&d->input, &d->scan, HR_MIN(mcus, d->across));
        if (n == 0 || !dc_sane(&d->scan))
            return false;
        if (!(wanted ? d->kernels->jpeg_mcus : d->kernels->jpeg_skip)(&d->scan, n))
            return false;
        hr_jpeg_input_note(&d->input, &d->scan);
        mcus -= n;
    }
    return true;
}

/* Points at the samples of the first wanted MCU of a row. */
static void aim_blocks(decoder *d, int32_t row)
{
    hr_jpeg_block *block = d->scan.block;
    for (int32_t i = 0; i < d->m.components; i++) {
        int32_t h = d->m.component[i].h, v = d->m.component[i].v;
        for (int32_t k = 0; k < h * v; k++, block++) {
            const plane *p = &d->plane[i];
            block->dst = NULL;
            if (i >= d->planes)
                continue;
            block->dst = plane_row(p, 8 * (row * v + k / h)) + (size_t)(k % h) * 8;
            block->step = (size_t)h * 8;
            block->stride = p->stride;
        }
    }
}

/* Transforms the wanted blocks of row `down` of blocks in an MCU row of a progressive file. */
static void transform_blocks(const decoder *d, int32_t i, int32_t row, int32_t down)
{
    const plane *p = &d->plane[i];
    const hr_jpeg_component_coefs *c = hr_jpeg_progressive_coefs(d->progressive, i);
    hr_jpeg_coefs two[2];
    int32_t count = 0, left = d->left * p->h, right = d->right * p->h;
    for (int32_t x = left; x < right; x++) {
        size_t at = (size_t)down * (size_t)c->across + (size_t)x;
        int32_t last = c->mask[at] ? 63 : 0;
        uint8_t *dst = plane_row(p, 8 * (row * p->v + down)) + (size_t)(x - left) * 8;
        two[count++] = (hr_jpeg_coefs){dst, p->stride, c->coef + 64 * at, d->quant[i], last};
        if (count == 2) {
            d->kernels->jpeg_idct_two(two);
            count = 0;
        }
    }
    if (count == 1)
        d->kernels->jpeg_idct(two);
}

/* Decodes the wanted MCUs of a row into the planes. */
static bool decode_mcus(decoder *d, int32_t row)
{
    if (d->progressive) {
        if (!hr_jpeg_progressive_read(d->progressive, row))
            return false;
        for (int32_t i = 0; i < d->planes; i++)
            for (int32_t k = 0; k < d->plane[i].v; k++)
                transform_blocks(d, i, row, k);
        return true;
    }
    int32_t first = row * d->across + d->left, n = d->right - d->left;
    int32_t skipped = hr_jpeg_input_seek(&d->input, &d->scan, first, first + n);
    aim_blocks(d, row);
    return run_mcus(d, skipped, false) && run_mcus(d, n, true);
}

static bool decode_row(decoder *d)
{
    if (!decode_mcus(d, d->row++))
        return false;
    /* the last row of pixels needs the chroma below it */
    bool last = d->row == d->bottom;
    d->ready = HR_MIN(d->row * 8 * d->v - (d->v == 2 && !last), d->y1);
    return true;
}

/* Grey output needs a luma plane, which RGB files do not have. */
static bool is_ours(decoder *d, const uint8_t *bytes, size_t size, const hr_image_info *info)
{
    if (!hr_jpeg_markers_read(&d->m, bytes, size) && !hr_jpeg_passes_open(&d->m, bytes, size))
        return false;
    if (d->m.width != info->width || d->m.height != info->height)
        return false;
    return d->channels != 1 || d->m.color != HR_JPEG_COLOR_RGB;
}

/* Builds the tables and opens the scan. */
static hr_status open_scan(decoder *d, const uint8_t *bytes, size_t size, hr_jpeg_index *index,
                           hr_arena *arena, hr_error *error)
{
    bool good;
    HR_TRY(make_tables(d, arena, &good, error));
    if (!good)
        return HR_STATUS_NOT_FUSABLE;
    if (index)
        hr_jpeg_index_check(index, size - d->m.scan, d->across * d->down);
    return hr_jpeg_input_open(&d->input, &d->scan, bytes + d->m.scan, size - d->m.scan,
                              d->m.restart, index, arena, error);
}

hr_status hr_jpeg_open(const uint8_t *bytes, size_t size, const hr_image_info *info,
                       const hr_codec_request *request, hr_jpeg_index *index, hr_op_call *c,
                       hr_jpeg_reader **out, hr_error *error)
{
    decoder *d = hr_arena_alloc(c->arena, sizeof *d, error);
    HR_TRY_ALLOC(d);
    memset(d, 0, sizeof *d);
    d->channels = request->channels;
    d->kernels = c->kernels ? c->kernels : hr_kernels_get(HR_CPU_LEVEL_AUTO);
    if (!is_ours(d, bytes, size, info))
        return HR_STATUS_NOT_FUSABLE;
    d->planes = d->channels == 1 ? 1 : d->m.components;
    choose_mcus(d, &request->window);
    d->row = d->top;
    d->y = d->ready = d->y0;
    HR_TRY(make_quant(d, c->arena, error));
    HR_TRY(make_planes(d, c->arena, error));
    if (d->m.progressive)
        HR_TRY(hr_jpeg_progressive_open(&d->progressive, &d->m, bytes, size, d->kernels, c->arena,
                                        error));
    else
        HR_TRY(open_scan(d, bytes, size, index, c->arena, error));
    *out = d;
    return HR_STATUS_OK;
}

hr_status hr_jpeg_read(hr_jpeg_reader *d, void *dst, size_t stride, int32_t rows, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < rows; i++) {
        while (d->y >= d->ready)
            if (d->row >= d->bottom || !decode_row(d))
                return HR_STATUS_NOT_FUSABLE;
        write_row(d, d->y++, (uint8_t *)dst + (size_t)i * stride);
    }
    bool whole = d->y < d->y1 || d->progressive || hr_jpeg_input_whole(&d->input, &d->scan);
    return whole ? HR_STATUS_OK : HR_STATUS_NOT_FUSABLE;
}

hr_status hr_jpeg_decode(const uint8_t *bytes, size_t size, const hr_image_info *info,
                         const hr_codec_request *request, hr_jpeg_index *index, hr_op_call *c,
                         hr_error *error)
{
    hr_jpeg_reader *reader;
    HR_TRY(hr_jpeg_open(bytes, size, info, request, index, c, &reader, error));
    return hr_jpeg_read(reader, request->dst, request->stride, (int32_t)request->window.h, error);
}
