/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Positions of pixels along rows. Each is the sum of the one before and the step, which takes time
 * that the sums of other rows do not add to: so several rows are made at once. */
#include "kernels/gather.h"
#include "kernels/level.h"

/* The positions of the pixels (x, y) and below it, `rows` of them, from the last place at which no
 * sum begins. */
typedef struct front {
    float at[2][HR_GATHER_ROWS];
    int64_t skip; /* steps to x */
} front;

static front front_at(const hr_map *map, int64_t x, int64_t y, int32_t rows)
{
    front f = {.skip = x % HR_GATHER_RUN};

    for (int32_t i = 0; i < 2; i++)
        for (int32_t k = 0; k < rows; k++)
            f.at[i][k] = gather_at(map, i, (float)(x - f.skip) + 0.5f, (float)(y + k) + 0.5f);
    return f;
}

static void sums(float *to, float at, float step, int64_t skip, int64_t n)
{
    for (int64_t i = 0; i < skip; i++)
        at += step;
    for (int64_t i = 0; i < n; i++, at += step)
        to[i] = at;
}

#if defined(HR_LEVEL_v3) || defined(HR_LEVEL_v4)

/* A column per vector becomes a row per vector. */
static inline void turn(__m256 *v)
{
    __m256 two[8], four[8];

    for (int32_t k = 0; k < 8; k += 2) {
        two[k] = _mm256_unpacklo_ps(v[k], v[k + 1]);
        two[k + 1] = _mm256_unpackhi_ps(v[k], v[k + 1]);
    }
    for (int32_t k = 0; k < 8; k += 4)
        for (int32_t i = 0; i < 2; i++) {
            four[k + 2 * i] =
                _mm256_shuffle_ps(two[k + i], two[k + 2 + i], _MM_SHUFFLE(1, 0, 1, 0));
            four[k + 2 * i + 1] =
                _mm256_shuffle_ps(two[k + i], two[k + 2 + i], _MM_SHUFFLE(3, 2, 3, 2));
        }
    for (int32_t k = 0; k < 4; k++) {
        v[k] = _mm256_permute2f128_ps(four[k], four[k + 4], 0x20);
        v[k + 4] = _mm256_permute2f128_ps(four[k], four[k + 4], 0x31);
    }
}

/* Eight columns of eight rows, which begin with `at`. Returns the next column. */
static inline __m256 eight_columns(float *to, size_t stride, __m256 at, __m256 step)
{
    __m256 v[8];

    for (int32_t k = 0; k < 8; k++, at = _mm256_add_ps(at, step))
        v[k] = at;
    turn(v);
    for (size_t k = 0; k < 8; k++)
        _mm256_storeu_ps(to + k * stride, v[k]);
    return at;
}

/* Eight rows of sums, up to seven more than n in each. */
static void eight_sums(float *x, float *y, size_t stride, const front *f, const hr_map *map,
                       int64_t n)
{
    const __m256 step_x = _mm256_set1_ps(map->m[0][0]), step_y = _mm256_set1_ps(map->m[1][0]);
    __m256 at_x = _mm256_loadu_ps(f->at[0]), at_y = _mm256_loadu_ps(f->at[1]);

    for (int64_t i = 0; i < f->skip; i++) {
        at_x = _mm256_add_ps(at_x, step_x);
        at_y = _mm256_add_ps(at_y, step_y);
    }
    for (int64_t i = 0; i < n; i += 8) {
        at_x = eight_columns(x + i, stride, at_x, step_x);
        at_y = eight_columns(y + i, stride, at_y, step_y);
    }
}

#else

static void eight_sums(float *x, float *y, size_t stride, const front *f, const hr_map *map,
                       int64_t n)
{
    for (size_t k = 0; k < HR_GATHER_ROWS; k++) {
        sums(x + k * stride, f->at[0][k], map->m[0][0], f->skip, n);
        sums(y + k * stride, f->at[1][k], map->m[1][0], f->skip, n);
    }
}

#endif

void HR_LEVELED(hr__gather_positions)(float *x, float *y, size_t stride, int32_t rows,
                                      const hr_map *map, const int64_t *first, int64_t n)
{
    const int64_t end = first[0] + n + HR_GATHER_MORE;

    for (int64_t at = first[0]; at < end;) {
        const front f = front_at(map, at, first[1], rows);
        const int64_t left = end - at, run = HR_GATHER_RUN - f.skip,
                      count = left < run ? left : run;
        if (rows == HR_GATHER_ROWS) {
            eight_sums(x, y, stride, &f, map, count);
        } else {
            sums(x, f.at[0][0], map->m[0][0], f.skip, count);
            sums(y, f.at[1][0], map->m[1][0], f.skip, count);
        }
        at += count;
        x += count;
        y += count;
    }
}
