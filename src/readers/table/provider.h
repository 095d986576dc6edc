/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What reads tables in this process: hr_tables_set. */
#pragma once

#include "core/core.h"
#include "headrace/tables.h"

/* NULL: nothing was set. */
const hr_tables *hr_tables_get(void);
/* HR_STATUS_CORRUPT: the numbers that a back end gave make no sense. */
hr_status hr_table_info_check(const hr_table_info *info, hr_error *error);
