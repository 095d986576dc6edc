/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Moves whole files of items, or groups of rows, whose items stay together: shuffle_after_epoch of
 * containers, and random_shuffle of items that are read in groups. */
#pragma once

#include "core/core.h"

typedef struct hr_file_order hr_file_order;

/* `first` as from hr_source_def.files, with at least one item; it lives as long as the order. */
hr_status hr_file_order_create(hr_file_order **out, const int64_t *first, int32_t files,
                               hr_error *error);
void hr_file_order_destroy(hr_file_order *order); /* NULL is fine */
/* The key of an epoch, for the order that begins with this seed. */
uint64_t hr_file_order_key(uint64_t seed, int64_t epoch);
/* The item that is number `i` when the files of the items start .. start + size - 1 change places.
 * Of a file that is only partly in this range, that part moves. Any thread. */
int64_t hr_file_order_item(hr_file_order *order, uint64_t key, int64_t start, int64_t size,
                           int64_t i);
