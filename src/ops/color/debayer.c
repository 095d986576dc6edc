/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* debayer: colours of images behind a Bayer filter, as OpenCV makes them. */
#include "ops/color/debayer.h"
#include "core/core.h"
#include "kernels/kernels.h"
#include "ops/common/word.h"
#include "ops/filter/axes.h"

#include <string.h>

typedef struct debayer_args {
    const char *algorithm;
    hr_ints blue_position;
} debayer_args;

#define ON_DEVICE "default_npp"
static const char *const algorithms[] = {"bilinear_ocv", "edgeaware_ocv", "gray_ocv", "vng_ocv"};
enum { ALGORITHM_VNG = HR_DEBAYER_KIND_COUNT, ALGORITHM_COUNT };

/* -1: none has this name. */
static int32_t algorithm_of(const char *name)
{
    if (hr__same_word(name, ON_DEVICE))
        return HR_DEBAYER_KIND_BILINEAR;
    return hr__find_word(name, algorithms, ALGORITHM_COUNT);
}

static hr_status debayer_check(const void *args, const hr_given *given, hr_error *error)
{
    const debayer_args *a = args;

    (void)given;
    if (algorithm_of(a->algorithm) < 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "unknown `algorithm` \"%s\"; use bilinear_ocv, edgeaware_ocv, vng_ocv or "
                       "gray_ocv",
                       a->algorithm);
    return HR_STATUS_OK;
}

/* Frames, rows and columns of the input, and its layout. */
static hr_status read_shape(const hr_op_call *c, hr_debayer *m, hr_data_axes *axes, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int64_t *extent = in->shape.extent;
    hr_layout layout;

    HR_TRY(hr_layout_match("HW|HWC|FHW|FHWC", &in->layout, in->shape.ndim, &layout, error));
    if (in->dtype != HR_DTYPE_UINT8 && (in->dtype != HR_DTYPE_UINT16 || m->vng))
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be UINT8%s",
                       hr_dtype_name(in->dtype), m->vng ? "" : " or UINT16");
    HR_TRY(hr__data_axes(&layout, in->shape.ndim, axes, error));
    m->frames = axes->frames ? extent[0] : 1;
    m->height = extent[axes->first];
    m->width = extent[axes->first + 1];
    if (hr_layout_find(&layout, 'C') >= 0 && extent[axes->first + 2] != 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "The debayer operator expects grayscale (i.e. single channel) images; the "
                       "input has %lld channels",
                       (long long)extent[axes->first + 2]);
    if (m->height % 2 != 0 || m->width % 2 != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "The height and width of the image to debayer must be even; they are %lld "
                       "and %lld",
                       (long long)m->height, (long long)m->width);
    return HR_STATUS_OK;
}

/* The positions of all frames. */
static hr_status read_starts(const hr_op_call *c, hr_debayer *m, const hr_data_axes *axes,
                             hr_error *error)
{
    const hr_ints list = ((const debayer_args *)c->args)->blue_position;
    int32_t count = HR_MAX(list.frames, 1);
    uint8_t *start = hr_arena_alloc(c->arena, (size_t)count, error);

    HR_TRY_ALLOC(start);
    HR_TRY(hr__frame_count_check("blue_position", list.frames, axes, m->frames, error));
    for (int32_t i = 0; i < count; i++) {
        const hr_ints at = hr__frame_ints(list, i);
        HR_TRY(hr__axis_count_check("blue_position", at.n, 2, error));
        int32_t row = at.v[0], column = at.v[at.n - 1];
        if (row < 0 || row > 1 || column < 0 || column > 1)
            return hr_fail(error, HR_STATUS_ERROR,
                           "The `blue_position` position must lie within 2x2 tile; it is [%d, %d]",
                           (int)row, (int)column);
        start[i] = (uint8_t)(2 * row + column);
    }
    m->start = start;
    m->starts = list.frames > 1;
    return HR_STATUS_OK;
}

static hr_status debayer_infer(hr_op_call *c, hr_error *error)
{
    const debayer_args *a = c->args;
    int32_t algorithm = algorithm_of(a->algorithm);
    hr_debayer *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    hr_data_axes axes;

    HR_TRY_ALLOC(m);
    if (!c->staging && hr__same_word(a->algorithm, ON_DEVICE))
        return hr_fail(error, HR_STATUS_ERROR,
                       ON_DEVICE " algorithm is not supported on CPU. Use bilinear_ocv instead");
    *m = (hr_debayer){.vng = algorithm == ALGORITHM_VNG};
    if (!m->vng)
        m->kind = (hr_debayer_kind)algorithm;
    HR_TRY(read_shape(c, m, &axes, error));
    HR_TRY(read_starts(c, m, &axes, error));
    if (m->height < 8 || m->width < 8)
        m->vng = false;
    int64_t extent[4] = {m->frames, m->height, m->width,
                         m->kind == HR_DEBAYER_KIND_GRAY && !m->vng ? 1 : 3};
    int32_t skip = axes.frames ? 0 : 1;
    hr_tensor_describe(&c->out[0], c->in[0].dtype, hr_shape_make(4 - skip, extent + skip),
                       &"FHWC"[skip]);
    c->memo = m;
    return HR_STATUS_OK;
}

/* ---- on the CPU ---- */

typedef struct image {
    const hr_kernels *kernels;
    const uint8_t *src;
    uint8_t *dst;
    size_t height, width, size; /* size of an element */
    size_t channels;
    int32_t row, column; /* of the first pixel that becomes channel 0 */
    uint8_t *planes[3];  /* rows of one colour each */
    uint8_t *mask;       /* all bits of every second element, from the second one */
    hr_vng *vng;
    uint8_t *line; /* a row of the image with its border, for VNG */
} image;

/* Whether a row has the colour of channel 0, and whether its first pixel is green. */
static bool has_first(const image *p, size_t y)
{
    return (y + (size_t)p->row) % 2 == 0;
}

static bool starts_green(const image *p, size_t y)
{
    return (y + (size_t)p->row + (size_t)p->column) % 2 != 0;
}

static void copy_element(uint8_t *plane, size_t to, size_t from, size_t size)
{
    memcpy(plane + to * size, plane + from * size, size);
}

static void interleave_u16(uint16_t *restrict dst, const uint16_t *restrict a,
                           const uint16_t *restrict b, const uint16_t *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        dst[3 * i] = a[i];
        dst[3 * i + 1] = b[i];
        dst[3 * i + 2] = c[i];
    }
}

/* Stores row y from its own colour, green, and the other colour. */
static void store_row(const image *p, size_t y, const void *own, const void *green,
                      const void *other)
{
    uint8_t *dst = p->dst + y * p->width * p->channels * p->size;
    bool first = has_first(p, y);

    if (p->channels == 1)
        memcpy(dst, green, p->width * p->size);
    else if (p->size == 1)
        p->kernels->jpeg_interleave(dst, first ? own : other, green, first ? other : own, p->width);
    else
        interleave_u16((uint16_t *)(void *)dst, first ? own : other, green, first ? other : own,
                       p->width);
}

/* Pixels at the edges repeat their neighbours inside. */
static void nearest_pixels(const image *p, hr_debayer_kind kind)
{
    size_t in_row = p->width * p->size, out_row = in_row * p->channels;
    hr_debayer_row r = {.kind = kind,
                        .wide = p->size == 2,
                        .n = p->width,
                        .own = p->planes[0],
                        .green = p->planes[1],
                        .other = p->planes[2]};

    if (p->height <= 2 || p->width <= 2) {
        memset(p->dst, 0, p->height * out_row);
        return;
    }
    for (size_t y = 1; y + 1 < p->height; y++) {
        r.at = p->src + y * in_row;
        r.above = p->src + (y - 1) * in_row;
        r.below = p->src + (y + 1) * in_row;
        r.colour = starts_green(p, y) ? p->mask : p->mask + p->size;
        r.own_weight = has_first(p, y) ? HR_DEBAYER_RED : HR_DEBAYER_BLUE;
        r.other_weight = has_first(p, y) ? HR_DEBAYER_BLUE : HR_DEBAYER_RED;
        p->kernels->debayer_row(&r);
        for (int32_t k = 0; k < 3; k++) {
            copy_element(p->planes[k], 0, 1, p->size);
            copy_element(p->planes[k], p->width - 1, p->width - 2, p->size);
        }
        store_row(p, y, r.own, r.green, r.other);
    }
    memcpy(p->dst, p->dst + out_row, out_row);
    memcpy(p->dst + (p->height - 1) * out_row, p->dst + (p->height - 2) * out_row, out_row);
}

/* i, reflected at the first and the last of n, which are not repeated. */
static size_t reflected(int64_t i, size_t n)
{
    int64_t last = (int64_t)n - 1;
    return (size_t)(i < 0 ? -i : i > last ? 2 * last - i : i);
}

/* Puts row y, which may be outside the image, below the others. */
static void push_row(const image *p, int64_t y)
{
    const uint8_t *src = p->src + reflected(y, p->height) * p->width;
    hr_vng_line first = p->vng->line[0];

    memcpy(p->line + HR_VNG_REACH, src, p->width);
    for (int64_t i = 1; i <= HR_VNG_REACH; i++) {
        p->line[HR_VNG_REACH - i] = src[i];
        p->line[HR_VNG_REACH + p->width - 1 + (size_t)i] = src[p->width - 1 - (size_t)i];
    }
    memmove(p->vng->line, p->vng->line + 1, (HR_VNG_LINES - 1) * sizeof(first));
    p->vng->line[HR_VNG_LINES - 1] = first;
    p->kernels->vng_load(&first, p->line, p->width);
}

static void many_gradients(const image *p)
{
    hr_vng *v = p->vng;

    push_row(p, -2);
    push_row(p, -1);
    for (int64_t y = -2; y < (int64_t)p->height; y++) {
        push_row(p, y + 2);
        v->phase = starts_green(p, (size_t)(y + 2));
        v->own = y < 0 ? NULL : p->planes[0];
        p->kernels->vng_row(v);
        if (y >= 0)
            store_row(p, (size_t)y, v->own, v->green, v->other);
    }
}

static hr_status make_vng(image *p, hr_arena *arena, hr_error *error)
{
    size_t half = p->width / 2, length = half + 64; /* of an array, with its ends */
    hr_vng *v = hr_arena_alloc(arena, sizeof(*v), error);
    int16_t *at = hr_arena_alloc(arena, HR_VNG_LINES * HR_VNG_ARRAYS * length * sizeof(*at), error);
    uint8_t *halves = hr_arena_alloc(arena, 6 * length, error);

    p->line = hr_arena_alloc(arena, p->width + 2 * HR_VNG_REACH, error);
    HR_TRY_ALLOC(v && at && halves && p->line);
    memset(at, 0, HR_VNG_LINES * HR_VNG_ARRAYS * length * sizeof(*at));
    *v = (hr_vng){.n = p->width, .green = p->planes[1], .other = p->planes[2]};
    at += 16;
    for (int32_t i = 0; i < HR_VNG_LINES; i++) {
        hr_vng_line *l = &v->line[i];
        int16_t **arrays[] = {&l->s[0],       &l->s[1],       &l->down[0],     &l->down[1],
                              &l->across[0],  &l->across[1],  &l->rising[0],   &l->rising[1],
                              &l->falling[0], &l->falling[1], &l->rising_wide, &l->falling_wide,
                              &l->green};
        for (int32_t k = 0; k < HR_VNG_ARRAYS; k++, at += length)
            *arrays[k] = at;
    }
    for (int32_t i = 0; i < 6; i++)
        v->half[i / 3][i % 3] = halves + (size_t)i * length;
    p->vng = v;
    return HR_STATUS_OK;
}

static hr_status make_scratch(image *p, bool vng, hr_arena *arena, hr_error *error)
{
    size_t bytes = p->width * p->size + 2 * HR_DEBAYER_PAD;

    for (int32_t i = 0; i < 3; i++) {
        p->planes[i] = hr_arena_alloc(arena, bytes, error);
        HR_TRY_ALLOC(p->planes[i]);
    }
    p->mask = hr_arena_alloc(arena, bytes, error);
    HR_TRY_ALLOC(p->mask);
    for (size_t i = 0; i < bytes; i++)
        p->mask[i] = i / p->size % 2 != 0 ? 0xff : 0;
    return vng ? make_vng(p, arena, error) : HR_STATUS_OK;
}

static hr_status debayer_one(const hr_op_call *c, hr_error *error)
{
    const hr_debayer *m = c->memo;
    image p = {.kernels = c->kernels,
               .height = (size_t)m->height,
               .width = (size_t)m->width,
               .size = hr_dtype_size(c->in[0].dtype),
               .channels = m->kind == HR_DEBAYER_KIND_GRAY && !m->vng ? 1 : 3};
    size_t in_size = p.height * p.width * p.size;

    if (in_size == 0)
        return HR_STATUS_OK;
    HR_TRY(make_scratch(&p, m->vng, c->arena, error));
    for (int64_t f = 0; f < m->frames; f++) {
        p.src = (const uint8_t *)c->in[0].data + (size_t)f * in_size;
        p.dst = (uint8_t *)c->out[0].data + (size_t)f * in_size * p.channels;
        p.row = m->start[m->starts ? f : 0] >> 1;
        p.column = m->start[m->starts ? f : 0] & 1;
        if (m->vng)
            many_gradients(&p);
        else
            nearest_pixels(&p, m->kind);
    }
    return HR_STATUS_OK;
}

static hr_status debayer_run(hr_op_call *c, hr_error *error)
{
    hr_arena_mark mark = hr_arena_save(c->arena);
    hr_status status = debayer_one(c, error);
    hr_arena_restore(c->arena, mark);
    return status;
}

const hr_op_def hr_op_debayer = {
    HR_OP("debayer"),
    .doc = "Makes colour images from the values of a sensor with a Bayer filter, as OpenCV does. "
           "The input is UINT8 or UINT16, with one channel and even height and width.",
    .aliases = HR_NAMES("experimental.debayer"),
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    HR_ARGS(
        debayer_args,
        HR_ARG(debayer_args, algorithm, STRING, 0, "\"bilinear_ocv\"",
               "\"bilinear_ocv\": the mean of the nearest pixels of a colour. \"edgeaware_ocv\": "
               "the same, but green is the mean of the two neighbours that differ less. "
               "\"vng_ocv\": a variable number of gradients, for UINT8; images with fewer than 8 "
               "rows or columns are processed as with \"bilinear_ocv\". \"gray_ocv\": bilinear, as "
               "one grey channel. \"default_npp\", on a GPU only, means \"bilinear_ocv\"."),
        HR_ARG(debayer_args, blue_position, INTS,
               HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
               "The Bayer pattern: row and column, 0 or 1, of the blue pixel in the 2 x 2 pixels "
               "that begin at row 1 and column 1 of the image. [0, 0] is BGGR, [0, 1] GBRG, [1, 0] "
               "GRBG, [1, 1] RGGB, in OpenCV's terms. One number stands for both.")),
    .in = HR_INPUTS({.name = "data", .layouts = "HW|HWC|FHW|FHWC"}),
    .check = debayer_check,
    .infer = debayer_infer,
    .run = debayer_run,
};
