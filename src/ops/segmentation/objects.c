/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Union-find over the elements in memory order. The representative of a set is its first element,
 * so a second pass finds representatives before the other elements. */
#include "ops/segmentation/objects.h"

#include <string.h>

static int32_t first_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

static void join(int32_t *parent, int32_t a, int32_t b)
{
    a = first_of(parent, a);
    b = first_of(parent, b);
    if (a < b)
        parent[b] = a;
    else
        parent[a] = b;
}

/* Moves the coordinates to the next row: the last dimension stays. */
static void next_row(const hr_shape *shape, int64_t *at)
{
    for (int32_t d = shape->ndim - 2; d >= 0; d--) {
        if (++at[d] < shape->extent[d])
            return;
        at[d] = 0;
    }
}

static void connect(const int32_t *labels, const hr_shape *shape, int32_t background, int32_t count,
                    int32_t *parent)
{
    const int32_t width = (int32_t)shape->extent[shape->ndim - 1];
    int64_t at[HR_OBJECT_DIMS] = {0};

    for (int32_t row = 0; row < count; row += width) {
        int32_t stride = width;
        for (int32_t i = row; i < row + width; i++)
            parent[i] = i > row && labels[i] == labels[i - 1] && labels[i] != background
                            ? parent[i - 1]
                            : i;
        for (int32_t d = shape->ndim - 2; d >= 0; d--) {
            bool before = false; /* the element before was joined with the same object */
            for (int32_t i = row; i < row + width && at[d] > 0; i++) {
                bool same = labels[i] != background && labels[i] == labels[i - stride];
                if (same && !(before && labels[i] == labels[i - 1]))
                    join(parent, i, i - stride);
                before = same;
            }
            stride *= (int32_t)shape->extent[d];
        }
        next_row(shape, at);
    }
}

/* Replaces parents by numbers of objects, and returns how many there are. */
static int32_t number(const int32_t *labels, int32_t background, int32_t count, int32_t *parent)
{
    int32_t objects = 0;

    for (int32_t i = 0; i < count; i++)
        if (labels[i] != background)
            parent[i] = parent[i] == i ? objects++ : parent[parent[i]];
    return objects;
}

static void measure(const int32_t *labels, const hr_shape *shape, int32_t background, int32_t count,
                    const int32_t *object_of, hr_component *objects)
{
    const int32_t width = (int32_t)shape->extent[shape->ndim - 1], last = shape->ndim - 1;
    int64_t at[HR_OBJECT_DIMS] = {0};

    for (int32_t row = 0; row < count; row += width) {
        for (int32_t x = 0; x < width; x++) {
            if (labels[row + x] == background)
                continue;
            hr_component *o = &objects[object_of[row + x]];
            bool fresh = o->high[last] == 0;
            o->label = labels[row + x];
            o->number = object_of[row + x];
            at[last] = x;
            for (int32_t d = 0; d <= last; d++) {
                o->low[d] = fresh ? (int32_t)at[d] : HR_MIN(o->low[d], (int32_t)at[d]);
                o->high[d] = HR_MAX(o->high[d], (int32_t)at[d] + 1);
            }
        }
        next_row(shape, at);
    }
}

hr_status hr__objects_find(const int32_t *labels, const hr_shape *shape, int32_t background,
                           hr_arena *arena, hr_component **objects, int32_t *count, hr_error *error)
{
    size_t volume;

    *count = 0;
    *objects = NULL;
    if (!hr_shape_volume(shape, &volume) || volume > INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "the mask has more than 2^31 - 1 elements");
    if (volume == 0)
        return HR_STATUS_OK;
    int32_t *parent = hr_arena_alloc(arena, volume * sizeof(*parent), error);
    HR_TRY_ALLOC(parent);
    connect(labels, shape, background, (int32_t)volume, parent);
    *count = number(labels, background, (int32_t)volume, parent);
    *objects = hr_arena_alloc(arena, (size_t)*count * sizeof(hr_component), error);
    HR_TRY_ALLOC(*objects);
    memset(*objects, 0, (size_t)*count * sizeof(hr_component));
    measure(labels, shape, background, (int32_t)volume, parent, *objects);
    return HR_STATUS_OK;
}
