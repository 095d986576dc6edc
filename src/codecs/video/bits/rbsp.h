/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Bits of a unit. Bytes that only keep start codes away (3 after 0, 0; in H.264 and HEVC) are left
 * out. Behind the end there are zeros. */
#pragma once

#include "core/core.h"

typedef struct hr_rbsp {
    const uint8_t *at, *end;
    int32_t zeros; /* bytes of zero before `at` */
    int32_t left;  /* bits of `byte` that were not read */
    uint32_t byte;
    bool over;  /* bits behind the end were read */
    bool plain; /* all bytes count: MPEG-4 */
} hr_rbsp;

static inline hr_rbsp hr__rbsp_of(const uint8_t *bytes, size_t size)
{
    return (hr_rbsp){.at = bytes, .end = bytes + size};
}

static inline uint32_t hr__rbsp_bit(hr_rbsp *r)
{
    if (r->left == 0) {
        if (!r->plain && r->zeros >= 2 && r->at < r->end && *r->at == 3) {
            r->at++;
            r->zeros = 0;
        }
        r->over = r->over || r->at == r->end;
        r->byte = r->at < r->end ? *r->at++ : 0;
        r->zeros = r->byte == 0 ? r->zeros + 1 : 0;
        r->left = 8;
    }
    return r->byte >> --r->left & 1;
}

/* `count` <= 32 */
static inline uint32_t hr__rbsp_bits(hr_rbsp *r, int32_t count)
{
    uint32_t value = 0;
    for (int32_t i = 0; i < count && !r->over; i++)
        value = value << 1 | hr__rbsp_bit(r);
    return r->over ? 0 : value;
}

static inline void hr__rbsp_skip(hr_rbsp *r, int32_t count)
{
    for (int32_t i = 0; i < count && !r->over; i++)
        hr__rbsp_bit(r);
}

/* An Exp-Golomb code; UINT32_MAX if it is too long. */
static inline uint32_t hr__rbsp_ue(hr_rbsp *r)
{
    int32_t zeros = 0;
    while (!r->over && zeros < 32 && hr__rbsp_bit(r) == 0)
        zeros++;
    if (zeros == 32)
        r->over = true;
    return r->over ? UINT32_MAX : ((uint32_t)1 << zeros) - 1 + hr__rbsp_bits(r, zeros);
}

static inline int32_t hr__rbsp_se(hr_rbsp *r)
{
    uint32_t code = hr__rbsp_ue(r);
    int64_t size = ((int64_t)code + 1) / 2;
    return r->over ? 0 : (int32_t)(code % 2 ? size : -size);
}

/* The first part of the VUI, which H.264 and HEVC share: up to the position of chroma. */
static inline void hr__rbsp_skip_colors(hr_rbsp *r)
{
    if (hr__rbsp_bit(r) && hr__rbsp_bits(r, 8) == 255) /* the shape of pixels */
        hr__rbsp_skip(r, 32);
    if (hr__rbsp_bit(r)) /* overscan */
        hr__rbsp_skip(r, 1);
    if (hr__rbsp_bit(r)) { /* signal */
        hr__rbsp_skip(r, 4);
        if (hr__rbsp_bit(r))
            hr__rbsp_skip(r, 24);
    }
    if (hr__rbsp_bit(r)) { /* position of chroma */
        hr__rbsp_ue(r);
        hr__rbsp_ue(r);
    }
}
