/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "codecs/foreign.h"

#include "core/core.h"

#include <string.h>

/* `length` bytes at `at` tell the format. */
typedef struct mark {
    const char *name;
    size_t at, length;
    const char *bytes;
} mark;

const char *hr_image_foreign(const uint8_t *bytes, size_t size)
{
    static const mark marks[] = {
        {"OpenEXR", 0, 4, "v/1\1"},
        {"Photoshop", 0, 4, "8BPS"},
    };
    for (size_t i = 0; i < HR_COUNT_OF(marks); i++) {
        const mark *m = &marks[i];
        if (size >= m->at + m->length && memcmp(bytes + m->at, m->bytes, m->length) == 0)
            return m->name;
    }
    return NULL;
}
