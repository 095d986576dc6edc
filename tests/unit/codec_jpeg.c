/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG: every window equals the same window of the image that libjpeg-turbo decodes, for all
 * samplings, kinds of files and sizes. Damaged files give pixels or an error. */
#include "codec_help.h"

/* Luma and chroma, horizontal and vertical. No encoder writes the last ones, but libjpeg reads
 * them. */
static const int samplings[][4] = {{1, 1, 1, 1}, {2, 1, 1, 1}, {2, 2, 1, 1}, {1, 2, 1, 1},
                                   {4, 1, 1, 1}, {1, 4, 1, 1}, {4, 2, 1, 1}, {2, 4, 1, 1},
                                   {3, 1, 1, 1}, {1, 3, 1, 1}, {3, 2, 1, 1}, {2, 2, 2, 1},
                                   {2, 2, 1, 2}, {1, 1, 2, 1}, {1, 1, 2, 2}, {2, 1, 1, 2}};

/* Decodes some windows of a random file of the given kind. */
static bool windows_match(help_jpeg j, int windows)
{
    uint8_t *pixels = malloc((size_t)(j.w * j.h * j.channels));
    help_paint(pixels, j.w, j.h, j.channels);
    size_t size;
    uint8_t *file = help_encode_jpeg(&j, pixels, &size);
    bool grey = j.channels == 1 || help_random() % 4 == 0;
    hr_image_type type = grey ? HR_IMAGE_TYPE_GRAY : HR_IMAGE_TYPE_RGB;
    uint8_t *want = help_bare_jpeg(file, size, grey ? JCS_GRAYSCALE : JCS_RGB);
    bool good = true;
    for (int i = 0; i < windows && good; i++) {
        hr_window w = i == 0 ? (hr_window){0, 0, j.h, j.w} : help_window(j.h, j.w);
        help_result r;
        good = help_decode(&r, file, size, w, type, HR_DTYPE_UINT8, true) &&
               help_equal(&r, want, j.w, w, grey ? 1 : 3);
        if (!good)
            printf("%dx%d channels %d quality %d sampling %dx%d:%dx%d progressive %d "
                   "arithmetic %d separate %d restart %d "
                   "grey %d window %d,%d %dx%d: %s\n",
                   j.w, j.h, j.channels, j.quality, j.sampling[0], j.sampling[1], j.chroma[0],
                   j.chroma[1], j.progressive, j.arithmetic, j.interleave_off, j.restart, grey,
                   (int)w.x, (int)w.y, (int)w.w, (int)w.h, r.error.message);
        free(r.data);
    }
    free(want);
    free(file);
    free(pixels);
    return good;
}

static help_jpeg random_kind(int size)
{
    size_t s = help_random() % HR_COUNT_OF(samplings);
    help_jpeg j = {.w = help_between(1, size),
                   .h = help_between(1, size),
                   .channels = help_random() % 8 == 0 ? 1 : 3,
                   .quality = help_between(1, 100),
                   .sampling = {samplings[s][0], samplings[s][1]},
                   .chroma = {samplings[s][2], samplings[s][3]},
                   .progressive = help_random() % 4 == 0,
                   .interleave_off = help_random() % 6 == 0,
                   .restart = help_random() % 4 == 0 ? help_between(1, 9) : 0};
    j.arithmetic = help_random() % 8 == 0;
    j.interleave_off = j.interleave_off && !j.progressive;
    return j;
}

TEST(small_windows)
{
    for (int i = 0; i < 3000; i++)
        CHECK(windows_match(random_kind(70), 6));
}

TEST(large_windows)
{
    for (int i = 0; i < 60; i++)
        CHECK(windows_match(random_kind(400), 12));
}

/* Removes Adobe's segment (APP14), if the file has one. */
static void drop_adobe(uint8_t *file, size_t *size)
{
    for (size_t i = 2; i + 16 < *size; i++)
        if (file[i] == 0xFF && file[i + 1] == 0xEE && memcmp(file + i + 4, "Adobe", 5) == 0) {
            memmove(file + i, file + i + 16, *size - i - 16);
            *size -= 16;
            return;
        }
}

/* CMYK to RGB: each ink leaves its share of the light. Adobe's files store the share, others the
 * ink. */
static bool inks_match(const uint8_t *file, size_t size, int w, int h, bool adobe)
{
    uint8_t *inks = help_bare_jpeg(file, size, JCS_CMYK);
    bool good = true;
    for (int i = 0; i < 5 && good; i++) {
        hr_window q = i == 0 ? (hr_window){0, 0, h, w} : help_window(h, w);
        help_result r, grey;
        good = help_decode(&r, file, size, q, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8, true);
        good = help_decode(&grey, file, size, q, HR_IMAGE_TYPE_GRAY, HR_DTYPE_UINT8, true) && good;
        for (int64_t p = 0; p < q.h * q.w && good; p++) {
            const uint8_t *ink = inks + ((q.y + p / q.w) * w + q.x + p % q.w) * 4;
            const uint8_t *rgb = r.data + (size_t)(p / q.w) * r.stride + (size_t)(p % q.w) * 3;
            int luma = grey.data[(size_t)(p / q.w) * grey.stride + (size_t)(p % q.w)];
            for (int k = 0; k < 3; k++)
                good = good &&
                       rgb[k] == (adobe ? ink[k] * ink[3] : (255 - ink[k]) * (255 - ink[3])) / 255;
            good = good && luma == (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2]) / 1000;
        }
        free(r.data);
        free(grey.data);
    }
    free(inks);
    return good;
}

TEST(inks)
{
    for (int i = 0; i < 40; i++) {
        int s = 1 + i % 2; /* 1: CMYK, 2: YCCK */
        help_jpeg j = {.w = help_between(1, 60),
                       .h = help_between(1, 60),
                       .channels = 4,
                       .quality = 90,
                       .sampling = {s, s}};
        uint8_t *pixels = malloc((size_t)(j.w * j.h * 4));
        help_paint(pixels, j.w, j.h, 4);
        size_t size;
        uint8_t *file = help_encode_jpeg(&j, pixels, &size);
        CHECK(inks_match(file, size, j.w, j.h, true));
        if (s == 1) {
            drop_adobe(file, &size);
            CHECK(inks_match(file, size, j.w, j.h, false));
        }
        free(file);
        free(pixels);
    }
}

TEST_MAIN
