/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Windows are drawn until one is accepted, in rounds: a round draws a threshold and tries
 * `num_attempts` windows. Attempt k of a sample uses draws 8k .. 8k + 7: sizes, then positions; the
 * last one is the threshold of a round that begins with this attempt. */
#include "ops/boxes/bbox_crop.h"

#include <math.h>
#include <string.h>

#define ATTEMPTS_MAX 1000000 /* then it is taken for granted that no window will be accepted */
#define DRAWS 8
#define SLACK                                                                                      \
    0x1p-21f /* coordinates may be beyond 0 and 1 by rounding errors, which are cut off            \
              */

typedef struct span {
    float low[HR_BBOX_DIMS], high[HR_BBOX_DIMS];
} span;

/* What is needed to try a window. */
typedef struct search {
    const hr_bbox_crop_args *a;
    const hr_op_call *c;
    int32_t dims;
    bool sizes;                                        /* boxes are start and size */
    int32_t first[HR_BBOX_DIMS], second[HR_BBOX_DIMS]; /* places of the numbers of a box */
    float extent[HR_BBOX_DIMS];                        /* of the image, or 1 */
    int64_t fixed[HR_BBOX_DIMS];                       /* the window in pixels, with `crop_shape` */
    int64_t count;
    span *boxes;
    bool overlap;
} search;

/* ---- arguments ---- */

static hr_status check_range(hr_floats range, int32_t n, const char *name, hr_error *error)
{
    for (int32_t k = 0; k < n; k += 2)
        if (!(range.v[k] >= 0.0f && range.v[k] <= range.v[k + 1]))
            return hr_fail(error, HR_STATUS_ERROR,
                           "`%s` contains the range [%g, %g]; a range must not begin below 0 "
                           "or end before its start",
                           name, (double)range.v[k], (double)range.v[k + 1]);
    return HR_STATUS_OK;
}

hr_status hr__bbox_crop_check(const hr_bbox_crop_args *a, hr_error *error)
{
    if (a->scaling.n != 2)
        return hr_fail(error, HR_STATUS_ERROR, "`scaling` has %d numbers; it must have 2",
                       (int)a->scaling.n);
    if (a->aspect_ratio.n != 2 && a->aspect_ratio.n != 6)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`aspect_ratio` has %d numbers; it must have 2, or 6 for three dimensions",
                       (int)a->aspect_ratio.n);
    HR_TRY(check_range(a->scaling, 2, "scaling", error));
    HR_TRY(check_range(a->aspect_ratio, a->aspect_ratio.n, "aspect_ratio", error));
    if (a->num_attempts <= 0)
        return hr_fail(error, HR_STATUS_ERROR, "`num_attempts` must be greater than 0");
    if (a->thresholds.n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "`thresholds` is empty");
    for (int32_t k = 0; k < a->thresholds.n; k++)
        if (!(a->thresholds.v[k] >= 0.0f && a->thresholds.v[k] <= 1.0f))
            return hr_fail(error, HR_STATUS_ERROR,
                           "`thresholds` contains %g; thresholds must be from 0 to 1",
                           (double)a->thresholds.v[k]);
    return HR_STATUS_OK;
}

/* Whether `layout` has the letters of `of` in any order. */
static bool same_letters(const char *layout, const char *of)
{
    bool same = strlen(layout) == strlen(of);

    for (const char *p = of; *p && same; p++)
        same = strchr(layout, *p) != NULL;
    return same;
}

static hr_status parse_boxes_layout(search *s, hr_error *error)
{
    static const char *const starts[] = {"xyXY", "xyzXYZ"}, *const shapes[] = {"xyWH", "xyzWHD"};
    const int32_t which = s->dims - 2;
    const char *layout = s->a->bbox_layout;

    if (!layout)
        layout = s->a->ltrb ? starts[which] : shapes[which];
    s->sizes = same_letters(layout, shapes[which]);
    if (!s->sizes && !same_letters(layout, starts[which]))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`bbox_layout` is \"%s\"; it must be a permutation of %s or %s", layout,
                       starts[which], shapes[which]);
    for (int32_t d = 0; d < s->dims; d++) {
        s->first[d] = (int32_t)(strchr(layout, "xyz"[d]) - layout);
        s->second[d] = (int32_t)(strchr(layout, (s->sizes ? "WHD" : "XYZ")[d]) - layout);
    }
    return HR_STATUS_OK;
}

/* Reads a shape in the order of `shape_layout` to x, y, z. */
static hr_status read_shape(const search *s, hr_ints list, const char *name, int64_t *out,
                            hr_error *error)
{
    const char *order = s->dims == 2 ? "WH" : "WHD";
    const char *layout = s->a->shape_layout ? s->a->shape_layout : order;

    if (!same_letters(layout, order))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`shape_layout` is \"%s\"; it must be a permutation of %s", layout, order);
    if (list.n != s->dims)
        return hr_fail(error, HR_STATUS_ERROR, "`%s` has %d elements; it must have %d", name,
                       (int)list.n, (int)s->dims);
    for (int32_t d = 0; d < s->dims; d++) {
        out[d] = list.v[strchr(layout, order[d]) - layout];
        if (out[d] < 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "`%s` contains the extent %lld; extents must not be negative", name,
                           (long long)out[d]);
    }
    return HR_STATUS_OK;
}

/* ---- boxes ---- */

static hr_status read_boxes(search *s, int32_t input, hr_error *error)
{
    const float *in = s->c->in[input].data;

    s->boxes = hr_arena_alloc(s->c->arena, (size_t)s->count * sizeof(span), error);
    HR_TRY_ALLOC(s->boxes);
    for (int64_t i = 0; i < s->count; i++, in += 2 * s->dims) {
        for (int32_t d = 0; d < s->dims; d++) {
            float low = in[s->first[d]], high = in[s->second[d]];
            high = s->sizes ? low + high : high;
            if (!(low >= -SLACK && low <= 1.0f + SLACK && high >= -SLACK && high <= 1.0f + SLACK))
                return hr_fail(error, HR_STATUS_ERROR,
                               "box %lld extends from %g to %g in dimension %d; coordinates "
                               "must be relative to the image, from 0.0 to 1.0",
                               (long long)i, (double)low, (double)high, (int)d);
            s->boxes[i].low[d] = HR_MIN(HR_MAX(low, 0.0f), 1.0f);
            s->boxes[i].high[d] = HR_MIN(HR_MAX(high, 0.0f), 1.0f);
        }
    }
    return HR_STATUS_OK;
}

static float volume(const span *b, int32_t dims)
{
    float v = 1.0f;

    for (int32_t d = 0; d < dims; d++)
        v *= b->high[d] - b->low[d];
    return v;
}

/* The volume of the part of a box that is in the window. */
static float common_volume(const span *a, const span *b, int32_t dims)
{
    float v = 1.0f;

    for (int32_t d = 0; d < dims; d++) {
        float low = HR_MAX(a->low[d], b->low[d]), high = HR_MIN(a->high[d], b->high[d]);
        v *= low < high ? high - low : 0.0f;
    }
    return v;
}

/* How much of the boxes is in the window: the smallest or greatest measure. */
static float measure(const search *s, const span *window)
{
    const bool all = s->a->all_boxes_above_threshold;
    float result = all ? INFINITY : 0.0f;

    for (int64_t i = 0; i < s->count; i++) {
        float common = common_volume(&s->boxes[i], window, s->dims);
        float own = volume(&s->boxes[i], s->dims);
        float m = common / (s->overlap ? own : own + volume(window, s->dims) - common);
        m = m == m ? m : 0.0f; /* of nothing */
        result = all ? HR_MIN(result, m) : HR_MAX(result, m);
    }
    return result;
}

static bool is_kept(const search *s, const span *b, const span *window)
{
    if (!isnan(s->a->bbox_prune_threshold)) {
        float part = common_volume(b, window, s->dims) / volume(b, s->dims);
        return part > 0.0f && part >= s->a->bbox_prune_threshold;
    }
    for (int32_t d = 0; d < s->dims; d++) {
        float centre = 0.5f * (b->low[d] + b->high[d]);
        if (!(centre >= window->low[d] && centre <= window->high[d]))
            return false;
    }
    return true;
}

/* Keeps the boxes in the window, clipped to it and relative to it. */
static void keep(const search *s, const span *window, hr_bbox_crop *crop)
{
    crop->count = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const span *b = &s->boxes[i];
        float *out = crop->boxes + crop->count * 2 * s->dims;
        if (!crop->whole && !is_kept(s, b, window))
            continue;
        for (int32_t d = 0; d < s->dims; d++) {
            float low = b->low[d], high = b->high[d];
            if (!crop->whole) {
                float size = window->high[d] - window->low[d];
                low =
                    (HR_MIN(HR_MAX(low, window->low[d]), window->high[d]) - window->low[d]) / size;
                high =
                    (HR_MIN(HR_MAX(high, window->low[d]), window->high[d]) - window->low[d]) / size;
            }
            out[s->first[d]] = low;
            out[s->second[d]] = s->sizes ? high - low : high;
        }
        crop->index[crop->count++] = (int32_t)i;
    }
}

/* ---- windows ---- */

static double unit(const search *s, int64_t attempt, int32_t k)
{
    return hr_rng_unit(&s->c->rng, (uint64_t)attempt * DRAWS + (uint64_t)k);
}

/* Number of the pair of dimensions, in the order xy, xz, yz; one range is used for all. */
static const float *ratio_of(const search *s, int32_t pair)
{
    return s->a->aspect_ratio.v + (s->a->aspect_ratio.n == 6 ? 2 * pair : 0);
}

/* Where only one ratio is allowed, the longer side determines the shorter. false if a ratio is not
 * allowed. */
static bool fit_ratios(const search *s, float *size)
{
    static const int32_t from[] = {0, 0, 1}, to[] = {1, 2, 2};
    const int32_t pairs = s->dims == 2 ? 1 : 3;

    for (int32_t p = 0; p < pairs; p++) {
        const float *range = ratio_of(s, p), a = s->extent[from[p]], b = s->extent[to[p]];
        float longest = HR_MAX(size[from[p]] * a, size[to[p]] * b);
        if (range[0] != range[1])
            continue;
        size[from[p]] = (range[0] >= 1.0f ? longest : longest * range[0]) / a;
        size[to[p]] = (range[0] >= 1.0f ? longest / range[0] : longest) / b;
    }
    for (int32_t p = 0; p < pairs; p++) {
        const float *range = ratio_of(s, p);
        float ratio = size[from[p]] * s->extent[from[p]] / (size[to[p]] * s->extent[to[p]]);
        float slack = range[0] == range[1] ? 1e-5f * range[0] : 0.0f;
        if (!(ratio >= range[0] - slack && ratio <= range[1] + slack))
            return false;
    }
    return true;
}

/* Draws a window. false if its ratios are not allowed. */
static bool draw(const search *s, int64_t attempt, hr_bbox_crop *crop, span *window)
{
    const float least = s->a->scaling.v[0], most = s->a->scaling.v[1];
    const bool fixed = s->a->crop_shape.v != NULL;

    for (int32_t d = 0; d < s->dims; d++)
        crop->size[d] = fixed ? (float)s->fixed[d] / s->extent[d]
                              : least + (float)unit(s, attempt, d) * (most - least);
    if (!fixed && !fit_ratios(s, crop->size))
        return false;
    for (int32_t d = 0; d < s->dims; d++) {
        double u = unit(s, attempt, s->dims + d);
        if (fixed) {
            int64_t room = (int64_t)s->extent[d] - s->fixed[d], low = HR_MIN(room, 0);
            int64_t count = (room < 0 ? -room : room) + 1;
            crop->anchor[d] = (float)(low + (int64_t)(u * (double)count));
            crop->shape[d] = (float)s->fixed[d];
            crop->low[d] = crop->anchor[d] / s->extent[d];
        } else {
            crop->low[d] = (float)u * (1.0f - crop->size[d]);
            crop->anchor[d] = crop->low[d];
            crop->shape[d] = crop->size[d];
        }
        window->low[d] = crop->low[d];
        window->high[d] = crop->low[d] + crop->size[d];
    }
    return true;
}

/* Tries windows until one reaches the threshold, or the attempts of a round are used up; remembers
 * the best. Returns whether one did. */
static bool try_windows(const search *s, int64_t attempt, float threshold, float *best,
                        hr_bbox_crop *best_crop, span *best_window)
{
    for (int32_t k = 0; k < s->a->num_attempts; k++) {
        hr_bbox_crop crop = *best_crop;
        span window;
        if (!draw(s, attempt + k, &crop, &window))
            continue;
        float m = measure(s, &window);
        if (m >= threshold || m > *best) {
            *best_crop = crop;
            *best_window = window;
            *best = m;
        }
        if (m >= threshold)
            return true;
    }
    return false;
}

static void take_whole(const search *s, hr_bbox_crop *crop)
{
    crop->whole = true;
    for (int32_t d = 0; d < s->dims; d++) {
        crop->low[d] = crop->anchor[d] = 0.0f;
        crop->size[d] = crop->shape[d] = 1.0f;
    }
    keep(s, NULL, crop);
}

static hr_status find(const search *s, hr_bbox_crop *crop, hr_error *error)
{
    const hr_bbox_crop_args *a = s->a;
    const bool may_be_whole = a->allow_no_crop && !a->crop_shape.v;
    const int64_t limit = a->total_num_attempts > 0 ? a->total_num_attempts : ATTEMPTS_MAX;
    float best = -1.0f;
    span best_window = {{0}};
    hr_bbox_crop best_crop = *crop;

    for (int64_t attempt = 0; attempt < limit; attempt += a->num_attempts) {
        int32_t choice =
            (int32_t)(unit(s, attempt, DRAWS - 1) * (double)(a->thresholds.n + may_be_whole));
        if (choice == a->thresholds.n) {
            take_whole(s, crop);
            return HR_STATUS_OK;
        }
        hr_bbox_crop round = *crop;
        span window;
        float reached = -1.0f;
        bool accepted = try_windows(s, attempt, a->thresholds.v[choice], &reached, &round, &window);
        if (reached > best) {
            best = reached;
            best_crop = round;
            best_window = window;
        }
        if (accepted) {
            *crop = round;
            keep(s, &window, crop);
            if (crop->count > 0 || s->count == 0)
                return HR_STATUS_OK;
        }
    }
    if (a->total_num_attempts <= 0)
        return hr_fail(error, HR_STATUS_LIMIT,
                       "none of %d windows was accepted; set `total_num_attempts` to take the "
                       "best one, or allow other sizes, ratios or thresholds",
                       ATTEMPTS_MAX);
    *crop = best_crop;
    keep(s, &best_window, crop);
    return HR_STATUS_OK;
}

hr_status hr__bbox_crop_draw(const hr_bbox_crop_args *a, const hr_op_call *c, int32_t i,
                             hr_bbox_crop *crop, hr_error *error)
{
    const int32_t dims = (int32_t)(c->in[i].shape.extent[1] / 2);
    search s = {.a = a,
                .c = c,
                .dims = dims,
                .count = c->in[i].shape.extent[0],
                .extent = {1.0f, 1.0f, 1.0f}};
    int64_t extent[HR_BBOX_DIMS];

    s.overlap = a->threshold_type && strcmp(a->threshold_type, "overlap") == 0;
    HR_TRY(parse_boxes_layout(&s, error));
    if (a->crop_shape.v)
        HR_TRY(read_shape(&s, a->crop_shape, "crop_shape", s.fixed, error));
    if (a->input_shape.v) {
        HR_TRY(read_shape(&s, a->input_shape, "input_shape", extent, error));
        for (int32_t d = 0; d < dims; d++) {
            if (extent[d] == 0)
                return hr_fail(error, HR_STATUS_ERROR,
                               "`input_shape` contains 0; extents must be positive");
            s.extent[d] = (float)extent[d];
        }
    }
    HR_TRY(read_boxes(&s, i, error));
    *crop = (hr_bbox_crop){.dims = dims};
    crop->boxes = hr_arena_alloc(c->arena, (size_t)(s.count * 2 * dims) * sizeof(float), error);
    crop->index = hr_arena_alloc(c->arena, (size_t)s.count * sizeof(int32_t), error);
    HR_TRY_ALLOC(crop->boxes && crop->index);
    return find(&s, crop, error);
}

void hr__bbox_crop_labels(const hr_bbox_crop *crop, const hr_tensor *labels, int32_t *out)
{
    size_t each = 1;

    for (int32_t d = 1; d < labels->shape.ndim; d++)
        each *= (size_t)labels->shape.extent[d];
    for (int64_t k = 0; k < crop->count; k++)
        memcpy(out + (size_t)k * each,
               (const int32_t *)labels->data + (size_t)crop->index[k] * each,
               each * sizeof(int32_t));
}
