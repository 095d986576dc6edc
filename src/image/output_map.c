/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The output's strides, and the part of its window that is not fill. */
#include "image/output_map.h"

#include <string.h>

static hr_window window_inside(const hr_image_program *p)
{
    if (!p->has_fill)
        return (hr_window){0, 0, p->window.h, p->window.w};
    const hr_window e = p->exist;
    int64_t y0 = HR_MAX(p->window.y, e.y), y1 = HR_MIN(p->window.y + p->window.h, e.y + e.h);
    int64_t x0 = HR_MAX(p->window.x, e.x), x1 = HR_MIN(p->window.x + p->window.w, e.x + e.w);
    if (y1 <= y0 || x1 <= x0)
        return (hr_window){0, 0, 0, 0};
    return (hr_window){y0 - p->window.y, x0 - p->window.x, y1 - y0, x1 - x0};
}

static void outer_inside(const hr_outer *o, int64_t *first, int64_t *count)
{
    int64_t end = o->start + o->count, low = HR_MAX(o->low, o->start), high = HR_MIN(o->high, end);
    *count = HR_MAX(high - low, 0);
    *first = *count == 0 ? 0 : o->reverse ? end - high : low - o->start;
}

hr_status hr__output_map_make(hr_output_map *map, const hr_image_program *p, hr_error *error)
{
    size_t stride = 1;
    memset(map, 0, sizeof(*map));
    map->inside = window_inside(p);
    map->plane_outer = -1;
    map->c = 1;
    for (int32_t i = (int32_t)strlen(p->layout.name) - 1; i >= 0; i--) {
        char letter = p->layout.name[i];
        if (letter == 'H')
            map->y = stride;
        else if (letter == 'W')
            map->x = stride;
        else if (letter == 'C')
            map->c = stride;
        for (int32_t o = 0; o < p->outer_count; o++)
            if (p->outer[o].letter == letter)
                map->outer[o] = stride;
        if (!hr_size_mul(stride, (size_t)hr_program_extent(p, letter), &stride))
            return hr_fail(error, HR_STATUS_LIMIT, "the output does not fit in memory");
    }
    map->all_fill = map->inside.h < 1 || map->inside.w < 1;
    for (int32_t o = 0; o < p->outer_count; o++) {
        outer_inside(&p->outer[o], &map->first[o], &map->count[o]);
        map->all_fill |= map->count[o] == 0;
        if (p->outer[o].letter == 'C')
            map->plane_outer = o;
    }
    map->total = stride;
    return HR_STATUS_OK;
}
