// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Pixels of three bytes from words: one of them, or the mean of four neighbours.
#pragma once

#include "cuda/image/points.cuh"

// The bytes of a pixel and of the next one, in two words. All words that they are part of must be
// in memory: those of bytes -3 to 11.
HR_SHARED void rgb_load_two(uint32_t *words, const uint8_t *at)
{
    const int shift = (int)((uintptr_t)at & 3);
    const uint32_t *from = (const uint32_t *)(at - shift);
    const uint32_t middle = load_word(from + 1);
    words[0] = shifted_word(load_word(from), middle, shift * 8);
    words[1] = shifted_word(middle, shift == 3 ? load_word(from + 2) : 0, shift * 8);
}

// The bytes of a pixel, and one more. All words that they are part of must be in memory: those of
// bytes -3 to 7.
HR_SHARED uint32_t rgb_load(const uint8_t *at)
{
    const int shift = (int)((uintptr_t)at & 3);
    const uint32_t *from = (const uint32_t *)(at - shift);
    return shifted_word(load_word(from), shift > 1 ? load_word(from + 1) : 0, shift * 8);
}

// The integer part of 0 <= v < 2^22, and the rest.
HR_SHARED int32_t rgb_whole(float v, float *part)
{
#if defined(__CUDA_ARCH__)
    const float whole = __fadd_rd(v, 8388608.0f); // the conversion is slow
    *part = v - (whole - 8388608.0f);
    return __float_as_int(whole) & 0x7fffff;
#else
    const int32_t whole = (int32_t)v;
    *part = v - (float)whole;
    return whole;
#endif
}

// 2^23 plus byte i of some words.
HR_SHARED float rgb_above(const uint32_t *words, int i)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(__byte_perm(words[i / 4], 0x4b000000u, 0x7440u | (uint32_t)(i % 4)));
#else
    return 8388608.0f + (float)(words[i / 4] >> i % 4 * 8 & 255);
#endif
}

// Between two bytes. Differences of bytes are exact also with 2^23 added to both.
HR_SHARED float rgb_mean(const uint32_t *words, int c, float part)
{
    const float a = rgb_above(words, c), b = rgb_above(words, c + 3);
    return (a - 8388608.0f) + (b - a) * part;
}

// The mean of two pixels and of those a `line` further; it is between 0 and 255.
HR_SHARED void rgb_between(float *v, const uint8_t *at, int64_t line, float part_x, float part_y)
{
    uint32_t upper[2], lower[2];
    rgb_load_two(upper, at);
    rgb_load_two(lower, at + line);
    HR_UNROLL
    for (int c = 0; c < 3; c++) {
        const float a = rgb_mean(upper, c, part_x), b = rgb_mean(lower, c, part_x);
        v[c] = a + (b - a) * part_y;
    }
}

// The bits of a float whose lowest byte is round_byte(v), for v from 0 to 255.
HR_SHARED uint32_t rgb_rounded(float v)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(__fadd_rz(v + ROUND_BELOW_HALF, 8388608.0f));
#else
    return round_byte(v);
#endif
}

// The lowest bytes of four words.
HR_SHARED uint32_t rgb_word(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
#if defined(__CUDA_ARCH__)
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
#else
    return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24;
#endif
}

// Stores as many of four pixels, which are the lowest bytes of words, at any address.
HR_SHARED void rgb_store_four(uint8_t *to, const uint32_t *v, int pixels)
{
    if (pixels >= 4 && ((uintptr_t)to & 3) == 0) {
        HR_UNROLL
        for (int k = 0; k < 3; k++)
            ((uint32_t *)to)[k] = rgb_word(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
        return;
    }
    HR_UNROLL
    for (int k = 0; k < 12; k++)
        if (k / 3 < pixels)
            to[k] = (uint8_t)v[k];
}
