/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Eight pixels of an image at a time: where they are read, and u8 pixels interpolated, by the
 * operations of linear_pixel in gather.c. For the levels that have AVX2. */
#pragma once

#include "kernels/eight.h"
#include "kernels/gather.h"

#include <string.h>

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* What the pixels of an image have in common. Interpolation reads each row of a square of four
 * pixels as eight bytes, of which the upper row has the pixels first, and the lower one last: so
 * nothing outside of the image is read. */
typedef struct eight_view {
    const uint8_t *src;
    __m256 half;           /* from a position to that of the first pixel that is read */
    __m256 most_x, most_y; /* the last pixel from which on they can be read */
    __m256i size, stride;  /* bytes of a pixel and of a row */
    __m256i last;          /* the offset of the last pixel, if the nearest are read */
    int64_t ahead;         /* from a pixel to that at the same place some rows later */
    /* To interpolate. */
    int64_t lower;        /* from the eight bytes of an upper row to those of a lower one */
    __m256i order[2];     /* which bytes of the upper and the lower row are the pixels */
    __m256 right, bottom; /* the last column and row */
    __m256 fill[3];       /* per channel */
    bool has_fill;
} eight_view;

/* Some rows are few enough for caches, and enough for pixels to arrive. Without a map, rows follow
 * one another in the source. */
static inline int64_t eight_ahead(const hr_map *map, int64_t size, int64_t stride)
{
    const float rows = 4.0f;

    if (map == NULL)
        return (int64_t)rows * stride;
    float x = rows * map->m[0][1], y = rows * map->m[1][1];
    if (!(fabsf(x) < 1e6f && fabsf(y) < 1e6f))
        return 0;
    return (int64_t)y * stride + (int64_t)x * size;
}

/* `linear`: otherwise the nearest pixel is read. Bytes of a pixel, and from row to row. False for
 * images that are too large for 32 bits. */
static inline bool eight_view_make(eight_view *v, const hr_gather_row *r, bool linear, int64_t size,
                                   int64_t stride)
{
    const int64_t width = r->gather->in[0], height = r->gather->in[1], more = linear ? 1 : 0;
    const int64_t largest = (int64_t)HR_GATHER_FAR - 2;

    if (width <= more || height <= more || width > largest || height > largest || stride < 0 ||
        stride > INT32_MAX / height || size > INT32_MAX / width ||
        (height - 1) * stride + width * size > INT32_MAX)
        return false;
    v->src = r->src;
    v->ahead = eight_ahead(r->map, size, stride);
    v->half = _mm256_set1_ps(0.5f);
    v->most_x = _mm256_set1_ps((float)(width - 1 - more));
    v->most_y = _mm256_set1_ps((float)(height - 1 - more));
    v->size = _mm256_set1_epi32((int32_t)size);
    v->stride = _mm256_set1_epi32((int32_t)stride);
    v->last = _mm256_set1_epi32((int32_t)((height - 1) * stride + (width - 1) * size));
    return true;
}

/* The positions of two pixels in eight bytes, from `at` on, as dwords. */
static inline __m256i eight_order(int32_t at, int32_t channels)
{
    const __m256i from = _mm256_setr_epi8(0, 1, 2, 3, 0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11, 0, 1,
                                          2, 3, 0, 1, 2, 3, 8, 9, 10, 11, 8, 9, 10, 11);
    const __m256i second = _mm256_set1_epi64x((int64_t)((uint64_t)channels * 0x0101010100000000u));
    return _mm256_add_epi8(_mm256_add_epi8(from, second), _mm256_set1_epi8((char)at));
}

/* To interpolate u8 images. False also for those of less than two rows or columns. */
static inline bool eight_view_linear(eight_view *v, const hr_gather_row *r, int32_t channels)
{
    const int64_t stride = r->step[1], back = 8 - 2 * channels;

    if (stride < 8 || !eight_view_make(v, r, true, channels, stride))
        return false;
    v->lower = stride - back;
    v->order[0] = eight_order(0, channels);
    v->order[1] = eight_order((int32_t)back, channels);
    v->right = _mm256_set1_ps((float)(r->gather->in[0] - 1));
    v->bottom = _mm256_set1_ps((float)(r->gather->in[1] - 1));
    for (int32_t c = 0; c < 3; c++)
        v->fill[c] = _mm256_set1_ps(r->gather->fill);
    v->has_fill = r->gather->has_fill;
    return !v->has_fill || fabsf(r->gather->fill) < 0x1p30f; /* so that it fits 32 bits rounded */
}

/* Eight adjacent positions, and the offset of the pixels that are read for each of them. */
typedef struct eight_places {
    __m256 x, y;
    __m256i offset;
    int32_t outside; /* bit k: pixels of position k are outside of the image */
} eight_places;

static inline __m256 eight_limit(__m256 position)
{
    const __m256 limit = _mm256_set1_ps(HR_GATHER_FAR);
    __m256 low = _mm256_max_ps(position, _mm256_sub_ps(_mm256_setzero_ps(), limit));
    return _mm256_min_ps(low, limit);
}

/* The first pixel at each position, along one axis. */
static inline __m256 eight_first(__m256 position, __m256 half)
{
    return _mm256_floor_ps(_mm256_sub_ps(position, half));
}

static inline __m256 eight_inside(__m256 first, __m256 most)
{
    return _mm256_max_ps(_mm256_min_ps(most, first), _mm256_setzero_ps());
}

static inline __m256 eight_outside(__m256 first, __m256 near)
{
    return _mm256_cmp_ps(first, near, _CMP_NEQ_UQ);
}

/* Sets the offsets of `p`; x and y: the first pixels at its positions. */
static inline void eight_find(eight_places *p, const eight_view *v, __m256 x, __m256 y)
{
    __m256 near_x = eight_inside(x, v->most_x), near_y = eight_inside(y, v->most_y);
    p->offset = _mm256_add_epi32(_mm256_mullo_epi32(_mm256_cvttps_epi32(near_y), v->stride),
                                 _mm256_mullo_epi32(_mm256_cvttps_epi32(near_x), v->size));
    p->outside =
        _mm256_movemask_ps(_mm256_or_ps(eight_outside(x, near_x), eight_outside(y, near_y)));
    const int64_t first = _mm_cvtsi128_si32(_mm256_castsi256_si128(p->offset));
    /* an address that need not be in the image */
    _mm_prefetch((const char *)((uintptr_t)v->src + (uintptr_t)(first + v->ahead)), _MM_HINT_T0);
}

/* The places of the positions at x and y. */
static inline __attribute__((always_inline)) eight_places
eight_places_at(const eight_view *v, const float *x, const float *y, const bool linear)
{
    eight_places p = {.x = _mm256_loadu_ps(x), .y = _mm256_loadu_ps(y)};

    if (linear) {
        p.x = eight_limit(p.x);
        p.y = eight_limit(p.y);
        eight_find(&p, v, eight_first(p.x, v->half), eight_first(p.y, v->half));
    } else {
        eight_find(&p, v, _mm256_floor_ps(p.x), _mm256_floor_ps(p.y));
    }
    return p;
}

/* Whether there are pixels behind all that are read. */
static inline bool eight_all_before(const eight_places *p, const eight_view *v)
{
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(p->offset, v->last)) == 0;
}

/* The offsets of two pixels in each number. */
static inline void eight_offsets(uint64_t *two, __m256i offset)
{
    const __m128i low = _mm256_castsi256_si128(offset), high = _mm256_extracti128_si256(offset, 1);

    two[0] = (uint64_t)_mm_cvtsi128_si64(low);
    two[1] = (uint64_t)_mm_extract_epi64(low, 1);
    two[2] = (uint64_t)_mm_cvtsi128_si64(high);
    two[3] = (uint64_t)_mm_extract_epi64(high, 1);
}

/* Copies eight pixels of three bytes, behind which there are others. Dwords are moved, of which the
 * last byte is overwritten by the next pixel. */
static inline void eight_triples(uint8_t *dst, const uint8_t *src, __m256i offset)
{
    uint64_t two[4];

    eight_offsets(two, offset);
    for (int32_t k = 0; k < 3; k++) {
        memcpy(dst + 6 * k, src + (uint32_t)two[k], 4);
        memcpy(dst + 6 * k + 3, src + (two[k] >> 32), 4);
    }
    memcpy(dst + 18, src + (uint32_t)two[3], 4);
    memcpy(dst + 21, src + (two[3] >> 32), 3);
}

/* Two times eight bytes. */
static inline __m128i eight_bytes(const uint8_t *src, uint64_t offsets)
{
    const uint8_t *first = src + (uint32_t)offsets, *second = src + (offsets >> 32);
    return _mm_unpacklo_epi64(_mm_loadl_epi64((const __m128i *)first),
                              _mm_loadl_epi64((const __m128i *)second));
}

/* The two pixels from each offset, as the low bytes of dwords. */
static inline void eight_pairs(__m256i *pair, const uint8_t *src, const uint64_t *offsets,
                               __m256i order)
{
    __m256i even = _mm256_set_m128i(eight_bytes(src, offsets[2]), eight_bytes(src, offsets[0]));
    __m256i odd = _mm256_set_m128i(eight_bytes(src, offsets[3]), eight_bytes(src, offsets[1]));
    __m256 low = _mm256_castsi256_ps(_mm256_shuffle_epi8(even, order));
    __m256 high = _mm256_castsi256_ps(_mm256_shuffle_epi8(odd, order));
    pair[0] = _mm256_castps_si256(_mm256_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
    pair[1] = _mm256_castps_si256(_mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
}

/* The pixels that make eight pixels. */
typedef struct eight_squares {
    __m256i tap[4];
    __m256 filled[4]; /* masks: the fill takes a pixel's place; set where there is a fill */
} eight_squares;

static inline void eight_load(const eight_view *v, eight_squares *q, __m256i offset)
{
    uint64_t offsets[4];

    eight_offsets(offsets, offset);
    eight_pairs(q->tap, v->src, offsets, v->order[0]);
    eight_pairs(q->tap + 2, v->src + v->lower, offsets, v->order[1]);
}

/* Which squares are not inside, along one axis. */
typedef struct eight_axis {
    __m256 before, after; /* the first pixel is before the image; the second is after it */
    __m256 off;           /* both are outside */
} eight_axis;

static inline eight_axis eight_axis_of(__m256 position, __m256 half, __m256 last)
{
    const __m256 zero = _mm256_setzero_ps();
    __m256 first = eight_first(position, half), second = _mm256_add_ps(first, _mm256_set1_ps(1.0f));
    return (eight_axis){_mm256_cmp_ps(first, zero, _CMP_LT_OQ),
                        _mm256_cmp_ps(second, last, _CMP_GT_OQ),
                        _mm256_or_ps(_mm256_cmp_ps(second, zero, _CMP_LT_OQ),
                                     _mm256_cmp_ps(first, last, _CMP_GT_OQ))};
}

static inline __m256i eight_select(__m256i a, __m256i b, __m256 mask)
{
    return _mm256_blendv_epi8(a, b, _mm256_castps_si256(mask));
}

/* Repeats the edge where pixels are outside: there, the pair that was read is the two at the edge.
 */
static inline void eight_repeat(__m256i *first, __m256i *second, const eight_axis *axis)
{
    __m256i a = *first, b = *second;
    *first = eight_select(a, b, axis->after);
    *second = eight_select(b, a, axis->before);
}

static inline void eight_edges(eight_squares *q, const eight_axis *x, const eight_axis *y)
{
    eight_repeat(&q->tap[0], &q->tap[1], x);
    eight_repeat(&q->tap[2], &q->tap[3], x);
    eight_repeat(&q->tap[0], &q->tap[2], y);
    eight_repeat(&q->tap[1], &q->tap[3], y);
    __m256 left = _mm256_or_ps(x->before, x->off), right = _mm256_or_ps(x->after, x->off);
    __m256 upper = _mm256_or_ps(y->before, y->off), lower = _mm256_or_ps(y->after, y->off);
    q->filled[0] = _mm256_or_ps(upper, left);
    q->filled[1] = _mm256_or_ps(upper, right);
    q->filled[2] = _mm256_or_ps(lower, left);
    q->filled[3] = _mm256_or_ps(lower, right);
}

static inline __m256 eight_between(__m256 a, __m256 b, __m256 part)
{
    return _mm256_add_ps(a, _mm256_mul_ps(_mm256_sub_ps(b, a), part));
}

/* The distance from the first pixel. */
static inline __m256 eight_part(__m256 position, __m256 half)
{
    return _mm256_sub_ps(_mm256_sub_ps(position, half), eight_first(position, half));
}

static inline __attribute__((always_inline)) void eight_blend(__m256 *out, const eight_view *v,
                                                              const eight_squares *q,
                                                              const eight_places *p,
                                                              const int32_t channels, bool fills)
{
    const __m256i low =
        _mm256_setr_epi8(0, -1, -1, -1, 4, -1, -1, -1, 8, -1, -1, -1, 12, -1, -1, -1, 0, -1, -1, -1,
                         4, -1, -1, -1, 8, -1, -1, -1, 12, -1, -1, -1);
    const __m256 x = eight_part(p->x, v->half), y = eight_part(p->y, v->half);
    for (int32_t c = 0; c < channels; c++) {
        const __m256i channel = _mm256_add_epi8(low, _mm256_set1_epi32(c));
        __m256 tap[4];
        for (int32_t k = 0; k < 4; k++) {
            tap[k] = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(q->tap[k], channel));
            if (fills)
                tap[k] = _mm256_blendv_ps(tap[k], v->fill[c], q->filled[k]);
        }
        out[c] =
            eight_between(eight_between(tap[0], tap[1], x), eight_between(tap[2], tap[3], x), y);
    }
}

/* eight_pixels where some are outside. Not inlined: most pixels are inside. */
static __attribute__((noinline)) void eight_at_edges(__m256 *out, const eight_view *v,
                                                     const eight_places *p, int32_t channels)
{
    const eight_axis x = eight_axis_of(p->x, v->half, v->right),
                     y = eight_axis_of(p->y, v->half, v->bottom);
    eight_squares q;

    if (v->has_fill && _mm256_movemask_ps(_mm256_or_ps(x.off, y.off)) == 0xff) {
        for (int32_t c = 0; c < channels; c++)
            out[c] = v->fill[c];
        return;
    }
    eight_load(v, &q, p->offset);
    eight_edges(&q, &x, &y);
    if (channels == 3)
        eight_blend(out, v, &q, p, 3, v->has_fill);
    else
        eight_blend(out, v, &q, p, 1, v->has_fill);
}

/* Each channel of the pixels at eight positions. */
static inline __attribute__((always_inline)) void
eight_pixels(__m256 *out, const eight_view *v, const eight_places *p, const int32_t channels)
{
    eight_squares q;

    if (p->outside != 0) {
        eight_at_edges(out, v, p, channels);
        return;
    }
    eight_load(v, &q, p->offset);
    eight_blend(out, v, &q, p, channels, false);
}

#endif
