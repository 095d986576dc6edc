/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Rows of a gathered image. Nearest pixels are copied. All others are computed as floats by
 * `pixel`, or by faster functions that do the same operations for the usual images. */
#include "kernels/gather.h"
#include "core/dtype.h"
#include "core/rounding.h"
#include "kernels/gather_eight.h"

#include <string.h>
#define INLINE static inline __attribute__((always_inline)) /* with constant types and channels */

INLINE float load(const void *src, hr_dtype type, int64_t i)
{
    switch (type) {
    case HR_DTYPE_UINT8:
        return (float)((const uint8_t *)src)[i];
    case HR_DTYPE_INT16:
        return (float)((const int16_t *)src)[i];
    case HR_DTYPE_INT32:
        return (float)((const int32_t *)src)[i];
    default:
        return ((const float *)src)[i];
    }
}

/* Not inlined: fast paths leave few pixels to it. */
static __attribute__((noinline)) void pixel(float *dst, const hr_gather_row *r, const float *p)
{
    int64_t tap[8];
    float part[3] = {0};
    int32_t n = gather_taps(r->gather, r->step, p, tap, part);

    for (int32_t c = 0; c < r->channels; c++) {
        float v[8] = {0};
        for (int32_t k = 0; k < n; k++)
            v[k] = tap[k] >= 0 ? load(r->src, r->from, tap[k] + c) : r->gather->fill;
        dst[c] = gather_blend(v, part, n);
    }
}

static void each_pixel(float *dst, const hr_gather_row *r)
{
    for (int64_t i = 0; i < r->n; i++, dst += r->channels) {
        const int64_t to[3] = {r->first[0] + i, r->first[1], r->first[2]};
        float p[3] = {0};
        if (r->gather->axes == 3) {
            gather_position(r->gather, r->map, to, p);
        } else {
            p[0] = r->x[i];
            p[1] = r->y[i];
        }
        pixel(dst, r, p);
    }
}

/* ---- images ---- */

static inline int64_t inside(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i < n ? i : n - 1;
}

/* The four pixels around a position: the offset of the first, and the distances of the others. */
typedef struct square {
    int64_t at, right, down;
    float part_x, part_y;
    bool outside; /* with a fill: none of them is in the image */
} square;

/* False if the fill is needed. */
INLINE bool square_at(square *q, const hr_gather_row *r, float x, float y, int32_t channels)
{
    const int64_t width = r->gather->in[0], height = r->gather->in[1], stride = r->step[1];
    const int64_t left = gather_floor(x - 0.5f), top = gather_floor(y - 0.5f);

    q->part_x = (x - 0.5f) - (float)left;
    q->part_y = (y - 0.5f) - (float)top;
    if (left >= 0 && top >= 0 && left + 1 < width && top + 1 < height) {
        q->at = top * stride + left * channels;
        q->right = channels;
        q->down = stride;
        return true;
    }
    const int64_t near = inside(left, width), upper = inside(top, height);
    q->at = upper * stride + near * channels;
    q->right = (inside(left + 1, width) - near) * channels;
    q->down = (inside(top + 1, height) - upper) * stride;
    q->outside = left < -1 || top < -1 || left >= width || top >= height;
    return !r->gather->has_fill;
}

/* `pixel`, linear. `channels` is a constant for the usual images. */
INLINE void linear_pixel(float *dst, const hr_gather_row *r, float x, float y, hr_dtype type,
                         int32_t channels)
{
    const float p[3] = {x, y, 0.0f};
    square q;

    if (!square_at(&q, r, x, y, channels)) {
        for (int32_t c = 0; c < channels && q.outside; c++)
            dst[c] = r->gather->fill;
        if (!q.outside)
            pixel(dst, r, p);
        return;
    }
    const int64_t size = type == HR_DTYPE_UINT8 ? 1 : type == HR_DTYPE_INT16 ? 2 : 4;
    const char *left = (const char *)r->src + q.at * size, *right = left + q.right * size;
    const char *low_left = left + q.down * size, *low_right = right + q.down * size;
    for (int32_t c = 0; c < channels; c++) {
        float v[4] = {load(left, type, c), load(right, type, c), load(low_left, type, c),
                      load(low_right, type, c)};
        float a = v[0] + (v[1] - v[0]) * q.part_x, b = v[2] + (v[3] - v[2]) * q.part_x;
        dst[c] = a + (b - a) * q.part_y;
    }
}

INLINE void image_of(float *dst, const hr_gather_row *r, hr_dtype type, int32_t channels)
{
    for (int64_t i = 0; i < r->n; i++, dst += channels)
        linear_pixel(dst, r, r->x[i], r->y[i], type, channels);
}

/* Whether there are pixels to interpolate in an image. */
static bool is_plain(const hr_gather_row *r)
{
    return r->gather->axes == 2 && !r->gather->nearest && r->gather->in[0] > 0 &&
           r->gather->in[1] > 0;
}

/* ---- volumes: tiles of a row, in loops that compilers vectorise ---- */

enum { TILE = 32 };

typedef struct tile {
    float part[3][TILE];
    int32_t base[3][TILE];           /* the first pixel that is read along each axis */
    int32_t inside[TILE], off[TILE]; /* all that are read are inside of the volume; none is */
    float tap[8][TILE];
} tile;

/* As gather_position and gather_taps, for the pixels from the i-th of the row on. */
static void tile_places(tile *restrict t, const hr_gather_row *r, int64_t i)
{
    const int32_t first = (int32_t)(r->first[0] + i), more = r->gather->nearest ? 0 : 1;
    const float y = (float)r->first[1] + 0.5f, z = (float)r->first[2] + 0.5f;
    const float half = r->gather->nearest ? 0.0f : 0.5f, far = HR_GATHER_FAR;

    for (int32_t k = 0; k < TILE; k++) {
        t->inside[k] = 1;
        t->off[k] = 0;
    }
    for (int32_t axis = 0; axis < 3; axis++) {
        const float *m = r->map->m[axis], by_x = m[0], by_y = m[1] * y, by_z = m[2] * z, add = m[3];
        const int32_t size = (int32_t)r->gather->in[axis];
        int32_t *restrict base = t->base[axis];
        float *restrict part = t->part[axis];
        for (int32_t k = 0; k < TILE; k++) {
            float v = by_x * ((float)(first + k) + 0.5f) + by_y + by_z + add - half;
            v = v > -far ? v : -far;
            part[k] = v < far ? v : far;
        }
        for (int32_t k = 0; k < TILE; k++) {
            int32_t whole = (int32_t)part[k];
            /* The floor; a comparison would not be vectorised. The sum makes -0 positive. */
            base[k] = whole - (int32_t)(bits_of_f32(part[k] + 0.0f - (float)whole) >> 31);
            part[k] -= (float)base[k];
        }
        for (int32_t k = 0; k < TILE; k++) {
            t->inside[k] &= (base[k] >= 0) & (base[k] < size - more);
            t->off[k] |= (base[k] < -more) | (base[k] >= size);
        }
    }
}

/* Without a fill, pixels outside are those at the edge; with one, they are left to tile_edges. */
INLINE void tile_load(tile *t, const hr_gather_row *r, int32_t n, int32_t c, hr_dtype type,
                      const int32_t taps)
{
    const int64_t *in = r->gather->in, *step = r->step;

    for (int32_t k = 0; k < n; k++) {
        int64_t at = c, next[3] = {step[0], step[1], step[2]};
        if (!t->inside[k] && r->gather->has_fill)
            continue;
        for (int32_t i = 0; i < 3; i++) {
            const int64_t base = t->base[i][k];
            if (t->inside[k]) {
                at += base * step[i];
                continue;
            }
            at += inside(base, in[i]) * step[i];
            next[i] *= inside(base + 1, in[i]) - inside(base, in[i]);
        }
        for (int32_t i = 0; i < taps; i++)
            t->tap[i][k] = load(
                r->src, type, at + (i & 1) * next[0] + (i >> 1 & 1) * next[1] + (i >> 2) * next[2]);
    }
}

static void tile_blend(tile *t)
{
    for (int32_t axis = 0, n = 4; axis < 3; axis++, n /= 2)
        for (int32_t i = 0; i < n; i++)
            for (int32_t k = 0; k < TILE; k++) {
                const float a = t->tap[2 * i][k], b = t->tap[2 * i + 1][k];
                t->tap[i][k] = a + (b - a) * t->part[axis][k];
            }
}

/* Pixels of which not all that is read is inside, with a fill. */
static void tile_edges(float *dst, const tile *t, const hr_gather_row *r, int64_t at, int32_t n)
{
    const float fill = r->gather->fill;
    const bool finite = fill - fill == 0.0f;

    for (int32_t k = 0; k < n; k++, dst += r->channels) {
        const int64_t to[3] = {r->first[0] + at + k, r->first[1], r->first[2]};
        float p[3];
        if (t->inside[k])
            continue;
        for (int32_t c = 0; c < r->channels && t->off[k] && finite; c++)
            dst[c] = fill;
        if (t->off[k] && finite)
            continue;
        gather_position(r->gather, r->map, to, p);
        pixel(dst, r, p);
    }
}

INLINE void volume_of(float *dst, const hr_gather_row *r, hr_dtype type)
{
    tile t;

    memset(t.tap, 0, sizeof(t.tap));
    for (int64_t at = 0; at < r->n; at += TILE, dst += TILE * r->channels) {
        const int32_t n = (int32_t)(r->n - at < TILE ? r->n - at : TILE);
        tile_places(&t, r, at);
        for (int32_t c = 0; c < r->channels; c++) {
            if (r->gather->nearest) {
                tile_load(&t, r, n, c, type, 1);
            } else {
                tile_load(&t, r, n, c, type, 8);
                tile_blend(&t);
            }
            for (int32_t k = 0; k < n; k++)
                dst[k * r->channels + c] = t.tap[0][k];
        }
        if (r->gather->has_fill)
            tile_edges(dst, &t, r, at, n);
    }
}

/* Whether positions and extents fit the integers of tiles. */
static bool is_volume(const hr_gather_row *r)
{
    const int64_t *in = r->gather->in, most = (int64_t)HR_GATHER_FAR - 2;

    return r->gather->axes == 3 && r->first[0] + r->n < INT32_MAX - TILE && in[0] <= most &&
           in[1] <= most && in[2] <= most && in[0] > 0 && in[1] > 0 && in[2] > 0;
}

INLINE void floats_of(float *dst, const hr_gather_row *r, hr_dtype type)
{
    if (r->gather->axes == 3)
        volume_of(dst, r, type);
    else if (r->channels == 3)
        image_of(dst, r, type, 3);
    else if (r->channels == 1)
        image_of(dst, r, type, 1);
    else
        image_of(dst, r, type, r->channels);
}

static void floats(float *dst, const hr_gather_row *r)
{
    if (!is_plain(r) && !is_volume(r))
        each_pixel(dst, r);
    else if (r->from == HR_DTYPE_UINT8)
        floats_of(dst, r, HR_DTYPE_UINT8);
    else if (r->from == HR_DTYPE_INT16)
        floats_of(dst, r, HR_DTYPE_INT16);
    else if (r->from == HR_DTYPE_INT32)
        floats_of(dst, r, HR_DTYPE_INT32);
    else
        floats_of(dst, r, HR_DTYPE_FLOAT);
}

/* ---- u8 images, linear, to UINT8 or FLOAT ---- */

/* Where element i of a row of `to` is. */
INLINE void *element_at(void *dst, hr_dtype to, int64_t i)
{
    return (char *)dst + i * (to == HR_DTYPE_UINT8 ? 1 : 4);
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

INLINE void write_eight(void *dst, hr_dtype to, const eight_view *v, const eight_places *p,
                        int32_t channels)
{
    __m256 out[3];

    eight_pixels(out, v, p, channels);
    if (to == HR_DTYPE_UINT8)
        eight_store_u8(dst, out, channels);
    else
        eight_store_f32(dst, out, channels);
}

/* False if vectors cannot make the row. */
INLINE bool eights(void *dst, hr_dtype to, const hr_gather_row *r, int32_t channels)
{
    float some[24];
    eight_view v;

    if (!eight_view_linear(&v, r, channels))
        return false;
    eight_places p = eight_places_at(&v, r->x, r->y, true);
    int64_t at = 0;
    for (; at + 8 <= r->n; at += 8) { /* finds the next places while pixels are on their way */
        eight_places next = eight_places_at(&v, r->x + at + 8, r->y + at + 8, true);
        write_eight(element_at(dst, to, at * channels), to, &v, &p, channels);
        p = next;
    }
    if (at == r->n)
        return true;
    write_eight(some, to, &v, &p, channels);
    memcpy(element_at(dst, to, at * channels), some,
           (size_t)(r->n - at) * (size_t)channels * (to == HR_DTYPE_UINT8 ? 1 : sizeof(float)));
    return true;
}

/* Rows of one or three channels. */
INLINE bool vectors(void *dst, hr_dtype to, const hr_gather_row *r)
{
    return r->channels == 3 ? eights(dst, to, r, 3) : r->channels == 1 && eights(dst, to, r, 1);
}

#else

#if defined(HR_SSE2)

/* The three channels at `src`; a fourth byte is read, too. */
static inline __m128 three_floats(const uint8_t *src)
{
    const __m128i zero = _mm_setzero_si128();
    int32_t bytes;
    memcpy(&bytes, src, 4);
    __m128i words = _mm_unpacklo_epi8(_mm_cvtsi32_si128(bytes), zero);
    return _mm_cvtepi32_ps(_mm_unpacklo_epi16(words, zero));
}

static inline __m128 between(__m128 a, __m128 b, float part)
{
    return _mm_add_ps(a, _mm_mul_ps(_mm_sub_ps(b, a), _mm_set1_ps(part)));
}

/* linear_pixel in the low three floats. False for pixels that need the fill, and for those made of
 * the last pixel, behind which no byte may be read. */
static inline bool colour_at(__m128 *v, const hr_gather_row *r, float x, float y)
{
    const int64_t width = r->gather->in[0], height = r->gather->in[1];
    square q;

    if (!square_at(&q, r, x, y, 3) ||
        q.at + q.right + q.down == (height - 1) * r->step[1] + (width - 1) * 3)
        return false;
    const uint8_t *at = (const uint8_t *)r->src + q.at, *below = at + q.down;
    __m128 a = between(three_floats(at), three_floats(at + q.right), q.part_x);
    __m128 b = between(three_floats(below), three_floats(below + q.right), q.part_x);
    *v = between(a, b, q.part_y);
    return true;
}

/* The pixel as u8; writes four bytes. False as colour_at. */
static inline bool colour_bytes(uint8_t *dst, const hr_gather_row *r, float x, float y)
{
    __m128 v;
    if (!colour_at(&v, r, x, y))
        return false;
    __m128i whole = _mm_cvttps_epi32(_mm_add_ps(v, _mm_set1_ps(ROUND_BELOW_HALF)));
    __m128i words = _mm_packs_epi32(whole, whole);
    int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
    memcpy(dst, &bytes, 4);
    return true;
}

/* The pixel as floats; writes four. False as colour_at. */
static inline bool colour_floats(float *dst, const hr_gather_row *r, float x, float y)
{
    __m128 v;
    if (!colour_at(&v, r, x, y))
        return false;
    _mm_storeu_ps(dst, v);
    return true;
}

#else

static inline bool colour_bytes(uint8_t *dst, const hr_gather_row *r, float x, float y)
{
    return (void)dst, (void)r, (void)x, (void)y, false;
}

static inline bool colour_floats(float *dst, const hr_gather_row *r, float x, float y)
{
    return (void)dst, (void)r, (void)x, (void)y, false;
}

#endif

INLINE void write_pixel(void *dst, hr_dtype to, const hr_gather_row *r, float x, float y,
                        int32_t channels)
{
    float v[3];

    linear_pixel(v, r, x, y, HR_DTYPE_UINT8, channels);
    if (to != HR_DTYPE_UINT8)
        memcpy(dst, v, (size_t)channels * sizeof(float));
    for (int32_t c = 0; c < channels && to == HR_DTYPE_UINT8; c++)
        ((uint8_t *)dst)[c] = round_byte(v[c]);
}

/* Rows of three channels. */
INLINE bool vectors(void *dst, hr_dtype to, const hr_gather_row *r)
{
    if (r->channels != 3)
        return false;
    for (int64_t i = 0; i < r->n; i++) {
        const float x = r->x[i], y = r->y[i];
        void *at = element_at(dst, to, 3 * i);
        bool roomy = i + 1 < r->n; /* more than the pixel may be written */
        if (!roomy ||
            !(to == HR_DTYPE_UINT8 ? colour_bytes(at, r, x, y) : colour_floats(at, r, x, y)))
            write_pixel(at, to, r, x, y, 3);
    }
    return true;
}

#endif

/* ---- nearest pixels of images, copied; `fill` is one pixel, or NULL ---- */

INLINE void copy_pixel(uint8_t *dst, const hr_gather_row *r, const void *fill, float x, float y,
                       size_t size)
{
    const int64_t width = r->gather->in[0], height = r->gather->in[1];
    const int64_t stride = r->step[1] * (int64_t)(size / (size_t)r->channels);
    const int64_t left = gather_floor(x), top = gather_floor(y);
    const uint8_t *src = r->src;

    if (fill != NULL && (left < 0 || top < 0 || left >= width || top >= height))
        memcpy(dst, fill, size);
    else
        memcpy(dst, src + inside(top, height) * stride + inside(left, width) * (int64_t)size, size);
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* Up to eight pixels. */
INLINE void copy_some(uint8_t *dst, int64_t n, const hr_gather_row *r, const eight_places *p,
                      const void *fill, size_t size)
{
    const uint8_t *src = r->src;
    uint32_t offset[8];

    _mm256_storeu_si256((__m256i *)offset, p->offset);
    int32_t filled = fill != NULL ? p->outside : 0;
    for (int64_t k = 0; k < n; k++, filled >>= 1)
        memcpy(dst + (size_t)k * size, filled & 1 ? fill : src + offset[k], size);
}

enum { FILL_MAX = 12 }; /* bytes of pixels of which eight with the fill are at hand */

/* `eight`: eight pixels of fill. */
INLINE void copy_eight(uint8_t *dst, const hr_gather_row *r, const eight_view *v,
                       const eight_places *p, const void *fill, const uint8_t *eight, size_t size)
{
    if (fill != NULL && size <= FILL_MAX && p->outside == 0xff)
        memcpy(dst, eight, 8 * size);
    else if (size == 3 && (fill == NULL || p->outside == 0) && eight_all_before(p, v))
        eight_triples(dst, r->src, p->offset);
    else
        copy_some(dst, 8, r, p, fill, size);
}

/* False if vectors cannot make the row. */
INLINE bool copy_eights(uint8_t *dst, const hr_gather_row *r, const void *fill, size_t size)
{
    uint8_t eight[8 * FILL_MAX];
    eight_view v;

    if (!eight_view_make(&v, r, false, (int64_t)size, r->step[1] * (int64_t)hr_dtype_size(r->from)))
        return false;
    for (size_t k = 0; k < 8 && fill != NULL && size <= FILL_MAX; k++)
        memcpy(eight + k * size, fill, size);
    eight_places p = eight_places_at(&v, r->x, r->y, false);
    int64_t at = 0;
    for (; at + 8 <= r->n; at += 8, dst += 8 * size) {
        eight_places next = eight_places_at(&v, r->x + at + 8, r->y + at + 8, false);
        copy_eight(dst, r, &v, &p, fill, eight, size);
        p = next;
    }
    copy_some(dst, r->n - at, r, &p, fill, size);
    return true;
}

#else

static inline bool copy_eights(uint8_t *dst, const hr_gather_row *r, const void *fill, size_t size)
{
    return (void)dst, (void)r, (void)fill, (void)size, false;
}

#endif

INLINE void copies_of(uint8_t *dst, const hr_gather_row *r, const void *fill, size_t size)
{
    if (copy_eights(dst, r, fill, size))
        return;
    for (int64_t i = 0; i < r->n; i++, dst += size)
        copy_pixel(dst, r, fill, r->x[i], r->y[i], size);
}

/* Whether pixels can be copied: INT32 goes through float, which rounds it. */
static bool copies(const hr_gather_row *r)
{
    return r->gather->nearest && r->gather->axes == 2 && r->from == r->to &&
           r->from != HR_DTYPE_INT32 && r->gather->in[0] > 0 && r->gather->in[1] > 0;
}

static void copy_pixels(uint8_t *dst, const hr_gather_row *r, float *line)
{
    size_t element = hr_dtype_size(r->from), size = element * (size_t)r->channels;
    uint8_t *one = (uint8_t *)line;
    const void *fill = r->gather->has_fill ? one : NULL;

    for (int32_t c = 0; c < r->channels; c++)
        hr_convert(one + (size_t)c * element, r->from, &r->gather->fill, HR_DTYPE_FLOAT, 1);
    if (size == 1)
        copies_of(dst, r, fill, 1);
    else if (size == 3)
        copies_of(dst, r, fill, 3);
    else if (size == 12)
        copies_of(dst, r, fill, 12);
    else
        copies_of(dst, r, fill, size);
}

void HR_LEVELED(hr__gather_row)(const hr_gather_row *r, float *line, void *dst)
{
    if (r->n < 1 || r->channels < 1)
        return;
    bool plain = r->from == HR_DTYPE_UINT8 && is_plain(r);
    if (copies(r)) {
        copy_pixels(dst, r, line);
    } else if (plain && r->to == HR_DTYPE_UINT8 && vectors(dst, HR_DTYPE_UINT8, r)) {
        return;
    } else if (plain && r->to == HR_DTYPE_FLOAT && vectors(dst, HR_DTYPE_FLOAT, r)) {
        return;
    } else if (r->to == HR_DTYPE_FLOAT) {
        floats(dst, r);
    } else if (r->to == HR_DTYPE_UINT8) {
        uint8_t *bytes = dst;
        floats(line, r);
        for (int64_t i = 0; i < r->n * r->channels; i++)
            bytes[i] = round_byte(line[i]);
    } else {
        floats(line, r);
        hr_convert(dst, r->to, line, HR_DTYPE_FLOAT, (size_t)(r->n * r->channels));
    }
}
