/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Values are records in one file; their keys are entries in a table, which is a second file.
 * Scanning reads only the table. Nothing in the folder is trusted: entries, records and values are
 * used only if their keyed hash is right, links are not followed, and files of other users are
 * ignored (owner_good). */
#include "codecs/jpeg/index_folder.h"

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
#include <sys/uio.h>
#include <unistd.h>

#include "io/file_store.h"
#include "core/clock.h"
#include "kernels/kernels.h"

/* The number is the version of the format: records, entries, hash and the meaning of values. */
#define NAME "headrace-index-2"
#define MAGIC "HRINDEX2"

enum {
    FILES = 1024,
    PATH_SIZE = 4096,
    WINDOW_ENTRIES = 1600,
    /* A scan of a table stops after this many damaged entries in a row, since the file may be
     * sparse and very long. */
    DAMAGED_MAX = 4096
};
static const int64_t refresh_ns = 1000000000;

typedef struct key_file {
    char magic[8];
    uint32_t seed[4];
    uint64_t check; /* of the seed; wrong in files of the other byte order */
} key_file;

typedef struct file_header {
    char magic[8];
    uint64_t tag; /* identifies the key that the records were made with */
} file_header;

typedef struct record {
    hr_hash key;
    uint32_t size, zero;
    uint64_t check; /* of the value */
    uint64_t head;  /* of the fields above */
} record;

typedef struct entry {
    hr_hash key;
    int64_t offset; /* of the record */
    uint32_t size, zero;
    uint64_t check; /* of the fields above */
} entry;

typedef struct cache_file {
    atomic_int fd;        /* for reading records; -1: not open */
    int64_t scanned, end; /* ends of the last good entry: in the table, and of its record */
    int64_t size;         /* of the table at the last scan */
} cache_file;

struct hr_cache_folder {
    int dir;
    struct stat about; /* the folder */
    bool shared;       /* with the members of its group only */
    hr_hash_key key;
    uint64_t tag;
    const hr_kernels *kernels;
    hr_cache_found found;
    void *context;
    pthread_mutex_t lock; /* guards the members below; reading values needs no lock */
    cache_file file[FILES];
    int32_t count;             /* of files to scan */
    int own, own_fd, own_keys; /* number of the file to append to, it and its table; or -1 */
    int64_t own_most;          /* the most bytes that a file may have */
    bool closed;               /* the folder cannot be written any more */
    char *buffer;
    size_t buffer_size;
    atomic_int_least64_t refreshed; /* clock */
    atomic_int ignored;             /* files that are not used */
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

static bool write_at(int fd, const void *src, size_t size, int64_t offset)
{
    ssize_t n;
    do {
        n = pwrite(fd, src, size, (off_t)offset);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

/* Whether the file's owner is trusted: this user, root and the folder's owner are. In a folder
 * shared with a group only, its members trust one another. */
static bool owner_good(const hr_cache_folder *f, const struct stat *st)
{
    return st->st_uid == geteuid() || st->st_uid == 0 || st->st_uid == f->about.st_uid ||
           (f->shared && st->st_gid == f->about.st_gid);
}

/* Size of the file in bytes, or -1 if it must not be used. */
static int64_t size_of(const hr_cache_folder *f, int fd)
{
    struct stat st;
    bool good =
        fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && !(st.st_mode & S_IWOTH) && owner_good(f, &st);
    return good ? (int64_t)st.st_size : -1;
}

static const char *name_of(char *name, size_t size, int32_t number, const char *suffix)
{
    snprintf(name, size, NAME ".%03d%s", (int)number, suffix);
    return name;
}

/* Does not follow links, and does not block on a FIFO of that name. */
static int open_at(const hr_cache_folder *f, const char *name, int flags)
{
    return openat(f->dir, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0664);
}

static int open_number(const hr_cache_folder *f, int32_t number, const char *suffix, int flags)
{
    char name[64];
    return open_at(f, name_of(name, sizeof(name), number, suffix), flags);
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
    int fd = open_at(f, NAME ".key", O_RDONLY);
    if (fd < 0)
        return false;
    bool good = size_of(f, fd) == sizeof(k) && hr_read_all(fd, &k, sizeof(k), 0) &&
                memcmp(k.magic, MAGIC, sizeof(k.magic)) == 0;
    close(fd);
    if (!good)
        return false;
    use_key(f, k.seed);
    return k.check == hash_of(f, k.seed, sizeof(k.seed));
}

/* Writes the key under another name and links it to its own, so that others see only complete keys
 * and the first one wins. False if the folder has no key that others will find. */
static bool make_key(hr_cache_folder *f)
{
    char from[64];
    key_file k = {.magic = MAGIC};
    if (getrandom(k.seed, sizeof(k.seed), 0) != (ssize_t)sizeof(k.seed))
        return false;
    use_key(f, k.seed);
    k.check = hash_of(f, k.seed, sizeof(k.seed));
    snprintf(from, sizeof(from), NAME ".%08x", (unsigned)k.seed[0]);
    int fd = open_at(f, from, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return false;
    bool good = write_at(fd, &k, sizeof(k), 0);
    close(fd);
    if (good && linkat(f->dir, from, f->dir, NAME ".key", 0) != 0 &&
        !(errno == EEXIST && read_key(f))) {
        /* the existing key is damaged or must not be used, or links are not supported */
        good = renameat(f->dir, from, f->dir, NAME ".key") == 0;
        use_key(f, k.seed);
    }
    unlinkat(f->dir, from, 0);
    return good;
}

/* ---- scanning ---- */

static bool record_good(const hr_cache_folder *f, const record *r)
{
    return r->size > 0 && r->size <= HR_CACHE_VALUE_MAX && r->zero == 0 &&
           r->head == hash_of(f, r, offsetof(record, head));
}

static int64_t record_end(int64_t at, uint32_t size)
{
    return at + (int64_t)sizeof(record) + (((int64_t)size + 7) & ~(int64_t)7);
}

/* `size`: of the file with the records. */
static bool entry_good(const hr_cache_folder *f, const entry *e, int64_t size)
{
    return e->size > 0 && e->size <= HR_CACHE_VALUE_MAX && e->zero == 0 && e->offset >= 0 &&
           e->offset <= size && record_end(e->offset, e->size) <= size &&
           e->check == hash_of(f, e, offsetof(entry, check));
}

/* Reads the entries after the last good one; some may have been incomplete at the last scan. */
static void scan_entries(hr_cache_folder *f, int32_t number, int fd, entry *window)
{
    cache_file *file = &f->file[number];
    int64_t at = file->scanned, size = size_of(f, atomic_load(&file->fd));
    for (int damaged = 0; damaged < DAMAGED_MAX;) {
        ssize_t n = pread(fd, window, WINDOW_ENTRIES * sizeof(entry), (off_t)at);
        if (n < (ssize_t)sizeof(entry))
            return;
        for (size_t i = 0; i < (size_t)n / sizeof(entry) && damaged < DAMAGED_MAX; i++) {
            const entry *e = &window[i];
            at += (int64_t)sizeof(*e);
            damaged++;
            if (!entry_good(f, e, size))
                continue;
            hr_cache_location location = {e->offset, e->size, number};
            f->found(f->context, &e->key, &location);
            file->scanned = at;
            file->end = HR_MAX(file->end, record_end(e->offset, e->size));
            damaged = 0;
        }
    }
}

static bool header_good(const hr_cache_folder *f, int fd)
{
    file_header h;
    return size_of(f, fd) >= (int64_t)sizeof(h) && hr_read_all(fd, &h, sizeof(h), 0) &&
           memcmp(h.magic, MAGIC, sizeof(h.magic)) == 0 && h.tag == f->tag;
}

/* Scans the table of a file if it has grown. */
static void scan_file(hr_cache_folder *f, int32_t number)
{
    cache_file *file = &f->file[number];
    int fd = atomic_load(&file->fd) >= 0 ? open_number(f, number, ".keys", O_RDONLY) : -1;
    if (fd < 0)
        return;
    int64_t size = size_of(f, fd);
    entry *window = size > file->size && header_good(f, fd)
                        ? hr_calloc(WINDOW_ENTRIES, sizeof(*window), NULL)
                        : NULL;
    if (window) {
        scan_entries(f, number, fd, window);
        file->size = size;
    }
    hr_free(window);
    close(fd);
}

/* Opens a file if it is not open yet; false if there is no file of that number. */
static bool open_file(hr_cache_folder *f, int32_t number, int *ignored)
{
    cache_file *file = &f->file[number];
    if (atomic_load(&file->fd) >= 0)
        return true;
    int fd = open_number(f, number, "", O_RDONLY);
    if (fd < 0 && errno == ENOENT)
        return false;
    *ignored += fd < 0 || size_of(f, fd) < 0;
    if (fd < 0)
        return true;
    if (!header_good(f, fd)) { /* not written yet, or of another key */
        close(fd);
        return true;
    }
    file->scanned = file->end = sizeof(file_header);
    file->size = 0;
    atomic_store(&file->fd, fd);
    return true;
}

/* Lock held. */
static void scan_files(hr_cache_folder *f)
{
    int ignored = 0;
    for (f->count = 0; f->count < FILES && open_file(f, f->count, &ignored); f->count++)
        scan_file(f, f->count);
    atomic_store(&f->ignored, ignored);
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

bool hr_cache_folder_read(const hr_cache_folder *f, const hr_hash *key,
                          const hr_cache_location *location, void *value)
{
    record r;
    const struct iovec parts[] = {{&r, sizeof(r)}, {value, location->size}};
    int fd = atomic_load(&f->file[location->file].fd);
    ssize_t n;
    do {
        n = preadv(fd, parts, 2, (off_t)location->offset);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)(sizeof(r) + location->size) && record_good(f, &r) &&
           r.size == location->size && memcmp(&r.key, key, sizeof(*key)) == 0 &&
           r.check == hash_of(f, value, r.size);
}

/* Writes the header of an empty file. If that fails, the disk is full, and no file can be written.
 */
static bool begin_file(hr_cache_folder *f, int fd)
{
    file_header h = {.magic = MAGIC, .tag = f->tag};
    if (f->own_most >= (int64_t)sizeof(h) && write_at(fd, &h, sizeof(h), 0))
        return true;
    f->closed = true;
    (void)!ftruncate(fd, 0);
    return false;
}

/* Opens a file to append to. A file with a second hard link may belong to something else. */
static int open_own(hr_cache_folder *f, int32_t number, const char *suffix)
{
    struct stat st;
    int fd = open_number(f, number, suffix, O_RDWR | O_CREAT);
    if (fd < 0 || (size_of(f, fd) >= 0 && fstat(fd, &st) == 0 && st.st_nlink == 1))
        return fd;
    close(fd);
    return -1;
}

static bool lock_own(hr_cache_folder *f, int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    f->closed = errno != EWOULDBLOCK; /* the file system has no locks */
    return false;
}

/* Removes incomplete data after `end`. The file must be locked. */
static bool cut_own(const hr_cache_folder *f, int fd, int64_t end)
{
    return size_of(f, fd) <= end || ftruncate(fd, (off_t)end) == 0;
}

/* Takes the file of that number to append to, if no other writer has it. */
static void take_file(hr_cache_folder *f, int32_t number)
{
    int ignored = 0, keys = -1, fd = open_own(f, number, "");
    const cache_file *file = &f->file[number];
    bool good = fd >= 0 && lock_own(f, fd) &&
                (size_of(f, fd) == 0 ? begin_file(f, fd) : header_good(f, fd));
    if (good)
        keys = open_own(f, number, ".keys");
    /* a table without a valid header is started again: its key is unknown */
    good = keys >= 0 && (header_good(f, keys) || (ftruncate(keys, 0) == 0 && begin_file(f, keys)));
    if (!good || !open_file(f, number, &ignored) || atomic_load(&file->fd) < 0) {
        if (keys >= 0)
            close(keys);
        if (fd >= 0)
            close(fd);
        return;
    }
    scan_file(f, number);
    f->own = number;
    f->own_fd = fd;
    f->own_keys = keys;
    f->closed = !cut_own(f, keys, file->scanned) || !cut_own(f, fd, file->end);
}

static bool take_some_file(hr_cache_folder *f)
{
    struct rlimit most;
    /* a write beyond this limit would raise SIGXFSZ */
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
    *bytes = (size_t)record_end(0, r.size);
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

/* Lock held. The record is written first, so that every entry has its record. A partial write is
 * removed. */
static bool append_record(hr_cache_folder *f, const hr_hash *key, const char *bytes, size_t size,
                          hr_cache_location *location)
{
    cache_file *file = &f->file[f->own];
    entry e = {.key = *key, .offset = file->end, .size = location->size};
    e.check = hash_of(f, &e, offsetof(entry, check));
    bool room = file->end <= f->own_most - (int64_t)size &&
                file->scanned <= f->own_most - (int64_t)sizeof(e);
    if (!room || !write_at(f->own_fd, bytes, size, file->end) ||
        !write_at(f->own_keys, &e, sizeof(e), file->scanned)) {
        f->closed = true;
        (void)!cut_own(f, f->own_keys, file->scanned);
        (void)!cut_own(f, f->own_fd, file->end);
        return false;
    }
    location->file = f->own;
    location->offset = file->end;
    file->end += (int64_t)size;
    file->scanned += (int64_t)sizeof(e);
    file->size = file->scanned;
    return true;
}

bool hr_cache_folder_append(hr_cache_folder *f, const hr_hash *key, const void *value, size_t size,
                            hr_cache_location *location)
{
    pthread_mutex_lock(&f->lock);
    size_t bytes = 0;
    bool good = !f->closed && (f->own >= 0 || take_some_file(f));
    const char *text = good ? make_record(f, key, value, size, &bytes) : NULL;
    location->size = (uint32_t)size;
    good = text && append_record(f, key, text, bytes, location);
    pthread_mutex_unlock(&f->lock);
    return good;
}

/* ---- the folder ---- */

static bool in_group(gid_t group)
{
    int count = getgroups(0, NULL);
    gid_t *groups = count > 0 ? hr_calloc((size_t)count, sizeof(*groups), NULL) : NULL;
    bool found = group == getegid();
    count = groups ? getgroups(count, groups) : 0;
    for (int i = 0; i < count; i++)
        found = found || groups[i] == group;
    hr_free(groups);
    return found;
}

static hr_status open_dir(hr_cache_folder *f, const char *path, hr_error *error)
{
    if (strlen(path) >= PATH_SIZE)
        return hr_fail(error, HR_STATUS_VALUE, "index_cache: the path is too long");
    int code = mkdir(path, 0777) == 0 ? 0 : errno;
    f->dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    if (f->dir < 0 && errno == ENOTDIR)
        return hr_fail(error, HR_STATUS_VALUE, "index_cache: '%s' is not a folder", path);
    if (f->dir < 0)
        return hr_fail_errno(error, code && code != EEXIST ? code : errno,
                             "index_cache: '%s' cannot be created or opened", path);
    if (fstat(f->dir, &f->about) != 0)
        return hr_fail_errno(error, errno, "index_cache: '%s'", path);
    f->shared = !(f->about.st_mode & S_IWOTH) && in_group(f->about.st_gid);
    bool ours = f->about.st_uid == geteuid() || f->about.st_uid == 0 || geteuid() == 0;
    if (ours || f->shared)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_VALUE,
                   "index_cache: '%s' belongs to another user (%ld) and is not shared with a group "
                   "of yours only; use a folder of your own, of root, or of your group",
                   path, (long)f->about.st_uid);
}

hr_status hr_cache_folder_open(hr_cache_folder **out, const char *path, hr_cache_found found,
                               void *context, hr_error *error)
{
    hr_cache_folder *f = hr_calloc(1, sizeof(*f), error);
    HR_TRY_ALLOC(f);
    f->dir = f->own = f->own_fd = f->own_keys = -1;
    pthread_mutex_init(&f->lock, NULL);
    for (int32_t i = 0; i < FILES; i++)
        atomic_init(&f->file[i].fd, -1);
    hr_status status = open_dir(f, path, error);
    if (status != HR_STATUS_OK) {
        hr_cache_folder_close(f);
        return status;
    }
    f->kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    f->found = found;
    f->context = context;
    f->closed = !read_key(f) && !make_key(f);
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
    const int fds[] = {f->own_fd, f->own_keys, f->dir};
    for (int i = 0; i < 3; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    pthread_mutex_destroy(&f->lock);
    hr_free(f->buffer);
    hr_free(f);
}

const hr_hash_key *hr_cache_folder_key(const hr_cache_folder *f)
{
    return &f->key;
}

int32_t hr_cache_folder_ignored(const hr_cache_folder *f)
{
    return atomic_load(&f->ignored);
}
