/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Groups of rows that are read ahead. Threads read them in the order in which they are asked for,
 * and those whose rows were taken are dropped when others need their place. */
#pragma once

#include "readers/table/column.h"

typedef struct hr_groups hr_groups;

typedef struct hr_group_rows { /* a group in memory */
    struct ArrowSchema schema;
    struct ArrowArray array;
    int64_t rows;
    hr_table_column *columns;
} hr_group_rows;

/* `info` and what reads the table live as long as the groups. `most`: how many groups are kept in
 * memory for rows that were asked for. Threads are started when a row is asked for. */
hr_status hr_groups_create(hr_groups **out, const hr_tables *tables, const hr_table_info *info,
                           int32_t columns, int64_t most, hr_error *error);
/* Ends the threads. Rows that are still referred to stay. Nobody may wait; NULL is fine. */
void hr_groups_destroy(hr_groups *groups);
/* A row of the group will be taken. Any thread. */
hr_status hr_groups_want(hr_groups *groups, int64_t group, hr_error *error);
/* Waits for the group. `*buffer`: a reference, with which the rows stay. Any thread. */
hr_status hr_groups_take(hr_groups *groups, int64_t group, const hr_group_rows **rows,
                         hr_buffer **buffer, hr_error *error);
