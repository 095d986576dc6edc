/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/tar.h"

#include <string.h>

#define BLOCK 512
#define MAX_EXTENDED ((int64_t)1 << 20) /* bytes of one extended header or long name */

/* Fields of a header block: where they are and how many bytes they have. */
enum { NAME = 0, NAME_SIZE = 100, SIZE = 124, SIZE_SIZE = 12, SUM = 148, SUM_SIZE = 8, TYPE = 156 };
enum { MAGIC = 257, EXTENDED = 482, MORE = 504, PREFIX = 345, PREFIX_SIZE = 155 };

void hr_tar_init(hr_tar *tar, hr_object *object)
{
    *tar = (hr_tar){.window.object = object, .next.size = -1, .all.size = -1};
}

static void extended_reset(hr_tar_extended *x)
{
    hr_free(x->path);
    *x = (hr_tar_extended){.size = -1};
}

void hr_tar_fini(hr_tar *tar)
{
    hr_scan_window_fini(&tar->window);
    extended_reset(&tar->next);
    extended_reset(&tar->all);
}

/* ---- numbers ---- */

/* An octal number between blanks, which a NUL may end. -1: something else, or too large. */
static int64_t octal(const uint8_t *field, size_t size)
{
    int64_t value = 0;
    size_t i = 0;
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++) {
        if (value > INT64_MAX >> 3)
            return -1;
        value = value << 3 | (field[i] - '0');
    }
    return i == size || field[i] == ' ' || field[i] == 0 ? value : -1;
}

/* An octal number, or a big-endian binary one if the first bit is set. Negative: not valid. */
static int64_t number(const uint8_t *field, size_t size)
{
    if (!(field[0] & 0x80))
        return octal(field, size);
    uint64_t value = field[0] & 0x7f;
    for (size_t i = 1; i < size; i++) {
        if (value >> 55)
            return -1;
        value = value << 8 | field[i];
    }
    return (int64_t)value;
}

static bool is_zero(const uint8_t *block)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (block[i])
            return false;
    return true;
}

/* The sum of all bytes, with blanks in place of the sum. Old writers added signed bytes. */
static bool sum_right(const uint8_t *block)
{
    int64_t sum = ' ' * SUM_SIZE, with_sign = sum, expected = octal(block + SUM, SUM_SIZE);
    for (size_t i = 0; i < BLOCK; i++)
        if (i < SUM || i >= SUM + SUM_SIZE) {
            sum += block[i];
            with_sign += (int8_t)block[i];
        }
    return expected == sum || expected == with_sign;
}

/* ---- extended headers ---- */

static hr_status set_path(hr_tar_extended *x, const uint8_t *text, size_t size, hr_error *error)
{
    char *path = hr_calloc(size + 1, 1, error);
    if (!path)
        return HR_STATUS_NO_MEMORY;
    memcpy(path, text, size);
    hr_free(x->path);
    x->path = path;
    return HR_STATUS_OK;
}

/* One record of a pax header, "LENGTH KEY=VALUE\n", where LENGTH counts all of it. Returns its
 * length, or 0. */
static size_t pax_record(const uint8_t *text, size_t left, const uint8_t **key, size_t *key_size)
{
    size_t length = 0, i = 0;
    for (; i < left && i < 8 && text[i] >= '0' && text[i] <= '9'; i++)
        length = 10 * length + (size_t)(text[i] - '0');
    if (i == 0 || i >= left || text[i] != ' ' || length > left || length < i + 3 ||
        text[length - 1] != '\n')
        return 0;
    const uint8_t *equals = memchr(text + i + 1, '=', length - i - 2);
    if (!equals)
        return 0;
    *key = text + i + 1;
    *key_size = (size_t)(equals - *key);
    return length;
}

static bool is_key(const uint8_t *key, size_t size, const char *name)
{
    return size == strlen(name) && memcmp(key, name, size) == 0;
}

static bool decimal(const uint8_t *text, size_t size, int64_t *out)
{
    *out = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || *out > INT64_MAX / 10 - 1)
            return false;
        *out = 10 * *out + (text[i] - '0');
    }
    return size > 0;
}

static hr_status parse_pax(hr_tar_extended *x, const uint8_t *text, size_t size, hr_error *error)
{
    const uint8_t *key;
    for (size_t at = 0, length, key_size; at < size; at += length) {
        length = pax_record(text + at, size - at, &key, &key_size);
        if (length == 0)
            return hr_fail(error, HR_STATUS_CORRUPT, "a pax header is damaged");
        const uint8_t *value = key + key_size + 1;
        size_t value_size = (size_t)(text + at + length - 1 - value);
        if (is_key(key, key_size, "path"))
            HR_TRY(set_path(x, value, value_size, error));
        else if (is_key(key, key_size, "size") && !decimal(value, value_size, &x->size))
            return hr_fail(error, HR_STATUS_CORRUPT, "a pax header has a size that is no number");
        else if (is_key(key, key_size, "GNU.sparse.major") ||
                 is_key(key, key_size, "GNU.sparse.map"))
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "it contains a sparse file");
    }
    return HR_STATUS_OK;
}

/* ---- members ---- */

/* Reads the data of a header that describes other members. */
static hr_status read_extended(hr_tar *tar, uint8_t type, int64_t size, hr_error *error)
{
    if (size > MAX_EXTENDED)
        return hr_fail(error, HR_STATUS_LIMIT, "an extended header has %lld bytes, more than %lld",
                       (long long)size, (long long)MAX_EXTENDED);
    const uint8_t *text = hr_scan_bytes(&tar->window, tar->at + BLOCK, (size_t)size, error);
    if (!text)
        return HR_STATUS_CORRUPT;
    if (type == 'L')
        return set_path(&tar->next, text, strnlen((const char *)text, (size_t)size), error);
    return parse_pax(type == 'g' ? &tar->all : &tar->next, text, (size_t)size, error);
}

static const char *member_name(hr_tar *tar, const uint8_t *block)
{
    if (tar->next.path || tar->all.path)
        return tar->next.path ? tar->next.path : tar->all.path;
    size_t size = 0;
    if (memcmp(block + MAGIC, "ustar", 6) == 0) { /* GNU's magic is "ustar " */
        size = strnlen((const char *)block + PREFIX, PREFIX_SIZE);
        memcpy(tar->name, block + PREFIX, size);
        if (size > 0)
            tar->name[size++] = '/';
    }
    size_t rest = strnlen((const char *)block + NAME, NAME_SIZE);
    memcpy(tar->name + size, block + NAME, rest);
    tar->name[size + rest] = 0;
    return tar->name;
}

/* The header at tar->at; NULL without an error at the end of the archive. */
static const uint8_t *header_at(hr_tar *tar, hr_error *error, hr_status *status)
{
    int64_t size = hr_object_size(tar->window.object);
    *status = HR_STATUS_OK;
    for (int32_t zeros = 0; tar->at < size; tar->at += BLOCK) {
        const uint8_t *block = hr_scan_bytes(&tar->window, tar->at, BLOCK, error);
        if (!block) {
            *status = HR_STATUS_CORRUPT;
            return NULL;
        }
        if (is_zero(block)) {
            if (++zeros == 2)
                return NULL;
            continue;
        }
        if (sum_right(block))
            return block;
        *status = hr_fail(error, HR_STATUS_CORRUPT,
                          "it is not a tar archive, or a damaged one: there is no header at byte "
                          "%lld",
                          (long long)tar->at);
        return NULL;
    }
    return NULL;
}

/* Whether members of this type have data. The size of links and devices means nothing. */
static bool has_data(uint8_t type)
{
    return !(type >= '1' && type <= '6');
}

/* Skips the blocks with the map of a sparse file (GNU). */
static hr_status skip_map(hr_tar *tar, bool more, hr_error *error)
{
    while (more) {
        tar->at += BLOCK;
        const uint8_t *block = hr_scan_bytes(&tar->window, tar->at, BLOCK, error);
        if (!block)
            return HR_STATUS_CORRUPT;
        more = block[MORE];
    }
    return HR_STATUS_OK;
}

/* Steps over one header and its data. `*found`: it is a regular file, described in `out`. */
static hr_status step(hr_tar *tar, const uint8_t *block, hr_tar_member *out, bool *found,
                      hr_error *error)
{
    const uint8_t type = block[TYPE];
    const bool extended = type == 'x' || type == 'g' || type == 'L' || type == 'K';
    int64_t size = number(block + SIZE, SIZE_SIZE);
    if (!extended && (tar->next.size >= 0 || tar->all.size >= 0))
        size = tar->next.size >= 0 ? tar->next.size : tar->all.size;
    if (!has_data(type))
        size = 0;
    out->name = member_name(tar, block);
    size_t length = strlen(out->name);
    *found =
        (type == '0' || type == '7' || type == 0) && length > 0 && out->name[length - 1] != '/';
    if (type == 'S')
        HR_TRY(skip_map(tar, block[EXTENDED], error));
    out->offset = tar->at + BLOCK;
    out->size = size;
    if (size < 0 || size > hr_object_size(tar->window.object) - out->offset)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "it is cut off or damaged: the member at byte %lld does not fit in it",
                       (long long)tar->at);
    if (extended && type != 'K')
        HR_TRY(read_extended(tar, type, size, error));
    tar->at = out->offset + size + (BLOCK - 1) - (size + BLOCK - 1) % BLOCK;
    return HR_STATUS_OK;
}

hr_status hr_tar_next(hr_tar *tar, hr_tar_member *out, bool *end, hr_error *error)
{
    *end = false;
    extended_reset(&tar->next); /* the last member's */
    for (;;) {
        hr_status status;
        bool found;
        const uint8_t *block = header_at(tar, error, &status);
        if (!block) {
            *end = status == HR_STATUS_OK;
            return status;
        }
        const uint8_t type = block[TYPE];
        HR_TRY(step(tar, block, out, &found, error));
        if (found)
            return HR_STATUS_OK;
        if (type != 'x' && type != 'L' && type != 'K' && type != 'g')
            extended_reset(&tar->next);
    }
}
