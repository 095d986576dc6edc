/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reading: special files are refused without blocking; reading ahead is exact and bounded. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file.h"
#include "io/readahead.h"
#include "test.h"

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

TEST(odd_files_are_refused)
{
    hr_error error = {0};
    hr_file file;
    make_files();
    hr_span span = {.path = dir, .size = -1};
    CHECK(hr_file_open(&file, &span, &error) == HR_STATUS_IO && strstr(error.message, "directory"));
    char fifo[96];
    sprintf(fifo, "%s/fifo", dir);
    CHECK(mkfifo(fifo, 0644) == 0);
    span.path = fifo; /* without O_NONBLOCK this would wait for a writer forever */
    CHECK(hr_file_open(&file, &span, &error) == HR_STATUS_IO && strstr(error.message, "FIFO"));
    span.path = "/nonexistent/file";
    CHECK(hr_file_open(&file, &span, &error) == HR_STATUS_IO &&
          strstr(error.message, "No such file"));
    span = (hr_span){.root = dir, .path = "3", .offset = FILE_SIZE - 5, .size = 6};
    CHECK(hr_file_open(&file, &span, &error) == HR_STATUS_IO);
    remove_files();
}

TEST(a_file_cut_while_it_is_read)
{
    hr_error error = {0};
    hr_file file;
    hr_pool *pool;
    hr_buffer *buffer;
    bool cached;
    make_files();
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    hr_span span = {.root = dir, .path = "5", .size = -1};
    CHECK_OK(hr_file_open(&file, &span, &error), error);
    CHECK(truncate(path_of(5), 100) == 0);
    CHECK(hr_file_read(&file, pool, &buffer, &cached, &error) == HR_STATUS_IO &&
          strstr(error.message, "shorter"));
    hr_file_close(&file);
    CHECK(hr_pool_lent(pool) == 0);
    hr_pool_unref(pool);
    remove_files();
}

TEST(parts_of_files)
{
    hr_error error = {0};
    hr_file file;
    hr_pool *pool;
    hr_buffer *buffer;
    bool cached;
    make_files();
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    hr_span span = {.root = dir, .path = "2", .offset = 1000, .size = 50};
    CHECK_OK(hr_file_open(&file, &span, &error), error);
    CHECK_OK(hr_file_read(&file, pool, &buffer, &cached, &error), error);
    hr_file_close(&file);
    CHECK(hr_buffer_size(buffer) == 50);
    for (int k = 0; k < 50; k++)
        CHECK(((unsigned char *)hr_buffer_data(buffer))[k] == ((2 * 7 + 1000 + k) & 255));
    hr_buffer_unref(buffer);
    hr_pool_unref(pool);
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
    bool ok = hr_pool_create(&pool, 0, &error) == HR_STATUS_OK &&
              hr_readahead_create(&ra, pool, limit, threads, spare, 0, &error) == HR_STATUS_OK;
    for (int i = 0; i < FILES && ok; i++) {
        sprintf(names[i], "%d", i);
        hr_span span = {.root = dir, .path = names[i], .size = -1};
        ok = hr_readahead_ask(ra, &span, &reads[i], &error) == HR_STATUS_OK;
    }
    for (int k = 0; k < FILES && ok; k++) {
        int i = k ^ 3; /* far ahead of the readers, or behind them */
        hr_buffer *buffer = NULL;
        int64_t waited;
        if (i % 10 == 9) {
            hr_readahead_drop(ra, reads[i]);
            continue;
        }
        ok = hr_readahead_take(ra, reads[i], &buffer, &waited, &error) == HR_STATUS_OK &&
             hr_buffer_size(buffer) == FILE_SIZE &&
             ((unsigned char *)hr_buffer_data(buffer))[123] == ((i * 7 + 123) & 255);
        hr_buffer_unref(buffer);
    }
    hr_readahead_stats_get(ra, stats);
    ok = ok && stats->peak_bytes <= (int64_t)HR_MAX(limit, FILE_SIZE) + FILE_SIZE;
    hr_readahead_destroy(ra);
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

TEST(read_ahead_reports_missing_files)
{
    hr_error error = {0};
    hr_pool *pool;
    hr_readahead *ra;
    hr_read *read;
    hr_buffer *buffer;
    int64_t waited;
    CHECK_OK(hr_pool_create(&pool, 0, &error), error);
    CHECK_OK(hr_readahead_create(&ra, pool, 1 << 20, 2, 2, 0, &error), error);
    hr_span span = {.path = "/nonexistent/picture.jpg", .size = -1};
    CHECK_OK(hr_readahead_ask(ra, &span, &read, &error), error);
    CHECK(hr_readahead_take(ra, read, &buffer, &waited, &error) == HR_STATUS_IO);
    CHECK(strstr(error.message, "No such file"));
    hr_readahead_destroy(ra);
    hr_pool_unref(pool);
}

TEST_MAIN
