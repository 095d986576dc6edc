/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Compression by Deflate, with libdeflate. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { HR_DEFLATE_LEVEL_MAX = 12 };

/* The largest size of a zlib stream of `size` bytes. */
size_t hr_zlib_bound(size_t size);
/* Writes a zlib stream and returns its size; 0 if memory or `room` is not enough. */
size_t hr_zlib_compress(int32_t level, const void *in, size_t size, void *out, size_t room);
