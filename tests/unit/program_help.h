/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shared by the tests of image programs: random tensors in memory of exactly their size, a coded
 * source over one of them, running a program. */
#pragma once

#include "test.h"
#include "xorshift.h"

#include "image/program.h"

#include <math.h>
#include <stdlib.h>

static inline double unit(void)
{
    return (rnd() & 0xffffff) / 16777216.0;
}

static inline hr_arena *arena(void)
{
    static hr_arena *one;
    if (one == NULL)
        hr_arena_create(&one, NULL);
    return one;
}

static inline hr_op_call call_at(hr_cpu_level level)
{
    return (hr_op_call){.arena = arena(), .kernels = hr_kernels_get(level)};
}

/* ---- tensors that own exactly their bytes, so that a sanitizer sees reads and writes beyond ----
 */

static inline hr_tensor tensor_alloc(hr_dtype dtype, const char *layout, const int64_t *extent)
{
    hr_tensor t;
    size_t bytes;
    hr_tensor_describe(&t, dtype, hr_shape_make((int32_t)strlen(layout), extent), layout);
    hr_tensor_bytes(&t, &bytes);
    t.data = malloc(bytes > 0 ? bytes : 1);
    return t;
}

static inline void tensor_randomize(hr_tensor *t)
{
    size_t n;
    hr_shape_volume(&t->shape, &n);
    for (size_t i = 0; i < n; i++) {
        bool small = t->dtype == HR_DTYPE_UINT8 || hr_dtype_is_float(t->dtype);
        double v = small ? 255.0 * unit() : floor((unit() - 0.5) * 60000.0);
        hr_convert((char *)t->data + i * hr_dtype_size(t->dtype), t->dtype, &v, HR_DTYPE_FLOAT64,
                   1);
    }
}

static inline hr_tensor tensor_make(hr_dtype dtype, const char *layout, const int64_t *extent)
{
    hr_tensor t = tensor_alloc(dtype, layout, extent);
    tensor_randomize(&t);
    return t;
}

static inline hr_tensor image(hr_dtype dtype, int64_t h, int64_t w, int64_t c)
{
    return tensor_make(dtype, "HWC", (int64_t[]){h, w, c});
}

/* Offset of the element at these coordinates: at['H'] and so on. */
static inline size_t offset_of(const hr_tensor *t, const int64_t *at)
{
    size_t offset = 0;
    for (int32_t i = 0; i < t->shape.ndim; i++)
        offset = offset * (size_t)t->shape.extent[i] + (size_t)at[(int)t->layout.name[i]];
    return offset;
}

/* Coordinates of element `i`. */
static inline void coordinates(const hr_tensor *t, size_t i, int64_t *at)
{
    for (int32_t d = t->shape.ndim - 1; d >= 0; d--) {
        at[(int)t->layout.name[d]] = (int64_t)(i % (size_t)t->shape.extent[d]);
        i /= (size_t)t->shape.extent[d];
    }
}

static inline int64_t extent_of(const hr_tensor *t, char letter)
{
    int32_t d = hr_layout_find(&t->layout, letter);
    return d < 0 ? 1 : t->shape.extent[d];
}

static inline double value_at(const hr_tensor *t, size_t i)
{
    return hr_element_double(t->data, t->dtype, i);
}

/* Runs the program into memory of exactly the output's size. */
static inline hr_status run(const hr_image_program *p, hr_cpu_level level, hr_tensor *out,
                            hr_error *error)
{
    hr_op_call c = call_at(level);
    size_t bytes;
    hr_program_describe(p, out);
    hr_tensor_bytes(out, &bytes);
    out->data = malloc(bytes > 0 ? bytes : 1);
    memset(out->data, 0xA5, bytes);
    hr_status status = hr_program_run(p, &c, out->data, error);
    hr_arena_reset(arena());
    return status;
}

static inline bool same(const hr_tensor *a, const hr_tensor *b)
{
    size_t bytes;
    return a->dtype == b->dtype && hr_shape_equal(&a->shape, &b->shape) &&
           strcmp(a->layout.name, b->layout.name) == 0 && hr_tensor_bytes(a, &bytes) &&
           memcmp(a->data, b->data, bytes) == 0;
}

static const char *const layouts[] = {"HWC", "CHW", "FHWC", "FCHW", "DHWC", "CDHW", "HW", "FCDHW"};

static inline hr_tensor random_tensor(hr_dtype dtype)
{
    const char *layout = layouts[rnd() % HR_COUNT_OF(layouts)];
    int64_t extent[HR_MAX_NDIM];
    for (size_t i = 0; i < strlen(layout); i++)
        extent[i] = layout[i] == 'H' || layout[i] == 'W' ? between(1, 40) : between(1, 4);
    return tensor_make(dtype, layout, extent);
}

/* ---- per-pixel steps ---- */

static inline hr_matrix random_matrix(int32_t in)
{
    hr_matrix m = {.in = in, .out = rnd() & 1 ? 3 : between(1, HR_MATRIX_MAX)};
    for (int i = 0; i < HR_MATRIX_MAX; i++) {
        for (int k = 0; k < HR_MATRIX_MAX; k++)
            m.m[i][k] = (float)(unit() * 2 - 0.5);
        m.add[i] = (float)(unit() * 200 - 100);
    }
    return m;
}

/* Of 256 elements. */
static inline const void *random_table(hr_dtype dtype)
{
    static uint64_t tables[HR_DTYPE_COUNT][256];
    hr_tensor t;
    hr_tensor_describe(&t, dtype, hr_shape_make(1, (int64_t[]){256}), "X");
    t.data = tables[dtype];
    if (tables[dtype][1] == 0)
        tensor_randomize(&t);
    return t.data;
}

/* ---- gathers ---- */

enum { MAPS_MAX = 8 };

/* Maps near the identity, and some that are mostly outside. */
static inline hr_map random_map(void)
{
    hr_map map;
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++)
            map.m[i][k] = (float)((i == k) + unit() - 0.5);
        map.m[i][3] = (float)(unit() * 20 - 10);
    }
    return map;
}

static inline hr_gather_spec random_gather(bool volume)
{
    hr_gather_spec g = {.axes = volume ? 3 : 2, .nearest = rnd() & 1, .has_fill = rnd() & 1};
    g.fill = (float)between(0, 255);
    g.out[0] = rnd() % 8 ? between(1, 50) : between(250, 600);
    g.out[1] = between(1, 30);
    g.out[2] = between(1, 5);
    return g;
}

/* ---- coded sources ---- */

typedef struct fake_codec {
    const hr_tensor *image;
    hr_window last;
    int32_t calls;
    bool by_rows;    /* can be read by rows */
    int64_t give_up; /* ... but gives up at this row; < 0: never */
    int64_t row;     /* the next row of the window */
} fake_codec;

static inline hr_status fake_decode(void *context, hr_window window, void *dst, size_t stride,
                                    hr_op_call *c, hr_error *error)
{
    fake_codec *codec = context;
    const int64_t *extent = codec->image->shape.extent;
    size_t pixel = hr_dtype_size(codec->image->dtype) * (size_t)extent[2];
    (void)c;
    codec->last = window;
    codec->calls++;
    if (window.y < 0 || window.x < 0 || window.y + window.h > extent[0] ||
        window.x + window.w > extent[1])
        return hr_fail(error, HR_STATUS_ERROR, "a window outside of the image was asked for");
    for (int64_t y = 0; y < window.h; y++)
        memcpy((char *)dst + (size_t)y * stride,
               (const char *)codec->image->data +
                   (size_t)((window.y + y) * extent[1] + window.x) * pixel,
               (size_t)window.w * pixel);
    return HR_STATUS_OK;
}

static inline hr_status fake_open(void *context, hr_window window, hr_op_call *c, hr_error *error)
{
    fake_codec *codec = context;
    (void)c;
    (void)error;
    codec->last = window;
    codec->row = 0;
    codec->calls++;
    return codec->give_up == 0 ? HR_STATUS_NOT_FUSABLE : HR_STATUS_OK;
}

static inline hr_status fake_read(void *context, void *dst, size_t stride, int32_t rows,
                                  hr_error *error)
{
    fake_codec *codec = context;
    const int64_t *extent = codec->image->shape.extent;
    size_t pixel = hr_dtype_size(codec->image->dtype) * (size_t)extent[2];
    if (codec->row + rows > codec->last.h)
        return hr_fail(error, HR_STATUS_ERROR, "more rows than the window has");
    for (int32_t y = 0; y < rows; y++, codec->row++) {
        if (codec->row == codec->give_up)
            return HR_STATUS_NOT_FUSABLE;
        memcpy((char *)dst + (size_t)y * stride,
               (const char *)codec->image->data +
                   (size_t)((codec->last.y + codec->row) * extent[1] + codec->last.x) * pixel,
               (size_t)codec->last.w * pixel);
    }
    return HR_STATUS_OK;
}

static inline hr_status from_fake(hr_image_program *p, fake_codec *codec, hr_error *error)
{
    const int64_t *extent = codec->image->shape.extent;
    hr_image_source source = {codec, fake_decode, codec->by_rows ? fake_open : NULL, fake_read};
    return hr_program_from_coded(p, source, codec->image->dtype, extent[0], extent[1],
                                 (int32_t)extent[2], error);
}

/* Up to `most` taps: a mean, or any numbers. They are overwritten by later calls. */
static inline hr_given_taps random_taps(int32_t most)
{
    static float pool[8][256];
    static int next;
    float *taps = pool[next++ % 8], sum = 0;
    int32_t count = 2 * between(0, most / 2) + 1;
    bool mean = rnd() % 3 != 0;
    for (int32_t k = 0; k < count; k++) {
        taps[k] = (float)(unit() - (mean ? 0 : 0.5));
        sum += taps[k];
    }
    for (int32_t k = 0; k < count && mean; k++)
        taps[k] /= sum;
    return (hr_given_taps){taps, count};
}

static inline hr_resample_axis random_axis(int64_t n, hr_interp interp)
{
    hr_resample_axis axis = {0, (double)n, between(1, 90), interp, rnd() % 4 != 0, false};
    if (rnd() % 3 == 0) {
        axis.lo = unit() * (double)n * 0.4;
        axis.hi = (double)n * (0.5 + unit() * 0.6);
    }
    if (rnd() % 5 == 0) {
        double swap = axis.lo;
        axis.lo = axis.hi;
        axis.hi = swap;
    }
    return axis;
}
