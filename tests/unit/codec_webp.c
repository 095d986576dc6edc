/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* WebP: windows of lossy and lossless files, with and without alpha, equal those of the picture
 * that libwebp decodes. */
#include "codec_help.h"

#include <webp/decode.h>
#include <webp/encode.h>

static uint8_t *encode(const uint8_t *pixels, int w, int h, bool alpha, float quality, int filter,
                       size_t *size)
{
    WebPConfig config;
    WebPPicture picture;
    WebPMemoryWriter writer;
    WebPConfigInit(&config);
    WebPPictureInit(&picture);
    WebPMemoryWriterInit(&writer);
    config.lossless = quality < 0;
    config.quality = quality < 0 ? 20 : quality;
    config.method = 1;
    config.filter_type = filter & 1;
    config.filter_strength = filter * 20;
    config.exact = 1;
    picture.use_argb = config.lossless;
    picture.width = w;
    picture.height = h;
    picture.writer = WebPMemoryWrite;
    picture.custom_ptr = &writer;
    if (alpha)
        WebPPictureImportRGBA(&picture, pixels, w * 4);
    else
        WebPPictureImportRGB(&picture, pixels, w * 3);
    WebPEncode(&config, &picture);
    WebPPictureFree(&picture);
    *size = writer.size;
    return writer.mem;
}

static bool file_good(int size_max, int windows)
{
    int w = help_between(1, size_max), h = help_between(1, size_max);
    bool alpha = help_random() % 2;
    float quality = help_random() % 3 == 0 ? -1.0f : (float)help_between(1, 100);
    int filter = help_between(0, 4);
    uint8_t *pixels = malloc((size_t)(w * h * 4));
    help_paint(pixels, w, h, alpha ? 4 : 3);
    size_t size;
    uint8_t *file = encode(pixels, w, h, alpha, quality, filter, &size);
    int full_w, full_h;
    uint8_t *rgb = WebPDecodeRGB(file, size, &full_w, &full_h);
    uint8_t *rgba = WebPDecodeRGBA(file, size, &full_w, &full_h);
    bool good = rgb && rgba;
    for (int i = 0; i < windows && good; i++) {
        hr_window window = i == 0 ? (hr_window){0, 0, h, w} : help_window(h, w);
        help_result r;
        bool any = alpha && i % 2;
        good = help_decode(&r, file, size, window, any ? HR_IMAGE_TYPE_ANY_DATA : HR_IMAGE_TYPE_RGB,
                           HR_DTYPE_UINT8, true) &&
               help_equal(&r, any ? rgba : rgb, w, window, any ? 4 : 3);
        if (!good)
            printf("%dx%d alpha %d quality %g filter %d window %d,%d %dx%d: %s\n", w, h, alpha,
                   (double)quality, filter, (int)window.x, (int)window.y, (int)window.w,
                   (int)window.h, r.error.message);
        free(r.data);
    }
    WebPFree(rgb);
    WebPFree(rgba);
    WebPFree(file);
    free(pixels);
    return good;
}

TEST(small_windows)
{
    for (int i = 0; i < 400; i++)
        CHECK(file_good(60, 6));
}

TEST(large_windows)
{
    for (int i = 0; i < 12; i++)
        CHECK(file_good(300, 10));
}

TEST_MAIN
