/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* shuffle_after_epoch of containers: every epoch has the files in another order, and the items of
 * a file stay together. */
#ifndef HR_READERS_FILE_ORDER_H
#define HR_READERS_FILE_ORDER_H

#include "core/core.h"

typedef struct hr_file_order hr_file_order;

/* `first` as from hr_source_def.files, with at least one item; it lives as long as the order. */
hr_status hr_file_order_create(hr_file_order **out, const int64_t *first, int32_t files,
                               uint64_t seed, hr_error *error);
void hr_file_order_destroy(hr_file_order *order); /* NULL is fine */
/* The item that is number `i` of an epoch. Any thread. */
int64_t hr_file_order_item(hr_file_order *order, int64_t epoch, int64_t i);

#endif
