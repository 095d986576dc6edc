/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Blocks of TIFF files that are JPEG files without their tables. */
#pragma once

#include "codecs/tiff/directory.h"
#include "headrace/operator.h"

/* Rows of t->stored samples: grey or RGB, or one plane. */
hr_status hr_tiff_unpack_jpeg(const hr_tiff *t, const uint8_t *in, size_t size, uint8_t *out,
                              uint32_t rows, hr_op_call *c, hr_error *error);
