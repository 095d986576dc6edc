/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* PNG: every colour type, depth and interlacing, written by libpng and compared with the original
 * values. */
#include "codec_help.h"

#include <png.h>

typedef struct memory {
    uint8_t *data;
    size_t size;
} memory;

static void on_write(png_structp png, png_bytep bytes, size_t count)
{
    memory *m = png_get_io_ptr(png);
    m->data = realloc(m->data, m->size + count);
    memcpy(m->data + m->size, bytes, count);
    m->size += count;
}

static void on_flush(png_structp png)
{
    (void)png;
}

typedef struct help_png {
    int w, h, type, depth;
    bool interlaced, transparent;
} help_png;

static int samples_of(int type)
{
    return type == PNG_COLOR_TYPE_RGB          ? 3
           : type == PNG_COLOR_TYPE_RGB_ALPHA  ? 4
           : type == PNG_COLOR_TYPE_GRAY_ALPHA ? 2
                                               : 1;
}

static png_color palette[256];

/* `samples`: the file's values as uint16. */
static memory encode(const help_png *p, const uint16_t *samples)
{
    memory m = {0};
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, NULL, NULL);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(png, &m, on_write, on_flush);
    png_set_IHDR(png, info, (png_uint_32)p->w, (png_uint_32)p->h, p->depth, p->type,
                 p->interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, 0, 0);
    for (int i = 0; i < 256; i++)
        palette[i] = (png_color){(png_byte)(i * 3), (png_byte)(255 - i), (png_byte)(i * i)};
    if (p->type == PNG_COLOR_TYPE_PALETTE)
        png_set_PLTE(png, info, palette, 1 << p->depth);
    png_byte alphas[2] = {10, 200};
    png_color_16 key = {
        .red = samples[0], .green = samples[0], .blue = samples[0], .gray = samples[0]};
    if (p->transparent)
        png_set_tRNS(png, info, alphas, p->type == PNG_COLOR_TYPE_PALETTE ? 2 : 0, &key);
    png_write_info(png, info);
    int n = samples_of(p->type) * p->w;
    uint8_t **rows = malloc((size_t)p->h * sizeof *rows);
    for (int y = 0; y < p->h; y++) {
        rows[y] = calloc(1, (size_t)(n * 2 + 8));
        for (int i = 0; i < n; i++) {
            uint16_t v = samples[y * n + i];
            if (p->depth == 16) {
                rows[y][2 * i] = (uint8_t)(v >> 8);
                rows[y][2 * i + 1] = (uint8_t)v;
            } else {
                int per = 8 / p->depth;
                rows[y][i / per] |= (uint8_t)(v << (8 - p->depth - p->depth * (i % per)));
            }
        }
    }
    png_write_image(png, rows);
    png_write_end(png, info);
    for (int y = 0; y < p->h; y++)
        free(rows[y]);
    free(rows);
    png_destroy_write_struct(&png, &info);
    return m;
}

/* The expected 16- or 8-bit value of channel k, of RGB or (`rgb` false) of the file. */
static uint16_t expected(const help_png *p, const uint16_t *pixel, int k, bool rgb)
{
    if (p->type == PNG_COLOR_TYPE_PALETTE) {
        png_color c = palette[pixel[0]];
        return k == 0 ? c.red : k == 1 ? c.green : c.blue;
    }
    bool grey = p->type == PNG_COLOR_TYPE_GRAY || p->type == PNG_COLOR_TYPE_GRAY_ALPHA;
    uint16_t v = pixel[rgb && grey ? 0 : k];
    return p->depth >= 8 ? v : (uint16_t)(v * (255 / ((1 << p->depth) - 1)));
}

static bool window_good(const help_png *p, const uint16_t *samples, const memory *m, hr_window w,
                        bool rgb)
{
    hr_dtype dtype = p->depth == 16 ? HR_DTYPE_UINT16 : HR_DTYPE_UINT8;
    help_result r;
    bool good = help_decode(&r, m->data, m->size, w,
                            rgb ? HR_IMAGE_TYPE_RGB : HR_IMAGE_TYPE_ANY_DATA, dtype, true);
    int n = samples_of(p->type);
    int channels = rgb || p->type == PNG_COLOR_TYPE_PALETTE ? 3 : n;
    good = good && hr_image_type_channels(&r.info, rgb ? HR_IMAGE_TYPE_RGB
                                                       : HR_IMAGE_TYPE_ANY_DATA) == channels;
    for (int64_t y = 0; y < w.h && good; y++)
        for (int64_t i = 0; i < w.w * channels && good; i++) {
            const uint16_t *pixel = samples + ((w.y + y) * p->w + w.x + i / channels) * n;
            double got = hr_element_double(r.data + (size_t)y * r.stride, dtype, (size_t)i);
            good = got == expected(p, pixel, (int)(i % channels), rgb);
        }
    if (!good)
        printf("type %d depth %d %dx%d interlaced %d transparent %d rgb %d: %s\n", p->type,
               p->depth, p->w, p->h, p->interlaced, p->transparent, rgb, r.error.message);
    free(r.data);
    return good;
}

TEST(all_types)
{
    static const int kinds[][2] = {{0, 1}, {0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 8}, {2, 16}, {3, 1},
                                   {3, 2}, {3, 4}, {3, 8}, {4, 8}, {4, 16}, {6, 8}, {6, 16}};
    for (size_t k = 0; k < HR_COUNT_OF(kinds); k++)
        for (int i = 0; i < 24; i++) {
            help_png p = {.w = help_between(1, 40),
                          .h = help_between(1, 40),
                          .type = kinds[k][0],
                          .depth = kinds[k][1],
                          .interlaced = i % 2,
                          .transparent = i % 4 >= 2 && kinds[k][0] < 4};
            int count = p.w * p.h * samples_of(p.type);
            uint16_t *samples = malloc((size_t)count * sizeof *samples);
            for (int e = 0; e < count; e++)
                samples[e] = (uint16_t)(help_random() & ((1u << p.depth) - 1));
            memory m = encode(&p, samples);
            CHECK(window_good(&p, samples, &m, (hr_window){0, 0, p.h, p.w}, true));
            for (int n = 0; n < 4; n++)
                CHECK(window_good(&p, samples, &m, help_window(p.h, p.w), n % 2));
            free(m.data);
            free(samples);
        }
}

TEST(sixteen_bits_to_eight)
{
    help_png p = {.w = 256, .h = 256, .type = PNG_COLOR_TYPE_GRAY, .depth = 16};
    uint16_t *samples = malloc(65536 * sizeof *samples);
    for (int i = 0; i < 65536; i++)
        samples[i] = (uint16_t)i;
    memory m = encode(&p, samples);
    help_result r;
    CHECK(
        help_decode(&r, m.data, m.size, (hr_window){0}, HR_IMAGE_TYPE_GRAY, HR_DTYPE_UINT8, true));
    for (int i = 0; i < 65536; i++)
        CHECK(r.data[(size_t)(i / 256) * r.stride + (size_t)(i % 256)] == (i * 2 + 257) / 514);
    free(r.data);
    free(m.data);
    free(samples);
}

TEST(truncated_files_are_errors)
{
    help_png p = {.w = 40, .h = 40, .type = PNG_COLOR_TYPE_RGB, .depth = 8};
    uint16_t samples[40 * 40 * 3];
    for (size_t i = 0; i < HR_COUNT_OF(samples); i++)
        samples[i] = (uint16_t)(help_random() & 255);
    memory m = encode(&p, samples);
    for (size_t size = 0; size + 40 < m.size; size += 37) {
        help_result r;
        CHECK(!help_decode(&r, m.data, size, (hr_window){0}, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8,
                           true));
        CHECK(r.error.status == HR_STATUS_CORRUPT && r.error.message[0]);
    }
    free(m.data);
}

TEST_MAIN
