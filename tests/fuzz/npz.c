/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: members of ZIP archives. All bytes of a member that is found are read. */
#include "ops/io/zip.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a", "b"};
    static volatile uint8_t sum;
    hr_arena *arena = NULL;
    if (hr_arena_create(&arena, NULL) != HR_STATUS_OK)
        return 0;
    for (size_t i = 0; i < HR_COUNT_OF(names); i++) {
        const uint8_t *member;
        size_t count;
        if (hr__zip_member(data, size, names[i], arena, &member, &count, NULL) != HR_STATUS_OK)
            continue;
        for (size_t k = 0; k < count; k++)
            sum = (uint8_t)(sum + member[k]);
    }
    hr_arena_destroy(arena);
    return 0;
}
