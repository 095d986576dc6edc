/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Our own decoder of progressive JPEG files against libjpeg-turbo: the usual scans, random ones,
 * coefficients that no image has, photographs, and truncated files. */
#include "jpeg_match.h"
#include "jpeg_scans.h"
#include "photographs.h"

static bool generated_matches(int round, int side)
{
    files_kind j;
    size_t size;
    uint8_t *file = files_generate(round, side, &j, &size);
    script s = random_script(j.channels);
    bool usual = round % 3 == 0;
    uint8_t *again = progressive(file, &size, usual ? NULL : &s, -1);
    bool grey = j.channels == 1 || (!j.rgb && round % 7 == 0);
    bool good = matches(again, size, j.h, j.w, grey ? 1 : 3, 1);
    if (!good)
        printf("%dx%d channels %d quality %d sampling %dx%d rgb %d restart %d, %d passes\n", j.w,
               j.h, j.channels, j.quality, j.sampling[0], j.sampling[1], j.rgb, j.restart,
               usual ? 0 : s.count);
    free(again);
    free(file);
    return good;
}

TEST(small_files)
{
    for (int i = 0; i < 3000; i++)
        CHECK(generated_matches(i, 70));
}

TEST(large_files)
{
    for (int i = 0; i < 30; i++)
        CHECK(generated_matches(i, 400));
}

TEST(coefficients_that_no_image_has)
{
    for (int i = 0; i < 300; i++) {
        size_t size;
        int width, height;
        uint8_t *file = files_wild(&width, &height, &size);
        script s = random_script(3);
        uint8_t *again = progressive(file, &size, &s, help_between(0, 5));
        CHECK(matches(again, size, height, width, 3, 1));
        free(again);
        free(file);
    }
}

/* ---- files left to libjpeg-turbo ---- */

static uint8_t *some_file(int *w, int *h, size_t *size)
{
    files_kind j;
    uint8_t *file;
    do { /* of three components, none of them empty */
        file = files_generate(40, 60, &j, size);
        if (j.channels == 3 && *size > 1500)
            break;
        free(file);
    } while (true);
    *w = j.w;
    *h = j.h;
    return file;
}

static bool is_taken(const uint8_t *file, size_t size, int w, int h)
{
    own r = decode_own(file, size, (hr_window){0, 0, h, w}, 3, NULL);
    free(r.data);
    return r.done;
}

TEST(incomplete_files_are_left)
{
    int w, h;
    size_t before;
    uint8_t *file = some_file(&w, &h, &before);
    for (int round = 0; round < 60; round++) {
        script s = random_script(3);
        size_t size = before, least = before;
        uint8_t *all = progressive(file, &size, &s, 0);
        CHECK(is_taken(all, size, w, h));
        s.count = help_between(3, s.count - 1); /* libjpeg-turbo requires all DC scans */
        uint8_t *some = progressive(file, &least, &s, 0);
        CHECK(least < size && !is_taken(some, least, w, h));
        free(some);
        free(all);
    }
    free(file);
}

TEST(cut_files_are_left)
{
    int w, h;
    size_t size;
    uint8_t *file = some_file(&w, &h, &size), *all = progressive(file, &size, NULL, 3);
    for (size_t cut = 0; cut <= size; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, all, cut);
        CHECK(is_taken(part, cut, w, h) == (cut == size));
        free(part);
    }
    free(all);
    free(file);
}

/* ---- photographs ---- */

static bool photograph_matches(const photograph *p)
{
    hr_image_info info;
    hr_error error;
    size_t size = p->size;
    if (hr_image_probe(p->bytes, size, MAX_PIXELS, &info, &error) != HR_STATUS_OK)
        return false;
    if (p->index % 5 != 0 || info.channels == 4)
        return true;
    uint8_t *again = progressive(p->bytes, &size, NULL, -1);
    bool good = matches(again, size, info.height, info.width, info.channels, 1);
    free(again);
    return good;
}

/* One photograph of five. */
TEST(photographs)
{
    CHECK(photographs_all(photograph_matches));
}

TEST_MAIN
