/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Our own JPEG decoder against libjpeg-turbo: generated files of every sequential kind that it
 * decodes, on every CPU level, whole and in windows, and photographs. */
#include "jpeg_match.h"
#include "photographs.h"

/* ---- generated files ---- */

static bool generated_matches(int round, int side)
{
    files_kind j;
    size_t size;
    uint8_t *file = files_generate(round, side, &j, &size);
    bool good =
        matches(file, size, j.h, j.w, j.channels == 1 || (!j.rgb && round % 7 == 0) ? 1 : 3, 2);
    if (!good)
        printf("%dx%d channels %d quality %d sampling %dx%d rgb %d restart %d\n", j.w, j.h,
               j.channels, j.quality, j.sampling[0], j.sampling[1], j.rgb, j.restart);
    free(file);
    return good;
}

TEST(small_files)
{
    for (int i = 0; i < 5000; i++)
        CHECK(generated_matches(i, 70));
}

TEST(large_files)
{
    for (int i = 0; i < 40; i++)
        CHECK(generated_matches(i, 500));
}

/* ---- coefficients that no image has ---- */

TEST(coefficients_that_no_image_has)
{
    for (int i = 0; i < 400; i++) {
        size_t size;
        int width, height;
        uint8_t *file = files_wild(&width, &height, &size);
        CHECK(matches(file, size, height, width, 3, 1));
        free(file);
    }
}

TEST(extreme_quantisers_and_coefficients)
{
    for (int i = 0; i < 400; i++) {
        size_t size;
        int width, height;
        uint8_t *file = files_hostile(&width, &height, &size);
        CHECK(matches(file, size, height, width, 3, 1));
        free(file);
    }
}

/* ---- files left to libjpeg-turbo ---- */

TEST(others_are_left)
{
    static const help_jpeg kinds[] = {
        {.w = 40, .h = 30, .channels = 3, .quality = 80, .sampling = {1, 1}, .arithmetic = true},
        {.w = 40,
         .h = 30,
         .channels = 3,
         .quality = 80,
         .sampling = {1, 1},
         .interleave_off = true},
        {.w = 40, .h = 30, .channels = 4, .quality = 80, .sampling = {1, 1}},
        {.w = 40, .h = 30, .channels = 3, .quality = 80, .sampling = {2, 4}}};
    uint8_t pixels[40 * 30 * 4];
    help_paint(pixels, 40, 30, 4);
    for (size_t i = 0; i < HR_COUNT_OF(kinds); i++) {
        size_t size;
        uint8_t *file = help_encode_jpeg(&kinds[i], pixels, &size);
        own r = decode_own(file, size, (hr_window){0, 0, 30, 40}, 3, NULL);
        CHECK(!r.done);
        free(r.data);
        free(file);
    }
}

TEST(damage_is_left)
{
    help_jpeg j = {
        .w = 60, .h = 50, .channels = 3, .quality = 80, .sampling = {2, 1}, .restart = 4};
    uint8_t pixels[60 * 50 * 3];
    size_t size;
    help_paint(pixels, 60, 50, 3);
    uint8_t *file = help_encode_jpeg(&j, pixels, &size);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, file, cut);
        own r = decode_own(part, cut, (hr_window){0, 0, 50, 60}, 3, NULL);
        CHECK(r.done == (cut == size)); /* also if only the EOI marker is missing */
        free(r.data);
        free(part);
    }
    for (size_t i = 0; i + 1 < size; i++)
        if (file[i] == 0xFF && file[i + 1] == 0xD3)
            file[i + 1] = 0xD4;
    own r = decode_own(file, size, (hr_window){0, 0, 50, 60}, 3, NULL);
    CHECK(!r.done);
    free(r.data);
    free(file);
}

/* ---- photographs ---- */

static bool photograph_matches(const photograph *p)
{
    hr_image_info info;
    hr_error error;
    return hr_image_probe(p->bytes, p->size, MAX_PIXELS, &info, &error) == HR_STATUS_OK &&
           matches(p->bytes, p->size, info.height, info.width, info.channels, 2);
}

TEST(photographs)
{
    CHECK(photographs_all(photograph_matches));
}

TEST_MAIN
