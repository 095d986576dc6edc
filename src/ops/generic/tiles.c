/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/generic/tiles.h"

#include <string.h>

#define VECTOR 16 /* bytes */
#define LINE 64   /* bytes that both sides use of a cache line before they go on */

/* A square of elements, as many as fit a vector: rows i and i + n/2 are interleaved, log2(n) times.
 */
#define TILE(bits, n, low, high)                                                                   \
    typedef uint##bits##_t vector##bits __attribute__((vector_size(VECTOR)));                      \
    static void tile##bits(char *to, int64_t to_step, const char *from, int64_t from_step)         \
    {                                                                                              \
        vector##bits row[n], next[n];                                                              \
        for (int i = 0; i < (n); i++)                                                              \
            memcpy(&row[i], from + i * from_step, VECTOR);                                         \
        for (int step = 1; step < (n); step *= 2) {                                                \
            for (int i = 0; i < (n) / 2; i++) {                                                    \
                next[2 * i] = __builtin_shufflevector(row[i], row[i + (n) / 2], low);              \
                next[2 * i + 1] = __builtin_shufflevector(row[i], row[i + (n) / 2], high);         \
            }                                                                                      \
            memcpy(row, next, sizeof(row));                                                        \
        }                                                                                          \
        for (int i = 0; i < (n); i++)                                                              \
            memcpy(to + i * to_step, &row[i], VECTOR);                                             \
    }
#define LIST(...) __VA_ARGS__
TILE(8, 16, LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
     LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
TILE(16, 8, LIST(0, 8, 1, 9, 2, 10, 3, 11), LIST(4, 12, 5, 13, 6, 14, 7, 15))
TILE(32, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))
TILE(64, 2, LIST(0, 2), LIST(1, 3))

typedef void (*tile_fn)(char *to, int64_t to_step, const char *from, int64_t from_step);

typedef struct plane {
    char *to;
    const char *from;
    int64_t to_step, from_step, item;
} plane;

static tile_fn tile_of(size_t item)
{
    switch (item) {
    case 1:
        return tile8;
    case 2:
        return tile16;
    case 4:
        return tile32;
    case 8:
        return tile64;
    default:
        return NULL;
    }
}

/* Whole tiles of rows i .. i_end - 1 and columns j .. j_end - 1. */
static void copy_block(const plane *p, tile_fn tile, int64_t i, int64_t i_end, int64_t j,
                       int64_t j_end)
{
    const int64_t side = VECTOR / p->item;
    for (; i < i_end; i += side)
        for (int64_t k = j; k < j_end; k += side)
            tile(p->to + i * p->to_step + k * p->item, p->to_step,
                 p->from + i * p->item + k * p->from_step, p->from_step);
}

/* The lines of the block after the one that begins in column `j`. Their addresses are too far apart
 * for the processor to guess. */
static void prefetch(const plane *p, int64_t i, int64_t i_end, int64_t j, int64_t j_end)
{
    for (int64_t k = j; k < j_end; k++)
        __builtin_prefetch(p->from + i * p->item + k * p->from_step, 0);
    for (; i < i_end && j < j_end; i++)
        __builtin_prefetch(p->to + i * p->to_step + j * p->item, 1);
}

static void copy_rest(const plane *p, int64_t i, int64_t i_end, int64_t j, int64_t j_end)
{
    for (; i < i_end; i++)
        for (int64_t k = j; k < j_end; k++)
            memcpy(p->to + i * p->to_step + k * p->item, p->from + i * p->item + k * p->from_step,
                   (size_t)p->item);
}

bool hr__tiles_copy(void *to, int64_t to_step, const void *from, int64_t from_step, int64_t rows,
                    int64_t columns, size_t item)
{
    const tile_fn tile = tile_of(item);
    if (!tile)
        return false;
    const plane p = {to, from, to_step, from_step, (int64_t)item};
    const int64_t side = VECTOR / p.item, block = LINE / p.item;
    const int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;
    for (int64_t i = 0; i < whole_rows; i += block) {
        for (int64_t j = 0; j < whole_columns; j += block) {
            int64_t i_end = HR_MIN(i + block, whole_rows), j_end = HR_MIN(j + block, whole_columns);
            prefetch(&p, i, i_end, j_end, HR_MIN(j_end + block, whole_columns));
            copy_block(&p, tile, i, i_end, j, j_end);
        }
    }
    copy_rest(&p, 0, whole_rows, whole_columns, columns);
    copy_rest(&p, whole_rows, rows, 0, columns);
    return true;
}
