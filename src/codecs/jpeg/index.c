/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Entries are packed as 16-bit differences: an MCU has at most 6 x 1,665 bits, twice that if every
 * byte of it is stuffed. The index ends at a larger difference, which occurs if many fill bytes
 * precede a restart marker. */
#include "codecs/jpeg/index.h"

#include "kernels/jpeg.h"

#include <string.h>

hr_status hr_jpeg_index_make(hr_jpeg_index *index, size_t size, hr_arena *arena, hr_error *error)
{
    /* bit positions have 32 bits; only the beginning of larger files is indexed */
    size_t capacity = HR_MIN(size, (size_t)UINT32_MAX / 8) / (HR_JPEG_MARK_BYTES - 8) + 2;
    *index = (hr_jpeg_index){.count = 1, .known = 1, .capacity = (int32_t)capacity};
    index->entry = hr_arena_alloc(arena, capacity * sizeof *index->entry, error);
    HR_TRY_ALLOC(index->entry);
    index->entry[0] = (hr_jpeg_entry){0};
    return HR_STATUS_OK;
}

bool hr_jpeg_index_add(hr_jpeg_index *index, const hr_jpeg_entry *entry)
{
    const hr_jpeg_entry *last = &index->entry[index->count - 1];
    if (index->count >= index->capacity || entry->bit <= last->bit || entry->mcu <= last->mcu ||
        entry->bit - last->bit > UINT16_MAX || entry->mcu - last->mcu > UINT16_MAX)
        return false;
    index->entry[index->count++] = *entry;
    return true;
}

void hr_jpeg_index_check(hr_jpeg_index *index, size_t size, int32_t mcus)
{
    const hr_jpeg_entry *last = &index->entry[index->count - 1];
    if (index->count > 1 && (last->bit / 8 >= size || (int64_t)last->mcu >= mcus))
        index->count = index->known = 1;
}

size_t hr_jpeg_index_pack(const hr_jpeg_index *index, uint8_t *packed)
{
    for (int32_t i = 1; i < index->count; i++, packed += HR_JPEG_PACKED) {
        const hr_jpeg_entry *e = &index->entry[i], *before = e - 1;
        uint16_t step[2] = {(uint16_t)(e->bit - before->bit), (uint16_t)(e->mcu - before->mcu)};
        memcpy(packed, step, sizeof step);
        memcpy(packed + sizeof step, e->dc, sizeof e->dc);
    }
    return (size_t)(index->count - 1) * HR_JPEG_PACKED;
}

void hr_jpeg_index_unpack(hr_jpeg_index *index, const uint8_t *packed, size_t size)
{
    hr_jpeg_entry e = index->entry[0], *end = index->entry + index->capacity;
    hr_jpeg_entry *at = index->entry + 1;
    for (; size >= HR_JPEG_PACKED && at < end; size -= HR_JPEG_PACKED, packed += HR_JPEG_PACKED) {
        uint16_t step[2];
        memcpy(step, packed, sizeof step);
        memcpy(e.dc, packed + sizeof step, sizeof e.dc);
        if (step[0] == 0 || step[1] == 0 || e.bit > UINT32_MAX - step[0] ||
            e.mcu > (uint32_t)INT32_MAX - step[1])
            break;
        e.bit += step[0];
        e.mcu += step[1];
        *at++ = e;
    }
    index->count = index->known = (int32_t)(at - index->entry);
}
