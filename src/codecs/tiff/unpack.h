/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The lossless compressions of TIFF. */
#pragma once

#include "core/core.h"

/* Each fills `out` from the start of a compressed block; what follows in the block is not read.
 * Fails if the block holds fewer bytes. */
hr_status hr_tiff_unpack_bits(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                              hr_error *error);
hr_status hr_tiff_inflate(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                          hr_error *error);
hr_status hr_tiff_unpack_lzw(const uint8_t *in, size_t size, uint8_t *out, size_t out_size,
                             hr_error *error);
