/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* jpeg_compression_distortion: what is left of an image that was saved as JPEG. Coding the
 * coefficients loses nothing, so it is left out; everything else is as in libjpeg. */
#include "ops/image/jpeg_distortion.h"

#include "codecs/jpeg/markers.h"
#include "codecs/jpeg/quality.h"
#include "core/core.h"
#include "kernels/jpeg.h"
#include "kernels/kernels.h"

#include <string.h>

/* The samples of a component: whole blocks, with HR_JPEG_ROW_PAD bytes around every row. */
typedef struct plane {
    uint8_t *rows;
    size_t stride;
    size_t width, height; /* samples of the image; the rest repeats the last of them */
    hr_jpeg_quantiser quantiser;
    _Alignas(64) int16_t quant[64]; /* in the order of HR_JPEG_POSITION */
} plane;

typedef struct frame {
    const hr_kernels *kernels;
    size_t width, height;
    plane luma, chroma[2];
    uint8_t *full[4]; /* two rows of Cb and two of Cr, before they are halved or once they are
                         doubled */
} frame;

/* The tables of luma or chroma at a quality. */
static void tables_make(plane *p, int chroma, int32_t quality)
{
    uint8_t table[64];

    hr_jpeg_quality_table(table, chroma, quality);
    hr_jpeg_quant_build(p->quant, table, false);
    hr_jpeg_quantiser_make(&p->quantiser, table);
}

static hr_status plane_make(plane *p, size_t width, size_t height, hr_arena *arena, hr_error *error)
{
    size_t size;

    p->width = width;
    p->height = height;
    p->stride = ((width + 63) & ~(size_t)63) + (size_t)2 * HR_JPEG_ROW_PAD;
    if (!hr_size_mul(p->stride, (height + 7) & ~(size_t)7, &size))
        return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    p->rows = hr_arena_alloc(arena, size, error);
    HR_TRY_ALLOC(p->rows);
    p->rows += HR_JPEG_ROW_PAD;
    return HR_STATUS_OK;
}

static hr_status frame_make(frame *f, hr_arena *arena, hr_error *error)
{
    HR_TRY(plane_make(&f->luma, f->width, f->height, arena, error));
    for (int i = 0; i < 2; i++)
        HR_TRY(plane_make(&f->chroma[i], (f->width + 1) / 2, (f->height + 1) / 2, arena, error));
    for (int i = 0; i < 4; i++) {
        f->full[i] = hr_arena_alloc(arena, 2 * f->chroma[0].stride, error);
        HR_TRY_ALLOC(f->full[i]);
        f->full[i] += HR_JPEG_ROW_PAD;
    }
    return HR_STATUS_OK;
}

static uint8_t *plane_row(const plane *p, size_t y)
{
    return p->rows + y * p->stride;
}

/* Fills up the last blocks of a row that holds n samples. */
static void pad_row(uint8_t *row, size_t n)
{
    memset(row + n, row[n - 1], -n & 15);
}

static void pad_rows(plane *p)
{
    for (size_t y = p->height; y & 7; y++)
        memcpy(plane_row(p, y), plane_row(p, p->height - 1), (p->width + 7) & ~(size_t)7);
}

/* Rows y and y + 1 of pixels. */
static void split_rows(frame *f, const uint8_t *src, size_t y)
{
    const hr_kernels *k = f->kernels;
    uint8_t *const *full = f->full;
    bool two = y + 1 < f->height;

    for (size_t i = 0; i < 1 + (size_t)two; i++) {
        uint8_t *luma = plane_row(&f->luma, y + i);
        k->jpeg_rgb_ycc(luma, full[i], full[2 + i], src + (y + i) * 3 * f->width, f->width);
        pad_row(luma, f->width);
        pad_row(full[i], f->width);
        pad_row(full[2 + i], f->width);
    }
    for (int i = 0; i < 2; i++) {
        plane *p = &f->chroma[i];
        size_t n = (p->width + 7) & ~(size_t)7;
        k->jpeg_half(plane_row(p, y / 2), full[2 * i], full[2 * i + two], n);
    }
}

/* Transforms, quantises and transforms back. */
static void distort_blocks(const frame *f, plane *p)
{
    _Alignas(64) int16_t coef[64];

    pad_rows(p);
    for (size_t y = 0; y < p->height; y += 8)
        for (size_t x = 0; x < p->width; x += 8) {
            uint8_t *at = plane_row(p, y) + x;
            f->kernels->jpeg_fdct(coef, at, p->stride, &p->quantiser);
            f->kernels->jpeg_idct(&(hr_jpeg_coefs){at, p->stride, coef, p->quant, 63});
        }
}

/* Chroma of row y of pixels: a mean of the two nearest rows, weighted 3 to 1; in the narrowest
 * images, the nearest row. */
static const uint8_t *double_row(const frame *f, int i, size_t y)
{
    const plane *p = &f->chroma[i];
    size_t at = y / 2, other = y & 1 ? HR_MIN(at + 1, p->height - 1) : at - (at > 0);
    uint8_t *row[2] = {plane_row(p, at), plane_row(p, other)};

    if (p->width < 3) {
        for (size_t x = 0; x < 2 * p->width; x++)
            f->full[i][x] = row[0][x / 2];
        return f->full[i];
    }
    for (int k = 0; k < 2; k++) {
        row[k][-1] = row[k][0];
        row[k][p->width] = row[k][p->width - 1];
    }
    f->kernels->jpeg_h2v2(f->full[i], row[0], row[1], p->width);
    return f->full[i];
}

static void distort_frame(frame *f, const uint8_t *src, uint8_t *dst)
{
    for (size_t y = 0; y < f->height; y += 2)
        split_rows(f, src, y);
    distort_blocks(f, &f->luma);
    distort_blocks(f, &f->chroma[0]);
    distort_blocks(f, &f->chroma[1]);
    for (size_t y = 0; y < f->height; y++)
        f->kernels->jpeg_ycc_rgb(dst + y * 3 * f->width, plane_row(&f->luma, y),
                                 double_row(f, 0, y), double_row(f, 1, y), f->width);
}

static hr_status distort_sample(hr_op_call *c, hr_error *error)
{
    const hr_jpeg_distortion_args *a = c->args;
    const int64_t *extent = c->in[0].shape.extent + c->in[0].shape.ndim - 3;
    int64_t frames = c->in[0].shape.ndim == 4 ? c->in[0].shape.extent[0] : 1;
    const size_t pixels = (size_t)extent[0] * (size_t)extent[1];
    frame *f = hr_arena_alloc(c->arena, sizeof(*f), error);

    HR_TRY_ALLOC(f);
    if (pixels == 0)
        return HR_STATUS_OK;
    *f = (frame){.kernels = c->kernels, .height = (size_t)extent[0], .width = (size_t)extent[1]};
    tables_make(&f->luma, 0, a->quality);
    tables_make(&f->chroma[0], 1, a->quality);
    tables_make(&f->chroma[1], 1, a->quality);
    HR_TRY(frame_make(f, c->arena, error));
    for (size_t i = 0; i < (size_t)frames; i++)
        distort_frame(f, (const uint8_t *)c->in[0].data + i * 3 * pixels,
                      (uint8_t *)c->out[0].data + i * 3 * pixels);
    return HR_STATUS_OK;
}

static hr_status distortion_run(hr_op_call *c, hr_error *error)
{
    hr_arena_mark mark = hr_arena_save(c->arena);
    HR_TRY(distort_sample(c, error));
    hr_arena_restore(c->arena, mark);
    return HR_STATUS_OK;
}

static hr_status distortion_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_layout layout;

    HR_TRY(hr_layout_match("HWC|FHWC", &in->layout, in->shape.ndim, &layout, error));
    if (in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be UINT8",
                       hr_dtype_name(in->dtype));
    int64_t channels = in->shape.extent[in->shape.ndim - 1];
    if (channels != 3)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has %lld channels; it must have 3: red, green and blue",
                       (long long)channels);
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, layout.name);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_jpeg_compression_distortion = {
    HR_OP("jpeg_compression_distortion"),
    .doc = "Adds the artefacts of JPEG compression to RGB images: the output is the image after it "
           "was saved as JPEG and decoded again, with chroma at half size (4:2:0). The input is "
           "UINT8.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    HR_ARGS(hr_jpeg_distortion_args,
            HR_ARG(hr_jpeg_distortion_args, quality, INT, HR_ARG_PER_SAMPLE, "50",
                   "Quality of the compression, from 1 to 100. Smaller values count as 1, larger "
                   "ones as 100.")),
    .in = HR_INPUTS({.name = "images", .layouts = "HWC|FHWC"}),
    .infer = distortion_infer,
    .run = distortion_run,
};
