/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Planes of videos to RGB: every CPU level against formulas in double precision written here, with
 * guard bytes, and the levels against one another. tests/python/test_video_frames.py compares with
 * libswscale. */
#include "test.h"
#include "xorshift.h"

#include "codecs/video/planes.h"
#include "kernels/yuv.h"

#include <math.h>
#include <stdlib.h>

enum { GUARD = 64, MOST = 100 };

static const hr_kernels *level(int i)
{
    static const hr_cpu_level wanted[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    const hr_kernels *k = hr_kernels_get(wanted[i]);
    return k->level == wanted[i] ? k : NULL;
}

typedef struct planes {
    hr_video_picture picture;
    hr_yuv_matrix matrix;
    bool full_range, mirrored;
    int32_t rotation;
    void *memory[3];
} planes;

static int32_t chroma_size(int32_t size, int32_t shift)
{
    return (size + (1 << shift) - 1) >> shift;
}

static planes random_planes(int32_t width, int32_t height, int32_t bits, int32_t sx, int32_t sy)
{
    planes p = {.picture = {.width = width, .height = height, .bits = bits}};
    p.picture.shift_x = sx;
    p.picture.shift_y = sy;
    p.full_range = rnd() % 2;
    p.matrix = (hr_yuv_matrix)(rnd() % 5);
    p.rotation = rnd() % 2 ? 90 * (int32_t)(rnd() % 4) : 0;
    p.mirrored = rnd() % 4 == 0;
    for (int i = 0; i < 3; i++) {
        size_t w = (size_t)chroma_size(width, i ? sx : 0);
        size_t h = (size_t)chroma_size(height, i ? sy : 0);
        size_t size = bits > 8 ? 2 : 1;
        uint8_t *bytes = malloc(w * h * size); /* exactly, for the address sanitizer */
        for (size_t k = 0; k < w * h; k++) {
            uint32_t v = rnd() & ((1u << bits) - 1);
            if (bits > 8)
                ((uint16_t *)(void *)bytes)[k] = (uint16_t)v;
            else
                bytes[k] = (uint8_t)v;
        }
        p.memory[i] = bytes;
        p.picture.plane[i] = bytes;
        p.picture.stride[i] = (int64_t)(w * size);
    }
    return p;
}

static void free_planes(planes *p)
{
    for (int i = 0; i < 3; i++)
        free(p->memory[i]);
}

static double stored(const planes *p, int plane, int32_t x, int32_t y)
{
    const hr_video_picture *v = &p->picture;
    int32_t w = chroma_size(v->width, plane ? v->shift_x : 0);
    int32_t h = chroma_size(v->height, plane ? v->shift_y : 0);
    x = x < 0 ? 0 : x >= w ? w - 1 : x;
    y = y < 0 ? 0 : y >= h ? h - 1 : y;
    size_t at = (size_t)y * (size_t)w + (size_t)x;
    double value = v->bits > 8 ? ((const uint16_t *)p->memory[plane])[at]
                               : ((const uint8_t *)p->memory[plane])[at];
    return value / (1 << (v->bits - 8));
}

/* Chroma at a pixel: linear between the centres of its samples. */
static double chroma_at(const planes *p, int plane, int32_t x, int32_t y)
{
    const hr_video_picture *v = &p->picture;
    double w = chroma_size(v->width, v->shift_x), h = chroma_size(v->height, v->shift_y);
    double fx = (x + 0.5) * w / v->width - 0.5, fy = (y + 0.5) * h / v->height - 0.5;
    int32_t ix = (int32_t)floor(fx), iy = (int32_t)floor(fy);
    fx -= ix;
    fy -= iy;
    double top = stored(p, plane, ix, iy) * (1 - fx) + stored(p, plane, ix + 1, iy) * fx;
    double low = stored(p, plane, ix, iy + 1) * (1 - fx) + stored(p, plane, ix + 1, iy + 1) * fx;
    return top * (1 - fy) + low * fy;
}

static hr_video_form form_of(const planes *p, bool ycbcr)
{
    const hr_video_picture *v = &p->picture;
    return (hr_video_form){.ycbcr = ycbcr,
                           .colors = hr_yuv_colors_of(v->bits, p->full_range, p->matrix),
                           .place = hr_yuv_place_of(v->width, v->height, p->rotation, p->mirrored)};
}

/* Where a pixel is in the turned picture. */
static size_t turned(const planes *p, int32_t x, int32_t y)
{
    const int32_t w = p->picture.width, h = p->picture.height;
    x = p->mirrored ? w - 1 - x : x;
    for (int32_t angle = p->rotation, tall = h, wide = w, old; angle > 0; angle -= 90) {
        old = x; /* a quarter turn: the lower left corner becomes the upper left one */
        x = tall - 1 - y;
        y = old;
        old = tall;
        tall = wide;
        wide = old;
    }
    return (size_t)y * (size_t)(p->rotation % 180 ? h : w) + (size_t)x;
}

static int32_t nearest(double v)
{
    return v < 0 ? 0 : v > 255 ? 255 : (int32_t)floor(v + 0.5);
}

static void want_pixel(const planes *p, int32_t x, int32_t y, int32_t want[3])
{
    double u = chroma_at(p, 1, x, y) - 128, v = chroma_at(p, 2, x, y) - 128;
    double luma = stored(p, 0, x, y), scale = 1;
    static const double weights[5][2] = {
        {0.299, 0.114}, {0.2126, 0.0722}, {0.2627, 0.0593}, {0.30, 0.11}, {0.212, 0.087}};
    const double red = weights[p->matrix][0], blue = weights[p->matrix][1];
    const double green = 1 - red - blue;
    if (!p->full_range) {
        luma = (luma - 16) * 255 / 219;
        scale = 255.0 / 224;
    }
    want[0] = nearest(luma + 2 * (1 - red) * scale * v);
    want[1] = nearest(luma - 2 * blue * (1 - blue) / green * scale * u -
                      2 * red * (1 - red) / green * scale * v);
    want[2] = nearest(luma + 2 * (1 - blue) * scale * u);
}

static void check_level(const hr_kernels *k, const planes *p, uint8_t *out, size_t size)
{
    hr_video_scratch scratch = {0};
    hr_error error;
    memset(out, 0xA5, size + 2 * GUARD);
    const hr_video_form form = form_of(p, false);
    CHECK(hr_video_pixels(k, &p->picture, &form, out + GUARD, &scratch, &error) == HR_STATUS_OK);
    for (int i = 0; i < GUARD; i++)
        CHECK(out[i] == 0xA5 && out[GUARD + size + (size_t)i] == 0xA5);
    hr_video_scratch_fini(&scratch);
}

TEST(pictures)
{
    static uint8_t out[3][3 * MOST * MOST + 2 * GUARD];
    int64_t off = 0, total = 0;
    for (int round = 0; round < 400; round++) {
        int32_t w = 1 + (int32_t)(rnd() % MOST), h = 1 + (int32_t)(rnd() % 20);
        int32_t bits = (int32_t[]){8, 8, 10, 12}[rnd() % 4], sx = (int32_t)(rnd() % 3);
        planes p = random_planes(w, h, bits, sx, (int32_t)(rnd() % 2));
        size_t size = (size_t)w * (size_t)h * 3;
        for (int i = 0; i < 3; i++)
            if (level(i)) {
                check_level(level(i), &p, out[i], size);
                CHECK(memcmp(out[0] + GUARD, out[i] + GUARD, size) == 0);
            }
        for (size_t i = 0; i < size / 3; i++) {
            int32_t want[3], x = (int32_t)i % w, y = (int32_t)i / w;
            const size_t at = GUARD + 3 * turned(&p, x, y);
            want_pixel(&p, x, y, want);
            for (size_t c = 0; c < 3; c++) { /* ties may fall to the other side */
                CHECK(abs(out[0][at + c] - want[c]) <= 1);
                off += out[0][at + c] != want[c];
                total++;
            }
        }
        free_planes(&p);
    }
    CHECK(off < total / 100);
    printf("%lld of %lld bytes rounded the other way\n", (long long)off, (long long)total);
}

/* Luma and chroma as they are stored: pictures with chroma for every pixel are copied. */
TEST(stored_colours)
{
    static uint8_t out[3 * MOST * MOST + 2 * GUARD];
    hr_video_scratch scratch = {0};
    hr_error error;
    planes p = random_planes(31, 7, 8, 0, 0);
    p.rotation = p.mirrored = 0;
    hr_video_form stored_form = form_of(&p, true), rgb = form_of(&p, false);
    CHECK(hr_video_pixels(level(0), &p.picture, &stored_form, out, &scratch, &error) ==
          HR_STATUS_OK);
    for (size_t i = 0; i < 3 * 31 * 7; i++)
        CHECK(out[i] == ((const uint8_t *)p.memory[i % 3])[i / 3]);
    p.picture.colors = HR_VIDEO_COLORS_GBR;
    CHECK(hr_video_pixels(level(0), &p.picture, &rgb, out, &scratch, &error) == HR_STATUS_OK);
    for (size_t i = 0; i < 3 * 31 * 7; i++)
        CHECK(out[i] == ((const uint8_t *)p.memory[(i + 2) % 3])[i / 3]);
    CHECK(hr_video_pixels(level(0), &p.picture, &stored_form, out, &scratch, &error) !=
          HR_STATUS_OK);
    free_planes(&p);
    for (int32_t width = 30; width < 32; width++) { /* interpolated, within 1 */
        p = random_planes(width, 8, 10, 1, 1);
        p.rotation = p.mirrored = 0;
        stored_form = form_of(&p, true);
        CHECK(hr_video_pixels(level(0), &p.picture, &stored_form, out, &scratch, &error) ==
              HR_STATUS_OK);
        for (int32_t i = 0; i < width * 8; i++)
            for (int c = 0; c < 3; c++) {
                int32_t x = i % width, y = i / width;
                double want = c ? chroma_at(&p, c, x, y) : stored(&p, 0, x, y);
                CHECK(abs(out[3 * i + c] - nearest(want)) <= 1);
            }
        free_planes(&p);
    }
    hr_video_scratch_fini(&scratch);
}

TEST_MAIN
