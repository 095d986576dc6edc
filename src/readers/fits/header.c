/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A header is blocks of 2880 bytes with cards of 80: a keyword of 8 bytes, "= ", and a value. */
#include <stdlib.h>
#include <string.h>

#include "core/json.h"
#include "readers/fits/image.h"

/* More than any compression here can shrink data. */
#define MOST_RATIO 1100

enum { BLOCK = 2880, CARD = 80, KEYWORD = 8, VALUE = 10 };

typedef struct card {
    char key[KEYWORD + 1];
    char text[CARD - VALUE + 1]; /* the value; a string without quotes and trailing blanks */
    bool quoted;
} card;

/* ---- cards ---- */

static void trim(char *text)
{
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--)
        text[n - 1] = 0;
}

static void read_value(const uint8_t *from, card *out)
{
    const char *at = (const char *)from + VALUE, *end = (const char *)from + CARD;
    size_t n = 0;
    while (at < end && *at == ' ')
        at++;
    out->quoted = at < end && *at == '\'';
    if (out->quoted)
        at++;
    for (; at < end && *at; at++) {
        if (out->quoted && *at == '\'' && (at + 1 == end || at[1] != '\''))
            break;
        if (!out->quoted && (*at == '/' || *at == ' '))
            break;
        at += out->quoted && *at == '\'';
        out->text[n++] = *at;
    }
    out->text[n] = 0;
    trim(out->text);
}

static void read_card(const uint8_t *from, card *out)
{
    *out = (card){0};
    memcpy(out->key, from, KEYWORD);
    trim(out->key);
    if (from[KEYWORD] == '=' && from[KEYWORD + 1] == ' ')
        read_value(from, out);
}

/* The number n of a keyword NAMEn, from 1; 0: it is another one. */
static int64_t numbered(const char *key, const char *name)
{
    size_t size = strlen(name);
    if (strncmp(key, name, size) != 0 || key[size] < '1' || key[size] > '9')
        return 0;
    char *end;
    long n = strtol(key + size, &end, 10); /* at most 7 digits */
    return *end ? 0 : n;
}

static bool integer(const card *c, int64_t *out)
{
    char *end;
    *out = strtoll(c->text, &end, 10); /* saturates */
    return !c->quoted && end != c->text && !*end;
}

/* A floating-point number, of which Fortran writes the exponent with D. */
static bool real(const card *c, double *out)
{
    char text[sizeof(c->text)];
    memcpy(text, c->text, sizeof(text));
    for (char *at = text; *at; at++)
        *at = *at == 'D' || *at == 'd' ? 'E' : *at;
    *out = hr_text_number(text);
    return !c->quoted && text[0] && !text[strspn(text, "+-.0123456789E")];
}

/* ---- headers ---- */

static void take_column(const card *c, hr_fits_hdu *hdu)
{
    int64_t n = numbered(c->key, "TTYPE");
    if (n > 0 && n <= HR_FITS_COLUMNS)
        hdu->column[n - 1].tiles = strcmp(c->text, "COMPRESSED_DATA") == 0;
    n = numbered(c->key, "TFORM");
    if (n <= 0 || n > HR_FITS_COLUMNS)
        return;
    char *end;
    long long repeat = strtoll(c->text, &end, 10);
    hr_fits_column *column = &hdu->column[n - 1];
    column->repeat = end == c->text ? 1 : repeat;
    column->type = *end;
    column->element = *end ? end[1] : 0;
}

static void take_parameter(const card *c, hr_fits_hdu *hdu)
{
    static const char *const names[] = {"BLOCKSIZE", "BYTEPIX"};
    int64_t n = numbered(c->key, "ZNAME"), value = numbered(c->key, "ZVAL");
    for (int i = 0; i < 2; i++) {
        if (n > 0 && strcmp(c->text, names[i]) == 0)
            hdu->zname[i] = n;
        if (value > 0 && value == hdu->zname[i]) /* ZVALi follows ZNAMEi */
            (void)integer(c, &hdu->zval[i]);
    }
}

static bool take_axis(const card *c, const char *name, int64_t *axis)
{
    int64_t n = numbered(c->key, name);
    return n <= 0 || n > HR_FITS_AXES || (integer(c, &axis[n - 1]) && axis[n - 1] >= 0);
}

/* false: the value is wrong. */
static bool take_card(const card *c, hr_fits_hdu *hdu)
{
    const struct {
        const char *key;
        int64_t *value;
    } integers[] = {{"BITPIX", &hdu->bitpix},   {"NAXIS", &hdu->naxis},  {"PCOUNT", &hdu->pcount},
                    {"GCOUNT", &hdu->gcount},   {"THEAP", &hdu->theap},  {"TFIELDS", &hdu->tfields},
                    {"ZBITPIX", &hdu->zbitpix}, {"ZNAXIS", &hdu->znaxis}};
    for (size_t i = 0; i < HR_COUNT_OF(integers); i++)
        if (strcmp(c->key, integers[i].key) == 0)
            return integer(c, integers[i].value);
    if (strcmp(c->key, "BZERO") == 0)
        return real(c, &hdu->bzero);
    if (strcmp(c->key, "BSCALE") == 0)
        return real(c, &hdu->bscale);
    if (strcmp(c->key, "GROUPS") == 0)
        hdu->groups = strcmp(c->text, "T") == 0;
    else if (strcmp(c->key, "ZIMAGE") == 0)
        hdu->zimage = strcmp(c->text, "T") == 0;
    else if (strcmp(c->key, "XTENSION") == 0)
        hdu->table = strcmp(c->text, "BINTABLE") == 0, hdu->image = strcmp(c->text, "IMAGE") == 0;
    else if (strcmp(c->key, "ZCMPTYPE") == 0)
        memcpy(hdu->zcmptype, c->text, sizeof(hdu->zcmptype) - 1); /* zeros follow */
    take_column(c, hdu);
    take_parameter(c, hdu);
    return take_axis(c, "NAXIS", hdu->axis) && take_axis(c, "ZNAXIS", hdu->zaxis) &&
           take_axis(c, "ZTILE", hdu->ztile);
}

/* The size of the data, without padding. */
static hr_status measure(hr_fits_hdu *hdu, size_t at, hr_error *error)
{
    const size_t element = hr_fits_element(hdu->bitpix);
    bool fits =
        hdu->naxis >= 0 && hdu->naxis <= HR_FITS_AXES && hdu->pcount >= 0 && hdu->gcount >= 1;
    if (hdu->groups)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "the header at byte %zu has random groups, which are not supported", at);
    if (!fits || element == 0)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the header at byte %zu has BITPIX %lld, NAXIS %lld, PCOUNT %lld and GCOUNT "
                       "%lld, which is not valid",
                       at, (long long)hdu->bitpix, (long long)hdu->naxis, (long long)hdu->pcount,
                       (long long)hdu->gcount);
    size_t count = hdu->naxis > 0;
    for (int64_t d = 0; d < hdu->naxis; d++)
        fits = fits && hr_size_mul(count, (size_t)hdu->axis[d], &count);
    if (!fits || !hr_size_add(count, (size_t)hdu->pcount, &count) ||
        !hr_size_mul(count, (size_t)hdu->gcount, &count) ||
        !hr_size_mul(count, element, &hdu->size))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the header at byte %zu states a size of data that overflows", at);
    return HR_STATUS_OK;
}

/* Reads the header at `at`. */
static hr_status read_header(const uint8_t *file, size_t size, size_t at, hr_fits_hdu *hdu,
                             hr_error *error)
{
    const size_t start = at;
    *hdu = (hr_fits_hdu){.gcount = 1, .bscale = 1, .theap = -1, .zval = {32, 4}};
    for (card c; size - at >= CARD; at += CARD) {
        read_card(file + at, &c);
        if (at == start && strcmp(c.key, start ? "XTENSION" : "SIMPLE") != 0)
            break;
        if (strcmp(c.key, "END") == 0) {
            hdu->data = (at / BLOCK + 1) * BLOCK;
            return measure(hdu, start, error);
        }
        if (!take_card(&c, hdu))
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "byte %zu: the value of the keyword %s is not valid: '%s'", at, c.key,
                           c.text);
    }
    if (at == start)
        return hr_fail(error, HR_STATUS_CORRUPT, "no FITS header begins at byte %zu", at);
    return hr_fail(error, HR_STATUS_CORRUPT, "the header at byte %zu has no end", start);
}

/* ---- the array ---- */

static hr_status set_type(hr_fits_hdu *hdu, int64_t bitpix, hr_error *error)
{
    static const struct {
        int64_t bitpix;
        hr_dtype plain, flipped;
        double zero; /* BZERO of `flipped` */
    } types[] = {{8, HR_DTYPE_UINT8, HR_DTYPE_INT8, -128},
                 {16, HR_DTYPE_INT16, HR_DTYPE_UINT16, 32768},
                 {32, HR_DTYPE_INT32, HR_DTYPE_UINT32, 2147483648.},
                 {64, HR_DTYPE_INT64, HR_DTYPE_UINT64, 9223372036854775808.},
                 {-32, HR_DTYPE_FLOAT, HR_DTYPE_NONE, 0},
                 {-64, HR_DTYPE_FLOAT64, HR_DTYPE_NONE, 0}};
    size_t i = 0;
    while (i < HR_COUNT_OF(types) && types[i].bitpix != bitpix)
        i++;
    if (i == HR_COUNT_OF(types))
        return hr_fail(error, HR_STATUS_CORRUPT, "ZBITPIX is %lld, which is not valid",
                       (long long)bitpix);
    hdu->dtype = types[i].plain;
    if (hdu->bscale == 1 && hdu->bzero == 0)
        return HR_STATUS_OK;
    if (hdu->bscale == 1 && bitpix > 0 && hdu->bzero == types[i].zero) {
        hdu->dtype = types[i].flipped;
        hdu->flip = true;
        return HR_STATUS_OK;
    }
    hdu->scale = true;
    hdu->dtype = bitpix == 8 || bitpix == 16 || bitpix == -32 ? HR_DTYPE_FLOAT : HR_DTYPE_FLOAT64;
    return HR_STATUS_OK;
}

static hr_status describe(hr_fits_hdu *hdu, bool primary, hr_error *error)
{
    const bool tiles = hdu->table && hdu->zimage;
    const int64_t n = tiles ? hdu->znaxis : hdu->naxis, *axis = tiles ? hdu->zaxis : hdu->axis;
    if (!primary && !tiles && !hdu->image)
        return hr_fail(error, HR_STATUS_ERROR, "it is a table or another extension, not an image");
    if (n == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "it has no data (NAXIS is 0). HDUs are counted from 1, and the first one is "
                       "often empty");
    if (n < 0 || n > HR_MAX_NDIM)
        return hr_fail(error, HR_STATUS_LIMIT, "it has %lld dimensions; the limit is %d",
                       (long long)n, HR_MAX_NDIM);
    hdu->image = !tiles;
    hdu->shape = (hr_shape){.ndim = (int32_t)n};
    for (int64_t d = 0; d < n; d++)
        hdu->shape.extent[n - 1 - d] = axis[d];
    size_t volume, bytes;
    if (!hr_shape_volume(&hdu->shape, &volume) || !hr_size_mul(volume, 8, &bytes))
        return hr_fail(error, HR_STATUS_CORRUPT, "the size of the array overflows");
    if (tiles && bytes / 8 / MOST_RATIO > hdu->size)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "its %zu elements cannot have been compressed to %zu bytes", volume,
                       hdu->size);
    return set_type(hdu, tiles ? hdu->zbitpix : hdu->bitpix, error);
}

hr_status hr_fits_find(const uint8_t *file, size_t size, int32_t number, hr_fits_hdu *out,
                       hr_error *error)
{
    size_t at = 0;
    for (int32_t i = 1; i <= number; i++) {
        if (i > 1 && at >= size)
            return hr_fail(error, HR_STATUS_ERROR, "the file has only %d HDUs", i - 1);
        HR_TRY(read_header(file, size, at, out, error));
        if (out->data > size || out->size > size - out->data)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "the file ends at byte %zu, in the data of its HDU %d, which are %zu "
                           "bytes at byte %zu",
                           size, i, out->size, out->data);
        size_t padded = (out->size + BLOCK - 1) / BLOCK * BLOCK;
        at = padded > size - out->data ? size : out->data + padded;
    }
    return describe(out, number == 1, error);
}
