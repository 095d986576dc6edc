/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* PNM: the six kinds, comments, maximum values other than 255, windows, truncated files. */
#include "codec_help.h"

/* Decodes a file without converting its colours and compares all values. */
static bool gives(const char *bytes, size_t size, hr_dtype dtype, int h, int w, int channels,
                  const int *want)
{
    help_result r;
    if (!help_decode(&r, (const uint8_t *)bytes, size, (hr_window){0}, HR_IMAGE_TYPE_ANY_DATA,
                     dtype, true)) {
        printf("%s\n", r.error.message);
        return false;
    }
    bool good = r.h == h && r.w == w && r.info.channels == channels;
    for (int i = 0; i < h * w * channels && good; i++) {
        int row = w * channels;
        good = hr_element_int(r.data + (size_t)(i / row) * r.stride, dtype, (size_t)(i % row)) ==
               want[i];
    }
    free(r.data);
    return good;
}

#define GIVES(text, dtype, h, w, channels, ...)                                                    \
    gives(text, sizeof(text) - 1, HR_DTYPE_##dtype, h, w, channels, (const int[]){__VA_ARGS__})

TEST(bitmaps)
{
    CHECK(GIVES("P1\n3 2\n1 0 1\n0 1 0\n", UINT8, 2, 3, 1, 0, 255, 0, 255, 0, 255));
    CHECK(GIVES("P1 3 2 101010", UINT8, 2, 3, 1, 0, 255, 0, 255, 0, 255));
    CHECK(GIVES("P4 10 2\n\xa0\x40\x00\x80", UINT8, 2, 10, 1, 0, 255, 0, 255, 255, 255, 255, 255,
                255, 0, 255, 255, 255, 255, 255, 255, 255, 255, 0, 255));
}

TEST(greys)
{
    CHECK(GIVES("P2\n# of noise\n4 1 #wide\n255\n0 1 254 255", UINT8, 1, 4, 1, 0, 1, 254, 255));
    CHECK(GIVES("P2 4 1 100 0 33 50 100\n", UINT8, 1, 4, 1, 0, 84, 128, 255));
    CHECK(GIVES("P5 4 1 100\n\x00\x21\x32\xc8", UINT8, 1, 4, 1, 0, 84, 128, 255));
    CHECK(GIVES("P5 2 1 65535\n\x12\x34\xff\xff", UINT16, 1, 2, 1, 0x1234, 65535));
    CHECK(GIVES("P5 2 1 65535\n\x12\x34\xff\xff", UINT8, 1, 2, 1, 18, 255));
    CHECK(GIVES("P2 2 1 1000 500 1000", UINT16, 1, 2, 1, 32768, 65535));
    CHECK(GIVES("P5 1 1 1\n\x01", UINT8, 1, 1, 1, 255));
}

TEST(colours)
{
    CHECK(GIVES("P3 1 2 255 1 2 3 4 5 6", UINT8, 2, 1, 3, 1, 2, 3, 4, 5, 6));
    CHECK(GIVES("P6\t1\n2 255 \x01\x02\x03\x04\x05\x06", UINT8, 2, 1, 3, 1, 2, 3, 4, 5, 6));
    CHECK(GIVES("P6 1 1 65535\n\x00\x01\x02\x03\xff\xfe", UINT16, 1, 1, 3, 1, 515, 65534));
}

TEST(windows)
{
    enum { W = 19, H = 11 };
    uint8_t pixels[W * H * 3], plain[W * H * 12 + 64], binary[W * H * 3 + 64];
    help_paint(pixels, W, H, 3);
    int head = sprintf((char *)binary, "P6 %d %d 255\n", W, H);
    memcpy(binary + head, pixels, sizeof pixels);
    int n = sprintf((char *)plain, "P3 %d %d 255\n", W, H);
    for (size_t i = 0; i < sizeof pixels; i++)
        n += sprintf((char *)plain + n, "%d ", pixels[i]);
    for (int i = 0; i < 50; i++) {
        hr_window w = help_window(H, W);
        help_result r;
        CHECK(help_decode(&r, binary, sizeof pixels + (size_t)head, w, HR_IMAGE_TYPE_RGB,
                          HR_DTYPE_UINT8, true));
        CHECK(help_equal(&r, pixels, W, w, 3));
        free(r.data);
        CHECK(help_decode(&r, plain, (size_t)n, w, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8, true));
        CHECK(help_equal(&r, pixels, W, w, 3));
        free(r.data);
    }
}

TEST(bad_files)
{
    static const char *const bad[] = {"P5 ",
                                      "P5 0 1 255 x",
                                      "P5 4 1 0\nabcd",
                                      "P5 4 1 70000\nabcd",
                                      "P5 4 2 255\nabcdefg",
                                      "P2 2 1 255 1",
                                      "P1 2 1 1 2",
                                      "P6 99999999999 1 255 a",
                                      "P4 -1 4\na",
                                      "P3 1 1 255 1 2 x"};
    for (size_t i = 0; i < HR_COUNT_OF(bad); i++) {
        help_result r;
        CHECK(!help_decode(&r, (const uint8_t *)bad[i], strlen(bad[i]), (hr_window){0},
                           HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8, true));
        CHECK(r.error.status == HR_STATUS_CORRUPT && strncmp(r.error.message, "PNM: ", 5) == 0);
    }
}

TEST_MAIN
