/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Affine and perspective maps as Pillow applies them: the maps of its Image.rotate and of
 * torchvision's affine and perspective, and its ways of taking pixels. */
#include "ops/torchvision/augment.h"
#include "core/mathx.h"

#include <math.h>
#include <string.h>

enum { FILTER_NEAREST, FILTER_BILINEAR, FILTER_BICUBIC };

static double radians(double degrees)
{
    return hr__between(degrees, -1e6, 1e6) * (3.14159265358979323846 / 180.0);
}

static int32_t filter_of(double v)
{
    return v < 0.5 ? FILTER_NEAREST : v < 1.5 ? FILTER_BILINEAR : FILTER_BICUBIC;
}

/* A pixel at (x, y) comes from ((m0 x + m1 y + m2) / z, (m3 x + m4 y + m5) / z), where z is
 * m6 x + m7 y + 1. */
typedef struct warp {
    double m[8];
    int32_t filter;
    const double *fill; /* per channel */
} warp;

typedef struct position {
    double x, y;
} position;

static position warp_at(const warp *t, int64_t x, int64_t y)
{
    const double *m = t->m;
    double u = (double)x + 0.5, v = (double)y + 0.5;
    position p = {m[0] * u + m[1] * v + m[2], m[3] * u + m[4] * v + m[5]};

    if (m[6] != 0.0 || m[7] != 0.0) {
        double z = m[6] * u + m[7] * v + 1.0;
        p.x /= z;
        p.y /= z;
    }
    return p;
}

/* ---- taking one pixel ---- */

static bool inside(const hr_image *p, position at)
{
    return at.x >= 0.0 && at.x < (double)p->w && at.y >= 0.0 && at.y < (double)p->h;
}

static void take_bilinear(const hr_image *p, position at, uint8_t *out)
{
    int64_t x = (int64_t)floor(at.x - 0.5), y = (int64_t)floor(at.y - 0.5);
    double dx = at.x - 0.5 - (double)x, dy = at.y - 0.5 - (double)y;
    int64_t left = HR_MAX(x, 0) * p->c, right = HR_MIN(x + 1, p->w - 1) * p->c;
    const uint8_t *above = p->data + HR_MAX(y, 0) * p->w * p->c;
    const uint8_t *below = p->data + HR_MIN(y + 1, p->h - 1) * p->w * p->c;

    for (int32_t c = 0; c < p->c; c++, left++, right++) {
        double a = above[left] + (above[right] - above[left]) * dx;
        double b = below[left] + (below[right] - below[left]) * dx;
        out[c] = (uint8_t)(a + (b - a) * dy);
    }
}

/* The cubic through b (0) and c (1) with Pillow's slopes. */
static double cubic(double a, double b, double c, double d, double t)
{
    double slope = c - a, second = 2.0 * (a - b) + c - d, third = b - a - c + d;
    return b + t * (slope + t * (second + t * third));
}

static int64_t limit(int64_t i, int64_t n)
{
    return i < 0 ? 0 : HR_MIN(i, n - 1);
}

static void take_bicubic(const hr_image *p, position at, uint8_t *out)
{
    int64_t x = (int64_t)floor(at.x - 0.5), y = (int64_t)floor(at.y - 0.5), column[4];
    double dx = at.x - 0.5 - (double)x, dy = at.y - 0.5 - (double)y, row[4];

    for (int64_t k = 0; k < 4; k++)
        column[k] = limit(x - 1 + k, p->w) * p->c;
    for (int32_t c = 0; c < p->c; c++) {
        for (int64_t k = 0; k < 4; k++) {
            const uint8_t *in = p->data + limit(y - 1 + k, p->h) * p->w * p->c + c;
            row[k] = cubic(in[column[0]], in[column[1]], in[column[2]], in[column[3]], dx);
        }
        double v = cubic(row[0], row[1], row[2], row[3], dy);
        out[c] = (uint8_t)hr__between(v, 0.0, 255.0);
    }
}

static void copy_pixel(const hr_image *p, int64_t x, int64_t y, uint8_t *out)
{
    const uint8_t *in = p->data + (y * p->w + x) * p->c;
    for (int32_t c = 0; c < p->c; c++)
        out[c] = in[c];
}

/* ---- whole images: from data of p to `out`, which has the fill ---- */

static void run_filter(const hr_image *p, const warp *t, uint8_t *out, int64_t h, int64_t w)
{
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++, out += p->c) {
            position at = warp_at(t, x, y);
            if (!inside(p, at))
                continue;
            if (t->filter == FILTER_NEAREST)
                copy_pixel(p, (int64_t)at.x, (int64_t)at.y, out);
            else if (t->filter == FILTER_BILINEAR)
                take_bilinear(p, at, out);
            else
                take_bicubic(p, at, out);
        }
}

/* In 65536ths; `most` keeps sums over an image within 64 bits. */
static int64_t fixed(double v, double most)
{
    return (int64_t)floor(hr__between(v, -most, most) * 65536.0 + 0.5);
}

/* Nearest neighbours of an affine map: positions in 65536ths of a pixel are added up. */
static void run_fixed(const hr_image *p, const double *m, uint8_t *out, int64_t h, int64_t w)
{
    int64_t step_x = fixed(m[0], 32767.0), row_x = fixed(m[1], 32767.0);
    int64_t step_y = fixed(m[3], 32767.0), row_y = fixed(m[4], 32767.0);
    int64_t start_x = fixed(m[2] + m[0] * 0.5 + m[1] * 0.5, 1e9);
    int64_t start_y = fixed(m[5] + m[3] * 0.5 + m[4] * 0.5, 1e9);

    for (int64_t y = 0; y < h; y++, start_x += row_x, start_y += row_y) {
        int64_t at_x = start_x, at_y = start_y;
        for (int64_t x = 0; x < w; x++, out += p->c, at_x += step_x, at_y += step_y) {
            int64_t from_x = at_x >> 16, from_y = at_y >> 16;
            if (from_x >= 0 && from_x < p->w && from_y >= 0 && from_y < p->h)
                copy_pixel(p, from_x, from_y, out);
        }
    }
}

/* Nearest neighbours along one axis, whose positions are added up as they are; -1: outside. */
static void axis_positions(int32_t *from, int64_t n, double start, double step, int64_t size)
{
    for (int64_t i = 0; i < n; i++, start += step)
        from[i] = start >= 0.0 && start < (double)size ? (int32_t)start : -1;
}

static hr_status run_scale(const hr_image *p, const double *m, uint8_t *out, int64_t h, int64_t w,
                           hr_error *error)
{
    int32_t *columns = hr_arena_alloc(p->call->arena, sizeof(int32_t) * (size_t)(w + h), error);

    HR_TRY_ALLOC(columns);
    int32_t *rows = columns + w;
    axis_positions(columns, w, m[2] + m[0] * 0.5, m[0], p->w);
    axis_positions(rows, h, m[5] + m[4] * 0.5, m[4], p->h);
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++, out += p->c)
            if (rows[y] >= 0 && columns[x] >= 0)
                copy_pixel(p, columns[x], rows[y], out);
    return HR_STATUS_OK;
}

static void fill(uint8_t *out, int64_t pixels, int32_t channels, const double *value)
{
    uint8_t level[3];

    for (int32_t c = 0; c < 3; c++)
        level[c] = (uint8_t)hr__between(value[c], 0.0, 255.0);
    for (int64_t i = 0; i < pixels; i++)
        for (int32_t c = 0; c < channels; c++)
            *out++ = level[c];
}

/* A box becomes the one around its corners, which go where pixels come from. */
static void warp_rows(hr_box_rows *rows, const warp *t, int64_t h, int64_t w)
{
    const double *m = t->m;
    const double back[9] = {
        m[4] - m[5] * m[7],        m[2] * m[7] - m[1],        m[1] * m[5] - m[2] * m[4],
        m[5] * m[6] - m[3],        m[0] - m[2] * m[6],        m[2] * m[3] - m[0] * m[5],
        m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]};

    for (int64_t i = 1; i < rows->n; i++) {
        float *box = rows->v + i * HR_ROW, low[2] = {0, 0}, high[2] = {0, 0};
        for (int32_t k = 0; k < 4; k++) {
            double x = (double)box[k % 2 * 2], y = (double)box[k / 2 * 2 + 1];
            double z = back[6] * x + back[7] * y + back[8];
            const float to[2] = {(float)((back[0] * x + back[1] * y + back[2]) / z),
                                 (float)((back[3] * x + back[4] * y + back[5]) / z)};
            for (int32_t axis = 0; axis < 2; axis++) {
                low[axis] = k == 0 ? to[axis] : HR_MIN(low[axis], to[axis]);
                high[axis] = k == 0 ? to[axis] : HR_MAX(high[axis], to[axis]);
            }
        }
        memcpy(box, low, sizeof(low));
        memcpy(box + 2, high, sizeof(high));
    }
    hr__rows_resize(rows, h, w);
    hr__rows_clamp(rows);
}

/* The image becomes one of h x w pixels. */
static hr_status warp_run(hr_image *p, const warp *t, int64_t h, int64_t w, hr_error *error)
{
    hr_image from = *p;
    hr_status status = HR_STATUS_OK;
    bool affine = t->m[6] == 0.0 && t->m[7] == 0.0;

    HR_TRY(hr__image_resize(p, h, w, p->c, error));
    if (p->rows)
        warp_rows(p->rows, t, h, w);
    if (!p->data)
        return HR_STATUS_OK;
    fill(p->spare, h * w, p->c, t->fill);
    if (t->filter != FILTER_NEAREST || !affine)
        run_filter(&from, t, p->spare, h, w);
    else if (t->m[1] == 0.0 && t->m[3] == 0.0)
        status = run_scale(&from, t->m, p->spare, h, w, error);
    else
        run_fixed(&from, t->m, p->spare, h, w);
    hr__image_swap(p);
    return status;
}

/* ---- torchvision's parameters ---- */

/* How a translation is given: in pixels or in parts of the image, and how it is rounded. */
enum { SHIFT_PIXELS, SHIFT_PARTS_CUT, SHIFT_PARTS_ROUND };

static double shift(double v, double unit, int64_t size)
{
    double pixels = unit == SHIFT_PIXELS ? v : v * (double)size;
    if (unit == SHIFT_PARTS_ROUND)
        return hr_round(pixels);
    pixels = hr__between(pixels, -1e9, 1e9);
    return (double)(int64_t)pixels;
}

/* filter, angle, how the shift is given, shift along x and y, scale, shear along x and y (degrees),
 * whether the centre is given, its x and y, fill of three channels */
static hr_status affine(hr_image *p, const double *a, hr_error *error)
{
    warp t = {.filter = filter_of(a[0]), .fill = a + 11};
    double angle = radians(a[1]), shear_x = radians(a[6]), shear_y = radians(a[7]), scale = a[5];
    double cx = a[8] != 0.0 ? a[9] : (double)p->w * 0.5;
    double cy = a[8] != 0.0 ? a[10] : (double)p->h * 0.5;
    double x = cx + shift(a[3], a[2], p->w), y = cy + shift(a[4], a[2], p->h);
    double skew = hr_sin(shear_x) / hr_cos(shear_x), tilt = hr_cos(shear_y);
    double c = hr_cos(angle - shear_y) / tilt, s = hr_sin(angle - shear_y) / tilt;

    t.m[0] = (-s * skew + hr_cos(angle)) / scale;
    t.m[1] = (c * skew + hr_sin(angle)) / scale;
    t.m[3] = -s / scale;
    t.m[4] = c / scale;
    t.m[2] = t.m[0] * -x + t.m[1] * -y + cx;
    t.m[5] = t.m[3] * -x + t.m[4] * -y + cy;
    return warp_run(p, &t, p->h, p->w, error);
}

/* filter, the six numbers of the matrix from new to old positions, of which the third and the sixth
 * are parts of the width and the height; fill */
static hr_status matrix(hr_image *p, const double *a, hr_error *error)
{
    warp t = {.filter = filter_of(a[0]), .fill = a + 7};

    for (int32_t i = 0; i < 6; i++)
        t.m[i] = a[1 + i];
    t.m[2] *= (double)p->w;
    t.m[5] *= (double)p->h;
    return warp_run(p, &t, p->h, p->w, error);
}

/* To 15 decimals. */
static double decimals(double v)
{
    return hr_round(v * 1e15) / 1e15;
}

/* Pixels of a side of the rectangle around the turned image, whose matrix row is given. */
static int64_t extent_of(const double *row, double w, double h)
{
    double at[4] = {row[2], row[0] * w + row[2], row[0] * w + row[1] * h + row[2],
                    row[1] * h + row[2]};
    double low = at[0], high = at[0];

    for (int32_t i = 1; i < 4; i++) {
        low = HR_MIN(low, at[i]);
        high = HR_MAX(high, at[i]);
    }
    return (int64_t)(-floor(-high) - floor(low));
}

/* Quarter turns are exact. */
static void quarter_turns(hr_image *p, int32_t turns)
{
    uint8_t *out = p->spare;
    int64_t h = turns % 2 ? p->w : p->h, w = turns % 2 ? p->h : p->w;

    for (int64_t y = 0; y < h && p->data; y++)
        for (int64_t x = 0; x < w; x++, out += p->c) {
            int64_t from_y = turns == 1 ? x : turns == 2 ? h - 1 - y : w - 1 - x;
            int64_t from_x = turns == 1 ? h - 1 - y : turns == 2 ? w - 1 - x : y;
            copy_pixel(p, from_x, from_y, out);
        }
    p->h = h;
    p->w = w;
    hr__image_swap(p);
}

/* filter, angle, whether the size grows, whether the centre is given, its x and y, fill */
static hr_status rotate(hr_image *p, const double *a, hr_error *error)
{
    warp t = {.filter = filter_of(a[0]), .fill = a + 6};
    double angle = a[1] - 360.0 * floor(a[1] / 360.0), w = (double)p->w, h = (double)p->h;
    bool grows = a[2] != 0.0, given = a[3] != 0.0 && !grows;
    double cx = given ? a[4] : w / 2.0, cy = given ? a[5] : h / 2.0;
    bool quarter = angle == 90.0 || angle == 270.0;

    if ((!given && angle == 0.0 && !p->rows) || p->h == 0 || p->w == 0)
        return HR_STATUS_OK;
    if (!given && !p->rows && (angle == 180.0 || (quarter && (grows || p->w == p->h)))) {
        quarter_turns(p, (int32_t)(angle / 90.0));
        return HR_STATUS_OK;
    }
    angle = -radians(angle);
    t.m[0] = t.m[4] = decimals(hr_cos(angle));
    t.m[1] = decimals(hr_sin(angle));
    t.m[3] = decimals(-hr_sin(angle));
    t.m[2] = t.m[0] * -cx + t.m[1] * -cy + cx;
    t.m[5] = t.m[3] * -cx + t.m[4] * -cy + cy;
    int64_t height = p->h, width = p->w;
    if (grows) {
        width = extent_of(t.m, w, h);
        height = extent_of(t.m + 3, w, h);
        double left = -((double)width - w) / 2.0, top = -((double)height - h) / 2.0;
        double x = t.m[0] * left + t.m[1] * top + t.m[2];
        t.m[5] = t.m[3] * left + t.m[4] * top + t.m[5];
        t.m[2] = x;
    }
    return warp_run(p, &t, height, width, error);
}

/* Solves 8 equations by elimination with pivots; false if they do not determine the result. */
static bool solve(double e[8][9], double *result)
{
    for (int32_t k = 0; k < 8; k++) {
        int32_t best = k;
        for (int32_t i = k + 1; i < 8; i++)
            best = fabs(e[i][k]) > fabs(e[best][k]) ? i : best;
        if (e[best][k] == 0.0)
            return false;
        for (int32_t j = 0; j < 9; j++) {
            double v = e[k][j];
            e[k][j] = e[best][j];
            e[best][j] = v;
        }
        for (int32_t i = 0; i < 8; i++) {
            double factor = i == k ? 0.0 : e[i][k] / e[k][k];
            for (int32_t j = k; j < 9; j++)
                e[i][j] -= factor * e[k][j];
        }
    }
    for (int32_t k = 0; k < 8; k++)
        result[k] = e[k][8] / e[k][k];
    return true;
}

/* filter, how far corners move (1: to the middle), 8 parts of that for the x and y of the corners
 * clockwise from the top left, fill */
static hr_status perspective(hr_image *p, const double *a, hr_error *error)
{
    static const bool high[8] = {false, false, true, false, true, true, false, true};
    warp t = {.filter = filter_of(a[0]), .fill = a + 10};
    double e[8][9], to[8], from[8], amount = hr__between(a[1], 0.0, 1.0);

    for (int32_t i = 0; i < 8; i++) {
        int64_t size = i % 2 ? p->h : p->w, bound = (int64_t)(amount * (double)(size / 2)) + 1;
        from[i] = high[i] ? (double)(size - 1) : 0.0;
        to[i] = floor(hr__between(a[2 + i], 0.0, 0.9999999999) * (double)bound);
        to[i] += high[i] ? (double)(size - bound) : 0.0;
    }
    for (int32_t i = 0; i < 8; i++) {
        double x = to[i & ~1], y = to[i | 1], v = from[i];
        double along_x[9] = {x, y, 1.0, 0.0, 0.0, 0.0, -v * x, -v * y, v};
        double along_y[9] = {0.0, 0.0, 0.0, x, y, 1.0, -v * x, -v * y, v};
        memcpy(e[i], i % 2 ? along_y : along_x, sizeof(along_x));
    }
    if (!solve(e, t.m))
        return HR_STATUS_OK; /* of an image without width or height */
    for (int32_t i = 0; i < 8; i++)
        t.m[i] = (double)(float)t.m[i];
    return warp_run(p, &t, p->h, p->w, error);
}

const hr_augment_op hr__augment_warps[] = {
    {"affine", 14, false, true, affine}, {"matrix", 10, false, true, matrix},
    {"rotate", 9, true, true, rotate},   {"perspective", 13, false, true, perspective},
    {NULL, 0, false, false, NULL},
};
