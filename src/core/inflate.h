/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Streams of Deflate that are in memory as a whole, by libdeflate, which is two to three times as
 * fast as zlib. Streams that it cannot take, or that are damaged, are left to zlib, whose answer
 * then counts: what is refused, and with which message, does not depend on libdeflate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hr_deflate {
    HR_DEFLATE_RAW, /* has no checksum: for streams with one that the caller compares */
    HR_DEFLATE_ZLIB,
    HR_DEFLATE_GZIP
} hr_deflate;

/* Whether the stream at the beginning of `in` makes exactly `out_size` bytes, and its checksum is
 * right. If not, ask zlib; `out` has no meaning then. */
bool hr_inflate(hr_deflate kind, const uint8_t *in, size_t in_size, uint8_t *out, size_t out_size);
/* The checksum of ZIP, gzip and PNG; `crc` is that of the bytes before, at first 0. */
uint32_t hr_crc32(uint32_t crc, const void *bytes, size_t size);
