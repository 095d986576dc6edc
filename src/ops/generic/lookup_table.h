/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The state of lookup_table's nodes. */
#ifndef HR_OPS_GENERIC_LOOKUP_TABLE_H
#define HR_OPS_GENERIC_LOOKUP_TABLE_H

#include "core/core.h"

/* Values in the output's type: of keys 0 .. count - 1, and the default behind them. Shared with the
 * GPU's version. */
typedef struct hr_table {
    size_t count;
    uint8_t *values;
} hr_table;

#endif
