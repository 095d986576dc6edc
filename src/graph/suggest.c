/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "graph/suggest.h"

#include "core/core.h"

#include <stdio.h>
#include <string.h>

/* Edit distance between two names of up to 63 letters; changes of case are free. */
static int32_t distance(const char *a, const char *b)
{
    int32_t row[64], n = (int32_t)strlen(b);
    if (n > 63 || strlen(a) > 63)
        return 64;
    for (int32_t j = 0; j <= n; j++)
        row[j] = j;
    for (int32_t i = 1; *a; a++, i++) {
        int32_t corner = row[0];
        row[0] = i;
        for (int32_t j = 1; j <= n; j++) {
            int32_t same = corner + ((*a | 32) != (b[j - 1] | 32));
            corner = row[j];
            row[j] = HR_MIN(same, HR_MIN(row[j], row[j - 1]) + 1);
        }
    }
    return row[n];
}

static bool resembles(const char *name, const char *candidate)
{
    int32_t size = (int32_t)strlen(name);
    return distance(name, candidate) <= HR_MAX(1, size / 3) ||
           (size >= 3 && strstr(candidate, name) != NULL);
}

const char *hr__suggest(const char *name, const char *const *candidates, int32_t count, char *text,
                        size_t size)
{
    size_t used = 0;
    int32_t found = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < count && found < 4 && used < size; i++) {
        if (resembles(name, candidates[i])) {
            used += (size_t)snprintf(text + used, size - used, "%s\"%s\"",
                                     found++ ? " or " : "; did you mean ", candidates[i]);
        }
    }
    if (found && used < size)
        snprintf(text + used, size - used, "?");
    return text;
}
