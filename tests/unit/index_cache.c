/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The cache of indices: in memory up to its limit, and in a folder whose files others extend,
 * truncate, damage, fill up or remove. A value is returned as it was stored, or not at all. */
#include "test.h"

#include "codecs/jpeg/index_cache.h"
#include "codecs/jpeg/index_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { VALUE_MAX = 3000, MANY = 400, HEADER = 16, HEAD = 40 };

/* ---- the clock, which a test can put forward ---- */

static time_t clock_ahead;

/* no luck: the library asks this clock */
int clock_gettime(clockid_t clock, struct timespec *t)
{
    long code = syscall(SYS_clock_gettime, clock, t);
    t->tv_sec += clock_ahead;
    return (int)code;
}

/* The i-th value; its size and bytes follow from i. Longer values begin like shorter ones. */
static size_t make_value(int i, int extra, uint8_t *value)
{
    size_t size = (size_t)(10 + (i * 37) % 2000 + extra);
    for (size_t k = 0; k < size; k++)
        value[k] = (uint8_t)((size_t)i * 31 + k * 7 + k / 100);
    return size;
}

static hr_hash key_of(const hr_cache *cache, int i)
{
    return hr_cache_key(cache, &i, sizeof(i));
}

static void put(hr_cache *cache, int i, int extra)
{
    uint8_t value[VALUE_MAX];
    hr_hash key = key_of(cache, i);
    hr_cache_put(cache, &key, value, make_value(i, extra, value));
}

/* Looks up the i-th value: 1: found, 0: not found, -1: another value. */
static int get(hr_cache *cache, int i, int extra)
{
    uint8_t want[VALUE_MAX];
    const uint8_t *value;
    size_t size, n = make_value(i, extra, want);
    hr_arena *arena;
    hr_hash key = key_of(cache, i);
    if (hr_arena_create(&arena, NULL) != HR_STATUS_OK)
        return -1;
    int found = hr_cache_get(cache, &key, arena, &value, &size);
    if (found && (size != n || memcmp(value, want, n) != 0))
        found = -1;
    hr_arena_destroy(arena);
    return found;
}

static int count_found(hr_cache *cache, int n)
{
    int found = 0;
    for (int i = 0; i < n; i++) {
        int there = get(cache, i, 0);
        if (there < 0)
            return -1;
        found += there;
    }
    return found;
}

static hr_cache *make(size_t limit, const char *folder)
{
    hr_cache *cache = NULL;
    hr_error error;
    if (hr_cache_create(&cache, limit, folder, &error) != HR_STATUS_OK)
        printf("%s\n", error.message);
    return cache;
}

static hr_cache_stats stats(hr_cache *cache)
{
    hr_cache_stats s;
    hr_cache_stats_get(cache, &s);
    return s;
}

/* ---- memory ---- */

TEST(memory)
{
    hr_cache *c = make(1 << 24, NULL);
    CHECK(c && count_found(c, MANY) == 0);
    for (int i = 0; i < MANY; i++)
        put(c, i, 0);
    CHECK(count_found(c, MANY) == MANY);
    CHECK(get(c, MANY, 0) == 0);
    hr_cache_stats s = stats(c);
    CHECK(s.values == MANY && s.made == MANY && s.hits == MANY && s.misses == MANY + 1 &&
          s.refused == 0);
    CHECK(s.bytes > MANY * 500 && s.bytes < MANY * 3000);
    hr_cache_destroy(c);
}

TEST(longer_values_replace_shorter_ones)
{
    hr_cache *c = make(1 << 24, NULL);
    put(c, 1, 0);
    int64_t before = stats(c).bytes;
    put(c, 1, 20);
    CHECK(get(c, 1, 20) == 1);
    CHECK(stats(c).bytes == before + 20 && stats(c).values == 1);
    put(c, 1, 10);
    CHECK(get(c, 1, 20) == 1);
    hr_cache_destroy(c);
}

TEST(full_memory_refuses_and_keeps_what_is_there)
{
    hr_cache *c = make(100000, NULL);
    for (int i = 0; i < MANY; i++)
        put(c, i, 0);
    int found = count_found(c, MANY);
    CHECK(found > 20 && found < MANY && stats(c).values == found);
    CHECK(stats(c).bytes <= 100000 && stats(c).refused == MANY - found);
    CHECK(get(c, 0, 0) == 1); /* the first values are kept */
    hr_cache_destroy(c);
    c = make(0, NULL);
    put(c, 1, 0);
    CHECK(get(c, 1, 0) == 0 && stats(c).bytes == 0);
    hr_cache_destroy(c);
}

TEST(keys_differ_between_caches)
{
    hr_cache *a = make(1, NULL), *b = make(1, NULL);
    hr_hash x = key_of(a, 1), y = key_of(b, 1);
    CHECK(x.word[0] != y.word[0] && x.word[1] != y.word[1]);
    hr_cache_destroy(a);
    hr_cache_destroy(b);
}

TEST(every_allocation_may_fail)
{
    for (int n = 0; n < 40; n++) {
        hr_cache *c = make(1 << 24, NULL);
        hr_alloc_fail_after(n);
        for (int i = 0; i < 30; i++)
            put(c, i, 0);
        hr_alloc_fail_after(-1);
        int found = count_found(c, 30);
        CHECK(found >= 29);
        hr_cache_destroy(c);
        CHECK(found <= 30);
    }
}

/* ---- folders ---- */

static char folder[256];

static void remove_folder(void)
{
    char path[600];
    DIR *d = opendir(folder);
    for (struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        snprintf(path, sizeof(path), "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(folder);
}

static void fresh_folder(void)
{
    const char *base = getenv("TMPDIR");
    if (!folder[0]) {
        snprintf(folder, sizeof(folder), "%s/headrace-cache-%ld", base ? base : "/tmp",
                 (long)getpid());
        atexit(remove_folder);
    }
    remove_folder();
}

static const char *file_name(const char *suffix)
{
    static char path[600];
    snprintf(path, sizeof(path), "%s/headrace-index-2%s", folder, suffix);
    return path;
}

static size_t read_file(const char *suffix, uint8_t *bytes, size_t size)
{
    int fd = open(file_name(suffix), O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, bytes, size) : 0;
    if (fd >= 0)
        close(fd);
    return n > 0 ? (size_t)n : 0;
}

static bool write_file(const char *suffix, const uint8_t *bytes, size_t size)
{
    int fd = open(file_name(suffix), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    bool good = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
    if (fd >= 0)
        close(fd);
    return good;
}

static bool fill_folder(int from, int to)
{
    hr_cache *c = make(1 << 24, folder);
    for (int i = from; c && i < to; i++)
        put(c, i, 0);
    bool good = c && count_found(c, to) == to && stats(c).unwritten == 0;
    hr_cache_destroy(c);
    return good;
}

TEST(a_folder_keeps_values)
{
    fresh_folder();
    CHECK(fill_folder(0, MANY / 2));
    CHECK(fill_folder(MANY / 2, MANY)); /* continues in the same file */
    CHECK(access(file_name(".000"), F_OK) == 0 && access(file_name(".001"), F_OK) != 0);
    hr_cache *c = make(1 << 24, folder);
    CHECK(count_found(c, MANY) == MANY && stats(c).values == MANY);
    CHECK(stats(c).bytes < MANY * 100); /* only the table is in memory */
    put(c, 7, 100);
    CHECK(get(c, 7, 100) == 1);
    hr_cache_destroy(c);
    c = make(1 << 24, folder);
    CHECK(get(c, 7, 100) == 1 && get(c, 8, 0) == 1);
    hr_cache_destroy(c);
}

TEST(two_at_once_see_each_other)
{
    fresh_folder();
    hr_cache *a = make(1 << 24, folder), *b = make(1 << 24, folder);
    for (int i = 0; i < MANY; i += 2) {
        put(a, i, 0);
        put(b, i + 1, 0);
    }
    CHECK(access(file_name(".001"), F_OK) == 0); /* each process has its own file */
    clock_ahead += 2;                            /* a folder is looked at once a second at most */
    CHECK(count_found(a, MANY) == MANY && count_found(b, MANY) == MANY);
    put(a, 5, 50);
    hr_cache_destroy(a);
    hr_cache_destroy(b);
    a = make(1 << 24, folder);
    CHECK(get(a, 5, 50) == 1 && get(a, 6, 0) == 1 && stats(a).made == 0);
    hr_cache_destroy(a);
}

/* Four processes store overlapping values while each looks up all of them. */
TEST(processes_at_once)
{
    fresh_folder();
    pid_t child[4];
    for (int n = 0; n < 4; n++) {
        child[n] = fork();
        if (child[n] > 0)
            continue;
        hr_cache *c = make(1 << 24, folder);
        bool good = c != NULL;
        for (int i = 0; i < MANY && good; i++) {
            good = get(c, (i * 7) % MANY, 0) >= 0;
            if (i % 4 == n || i % 5 == 0)
                put(c, i, 0);
        }
        hr_cache_destroy(c);
        _exit(good ? 0 : 1);
    }
    for (int n = 0; n < 4; n++) {
        int status = 1;
        CHECK(waitpid(child[n], &status, 0) == child[n] && status == 0);
    }
    hr_cache *c = make(1 << 24, folder);
    CHECK(count_found(c, MANY) == MANY);
    hr_cache_destroy(c);
}

/* ---- damage ---- */

static uint8_t whole[1 << 16], damaged[1 << 16];

enum { FEW = 12 };

static size_t few_values(void)
{
    fresh_folder();
    return fill_folder(0, FEW) ? read_file(".000", whole, sizeof(whole)) : 0;
}

typedef struct putter {
    pthread_t thread;
    pthread_barrier_t *start;
    hr_cache *cache;
} putter;

static void *put_few(void *context)
{
    const putter *p = context;
    for (int i = 0; i < FEW; i++) {
        pthread_barrier_wait(p->start); /* all put the same value at once */
        put(p->cache, i, 0);
    }
    return NULL;
}

/* Several threads may make the index of one file at once. */
TEST(a_value_is_written_once)
{
    enum { THREADS = 8, ROUNDS = 50 };
    putter threads[THREADS];
    const size_t once = few_values();
    CHECK(once > 0);
    for (int round = 0; round < ROUNDS; round++) {
        pthread_barrier_t start;
        fresh_folder();
        hr_cache *c = make(1 << 24, folder);
        CHECK(c && pthread_barrier_init(&start, NULL, THREADS) == 0);
        for (int i = 0; i < THREADS; i++) {
            threads[i] = (putter){.start = &start, .cache = c};
            CHECK(pthread_create(&threads[i].thread, NULL, put_few, &threads[i]) == 0);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(threads[i].thread, NULL);
        CHECK(stats(c).made == FEW && count_found(c, FEW) == FEW);
        hr_cache_destroy(c);
        pthread_barrier_destroy(&start);
        CHECK(read_file(".000", whole, sizeof(whole)) == once);
    }
}

TEST(cut_anywhere)
{
    size_t size = few_values();
    CHECK(size > 1000 && size < sizeof(whole));
    for (size_t cut = 0; cut < size; cut += 1 + cut % 13) {
        CHECK(write_file(".000", whole, cut));
        hr_cache *c = make(1 << 24, folder);
        int found = count_found(c, FEW);
        CHECK(found >= 0 && found < FEW && found >= (int)(FEW * cut / size) / 3 - 1);
        for (int i = 0; i < FEW; i++)
            put(c, i, 0);
        CHECK(count_found(c, FEW) == FEW);
        hr_cache_destroy(c);
        c = make(1 << 24, folder); /* new records follow the last good one */
        CHECK(count_found(c, FEW) == FEW);
        hr_cache_destroy(c);
        unlink(file_name(".001"));
    }
}

TEST(every_byte_flipped)
{
    size_t size = few_values();
    CHECK(size > 1000);
    for (size_t at = 0; at < size; at += at < 300 ? 1 : 7) {
        memcpy(damaged, whole, size);
        damaged[at] ^= (uint8_t)(1u << at % 8);
        CHECK(write_file(".000", damaged, size));
        hr_cache *c = make(1 << 24, folder);
        int found = count_found(c, FEW);
        CHECK(found >= (at < HEADER ? 0 : FEW - 1)); /* the others are found */
        for (int i = 0; i < FEW; i++)
            put(c, i, 0);
        CHECK(count_found(c, FEW) == FEW);
        hr_cache_destroy(c);
        c = make(1 << 24, folder);
        found = count_found(c, FEW);
        hr_cache_destroy(c);
        CHECK(found == FEW);
        unlink(file_name(".001"));
    }
}

TEST(files_of_another_version_are_left_alone)
{
    size_t size = few_values();
    CHECK(size > 1000);
    whole[7]++;
    CHECK(write_file(".000", whole, size));
    CHECK(fill_folder(0, FEW)); /* in another file */
    CHECK(read_file(".000", damaged, sizeof(damaged)) == size && !memcmp(whole, damaged, size));
    CHECK(access(file_name(".001"), F_OK) == 0);
}

TEST(a_damaged_key_is_replaced)
{
    static const size_t sizes[] = {0, 5, 32, 100};
    uint8_t key[100] = {0};
    for (int i = 0; i < 4; i++) {
        size_t size = few_values();
        CHECK(size > 1000 && read_file(".key", key, sizeof(key)) == 32);
        key[20] ^= 1;
        CHECK(write_file(".key", key, sizes[i]));
        hr_cache *c = make(1 << 24, folder);
        CHECK(count_found(c, FEW) == 0); /* without the key, the records belong to nobody */
        hr_cache_destroy(c);
        CHECK(fill_folder(0, FEW));
        CHECK(fill_folder(0, FEW));
        CHECK(access(file_name(".002"), F_OK) != 0);
    }
}

TEST(no_files_but_the_like)
{
    fresh_folder();
    CHECK(mkdir(folder, 0777) == 0);
    CHECK(mkfifo(file_name(".000"), 0666) == 0 && mkfifo(file_name(".key"), 0666) == 0);
    CHECK(mkdir(file_name(".001"), 0777) == 0);
    CHECK(fill_folder(0, FEW));
    CHECK(access(file_name(".002"), F_OK) == 0);
    rmdir(file_name(".001"));
}

/* ---- files of others ---- */

/* Number of bytes that this process has read so far, or -1. */
static long long bytes_read(void)
{
    long long n = -1;
    FILE *f = fopen("/proc/self/io", "re");
    if (f && fscanf(f, "rchar: %lld", &n) != 1)
        n = -1;
    if (f)
        fclose(f);
    return n;
}

TEST(a_scan_reads_no_values)
{
    fresh_folder();
    CHECK(fill_folder(0, MANY));
    struct stat st;
    CHECK(stat(file_name(".000"), &st) == 0 && st.st_size > MANY * 500);
    long long before = bytes_read();
    hr_cache *c = make(1 << 24, folder);
    long long after = bytes_read();
    CHECK(stats(c).values == MANY);
    hr_cache_destroy(c);
    printf("bytes read for %d values of %lld bytes: %lld\n", MANY, (long long)st.st_size,
           after - before);
    CHECK(before < 0 || after - before < MANY * 40 + 2000);
}

/* Huge sparse files; the good records before the hole are used. */
TEST(sparse_files)
{
    const off_t huge = (off_t)1 << 40;
    const char *const suffix[] = {".000", ".000.keys", ".001", ".001.keys", ".key"};
    CHECK(few_values() > 0);
    CHECK(write_file(".001", whole, HEADER) && write_file(".001.keys", whole, HEADER));
    for (int i = 0; i < 4; i++)
        if (truncate(file_name(suffix[i]), huge) != 0) {
            printf("skipped: the file system has no files of 1 TB\n");
            return;
        }
    long long before = bytes_read();
    hr_cache *c = make(1 << 24, folder);
    CHECK(count_found(c, FEW) == FEW);
    put(c, FEW, 0); /* locks the file and truncates it */
    CHECK(count_found(c, FEW + 1) == FEW + 1 && stats(c).unwritten == 0);
    hr_cache_destroy(c);
    CHECK(truncate(file_name(".key"), huge) == 0);
    hr_cache_destroy(make(1 << 24, folder));
    CHECK(before < 0 || bytes_read() - before < 2 << 20);
}

/* Links to files that the writer may write but that are not cache files. */
TEST(links_are_not_followed)
{
    static const char *const names[] = {".key", ".000", ".000.keys"};
    static const char text[] = "precious";
    char victim[300];
    for (int i = 0; i < 12; i++) {
        bool empty = i % 2, hard = i / 2 % 2;
        const char *name = names[i / 4];
        struct stat st;
        fresh_folder();
        CHECK(mkdir(folder, 0777) == 0);
        snprintf(victim, sizeof(victim), "%s/victim", folder);
        int fd = open(victim, O_WRONLY | O_CREAT, 0644);
        CHECK(fd >= 0 && write(fd, text, empty ? 0 : sizeof(text)) >= 0);
        close(fd);
        CHECK((hard ? link(victim, file_name(name)) : symlink(victim, file_name(name))) == 0);
        CHECK(fill_folder(0, FEW) && fill_folder(0, FEW));
        CHECK(stat(victim, &st) == 0 && st.st_size == (off_t)(empty ? 0 : sizeof(text)));
    }
    /* a dangling link does not create a file */
    fresh_folder();
    CHECK(mkdir(folder, 0777) == 0);
    snprintf(victim, sizeof(victim), "%s/elsewhere", folder);
    CHECK(symlink(victim, file_name(".000")) == 0);
    hr_cache *c = make(1 << 24, folder);
    put(c, 1, 0);
    CHECK(get(c, 1, 0) == 1 && access(victim, F_OK) != 0 && stats(c).unwritten == 0);
    hr_cache_destroy(c);
    c = make(1 << 24, folder);
    CHECK(get(c, 1, 0) == 1 && stats(c).ignored == 1);
    hr_cache_destroy(c);
}

TEST(tables_that_are_no_files)
{
    for (int i = 0; i < 2; i++) {
        fresh_folder();
        CHECK(mkdir(folder, 0777) == 0);
        CHECK((i ? mkdir : mkfifo)(file_name(".000.keys"), 0777) == 0);
        CHECK(fill_folder(0, FEW) && fill_folder(0, FEW));
        CHECK(access(file_name(".001"), F_OK) == 0);
        rmdir(file_name(".000.keys"));
    }
}

TEST(files_that_anybody_may_write_are_not_used)
{
    CHECK(few_values() > 0 && chmod(file_name(".000"), 0666) == 0);
    hr_cache *c = make(1 << 24, folder);
    CHECK(count_found(c, FEW) == 0 && stats(c).ignored == 1);
    put(c, 1, 0);
    CHECK(get(c, 1, 0) == 1 && access(file_name(".001"), F_OK) == 0);
    hr_cache_destroy(c);
}

/* Three users: the folder's owner, the writer of its files, and a reader. Returns how many values
 * the reader finds. */
static int found_by(uid_t reader, uid_t folder_owner, mode_t mode, uid_t writer)
{
    pid_t child = fork();
    if (child == 0) {
        int found = -1;
        if (few_values() > 0) {
            const char *const suffix[] = {".key", ".000", ".000.keys"};
            for (int i = 0; i < 3; i++)
                (void)!chown(file_name(suffix[i]), writer, writer);
            (void)!chown(folder, folder_owner, 5000);
            chmod(folder, mode);
            if (setgroups(0, NULL) != 0 || setgid(reader == 4003 ? 5000 : reader) != 0 ||
                setuid(reader) != 0)
                _exit(99);
            hr_cache *c = NULL;
            hr_error error;
            if (hr_cache_create(&c, 1 << 20, folder, &error) == HR_STATUS_OK)
                found = count_found(c, FEW);
            else if (!strstr(error.message, "belongs to another user"))
                found = 98;
            hr_cache_destroy(c);
        }
        _exit(found < 0 ? 97 : found);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(files_of_strangers_are_not_used)
{
    enum { REFUSED = 97 };
    if (geteuid() != 0) {
        printf("skipped: only root can give files to other users\n");
        return;
    }
    fresh_folder();
    CHECK(found_by(4001, 4001, 0755, 4001) == FEW);     /* all one's own */
    CHECK(found_by(4001, 0, 0755, 0) == FEW);           /* root's */
    CHECK(found_by(4001, 4002, 0755, 4002) == REFUSED); /* another's */
    CHECK(found_by(4001, 4001, 0777, 4002) == 0);       /* one's own folder, in which others could
                                                           write */
    CHECK(found_by(4001, 0, 01777, 4002) == 0);         /* as /tmp */
    CHECK(found_by(4003, 4002, 0775, 4002) == FEW);     /* of a group that the user is in */
    CHECK(found_by(4003, 4002, 0777, 4002) == REFUSED); /* ... and writable by everybody */
    CHECK(found_by(0, 4002, 0755, 4002) == FEW);        /* a container's root */
    chown(folder, 0, 0);
}

/* ---- folders that cannot be written ---- */

TEST(what_is_no_folder_is_an_error)
{
    hr_cache *c = NULL;
    hr_error error;
    CHECK(hr_cache_create(&c, 1000, "/dev/null", &error) == HR_STATUS_VALUE);
    CHECK(hr_cache_create(&c, 1000, "/no/such/folder", &error) == HR_STATUS_IO);
    CHECK(strstr(error.message, "/no/such/folder") != NULL);
    static char path[5000];
    memset(path, 'a', sizeof(path) - 1);
    CHECK(hr_cache_create(&c, 1000, path, &error) == HR_STATUS_VALUE);
}

TEST(where_nothing_can_be_made_memory_serves)
{
    hr_cache *c = make(1 << 24, "/proc/self");
    CHECK(c != NULL);
    for (int i = 0; i < FEW; i++)
        put(c, i, 0);
    CHECK(count_found(c, FEW) == FEW && stats(c).unwritten == FEW);
    hr_cache_destroy(c);
}

/* Nothing can be written to it, but its records are used. Root may write anywhere. */
TEST(a_read_only_folder_is_read)
{
    CHECK(few_values() > 0);
    CHECK(chmod(folder, 0555) == 0 && chmod(file_name(".000"), 0444) == 0);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(3);
        hr_cache *c = make(1 << 24, folder);
        bool good = count_found(c, FEW) == FEW;
        put(c, FEW, 0);
        good = good && count_found(c, FEW + 1) == FEW + 1 && stats(c).unwritten == 1;
        hr_cache_destroy(c);
        _exit(good ? 0 : 1);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child);
    chmod(folder, 0777);
    CHECK(WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3));
}

/* Like a full disk. The signal of the file size limit must not end the process. */
TEST(a_full_disk)
{
    fresh_folder();
    pid_t child = fork();
    if (child == 0) {
        struct rlimit most = {20000, 20000};
        setrlimit(RLIMIT_FSIZE, &most);
        hr_cache *c = make(1 << 24, folder);
        for (int i = 0; i < MANY; i++)
            put(c, i, 0);
        bool good = count_found(c, MANY) == MANY && stats(c).unwritten > MANY / 2;
        hr_cache_destroy(c);
        _exit(good ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    hr_cache *c = make(1 << 24, folder);
    int found = count_found(c, MANY);
    CHECK(found > 10 && found < MANY / 2); /* and everything that was written is good */
    hr_cache_destroy(c);
    CHECK(fill_folder(0, MANY));
}

/* Not even the first header can be written: the cache does not try one file after the other. */
TEST(a_disk_full_from_the_start)
{
    fresh_folder();
    pid_t child = fork();
    if (child == 0) {
        struct rlimit most = {8, 8};
        hr_cache *c = make(1 << 24, folder);
        setrlimit(RLIMIT_FSIZE, &most);
        put(c, 0, 0);
        bool good = count_found(c, 1) == 1 && stats(c).unwritten == 1;
        hr_cache_destroy(c);
        _exit(good ? 0 : 1);
    }
    int status = 1, files = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));)
        files += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    CHECK(files > 0 && files <= 2); /* the key, and one empty file */
    CHECK(fill_folder(0, MANY));
}

/* ---- threads ---- */

static hr_cache *shared;

static void *work(void *context)
{
    int n = *(int *)context;
    for (int i = 0; i < MANY; i++) {
        int at = (i * 13 + n * 50) % MANY;
        if (get(shared, at, 0) < 0 && get(shared, at, 40) < 0)
            return context;
        put(shared, at, n % 2 ? 40 : 0);
    }
    return NULL;
}

static bool run_threads(const char *where)
{
    pthread_t thread[6];
    int number[6];
    bool good = true;
    shared = make(1 << 24, where);
    for (int i = 0; i < 6; i++) {
        number[i] = i;
        pthread_create(&thread[i], NULL, work, &number[i]);
    }
    for (int i = 0; i < 6; i++) {
        void *failed;
        pthread_join(thread[i], &failed);
        good = good && !failed;
    }
    for (int i = 0; i < MANY; i++)
        good = good && get(shared, i, 40) == 1;
    hr_cache_destroy(shared);
    return good;
}

TEST(threads)
{
    CHECK(run_threads(NULL));
    fresh_folder();
    CHECK(run_threads(folder));
    CHECK(run_threads(folder));
}

TEST_MAIN
