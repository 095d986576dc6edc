/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The index of a JPEG scan: entries where decoding can begin, about every 4,096 bits. Plain data
 * for any decoder on any device; see docs/jpeg-index.md. */
#pragma once

#include "core/core.h"

enum { HR_JPEG_PACKED = 10 /* bytes of a packed entry */ };

/* The start of an MCU. The first entry of an index is the start of the scan, all zeros. */
typedef struct hr_jpeg_entry {
    uint32_t bit;  /* from the scan's first byte in the file: 8 * byte + bit. Includes stuffed
                      zeros and markers, so unstuffing can begin at this byte */
    uint32_t mcu;  /* its number */
    int16_t dc[3]; /* predictions */
    uint16_t zero;
} hr_jpeg_entry;

typedef struct hr_jpeg_index {
    hr_jpeg_entry *entry; /* in ascending order of bit and mcu */
    int32_t count;        /* at least 1 */
    int32_t capacity;     /* entries that there is memory for */
    int32_t known;        /* entries known before decoding */
} hr_jpeg_index;

/* Makes an index of one entry, with capacity for all entries that a file of `size` bytes can have.
 */
hr_status hr_jpeg_index_make(hr_jpeg_index *index, size_t size, hr_arena *arena, hr_error *error);
/* False if the index is full, or the entry cannot be packed; it is then left out. */
bool hr_jpeg_index_add(hr_jpeg_index *index, const hr_jpeg_entry *entry);
/* Empties an index whose entries do not fit a scan of `size` bytes and `mcus` MCUs. */
void hr_jpeg_index_check(hr_jpeg_index *index, size_t size, int32_t mcus);

/* Entries are packed as differences to the previous entry; the first entry is left out. `packed`
 * has HR_JPEG_PACKED * (count - 1) bytes. Unpacking stops at the first entry that is invalid or
 * does not fit. */
size_t hr_jpeg_index_pack(const hr_jpeg_index *index, uint8_t *packed);
void hr_jpeg_index_unpack(hr_jpeg_index *index, const uint8_t *packed, size_t size);
