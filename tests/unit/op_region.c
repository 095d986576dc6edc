/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Copies of boxes against copies of single elements: any strides of the source, and gaps in the
 * output that must not change. */
#include "ops/generic/region.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 400000

static uint8_t source[ROOM], ours[ROOM], theirs[ROOM];
static uint64_t state = 7;

static int64_t below(int64_t n)
{
    state = hr_mix(state, 1);
    return (int64_t)(state % (uint64_t)n);
}

static void copy_plainly(uint8_t *to, const uint8_t *from, const hr_region *r, int32_t d)
{
    if (d == r->ndim) {
        memcpy(to, from, r->item);
        return;
    }
    for (int64_t i = 0; i < r->extent[d]; i++)
        copy_plainly(to + i * r->to[d], from + i * r->from[d], r, d + 1);
}

/* Dimensions in random order on both sides, with gaps; some are reversed or repeated in the source.
 */
static void make(hr_region *r, int64_t *offset)
{
    static const size_t items[] = {1, 2, 3, 4, 6, 8, 12, 16, 20};
    int32_t order[HR_MAX_NDIM];
    int64_t step;

    *offset = 0;
    r->item = items[below(9)];
    r->ndim = (int32_t)below(5);
    for (int32_t d = 0; d < r->ndim; d++) {
        order[d] = d;
        r->extent[d] = below(8) == 0 ? below(2) : 1 + below(r->ndim > 3 ? 7 : 21);
    }
    step = (int64_t)r->item;
    for (int32_t d = r->ndim - 1; d >= 0; d--) {
        r->to[d] = step;
        step *= r->extent[d] > 0 ? r->extent[d] + (below(4) == 0) : 1;
    }
    for (int32_t d = r->ndim - 1; d > 0; d--) {
        int32_t k = (int32_t)below(d + 1), swap = order[d];
        order[d] = order[k];
        order[k] = swap;
    }
    step = (int64_t)r->item;
    for (int32_t i = 0; i < r->ndim; i++) {
        int32_t d = order[i];
        bool back = below(5) == 0;
        r->from[d] = below(6) == 0 ? 0 : back ? -step : step;
        if (r->from[d] < 0 && r->extent[d] > 0)
            *offset += step * (r->extent[d] - 1);
        step *= HR_MAX(r->extent[d], 1) + (below(4) == 0);
    }
}

TEST(boxes_are_copied_as_one_by_one)
{
    for (size_t i = 0; i < ROOM; i++)
        source[i] = (uint8_t)below(256);
    for (int round = 0; round < 3000; round++) {
        hr_region r = {0}, simple;
        int64_t offset;
        make(&r, &offset);
        size_t top = r.item;
        for (int32_t d = 0; d < r.ndim; d++)
            top += (size_t)(r.extent[d] * r.to[d]);
        if (top > ROOM)
            continue;
        memset(ours, 0xa5, top);
        memset(theirs, 0xa5, top);
        copy_plainly(theirs, source + offset, &r, 0);
        hr__region_copy(ours, source + offset, &r);
        CHECK(memcmp(ours, theirs, top) == 0);
        simple = r;
        hr__region_simplify(&simple);
        memset(ours, 0xa5, top);
        copy_plainly(ours, source + offset, &simple, 0);
        CHECK(simple.ndim <= r.ndim && memcmp(ours, theirs, top) == 0);
    }
}

TEST(rows_of_one_element_and_planes)
{
    hr_shape shape = {3, {40, 50, 70}};
    hr_region r;
    for (size_t item = 1; item <= 2; item++) {
        hr__region_init(&r, &shape, item);
        CHECK(r.to[0] == (int64_t)(50 * 70 * item) && r.from[2] == (int64_t)item);
        memset(r.from, 0, sizeof(r.from));
        hr__region_copy(ours, source + 5, &r);
        for (size_t i = 0; i < 40 * 50 * 70 * item; i++)
            CHECK(ours[i] == source[5 + i % item]);
        const int64_t turned[] = {(int64_t)item, 40 * 70 * (int64_t)item, 40 * (int64_t)item};
        memcpy(r.from, turned, sizeof(turned));
        copy_plainly(theirs, source, &r, 0);
        hr__region_copy(ours, source, &r);
        CHECK(memcmp(ours, theirs, 40 * 50 * 70 * item) == 0);
    }
}

/* Transposes rows x columns, at the end of its memory: nothing beyond may be read. */
static void check_plane(int64_t rows, int64_t columns, size_t item)
{
    const hr_shape shape = {2, {rows, columns}};
    const size_t size = (size_t)(rows * columns) * item;
    uint8_t *plane = malloc(size);
    hr_region r;
    CHECK(plane != NULL && size < ROOM);
    for (size_t i = 0; i < size; i++)
        plane[i] = (uint8_t)below(256);
    hr__region_init(&r, &shape, item);
    r.from[0] = (int64_t)item;
    r.from[1] = rows * (int64_t)item;
    memset(ours, 0xa5, size + 1);
    copy_plainly(theirs, plane, &r, 0);
    hr__region_copy(ours, plane, &r);
    CHECK(memcmp(ours, theirs, size) == 0 && ours[size] == 0xa5);
    free(plane);
}

TEST(planes_are_transposed)
{
    static const struct {
        int64_t rows, columns;
    } large[] = {{301, 203}, {20, 4000}, {4000, 20}, {70, 1024}, {9, 9000}};
    for (size_t item = 1; item <= 8; item *= 2) {
        for (int64_t few = 2; few <= 17; few++) {
            check_plane(few, 50, item);
            check_plane(50, few, item);
            check_plane(few, few + 1, item);
        }
        for (size_t i = 0; i < HR_COUNT_OF(large) && item <= 4; i++)
            check_plane(large[i].rows, large[i].columns, item);
    }
}

/* Photographs in Fortran order, in memory of their exact sizes on both sides. */
TEST(arrays_in_fortran_order)
{
    static const hr_shape shapes[] = {{3, {50, 37, 3}}, {3, {3, 50, 37}},   {3, {37, 2, 50}},
                                      {3, {1, 60, 4}},  {4, {2, 19, 3, 5}}, {2, {130, 70}}};
    for (size_t k = 0; k < HR_COUNT_OF(shapes); k++)
        for (size_t item = 1; item <= 8; item *= 2) {
            hr_region r;
            size_t size = item;
            hr__region_init(&r, &shapes[k], item);
            for (int32_t d = 0; d < r.ndim; d++) {
                r.from[d] = (int64_t)size;
                size *= (size_t)r.extent[d];
            }
            uint8_t *from = malloc(size), *to = malloc(size);
            CHECK(from && to && size < ROOM);
            for (size_t i = 0; i < size; i++)
                from[i] = (uint8_t)below(256);
            copy_plainly(theirs, from, &r, 0);
            hr__region_copy(to, from, &r);
            CHECK(memcmp(to, theirs, size) == 0);
            free(from);
            free(to);
        }
}

TEST_MAIN
