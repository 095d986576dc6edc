/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* EXIF is a small TIFF file; the orientation is tag 0x0112 of its first directory. */
#include "codecs/exif.h"

#include "codecs/bytes.h"

#include <string.h>

enum { TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, TYPE_LONG = 4, ENTRY_SIZE = 12 };

static uint32_t get16(const uint8_t *p, bool big)
{
    return big ? hr_get_be16(p) : hr_get_le16(p);
}

static uint32_t get32(const uint8_t *p, bool big)
{
    return big ? hr_get_be32(p) : hr_get_le32(p);
}

static int32_t entry_orientation(const uint8_t *entry, bool big)
{
    uint32_t type = get16(entry + 2, big), count = get32(entry + 4, big), value = 0;
    if (count != 1)
        return 1;
    if (type == TYPE_SHORT)
        value = get16(entry + 8, big);
    else if (type == TYPE_LONG)
        value = get32(entry + 8, big);
    return value >= 1 && value <= 8 ? (int32_t)value : 1;
}

int32_t hr_exif_orientation(const uint8_t *bytes, size_t size)
{
    if (size >= 6 && memcmp(bytes, "Exif\0\0", 6) == 0) {
        bytes += 6;
        size -= 6;
    }
    if (size < 8)
        return 1;
    bool big = memcmp(bytes, "MM\0*", 4) == 0;
    if (!big && memcmp(bytes, "II*\0", 4) != 0)
        return 1;
    size_t at = get32(bytes + 4, big);
    if (at > size - 2)
        return 1;
    size_t entries = get16(bytes + at, big);
    at += 2;
    for (size_t i = 0; i < entries && size - at >= ENTRY_SIZE; i++, at += ENTRY_SIZE)
        if (get16(bytes + at, big) == TAG_ORIENTATION)
            return entry_orientation(bytes + at, big);
    return 1;
}
