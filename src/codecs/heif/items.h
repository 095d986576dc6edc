/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The items of HEIF files (ISO/IEC 23008-12), which are AVIF and HEIC: coded images, what they are
 * put together from, and their properties. Nothing here decodes. */
#pragma once

#include "core/core.h"

#define HR_HEIF_TYPE(a, b, c, d)                                                                   \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

typedef struct hr_heif_span {
    const uint8_t *p; /* NULL: there is none */
    size_t size;
} hr_heif_span;

typedef struct hr_heif_box {
    uint32_t type;
    hr_heif_span body;
} hr_heif_box;

/* Where the bytes of an item are, and which properties it has. */
typedef struct hr_heif_item {
    uint32_t id, type;
    bool hidden;
    bool part;               /* of another image, or an addition to one: a thumbnail, alpha */
    bool located;            /* by an entry of `iloc` */
    bool inside;             /* its bytes are in `idat`, not elsewhere in the file */
    uint64_t base;           /* added to the offsets of: */
    hr_heif_span parts;      /* pairs of offset and length */
    hr_heif_span properties; /* numbers from 1, with a bit for those that must be understood */
} hr_heif_item;

typedef struct hr_heif {
    hr_heif_span file, idat, references;           /* the last: boxes of `iref` */
    bool wide_references;                          /* they have item numbers of 32 bits */
    bool wide_properties;                          /* numbers of properties have 16 bits */
    uint32_t offset_size, length_size, index_size; /* bytes in `iloc` */
    uint32_t primary;                              /* item to show */
    bool has_track;                                /* the file has frames, too */
    int32_t count;
    hr_heif_item *items; /* by ascending number */
    int32_t property_count;
    hr_heif_box *properties;
} hr_heif;

/* Items that an item refers to. */
typedef struct hr_heif_list {
    const uint8_t *p;
    uint32_t count;
    bool wide;
} hr_heif_list;

bool hr_heif_match(const uint8_t *bytes, size_t size);
hr_status hr_heif_open(const uint8_t *bytes, size_t size, hr_heif *out, hr_error *error);
void hr_heif_fini(hr_heif *h);

const hr_heif_item *hr_heif_find(const hr_heif *h, uint32_t id);
/* The first property of this type; without one, the span has no bytes. */
hr_heif_span hr_heif_property(const hr_heif *h, const hr_heif_item *item, uint32_t type);
/* Property `i` of an item in its order; false behind the last. *essential: a reader that does not
 * know it must not show the item. */
bool hr_heif_property_at(const hr_heif *h, const hr_heif_item *item, uint32_t i, hr_heif_box *out,
                         bool *essential);
/* The items that `from` refers to in this way; none if it does not. */
hr_heif_list hr_heif_references(const hr_heif *h, uint32_t from, uint32_t type);
uint32_t hr_heif_listed(const hr_heif_list *list, uint32_t i);
/* The item that refers to `to` in this way, the first after `*at` bytes of the references, which
 * begin at 0; NULL: there is no other. */
const hr_heif_item *hr_heif_referring(const hr_heif *h, uint32_t to, uint32_t type, size_t *at);

/* The number of bytes of an item; fails if they are not all in the file. */
hr_status hr_heif_size(const hr_heif *h, const hr_heif_item *item, size_t *size, hr_error *error);
/* Copies them to `dst`, which has room for hr_heif_size bytes. */
hr_status hr_heif_read(const hr_heif *h, const hr_heif_item *item, uint8_t *dst, hr_error *error);
