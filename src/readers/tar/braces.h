/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Braces in paths, as in a shell: "{a,b}" and "{000..146}" stand for several paths. */
#pragma once

#include "core/core.h"

typedef struct hr_string_list {
    const char **v;
    int32_t n, capacity;
} hr_string_list;

void hr_string_list_fini(hr_string_list *list);
hr_strings hr_string_list_view(const hr_string_list *list);

/* Replaces every path with braces by those that it stands for, in order. Text in braces that is
 * neither a list nor a range stays as it is. A range whose first number has leading zeros gives
 * numbers of that width. */
hr_status hr_braces_expand(hr_string_list *out, const hr_strings *paths, hr_error *error);
