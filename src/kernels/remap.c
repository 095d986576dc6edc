/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows of pixels at given positions. `pixels` makes any of them; faster functions do the same
 * operations for the usual images, eight pixels at a time. */
#include "kernels/remap.h"
#include "core/dtype.h"
#include "kernels/gather_eight.h"
#include "kernels/level.h"

#include <string.h>

#define INLINE static inline __attribute__((always_inline)) /* with constant types and taps */

INLINE void row_of(void *dst, const hr_remap *r, const float *x, const float *y, size_t n,
                   hr_dtype dtype, int32_t taps)
{
    int64_t out = 0;

    for (size_t i = 0; i < n; i++, out += r->channels) {
        remap_axis columns, rows;
        remap_axis_at(&columns, r, 0, x[i], taps);
        remap_axis_at(&rows, r, 1, y[i], taps);
        for (int32_t c = 0; c < r->channels; c++)
            remap_store(dst, dtype, out + c, remap_value(r, &columns, &rows, c, dtype, taps));
    }
}

INLINE void rows_of(void *dst, const hr_remap *r, const float *x, const float *y, size_t n,
                    hr_dtype dtype)
{
    if (r->taps == 1)
        row_of(dst, r, x, y, n, dtype, 1);
    else if (r->taps == 2)
        row_of(dst, r, x, y, n, dtype, 2);
    else
        row_of(dst, r, x, y, n, dtype, 4);
}

static __attribute__((noinline)) void pixels(void *dst, const hr_remap *r, const float *x,
                                             const float *y, size_t n)
{
    if (r->dtype == HR_DTYPE_UINT8)
        rows_of(dst, r, x, y, n, HR_DTYPE_UINT8);
    else if (r->dtype == HR_DTYPE_UINT16)
        rows_of(dst, r, x, y, n, HR_DTYPE_UINT16);
    else if (r->dtype == HR_DTYPE_INT16)
        rows_of(dst, r, x, y, n, HR_DTYPE_INT16);
    else
        rows_of(dst, r, x, y, n, HR_DTYPE_FLOAT);
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Makes the eight pixels at `p`; false: they need `pixels`. `size`: bytes of a pixel. */
typedef bool eight_fn(uint8_t *dst, const hr_remap *r, const eight_view *v, const eight_places *p,
                      size_t size);

/* Some of the eight are the fill. */
static __attribute__((noinline)) void nearest_filled(uint8_t *dst, const hr_remap *r,
                                                     const eight_view *v, const eight_places *p,
                                                     size_t size)
{
    uint32_t offset[8];

    _mm256_storeu_si256((__m256i *)offset, p->offset);
    for (size_t k = 0; k < 8; k++, dst += size) {
        if (p->outside >> k & 1)
            for (int32_t c = 0; c < r->channels; c++)
                remap_store(dst, r->dtype, c, r->fill[c]);
        else
            memcpy(dst, v->src + offset[k], size);
    }
}

INLINE bool nearest_eight(uint8_t *dst, const hr_remap *r, const eight_view *v,
                          const eight_places *p, size_t size)
{
    uint32_t offset[8];

    if (p->outside != 0 && r->border == HR_BORDER_CONSTANT) {
        nearest_filled(dst, r, v, p, size);
        return true;
    }
    if (p->outside != 0 && r->border != HR_BORDER_CLAMP)
        return false;
    if (size == 3 && eight_all_before(p, v)) {
        eight_triples(dst, v->src, p->offset);
        return true;
    }
    _mm256_storeu_si256((__m256i *)offset, p->offset);
    for (size_t k = 0; k < 8; k++)
        memcpy(dst + k * size, v->src + offset[k], size);
    return true;
}

/* As remap_element for UINT8: what is left for eight_store_u8 is to convert and saturate. */
INLINE void store_bytes(uint8_t *dst, __m256 *v, int32_t channels)
{
    for (int32_t c = 0; c < channels; c++)
        v[c] = _mm256_round_ps(v[c], _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    eight_store_u8(dst, v, channels);
}

INLINE bool linear_bytes(uint8_t *dst, const hr_remap *r, const eight_view *v,
                         const eight_places *p, size_t size)
{
    const int32_t channels = (int32_t)size;
    __m256 out[3];

    if (p->outside != 0 && r->border != HR_BORDER_CLAMP && r->border != HR_BORDER_CONSTANT)
        return false;
    eight_pixels(out, v, p, channels);
    store_bytes(dst, out, channels);
    return true;
}

/* Two neighbouring floats of each of two pixels. */
INLINE __m128 two_pairs(const uint8_t *first, const uint8_t *second)
{
    return _mm_castpd_ps(_mm_loadh_pd(_mm_load_sd((const double *)first), (const double *)second));
}

/* Eight floats, and those to the right of them. */
INLINE void float_pairs(__m256 *pair, const uint8_t *src, const uint32_t *at)
{
    __m256 low =
        _mm256_set_m128(two_pairs(src + at[4], src + at[5]), two_pairs(src + at[0], src + at[1]));
    __m256 high =
        _mm256_set_m128(two_pairs(src + at[6], src + at[7]), two_pairs(src + at[2], src + at[3]));
    pair[0] = _mm256_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0));
    pair[1] = _mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1));
}

INLINE __m128 between(__m128 a, __m128 b, __m128 part)
{
    return _mm_add_ps(a, _mm_mul_ps(_mm_sub_ps(b, a), part));
}

/* Of three channels, four floats are read. */
INLINE void linear_colours(uint8_t *dst, const uint8_t *src, const uint32_t *at, int64_t stride,
                           __m256 part_x, __m256 part_y)
{
    float x[8], y[8], out[4];

    _mm256_storeu_ps(x, part_x);
    _mm256_storeu_ps(y, part_y);
    for (int32_t k = 0; k < 8; k++) {
        const float *upper = (const float *)(src + at[k]);
        const float *lower = (const float *)(src + at[k] + stride);
        const __m128 part = _mm_set1_ps(x[k]);
        __m128 a = between(_mm_loadu_ps(upper), _mm_loadu_ps(upper + 3), part);
        __m128 b = between(_mm_loadu_ps(lower), _mm_loadu_ps(lower + 3), part);
        _mm_storeu_ps(out, between(a, b, _mm_set1_ps(y[k])));
        memcpy(dst + k * 12, out, 12);
    }
}

INLINE bool linear_floats(uint8_t *dst, const hr_remap *r, const eight_view *v,
                          const eight_places *p, size_t size)
{
    const int64_t stride = r->step[1] * (int64_t)sizeof(float);
    const __m256 x = eight_part(p->x, v->half), y = eight_part(p->y, v->half);
    __m256 upper[2], lower[2];
    uint32_t at[8];

    if (p->outside != 0)
        return false;
    _mm256_storeu_si256((__m256i *)at, p->offset);
    if (size == 12) {
        linear_colours(dst, v->src, at, stride, x, y);
        return true;
    }
    float_pairs(upper, v->src, at);
    float_pairs(lower, v->src + stride, at);
    _mm256_storeu_ps((float *)dst, eight_between(eight_between(upper[0], upper[1], x),
                                                 eight_between(lower[0], lower[1], x), y));
    return true;
}

/* ---- cubic ---- */

/* Four elements from `src` on. */
INLINE __m128 four(const uint8_t *src, bool bytes)
{
    int32_t some;

    if (!bytes)
        return _mm_loadu_ps((const float *)src);
    memcpy(&some, src, 4);
    return _mm_cvtepi32_ps(_mm_cvtepu8_epi32(_mm_cvtsi32_si128(some)));
}

/* `weight`: every eighth float. */
INLINE __m128 weighted(const __m128 *v, const float *weight)
{
    __m128 a = _mm_add_ps(_mm_mul_ps(v[0], _mm_set1_ps(weight[0])),
                          _mm_mul_ps(v[1], _mm_set1_ps(weight[8])));
    __m128 b = _mm_add_ps(_mm_mul_ps(v[2], _mm_set1_ps(weight[16])),
                          _mm_mul_ps(v[3], _mm_set1_ps(weight[24])));
    return _mm_add_ps(a, b);
}

INLINE __m128 weights_of(const float *weight)
{
    return _mm_setr_ps(weight[0], weight[8], weight[16], weight[24]);
}

/* One pixel, of three channels in the low floats or of one, from the first of its sixteen. */
INLINE __m128 cubic_pixel(const uint8_t *src, int64_t stride, const float *x, const float *y,
                          bool bytes, int32_t channels)
{
    const int64_t size = channels * (bytes ? 1 : 4);
    __m128 row[4];

    for (int32_t i = 0; i < 4; i++, src += stride) {
        if (channels == 1) {
            row[i] = _mm_mul_ps(four(src, bytes), weights_of(x));
            continue;
        }
        const __m128 v[4] = {four(src, bytes), four(src + size, bytes), four(src + 2 * size, bytes),
                             four(src + 3 * size, bytes)};
        row[i] = weighted(v, x);
    }
    if (channels == 3)
        return weighted(row, y);
    __m128 sums = _mm_hadd_ps(_mm_hadd_ps(row[0], row[1]), _mm_hadd_ps(row[2], row[3]));
    sums = _mm_mul_ps(sums, weights_of(y));
    sums = _mm_hadd_ps(sums, sums);
    return _mm_hadd_ps(sums, sums);
}

INLINE __m256 plus(__m256 a, float b)
{
    return _mm256_add_ps(a, _mm256_set1_ps(b));
}

/* ((a * part - b) * part + c) * part + d */
INLINE __m256 cubic_of(__m256 part, float a, float b, float c, float d)
{
    __m256 v = plus(_mm256_mul_ps(_mm256_set1_ps(a), part), -b);
    v = plus(_mm256_mul_ps(v, part), c);
    return plus(_mm256_mul_ps(v, part), d);
}

/* remap_cubic for eight positions: the first weights of all, then the second ones ... */
INLINE void cubic_weights(float *weight, __m256 part)
{
    const float a = -0.75f;
    const __m256 one = _mm256_set1_ps(1.0f);
    const __m256 first = cubic_of(_mm256_add_ps(one, part), a, 5.0f * a, 8.0f * a, -4.0f * a);
    const __m256 second = cubic_of(part, a + 2.0f, a + 3.0f, 0.0f, 1.0f);
    const __m256 third = cubic_of(_mm256_sub_ps(one, part), a + 2.0f, a + 3.0f, 0.0f, 1.0f);
    const __m256 rest = _mm256_sub_ps(_mm256_sub_ps(_mm256_sub_ps(one, first), second), third);

    _mm256_storeu_ps(weight, first);
    _mm256_storeu_ps(weight + 8, second);
    _mm256_storeu_ps(weight + 16, third);
    _mm256_storeu_ps(weight + 24, rest);
}

INLINE bool cubic_eight(uint8_t *dst, const hr_remap *r, const eight_view *v, const eight_places *p,
                        size_t size, bool bytes)
{
    const int32_t channels = (int32_t)(bytes ? size : size / sizeof(float));
    const int64_t stride = r->step[1] * (bytes ? 1 : 4);
    float x[32], y[32];
    uint32_t offset[8];

    if (p->outside != 0)
        return false;
    _mm256_storeu_si256((__m256i *)offset, p->offset);
    cubic_weights(x, eight_part(p->x, v->half));
    cubic_weights(y, eight_part(p->y, v->half));
    for (size_t k = 0; k < 8; k++) {
        __m128 sum = cubic_pixel(v->src + offset[k], stride, x + k, y + k, bytes, channels);
        float out[4];
        int32_t packed;
        if (bytes) {
            __m128i words = _mm_packs_epi32(_mm_cvtps_epi32(sum), _mm_setzero_si128());
            packed = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
            memcpy(dst + k * size, &packed, size);
        } else {
            _mm_storeu_ps(out, sum);
            memcpy(dst + k * size, out, size);
        }
    }
    return true;
}

INLINE bool cubic_bytes(uint8_t *dst, const hr_remap *r, const eight_view *v, const eight_places *p,
                        size_t size)
{
    return cubic_eight(dst, r, v, p, size, true);
}

INLINE bool cubic_floats(uint8_t *dst, const hr_remap *r, const eight_view *v,
                         const eight_places *p, size_t size)
{
    return cubic_eight(dst, r, v, p, size, false);
}

/* ---- rows ---- */

INLINE eight_places places(const hr_remap *r, const eight_view *v, const float *x, const float *y)
{
    eight_places p = {.x = eight_limit(_mm256_loadu_ps(x)), .y = eight_limit(_mm256_loadu_ps(y))};

    if (r->taps == 1) {
        p.x = _mm256_round_ps(p.x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
        p.y = _mm256_round_ps(p.y, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    }
    eight_find(&p, v, eight_first(p.x, v->half), eight_first(p.y, v->half));
    return p;
}

/* n is at least 8. Returns how many pixels were made: all but the last ones, or none. */
INLINE size_t eights(uint8_t *dst, const hr_remap *r, const float *x, const float *y, size_t n,
                     const eight_view *v, eight_fn *make, size_t size)
{
    eight_places p = places(r, v, x, y);
    size_t i = 0;

    for (; i + 8 <= n; i += 8) {
        const size_t after = i + 16 <= n ? i + 8 : i;
        eight_places next = places(r, v, x + after, y + after); /* while pixels are on their way */
        if (!make(dst + i * size, r, v, &p, size))
            pixels(dst + i * size, r, x + i, y + i, 8);
        p = next;
    }
    return i;
}

/* What r is for gather_eight.h. False if vectors cannot make its rows. */
static bool view_of(eight_view *v, const hr_remap *r, hr_gather_spec *g)
{
    const int64_t element = (int64_t)hr_dtype_size(r->dtype), size = r->channels * element;
    const int64_t stride = r->step[1] * element;
    const bool bytes = r->dtype == HR_DTYPE_UINT8, cubic = r->taps == 4;
    /* Where four elements are read of three, the last pixels are left out. */
    const int64_t before = cubic ? 3 : r->taps == 2 && !bytes && r->channels == 3 ? 1 : 0;
    bool fits;

    *g = (hr_gather_spec){.axes = 2,
                          .has_fill = r->border == HR_BORDER_CONSTANT,
                          .in = {r->in[0] - before, r->in[1] - (cubic ? 2 : 0)}};
    const hr_gather_row row = {.gather = g, .src = r->src, .step = {r->step[0], r->step[1]}};
    if (bytes && r->taps == 2)
        fits = eight_view_linear(v, &row, r->channels);
    else
        fits = eight_view_make(v, &row, r->taps > 1, size, stride);
    v->half = cubic ? _mm256_set1_ps(1.0f) : _mm256_setzero_ps();
    for (int32_t c = 0; c < 3 && r->border == HR_BORDER_CONSTANT; c++)
        v->fill[c] = _mm256_set1_ps(r->fill[c < r->channels ? c : 0]);
    return fits;
}

static size_t vectors(void *dst, const hr_remap *r, const float *x, const float *y, size_t n)
{
    const size_t size = (size_t)r->channels * hr_dtype_size(r->dtype);
    const bool bytes = r->dtype == HR_DTYPE_UINT8, colour = r->channels == 3;
    hr_gather_spec g;
    eight_view v;

    if (n < 8 || !view_of(&v, r, &g))
        return 0;
    if (r->taps == 1)
        return size == 1   ? eights(dst, r, x, y, n, &v, nearest_eight, 1)
               : size == 3 ? eights(dst, r, x, y, n, &v, nearest_eight, 3)
               : size == 4 ? eights(dst, r, x, y, n, &v, nearest_eight, 4)
                           : eights(dst, r, x, y, n, &v, nearest_eight, size);
    if ((!bytes && r->dtype != HR_DTYPE_FLOAT) || (!colour && r->channels != 1))
        return 0;
    if (r->taps == 2 && bytes)
        return colour ? eights(dst, r, x, y, n, &v, linear_bytes, 3)
                      : eights(dst, r, x, y, n, &v, linear_bytes, 1);
    if (r->taps == 2)
        return colour ? eights(dst, r, x, y, n, &v, linear_floats, 12)
                      : eights(dst, r, x, y, n, &v, linear_floats, 4);
    if (bytes)
        return colour ? eights(dst, r, x, y, n, &v, cubic_bytes, 3)
                      : eights(dst, r, x, y, n, &v, cubic_bytes, 1);
    return colour ? eights(dst, r, x, y, n, &v, cubic_floats, 12)
                  : eights(dst, r, x, y, n, &v, cubic_floats, 4);
}

#else

static size_t vectors(void *dst, const hr_remap *r, const float *x, const float *y, size_t n)
{
    return (void)dst, (void)r, (void)x, (void)y, (void)n, 0;
}

#endif

void HR_LEVELED(hr__remap_row)(void *dst, const hr_remap *r, const float *x, const float *y,
                               size_t n)
{
    const size_t size = (size_t)r->channels * hr_dtype_size(r->dtype);
    const size_t made = r->channels > 0 ? vectors(dst, r, x, y, n) : n;

    pixels((char *)dst + made * size, r, x + made, y + made, n - made);
}

void HR_LEVELED(hr__given_row)(float *restrict dst, const float *restrict given, size_t n,
                               float shift, bool nearest)
{
    for (size_t i = 0; i < n && nearest; i++)
        dst[i] = remap_given(given[i], shift, true);
    for (size_t i = 0; i < n && !nearest; i++)
        dst[i] = remap_given(given[i], shift, false);
}

void HR_LEVELED(hr__perspective_row)(float *restrict x, float *restrict y, const float *m,
                                     int32_t row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        remap_perspective(m, (float)(int32_t)i, (float)row, &x[i], &y[i]);
}
