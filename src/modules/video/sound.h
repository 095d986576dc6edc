/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What the files of the module share. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether the tables of an MP4 file describe no more samples than a file of this size can have. */
bool hr__mp4_tables_are_small(const uint8_t *bytes, uint64_t size);
