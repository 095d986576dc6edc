/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Numbers in files, read byte by byte, so alignment does not matter. */
#ifndef HR_CODECS_BYTES_H
#define HR_CODECS_BYTES_H

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

#endif
