/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What sphere, water and jitter share. */
#include "ops/pixels/displace.h"
#include "core/core.h"

#include <string.h>

typedef struct displace_state {
    bool masks;
} displace_state;

hr_status hr__displace_check(const hr_displace_args *a, hr_error *error)
{
    if (a->interp_type == HR_INTERP_NN || a->interp_type == HR_INTERP_LINEAR)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "`interp_type` must be INTERP_NN or INTERP_LINEAR");
}

hr_status hr__displace_create(const void *args, void **state, hr_error *error)
{
    displace_state *s = hr_calloc(1, sizeof(*s), error);

    HR_TRY_ALLOC(s);
    s->masks = ((const hr_displace_args *)args)->mask == -1; /* not a constant */
    *state = s;
    return HR_STATUS_OK;
}

void hr__displace_destroy(void *state)
{
    hr_free(state);
}

/* The fill in the image's type. */
static float fill_of(float v, bool is_float)
{
    return is_float                                   ? v
           : v >= -1073741824.0f && v < 1073741824.0f ? (float)(uint8_t)(int32_t)v
                                                      : 0.0f;
}

hr_status hr__displace_infer(hr_op_call *c, const hr_displace_args *a, hr_displace_kind kind,
                             hr_displace **out, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const displace_state *s = c->state;
    hr_layout layout;
    hr_displace *d = hr_arena_alloc(c->arena, sizeof(*d), error);

    HR_TRY_ALLOC(d);
    HR_TRY(hr_layout_match("HWC", &in->layout, in->shape.ndim, &layout, error));
    if (in->dtype != HR_DTYPE_UINT8 && in->dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s; it must be UINT8 or FLOAT",
                       hr_dtype_name(in->dtype));
    for (int32_t i = 0; i < 3; i++)
        if (in->shape.extent[i] > 1 << 22)
            return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    memset(d, 0, sizeof(*d));
    d->is_float = in->dtype == HR_DTYPE_FLOAT;
    d->gather.axes = 2;
    d->gather.nearest = a->interp_type == HR_INTERP_NN;
    d->gather.has_fill = true;
    d->gather.fill = fill_of(a->fill_value, d->is_float);
    d->gather.in[0] = in->shape.extent[1];
    d->gather.in[1] = in->shape.extent[0];
    d->channels = (int32_t)in->shape.extent[2];
    d->kind = s->masks && a->mask == 0 ? HR_DISPLACE_KIND_NONE : kind;
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, layout.name);
    c->memo = *out = d;
    return HR_STATUS_OK;
}

/* The nearest pixel, of `size` bytes, at each position. */
static void row_nearest(const hr_displace *d, const char *src, const char *fill, size_t size,
                        int32_t y, char *dst)
{
    const float width = (float)d->gather.in[0], height = (float)d->gather.in[1];

    for (int32_t x = 0; x < d->gather.in[0]; x++, dst += size) {
        float p[2];
        displace_position(d, x, y, p);
        bool inside = p[0] >= 0.0f && p[0] < width && p[1] >= 0.0f && p[1] < height;
        const char *from =
            inside ? src + ((size_t)p[1] * (size_t)d->gather.in[0] + (size_t)p[0]) * size : fill;
        if (size == 3)
            memcpy(dst, from, 3);
        else
            memcpy(dst, from, size);
    }
}

static void store(const hr_displace *d, void *dst, int64_t at, float v)
{
    if (d->is_float)
        ((float *)dst)[at] = v;
    else
        ((uint8_t *)dst)[at] = round_byte(v);
}

/* The elements between four pixels that are all inside; in the order of gather_blend. */
#define BLEND(type, rounded)                                                                       \
    static void blend_##type(type *dst, const type *src, size_t channels, size_t row, float x,     \
                             float y)                                                              \
    {                                                                                              \
        for (size_t c = 0; c < channels; c++) {                                                    \
            float a = (float)src[c], b = (float)src[c + row];                                      \
            float top = a + ((float)src[c + channels] - a) * x;                                    \
            float bottom = b + ((float)src[c + row + channels] - b) * x;                           \
            dst[c] = rounded(top + (bottom - top) * y);                                            \
        }                                                                                          \
    }
BLEND(uint8_t, round_byte)
BLEND(float, )

static void row_linear(const hr_displace *d, const void *src, int32_t y, void *dst)
{
    const float width = (float)d->gather.in[0] - 0.5f, height = (float)d->gather.in[1] - 0.5f;
    size_t channels = (size_t)d->channels, row = (size_t)d->gather.in[0] * channels;
    size_t at = (size_t)y * row;

    for (int32_t x = 0; x < d->gather.in[0]; x++, at += channels) {
        float p[2];
        displace_position(d, x, y, p);
        if (p[0] >= 0.5f && p[0] < width && p[1] >= 0.5f && p[1] < height) {
            size_t left = (size_t)(p[0] - 0.5f), top = (size_t)(p[1] - 0.5f);
            size_t from = top * row + left * channels;
            float part_x = (p[0] - 0.5f) - (float)left, part_y = (p[1] - 0.5f) - (float)top;
            if (d->is_float)
                blend_float((float *)dst + at, (const float *)src + from, channels, row, part_x,
                            part_y);
            else
                blend_uint8_t((uint8_t *)dst + at, (const uint8_t *)src + from, channels, row,
                              part_x, part_y);
            continue;
        }
        for (int32_t c = 0; c < d->channels; c++)
            store(d, dst, (int64_t)at + c, displace_sample(d, src, p, c));
    }
}

hr_status hr__displace_run(hr_op_call *c, hr_error *error)
{
    const hr_displace *d = c->memo;
    const char *src = c->in[0].data;
    char *dst = c->out[0].data;
    size_t bytes, element = d->is_float ? sizeof(float) : 1;
    size_t pixel = (size_t)d->channels * element, row = (size_t)d->gather.in[0] * pixel;

    if (!hr_tensor_bytes(&c->in[0], &bytes) || bytes == 0)
        return HR_STATUS_OK;
    char *fill = hr_arena_alloc(c->arena, pixel, error);
    HR_TRY_ALLOC(fill);
    for (int64_t k = 0; k < d->channels; k++)
        store(d, fill, k, d->gather.fill);
    if (d->kind == HR_DISPLACE_KIND_NONE)
        memcpy(dst, src, bytes);
    else if (d->kind == HR_DISPLACE_KIND_JITTER)
        for (int64_t at = 0; at < (int64_t)(bytes / element); at++)
            store(d, dst, at, displace_jitter(d, src, at));
    else
        for (int32_t y = 0; y < d->gather.in[1]; y++)
            if (d->gather.nearest)
                row_nearest(d, src, fill, pixel, y, dst + (size_t)y * row);
            else
                row_linear(d, src, y, dst);
    return HR_STATUS_OK;
}
