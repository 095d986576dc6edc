/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* CCITT compression of rows of bits: T.4 (Group 3) in one and two dimensions, T.6 (Group 4), and
 * the one-dimensional kind of TIFF whose rows begin with a byte. */
#pragma once

#include "codecs/tiff/directory.h"

/* Rows of t->block_w bits, of which black ones are 1, as the compression of `t` says. */
hr_status hr_tiff_unpack_fax(const hr_tiff *t, const uint8_t *in, size_t size, uint8_t *out,
                             uint32_t rows, hr_error *error);
