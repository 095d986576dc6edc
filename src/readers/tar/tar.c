/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/tar/tar.h"

#include <string.h>

#define BLOCK 512
#define MAX_EXTENDED ((int64_t)1 << 20) /* bytes of one extended header or long name */

/* Fields of a header block: where they are and how many bytes they have. */
enum { NAME = 0, NAME_SIZE = 100, SIZE = 124, SIZE_SIZE = 12, SUM = 148, SUM_SIZE = 8, TYPE = 156 };
enum { MAGIC = 257, EXTENDED = 482, MORE = 504, PREFIX = 345, PREFIX_SIZE = 155 };

const char *hr_tar_kind_advice(hr_tar_kind kind)
{
    static const char *const advice[HR_TAR_KINDS] = {
        "can be read",
        "is a sparse file, which is not supported: write the archive without --sparse (-S)",
        "is a hard link: write the archive with tar's option --hard-dereference",
        "is a symbolic link: write the archive with tar's option --dereference (-h)",
        "is a device or a named pipe, not a file",
        "is continued from another volume: join the volumes of the archive first",
        "has a type that is not supported: write the archive with GNU tar or Python's tarfile"};
    return advice[kind];
}

void hr_tar_init(hr_tar *tar, hr_object *object)
{
    *tar = (hr_tar){.window.object = object, .next.size = -1, .all.size = -1};
}

static void extended_reset(hr_tar_extended *x)
{
    hr_free(x->path);
    hr_free(x->sparse_path);
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

/* An empty path takes back what an earlier header said. */
static hr_status set_path(char **to, const uint8_t *text, size_t size, hr_error *error)
{
    char *path = NULL;
    if (size > 0 && !(path = hr_calloc(size + 1, 1, error)))
        return HR_STATUS_NO_MEMORY;
    if (path)
        memcpy(path, text, size);
    hr_free(*to);
    *to = path;
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

/* Whether a key of a pax header says that the data have holes: GNU tar, Solaris, star. */
static bool is_sparse(const uint8_t *key, size_t size)
{
    static const char gnu[] = "GNU.sparse.";
    return (size > sizeof(gnu) - 1 && memcmp(key, gnu, sizeof(gnu) - 1) == 0) ||
           is_key(key, size, "SUN.holesdata") || is_key(key, size, "SCHILY.realsize");
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
            HR_TRY(set_path(&x->path, value, value_size, error));
        else if (is_key(key, key_size, "size") && !decimal(value, value_size, &x->size))
            return hr_fail(error, HR_STATUS_CORRUPT, "the size in a pax header is not a number");
        else if (is_key(key, key_size, "GNU.sparse.name"))
            HR_TRY(set_path(&x->sparse_path, value, value_size, error));
        x->sparse = x->sparse || is_sparse(key, key_size);
    }
    return HR_STATUS_OK;
}

/* ---- members ---- */

/* What a type of a header stands for, and whether data follow it: the size of links and devices
 * means nothing. */
typedef enum role {
    ROLE_MEMBER,
    ROLE_FOLDER,
    ROLE_NEXT, /* describes the next member */
    ROLE_ALL,  /* describes all further members */
    ROLE_NAME, /* is the name of the next member (GNU) */
    ROLE_SKIP  /* the target of a link (GNU), the label of a volume */
} role;

typedef struct meaning {
    uint8_t type;
    role role;
    hr_tar_kind kind;
    bool data;
} meaning;

static meaning meaning_of(uint8_t type)
{
    static const meaning known[] = {
        {'0', ROLE_MEMBER, HR_TAR_KIND_FILE, true},
        {0, ROLE_MEMBER, HR_TAR_KIND_FILE, true},
        {'7', ROLE_MEMBER, HR_TAR_KIND_FILE, true},
        {'1', ROLE_MEMBER, HR_TAR_KIND_HARD_LINK, false},
        {'2', ROLE_MEMBER, HR_TAR_KIND_SYMBOLIC_LINK, false},
        {'3', ROLE_MEMBER, HR_TAR_KIND_DEVICE, false},
        {'4', ROLE_MEMBER, HR_TAR_KIND_DEVICE, false},
        {'5', ROLE_FOLDER, HR_TAR_KIND_FILE, false},
        {'6', ROLE_MEMBER, HR_TAR_KIND_DEVICE, false},
        {'D', ROLE_FOLDER, HR_TAR_KIND_FILE, true}, /* with a list of its contents */
        {'S', ROLE_MEMBER, HR_TAR_KIND_SPARSE, true},
        {'M', ROLE_MEMBER, HR_TAR_KIND_CONTINUED, true},
        {'V', ROLE_SKIP, HR_TAR_KIND_FILE, true},
        {'K', ROLE_SKIP, HR_TAR_KIND_FILE, true},
        {'L', ROLE_NAME, HR_TAR_KIND_FILE, true},
        {'x', ROLE_NEXT, HR_TAR_KIND_FILE, true},
        {'X', ROLE_NEXT, HR_TAR_KIND_FILE, true}, /* of Solaris */
        {'g', ROLE_ALL, HR_TAR_KIND_FILE, true},
    };
    for (size_t i = 0; i < HR_COUNT_OF(known); i++)
        if (known[i].type == type)
            return known[i];
    return (meaning){type, ROLE_MEMBER, HR_TAR_KIND_UNKNOWN, true};
}

/* Reads the data of a header that describes other members. */
static hr_status read_extended(hr_tar *tar, role what, int64_t size, hr_error *error)
{
    if (size > MAX_EXTENDED)
        return hr_fail(error, HR_STATUS_LIMIT, "an extended header has %lld bytes, more than %lld",
                       (long long)size, (long long)MAX_EXTENDED);
    const uint8_t *text = hr_scan_bytes(&tar->window, tar->at + BLOCK, (size_t)size, error);
    if (!text)
        return HR_STATUS_CORRUPT;
    if (what == ROLE_NAME)
        return set_path(&tar->next.path, text, strnlen((const char *)text, (size_t)size), error);
    return parse_pax(what == ROLE_ALL ? &tar->all : &tar->next, text, (size_t)size, error);
}

static const char *member_name(hr_tar *tar, const uint8_t *block)
{
    const hr_tar_extended *const said[] = {&tar->next, &tar->all};
    for (size_t i = 0; i < HR_COUNT_OF(said); i++)
        if (said[i]->path || said[i]->sparse_path)
            return said[i]->sparse_path ? said[i]->sparse_path : said[i]->path;
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

/* `complete`: there is a whole block at tar->at. */
static hr_status fail_header(hr_tar *tar, bool complete, hr_error *error)
{
    const char *format = tar->at == 0 ? hr_scan_compression(&tar->window) : NULL;
    if (format)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "it is compressed (%s), so that its members cannot be found by their "
                       "offsets: decompress the archive, or write it without compression",
                       format);
    if (!complete)
        return HR_STATUS_CORRUPT;
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "it is not a tar archive, or a damaged one: no header begins at byte %lld",
                   (long long)tar->at);
}

/* The header at tar->at; NULL without an error at the end of the archive. */
static const uint8_t *header_at(hr_tar *tar, hr_error *error, hr_status *status)
{
    int64_t size = hr_object_size(tar->window.object);
    *status = HR_STATUS_OK;
    for (int32_t zeros = 0; tar->at < size; tar->at += BLOCK) {
        const uint8_t *block = hr_scan_bytes(&tar->window, tar->at, BLOCK, error);
        if (block && is_zero(block)) {
            if (++zeros == 2)
                return NULL;
            continue;
        }
        if (block && sum_right(block))
            return block;
        *status = fail_header(tar, block != NULL, error);
        return NULL;
    }
    return NULL;
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

/* Steps over one header and its data. `*found`: it is a member, described in `out`. */
static hr_status step(hr_tar *tar, const uint8_t *block, hr_tar_member *out, bool *found,
                      hr_error *error)
{
    const meaning m = meaning_of(block[TYPE]);
    const hr_tar_extended *said = tar->next.size >= 0 ? &tar->next : &tar->all;
    const bool of_member = m.role == ROLE_MEMBER || m.role == ROLE_FOLDER;
    int64_t size = m.data ? number(block + SIZE, SIZE_SIZE) : 0;
    if (of_member && m.data && said->size >= 0)
        size = said->size;
    out->name = member_name(tar, block);
    out->kind = m.kind;
    if (m.kind == HR_TAR_KIND_FILE && (tar->next.sparse || tar->all.sparse))
        out->kind = HR_TAR_KIND_SPARSE;
    size_t length = strlen(out->name);
    *found = m.role == ROLE_MEMBER && length > 0 && out->name[length - 1] != '/';
    if (m.kind == HR_TAR_KIND_SPARSE)
        HR_TRY(skip_map(tar, block[EXTENDED], error));
    int64_t offset = tar->at + BLOCK;
    if (size < 0 || size > hr_object_size(tar->window.object) - offset)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "it is cut off or damaged: the member at byte %lld does not fit in it",
                       (long long)tar->at);
    out->offset = out->kind == HR_TAR_KIND_FILE ? offset : 0;
    out->size = out->kind == HR_TAR_KIND_FILE ? size : 0;
    if (m.role == ROLE_NAME || m.role == ROLE_NEXT || m.role == ROLE_ALL)
        HR_TRY(read_extended(tar, m.role, size, error));
    else if (of_member && !*found)
        extended_reset(&tar->next); /* it was a folder's */
    tar->at = offset + size + (BLOCK - 1) - (size + BLOCK - 1) % BLOCK;
    return HR_STATUS_OK;
}

hr_status hr_tar_next(hr_tar *tar, hr_tar_member *out, bool *end, hr_error *error)
{
    *end = false;
    extended_reset(&tar->next); /* the last member's */
    for (bool found = false; !found;) {
        hr_status status;
        const uint8_t *block = header_at(tar, error, &status);
        if (!block) {
            *end = status == HR_STATUS_OK;
            return status;
        }
        HR_TRY(step(tar, block, out, &found, error));
    }
    return HR_STATUS_OK;
}
