/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Damaged files: intact parts are decoded, the rest is an error with a message, nothing crashes,
 * and decompression bombs are limited. The sanitizers check all reads and writes. */
#include "codec_help.h"

enum { W = 96, H = 80 };

static uint8_t *make_file(help_jpeg j, size_t *size)
{
    uint8_t *pixels = malloc((size_t)(j.w * j.h * j.channels));
    help_paint(pixels, j.w, j.h, j.channels);
    uint8_t *file = help_encode_jpeg(&j, pixels, size);
    free(pixels);
    return file;
}

/* Decodes a copy of exactly `size` bytes. */
static bool decode_copy(help_result *r, const uint8_t *file, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, file, size);
    bool good = help_decode(r, copy, size, (hr_window){0}, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8, true);
    free(copy);
    return good;
}

TEST(truncated_scans_show_what_is_there)
{
    size_t size;
    help_jpeg j = {.w = W, .h = H, .channels = 3, .quality = 80, .sampling = {2, 2}};
    uint8_t *file = make_file(j, &size);
    uint8_t *whole = help_bare_jpeg(file, size, JCS_RGB);
    help_result r;
    CHECK(decode_copy(&r, file, size * 3 / 4));
    CHECK(r.h == H && r.w == W);
    /* the upper half is intact, the last rows are missing */
    r.h = H / 2;
    CHECK(help_equal(&r, whole, W, (hr_window){0}, 3));
    CHECK(memcmp(r.data + (H - 1) * r.stride, whole + (H - 1) * W * 3, W * 3) != 0);
    free(r.data);
    free(whole);
    free(file);
}

/* A file that is truncated right after its scan header, with or without EOI, has no image; with
 * some entropy-coded data it has the beginning of one. Neither the device nor our decoder is asked
 * to decode the former. */
TEST(scans_without_data_are_refused)
{
    for (int kind = 0; kind < 4; kind++) {
        size_t size, scan = 0;
        help_jpeg j = {.w = W, .h = H, .channels = 3, .quality = 80, .sampling = {2, 2}};
        j.progressive = kind == 1;
        j.interleave_off = kind == 2;
        j.restart = kind == 3 ? 2 : 0;
        uint8_t *file = make_file(j, &size);
        while (!(file[scan] == 0xFF && file[scan + 1] == 0xDA))
            scan++;
        scan += 2 + (size_t)(file[scan + 2] << 8 | file[scan + 3]);
        for (int end = 0; end < 2; end++) {
            help_result r;
            uint8_t *cut = malloc(size);
            memcpy(cut, file, size);
            memcpy(cut + scan, "\xFF\xD9", 2);
            CHECK(!decode_copy(&r, cut, scan + (end ? 2 : 0)));
            CHECK(r.error.status == HR_STATUS_CORRUPT);
            CHECK(strstr(r.error.message, "no entropy-coded data"));
            free(cut);
        }
        help_result r;
        CHECK(decode_copy(&r, file, scan + 40));
        free(r.data);
        free(file);
    }
}

/* After our decoder has refused a file, only libjpeg-turbo tries it again. A turned image, whose
 * rows cannot be read in order, is not tried by our decoder. */
TEST(refusals_are_remembered)
{
    size_t size;
    help_jpeg j = {
        .w = W, .h = H, .channels = 3, .quality = 80, .sampling = {1, 1}, .progressive = true};
    uint8_t *file = make_file(j, &size);
    for (int kind = 0; kind < 3; kind++) { /* whole, truncated, turned */
        hr_error error;
        hr_arena *arena;
        hr_image_info info;
        hr_image_reader *reader;
        CHECK_OK(hr_arena_create(&arena, &error), error);
        hr_op_call call = {.arena = arena};
        size_t n = kind == 1 ? size - 50 : size;
        CHECK_OK(hr_image_probe(file, n, MAX_PIXELS, &info, &error), error);
        info.orientation = kind == 2 ? 6 : 1;
        hr_decode_request q = {
            .type = HR_IMAGE_TYPE_RGB, .dtype = HR_DTYPE_UINT8, .adjust_orientation = true};
        hr_image_extent(&info, true, &q.window.h, &q.window.w);
        hr_status status = hr_image_open(file, n, &info, &q, &call, &reader, &error);
        CHECK(status == (kind == 0 ? HR_STATUS_OK : HR_STATUS_NOT_FUSABLE));
        CHECK(info.refused == (kind == 1));
        hr_arena_destroy(arena);
    }
    free(file);
}

TEST(windows_before_the_damage_are_whole)
{
    size_t size;
    help_jpeg j = {.w = W, .h = H, .channels = 3, .quality = 80, .sampling = {1, 1}};
    uint8_t *file = make_file(j, &size);
    uint8_t *whole = help_bare_jpeg(file, size, JCS_RGB);
    memset(file + size * 3 / 4, 0x55, size / 8);
    for (int i = 0; i < 20; i++) {
        hr_window w = help_window(H / 2, W);
        help_result r;
        CHECK(help_decode(&r, file, size, w, HR_IMAGE_TYPE_RGB, HR_DTYPE_UINT8, true));
        CHECK(help_equal(&r, whole, W, w, 3));
        free(r.data);
    }
    free(whole);
    free(file);
}

TEST(cuts_anywhere)
{
    for (int kind = 0; kind < 4; kind++) {
        size_t size;
        help_jpeg j = {
            .w = 40, .h = 30, .channels = kind == 3 ? 4 : 3, .quality = 60, .sampling = {2, 1}};
        j.progressive = kind == 1;
        j.restart = kind == 2 ? 3 : 0;
        uint8_t *file = make_file(j, &size);
        size_t decoded = 0;
        for (size_t cut = 0; cut < size; cut++) {
            help_result r;
            if (decode_copy(&r, file, cut)) {
                decoded++;
            } else {
                CHECK(r.error.status == HR_STATUS_CORRUPT);
                CHECK(cut == 0 || cut < 3 || strncmp(r.error.message, "JPEG: ", 6) == 0);
            }
            free(r.data);
        }
        CHECK(decoded > 100 && decoded < size - 100);
        free(file);
    }
}

TEST(random_changes)
{
    size_t size;
    int decoded = 0;
    help_jpeg j = {.w = 40, .h = 30, .channels = 3, .quality = 60, .sampling = {2, 2}};
    for (int i = 0; i < 3000; i++) {
        j.progressive = i % 3 == 0;
        uint8_t *file = make_file(j, &size);
        for (int n = help_between(1, 8); n > 0; n--)
            file[help_random() % size] = (uint8_t)help_random();
        help_result r;
        bool good = decode_copy(&r, file, size);
        CHECK(good || (r.error.message[0] && r.error.status != HR_STATUS_OK));
        decoded += good;
        free(r.data);
        free(file);
    }
    CHECK(decoded > 1000 && decoded < 2900);
}

/* The offset of the last SOS marker. */
static size_t last_scan(const uint8_t *file, size_t size)
{
    size_t at = size - 2;
    while (at > 0 && !(file[at] == 0xFF && file[at + 1] == 0xDA))
        at--;
    return at;
}

TEST(scans_are_limited)
{
    size_t size;
    help_jpeg j = {
        .w = 16, .h = 16, .channels = 3, .quality = 50, .sampling = {1, 1}, .progressive = true};
    uint8_t *file = make_file(j, &size);
    size_t scan = last_scan(file, size), length = size - 2 - scan;
    static const int copies[] = {100, 300};
    for (int i = 0; i < 2; i++) {
        uint8_t *bomb = malloc(size + (size_t)copies[i] * length);
        size_t n = size - 2;
        memcpy(bomb, file, n);
        for (int k = 0; k < copies[i]; k++, n += length)
            memcpy(bomb + n, file + scan, length);
        memcpy(bomb + n, "\xFF\xD9", 2);
        help_result r;
        bool good = decode_copy(&r, bomb, n + 2);
        CHECK(good == (copies[i] < 256));
        CHECK(good || (r.error.status == HR_STATUS_LIMIT && strstr(r.error.message, "256 scans")));
        free(r.data);
        free(bomb);
    }
    free(file);
}

TEST(headers_that_are_refused)
{
    size_t size;
    help_jpeg j = {.w = 16, .h = 16, .channels = 3, .quality = 50, .sampling = {1, 1}};
    uint8_t *file = make_file(j, &size);
    size_t frame = 0;
    while (!(file[frame] == 0xFF && file[frame + 1] == 0xC0))
        frame++;
    static const struct {
        size_t offset;
        uint8_t value;
        const char *words;
    } changes[] = {{1, 0xC3, "lossless"},  {4, 12, "12 bits"},  {6, 0, "16x0"},
                   {9, 2, "2 components"}, {3, 5, "too short"}, {6, 17, NULL}};
    for (size_t i = 0; i < HR_COUNT_OF(changes); i++) {
        uint8_t *at = file + frame + changes[i].offset, old = *at;
        *at = changes[i].value;
        help_result r;
        hr_image_info info;
        bool shape = i != 2 && i != 3 && i != 4; /* peeking needs only a shape */
        hr_status peeked = hr_image_peek(file, size, MAX_PIXELS, &info, &r.error);
        CHECK((peeked == HR_STATUS_OK) == shape);
        bool good = decode_copy(&r, file, size);
        CHECK(good == !changes[i].words); /* the last change only makes the image taller */
        CHECK(good ||
              (r.error.status == HR_STATUS_CORRUPT && strstr(r.error.message, changes[i].words)));
        free(r.data);
        *at = old;
    }
    free(file);
}

TEST(no_memory_is_an_error)
{
    size_t size;
    help_jpeg j = {.w = W, .h = H, .channels = 4, .quality = 80, .sampling = {1, 1}};
    uint8_t *file = make_file(j, &size);
    bool done = false;
    int failures = 0;
    for (int n = 0; n < 20 && !done; n++) {
        help_result r;
        hr_alloc_fail_after(n);
        done = help_decode(&r, file, size, (hr_window){4, 4, 60, 60}, HR_IMAGE_TYPE_BGR,
                           HR_DTYPE_FLOAT, true);
        CHECK(done || r.error.status == HR_STATUS_NO_MEMORY);
        failures += !done;
        free(r.data);
    }
    hr_alloc_fail_after(-1);
    CHECK(done && failures > 0);
    free(file);
}

TEST_MAIN
