/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* equalize: spreads the histogram of every channel, as OpenCV does. */
#include "ops/color/equalize.h"
#include "core/core.h"
#include "kernels/kernels.h"

#include <string.h>

enum {
    LEVELS = HR_EQUALIZE_LEVELS,
    LANES = 6 /* neighbouring elements, which have counters of their own: incrementing one counter
                 twice in a row waits */
};

static hr_status equalize_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_equalize *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    hr_layout layout;
    size_t volume;

    HR_TRY_ALLOC(m);
    HR_TRY(
        hr_layout_match("HW|HWC|CHW|FHW|FHWC|FCHW", &in->layout, in->shape.ndim, &layout, error));
    if (in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be UINT8",
                       hr_dtype_name(in->dtype));
    int32_t h = hr_layout_find(&layout, 'H');
    const int64_t *extent = in->shape.extent;
    *m = (hr_equalize){.outer = 1, .channels = 1};
    if (hr_shape_volume(&in->shape, &volume) && volume > 0) {
        for (int32_t i = 0; i < h; i++)
            m->outer *= (size_t)extent[i];
        m->channels = h + 2 < in->shape.ndim ? (size_t)extent[h + 2] : 1;
        m->pixels = (size_t)extent[h] * (size_t)extent[h + 1];
    }
    if (m->pixels > UINT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, layout.name);
    c->memo = m;
    return HR_STATUS_OK;
}

static void make_table(const uint32_t *count, size_t pixels, uint8_t *table)
{
    int32_t first = equalize_first(count);
    uint32_t sum = 0;

    for (int32_t i = 0; i < LEVELS; i++) {
        sum += i > first ? count[i] : 0;
        table[i] = equalize_value(first, count[first], (uint32_t)pixels, sum);
    }
}

/* Counts the values of every LANES-th element: counts[lane][value]. */
static void count_values(const uint8_t *p, size_t n, uint32_t (*counts)[LEVELS])
{
    size_t i = 0;

    memset(counts, 0, LANES * sizeof counts[0]);
    for (; i + LANES <= n; i += LANES, p += LANES) {
        counts[0][p[0]]++;
        counts[1][p[1]]++;
        counts[2][p[2]]++;
        counts[3][p[3]]++;
        counts[4][p[4]]++;
        counts[5][p[5]]++;
    }
    for (; i < n; i++, p++)
        counts[i % LANES][*p]++;
}

static void map_values(uint8_t *dst, const uint8_t *src, size_t n, uint8_t (*table)[LEVELS])
{
    size_t i = 0;

    for (; i + LANES <= n; i += LANES, src += LANES, dst += LANES) {
        uint8_t out[LANES] = {table[0][src[0]], table[1][src[1]], table[2][src[2]],
                              table[3][src[3]], table[4][src[4]], table[5][src[5]]};
        memcpy(dst, out, sizeof out);
    }
    for (; i < n; i++)
        *dst++ = table[i % LANES][*src++];
}

/* One image. `channels` divides LANES. */
static void equalize_image(const hr_kernels *k, const uint8_t *src, uint8_t *dst, size_t pixels,
                           size_t channels)
{
    uint32_t counts[LANES][LEVELS];
    uint8_t table[LANES][LEVELS];

    count_values(src, pixels * channels, counts);
    for (size_t c = 0; c < channels; c++) {
        for (size_t lane = c + channels; lane < LANES; lane += channels)
            for (size_t v = 0; v < LEVELS; v++)
                counts[c][v] += counts[lane][v];
        make_table(counts[c], pixels, table[c]);
    }
    if (channels == 1) {
        k->table_u8(dst, src, pixels, table[0]);
        return;
    }
    for (size_t lane = channels; lane < LANES; lane++)
        memcpy(table[lane], table[lane % channels], LEVELS);
    map_values(dst, src, pixels * channels, table);
}

/* The same for any number of channels, each as an image of its own. */
static hr_status equalize_channels(const hr_op_call *c, const uint8_t *src, uint8_t *dst,
                                   size_t pixels, size_t channels, hr_error *error)
{
    hr_arena_mark mark = hr_arena_save(c->arena);
    uint8_t *plane = hr_arena_alloc(c->arena, pixels, error);

    HR_TRY_ALLOC(plane);
    for (size_t k = 0; k < channels; k++) {
        for (size_t i = 0; i < pixels; i++)
            plane[i] = src[i * channels + k];
        equalize_image(c->kernels, plane, plane, pixels, 1);
        for (size_t i = 0; i < pixels; i++)
            dst[i * channels + k] = plane[i];
    }
    hr_arena_restore(c->arena, mark);
    return HR_STATUS_OK;
}

static hr_status equalize_run(hr_op_call *c, hr_error *error)
{
    const hr_equalize *m = c->memo;
    const uint8_t *src = c->in[0].data;
    uint8_t *dst = c->out[0].data;

    for (size_t o = 0; o < m->outer && m->pixels > 0 && m->channels > 0; o++) {
        size_t at = o * m->pixels * m->channels;
        if (LANES % m->channels == 0)
            equalize_image(c->kernels, src + at, dst + at, m->pixels, m->channels);
        else
            HR_TRY(equalize_channels(c, src + at, dst + at, m->pixels, m->channels, error));
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_equalize = {
    HR_OP("equalize"),
    .doc = "Equalises the histogram of every channel of every image. The input is UINT8.",
    .aliases = HR_NAMES("experimental.equalize"),
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    .in = HR_INPUTS({.name = "data", .layouts = "HW|HWC|CHW|FHW|FHWC|FCHW"}),
    .infer = equalize_infer,
    .run = equalize_run,
};
