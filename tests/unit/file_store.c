/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Values in files: what was put is found, whatever is damaged is not, and the limit is kept. */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file_store.h"
#include "test.h"

#define LIMIT 16000
#define SIZE 1000 /* of most values */

static char dir[64];
static int folder;

static void begin(void)
{
    strcpy(dir, "/tmp/headrace-store-XXXXXX");
    if (!mkdtemp(dir))
        exit(2);
    folder = hr_file_store_open(dir);
}

static void end(void)
{
    char command[128];
    close(folder);
    sprintf(command, "rm -rf '%s'", dir);
    if (system(command) != 0)
        exit(2);
}

static void value_of(int number, uint8_t *value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        value[i] = (uint8_t)(i * 7 + (size_t)number * 13 + i / 256);
}

static void put(hr_file_store *store, int number, size_t size)
{
    char key[HR_SHA256_TEXT];
    uint8_t value[2 * SIZE];
    int64_t about[2] = {number, -number};
    value_of(number, value, size);
    if (hr_file_store_key(key, "value %d", number))
        hr_file_store_put(store, folder, key, about, sizeof(about), value, size, LIMIT);
}

static bool has(const hr_file_store *store, int number, size_t size)
{
    char key[HR_SHA256_TEXT];
    uint8_t value[2 * SIZE], expected[2 * SIZE];
    int64_t about[2];
    hr_stored found;
    if (!hr_file_store_key(key, "value %d", number) ||
        !hr_file_store_find(store, folder, key, about, sizeof(about), &found))
        return false;
    bool same = found.size == size;
    if (!same)
        hr_stored_close(&found);
    value_of(number, expected, size);
    return same && hr_stored_read(&found, value) && memcmp(value, expected, size) == 0 &&
           about[0] == number && about[1] == -number;
}

/* The number of files, and the path of one of them. */
static int files(char *path)
{
    int count = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.')
            continue;
        count++;
        if (path)
            sprintf(path, "%s/%.40s", dir, e->d_name);
    }
    if (d)
        closedir(d);
    return count;
}

TEST(what_was_put_is_found)
{
    hr_file_store a = HR_FILE_STORE(1, ".one"), b = HR_FILE_STORE(2, ".two");
    hr_file_store newer = HR_FILE_STORE(3, ".one");
    begin();
    CHECK(folder >= 0 && !has(&a, 1, SIZE));
    put(&a, 1, SIZE);
    put(&a, 2, 0);
    CHECK(has(&a, 1, SIZE) && has(&a, 2, 0) && !has(&b, 1, SIZE) && !has(&a, 3, SIZE));
    put(&a, 1, SIZE / 2);
    CHECK(has(&a, 1, SIZE / 2) && files(NULL) == 2);
    CHECK(!has(&newer, 1, SIZE / 2)); /* another version of the format */
    put(&newer, 1, SIZE);
    CHECK(has(&newer, 1, SIZE) && !has(&a, 1, SIZE / 2) && files(NULL) == 2);
    put(&a, 4, LIMIT / 16 + 1);
    CHECK(!has(&a, 4, LIMIT / 16 + 1) && files(NULL) == 2);
    end();
}

/* Every byte of a file counts, and so does its length. */
TEST(damage_is_noticed)
{
    hr_file_store store = HR_FILE_STORE(1, ".one");
    char path[128];
    struct stat st;
    begin();
    put(&store, 1, SIZE);
    CHECK(files(path) == 1 && stat(path, &st) == 0);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    for (off_t i = 0; i < st.st_size; i++) {
        uint8_t byte, other;
        CHECK(pread(fd, &byte, 1, i) == 1);
        other = byte ^ 0x10;
        CHECK(pwrite(fd, &other, 1, i) == 1);
        CHECK(!has(&store, 1, SIZE));
        CHECK(pwrite(fd, &byte, 1, i) == 1);
    }
    CHECK(has(&store, 1, SIZE));
    for (off_t size = st.st_size + 1; size >= 0; size -= 97) {
        CHECK(ftruncate(fd, size) == 0);
        CHECK(!has(&store, 1, SIZE));
    }
    close(fd);
    put(&store, 1, SIZE);
    CHECK(has(&store, 1, SIZE));
    end();
}

TEST(what_others_may_write_is_not_used)
{
    hr_file_store store = HR_FILE_STORE(1, ".one");
    char path[128], link[160];
    begin();
    put(&store, 1, SIZE);
    CHECK(files(path) == 1 && chmod(path, 0620) == 0);
    CHECK(!has(&store, 1, SIZE));
    CHECK(chmod(path, 0600) == 0 && has(&store, 1, SIZE));
    sprintf(link, "%s.else", path);
    CHECK(rename(path, link) == 0 && symlink(link, path) == 0);
    CHECK(!has(&store, 1, SIZE));
    sprintf(link, "%s-link", dir);
    CHECK(symlink(dir, link) == 0 && hr_file_store_open(link) < 0);
    CHECK(unlink(link) == 0);
    CHECK(chmod(dir, 0777) == 0 && hr_file_store_open(dir) < 0);
    CHECK(hr_file_store_open("/nonexistent/folder") < 0);
    end();
}

/* Beyond the limit, what was not used for the longest time goes; what others left goes as well. */
TEST(the_limit_is_kept)
{
    enum { COUNT = 40, LONG_AGO = 100000 };
    hr_file_store store = HR_FILE_STORE(1, ".one");
    char path[160];
    int64_t bytes = 0;
    begin();
    sprintf(path, "%s/abandoned.one.1.1", dir);
    int fd = open(path, O_CREAT | O_WRONLY, 0600);
    CHECK(fd >= 0);
    const struct timespec old[2] = {{LONG_AGO, 0}, {LONG_AGO, 0}};
    CHECK(futimens(fd, old) == 0);
    close(fd);
    put(&store, 0, SIZE); /* used last a long time ago ... */
    CHECK(access(path, F_OK) != 0);
    CHECK(files(path) == 1 && utimensat(AT_FDCWD, path, old, 0) == 0);
    CHECK(has(&store, 0, SIZE)); /* ... and now */
    for (int i = 1; i < COUNT; i++) {
        const struct timespec then[2] = {{LONG_AGO + i, 0}, {LONG_AGO + i, 0}};
        put(&store, i, SIZE);
        char key[HR_SHA256_TEXT];
        CHECK(hr_file_store_key(key, "value %d", i));
        sprintf(path, "%s/%.16s.one", dir, key);
        CHECK(utimensat(AT_FDCWD, path, then, 0) == 0);
    }
    atomic_store(&store.written, -1); /* as a process does that begins */
    put(&store, COUNT, SIZE);
    for (int i = 0; i <= COUNT; i++)
        bytes += has(&store, i, SIZE) ? SIZE : 0;
    CHECK(bytes <= LIMIT && bytes > LIMIT / 2);
    CHECK(has(&store, 0, SIZE) && has(&store, COUNT, SIZE) && has(&store, COUNT - 1, SIZE));
    CHECK(!has(&store, 1, SIZE));
    end();
}

TEST_MAIN
