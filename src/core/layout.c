/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Layout strings. */
#include "core/error.h"

#include <string.h>

int32_t hr_layout_find(const hr_layout *layout, char letter)
{
    const char *at = letter ? strchr(layout->name, letter) : NULL;
    return at ? (int32_t)(at - layout->name) : -1;
}

bool hr_layout_is(const hr_layout *layout, const char *text)
{
    return strcmp(layout->name, text) == 0;
}

hr_status hr_layout_set(hr_layout *layout, const char *text, hr_error *error)
{
    size_t size = text ? strlen(text) : 0;
    if (size > HR_MAX_NDIM)
        return hr_fail(error, HR_STATUS_VALUE, "the layout \"%.40s\" has more than %d letters",
                       text, HR_MAX_NDIM);
    for (size_t i = 0; i < size; i++) {
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '|')
            return hr_fail(error, HR_STATUS_VALUE,
                           "the layout \"%s\" has a character that cannot name a dimension", text);
    }
    memset(layout->name, 0, sizeof layout->name);
    if (size)
        memcpy(layout->name, text, size);
    return HR_STATUS_OK;
}

hr_status hr_layout_match(const char *allowed, const hr_layout *given, int32_t ndim, hr_layout *out,
                          hr_error *error)
{
    if (!allowed) {
        *out = *given;
        return HR_STATUS_OK;
    }
    size_t given_size = strlen(given->name);
    for (const char *at = allowed; *at;) {
        size_t size = strcspn(at, "|");
        bool named = given_size > 0 && size == given_size && memcmp(at, given->name, size) == 0;
        bool fits = given_size == 0 && size == (size_t)ndim;
        if ((named || fits) && size <= HR_MAX_NDIM) {
            hr_layout found = {{0}};
            memcpy(found.name, at, size);
            *out = found;
            return HR_STATUS_OK;
        }
        at += size + (at[size] == '|');
    }
    if (given_size)
        return hr_fail(error, HR_STATUS_VALUE,
                       "The layout \"%s\" does not match any of the allowed layouts: %s",
                       given->name, allowed);
    return hr_fail(error, HR_STATUS_VALUE,
                   "The number of dimensions %d does not match any of the allowed layouts: %s. The "
                   "input has no layout",
                   (int)ndim, allowed);
}
