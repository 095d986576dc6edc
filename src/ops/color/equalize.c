/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* equalize: spreads the histogram of every channel, as OpenCV does. */
#include "core/core.h"
#include "headrace/operator.h"
#include "kernels/kernels.h"

#include <string.h>

enum { LEVELS = 256, TOGETHER = 4 }; /* channels whose histograms are counted in one pass */

/* The pictures and channels of the input: `outer` blocks of `pixels` x `channels`. */
typedef struct equalize_memo {
    size_t outer, pixels, channels;
} equalize_memo;

static hr_status equalize_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    equalize_memo *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    hr_layout layout;
    size_t volume;

    if (!m)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(
        hr_layout_match("HW|HWC|CHW|FHW|FHWC|FCHW", &in->layout, in->shape.ndim, &layout, error));
    if (in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be UINT8",
                       hr_dtype_name(in->dtype));
    int32_t h = hr_layout_find(&layout, 'H');
    const int64_t *extent = in->shape.extent;
    *m = (equalize_memo){.outer = 1, .channels = 1};
    if (hr_shape_volume(&in->shape, &volume) && volume > 0) {
        for (int32_t i = 0; i < h; i++)
            m->outer *= (size_t)extent[i];
        m->channels = h + 2 < in->shape.ndim ? (size_t)extent[h + 2] : 1;
        m->pixels = (size_t)extent[h] * (size_t)extent[h + 1];
    }
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, layout.name);
    c->memo = m;
    return HR_STATUS_OK;
}

/* Rounded to the nearest integer, ties to even, from 0 to 255. */
static uint8_t round_even(float v)
{
    const float magic = 12582912.0f; /* 1.5 * 2^23: no fractions are left next to it */
    volatile float sum = HR_MIN(v, 255.0f) + magic;
    return (uint8_t)(sum - magic);
}

static void make_table(const uint32_t *count, size_t pixels, uint8_t *table)
{
    int32_t first = 0;
    uint32_t sum = 0;

    while (first < LEVELS - 1 && count[first] == 0)
        first++;
    memset(table, first, LEVELS);
    if (count[first] == pixels)
        return; /* one value only: it stays */
    float scale = 255.0f / (float)(pixels - count[first]);
    memset(table, 0, LEVELS);
    for (int32_t i = first + 1; i < LEVELS; i++) {
        sum += count[i];
        table[i] = round_even((float)sum * scale);
    }
}

/* n of at most TOGETHER channels. */
static void equalize_channels(const hr_kernels *k, const uint8_t *src, uint8_t *dst, size_t pixels,
                              size_t channels, size_t n)
{
    uint32_t count[2][TOGETHER][LEVELS]; /* even and odd pixels, so that equal ones do not wait */
    uint8_t table[TOGETHER][LEVELS];

    memset(count, 0, sizeof(count));
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < n; c++)
            count[i & 1][c][src[i * channels + c]]++;
    for (size_t c = 0; c < n; c++) {
        for (int32_t v = 0; v < LEVELS; v++)
            count[0][c][v] += count[1][c][v];
        make_table(count[0][c], pixels, table[c]);
    }
    if (channels == 1) {
        k->table_u8(dst, src, pixels, table[0]);
        return;
    }
    for (size_t i = 0; i < pixels; i++)
        for (size_t c = 0; c < n; c++)
            dst[i * channels + c] = table[c][src[i * channels + c]];
}

static hr_status equalize_one(hr_op_call *c, hr_error *error)
{
    const equalize_memo *m = c->memo;
    const uint8_t *src = c->in[0].data;
    uint8_t *dst = c->out[0].data;

    if (m->pixels > UINT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "the picture is too large");
    for (size_t o = 0; o < m->outer && m->pixels > 0; o++) {
        size_t at = o * m->pixels * m->channels;
        for (size_t k = 0; k < m->channels; k += TOGETHER) {
            size_t n = HR_MIN(TOGETHER, m->channels - k);
            if (n == 3 && m->channels == 3) /* the compiler sees how many channels there are */
                equalize_channels(c->kernels, src + at, dst + at, m->pixels, 3, 3);
            else
                equalize_channels(c->kernels, src + at + k, dst + at + k, m->pixels, m->channels,
                                  n);
        }
    }
    return HR_STATUS_OK;
}

static hr_status equalize_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++)
        HR_TRY(equalize_one(&calls[i], error));
    return HR_STATUS_OK;
}

static const hr_arg_def equalize_arg_defs[] = {HR_ARG_END};
static const char *const equalize_aliases[] = {"experimental.equalize", NULL};

const hr_op_def hr_op_equalize = {
    HR_OP_ABI,
    .name = "equalize",
    .doc = "Equalises the histogram of every channel of every picture. The input is UINT8.",
    .aliases = equalize_aliases,
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    .args = equalize_arg_defs,
    .in = HR_INPUTS({.name = "data", .layouts = "HW|HWC|CHW|FHW|FHWC|FCHW"}),
    .in_min = 1,
    .in_max = 1,
    .out = HR_OUTPUTS({"output"}),
    .out_count = 1,
    .infer = equalize_infer,
    .run_cpu = equalize_run,
};
