/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Masks of COCO annotations as pixels. */
#include <string.h>

#include "readers/coco_data.h"

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

/* The bits of an image column by column, and which of them change their value. */
typedef struct canvas {
    uint8_t *bits;
    int64_t width, height;
    int64_t first, last; /* columns with changes */
} canvas;

/* The outline goes from grid column x0 to x1, a neighbour, at the higher row y of both. If it
 * crosses the centre of a column of pixels, the pixels from there on are inside instead of outside.
 */
static void cross(canvas *c, int64_t x0, int64_t x1, int64_t y)
{
    const int64_t x = HR_MIN(x0, x1) - SCALE / 2;
    if (x0 == x1 || x < 0 || x % SCALE != 0 || x / SCALE >= c->width)
        return;
    int64_t above = y - SCALE / 2; /* grid rows above the centre of pixel row 0 do not count */
    int64_t row = above <= 0 ? 0 : HR_MIN(HR_DIVIDE_UP(above, SCALE), c->height);
    c->bits[x / SCALE * c->height + row] ^= 1;
    c->first = HR_MIN(c->first, x / SCALE);
    c->last = HR_MAX(c->last, x / SCALE);
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

/* Sets the pixels that are inside to `label`, and clears the bits. A change in the row below the
 * last one of a column is at the top of the next column. */
static void paint(canvas *c, int32_t label, int32_t *out)
{
    uint8_t inside = 0;
    int64_t i = c->first * c->height;
    for (int64_t x = c->first; x <= HR_MIN(c->last + 1, c->width - 1); x++)
        for (int64_t y = 0; y < c->height; y++, i++) {
            inside ^= c->bits[i];
            c->bits[i] = 0;
            if (inside)
                out[y * c->width + x] = label;
        }
    c->bits[c->width * c->height] = 0;
    c->first = c->width;
    c->last = -1;
}

static hr_status draw_rle(const hr_coco_data *d, canvas *c, const hr_coco_rle *rle, hr_error *error)
{
    const uint32_t *counts = HR_COCO_AT(d->counts, uint32_t) + rle->counts.first;
    int64_t at = 0, total = c->width * c->height;
    if (rle->height != c->height || rle->width != c->width)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "it has %lldx%lld pixels, but one of its masks %lldx%lld",
                       (long long)c->height, (long long)c->width, (long long)rle->height,
                       (long long)rle->width);
    for (int64_t i = 0; i < rle->counts.count; i++) {
        at += counts[i];
        if (at > total)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "the run lengths of one of its masks exceed the image");
        if (i + 1 < rle->counts.count)
            c->bits[at] ^= 1;
    }
    c->first = 0;
    c->last = c->width - 1;
    if (rle->counts.count % 2 == 0 && rle->counts.count > 0) /* ends in ones */
        c->bits[at] ^= 1;
    return HR_STATUS_OK;
}

/* The masks of one annotation, each painted by itself so that they are united. */
static hr_status draw_box(const hr_coco_data *d, const hr_coco_image *m, int32_t box, canvas *c,
                          int32_t *out, hr_error *error)
{
    const int32_t label = HR_COCO_AT(d->labels, int32_t)[m->boxes.first + box];
    for (int64_t i = m->polygons.first; i < m->polygons.first + m->polygons.count; i++) {
        const hr_coco_polygon *p = &HR_COCO_AT(d->polygons, hr_coco_polygon)[i];
        if (p->mask != box || p->start == p->end)
            continue;
        const float *xy = &HR_COCO_AT(d->vertices, float)[2 * (m->vertices.first + p->start)];
        HR_TRY(draw_polygon(c, xy, p->end - p->start, error));
        paint(c, label, out);
    }
    for (int64_t i = m->rles.first; i < m->rles.first + m->rles.count; i++) {
        const hr_coco_rle *rle = &HR_COCO_AT(d->rles, hr_coco_rle)[i];
        if (rle->mask != box || rle->counts.count == 0)
            continue;
        HR_TRY(draw_rle(d, c, rle, error));
        paint(c, label, out);
    }
    return HR_STATUS_OK;
}

hr_status hr_coco_draw(const hr_coco_data *d, const hr_coco_image *m, int32_t *out, uint8_t *bits,
                       hr_error *error)
{
    canvas c = {bits, m->width, m->height, m->width, -1};
    if (m->boxes.count == 0)
        return HR_STATUS_OK;
    const int32_t *labels = &HR_COCO_AT(d->labels, int32_t)[m->boxes.first];
    int64_t next = INT64_MIN;
    for (bool more = true; more;) {
        int64_t label = next; /* the next higher one */
        more = false;
        for (int64_t i = 0; i < m->boxes.count; i++) {
            if (labels[i] >= label && (!more || labels[i] < next)) {
                next = labels[i];
                more = true;
            }
        }
        for (int64_t i = 0; more && i < m->boxes.count; i++)
            if (labels[i] == next)
                HR_TRY(draw_box(d, m, (int32_t)i, &c, out, error));
        next++;
    }
    return HR_STATUS_OK;
}
