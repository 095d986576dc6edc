/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Colours of a row behind a Bayer filter from its nearest neighbours. Both what a green and what a
 * coloured pixel needs is computed for all pixels; a mask selects. */
#include "kernels/debayer.h"
#include "kernels/level.h"

#define SELECT(mask, a, b) (((a) & (mask)) | ((b) & ~(mask)))

/* T: an element; W: a sum of four of them. */
#define DEFINE_COLOURS(name, T, W, GREEN)                                                          \
    static void name(T *restrict own, T *restrict green, T *restrict other, const T *restrict n,   \
                     const T *restrict c, const T *restrict s, const T *restrict colour,           \
                     size_t count)                                                                 \
    {                                                                                              \
        for (size_t i = 1; i + 1 < count; i++) {                                                   \
            W across = (W)((W)c[i - 1] + c[i + 1]), down = (W)((W)n[i] + s[i]);                    \
            W corners = (W)((W)n[i - 1] + n[i + 1] + s[i - 1] + s[i + 1]);                         \
            T h = (T)((W)(across + 1) >> 1), v = (T)((W)(down + 1) >> 1);                          \
            T d = (T)((W)(corners + 2) >> 2), m = colour[i], g = GREEN(T, W);                      \
            own[i] = (T)SELECT(m, c[i], h);                                                        \
            green[i] = (T)SELECT(m, g, c[i]);                                                      \
            other[i] = (T)SELECT(m, d, v);                                                         \
        }                                                                                          \
    }

#define DISTANCE(T, a, b) ((T)(((a) > (b) ? (a) : (b)) - ((a) < (b) ? (a) : (b))))
#define MEAN_OF_FOUR(T, W) ((T)((W)(across + down + 2) >> 2))
#define ALONG_EDGES(T, W) (DISTANCE(T, c[i - 1], c[i + 1]) > DISTANCE(T, n[i], s[i]) ? v : h)

DEFINE_COLOURS(bilinear_u8, uint8_t, uint16_t, MEAN_OF_FOUR)
DEFINE_COLOURS(bilinear_u16, uint16_t, uint32_t, MEAN_OF_FOUR)
DEFINE_COLOURS(edges_u8, uint8_t, uint16_t, ALONG_EDGES)
DEFINE_COLOURS(edges_u16, uint16_t, uint32_t, ALONG_EDGES)

/* A weighted sum of the colours, in units of 2^-16. A coloured pixel has its corners, the green
 * cross and itself; a green one its neighbours above and below, itself, and those beside it. S is
 * four times an element, P a product. */
#define DEFINE_GRAY(name, T, S, P)                                                                 \
    static void name(T *restrict dst, const T *restrict n, const T *restrict c,                    \
                     const T *restrict s, const T *restrict colour, size_t count, S own, S other)  \
    {                                                                                              \
        const S green = HR_DEBAYER_GREEN;                                                          \
        for (size_t i = 1; i + 1 < count; i++) {                                                   \
            S m = (S)(0 - (S)(colour[i] & 1)), at = (S)(4 * (S)c[i]);                              \
            S across = (S)((S)c[i - 1] + c[i + 1]), down = (S)((S)n[i] + s[i]);                    \
            S corners = (S)((S)n[i - 1] + n[i + 1] + s[i - 1] + s[i + 1]);                         \
            S a = (S)SELECT(m, corners, 2 * down), b = (S)SELECT(m, across + down, at);            \
            S d = (S)SELECT(m, at, 2 * across);                                                    \
            P sum = (P)a * (P)other + (P)b * (P)green + (P)d * (P)own + 0x8000;                    \
            dst[i] = (T)(sum >> 16);                                                               \
        }                                                                                          \
    }

DEFINE_GRAY(gray_u8, uint8_t, int16_t, int32_t)
DEFINE_GRAY(gray_u16, uint16_t, uint32_t, uint32_t)

void HR_LEVELED(hr__debayer_row)(const hr_debayer_row *r)
{
    if (r->kind == HR_DEBAYER_KIND_GRAY) {
        if (r->wide)
            gray_u16(r->green, r->above, r->at, r->below, r->colour, r->n, (uint32_t)r->own_weight,
                     (uint32_t)r->other_weight);
        else
            gray_u8(r->green, r->above, r->at, r->below, r->colour, r->n, (int16_t)r->own_weight,
                    (int16_t)r->other_weight);
    } else if (r->wide) {
        (r->kind == HR_DEBAYER_KIND_BILINEAR ? bilinear_u16 : edges_u16)(
            r->own, r->green, r->other, r->above, r->at, r->below, r->colour, r->n);
    } else {
        (r->kind == HR_DEBAYER_KIND_BILINEAR ? bilinear_u8 : edges_u8)(
            r->own, r->green, r->other, r->above, r->at, r->below, r->colour, r->n);
    }
}
