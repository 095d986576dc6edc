/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Our own JPEG decoder against bare libjpeg-turbo: generated files of every kind that it takes, on
 * every CPU level, whole and in windows, and the files of a folder of photographs. It must take
 * them: what it leaves to libjpeg-turbo would prove nothing. */
#include "jpeg_files.h"

#include "codecs/jpeg/decoder.h"

#include <dirent.h>

typedef struct own {
    uint8_t *data;
    bool done;
} own;

/* The window through our decoder alone, some rows at a time, in memory of exactly its size. */
static own decode_own(const uint8_t *bytes, size_t size, hr_window w, int channels,
                      const hr_kernels *kernels)
{
    own r = {.data = malloc((size_t)(w.h * w.w * channels))};
    hr_arena *arena;
    hr_error error;
    hr_image_info info;
    if (hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return r;
    hr_op_call c = {.arena = arena, .kernels = kernels};
    hr_codec_request q = {
        .window = w, .channels = channels, .dst = r.data, .stride = (size_t)(w.w * channels)};
    hr_jpeg_reader *reader;
    r.done = hr_image_probe(bytes, size, MAX_PIXELS, &info, &error) == HR_STATUS_OK &&
             hr_jpeg_open(bytes, size, &info, &q, NULL, &c, &reader, &error) == HR_STATUS_OK;
    for (int64_t y = 0, rows; y < w.h && r.done; y += rows) {
        rows = 1 + (int64_t)(help_random() % 20);
        rows = HR_MIN(rows, w.h - y);
        r.done = hr_jpeg_read(reader, r.data + (size_t)y * q.stride, q.stride, (int32_t)rows,
                              &error) == HR_STATUS_OK;
    }
    hr_arena_destroy(arena);
    return r;
}

static const hr_kernels *some_level(void)
{
    static const hr_cpu_level levels[] = {HR_CPU_LEVEL_BASE, HR_CPU_LEVEL_V3, HR_CPU_LEVEL_V4};
    return hr_kernels_get(levels[help_random() % 3]);
}

static bool same(const own *r, const uint8_t *want, int full_w, hr_window w, int channels)
{
    help_result v = {.data = r->data, .h = w.h, .w = w.w, .stride = (size_t)(w.w * channels)};
    return r->done && help_equal(&v, want, full_w, w, (size_t)channels);
}

/* The whole picture and `windows` windows of it. */
static bool matches(const uint8_t *file, size_t size, int height, int width, int channels,
                    int windows)
{
    uint8_t *want = help_bare_jpeg(file, size, channels == 1 ? JCS_GRAYSCALE : JCS_RGB);
    bool good = true;
    for (int i = 0; i <= windows && good; i++) {
        hr_window w = i == 0 ? (hr_window){0, 0, height, width} : help_window(height, width);
        own r = decode_own(file, size, w, channels, some_level());
        good = same(&r, want, width, w, channels);
        if (!good)
            printf("window %d,%d %dx%d, taken: %d\n", (int)w.x, (int)w.y, (int)w.w, (int)w.h,
                   r.done);
        free(r.data);
    }
    free(want);
    return good;
}

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

/* ---- coefficients that no picture has ---- */

TEST(coefficients_that_no_picture_has)
{
    for (int i = 0; i < 400; i++) {
        size_t size;
        int width, height;
        uint8_t *file = files_wild(&width, &height, &size);
        CHECK(matches(file, size, height, width, 3, 1));
        free(file);
    }
}

/* ---- what is left to libjpeg-turbo ---- */

TEST(others_are_left)
{
    static const help_jpeg kinds[] = {
        {.w = 40, .h = 30, .channels = 3, .quality = 80, .sampling = {1, 1}, .progressive = true},
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
        CHECK(r.done == (cut == size)); /* also when only the end marker is cut off */
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

static int compared;

static bool compare_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return true;
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(size + 1);
    hr_image_info info;
    hr_error error;
    bool good = fread(bytes, 1, size, f) == size;
    fclose(f);
    if (good && size > 3 && bytes[0] == 0xFF && bytes[1] == 0xD8 &&
        hr_image_probe(bytes, size, MAX_PIXELS, &info, &error) == HR_STATUS_OK) {
        good = matches(bytes, size, info.height, info.width, info.channels, 2);
        compared++;
    }
    free(bytes);
    if (!good)
        printf("%s differs\n", path);
    return good;
}

static bool compare_folder(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder)
        return compare_file(path);
    bool good = true;
    char inside[4096];
    for (struct dirent *e = readdir(folder); e && good; e = readdir(folder))
        if (e->d_name[0] != '.') {
            snprintf(inside, sizeof inside, "%s/%s", path, e->d_name);
            good = compare_folder(inside);
        }
    closedir(folder);
    return good;
}

TEST(photographs)
{
    const char *folder = getenv("HEADRACE_TEST_DATA");
    if (!folder)
        folder = "../shared/data/imagenet-250";
    DIR *there = opendir(folder);
    if (!there) {
        printf("SKIPPED photographs: set HEADRACE_TEST_DATA to a folder of JPEG files\n");
        return;
    }
    closedir(there);
    CHECK(compare_folder(folder));
    CHECK(compared > 0);
}

TEST_MAIN
