/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Numbers in files, read byte by byte, so alignment does not matter, and levels of few bits. */
#pragma once

#include <stdint.h>

static inline uint32_t hr_get_le16(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t hr_get_le32(const uint8_t *p)
{
    return hr_get_le16(p) | hr_get_le16(p + 2) << 16;
}

static inline uint32_t hr_get_be16(const uint8_t *p)
{
    return (uint32_t)p[0] << 8 | (uint32_t)p[1];
}

static inline uint32_t hr_get_be32(const uint8_t *p)
{
    return hr_get_be16(p) << 16 | hr_get_be16(p + 2);
}

/* The level of `to` bits for one of `from` bits: white stays white. Both are at most 16. */
static inline uint32_t hr_fill_bits(uint32_t v, uint32_t from, uint32_t to)
{
    uint32_t top = (1u << from) - 1;
    return from == to ? v : (v * ((1u << to) - 1) + top / 2) / top;
}
