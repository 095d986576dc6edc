/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* LZW with codes of up to 12 bits, as in TIFF and GIF. */
#pragma once

#include "core/core.h"

typedef enum hr_lzw_result {
    HR_LZW_DONE,  /* `out` is full */
    HR_LZW_SHORT, /* the data end before */
    HR_LZW_DAMAGED
} hr_lzw_result;

/* TIFF: symbols of 8 bits, most significant bit first; codes become wider one code early.
 * `out_size` is at most UINT32_MAX in both functions. */
hr_lzw_result hr_lzw_unpack_msb(const uint8_t *in, size_t size, uint8_t *out, size_t out_size);
/* GIF: symbols of `bits` bits (1 to 8), least significant bit first. */
hr_lzw_result hr_lzw_unpack_lsb(const uint8_t *in, size_t size, uint32_t bits, uint8_t *out,
                                size_t out_size);
