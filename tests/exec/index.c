/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Pipelines over JPEG files give the same bytes with and without indices, on several threads, while
 * indices are made, extended, and shared by two pipelines through a folder. */
#include "exec/fixture.h"
#include "codecs/jpeg/index_cache.h"
#include "unit/codec_help.h"

enum { FILES = 9, BATCH = 3, BATCHES = 4 * FILES / BATCH };

static void make_files(fixture *f)
{
    fixture_make(f, FILES);
    for (int i = 0; i < FILES; i++) {
        help_jpeg j = {.w = 150 + 20 * i,
                       .h = 250 - 10 * i,
                       .channels = 3,
                       .quality = 95,
                       .sampling = {1 + i % 2, 1 + i % 3 % 2},
                       .restart = i % 4 == 3 ? 17 : 0};
        uint8_t *pixels = malloc((size_t)(j.w * j.h * 3));
        char path[128];
        size_t size;
        help_paint(pixels, j.w, j.h, 3);
        uint8_t *file = help_encode_jpeg(&j, pixels, &size);
        fixture_write(fixture_path(f, i, path), file, size);
        free(file);
        free(pixels);
    }
}

static hr_pipeline *start(const fixture *f, int threads, int64_t limit, const char *cache)
{
    const fixture_graph o = {.random_shuffle = true, .images = true};
    hr_pipeline_options options = fixture_options(BATCH, threads);
    hr_pipeline *p = NULL;
    hr_error error;
    options.prefetch_queue_depth = 3;
    options.index_memory_limit = limit;
    options.index_cache = cache;
    if (fixture_pipeline(f, &o, &options, &p, &error) != HR_STATUS_OK)
        printf("%s\n", error.message);
    return p;
}

typedef struct run {
    uint64_t hash[BATCHES * BATCH];
} run;

static bool take_batch(hr_pipeline *p, run *r, int batch)
{
    hr_outputs *out;
    if (hr_pipeline_run(p, -1, &out, NULL) != HR_STATUS_OK)
        return false;
    for (int i = 0; i < BATCH; i++)
        r->hash[batch * BATCH + i] = fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 0), i));
    hr_outputs_unref(out);
    return true;
}

/* A counter from the statistics. */
static int counter(hr_pipeline *p, const char *name)
{
    char *json, key[64];
    int value = -1;
    if (hr_pipeline_stats(p, &json, NULL) != HR_STATUS_OK)
        return -1;
    snprintf(key, sizeof key, "\"%s\": ", name);
    const char *at = strstr(json, key);
    if (at)
        value = atoi(at + strlen(key));
    hr_string_free(json);
    return value;
}

static bool take_all(hr_pipeline *p, run *r)
{
    bool good = p != NULL;
    for (int b = 0; b < BATCHES && good; b++)
        good = take_batch(p, r, b);
    return good;
}

static bool same_as_without(const fixture *f, int threads, int64_t limit)
{
    run with, without;
    hr_pipeline *a = start(f, threads, limit, NULL), *b = start(f, 1, 0, NULL);
    bool good = take_all(a, &with) && take_all(b, &without) &&
                memcmp(&with, &without, sizeof with) == 0 && counter(b, "index_files") == 0;
    if (limit < 0)
        good = good && counter(a, "index_files") == FILES && counter(a, "index_hits") > 2 * FILES;
    hr_pipeline_destroy(a);
    hr_pipeline_destroy(b);
    return good;
}

TEST(in_memory)
{
    fixture f;
    make_files(&f);
    CHECK(same_as_without(&f, 1, -1));
    CHECK(same_as_without(&f, 4, -1));
    CHECK(same_as_without(&f, 4, 9000)); /* memory for some indices only */
    fixture_remove(&f);
}

TEST(two_pipelines_in_a_folder)
{
    fixture f;
    run plain, one, two;
    char cache[128];
    make_files(&f);
    snprintf(cache, sizeof cache, "%s-cache", f.dir);
    hr_pipeline *p = start(&f, 1, 0, NULL);
    CHECK(take_all(p, &plain));
    hr_pipeline_destroy(p);
    for (int again = 0; again < 2; again++) {
        hr_pipeline *a = start(&f, 3, -1, cache), *b = start(&f, 2, -1, cache);
        for (int i = 0; i < BATCHES; i++)
            CHECK(take_batch(a, &one, i) && take_batch(b, &two, i));
        CHECK(memcmp(&one, &plain, sizeof one) == 0 && memcmp(&two, &plain, sizeof two) == 0);
        CHECK(counter(a, "index_files") == FILES && counter(b, "index_unwritten") == 0);
        CHECK((counter(a, "index_made") > 0) == (again == 0));
        hr_pipeline_destroy(a);
        hr_pipeline_destroy(b);
    }
    fixture_remove(&f);
    strcpy(f.dir, cache);
    fixture_remove(&f);
}

/* ---- baseline files in the place of progressive ones ---- */

static uint8_t *encode(int w, int h, int sampling, bool is_progressive, size_t *size)
{
    help_jpeg j = {.w = w,
                   .h = h,
                   .channels = 3,
                   .quality = 90,
                   .sampling = {sampling, sampling},
                   .progressive = is_progressive};
    uint8_t *pixels = calloc((size_t)(w * h), 3);
    for (int i = 0; i < 3 * w * h; i++)
        pixels[i] = (uint8_t)(i * 7 + i / w);
    uint8_t *file = help_encode_jpeg(&j, pixels, size);
    free(pixels);
    return file;
}

/* Whether the images are those of the files when the folder has this value for each. */
static bool same_with(const fixture *f, const run *plain, const uint8_t *file, size_t size,
                      const uint8_t *value, size_t value_size)
{
    run with;
    char folder[128], command[256];
    hr_cache *cache;
    snprintf(folder, sizeof folder, "%s-cache", f->dir);
    bool good = hr_cache_create(&cache, 1 << 20, folder, NULL) == HR_STATUS_OK;
    hr_hash key = hr_cache_key(cache, file, size);
    hr_cache_put_file(cache, &key, value, value_size);
    hr_cache_destroy(cache);
    hr_pipeline *p = start(f, 2, -1, folder);
    good = good && take_all(p, &with) && memcmp(&with, plain, sizeof with) == 0 &&
           counter(p, "transcoded_hits") > 0 && counter(p, "bad_samples") == 0;
    hr_pipeline_destroy(p);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 && good;
}

TEST(hostile_values_in_the_place_of_files)
{
    fixture f;
    run plain;
    char path[128];
    size_t size, sizes[5];
    uint8_t *file = encode(200, 150, 2, true, &size), *values[5];
    fixture_make(&f, FILES);
    for (int i = 0; i < FILES; i++)
        fixture_write(fixture_path(&f, i, path), file, size);
    hr_pipeline *p = start(&f, 1, 0, NULL);
    CHECK(take_all(p, &plain));
    hr_pipeline_destroy(p);
    values[0] = encode(200, 150, 2, false, &sizes[0]); /* the right one */
    values[1] = encode(150, 200, 2, false, &sizes[1]);
    values[2] = encode(200, 150, 1, false, &sizes[2]);
    values[3] = encode(200, 150, 2, true, &sizes[3]);
    values[4] = malloc(sizes[4] = 5000);
    for (size_t i = 0; i < sizes[4]; i++)
        values[4][i] = (uint8_t)help_random();
    for (int i = 0; i < 5; i++)
        CHECK(same_with(&f, &plain, file, size, values[i], sizes[i]));
    for (size_t cut = 1; cut < sizes[0] / 4; cut += 1 + cut / 2)
        CHECK(same_with(&f, &plain, file, size, values[0], cut));
    for (int i = 0; i < 5; i++)
        free(values[i]);
    free(file);
    fixture_remove(&f);
}

TEST_MAIN
