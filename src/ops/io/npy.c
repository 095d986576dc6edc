/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The header is a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}. */
#include "ops/io/npy.h"
#include "ops/io/zip.h"

#include <string.h>

#include "ops/generic/region.h"

#define HEADER_MAX ((size_t)1 << 20)

typedef struct reader {
    const char *text, *at, *end;
    size_t start; /* offset of `text` in the file */
    hr_error *error;
} reader;

typedef struct token { /* not zero-terminated */
    const char *at;
    size_t size;
} token;

static const uint8_t magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y'};

hr_status hr__npy_header_end(const void *data, size_t size, size_t *end, hr_error *error)
{
    const uint8_t *b = data;
    if (size < sizeof(magic) + 4 || memcmp(b, magic, sizeof(magic)) != 0)
        return hr_fail(
            error, HR_STATUS_CORRUPT,
            "Got bad magic string for numpy header: it is not a NumPy file, which begins "
            "with \\x93NUMPY");
    bool wide = b[6] >= 2;
    if (b[6] < 1 || b[6] > 3)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "its NumPy format has version %d.%d; known are 1.0, 2.0 and 3.0", b[6],
                       b[7]);
    if (wide && size < 12)
        return hr_fail(error, HR_STATUS_CORRUPT, "the file ends in its header");
    size_t length = (size_t)b[8] | (size_t)b[9] << 8;
    if (wide)
        length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > HEADER_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "its header has %zu bytes; the limit is %zu", length,
                       HEADER_MAX);
    *end = (wide ? 12 : 10) + length;
    return HR_STATUS_OK;
}

/* ---- the dictionary ---- */

static hr_status bad(const reader *r, const char *what)
{
    return hr_fail(r->error, HR_STATUS_CORRUPT, "byte %zu of its header: %s",
                   r->start + (size_t)(r->at - r->text), what);
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || (*r->at >= '\t' && *r->at <= '\r')))
        r->at++;
}

/* Takes a punctuation mark and the blanks around it. */
static bool take(reader *r, char c)
{
    skip_space(r);
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    skip_space(r);
    return true;
}

static bool take_word(reader *r, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size) != 0)
        return false;
    r->at += size;
    return true;
}

static hr_status read_string(reader *r, token *out)
{
    char quote = r->at < r->end ? *r->at : 0;
    *out = (token){0};
    if (quote != '\'' && quote != '"')
        return bad(r, "a string is missing");
    const char *close = memchr(r->at + 1, quote, (size_t)(r->end - r->at) - 1);
    if (!close)
        return bad(r, "the string has no end");
    *out = (token){r->at + 1, (size_t)(close - r->at) - 1};
    r->at = close + 1;
    return HR_STATUS_OK;
}

static bool is(token t, const char *word)
{
    return t.size == strlen(word) && memcmp(t.at, word, t.size) == 0;
}

static hr_status read_extent(reader *r, int64_t *out)
{
    const char *start = r->at;
    *out = 0;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
        int digit = *r->at - '0';
        if (*out > (INT64_MAX - digit) / 10)
            return bad(r, "the extent is too large");
        *out = 10 * *out + digit;
    }
    if (r->at == start)
        return bad(r, "an extent of the shape must be an integer that is not negative");
    (void)take(r, 'L'); /* written by Python 2 */
    return HR_STATUS_OK;
}

static hr_status read_shape(reader *r, hr_npy *npy)
{
    npy->shape = (hr_shape){0};
    if (!take(r, '('))
        return bad(r, "the shape is not a tuple");
    for (bool comma = true; !take(r, ')'); comma = take(r, ',')) {
        int64_t extent;
        if (!comma)
            return bad(r, "a comma is missing in the shape");
        HR_TRY(read_extent(r, &extent));
        if (npy->shape.ndim == HR_MAX_NDIM)
            return hr_fail(r->error, HR_STATUS_LIMIT, "the array has more than %d dimensions",
                           HR_MAX_NDIM);
        npy->shape.extent[npy->shape.ndim++] = extent;
    }
    return HR_STATUS_OK;
}

/* '<f4': byte order, kind, size. */
static hr_status read_type(reader *r, hr_npy *npy)
{
    static const struct {
        const char *name;
        hr_dtype dtype;
    } known[] = {{"b1", HR_DTYPE_BOOL},    {"u1", HR_DTYPE_UINT8},  {"u2", HR_DTYPE_UINT16},
                 {"u4", HR_DTYPE_UINT32},  {"u8", HR_DTYPE_UINT64}, {"i1", HR_DTYPE_INT8},
                 {"i2", HR_DTYPE_INT16},   {"i4", HR_DTYPE_INT32},  {"i8", HR_DTYPE_INT64},
                 {"f2", HR_DTYPE_FLOAT16}, {"f4", HR_DTYPE_FLOAT},  {"f8", HR_DTYPE_FLOAT64}};
    token name;
    if (r->at < r->end && *r->at == '[')
        return hr_fail(r->error, HR_STATUS_ERROR,
                       "its elements are structures, which are not supported");
    HR_TRY(read_string(r, &name));
    token kind = name;
    char order = name.size ? name.at[0] : 0;
    if (order && strchr("<>|=", order))
        kind = (token){name.at + 1, name.size - 1};
    for (size_t i = 0; i < HR_COUNT_OF(known); i++) {
        if (!is(kind, known[i].name))
            continue;
        npy->dtype = known[i].dtype;
        npy->swap = order == '>' && kind.at[1] != '1';
        return HR_STATUS_OK;
    }
    return hr_fail(r->error, HR_STATUS_ERROR,
                   "Unknown Numpy type string '%.*s' of its elements: allowed are b1, u1 "
                   "to u8, i1 to i8, f2, f4 and f8",
                   (int)HR_MIN(name.size, 40), name.at);
}

static hr_status read_order(reader *r, hr_npy *npy)
{
    npy->fortran = take_word(r, "True");
    return npy->fortran || take_word(r, "False") ? HR_STATUS_OK
                                                 : bad(r, "fortran_order is not True or False");
}

static hr_status read_dictionary(reader *r, hr_npy *npy)
{
    static const struct {
        const char *key;
        hr_status (*read)(reader *r, hr_npy *npy);
    } fields[] = {{"descr", read_type}, {"fortran_order", read_order}, {"shape", read_shape}};
    unsigned seen = 0;
    if (!take(r, '{'))
        return bad(r, "it is not a dictionary");
    for (bool comma = true; !take(r, '}'); comma = take(r, ',')) {
        token key;
        size_t i = 0;
        if (!comma)
            return bad(r, "a comma is missing");
        HR_TRY(read_string(r, &key));
        while (i < HR_COUNT_OF(fields) && !is(key, fields[i].key))
            i++;
        if (i == HR_COUNT_OF(fields))
            return bad(r, "this key is not one of descr, fortran_order and shape");
        if (!take(r, ':'))
            return bad(r, "a colon is missing");
        HR_TRY(fields[i].read(r, npy));
        seen |= 1u << i;
    }
    skip_space(r);
    if (r->at != r->end)
        return bad(r, "something follows the dictionary");
    return seen == 7 ? HR_STATUS_OK
                     : bad(r, "one of the keys descr, fortran_order and shape is missing");
}

/* The product of the extents that are not 0 must fit, as in NumPy. */
static hr_status measure(hr_npy *npy, hr_error *error)
{
    bool fits = true, empty = false;
    npy->bytes = hr_dtype_size(npy->dtype);
    for (int32_t d = 0; d < npy->shape.ndim && fits; d++) {
        empty = empty || npy->shape.extent[d] == 0;
        fits = hr_size_mul(npy->bytes, (size_t)HR_MAX(npy->shape.extent[d], 1), &npy->bytes);
    }
    if (!fits || npy->bytes > INT64_MAX)
        return hr_fail(error, HR_STATUS_CORRUPT, "the size of its array overflows");
    if (empty)
        npy->bytes = 0;
    return HR_STATUS_OK;
}

hr_status hr__npy_parse(const void *data, size_t size, hr_npy *out, hr_error *error)
{
    size_t end, start;
    *out = (hr_npy){0};
    HR_TRY(hr__npy_header_end(data, size, &end, error));
    if (end > size)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "its header has %zu bytes, but the file has only %zu", end, size);
    start = ((const uint8_t *)data)[6] >= 2 ? 12 : 10;
    const char *text = (const char *)data + start;
    reader r = {text, text, text + (end - start), start, error};
    HR_TRY(read_dictionary(&r, out));
    out->offset = end;
    return measure(out, error);
}

/* ---- elements ---- */

hr_status hr__npy_complete(const hr_npy *npy, uint64_t size, hr_error *error)
{
    char shape[160];
    if (size >= npy->offset && size - npy->offset >= npy->bytes)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "Expected data numpy size %zu: its header says %s of shape %s, which is %zu "
                   "bytes, but only %llu follow it",
                   npy->bytes, hr_dtype_name(npy->dtype),
                   hr_shape_text(&npy->shape, shape, sizeof(shape)), npy->bytes,
                   (unsigned long long)(size > npy->offset ? size - npy->offset : 0));
}

static hr_status open_array(const uint8_t *data, size_t size, hr_npy *out, hr_error *error)
{
    HR_TRY(hr__npy_parse(data, size, out, error));
    return hr__npy_complete(out, size, error);
}

hr_status hr__npy_open(const hr_tensor *file, const hr_strings *members, int32_t k, hr_arena *arena,
                       hr_npy *out, const uint8_t **data, size_t *size, hr_error *error)
{
    *data = file->data;
    hr_tensor_bytes(file, size);
    bool archive = hr__zip_match(*data, *size);
    if (archive && !members->v)
        return hr_fail(error, HR_STATUS_ERROR,
                       "it is an archive (.npz): name the arrays to read in `members`");
    if (!archive && members->v)
        return hr_fail(error, HR_STATUS_CORRUPT, "it is not an archive (.npz)");
    if (!archive)
        return open_array(*data, *size, out, error);
    HR_TRY(hr__zip_member(*data, *size, members->v[k], arena, data, size, error));
    if (open_array(*data, *size, out, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "member '%s'", members->v[k]);
    return HR_STATUS_OK;
}

void hr__npy_strides(const hr_npy *npy, int64_t *stride)
{
    int64_t step = (int64_t)hr_dtype_size(npy->dtype);
    int32_t n = npy->shape.ndim;
    for (int32_t i = 0; i < n; i++) {
        int32_t d = npy->fortran ? i : n - 1 - i;
        stride[d] = step;
        step *= HR_MAX(npy->shape.extent[d], 1);
    }
}

bool hr__npy_usable(const hr_npy *npy, const void *elements)
{
    int32_t long_dims = 0;
    for (int32_t d = 0; d < npy->shape.ndim; d++)
        long_dims += npy->shape.extent[d] != 1;
    return !npy->swap && npy->dtype != HR_DTYPE_BOOL && (!npy->fortran || long_dims <= 1) &&
           (uintptr_t)elements % hr_dtype_size(npy->dtype) == 0;
}

#define SWAP(type, swap)                                                                           \
    do {                                                                                           \
        type *e = elements;                                                                        \
        for (size_t i = 0; i < count; i++)                                                         \
            e[i] = swap(e[i]);                                                                     \
    } while (0)

void hr__npy_repair(const hr_npy *npy, void *elements, size_t count)
{
    uint8_t *bytes = elements;
    for (size_t i = 0; npy->dtype == HR_DTYPE_BOOL && i < count; i++)
        bytes[i] = bytes[i] != 0;
    if (!npy->swap)
        return;
    if (hr_dtype_size(npy->dtype) == 2)
        SWAP(uint16_t, __builtin_bswap16);
    else if (hr_dtype_size(npy->dtype) == 4)
        SWAP(uint32_t, __builtin_bswap32);
    else
        SWAP(uint64_t, __builtin_bswap64);
}
#undef SWAP

void hr__npy_copy(const hr_npy *npy, const void *elements, void *to)
{
    hr_region region;
    size_t size = hr_dtype_size(npy->dtype);
    hr__region_init(&region, &npy->shape, size);
    hr__npy_strides(npy, region.from);
    hr__region_copy(to, elements, &region);
    hr__npy_repair(npy, to, npy->bytes / size);
}
