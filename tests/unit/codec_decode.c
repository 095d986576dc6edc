/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shared by all codecs: recognising formats, limits, EXIF orientation, colours, element types. */
#include "codec_help.h"

#include "codecs/exif.h"

#include <math.h>

enum { W = 13, H = 7 };

/* A P6 or P5 file; returns its size. */
static size_t make_pnm(uint8_t *file, const uint8_t *pixels, int w, int h, int channels)
{
    int n = sprintf((char *)file, "P%d %d %d 255\n", channels == 3 ? 6 : 5, w, h);
    memcpy(file + n, pixels, (size_t)(w * h * channels));
    return (size_t)(n + w * h * channels);
}

/* A JPEG file with an EXIF segment after SOI that states the orientation. */
static uint8_t *make_turned(const help_jpeg *j, const uint8_t *pixels, int orientation, bool big,
                            size_t *size)
{
    static const uint8_t little_exif[] = {0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f', 0,    0, 'I', 'I',
                                          '*',  0,    8, 0,  0,   0,   1,   0,   0x12, 1, 3,   0,
                                          1,    0,    0, 0,  0,   0,   0,   0,   0,    0, 0,   0};
    static const uint8_t big_exif[] = {0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f', 0, 0,    'M', 'M',
                                       0,    '*',  0, 0,  0,   8,   0,   1,   1, 0x12, 0,   3,
                                       0,    0,    0, 1,  0,   0,   0,   0,   0, 0,    0,   0};
    size_t plain_size, segment = sizeof big_exif;
    uint8_t *plain = help_encode_jpeg(j, pixels, &plain_size);
    uint8_t *file = malloc(plain_size + segment);
    memcpy(file, plain, 2);
    memcpy(file + 2, big ? big_exif : little_exif, segment);
    file[2 + (big ? 29 : 28)] = (uint8_t)orientation;
    memcpy(file + 2 + segment, plain + 2, plain_size - 2);
    free(plain);
    *size = plain_size + segment;
    return file;
}

static bool turned_equal(const help_result *r, const uint8_t *stored, int orientation, hr_window w)
{
    for (int y = 0; y < r->h; y++)
        for (int x = 0; x < r->w; x++)
            if (memcmp(r->data + (size_t)y * r->stride + (size_t)x * 3,
                       stored + 3 * help_turned(H, W, orientation, (int)w.y + y, (int)w.x + x),
                       3) != 0)
                return false;
    return true;
}

TEST(orientations)
{
    uint8_t pixels[W * H * 3];
    help_paint(pixels, W, H, 3);
    help_jpeg j = {.w = W, .h = H, .channels = 3, .quality = 90, .sampling = {2, 2}};
    for (int o = 0; o <= 9; o++)
        for (int big = 0; big < 2; big++) {
            size_t size;
            uint8_t *file = make_turned(&j, pixels, o, big, &size);
            uint8_t *stored = help_bare_jpeg(file, size, JCS_RGB);
            int known = o >= 1 && o <= 8 ? o : 1;
            help_result r;
            CHECK(help_decode(&r, file, size, (hr_window){0}, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8,
                              true));
            CHECK(r.info.orientation == known);
            CHECK(r.h == (known >= 5 ? W : H) && r.w == (known >= 5 ? H : W));
            CHECK(turned_equal(&r, stored, known, (hr_window){0}));
            int full_h = (int)r.h, full_w = (int)r.w;
            free(r.data);
            for (int i = 0; i < 20; i++) {
                hr_window w = help_window(full_h, full_w);
                CHECK(help_decode(&r, file, size, w, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8, true));
                CHECK(turned_equal(&r, stored, known, w));
                free(r.data);
            }
            CHECK(help_decode(&r, file, size, (hr_window){0}, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8,
                              false));
            CHECK(r.h == H && r.w == W && turned_equal(&r, stored, 1, (hr_window){0}));
            free(r.data);
            free(stored);
            free(file);
        }
}

TEST(exif_is_bounded)
{
    uint8_t bytes[64];
    for (int i = 0; i < 200000; i++) {
        size_t size = help_random() % sizeof bytes;
        uint8_t *copy = malloc(size ? size : 1); /* an exact copy, so that a sanitizer detects reads
                                                    beyond it */
        for (size_t k = 0; k < size; k++)
            copy[k] = (uint8_t)(help_random() % 4 ? help_random() % 3 : help_random());
        if (size >= 4)
            memcpy(copy, i % 2 ? "II*" : "MM\0*", 4);
        int32_t orientation = hr_exif_orientation(copy, size);
        free(copy);
        CHECK(orientation >= 1 && orientation <= 8);
    }
}

TEST(unknown_bytes_are_refused)
{
    hr_image_info info;
    hr_error error;
    CHECK(hr_image_probe((const uint8_t *)"", 0, 100, &info, &error) == HR_STATUS_CORRUPT);
    CHECK(hr_image_probe((const uint8_t *)"&&&89a, say", 11, 100, &info, &error) ==
          HR_STATUS_CORRUPT);
    CHECK(strstr(error.message, "JPEG, JPEG 2000, PNG, GIF, BMP, PNM, TIFF, WebP, AVIF, HEIC and"));
}

TEST(pixels_are_limited)
{
    uint8_t pixels[W * H * 3] = {0}, file[sizeof pixels + 64];
    size_t size = make_pnm(file, pixels, W, H, 3);
    hr_image_info info;
    hr_error error;
    CHECK(hr_image_probe(file, size, W * H, &info, &error) == HR_STATUS_OK);
    CHECK(hr_image_probe(file, size, W * H - 1, &info, &error) == HR_STATUS_LIMIT);
    CHECK(strstr(error.message, "13x7") && strstr(error.message, "max_image_pixels"));
}

TEST(windows_outside_are_refused)
{
    uint8_t pixels[W * H * 3] = {0}, file[sizeof pixels + 64];
    size_t size = make_pnm(file, pixels, W, H, 3);
    static const hr_window bad[] = {{-1, 0, 1, 1},       {0, -1, 1, 1}, {0, 0, H + 1, 1},
                                    {0, 0, 1, W + 1},    {H, 0, 1, 1},  {0, W, 1, 1},
                                    {INT64_MAX, 0, 1, 1}};
    for (size_t i = 0; i < HR_COUNT_OF(bad); i++) {
        help_result r;
        CHECK(!help_decode(&r, file, size, bad[i], HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8, true));
        CHECK(r.error.status == HR_STATUS_ERROR);
    }
}

TEST(types_span_their_range)
{
    uint8_t pixels[256], file[400];
    for (int i = 0; i < 256; i++)
        pixels[i] = (uint8_t)i;
    size_t size = make_pnm(file, pixels, 256, 1, 1);
    static const hr_dtype types[] = {HR_DTYPE_INT8, HR_DTYPE_UINT16, HR_DTYPE_INT16, HR_DTYPE_INT32,
                                     HR_DTYPE_FLOAT};
    for (size_t k = 0; k < HR_COUNT_OF(types); k++) {
        help_result r;
        CHECK(help_decode(&r, file, size, (hr_window){0}, HR_IMAGE_TYPE_ANY_DATA, types[k], true));
        for (int i = 0; i < 256; i++) {
            if (types[k] == HR_DTYPE_FLOAT) {
                CHECK(((float *)(void *)r.data)[i] == (float)i * (1.0f / 255));
                continue;
            }
            double want = round(i * hr_dtype_max(types[k]) / 255);
            double got = hr_element_double(r.data, types[k], (size_t)i);
            /* int32 has more digits than float, in which it is computed */
            CHECK(fabs(got - want) <= (types[k] == HR_DTYPE_INT32 ? 512 : 0));
        }
        free(r.data);
    }
    help_result r;
    CHECK(!help_decode(&r, file, size, (hr_window){0}, HR_IMAGE_TYPE_RGB, HR_DTYPE_FLOAT64, true));
    CHECK(strstr(r.error.message, "FLOAT64"));
}

TEST(colours)
{
    uint8_t pixels[W * H * 3], file[sizeof pixels + 64];
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (uint8_t)help_random();
    size_t size = make_pnm(file, pixels, W, H, 3);
    help_result bgr, grey, ycc;
    CHECK(help_decode(&bgr, file, size, (hr_window){0}, HR_IMAGE_TYPE_BGR, HR_DTYPE_UINT8, true));
    CHECK(help_decode(&grey, file, size, (hr_window){0}, HR_IMAGE_TYPE_GRAY, HR_DTYPE_UINT8, true));
    CHECK(help_decode(&ycc, file, size, (hr_window){0}, HR_IMAGE_TYPE_YCBCR, HR_DTYPE_UINT8, true));
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            const uint8_t *p = pixels + (y * W + x) * 3;
            const uint8_t *q = bgr.data + (size_t)y * bgr.stride + (size_t)x * 3;
            const uint8_t *v = ycc.data + (size_t)y * ycc.stride + (size_t)x * 3;
            double luma = .299 * p[0] + .587 * p[1] + .114 * p[2];
            CHECK(q[0] == p[2] && q[1] == p[1] && q[2] == p[0]);
            CHECK(fabs(grey.data[(size_t)y * grey.stride + (size_t)x] - luma) < 0.51);
            CHECK(fabs(v[0] - (16 + 219 / 255.0 * luma)) < 0.501);
            CHECK(fabs(v[1] - (128 + 224 / 255.0 * (p[2] - luma) / 1.772)) < 0.501);
            CHECK(fabs(v[2] - (128 + 224 / 255.0 * (p[0] - luma) / 1.402)) < 0.501);
        }
    free(bgr.data);
    free(grey.data);
    free(ycc.data);
}

TEST(grey_is_repeated)
{
    uint8_t pixels[W * H], file[sizeof pixels + 64];
    help_paint(pixels, W, H, 1);
    size_t size = make_pnm(file, pixels, W, H, 1);
    help_result r;
    CHECK(help_decode(&r, file, size, (hr_window){2, 3, 4, 5}, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8,
                      true));
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 15; x++)
            CHECK(r.data[(size_t)y * r.stride + (size_t)x] == pixels[(y + 2) * W + 3 + x / 3]);
    free(r.data);
    CHECK(
        help_decode(&r, file, size, (hr_window){0}, HR_IMAGE_TYPE_ANY_DATA, HR_DTYPE_UINT8, true));
    CHECK(hr_image_type_channels(&r.info, HR_IMAGE_TYPE_ANY_DATA) == 1);
    CHECK(help_equal(&r, pixels, W, (hr_window){0}, 1));
    free(r.data);
}

TEST_MAIN
