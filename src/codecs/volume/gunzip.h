/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Whole files of gzip, of one member or several. */
#pragma once

#include "core/core.h"

bool hr_gunzip_match(const uint8_t *bytes, size_t size);
/* Writes at most `room` bytes of the beginning, and returns how many. */
size_t hr_gunzip_start(const uint8_t *bytes, size_t size, void *out, size_t room);
/* Memory is from the arena, and as large as what is in the file. */
hr_status hr_gunzip(const uint8_t *bytes, size_t size, hr_arena *arena, const uint8_t **out,
                    size_t *out_size, hr_error *error);
