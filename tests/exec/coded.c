/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Items of a reader that stay in memory: several threads, little room, failing allocations. */
#include "io/items.h"

#include <pthread.h>

#include "core/alloc.h"
#include "exec/fixture.h"
#include "test.h"

#define FILES 24
#define EPOCHS 6

/* Sums the hashes of all samples of an epoch, so that their order does not matter; 0: a failure. */
static uint64_t read_epoch(hr_pipeline *p, hr_error *error)
{
    uint64_t sum = 0;
    for (int i = 0; i < FILES; i += 4) {
        hr_outputs *out;
        if (hr_pipeline_run(p, HANG_MS, &out, error) != HR_STATUS_OK)
            return 0;
        for (int k = 0; k < 4; k++)
            sum += fixture_hash(hr_batch_tensor(hr_outputs_batch(out, 0), k));
        hr_outputs_unref(out);
    }
    return sum;
}

static int64_t count_of(hr_pipeline *p, const char *key)
{
    char *json, quoted[64];
    hr_error error;
    if (hr_pipeline_stats(p, &json, &error) != HR_STATUS_OK)
        return -1;
    sprintf(quoted, "\"%s\": ", key);
    const char *at = strstr(json, quoted);
    int64_t value = at ? strtoll(at + strlen(quoted), NULL, 10) : -1;
    hr_string_free(json);
    return value;
}

/* Whether epochs are the same as without a cache. */
static bool same_epochs(const fixture *f, int64_t cache_size, int threads, bool images)
{
    hr_error error = {0};
    hr_pipeline *plain = NULL, *cached = NULL;
    fixture_graph without = {.random_shuffle = true, .images = images};
    fixture_graph with = {.random_shuffle = true, .images = images, .cache_size = cache_size};
    hr_pipeline_options few = fixture_options(4, 1), many = fixture_options(4, threads);
    bool ok = fixture_pipeline(f, &without, &few, &plain, &error) == HR_STATUS_OK &&
              fixture_pipeline(f, &with, &many, &cached, &error) == HR_STATUS_OK;
    for (int e = 0; e < EPOCHS && ok; e++) {
        uint64_t expected = read_epoch(plain, &error);
        ok = expected && read_epoch(cached, &error) == expected;
    }
    int64_t items = ok ? count_of(cached, "cache_items") : -1;
    ok = ok && count_of(cached, "cache_bytes") <= cache_size &&
         (cache_size < 1 << 20 ? items < FILES : items == FILES) &&
         count_of(cached, "cache_hits") >= 3 * items && count_of(plain, "cache_items") == 0;
    hr_pipeline_destroy(plain);
    hr_pipeline_destroy(cached);
    return ok;
}

TEST(epochs_are_the_same)
{
    fixture f;
    fixture_make(&f, FILES);
    for (int threads = 1; threads <= 8; threads += 7)
        for (int images = 0; images < 2; images++) {
            CHECK(same_epochs(&f, 1, threads, images));
            CHECK(same_epochs(&f, 10000, threads, images));
            CHECK(same_epochs(&f, 1 << 20, threads, images));
        }
    fixture_remove(&f);
}

TEST(any_allocation_may_fail)
{
    fixture f;
    fixture_make(&f, FILES);
    int failed = 0, worked = 0;
    for (int n = 0; n < 1200 && worked < 20; n += 3) {
        hr_error error = {0};
        hr_pipeline *p = NULL;
        fixture_graph o = {.cache_size = 1 << 20};
        hr_pipeline_options options = fixture_options(4, 2);
        hr_alloc_fail_after(n);
        bool ok = fixture_pipeline(&f, &o, &options, &p, &error) == HR_STATUS_OK &&
                  read_epoch(p, &error) && read_epoch(p, &error);
        hr_alloc_fail_after(-1);
        failed += !ok;
        worked = ok ? worked + 1 : 0;
        CHECK(ok || error.message[0]);
        hr_pipeline_destroy(p);
    }
    CHECK(failed > 20);
    fixture_remove(&f);
}

/* ---- the cache itself ---- */

#define ITEMS 64

typedef struct filling {
    hr_coded_cache *coded;
    int first;
    bool wrong;
} filling;

/* Every thread puts every item, beginning with another one, and reads what is there. */
static void *fill(void *context)
{
    filling *f = context;
    for (int i = 0; i < ITEMS; i++) {
        int index = (f->first + i) % ITEMS;
        hr_read_piece piece = {(size_t)index, 8};
        hr_buffer *buffer;
        if (hr_buffer_create(&buffer, 128, NULL) != HR_STATUS_OK)
            return NULL;
        memset(hr_buffer_data(buffer), index, 128);
        hr_coded_put(f->coded, index, buffer, &piece, 1);
        hr_buffer_unref(buffer);
        for (int k = 0; k < ITEMS; k++) {
            const hr_coded_item *item = hr_coded_get(f->coded, k);
            if (!item)
                continue;
            f->wrong = f->wrong || item->count != 1 || item->pieces[0].offset != (size_t)k ||
                       ((const unsigned char *)hr_buffer_data(item->buffer))[5] != k;
        }
    }
    return NULL;
}

static hr_coded_stats fill_from_threads(size_t limit)
{
    pthread_t threads[8];
    filling f[8];
    hr_coded_cache *coded;
    hr_coded_stats stats = {0};
    if (hr_coded_create(&coded, ITEMS, limit, NULL) != HR_STATUS_OK)
        return stats;
    for (int t = 0; t < 8; t++) {
        f[t] = (filling){.coded = coded, .first = t * 7};
        pthread_create(&threads[t], NULL, fill, &f[t]);
    }
    for (int t = 0; t < 8; t++) {
        pthread_join(threads[t], NULL);
        stats.items += f[t].wrong ? -1000 : 0;
    }
    hr_coded_stats_add(coded, &stats);
    hr_coded_destroy(coded);
    return stats;
}

TEST(threads_fill_it_together)
{
    hr_coded_stats all = fill_from_threads(1 << 20), few = fill_from_threads(4000);
    CHECK(all.items == ITEMS && all.refused == 0 && all.bytes > ITEMS * 128);
    CHECK(few.items > 0 && few.items < ITEMS && few.refused > 0 && few.bytes <= 4000);
    CHECK(few.bytes == few.items * (all.bytes / ITEMS));
    CHECK(fill_from_threads(0).items == 0);
}

TEST_MAIN
