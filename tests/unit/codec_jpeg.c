/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* JPEG: every window equals the same window of what bare libjpeg-turbo decodes, for all samplings,
 * kinds of files and sizes; damaged files end in pixels or an error. */
#include "codec_help.h"

static const int samplings[][2] = {{1, 1}, {2, 1}, {2, 2}, {1, 2}, {4, 1}, {1, 4}, {4, 2}, {2, 4}};

/* One random file of the kind given, some windows of it. */
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
            printf(
                "%dx%d channels %d quality %d sampling %dx%d progressive %d separate %d restart %d "
                "grey %d window %d,%d %dx%d: %s\n",
                j.w, j.h, j.channels, j.quality, j.sampling[0], j.sampling[1], j.progressive,
                j.interleave_off, j.restart, grey, (int)w.x, (int)w.y, (int)w.w, (int)w.h,
                r.error.message);
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
                   .progressive = help_random() % 4 == 0,
                   .interleave_off = help_random() % 6 == 0,
                   .restart = help_random() % 4 == 0 ? help_between(1, 9) : 0};
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

TEST_MAIN
