/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Zstandard, through libzstd, which is opened on first need. Nearly every Linux system has it,
 * because its package manager needs it. */
#pragma once

#include "core/core.h"

/* Fills `out` from the start of a block; what follows in the block is not read. */
hr_status hr_tiff_unpack_zstd(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                              hr_error *error);
