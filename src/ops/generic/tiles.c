/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/generic/tiles.h"

#include <string.h>

#define VECTOR 16              /* bytes */
#define LINE 64                /* bytes that both sides use of a cache line before they go on */
#define BAND (64 << 10)        /* bytes of a buffer for rows of the result */
#define BAND_LEAST (128 << 10) /* bytes of a result that is made by way of it */
#define WAY 4096 /* bytes between addresses that compete for places in the first cache */
#define FEW 4    /* rows or columns that need fewer instructions */

typedef struct plane {
    char *to;
    const char *from;
    int64_t to_step, from_step, item;
} plane;

/* Tiles are squares with as many elements as fit a vector. `block` transposes those of rows i ..
 * i_end - 1 and columns j .. j_end - 1. `rows` writes only the first `count` rows of a tile, but
 * reads all of its vectors. `columns` reads and writes only the first `count` columns. */
typedef struct tiles {
    void (*block)(const plane *p, int64_t i, int64_t i_end, int64_t j, int64_t j_end);
    void (*rows)(const plane *p, char *to, const char *from, int64_t count);
    void (*columns)(const plane *p, char *to, const char *from, int64_t count);
} tiles;

static inline char *to_at(const plane *p, int64_t i, int64_t j)
{
    return p->to + i * p->to_step + j * p->item;
}

static inline const char *from_at(const plane *p, int64_t i, int64_t j)
{
    return p->from + i * p->item + j * p->from_step;
}

/* Writes the first `size` bytes, at least one. Up to 4, 8 or 16 bytes are read. */
static inline void store_part(char *to, const char *from, size_t size)
{
    uint64_t wide;
    uint32_t narrow;
    if (size > 8) {
        memcpy(to, from, 8);
        memcpy(to + size - 8, from + size - 8, 8);
    } else if (size > 4) {
        memcpy(&wide, from, 8);
        memcpy(to, &wide, 4);
        wide >>= 8 * (size - 4);
        memcpy(to + size - 4, &wide, 4);
    } else {
        memcpy(&narrow, from, 4);
        if (size == 4)
            memcpy(to, &narrow, 4);
        else if (size >= 2)
            memcpy(to, &narrow, 2);
        if (size & 1)
            to[size - 1] = (char)(narrow >> 8 * (size - 1));
    }
}

#define INLINE static inline __attribute__((always_inline))

/* Vectors of n elements. m of them are turned by interleaving vectors i and i + m/2, log2(m) times:
 * element k of vector i becomes element m * k + i of them all. */
#define TILE(bits, n, low, high)                                                                   \
    typedef uint##bits##_t vector##bits __attribute__((vector_size(VECTOR)));                      \
    INLINE void turn##bits(vector##bits *row, const int m)                                         \
    {                                                                                              \
        vector##bits next[n];                                                                      \
        _Pragma("GCC unroll 4") for (int step = 1; step < m; step *= 2)                            \
        {                                                                                          \
            for (int i = 0; i < m / 2; i++) {                                                      \
                next[2 * i] = __builtin_shufflevector(row[i], row[i + m / 2], low);                \
                next[2 * i + 1] = __builtin_shufflevector(row[i], row[i + m / 2], high);           \
            }                                                                                      \
            for (int i = 0; i < m; i++)                                                            \
                row[i] = next[i];                                                                  \
        }                                                                                          \
    }                                                                                              \
    INLINE void rows_up_to##bits(const plane *p, char *to, const char *from, int64_t count,        \
                                 const int most)                                                   \
    {                                                                                              \
        const int64_t to_step = p->to_step, from_step = p->from_step;                              \
        vector##bits row[n];                                                                       \
        for (int i = 0; i < (n); i++)                                                              \
            memcpy(&row[i], from + i * from_step, VECTOR);                                         \
        turn##bits(row, n);                                                                        \
        for (int i = 0; i < most; i++)                                                             \
            if (i < count)                                                                         \
                memcpy(to + i * to_step, &row[i], VECTOR);                                         \
    }                                                                                              \
    INLINE void columns_up_to##bits(const plane *p, char *to, const char *from, int64_t count,     \
                                    const int most)                                                \
    {                                                                                              \
        const int64_t to_step = p->to_step, from_step = p->from_step;                              \
        vector##bits row[n];                                                                       \
        for (int i = 0; i < most; i++) {                                                           \
            row[i] = (vector##bits){0};                                                            \
            if (i < count)                                                                         \
                memcpy(&row[i], from + i * from_step, VECTOR);                                     \
        }                                                                                          \
        turn##bits(row, most);                                                                     \
        for (int i = 0; i < (n); i++)                                                              \
            store_part(to + i * to_step, (const char *)row + i * most * (bits) / 8,                \
                       (size_t)count * (bits) / 8);                                                \
    }                                                                                              \
    static void block##bits(const plane *p, int64_t i, int64_t i_end, int64_t j, int64_t j_end)    \
    {                                                                                              \
        const plane own = *p; /* which stores cannot change */                                     \
        for (; i < i_end; i += (n))                                                                \
            for (int64_t k = j; k < j_end; k += (n))                                               \
                rows_up_to##bits(&own, to_at(&own, i, k), from_at(&own, i, k), n, n);              \
    }                                                                                              \
    static void rows##bits(const plane *p, char *to, const char *from, int64_t count)              \
    {                                                                                              \
        if (count <= FEW)                                                                          \
            rows_up_to##bits(p, to, from, count, HR_MIN(FEW, n));                                  \
        else                                                                                       \
            rows_up_to##bits(p, to, from, count, n);                                               \
    }                                                                                              \
    static void columns##bits(const plane *p, char *to, const char *from, int64_t count)           \
    {                                                                                              \
        if (count == 3)                                                                            \
            columns_up_to##bits(p, to, from, HR_MIN(3, (n)-1), HR_MIN(FEW, n));                    \
        else if (count <= FEW)                                                                     \
            columns_up_to##bits(p, to, from, count, HR_MIN(FEW, n));                               \
        else                                                                                       \
            columns_up_to##bits(p, to, from, count, n);                                            \
    }
#define LIST(...) __VA_ARGS__
TILE(8, 16, LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
     LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
TILE(16, 8, LIST(0, 8, 1, 9, 2, 10, 3, 11), LIST(4, 12, 5, 13, 6, 14, 7, 15))
TILE(32, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
TILE(64, 2, LIST(0, 2), LIST(1, 3))

static tiles tiles_of(size_t item)
{
    switch (item) {
    case 1:
        return (tiles){block8, rows8, columns8};
    case 2:
        return (tiles){block16, rows16, columns16};
    case 4:
        return (tiles){block32, rows32, columns32};
    case 8:
        return (tiles){block64, rows64, columns64};
    default:
        return (tiles){0};
    }
}

static void copy_rest(const plane *p, int64_t i, int64_t i_end, int64_t j, int64_t j_end)
{
    for (; i < i_end; i++)
        for (int64_t k = j; k < j_end; k++)
            memcpy(to_at(p, i, k), from_at(p, i, k), (size_t)p->item);
}

/* The rows from `i` on are fewer than a vector has elements. What a tile reads beyond them must not
 * be beyond the last element of the plane. */
static void copy_last_rows(const plane *p, const tiles *t, int64_t i, int64_t rows, int64_t columns)
{
    const int64_t side = VECTOR / p->item, beyond = VECTOR - (rows - i) * p->item;
    int64_t safe = 0, j = 0;
    if (i < rows && p->from_step > 0)
        safe = columns - (beyond + p->from_step - 1) / p->from_step;
    for (; j + side <= safe; j += side)
        t->rows(p, to_at(p, i, j), from_at(p, i, j), rows - i);
    copy_rest(p, i, rows, j, columns);
}

/* `rows` is a multiple of a tile's. */
static void copy_rows(const plane *p, const tiles *t, int64_t rows, int64_t columns)
{
    const int64_t side = VECTOR / p->item, block = LINE / p->item, whole = columns / side * side;
    for (int64_t i = 0; i < rows; i += block) {
        int64_t i_end = HR_MIN(i + block, rows);
        for (int64_t j = 0; j < whole; j += block)
            t->block(p, i, i_end, j, HR_MIN(j + block, whole));
        for (int64_t k = i; k < i_end && whole < columns; k += side)
            t->columns(p, to_at(p, k, whole), from_at(p, k, whole), columns - whole);
    }
}

/* The rows of whole tiles that fit a band. */
static int64_t band_height(const plane *p)
{
    const int64_t side = VECTOR / p->item;
    return BAND / p->to_step / side * side;
}

/* The same by way of a buffer in the cache. A processor writes long runs without reading the memory
 * before, which it must do for the tiles. */
static void copy_bands(const plane *p, const tiles *t, int64_t rows, int64_t columns)
{
    const int64_t height = band_height(p);
    char band[BAND];
    for (int64_t i = 0; i < rows; i += height) {
        const plane part = {band, from_at(p, i, 0), p->to_step, p->from_step, p->item};
        int64_t count = HR_MIN(height, rows - i);
        copy_rows(&part, t, count, columns);
        memcpy(to_at(p, i, 0), band, (size_t)(count * p->to_step));
    }
}

bool hr__tiles_copy(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t rows,
                    int64_t columns, size_t item)
{
    const tiles t = tiles_of(item);
    if (!t.block)
        return false;
    const plane p = {to, from, to_step, from_step, (int64_t)item};
    const int64_t side = VECTOR / p.item, whole = rows / side * side;
    bool dense = to_step == columns * p.item, large = dense && whole > BAND_LEAST / to_step;
    if (large && to_step % WAY != 0 && band_height(&p) > 0)
        copy_bands(&p, &t, whole, columns);
    else
        copy_rows(&p, &t, whole, columns);
    copy_last_rows(&p, &t, whole, rows, columns);
    return true;
}
