/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A file is a header and records, each a multiple of 8 bytes long and in one write. Nothing that is
 * read is trusted: a record counts when the keyed hash of its head is right, and a value when its
 * own is; what lies between records is passed over. */
#include "io/cache_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/readahead.h"
#include "kernels/kernels.h"

/* The number is that of everything: records, hash, and what values mean. */
#define NAME "headrace-index-1"
#define MAGIC "HRINDEX1"

enum { FILES = 1024, PATH_SIZE = 4096, WINDOW = 1 << 16 };
static const int64_t refresh_ns = 1000000000;

typedef struct key_file {
    char magic[8];
    uint32_t seed[4];
    uint64_t check; /* also tells files of other byte order */
} key_file;

typedef struct file_header {
    char magic[8];
    uint64_t tag; /* of the key that its records were made with */
} file_header;

typedef struct record {
    hr_hash key;
    uint32_t size, zero;
    uint64_t check; /* of the value */
    uint64_t head;  /* of all the above */
} record;

typedef struct cache_file {
    atomic_int fd;   /* to read; -1: none (yet) */
    int64_t scanned; /* up to here */
    int64_t size;    /* when it was scanned last */
} cache_file;

struct hr_cache_folder {
    char path[PATH_SIZE];
    hr_hash_key key;
    uint64_t tag;
    const hr_kernels *kernels;
    hr_cache_found found;
    void *context;
    pthread_mutex_t lock; /* for all below but reading at a place */
    cache_file file[FILES];
    int32_t count;   /* of files that may be there */
    int own, own_fd; /* the file that is appended to, or -1 */
    int64_t own_end, own_most;
    bool closed; /* it cannot be written any more */
    char *buffer;
    size_t buffer_size;
    atomic_int_least64_t refreshed; /* clock */
};

void hr_cache_expand_key(hr_hash_key *key, const uint32_t seed[4])
{
    for (uint32_t i = 0; i < HR_HASH_WORDS; i += 2) {
        const uint32_t counter[4] = {i, 0, seed[2], seed[3]};
        uint32_t four[4];
        hr_philox(seed, counter, four);
        for (uint32_t k = 0; k < 2 && i + k < HR_HASH_WORDS; k++)
            key->word[i + k] = (uint64_t)four[2 * k] << 32 | four[2 * k + 1];
    }
    for (uint32_t i = HR_HASH_WORDS - 2; i < HR_HASH_WORDS; i++)
        key->word[i] &= ((uint64_t)1 << 60) - 1;
}

static uint64_t hash_of(const hr_cache_folder *f, const void *data, size_t size)
{
    return f->kernels->hash(&f->key, data, size).word[0];
}

/* ---- system calls ---- */

static bool read_at(int fd, void *dst, size_t size, int64_t offset)
{
    for (size_t done = 0; done < size;) {
        ssize_t n = pread(fd, (char *)dst + done, size - done, (off_t)(offset + (int64_t)done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

static bool write_at(int fd, const void *src, size_t size, int64_t offset)
{
    ssize_t n;
    do {
        n = pwrite(fd, src, size, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

static int64_t size_of(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (int64_t)st.st_size : -1;
}

static int open_at(const hr_cache_folder *f, const char *suffix, int flags)
{
    char path[PATH_SIZE + 64];
    snprintf(path, sizeof(path), "%s/" NAME "%s", f->path, suffix);
    /* a FIFO of that name must not make anybody wait */
    return open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
}

static int open_number(const hr_cache_folder *f, int32_t number, int flags)
{
    char suffix[16];
    snprintf(suffix, sizeof(suffix), ".%03d", (int)number);
    return open_at(f, suffix, flags);
}

/* ---- the key ---- */

static void use_key(hr_cache_folder *f, const uint32_t seed[4])
{
    hr_cache_expand_key(&f->key, seed);
    f->tag = hash_of(f, MAGIC, sizeof(MAGIC) - 1);
}

static bool read_key(hr_cache_folder *f)
{
    key_file k;
    int fd = open_at(f, ".key", O_RDONLY);
    if (fd < 0)
        return false;
    bool good = size_of(fd) == sizeof(k) && read_at(fd, &k, sizeof(k), 0) &&
                memcmp(k.magic, MAGIC, sizeof(k.magic)) == 0;
    close(fd);
    if (!good)
        return false;
    use_key(f, k.seed);
    return k.check == hash_of(f, k.seed, sizeof(k.seed));
}

/* Made beside and linked into place, so that it is whole for everyone and the first one wins. */
static void make_key(hr_cache_folder *f)
{
    char from[PATH_SIZE + 64], to[PATH_SIZE + 64];
    key_file k = {.magic = MAGIC};
    if (getrandom(k.seed, sizeof(k.seed), 0) != (ssize_t)sizeof(k.seed))
        return;
    use_key(f, k.seed);
    k.check = hash_of(f, k.seed, sizeof(k.seed));
    snprintf(to, sizeof(to), "%s/" NAME ".key", f->path);
    snprintf(from, sizeof(from), "%s/" NAME ".%08x", f->path, (unsigned)k.seed[0]);
    int fd = open(from, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    bool good = write_at(fd, &k, sizeof(k), 0);
    close(fd);
    if (good && link(from, to) != 0 && !(errno == EEXIST && read_key(f))) {
        (void)!rename(from, to); /* what is there is damaged, or there are no links here */
        use_key(f, k.seed);
    }
    unlink(from);
}

/* ---- looking through the files ---- */

/* A stretch of a file in memory. */
typedef struct window {
    char bytes[WINDOW];
    int64_t from, to;
} window;

static bool record_at(window *w, int fd, int64_t at, record *r)
{
    if (at < w->from || at + (int64_t)sizeof(*r) > w->to) {
        ssize_t n = pread(fd, w->bytes, WINDOW, (off_t)at);
        w->from = at;
        w->to = at + HR_MAX(n, 0);
    }
    if (at + (int64_t)sizeof(*r) > w->to)
        return false;
    memcpy(r, w->bytes + (at - w->from), sizeof(*r));
    return true;
}

static bool record_good(const hr_cache_folder *f, const record *r)
{
    return r->size > 0 && r->size <= HR_CACHE_VALUE_MAX && r->zero == 0 &&
           r->head == hash_of(f, r, offsetof(record, head));
}

static int64_t record_end(int64_t at, const record *r)
{
    return at + (int64_t)sizeof(*r) + (((int64_t)r->size + 7) & ~(int64_t)7);
}

/* What is behind the last good record is looked at again when the file has grown: it may be being
 * written. */
static void scan_file(hr_cache_folder *f, int32_t number)
{
    cache_file *file = &f->file[number];
    int fd = atomic_load(&file->fd);
    int64_t size = fd >= 0 ? size_of(fd) : -1, at = file->scanned;
    window *w = size > file->size ? hr_calloc(1, sizeof(*w), NULL) : NULL;
    record r;
    if (!w)
        return;
    while (record_at(w, fd, at, &r)) {
        if (!record_good(f, &r)) {
            at += 8;
            continue;
        }
        if (record_end(at, &r) > size)
            break;
        hr_cache_place place = {at, r.size, number};
        f->found(f->context, &r.key, &place);
        at = file->scanned = record_end(at, &r);
    }
    file->size = size;
    hr_free(w);
}

static bool header_good(const hr_cache_folder *f, int fd)
{
    file_header h;
    return size_of(fd) >= (int64_t)sizeof(h) && read_at(fd, &h, sizeof(h), 0) &&
           memcmp(h.magic, MAGIC, sizeof(h.magic)) == 0 && h.tag == f->tag;
}

/* Opens a file that is not open yet; false when there is none of that number. */
static bool open_file(hr_cache_folder *f, int32_t number)
{
    cache_file *file = &f->file[number];
    if (atomic_load(&file->fd) >= 0)
        return true;
    int fd = open_number(f, number, O_RDONLY);
    if (fd < 0)
        return errno != ENOENT;
    if (!header_good(f, fd)) { /* not yet, or another's */
        close(fd);
        return true;
    }
    file->scanned = sizeof(file_header);
    file->size = 0;
    atomic_store(&file->fd, fd);
    return true;
}

/* Lock held. */
static void scan_files(hr_cache_folder *f)
{
    for (f->count = 0; f->count < FILES && open_file(f, f->count); f->count++)
        scan_file(f, f->count);
}

bool hr_cache_folder_refresh(hr_cache_folder *f)
{
    int64_t now = hr_clock_ns();
    if (now - atomic_load(&f->refreshed) < refresh_ns || pthread_mutex_trylock(&f->lock) != 0)
        return false;
    scan_files(f);
    atomic_store(&f->refreshed, hr_clock_ns());
    pthread_mutex_unlock(&f->lock);
    return true;
}

/* ---- values ---- */

bool hr_cache_folder_read(const hr_cache_folder *f, const hr_hash *key, const hr_cache_place *place,
                          void *value)
{
    record r;
    int fd = atomic_load(&f->file[place->file].fd);
    return read_at(fd, &r, sizeof(r), place->offset) && record_good(f, &r) &&
           r.size == place->size && memcmp(&r.key, key, sizeof(*key)) == 0 &&
           read_at(fd, value, r.size, place->offset + (int64_t)sizeof(r)) &&
           r.check == hash_of(f, value, r.size);
}

/* An empty file gets its header. Where that fails the disk is full, for other numbers too. */
static bool begin_file(hr_cache_folder *f, int fd)
{
    file_header h = {.magic = MAGIC, .tag = f->tag};
    if (f->own_most >= (int64_t)sizeof(h) && write_at(fd, &h, sizeof(h), 0))
        return true;
    f->closed = true;
    (void)!ftruncate(fd, 0);
    return false;
}

/* Takes the file of that number to append to, if nobody else has it. */
static void take_file(hr_cache_folder *f, int32_t number)
{
    int fd = open_number(f, number, O_RDWR | O_CREAT);
    int64_t size = fd >= 0 ? size_of(fd) : -1;
    bool locked = size >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    f->closed = size >= 0 && !locked && errno != EWOULDBLOCK; /* there are no locks here */
    bool good = locked && (size == 0 ? begin_file(f, fd) : header_good(f, fd));
    if (!good || !open_file(f, number) || atomic_load(&f->file[number].fd) < 0) {
        if (fd >= 0)
            close(fd);
        return;
    }
    scan_file(f, number);
    f->own = number;
    f->own_fd = fd;
    f->own_end = f->file[number].scanned;
    /* what a crash has left behind it: nobody is writing it */
    f->closed = size_of(fd) > f->own_end && ftruncate(fd, (off_t)f->own_end) != 0;
}

static bool take_some_file(hr_cache_folder *f)
{
    struct rlimit most;
    /* a write beyond this limit would be a signal */
    bool limited = getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
    f->own_most = limited ? (int64_t)most.rlim_cur : INT64_MAX;
    for (int32_t i = 0; i < FILES && f->own < 0 && !f->closed; i++)
        take_file(f, i);
    f->closed = f->closed || f->own < 0;
    return !f->closed;
}

static char *make_record(hr_cache_folder *f, const hr_hash *key, const void *value, size_t size,
                         size_t *bytes)
{
    record r = {.key = *key, .size = (uint32_t)size, .check = hash_of(f, value, size)};
    r.head = hash_of(f, &r, offsetof(record, head));
    *bytes = (size_t)record_end(0, &r);
    if (*bytes > f->buffer_size) {
        char *buffer = hr_realloc(f->buffer, 1, *bytes, NULL);
        if (!buffer)
            return NULL;
        f->buffer = buffer;
        f->buffer_size = *bytes;
    }
    memset(f->buffer + *bytes - 8, 0, 8);
    memcpy(f->buffer, &r, sizeof(r));
    memcpy(f->buffer + sizeof(r), value, size);
    return f->buffer;
}

/* Lock held. A record that was written in part is cut off again. */
static bool append_record(hr_cache_folder *f, const char *bytes, size_t size, hr_cache_place *place)
{
    if (f->own_end > f->own_most - (int64_t)size || !write_at(f->own_fd, bytes, size, f->own_end)) {
        f->closed = true;
        (void)!ftruncate(f->own_fd, (off_t)f->own_end);
        return false;
    }
    place->file = f->own;
    place->offset = f->own_end;
    f->own_end += (int64_t)size;
    f->file[f->own].scanned = f->file[f->own].size = f->own_end;
    return true;
}

bool hr_cache_folder_append(hr_cache_folder *f, const hr_hash *key, const void *value, size_t size,
                            hr_cache_place *place)
{
    pthread_mutex_lock(&f->lock);
    size_t bytes = 0;
    bool good = !f->closed && (f->own >= 0 || take_some_file(f));
    const char *text = good ? make_record(f, key, value, size, &bytes) : NULL;
    good = text && append_record(f, text, bytes, place);
    place->size = (uint32_t)size;
    pthread_mutex_unlock(&f->lock);
    return good;
}

/* ---- the folder ---- */

hr_status hr_cache_folder_open(hr_cache_folder **out, const char *path, hr_cache_found found,
                               void *context, hr_error *error)
{
    struct stat st;
    if (strlen(path) >= PATH_SIZE)
        return hr_fail(error, HR_STATUS_VALUE, "index_cache: the path is too long");
    if (mkdir(path, 0777) != 0 && errno != EEXIST && stat(path, &st) != 0)
        return hr_fail_errno(error, errno, "index_cache: '%s' cannot be made", path);
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return hr_fail(error, HR_STATUS_VALUE, "index_cache: '%s' is no folder", path);
    hr_cache_folder *f = hr_calloc(1, sizeof(*f), error);
    if (!f)
        return HR_STATUS_NO_MEMORY;
    memcpy(f->path, path, strlen(path) + 1);
    pthread_mutex_init(&f->lock, NULL);
    f->kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    f->found = found;
    f->context = context;
    f->own = f->own_fd = -1;
    for (int32_t i = 0; i < FILES; i++)
        atomic_init(&f->file[i].fd, -1);
    if (!read_key(f))
        make_key(f);
    scan_files(f);
    atomic_store(&f->refreshed, hr_clock_ns());
    *out = f;
    return HR_STATUS_OK;
}

void hr_cache_folder_close(hr_cache_folder *f)
{
    if (!f)
        return;
    for (int32_t i = 0; i < FILES; i++)
        if (atomic_load(&f->file[i].fd) >= 0)
            close(atomic_load(&f->file[i].fd));
    if (f->own_fd >= 0)
        close(f->own_fd);
    pthread_mutex_destroy(&f->lock);
    hr_free(f->buffer);
    hr_free(f);
}

const hr_hash_key *hr_cache_folder_key(const hr_cache_folder *f)
{
    return &f->key;
}
