/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which arguments a node was given. */
#include "ops/given.h"

#include <string.h>

bool hr__arg_given(const hr_arg_def *defs, uint64_t given, const char *name)
{
    for (int32_t i = 0; defs[i].type != HR_ARG_TYPE_END; i++) {
        if (strcmp(defs[i].name, name) == 0)
            return i < 64 && ((given >> i) & 1) != 0;
    }
    return false;
}
