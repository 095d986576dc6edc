/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The boxes of MP4 and QuickTime files, in memory. */
#pragma once

#include "codecs/bytes.h"
#include "core/core.h"

#define HR_MP4_TYPE(a, b, c, d)                                                                    \
    ((uint32_t)(a) << 24 | (uint32_t)(b) << 16 | (uint32_t)(c) << 8 | (uint32_t)(d))

/* Bytes in memory, with a position. */
typedef struct hr_mp4_span {
    const uint8_t *p;
    size_t size;
} hr_mp4_span;

static inline uint64_t hr_mp4_be64(const uint8_t *p)
{
    return (uint64_t)hr_get_be32(p) << 32 | hr_get_be32(p + 4);
}

/* The next box of `in`, whose contents become `*box`; false at the end. A box that is cut ends with
 * `in`. */
bool hr_mp4_next(hr_mp4_span *in, uint32_t *type, hr_mp4_span *box);
/* The contents of the first box of this type in `in`; empty if there is none. */
hr_mp4_span hr_mp4_find(hr_mp4_span in, uint32_t type);
