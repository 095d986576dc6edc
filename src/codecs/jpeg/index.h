/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The index of a JPEG scan: places where decoding can begin, every 4,096 bits or so. Plain data,
 * good for any decoder, on any device; see docs/jpeg-index.md. */
#ifndef HR_CODECS_JPEG_INDEX_H
#define HR_CODECS_JPEG_INDEX_H

#include "core/core.h"

enum { HR_JPEG_PACKED = 10 /* bytes that an entry takes when it is kept */ };

/* The start of an MCU. The first entry of every index is the start of the scan, all zeros. */
typedef struct hr_jpeg_entry {
    uint32_t bit;  /* from the scan's first byte in the file: 8 * byte + bit. Stuffed zeros and
                      markers count, so unstuffing can begin at this byte */
    uint32_t mcu;  /* its number */
    int16_t dc[3]; /* predictions */
    uint16_t zero;
} hr_jpeg_entry;

typedef struct hr_jpeg_index {
    hr_jpeg_entry *entry; /* bit and mcu rise */
    int32_t count;        /* at least 1 */
    int32_t capacity;     /* room for what decoding finds behind the last one */
    int32_t known;        /* entries that were not found just now */
} hr_jpeg_index;

/* An index with the start alone and room for all that a file of `size` bytes can have. */
hr_status hr_jpeg_index_make(hr_jpeg_index *index, size_t size, hr_arena *arena, hr_error *error);
/* False when there is no room, or the entry cannot be kept: it is left out then. */
bool hr_jpeg_index_add(hr_jpeg_index *index, const hr_jpeg_entry *entry);
/* Makes an index whose entries do not fit a scan of `size` bytes and `mcus` MCUs an empty one. */
void hr_jpeg_index_check(hr_jpeg_index *index, size_t size, int32_t mcus);

/* As they are kept: differences to the entry before, without the first. `packed` has room for
 * HR_JPEG_PACKED * (count - 1) bytes. Unpacking takes as many as are good and fit. */
size_t hr_jpeg_index_pack(const hr_jpeg_index *index, uint8_t *packed);
void hr_jpeg_index_unpack(hr_jpeg_index *index, const uint8_t *packed, size_t size);

#endif
