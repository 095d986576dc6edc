/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reading: special files are refused without blocking; reading ahead is exact and bounded. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/note.h"
#include "codecs/jpeg/index_cache.h"
#include "io/readahead.h"
#include "io/storage.h"
#include "test.h"
#include "waiting.h"

#define FILES 200
#define FILE_SIZE 10000

static char dir[64];

static const char *path_of(int i)
{
    static char path[128];
    sprintf(path, "%s/%d", dir, i);
    return path;
}

static void make_files(void)
{
    strcpy(dir, "/tmp/headrace-io-XXXXXX");
    if (!mkdtemp(dir))
        exit(2);
    for (int i = 0; i < FILES; i++) {
        FILE *f = fopen(path_of(i), "wb");
        for (int k = 0; f && k < FILE_SIZE; k++)
            fputc((i * 7 + k) & 255, f);
        if (f)
            fclose(f);
    }
}

static void remove_files(void)
{
    char command[128];
    sprintf(command, "rm -rf '%s'", dir);
    if (system(command) != 0)
        exit(2);
}

static hr_status open_object(hr_object **out, const char *path, hr_error *error)
{
    return hr_object_open(out, dir, path, NULL, error);
}

TEST(odd_files_are_refused)
{
    hr_error error = {0};
    hr_object *object;
    make_files();
    CHECK(open_object(&object, dir, &error) == HR_STATUS_IO && strstr(error.message, "directory"));
    char fifo[96];
    sprintf(fifo, "%s/fifo", dir);
    CHECK(mkfifo(fifo, 0644) == 0);
    /* without O_NONBLOCK this would wait for a writer forever */
    CHECK(open_object(&object, fifo, &error) == HR_STATUS_IO && strstr(error.message, "FIFO"));
    CHECK(open_object(&object, "/nonexistent/file", &error) == HR_STATUS_IO &&
          strstr(error.message, "No such file"));
    char uri[160];
    sprintf(uri, "file://%s", path_of(3));
    CHECK_OK(open_object(&object, uri, &error), error);
    CHECK(object->size == FILE_SIZE);
    hr_object_close(object);
    remove_files();
}

TEST(a_file_cut_while_it_is_read)
{
    hr_error error = {0};
    hr_object *object;
    char bytes[FILE_SIZE];
    bool cached;
    make_files();
    CHECK_OK(open_object(&object, "5", &error), error);
    CHECK(truncate(path_of(5), 100) == 0);
    CHECK(hr_object_read(object, 0, FILE_SIZE, bytes, &cached, NULL, &error) == HR_STATUS_IO &&
          strstr(error.message, "shorter"));
    hr_object_close(object);
    remove_files();
}

/* Any range to any address, past the page cache or not; nothing is written beside it. */
TEST(direct_reads)
{
    enum { BLOCK = HR_DIRECT_BLOCK, ROOM = 4 * BLOCK };
    static const int64_t edges[] = {0, 1, 100, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, FILE_SIZE};
    static _Alignas(BLOCK) uint8_t room[ROOM];
    static const size_t shifts[] = {0, 64, BLOCK - 64};
    hr_error error = {0};
    hr_object *object;
    make_files();
    CHECK_OK(open_object(&object, "3", &error), error);
    hr_object_direct(object);
    for (size_t s = 0; s < HR_COUNT_OF(shifts); s++) { /* a shift ends reading past the cache */
        for (size_t i = 0; i < HR_COUNT_OF(edges); i++) {
            for (size_t k = i; k < HR_COUNT_OF(edges); k++) {
                size_t size = (size_t)(edges[k] - edges[i]), same = 0;
                uint8_t *to = room + (size_t)edges[i] % BLOCK + shifts[s];
                memset(room, 0xEE, sizeof(room));
                CHECK_OK(hr_object_read(object, edges[i], size, to, NULL, NULL, &error), error);
                for (size_t b = 0; b < ROOM; b++) {
                    bool inside = room + b >= to && room + b < to + size;
                    int64_t at = edges[i] + (room + b - to);
                    same += room[b] == (inside ? (3 * 7 + at) & 255 : 0xEE);
                }
                CHECK(same == ROOM);
            }
        }
    }
    hr_object_direct(object);
    CHECK(truncate(path_of(3), 5000) == 0);
    CHECK(hr_object_read(object, 0, FILE_SIZE, room, NULL, NULL, &error) == HR_STATUS_IO);
    CHECK(strstr(error.message, "became shorter") && strstr(error.message, "5000 of 10000"));
    hr_object_close(object);
    remove_files();
}

TEST(ranges_of_objects)
{
    hr_error error = {0};
    hr_object *object;
    unsigned char bytes[50];
    bool cached;
    make_files();
    CHECK_OK(open_object(&object, "2", &error), error);
    CHECK_OK(hr_object_read(object, 1000, 50, bytes, &cached, NULL, &error), error);
    for (int k = 0; k < 50; k++)
        CHECK(bytes[k] == ((2 * 7 + 1000 + k) & 255));
    CHECK_OK(hr_object_read(object, FILE_SIZE, 0, bytes, &cached, NULL, &error), error);
    CHECK(hr_object_read(object, FILE_SIZE - 5, 6, bytes, &cached, NULL, &error) == HR_STATUS_IO);
    CHECK(hr_object_read(object, -1, 6, bytes, &cached, NULL, &error) == HR_STATUS_IO);
    CHECK(hr_object_read(object, 1, SIZE_MAX, bytes, &cached, NULL, &error) == HR_STATUS_IO);
    hr_object_close(object);
    remove_files();
}

/* A back end in memory: counts what is asked of it. */
static struct {
    hr_object object;
    atomic_int opened, closed, reads;
} faulty;

static hr_status faulty_open(hr_object **out, const char *path, size_t want, const hr_place *place,
                             hr_cancel *cancel, hr_error *error)
{
    (void)want;
    (void)place;
    (void)cancel;
    (void)error;
    atomic_fetch_add(&faulty.opened, 1);
    *out = &faulty.object;
    return strcmp(path, "faulty://none") ? HR_STATUS_OK : HR_STATUS_IO;
}

static hr_status faulty_read(hr_object *object, int64_t offset, size_t size, void *dst,
                             bool *cached, hr_cancel *cancel, hr_error *error)
{
    (void)object;
    (void)cancel;
    *cached = true;
    atomic_fetch_add(&faulty.reads, 1);
    (void)error;
    for (size_t k = 0; k < size; k++)
        ((unsigned char *)dst)[k] = (unsigned char)((size_t)offset + k);
    return HR_STATUS_OK;
}

static void faulty_close(hr_object *object)
{
    (void)object;
    atomic_fetch_add(&faulty.closed, 1);
}

static const hr_storage faulty_storage = {
    .scheme = "faulty",
    .open = faulty_open,
    .read = faulty_read,
    .close = faulty_close,
};

static void faulty_set(void)
{
    static bool added;
    if (!added && hr_storage_add(&faulty_storage, NULL) != HR_STATUS_OK)
        exit(2);
    added = true;
    faulty.object = (hr_object){&faulty_storage, 1000};
    atomic_store(&faulty.opened, 0);
    atomic_store(&faulty.closed, 0);
    atomic_store(&faulty.reads, 0);
}

TEST(back_ends_are_chosen_by_scheme)
{
    hr_error error = {0};
    hr_object *object;
    faulty_set();
    CHECK(hr_storage_add(&faulty_storage, &error) == HR_STATUS_ERROR);
    CHECK_OK(hr_object_open(&object, "/root", "faulty://x", NULL, &error), error);
    CHECK(object == &faulty.object);
    CHECK_OK(hr_object_open(&object, "faulty://root", "x", NULL, &error), error);
    CHECK(object == &faulty.object && atomic_load(&faulty.opened) == 2);
    CHECK(hr_object_open(&object, NULL, "unknown://x", NULL, &error) == HR_STATUS_IO);
}

/* Many items of one object: it is opened once, and spans that are close together are one read. */
TEST(spans_of_an_open_object)
{
    hr_error error = {0};
    hr_arena *arena;
    CHECK_OK(hr_arena_create(&arena, &error), error);
    hr_pool *pool;
    hr_readahead *ra;
    hr_read *reads[100];
    faulty_set();
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    CHECK_OK(hr_readahead_create(&ra, pool, 1 << 20, 2, 2, 0, &error), error);
    for (int i = 0; i < 100; i++) {
        hr_span spans[3] = {{.path = "faulty://a", .offset = 5, .size = 10, .keep_open = true},
                            {.path = "faulty://a", .offset = 20, .size = 3, .keep_open = true},
                            {.path = "faulty://a", .offset = 7, .size = 1, .keep_open = true}};
        spans[1].path = spans[2].path = spans[0].path;
        CHECK_OK(hr_readahead_ask(spans, 3, false, &reads[i], &error), error);
    }
    hr_readahead_queue(ra, reads, 100);
    for (int i = 0; i < 100; i++) {
        hr_buffer *buffer;
        hr_read_piece at[3];
        int64_t waited;
        CHECK_OK(hr_readahead_take(ra, reads[i], arena, &buffer, at, &waited, &error), error);
        const unsigned char *data = hr_buffer_data(buffer);
        CHECK(at[0].size == 10 && data[at[0].offset] == 5 && data[at[0].offset + 9] == 14);
        CHECK(at[1].size == 3 && data[at[1].offset] == 20);
        CHECK(at[2].size == 1 && data[at[2].offset] == 7);
        hr_buffer_unref(buffer);
    }
    CHECK(atomic_load(&faulty.opened) == 1 && atomic_load(&faulty.reads) == 200);
    hr_span beyond = {.path = "faulty://a", .offset = 995, .size = 10};
    CHECK_OK(hr_readahead_ask(&beyond, 1, false, &reads[0], &error), error);
    hr_buffer *buffer;
    hr_read_piece at;
    int64_t waited;
    CHECK(hr_readahead_take(ra, reads[0], arena, &buffer, &at, &waited, &error) == HR_STATUS_IO);
    CHECK(strstr(error.message, "too few"));
    hr_readahead_destroy(ra);
    hr_arena_destroy(arena);
    CHECK(atomic_load(&faulty.opened) == atomic_load(&faulty.closed));
    CHECK(hr_pool_lent(pool) == 0);
    hr_pool_unref(pool);
}

static hr_status pin(int32_t device, size_t size, void **out, hr_error *error)
{
    (void)device;
    *out = aligned_alloc(4096, (size + 4095) / 4096 * 4096);
    return *out ? HR_STATUS_OK : hr_fail_memory(error, size);
}

static unsigned char byte_of(size_t at)
{
    return (unsigned char)(at * 31 + at / 4096);
}

/* Reads the spans of a file of 1 MB, and checks their bytes and that the note of the largest one is
 * its key. */
static bool keyed(hr_readahead *ra, bool direct, const hr_cache *cache, hr_arena *arena,
                  const hr_span *spans, int32_t count, int32_t largest)
{
    hr_error error = {0};
    hr_read *read;
    hr_buffer *buffer = NULL;
    hr_read_piece at[4];
    hr_note note = {{0}};
    int64_t waited;
    bool ok = hr_readahead_ask(spans, count, direct, &read, &error) == HR_STATUS_OK &&
              hr_readahead_take(ra, read, arena, &buffer, at, &waited, &error) == HR_STATUS_OK;
    for (int32_t i = 0; ok && i < count; i++) {
        const unsigned char *data = (unsigned char *)hr_buffer_data(buffer) + at[i].offset;
        for (size_t k = 0; k < at[i].size; k++)
            ok = ok && data[k] == byte_of((size_t)spans[i].offset + k);
        hr_hash key = hr_cache_key(cache, data, at[i].size);
        bool noted = hr_buffer_get_note(buffer, data, at[i].size, &note);
        ok = ok && noted == (i == largest) &&
             (!noted || (note.word[0] == key.word[0] && note.word[1] == key.word[1]));
    }
    hr_buffer_unref(buffer);
    return ok;
}

/* With threads and without, through the bounce buffer and, for large spans, without it; and past
 * the page cache. */
TEST(keys_are_noted_while_reading)
{
    hr_error error = {0};
    hr_pool *pool;
    hr_readahead *ra;
    hr_cache *cache;
    hr_arena *arena;
    make_files();
    const char *path = path_of(0);
    FILE *f = fopen(path, "wb");
    for (size_t k = 0; f && k < 1 << 20; k++)
        fputc(byte_of(k), f);
    CHECK(f && fclose(f) == 0);
    CHECK_OK(hr_cache_create(&cache, 1 << 20, NULL, &error), error);
    CHECK_OK(hr_arena_create(&arena, &error), error);
    for (int turn = 0; turn < 4; turn++) {
        int threads = turn & 2;
        bool direct = turn & 1;
        CHECK_OK(hr_pool_create(&pool, 0, &error), error);
        hr_pool_pin(pool, 0, 4096, pin, free);
        CHECK_OK(hr_readahead_create(&ra, pool, 1 << 22, threads, threads, 0, &error), error);
        hr_readahead_keys(ra, hr_cache_keys(cache));
        const hr_span whole = {.path = path, .size = -1}, small = {.path = path, .size = 50001};
        const hr_span two[] = {{.path = path, .offset = 512, .size = 9, .keep_open = true},
                               {.path = path, .offset = 1024, .size = 70003, .keep_open = true}};
        const hr_span odd[] = {{.path = path, .offset = 512, .size = 9, .keep_open = true},
                               {.path = path, .offset = 1025, .size = 70003, .keep_open = true}};
        const hr_span far[] = {{.path = path, .offset = 700, .size = 9000, .keep_open = true},
                               {.path = path, .offset = 200000, .size = 8999, .keep_open = true},
                               {.path = path, .offset = 300032, .size = 9001, .keep_open = true}};
        CHECK(keyed(ra, direct, cache, arena, far, 3, 2));
        CHECK(keyed(ra, direct, cache, arena, &whole, 1, 0));
        CHECK(keyed(ra, direct, cache, arena, &small, 1, 0));
        CHECK(keyed(ra, direct, cache, arena, two, 2, 1));
        CHECK(keyed(ra, direct, cache, arena, odd, 2, -1)); /* not aligned: without a key */
        hr_readahead_destroy(ra);
        hr_pool_unref(pool);
    }
    hr_arena_destroy(arena);
    hr_cache_destroy(cache);
    remove_files();
}

/* Takes requests in another order than they were made, drops some, with few threads or none, under
 * a tight limit. */
static bool read_all(int threads, int spare, size_t limit, hr_readahead_stats *stats)
{
    hr_error error = {0};
    hr_pool *pool;
    hr_readahead *ra;
    hr_read *reads[FILES];
    char names[FILES][8];
    hr_arena *arena;
    bool ok = hr_arena_create(&arena, &error) == HR_STATUS_OK &&
              hr_pool_create(&pool, 0, &error) == HR_STATUS_OK &&
              hr_readahead_create(&ra, pool, limit, threads, spare, 0, &error) == HR_STATUS_OK;
    for (int i = 0; i < FILES && ok; i++) {
        sprintf(names[i], "%d", i);
        hr_span span = {.root = dir, .path = names[i], .size = -1};
        ok = hr_readahead_ask(&span, 1, false, &reads[i], &error) == HR_STATUS_OK;
    }
    if (ok)
        hr_readahead_queue(ra, reads, FILES);
    for (int k = 0; k < FILES && ok; k++) {
        int i = k ^ 3; /* far ahead of the readers, or behind them */
        hr_buffer *buffer = NULL;
        hr_read_piece piece;
        int64_t waited;
        if (i % 10 == 9) {
            hr_readahead_drop(ra, reads[i]);
            continue;
        }
        ok = hr_readahead_take(ra, reads[i], arena, &buffer, &piece, &waited, &error) ==
                 HR_STATUS_OK &&
             piece.offset == 0 && hr_buffer_size(buffer) == FILE_SIZE &&
             ((unsigned char *)hr_buffer_data(buffer))[123] == ((i * 7 + 123) & 255);
        hr_buffer_unref(buffer);
    }
    hr_readahead_stats_get(ra, stats);
    ok = ok && stats->peak_bytes <= (int64_t)HR_MAX(limit, FILE_SIZE) + FILE_SIZE;
    hr_readahead_destroy(ra);
    hr_arena_destroy(arena);
    ok = ok && hr_pool_lent(pool) == 0;
    hr_pool_unref(pool);
    return ok;
}

TEST(read_ahead_is_exact_and_bounded)
{
    hr_readahead_stats stats;
    make_files();
    CHECK(read_all(0, 0, 1 << 20, &stats));
    CHECK(read_all(1, 1, 1, &stats));
    CHECK(read_all(1, 0, 1 << 20, &stats));
    for (int i = 0; i < 20; i++)
        CHECK(read_all(4, i % 5, 3 * FILE_SIZE, &stats));
    remove_files();
}

/* Reading threads without a CPU of their own leave files that are in the page cache to the workers.
 */
TEST(files_in_memory_are_left_to_workers)
{
    hr_readahead_stats stats;
    make_files();
    CHECK(read_all(0, 0, 1 << 20, &stats));
    int64_t reads = stats.files, cached = stats.cached;
    if (cached < reads) { /* a file system that does not say whether a file is in memory */
        printf("SKIPPED: %d of %d reads came from memory\n", (int)cached, (int)reads);
        return;
    }
    CHECK(reads > 64 + 4);
    CHECK(read_all(4, 0, 1 << 28, &stats));
    /* now and then the system does not report that a file is in memory */
    CHECK(stats.cached < stats.files || stats.files - stats.own_reads <= 64 + 4);
    remove_files();
}

static int64_t files_read(hr_readahead *ra, bool own)
{
    hr_readahead_stats stats;
    hr_readahead_stats_get(ra, &stats);
    return own ? stats.own_reads : stats.files;
}

/* Queues requests, lets the threads read all of them, and takes them. */
static bool read_round(hr_readahead *ra, hr_arena *arena, int round)
{
    enum { COUNT = 8 };
    hr_error error = {0};
    hr_read *reads[COUNT];
    hr_buffer *buffer = NULL;
    hr_read_piece piece;
    int64_t waited;
    bool ok = true;
    const hr_span span = {.root = dir, .path = "5", .size = -1};
    for (int i = 0; i < COUNT && ok; i++)
        ok = hr_readahead_ask(&span, 1, false, &reads[i], &error) == HR_STATUS_OK;
    if (!ok)
        return false;
    hr_readahead_queue(ra, reads, COUNT);
    for (int pauses = 0; files_read(ra, false) < COUNT * (round + 1);)
        if (!waiting_pause(&pauses))
            return false;
    for (int i = 0; i < COUNT && ok; i++) {
        ok = hr_readahead_take(ra, reads[i], arena, &buffer, &piece, &waited, &error) ==
                 HR_STATUS_OK &&
             ((unsigned char *)hr_buffer_data(buffer))[1] == ((5 * 7 + 1) & 255);
        hr_buffer_unref(buffer);
        buffer = NULL;
    }
    return ok && files_read(ra, true) == 0;
}

/* However many pipelines live: threads are there while there is something to read, and come back.
 */
TEST(threads_end_when_there_is_nothing_to_read)
{
    enum { MANY = 200, ROUNDS = 3 };
    static hr_readahead *ra[MANY];
    hr_error error = {0};
    hr_pool *pool;
    hr_arena *arena;
    make_files();
    int threads = waiting_threads();
    CHECK_OK(hr_arena_create(&arena, &error), error);
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    for (int i = 0; i < MANY; i++) /* delayed reads never count as reads from memory */
        CHECK_OK(hr_readahead_create(&ra[i], pool, 1 << 20, 4, 0, 1, &error), error);
    CHECK(waiting_threads() <= threads);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MANY; i++)
            CHECK(read_round(ra[i], arena, round));
        WAIT_FOR(waiting_threads() <= threads);
    }
    CHECK(read_round(ra[0], arena, ROUNDS)); /* some end here, with threads or without */
    for (int i = 0; i < MANY; i++)
        hr_readahead_destroy(ra[i]);
    WAIT_FOR(waiting_threads() <= threads); /* the system may see joined threads for a while */
    hr_arena_destroy(arena);
    hr_pool_unref(pool);
    remove_files();
}

TEST(read_ahead_reports_missing_files)
{
    hr_error error = {0};
    hr_pool *pool;
    hr_readahead *ra;
    hr_read *read;
    hr_buffer *buffer;
    hr_read_piece piece;
    hr_arena *arena;
    int64_t waited;
    CHECK_OK(hr_arena_create(&arena, &error), error);
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    CHECK_OK(hr_readahead_create(&ra, pool, 1 << 20, 2, 2, 0, &error), error);
    hr_span span = {.path = "/nonexistent/image.jpg", .size = -1};
    CHECK_OK(hr_readahead_ask(&span, 1, false, &read, &error), error);
    CHECK(hr_readahead_take(ra, read, arena, &buffer, &piece, &waited, &error) == HR_STATUS_IO);
    CHECK(strstr(error.message, "No such file"));
    hr_readahead_destroy(ra);
    hr_arena_destroy(arena);
    hr_pool_unref(pool);
}

TEST_MAIN
