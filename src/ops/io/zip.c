/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The directory is at the end of an archive. Of its entries and those of the members themselves,
 * sizes and offsets of 32 bits that are all ones are in an extra field (ZIP64). */
#include "core/inflate.h"
#include "ops/io/zip.h"

#include <string.h>
#include <zlib.h>

enum { END_SIZE = 22, LOCATOR_SIZE = 20, END64_SIZE = 56, ENTRY_SIZE = 46, LOCAL_SIZE = 30 };
enum { STORED = 0, DEFLATED = 8, ENCRYPTED = 1 };

#define MOST_RATIO 1040 /* of deflate, and some more */

typedef struct entry {
    uint64_t packed, size, offset; /* of its header */
    const uint8_t *name;
    size_t name_size;
    uint32_t flags, method, crc;
} entry;

static uint64_t word(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i > 0; i--)
        value = value << 8 | at[i - 1];
    return value;
}

static hr_status damaged(hr_error *error, size_t at, const char *what)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "byte %zu of the archive: %s", at, what);
}

bool hr__zip_match(const void *data, size_t size)
{
    return size >= 4 && memcmp(data, "PK", 2) == 0;
}

/* Where the directory begins, and the number of its entries. */
static hr_status find_directory(const uint8_t *data, size_t size, uint64_t *start, uint64_t *count,
                                hr_error *error)
{
    size_t least = size > END_SIZE + UINT16_MAX ? size - END_SIZE - UINT16_MAX : 0, at;
    for (at = size >= END_SIZE ? size - END_SIZE + 1 : 0; at > least; at--)
        if (memcmp(data + at - 1, "PK\5\6", 4) == 0)
            break;
    if (at == least)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the archive has no directory at its end: it was cut off");
    at--;
    *count = word(data + at + 10, 2);
    *start = word(data + at + 16, 4);
    if (*count != UINT16_MAX && *start != UINT32_MAX)
        return HR_STATUS_OK;
    if (at < LOCATOR_SIZE || memcmp(data + at - LOCATOR_SIZE, "PK\6\7", 4) != 0)
        return HR_STATUS_OK;
    uint64_t end64 = word(data + at - LOCATOR_SIZE + 8, 8);
    if (size < END64_SIZE || end64 > size - END64_SIZE || memcmp(data + end64, "PK\6\6", 4) != 0)
        return damaged(error, at - LOCATOR_SIZE, "the ZIP64 directory is not where it should be");
    *count = word(data + end64 + 32, 8);
    *start = word(data + end64 + 48, 8);
    return HR_STATUS_OK;
}

/* Replaces fields that are all ones by those of the extra field. */
static void read_extra(const uint8_t *at, size_t size, entry *e)
{
    uint64_t *const fields[] = {&e->size, &e->packed, &e->offset};
    while (size >= 4) {
        size_t length = (size_t)word(at + 2, 2), used = 4;
        if (length > size - 4)
            return;
        for (int i = 0; i < 3 && word(at, 2) == 1; i++)
            if (*fields[i] == UINT32_MAX && used + 8 <= length + 4) {
                *fields[i] = word(at + used, 8);
                used += 8;
            }
        at += length + 4;
        size -= length + 4;
    }
}

/* The entry at `at` of the directory; 0 or the size of it. */
static size_t read_entry(const uint8_t *data, size_t size, uint64_t at, entry *e)
{
    if (at > size || size - at < ENTRY_SIZE || memcmp(data + at, "PK\1\2", 4) != 0)
        return 0;
    const uint8_t *p = data + at;
    size_t extra = (size_t)word(p + 30, 2), all = ENTRY_SIZE;
    e->flags = (uint32_t)word(p + 8, 2);
    e->method = (uint32_t)word(p + 10, 2);
    e->crc = (uint32_t)word(p + 16, 4);
    e->packed = word(p + 20, 4);
    e->size = word(p + 24, 4);
    e->offset = word(p + 42, 4);
    e->name = p + ENTRY_SIZE;
    e->name_size = (size_t)word(p + 28, 2);
    all += e->name_size + extra + (size_t)word(p + 32, 2);
    if (all > size - at)
        return 0;
    read_extra(e->name + e->name_size, extra, e);
    return all;
}

static bool has_name(const entry *e, const char *name)
{
    size_t size = strlen(name);
    bool same = e->name_size >= size && memcmp(e->name, name, size) == 0;
    return same && (e->name_size == size ||
                    (e->name_size == size + 4 && memcmp(e->name + size, ".npy", 4) == 0));
}

static hr_status inflate_member(const uint8_t *from, const entry *e, hr_arena *arena,
                                const uint8_t **out, hr_error *error)
{
    z_stream z = {0};
    if (e->size / MOST_RATIO > e->packed || e->size > UINT32_MAX || e->packed > UINT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "%llu bytes are too many, or cannot have been deflated to %llu",
                       (unsigned long long)e->size, (unsigned long long)e->packed);
    uint8_t *to = hr_arena_alloc(arena, (size_t)e->size, error);
    HR_TRY_ALLOC(to);
    *out = to;
    if (hr_inflate(HR_DEFLATE_RAW, from, (size_t)e->packed, to, (size_t)e->size))
        return HR_STATUS_OK;
    if (inflateInit2(&z, -15) != Z_OK)
        return hr_fail_memory(error, sizeof(z));
    z.next_in = (Bytef *)(uintptr_t)from;
    z.avail_in = (uInt)e->packed;
    z.next_out = to;
    z.avail_out = (uInt)e->size;
    int result = inflate(&z, Z_FINISH);
    inflateEnd(&z);
    if (result != Z_STREAM_END || z.avail_out != 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "its deflated data is damaged");
    return HR_STATUS_OK;
}

static hr_status read_member(const uint8_t *data, size_t size, const entry *e, hr_arena *arena,
                             const uint8_t **out, size_t *out_size, hr_error *error)
{
    if (e->flags & ENCRYPTED || (e->method != STORED && e->method != DEFLATED))
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "it is %s; members must be stored or deflated",
                       e->flags & ENCRYPTED ? "encrypted" : "compressed in another way");
    if (size < LOCAL_SIZE || e->offset > size - LOCAL_SIZE ||
        memcmp(data + e->offset, "PK\3\4", 4) != 0)
        return damaged(error, (size_t)HR_MIN(e->offset, size), "no header of a member begins here");
    const uint8_t *local = data + e->offset;
    uint64_t start = e->offset + LOCAL_SIZE + word(local + 26, 2) + word(local + 28, 2);
    if (start > size || e->packed > size - start || (e->method == STORED && e->packed != e->size))
        return damaged(error, (size_t)e->offset, "the member does not fit in the archive");
    *out = data + start;
    *out_size = (size_t)e->size;
    if (e->method == DEFLATED)
        HR_TRY(inflate_member(data + start, e, arena, out, error));
    if (hr_crc32(0, *out, *out_size) != e->crc)
        return hr_fail(error, HR_STATUS_CORRUPT, "its checksum is wrong");
    return HR_STATUS_OK;
}

hr_status hr__zip_member(const uint8_t *data, size_t size, const char *name, hr_arena *arena,
                         const uint8_t **out, size_t *out_size, hr_error *error)
{
    uint64_t at = 0, count = 0;
    HR_TRY(find_directory(data, size, &at, &count, error));
    for (uint64_t i = 0; i < count; i++) {
        entry e;
        size_t length = read_entry(data, size, at, &e);
        if (length == 0)
            return damaged(error, (size_t)HR_MIN(at, size), "an entry of the directory is damaged");
        if (has_name(&e, name)) {
            hr_status status = read_member(data, size, &e, arena, out, out_size, error);
            return status == HR_STATUS_OK ? status : hr_error_prefix(error, "member '%s'", name);
        }
        at += length;
    }
    return hr_fail(error, HR_STATUS_ERROR, "the archive has no member '%s'", name);
}
