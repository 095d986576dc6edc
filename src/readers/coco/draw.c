/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Masks of COCO annotations as pixels. */
#include <stdlib.h>
#include <string.h>

#include "readers/coco/data.h"

#define SCALE 5        /* polygons are drawn on a grid that is this much finer */
#define FAR_AWAY 1.0e5 /* coordinates beyond it are errors: they cost time and mean nothing */

bool hr_coco_decode_counts(hr_scan *counts, const char *text, size_t size, hr_error *error)
{
    int64_t before[2] = {0, 0}; /* the last but one, the last */
    int64_t number = 0;
    for (size_t at = 0; at < size; number++) {
        int64_t value = 0;
        int32_t shift = 0;
        uint8_t c;
        do {
            c = (uint8_t)(at < size ? text[at++] - 48 : 255);
            if (c > 63 || shift > 30)
                return false;
            value |= (int64_t)(c & 31) << shift;
            shift += 5;
        } while (c & 32);
        if (c & 16)
            value -= (int64_t)1 << shift;
        if (number > 2)
            value += before[0];
        if (value < 0 || value > UINT32_MAX)
            return false;
        const uint32_t count = (uint32_t)value;
        before[0] = before[1];
        before[1] = value;
        if (hr_scan_add(counts, &count, sizeof(count), error) != HR_STATUS_OK)
            return false;
    }
    return true;
}

/* What is painted, and the outline of the shape that is being drawn. Positions count the pixels
 * column by column. Shapes are painted in falling order of their labels, and a pixel that is
 * painted stays: the time does not depend on how often shapes cover each other. */
typedef struct canvas {
    int32_t *out; /* height x width */
    int32_t width, height, pixels;
    int32_t *next;    /* of each position, the way to the next one that is not painted */
    uint8_t *bits;    /* CHANGES, LISTED */
    int32_t *changes; /* positions with bits */
    int32_t count;
    bool sorted;
} canvas;

enum { CHANGES = 1, LISTED = 2 };

/* From this position on, pixels are inside instead of outside. */
static void change(canvas *c, int32_t at)
{
    if (!(c->bits[at] & LISTED)) {
        c->sorted = c->sorted && (c->count == 0 || c->changes[c->count - 1] < at);
        c->changes[c->count++] = at;
    }
    c->bits[at] = (c->bits[at] | LISTED) ^ CHANGES;
}

/* The outline goes from grid column x0 to x1, a neighbour, at the higher row y of both. If it
 * crosses the centre of a column of pixels, the pixels from there on are inside instead of outside.
 * The row below the last one of a column is the top of the next column. */
static void cross(canvas *c, int64_t x0, int64_t x1, int64_t y)
{
    const int64_t x = HR_MIN(x0, x1) - SCALE / 2;
    if (x0 == x1 || x < 0 || x % SCALE != 0 || x / SCALE >= c->width)
        return;
    int64_t above = y - SCALE / 2; /* grid rows above the centre of pixel row 0 do not count */
    int64_t row = above <= 0 ? 0 : HR_MIN(HR_DIVIDE_UP(above, SCALE), c->height);
    change(c, (int32_t)(x / SCALE * c->height + row));
}

typedef struct point {
    int64_t x, y;
} point;

static int64_t nearest_to(int64_t from, double slope, int64_t steps)
{
    return (int64_t)((double)from + slope * (double)steps + 0.5);
}

/* One edge of a polygon, along the axis in which it is longer; always from the lower end. */
static void draw_edge(canvas *c, point a, point b)
{
    int64_t dx = a.x < b.x ? b.x - a.x : a.x - b.x, dy = a.y < b.y ? b.y - a.y : a.y - b.y;
    bool flat = dx >= dy, swap = flat ? a.x > b.x : a.y > b.y;
    const point low = swap ? b : a, high = swap ? a : b;
    if (dx == 0)
        return;
    double slope =
        flat ? (double)(high.y - low.y) / (double)dx : (double)(high.x - low.x) / (double)dy;
    /* Columns outside the image are not crossed. */
    int64_t t = flat ? HR_MAX(1, -low.x) : 1,
            end = flat ? HR_MIN(dx, SCALE * c->width - low.x) : dy;
    if (HR_MIN(a.x, b.x) > SCALE * c->width || HR_MAX(a.x, b.x) < 0)
        return;
    point last = flat ? (point){low.x + t - 1, nearest_to(low.y, slope, t - 1)} : low;
    for (; t <= end; t++) {
        point p = flat ? (point){low.x + t, nearest_to(low.y, slope, t)}
                       : (point){nearest_to(low.x, slope, t), low.y + t};
        cross(c, last.x, p.x, HR_MIN(last.y, p.y));
        last = p;
    }
}

static hr_status draw_polygon(canvas *c, const float *xy, int64_t vertices, hr_error *error)
{
    point first = {0, 0}, last = {0, 0};
    for (int64_t i = 0; i < vertices; i++) {
        double x = (double)xy[2 * i], y = (double)xy[2 * i + 1];
        if (!(x > -FAR_AWAY && x < FAR_AWAY && y > -FAR_AWAY && y < FAR_AWAY))
            return hr_fail(error, HR_STATUS_CORRUPT, "a vertex of its polygons is at %g, %g", x, y);
        const point p = {(int64_t)(SCALE * x + 0.5), (int64_t)(SCALE * y + 0.5)};
        if (i == 0)
            first = p;
        else
            draw_edge(c, last, p);
        last = p;
    }
    if (vertices > 0)
        draw_edge(c, last, first);
    return HR_STATUS_OK;
}

static int32_t next_free(canvas *c, int32_t at)
{
    while (c->next[at] != at)
        at = c->next[at] = c->next[c->next[at]];
    return at;
}

static void paint_run(canvas *c, int32_t first, int32_t end, int32_t label)
{
    for (int32_t i = next_free(c, first); i < end; i = next_free(c, i)) {
        c->out[(int64_t)(i % c->height) * c->width + i / c->height] = label;
        c->next[i] = i + 1;
    }
}

static int by_position(const void *x, const void *y)
{
    const int32_t *a = x, *b = y;
    return (*a > *b) - (*a < *b);
}

/* Sets the pixels that are inside the outline to `label`, and clears the outline. */
static void paint(canvas *c, int32_t label)
{
    int32_t first = -1;
    if (!c->sorted)
        qsort(c->changes, (size_t)c->count, sizeof(*c->changes), by_position);
    for (int32_t i = 0; i < c->count; i++) {
        const int32_t at = c->changes[i];
        const bool changes = c->bits[at] & CHANGES;
        c->bits[at] = 0;
        if (!changes)
            continue;
        if (first >= 0)
            paint_run(c, first, at, label);
        first = first >= 0 ? -1 : at;
    }
    if (first >= 0)
        paint_run(c, first, c->pixels, label);
    c->count = 0;
    c->sorted = true;
}

static hr_status draw_rle(const hr_coco_data *d, canvas *c, const hr_coco_rle *rle, hr_error *error)
{
    const uint32_t *counts = HR_COCO_AT(d->counts, uint32_t) + rle->counts.first;
    int64_t at = 0;
    if (rle->height != c->height || rle->width != c->width)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "it has %dx%d pixels, but one of its masks %lldx%lld", c->height, c->width,
                       (long long)rle->height, (long long)rle->width);
    for (int64_t i = 0; i < rle->counts.count; i++) {
        at += counts[i];
        if (at > c->pixels)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "the run lengths of one of its masks exceed the image");
        if (i + 1 < rle->counts.count || i % 2 == 1) /* a run of ones ends where the image may */
            change(c, (int32_t)at);
    }
    return HR_STATUS_OK;
}

/* A polygon, or a mask as run lengths. */
typedef struct shape {
    int32_t label;
    bool is_rle;
    int64_t index;
} shape;

/* Higher labels first; then in the order of the tables, so that errors are always the same. */
static int by_label(const void *x, const void *y)
{
    const shape *a = x, *b = y;
    if (a->label != b->label)
        return a->label > b->label ? -1 : 1;
    if (a->is_rle != b->is_rle)
        return a->is_rle - b->is_rle;
    return (a->index > b->index) - (a->index < b->index);
}

/* The shapes of an image in the order in which they are painted. */
static hr_status sort_shapes(const hr_coco_data *d, const hr_coco_image *m, hr_arena *arena,
                             shape **out, int64_t *count, hr_error *error)
{
    const int32_t *labels = &HR_COCO_AT(d->labels, int32_t)[m->boxes.first];
    const hr_coco_polygon *polygons = HR_COCO_AT(d->polygons, hr_coco_polygon);
    const hr_coco_rle *rles = HR_COCO_AT(d->rles, hr_coco_rle);
    const size_t most = (size_t)m->polygons.count + (size_t)m->rles.count;
    shape *shapes = *out = hr_arena_alloc(arena, most * sizeof(*shapes), error);
    int64_t n = 0;
    HR_TRY_ALLOC(shapes);
    for (int64_t i = m->polygons.first; i < m->polygons.first + m->polygons.count; i++) {
        const hr_coco_polygon *p = &polygons[i];
        if (p->mask >= 0 && p->mask < m->boxes.count && p->start < p->end)
            shapes[n++] = (shape){labels[p->mask], false, i};
    }
    for (int64_t i = m->rles.first; i < m->rles.first + m->rles.count; i++)
        if (rles[i].mask >= 0 && rles[i].mask < m->boxes.count && rles[i].counts.count > 0)
            shapes[n++] = (shape){labels[rles[i].mask], true, i};
    if (n > 0)
        qsort(shapes, (size_t)n, sizeof(*shapes), by_label);
    *count = n;
    return HR_STATUS_OK;
}

static hr_status prepare(canvas *c, hr_arena *arena, hr_error *error)
{
    const size_t n = (size_t)c->pixels + 1;
    c->next = hr_arena_alloc(arena, n * sizeof(*c->next), error);
    c->changes = c->next ? hr_arena_alloc(arena, n * sizeof(*c->changes), error) : NULL;
    c->bits = c->changes ? hr_arena_alloc(arena, n, error) : NULL;
    HR_TRY_ALLOC(c->bits);
    memset(c->bits, 0, n);
    for (int32_t i = 0; i <= c->pixels; i++)
        c->next[i] = i;
    return HR_STATUS_OK;
}

hr_status hr_coco_draw(const hr_coco_data *d, const hr_coco_image *m, int32_t *out, hr_arena *arena,
                       hr_error *error)
{
    const int64_t pixels = (int64_t)m->width * m->height;
    canvas c = {.out = out,
                .width = m->width,
                .height = m->height,
                .pixels = (int32_t)pixels,
                .sorted = true};
    shape *shapes;
    int64_t count = 0;
    if (m->width < 0 || m->height < 0 || pixels >= INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "a mask of %dx%d pixels is too large", m->height,
                       m->width);
    if (m->boxes.count == 0)
        return HR_STATUS_OK;
    HR_TRY(sort_shapes(d, m, arena, &shapes, &count, error));
    HR_TRY(prepare(&c, arena, error));
    for (int64_t i = 0; i < count; i++) {
        if (shapes[i].is_rle) {
            HR_TRY(draw_rle(d, &c, &HR_COCO_AT(d->rles, hr_coco_rle)[shapes[i].index], error));
        } else {
            const hr_coco_polygon *p = &HR_COCO_AT(d->polygons, hr_coco_polygon)[shapes[i].index];
            const float *xy = &HR_COCO_AT(d->vertices, float)[2 * (m->vertices.first + p->start)];
            HR_TRY(draw_polygon(&c, xy, p->end - p->start, error));
        }
        paint(&c, shapes[i].label);
    }
    return HR_STATUS_OK;
}
