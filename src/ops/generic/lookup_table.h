/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The state of a lookup_table node, shared with the GPU version. */
#pragma once

#include "core/core.h"

/* Values in the type of the output for keys 0 .. count - 1, then the default. */
typedef struct hr_table {
    size_t count;
    uint8_t *values;
} hr_table;
