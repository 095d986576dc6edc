/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Progressive JPEG files as baseline files: libjpeg-turbo decodes both to the same pixels, and our
 * own decoder takes the new one. Damaged and incomplete files are left alone, and no other file
 * stands for one. */
#include "jpeg_match.h"
#include "jpeg_scans.h"

#include "codecs/jpeg/markers.h"
#include "codecs/jpeg/transcode.h"
#include "core/alloc.h"

/* The new file, or NULL. */
static uint8_t *transcoded(const uint8_t *file, size_t size, size_t *out_size)
{
    hr_arena *arena;
    hr_jpeg_file out;
    uint8_t *copy = NULL;
    if (hr_arena_create(&arena, NULL) != HR_STATUS_OK)
        return NULL;
    hr_op_call c = {.arena = arena, .kernels = some_level()};
    if (hr_jpeg_transcode((hr_jpeg_file){file, size}, &c, &out)) {
        copy = malloc(out.size);
        memcpy(copy, out.bytes, out.size);
        *out_size = out.size;
    }
    hr_arena_destroy(arena);
    return copy;
}

/* Whether the new file is sequential and has the same pixels. */
static bool becomes_baseline(const uint8_t *file, size_t size, int height, int width, bool grey)
{
    size_t new_size = 0;
    hr_jpeg_markers m;
    uint8_t *other = transcoded(file, size, &new_size);
    if (!other || !hr_jpeg_markers_read(&m, other, new_size) || m.restart > 0) {
        printf("%dx%d, grey %d: %s\n", width, height, grey, other ? "not sequential" : "left");
        free(other);
        return false;
    }
    J_COLOR_SPACE space = grey ? JCS_GRAYSCALE : JCS_RGB;
    uint8_t *before = help_bare_jpeg(file, size, space);
    uint8_t *after = help_bare_jpeg(other, new_size, space);
    bool good = memcmp(before, after, (size_t)(height * width * (grey ? 1 : 3))) == 0 &&
                matches(other, new_size, height, width, grey ? 1 : 3, 1);
    free(after);
    free(before);
    free(other);
    return good;
}

static bool generated_becomes_baseline(int round, int side)
{
    files_kind j;
    size_t size;
    uint8_t *file = files_generate(round, side, &j, &size);
    script s = random_script(j.channels);
    uint8_t *again = progressive(file, &size, round % 3 == 0 ? NULL : &s, -1);
    bool good = becomes_baseline(again, size, j.h, j.w, j.channels == 1);
    free(again);
    free(file);
    return good;
}

TEST(small_files)
{
    for (int i = 0; i < 1000; i++)
        CHECK(generated_becomes_baseline(i, 70));
}

TEST(large_files)
{
    for (int i = 0; i < 15; i++)
        CHECK(generated_becomes_baseline(i, 400));
}

TEST(coefficients_that_no_image_has)
{
    for (int i = 0; i < 200; i++) {
        size_t size;
        int width, height;
        uint8_t *file = files_wild(&width, &height, &size);
        script s = random_script(3);
        uint8_t *again = progressive(file, &size, &s, help_between(0, 5));
        CHECK(becomes_baseline(again, size, height, width, false));
        free(again);
        free(file);
    }
}

/* Of a single component, whose sampling factors have no meaning. */
TEST(grey_files_with_sampling_factors)
{
    for (int i = 0; i < 60; i++) {
        help_jpeg j = {.w = help_between(1, 70),
                       .h = help_between(1, 70),
                       .channels = 1,
                       .quality = 90,
                       .sampling = {1 + i % 4, 1 + i / 4 % 4},
                       .progressive = true};
        uint8_t pixels[70 * 70];
        size_t size;
        files_paint(pixels, j.w * j.h, 1);
        uint8_t *file = help_encode_jpeg(&j, pixels, &size);
        CHECK(becomes_baseline(file, size, j.h, j.w, true));
        free(file);
    }
}

/* An image of two grey levels. */
static uint8_t *flat_file(int w, int h, int sampling, int quality, bool is_progressive,
                          size_t *size)
{
    help_jpeg j = {.w = w,
                   .h = h,
                   .channels = 3,
                   .quality = quality,
                   .sampling = {sampling, sampling},
                   .progressive = is_progressive};
    uint8_t *pixels = malloc((size_t)(3 * w * h));
    for (int i = 0; i < 3 * w * h; i++)
        pixels[i] = (uint8_t)(i < 3 * w * h / 2 ? 40 : 200);
    uint8_t *file = help_encode_jpeg(&j, pixels, size);
    free(pixels);
    return file;
}

static bool is_left(const uint8_t *file, size_t size)
{
    size_t unused;
    uint8_t *other = transcoded(file, size, &unused);
    free(other);
    return other == NULL;
}

TEST(files_that_are_left)
{
    size_t size;
    uint8_t *file = flat_file(90, 70, 2, 80, false, &size);
    CHECK(is_left(file, size));    /* sequential */
    for (int i = 0; i < 40; i++) { /* without all scans */
        script s = random_script(3);
        size_t least = size;
        s.count = help_between(3, s.count - 1);
        uint8_t *some = progressive(file, &least, &s, 0);
        CHECK(is_left(some, least));
        free(some);
    }
    free(file);
    file = flat_file(90, 70, 2, 80, true, &size);
    for (size_t cut = 0; cut <= size; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, file, cut);
        CHECK(is_left(part, cut) == (cut < size));
        free(part);
    }
    free(file);
}

/* With any bytes changed, a file is left alone, or the new one has the same pixels. */
TEST(damaged_files)
{
    int taken = 0;
    for (int i = 0; i < 3000; i++) {
        files_kind j;
        size_t size;
        uint8_t *file = files_generate(i, 40, &j, &size), *other;
        uint8_t *again = progressive(file, &size, NULL, -1);
        for (int n = help_between(1, 3); n > 0; n--)
            again[2 + help_random() % (size - 2)] ^= (uint8_t)(1u << help_random() % 8);
        other = transcoded(again, size, &(size_t){0});
        if (other) {
            hr_image_info info;
            taken++;
            CHECK(hr_image_probe(again, size, MAX_PIXELS, &info, NULL) == HR_STATUS_OK &&
                  becomes_baseline(again, size, info.height, info.width, info.channels == 1));
        }
        free(other);
        free(again);
        free(file);
    }
    CHECK(taken > 20 && taken < 2900);
}

TEST(failing_allocations)
{
    size_t size, new_size, reference_size = 0;
    uint8_t *file = flat_file(90, 70, 2, 80, true, &size);
    uint8_t *reference = transcoded(file, size, &reference_size);
    int left = 0;
    for (int n = 0; n < 40; n++) {
        hr_alloc_fail_after(n);
        uint8_t *other = transcoded(file, size, &new_size);
        hr_alloc_fail_after(-1);
        left += other == NULL;
        CHECK(!other || (new_size == reference_size && memcmp(other, reference, new_size) == 0));
        free(other);
    }
    CHECK(left > 0 && left < 40);
    free(reference);
    free(file);
}

/* ---- what stands for a file ---- */

static bool stands(const uint8_t *other, size_t other_size, const uint8_t *file, size_t size)
{
    return hr_jpeg_stands_for((hr_jpeg_file){other, other_size}, (hr_jpeg_file){file, size});
}

TEST(other_files_do_not_stand_for_it)
{
    size_t size, n;
    uint8_t *file = flat_file(90, 70, 2, 80, true, &size), *other = transcoded(file, size, &n);
    CHECK(other && stands(other, n, file, size));
    CHECK(!stands(file, size, file, size) && !stands(file, size, other, n));
    CHECK(!stands(file, 0, file, size));
    hr_jpeg_markers m;
    CHECK(hr_jpeg_markers_read(&m, other, n));
    for (size_t cut = 0; cut < m.scan; cut++) {
        uint8_t *part = malloc(cut + 1);
        memcpy(part, other, cut);
        CHECK(!stands(part, cut, file, size));
        free(part);
    }
    free(other);
    static const int kinds[][4] = {
        {91, 70, 2, 80}, {90, 71, 2, 80}, {90, 70, 1, 80}, {90, 70, 2, 81}};
    for (int i = 0; i < 4; i++) {
        const int *k = kinds[i];
        other = flat_file(k[0], k[1], k[2], k[3], false, &n);
        CHECK(!stands(other, n, file, size));
        free(other);
    }
    static const help_jpeg grey = {
        .w = 90, .h = 70, .channels = 1, .quality = 80, .sampling = {1, 1}};
    uint8_t pixels[90 * 70] = {0};
    other = help_encode_jpeg(&grey, pixels, &n);
    CHECK(!stands(other, n, file, size));
    free(other);
    free(file);
}

TEST_MAIN
