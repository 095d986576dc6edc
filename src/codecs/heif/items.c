/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/heif/items.h"

#include "codecs/bytes.h"

#include <stdlib.h>
#include <string.h>

#define FTYP HR_HEIF_TYPE('f', 't', 'y', 'p')

static hr_status damaged(hr_error *error, const char *what)
{
    return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: %s", what);
}

static void advance(hr_heif_span *s, size_t n)
{
    s->p += n;
    s->size -= n;
}

/* A number of 0, 2, 4 or 8 bytes. */
static bool take(hr_heif_span *s, uint32_t bytes, uint64_t *out)
{
    if (s->size < bytes)
        return false;
    *out = 0;
    for (uint32_t i = 0; i < bytes; i++)
        *out = *out << 8 | s->p[i];
    advance(s, bytes);
    return true;
}

/* A number that is at most 4 bytes long; 0 if it is not there. */
static uint32_t small(hr_heif_span *s, uint32_t bytes)
{
    uint64_t v = 0;
    if (!take(s, bytes, &v))
        s->size = 0;
    return (uint32_t)v;
}

/* The next box of `in`; false at the end, or if what follows is not a whole one. */
static bool next_box(hr_heif_span *in, hr_heif_box *box)
{
    size_t head = 8;
    uint64_t length = in->size >= head ? hr_get_be32(in->p) : 0;
    if (in->size < head)
        return false;
    if (length == 1 && in->size >= 16) {
        head = 16;
        length = (uint64_t)hr_get_be32(in->p + 8) << 32 | hr_get_be32(in->p + 12);
    } else if (length == 0) { /* to the end */
        length = in->size;
    }
    if (length < head || length > in->size)
        return false;
    *box = (hr_heif_box){hr_get_be32(in->p + 4), {in->p + head, (size_t)length - head}};
    advance(in, (size_t)length);
    return true;
}

/* Takes version and flags off the front. */
static uint32_t full_box(hr_heif_span *body, uint32_t *flags)
{
    uint32_t word = small(body, 4);
    *flags = word & 0xFFFFFF;
    return word >> 24;
}

bool hr_heif_match(const uint8_t *bytes, size_t size)
{
    static const char brands[][5] = {"avif", "avis", "heic", "heix", "heim",
                                     "heis", "hevc", "hevx", "mif1", "msf1"};
    hr_heif_span file = {bytes, size};
    hr_heif_box box;
    if (size < 16 || hr_get_be32(bytes + 4) != FTYP || !next_box(&file, &box))
        return false;
    for (size_t at = 0; at + 4 <= box.body.size; at += at == 0 ? 8 : 4) /* the version is between */
        for (size_t i = 0; i < HR_COUNT_OF(brands); i++)
            if (memcmp(box.body.p + at, brands[i], 4) == 0)
                return true;
    return false;
}

/* ---- items ---- */

static int by_id(const void *a, const void *b)
{
    uint32_t x = ((const hr_heif_item *)a)->id, y = ((const hr_heif_item *)b)->id;
    return (x > y) - (x < y);
}

static hr_heif_item *find(const hr_heif *h, uint32_t id)
{
    const hr_heif_item key = {.id = id};
    return h->count == 0 ? NULL : bsearch(&key, h->items, (size_t)h->count, sizeof(key), by_id);
}

const hr_heif_item *hr_heif_find(const hr_heif *h, uint32_t id)
{
    return find(h, id);
}

/* An entry of `iinf`. */
static bool read_entry(hr_heif_span body, hr_heif_item *item)
{
    uint32_t flags, version = full_box(&body, &flags);
    if (version < 2 || version > 3 || body.size < (version == 2 ? 8u : 10u))
        return false;
    uint32_t id = small(&body, version == 2 ? 2 : 4);
    advance(&body, 2); /* of the protection */
    *item = (hr_heif_item){.id = id, .type = small(&body, 4), .hidden = flags & 1};
    return true;
}

static hr_status read_items(hr_heif *h, hr_heif_span body, hr_error *error)
{
    uint32_t flags, version = full_box(&body, &flags);
    hr_heif_box box;
    small(&body, version == 0 ? 2 : 4); /* the number of entries is that of the boxes */
    hr_heif_span rest = body;
    size_t count = 0;
    while (next_box(&rest, &box))
        count++;
    if (h->items || !(h->items = hr_calloc(count + 1, sizeof(*h->items), error)))
        return h->items ? damaged(error, "two lists of items") : HR_STATUS_NO_MEMORY;
    while (next_box(&body, &box))
        h->count += box.type == HR_HEIF_TYPE('i', 'n', 'f', 'e') &&
                    read_entry(box.body, &h->items[h->count]);
    qsort(h->items, (size_t)h->count, sizeof(*h->items), by_id);
    for (int32_t i = 1; i < h->count; i++)
        if (h->items[i].id == h->items[i - 1].id)
            return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: two items have the number %u",
                           h->items[i].id);
    return HR_STATUS_OK;
}

static bool is_size(uint32_t bytes)
{
    return bytes == 0 || bytes == 4 || bytes == 8;
}

static hr_status read_locations(hr_heif *h, hr_heif_span body, hr_error *error)
{
    uint32_t flags, version = full_box(&body, &flags), sizes = small(&body, 2);
    uint32_t count = small(&body, version < 2 ? 2 : 4), base_size = sizes >> 4 & 15;
    h->offset_size = sizes >> 12;
    h->length_size = sizes >> 8 & 15;
    h->index_size = version == 0 ? 0 : sizes & 15;
    if (version > 2 || !is_size(h->offset_size) || !is_size(h->length_size) ||
        !is_size(h->index_size) || !is_size(base_size))
        return damaged(error, "the places of items are not valid");
    for (uint32_t i = 0; i < count; i++) {
        uint64_t base, each = h->offset_size + h->length_size + h->index_size;
        uint32_t id = small(&body, version < 2 ? 2 : 4);
        uint32_t way = version == 0 ? 0 : small(&body, 2) & 15;
        uint32_t elsewhere = small(&body, 2);
        hr_heif_item *item = find(h, id);
        if (!take(&body, base_size, &base) || body.size < 2)
            return damaged(error, "the places of items end early");
        size_t parts = (size_t)small(&body, 2) * (size_t)each;
        if (parts > body.size)
            return damaged(error, "the places of items end early");
        if (item && way <= 1 && elsewhere == 0) {
            item->located = true;
            item->inside = way == 1;
            item->base = base;
            item->parts = (hr_heif_span){body.p, parts};
        }
        advance(&body, parts);
    }
    return HR_STATUS_OK;
}

/* ---- properties ---- */

static hr_status read_property_list(hr_heif *h, hr_heif_span body, hr_error *error)
{
    hr_heif_span rest = body;
    hr_heif_box box;
    size_t count = 0;
    while (next_box(&rest, &box))
        count++;
    if (h->properties || !(h->properties = hr_calloc(count + 1, sizeof(box), error)))
        return h->properties ? damaged(error, "two lists of properties") : HR_STATUS_NO_MEMORY;
    while (next_box(&body, &box))
        h->properties[h->property_count++] = box;
    return HR_STATUS_OK;
}

static hr_status read_associations(hr_heif *h, hr_heif_span body, hr_error *error)
{
    uint32_t flags, version = full_box(&body, &flags), count = small(&body, 4);
    h->wide_properties = flags & 1;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id, properties;
        if (!take(&body, version == 0 ? 2 : 4, &id) || !take(&body, 1, &properties))
            return damaged(error, "the properties of items end early");
        size_t bytes = (size_t)properties << (h->wide_properties ? 1 : 0);
        if (bytes > body.size)
            return damaged(error, "the properties of items end early");
        hr_heif_item *item = find(h, (uint32_t)id);
        if (item)
            item->properties = (hr_heif_span){body.p, bytes};
        advance(&body, bytes);
    }
    return HR_STATUS_OK;
}

static hr_status read_properties(hr_heif *h, hr_heif_span body, hr_error *error)
{
    hr_heif_box box;
    bool associated = false;
    while (next_box(&body, &box)) {
        if (box.type == HR_HEIF_TYPE('i', 'p', 'c', 'o'))
            HR_TRY(read_property_list(h, box.body, error));
        if (box.type != HR_HEIF_TYPE('i', 'p', 'm', 'a'))
            continue;
        if (associated)
            return damaged(error, "several lists of items' properties are not supported");
        associated = true;
        HR_TRY(read_associations(h, box.body, error));
    }
    return HR_STATUS_OK;
}

bool hr_heif_property_at(const hr_heif *h, const hr_heif_item *item, uint32_t i, hr_heif_box *out,
                         bool *essential)
{
    size_t each = h->wide_properties ? 2 : 1, at = i * each;
    if (at + each > item->properties.size)
        return false;
    uint32_t v = item->properties.p[at];
    if (h->wide_properties)
        v = v << 8 | item->properties.p[at + 1];
    uint32_t bit = h->wide_properties ? 0x8000 : 0x80, number = v & ~bit;
    *essential = (v & bit) != 0;
    *out = number >= 1 && number <= (uint32_t)h->property_count ? h->properties[number - 1]
                                                                : (hr_heif_box){0};
    return true;
}

hr_heif_span hr_heif_property(const hr_heif *h, const hr_heif_item *item, uint32_t type)
{
    hr_heif_box box;
    bool essential;
    for (uint32_t i = 0; hr_heif_property_at(h, item, i, &box, &essential); i++)
        if (box.type == type)
            return box.body;
    return (hr_heif_span){0};
}

/* ---- references ---- */

/* Reads the box of references: who refers, and to whom. */
static bool read_reference(const hr_heif *h, hr_heif_box *box, uint32_t *from, hr_heif_list *to)
{
    uint32_t bytes = h->wide_references ? 4 : 2;
    if (box->body.size < bytes + 2)
        return false;
    *from = small(&box->body, bytes);
    to->count = small(&box->body, 2);
    to->p = box->body.p;
    to->wide = h->wide_references;
    return to->count <= box->body.size / bytes;
}

hr_heif_list hr_heif_references(const hr_heif *h, uint32_t from, uint32_t type)
{
    hr_heif_span rest = h->references;
    hr_heif_box box;
    hr_heif_list list;
    uint32_t id;
    while (next_box(&rest, &box))
        if (box.type == type && read_reference(h, &box, &id, &list) && id == from)
            return list;
    return (hr_heif_list){0};
}

uint32_t hr_heif_listed(const hr_heif_list *list, uint32_t i)
{
    return list->wide ? hr_get_be32(list->p + 4 * (size_t)i) : hr_get_be16(list->p + 2 * (size_t)i);
}

const hr_heif_item *hr_heif_referring(const hr_heif *h, uint32_t to, uint32_t type, size_t *at)
{
    hr_heif_span rest = h->references;
    hr_heif_box box;
    hr_heif_list list;
    uint32_t id;
    if (*at >= rest.size)
        return NULL;
    advance(&rest, *at);
    while (next_box(&rest, &box)) {
        *at = h->references.size - rest.size;
        if (box.type != type || !read_reference(h, &box, &id, &list))
            continue;
        for (uint32_t i = 0; i < list.count; i++)
            if (hr_heif_listed(&list, i) == to && find(h, id))
                return find(h, id);
    }
    return NULL;
}

static void mark(const hr_heif *h, uint32_t id)
{
    hr_heif_item *item = find(h, id);
    if (item)
        item->part = true;
}

static void mark_parts(const hr_heif *h)
{
    hr_heif_span rest = h->references;
    hr_heif_box box;
    while (next_box(&rest, &box)) {
        hr_heif_list list;
        uint32_t from, type = box.type;
        if (!read_reference(h, &box, &from, &list))
            continue;
        if (type == HR_HEIF_TYPE('t', 'h', 'm', 'b') || type == HR_HEIF_TYPE('a', 'u', 'x', 'l'))
            mark(h, from);
        for (uint32_t i = 0; type == HR_HEIF_TYPE('d', 'i', 'm', 'g') && i < list.count; i++)
            mark(h, hr_heif_listed(&list, i));
    }
}

/* ---- the file ---- */

static uint32_t read_primary(hr_heif_span body)
{
    uint32_t flags, version = full_box(&body, &flags);
    return small(&body, version == 0 ? 2 : 4);
}

/* What refers to items is read after them. */
static hr_status read_meta(hr_heif *h, hr_heif_span body, hr_error *error)
{
    uint32_t flags;
    hr_heif_box box;
    full_box(&body, &flags);
    hr_heif_span rest = body;
    while (next_box(&rest, &box))
        if (box.type == HR_HEIF_TYPE('i', 'i', 'n', 'f'))
            HR_TRY(read_items(h, box.body, error));
    while (next_box(&body, &box)) {
        switch (box.type) {
        case HR_HEIF_TYPE('p', 'i', 't', 'm'):
            h->primary = read_primary(box.body);
            break;
        case HR_HEIF_TYPE('i', 'l', 'o', 'c'):
            HR_TRY(read_locations(h, box.body, error));
            break;
        case HR_HEIF_TYPE('i', 'p', 'r', 'p'):
            HR_TRY(read_properties(h, box.body, error));
            break;
        case HR_HEIF_TYPE('i', 'd', 'a', 't'):
            h->idat = box.body;
            break;
        case HR_HEIF_TYPE('i', 'r', 'e', 'f'):
            h->wide_references = full_box(&box.body, &flags) != 0;
            h->references = box.body;
            break;
        default:
            break;
        }
    }
    return HR_STATUS_OK;
}

hr_status hr_heif_open(const uint8_t *bytes, size_t size, hr_heif *out, hr_error *error)
{
    hr_heif_span rest = {bytes, size};
    hr_heif_box box;
    bool there = false;
    *out = (hr_heif){.file = rest};
    while (next_box(&rest, &box)) {
        if (box.type == HR_HEIF_TYPE('m', 'o', 'o', 'v'))
            out->has_track = true;
        if (box.type != HR_HEIF_TYPE('m', 'e', 't', 'a') || there)
            continue;
        there = true;
        hr_status status = read_meta(out, box.body, error);
        if (status != HR_STATUS_OK) {
            hr_heif_fini(out);
            return status;
        }
    }
    mark_parts(out);
    if (find(out, out->primary))
        return HR_STATUS_OK;
    hr_heif_fini(out);
    return damaged(error,
                   there ? "the file has no image to show" : "the file has no list of items");
}

void hr_heif_fini(hr_heif *h)
{
    hr_free(h->items);
    hr_free(h->properties);
    h->items = NULL;
    h->properties = NULL;
}

/* ---- bytes ---- */

/* Part `i` of an item; false behind the last. */
static bool part_at(const hr_heif *h, const hr_heif_item *item, size_t i, hr_heif_span *out,
                    bool *inside)
{
    size_t each = h->index_size + h->offset_size + h->length_size;
    uint64_t offset = 0, length = 0;
    if (each == 0 || (i + 1) * each > item->parts.size)
        return false;
    hr_heif_span at = {item->parts.p + i * each, each}, all = item->inside ? h->idat : h->file;
    advance(&at, h->index_size);
    take(&at, h->offset_size, &offset);
    take(&at, h->length_size, &length);
    *inside = all.p && offset <= UINT64_MAX - item->base && offset + item->base <= all.size;
    if (!*inside)
        return true;
    offset += item->base;
    if (h->length_size == 0)
        length = all.size - offset;
    *inside = length <= all.size - offset;
    *out = (hr_heif_span){all.p + offset, (size_t)length};
    return true;
}

hr_status hr_heif_size(const hr_heif *h, const hr_heif_item *item, size_t *size, hr_error *error)
{
    hr_heif_span part;
    bool inside;
    *size = 0;
    for (size_t i = 0; part_at(h, item, i, &part, &inside); i++) {
        if (!inside)
            return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: the bytes of item %u are not all there",
                           item->id);
        if (part.size > h->file.size - *size)
            return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: item %u has more bytes than the file",
                           item->id);
        *size += part.size;
    }
    if (*size == 0)
        return hr_fail(error, HR_STATUS_CORRUPT, "HEIF: item %u has no bytes in the file",
                       item->id);
    return HR_STATUS_OK;
}

hr_status hr_heif_read(const hr_heif *h, const hr_heif_item *item, uint8_t *dst, hr_error *error)
{
    hr_heif_span part;
    bool inside;
    for (size_t i = 0; part_at(h, item, i, &part, &inside); i++) {
        if (!inside)
            return damaged(error, "an item is not in the file");
        memcpy(dst, part.p, part.size);
        dst += part.size;
    }
    return HR_STATUS_OK;
}
