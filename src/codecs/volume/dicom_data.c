/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The data set of a DICOM file: elements, and sequences of items inside them. */
#include "codecs/volume/dicom.h"

#include "codecs/bytes.h"
#include "core/json.h"

#include <string.h>

#define TAG(group, element) ((uint32_t)(group) << 16 | (uint32_t)(element))
#define UNDEFINED 0xFFFFFFFFu

enum { PREAMBLE = 128, MAX_DEPTH = 16, TEXT = 64 };

#define ITEM TAG(0xFFFE, 0xE000)
#define END_OF_ITEM TAG(0xFFFE, 0xE00D)
#define END_OF_SEQUENCE TAG(0xFFFE, 0xE0DD)

/* Where in the data set. */
typedef enum scope {
    TOP,
    GROUPS,         /* what the frames of an enhanced file have, shared or one by one */
    TRANSFORMATION, /* there: what stored values mean */
    ELSEWHERE
} scope;

typedef struct element {
    uint32_t tag, length;
    bool sequence;       /* says its type */
    hr_dicom_span value; /* unless its length is undefined */
} element;

typedef struct reader {
    const uint8_t *p, *end;
    bool implicit;
} reader;

bool hr_dicom_match(const uint8_t *bytes, size_t size)
{
    return size >= PREAMBLE + 4 && memcmp(bytes + PREAMBLE, "DICM", 4) == 0;
}

static hr_status cut(hr_error *error)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: the file ends early");
}

/* Types of values whose lengths have four bytes. */
static bool is_long(const uint8_t *type)
{
    static const char types[] = "OBODOFOLOVOWSQSVUCUNURUTUV";
    for (size_t i = 0; i + 1 < sizeof(types); i += 2)
        if (memcmp(types + i, type, 2) == 0)
            return true;
    return false;
}

static hr_status next_element(reader *r, element *e, hr_error *error)
{
    size_t left = (size_t)(r->end - r->p), head = 8;
    *e = (element){0};
    if (left < head)
        return cut(error);
    *e = (element){.tag = TAG(hr_get_le16(r->p), hr_get_le16(r->p + 2)),
                   .length = hr_get_le32(r->p + 4)};
    if (!r->implicit && e->tag >> 16 != 0xFFFE) {
        const uint8_t *type = r->p + 4;
        e->sequence = memcmp(type, "SQ", 2) == 0;
        if (is_long(type)) {
            head = 12;
            if (left < head)
                return cut(error);
            e->length = hr_get_le32(r->p + 8);
        } else {
            e->length = hr_get_le16(r->p + 6);
        }
    }
    r->p += head;
    if (e->length == UNDEFINED)
        return HR_STATUS_OK;
    if (e->length > left - head)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "DICOM: the element (%04x,%04x) of %u bytes is cut off", e->tag >> 16,
                       e->tag & 0xFFFF, e->length);
    e->value = (hr_dicom_span){r->p, e->length};
    r->p += e->length;
    return HR_STATUS_OK;
}

/* ---- values ---- */

/* The text without the spaces around it. */
static void text_of(hr_dicom_span v, char *out, size_t room)
{
    size_t n = 0;
    while (v.size > 0 && *v.p == ' ') {
        v.p++;
        v.size--;
    }
    while (n + 1 < room && n < v.size && v.p[n] != '\0' && v.p[n] != '\\') {
        out[n] = (char)v.p[n];
        n++;
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    out[n] = '\0';
}

static uint32_t short_of(hr_dicom_span v)
{
    return v.size >= 2 ? hr_get_le16(v.p) : 0;
}

static double decimal_of(hr_dicom_span v)
{
    char text[TEXT];
    text_of(v, text, sizeof(text));
    return hr_text_number(text);
}

static void note(hr_dicom_number *n, double value)
{
    n->differs |= n->given && n->value != value;
    n->value = value;
    n->given = true;
}

static void use_rescale(hr_dicom *d, const element *e)
{
    if (e->tag == TAG(0x0028, 0x1052))
        note(&d->intercept, decimal_of(e->value));
    if (e->tag == TAG(0x0028, 0x1053))
        note(&d->slope, decimal_of(e->value));
}

static void use_palette(hr_dicom *d, const element *e)
{
    uint32_t k = e->tag & 3; /* 1, 2, 3 */
    if (e->tag >> 16 != 0x0028 || k == 0)
        return;
    if ((e->tag & 0xFFFC) == 0x1200)
        d->palette[k - 1] = e->value;
    if ((e->tag & 0xFFFF) == 0x1101 && e->value.size >= 6) { /* of red; the others are alike */
        d->palette_count = (uint16_t)hr_get_le16(e->value.p);
        d->palette_first = (uint16_t)hr_get_le16(e->value.p + 2);
        d->palette_bits = (uint16_t)hr_get_le16(e->value.p + 4);
    }
}

static void use_element(hr_dicom *d, const element *e)
{
    const struct {
        uint16_t element;
        uint32_t *value;
    } shorts[] = {{0x0002, &d->samples}, {0x0006, &d->planar},    {0x0010, &d->rows},
                  {0x0011, &d->columns}, {0x0100, &d->allocated}, {0x0101, &d->stored},
                  {0x0102, &d->high},    {0x0103, &d->is_signed}};
    for (size_t i = 0; i < HR_COUNT_OF(shorts); i++)
        if (e->tag == TAG(0x0028, shorts[i].element))
            *shorts[i].value = short_of(e->value);
    if (e->tag == TAG(0x0028, 0x0004))
        text_of(e->value, d->photometric, sizeof(d->photometric));
    if (e->tag == TAG(0x0028, 0x0008)) {
        double frames = decimal_of(e->value);
        d->frames = frames >= 0 && frames < INT32_MAX ? (int64_t)frames : INT32_MAX;
    }
    use_rescale(d, e);
    use_palette(d, e);
}

/* ---- walking ---- */

static hr_status walk(hr_dicom *d, reader *r, scope where, int depth, hr_error *error);

static scope inside(scope where, uint32_t tag)
{
    if (where == TOP && (tag == TAG(0x5200, 0x9229) || tag == TAG(0x5200, 0x9230)))
        return GROUPS;
    return where == GROUPS && tag == TAG(0x0028, 0x9145) ? TRANSFORMATION : ELSEWHERE;
}

/* The items of a sequence, up to the end of `r` or the element that ends it. */
static hr_status walk_items(hr_dicom *d, reader *r, scope where, int depth, hr_error *error)
{
    element e;
    if (depth > MAX_DEPTH)
        return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: sequences are nested too deeply");
    while (r->p < r->end) {
        HR_TRY(next_element(r, &e, error));
        if (e.tag == END_OF_SEQUENCE)
            return HR_STATUS_OK;
        if (e.tag != ITEM)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "DICOM: (%04x,%04x) where an item of a sequence should be", e.tag >> 16,
                           e.tag & 0xFFFF);
        if (e.length == UNDEFINED) {
            HR_TRY(walk(d, r, where, depth + 1, error));
        } else if (where != ELSEWHERE) {
            reader item = {e.value.p, e.value.p + e.value.size, r->implicit};
            HR_TRY(walk(d, &item, where, depth + 1, error));
        }
    }
    return HR_STATUS_OK;
}

static bool is_pixels(uint32_t tag)
{
    return tag == TAG(0x7FE0, 0x0008) || tag == TAG(0x7FE0, 0x0009) || tag == TAG(0x7FE0, 0x0010);
}

static void use_pixels(hr_dicom *d, const reader *r, const element *e)
{
    d->floats = e->tag == TAG(0x7FE0, 0x0008) ? 32 : e->tag == TAG(0x7FE0, 0x0009) ? 64 : 0;
    d->encapsulated = e->length == UNDEFINED;
    d->pixels = d->encapsulated ? (hr_dicom_span){r->p, (size_t)(r->end - r->p)} : e->value;
}

/* A sequence, or another element whose end is marked. */
static hr_status walk_sequence(hr_dicom *d, reader *r, const element *e, scope where, int depth,
                               hr_error *error)
{
    scope to = inside(where, e->tag);
    if (e->length == UNDEFINED) {
        bool implicit = r->implicit;
        r->implicit = implicit || !e->sequence; /* of an unknown type: as without types */
        hr_status status = walk_items(d, r, to, depth, error);
        r->implicit = implicit;
        return status;
    }
    if (to == ELSEWHERE)
        return HR_STATUS_OK;
    reader sub = {e->value.p, e->value.p + e->value.size, r->implicit || !e->sequence};
    return walk_items(d, &sub, to, depth, error);
}

/* Elements up to the end of `r`, of the item, or up to the pixels. */
static hr_status walk(hr_dicom *d, reader *r, scope where, int depth, hr_error *error)
{
    element e;
    while (r->p < r->end) {
        HR_TRY(next_element(r, &e, error));
        if (e.tag == END_OF_ITEM)
            return HR_STATUS_OK;
        if (where == TOP && is_pixels(e.tag)) {
            use_pixels(d, r, &e);
            return HR_STATUS_OK;
        }
        if (where == TOP && e.tag == TAG(0x0028, 0x3000))
            d->has_table = true;
        if (e.length == UNDEFINED || e.sequence || inside(where, e.tag) != ELSEWHERE)
            HR_TRY(walk_sequence(d, r, &e, where, depth, error));
        else if (where == TOP)
            use_element(d, &e);
        else if (where == TRANSFORMATION)
            use_rescale(d, &e);
    }
    return HR_STATUS_OK;
}

/* ---- the file ---- */

static hr_status set_syntax(hr_dicom *d, const char *name, hr_error *error)
{
    static const struct {
        const char *name;
        hr_dicom_coding coding;
        bool implicit;
    } known[] = {
        {"1.2.840.10008.1.2", HR_DICOM_CODING_NATIVE, true},
        {"1.2.840.10008.1.2.1", HR_DICOM_CODING_NATIVE, false},
        {"1.2.840.10008.1.2.5", HR_DICOM_CODING_RLE, false},
        {"1.2.840.10008.1.2.4.50", HR_DICOM_CODING_JPEG, false},
        {"1.2.840.10008.1.2.4.51", HR_DICOM_CODING_JPEG, false},
        {"1.2.840.10008.1.2.4.57", HR_DICOM_CODING_JPEG_LOSSLESS, false},
        {"1.2.840.10008.1.2.4.70", HR_DICOM_CODING_JPEG_LOSSLESS, false},
        {"1.2.840.10008.1.2.4.90", HR_DICOM_CODING_JPEG2000, false},
        {"1.2.840.10008.1.2.4.91", HR_DICOM_CODING_JPEG2000, false},
    };
    for (size_t i = 0; i < HR_COUNT_OF(known); i++)
        if (strcmp(known[i].name, name) == 0) {
            d->coding = known[i].coding;
            d->implicit = known[i].implicit;
            return HR_STATUS_OK;
        }
    return hr_fail(
        error, HR_STATUS_CORRUPT,
        "DICOM: the transfer syntax \"%s\" is not supported; uncompressed (little endian), "
        "RLE, JPEG, lossless JPEG and JPEG 2000 are",
        name);
}

/* The group 0002, in front of the data set, which names the transfer syntax. */
static hr_status read_meta(hr_dicom *d, reader *r, hr_error *error)
{
    char name[TEXT + 1] = "";
    element e;
    while (r->end - r->p >= 8 && hr_get_le16(r->p) == 0x0002) {
        HR_TRY(next_element(r, &e, error));
        if (e.length == UNDEFINED)
            return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: a header that is not valid");
        if (e.tag == TAG(0x0002, 0x0010))
            text_of(e.value, name, sizeof(name));
    }
    return set_syntax(d, name, error);
}

hr_status hr_dicom_read(const uint8_t *bytes, size_t size, hr_dicom *out, hr_error *error)
{
    *out = (hr_dicom){.samples = 1, .frames = 1};
    reader r = {bytes + PREAMBLE + 4, bytes + size, false};
    HR_TRY(read_meta(out, &r, error));
    r.implicit = out->implicit;
    HR_TRY(walk(out, &r, TOP, 0, error));
    if (!out->pixels.p)
        return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: the file has no pixels");
    if (out->encapsulated == (out->coding == HR_DICOM_CODING_NATIVE))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "DICOM: the pixels are not stored as the transfer syntax says");
    return HR_STATUS_OK;
}

/* ---- fragments ---- */

/* The items with the pixels: offsets of frames, and the fragments. */
typedef struct fragments {
    hr_dicom_span offsets;
    hr_dicom_span *list;
    int64_t count;
} fragments;

static hr_status read_fragments(const hr_dicom *d, fragments *f, hr_error *error)
{
    reader r = {d->pixels.p, d->pixels.p + d->pixels.size, true};
    element e;
    bool first = true;
    f->count = 0;
    for (;; first = false) {
        HR_TRY(next_element(&r, &e, error));
        if (e.tag == END_OF_SEQUENCE)
            return HR_STATUS_OK;
        if (e.tag != ITEM || e.length == UNDEFINED)
            return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: the pixels are not in fragments");
        if (first)
            f->offsets = e.value;
        else if (f->list)
            f->list[f->count++] = e.value;
        else
            f->count++;
    }
}

static hr_status join(const hr_dicom_span *list, int64_t count, hr_arena *arena, hr_dicom_span *out,
                      hr_error *error)
{
    size_t size = 0;
    for (int64_t i = 0; i < count; i++)
        size += list[i].size;
    uint8_t *to = count == 1 ? NULL : hr_arena_alloc(arena, size + 1, error);
    *out = list[0];
    if (count == 1)
        return HR_STATUS_OK;
    if (!to)
        return HR_STATUS_NO_MEMORY;
    *out = (hr_dicom_span){to, size};
    for (int64_t i = 0; i < count; to += list[i++].size)
        memcpy(to, list[i].p, list[i].size);
    return HR_STATUS_OK;
}

/* Fragments from one offset to the next are a frame. */
static hr_status group(hr_dicom *d, const fragments *f, hr_arena *arena, hr_error *error)
{
    const uint8_t *start = f->list[0].p - 8; /* the first item */
    int64_t at = 0;
    for (int64_t i = 0; i < d->frames; i++) {
        bool last = i + 1 == d->frames;
        int64_t from = at, offset = hr_get_le32(f->offsets.p + 4 * i);
        int64_t next = last ? INT64_MAX : hr_get_le32(f->offsets.p + 4 * (i + 1));
        if (at == f->count || f->list[at].p - 8 - start != offset)
            return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: frame %lld is not at its offset",
                           (long long)i);
        while (at < f->count && f->list[at].p - 8 - start < next)
            at++;
        if (at == from)
            return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: the offsets of frames do not ascend");
        HR_TRY(join(f->list + from, at - from, arena, &d->frame[i], error));
    }
    return HR_STATUS_OK;
}

hr_status hr_dicom_find_frames(hr_dicom *d, hr_arena *arena, hr_error *error)
{
    fragments f = {0};
    HR_TRY(read_fragments(d, &f, error));
    if (f.count < d->frames || f.count == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "DICOM: %lld frames in %lld fragments",
                       (long long)d->frames, (long long)f.count);
    f.list = hr_arena_alloc(arena, (size_t)f.count * sizeof(*f.list), error);
    d->frame = hr_arena_alloc(arena, (size_t)d->frames * sizeof(*d->frame), error);
    if (!f.list || !d->frame)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(read_fragments(d, &f, error));
    if (d->frames == 1)
        return join(f.list, f.count, arena, d->frame, error);
    if (f.offsets.size == 4 * (size_t)d->frames)
        return group(d, &f, arena, error);
    if (f.count != d->frames)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "DICOM: %lld frames in %lld fragments without their offsets are not "
                       "supported",
                       (long long)d->frames, (long long)f.count);
    memcpy(d->frame, f.list, (size_t)f.count * sizeof(*f.list));
    return HR_STATUS_OK;
}
