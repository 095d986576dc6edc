/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The taps of one axis of a separable filter. DALI evaluates cubic, Lanczos and Gaussian filters
 * from tables with linear interpolation. The differences from the exact functions are visible, so
 * the tables are part of the definition. */
#include "image/filter.h"

#include <math.h>
#include <string.h>

#define SQRT2 1.41421356237309504880

enum {
    TABLE_DENSITY = 32,   /* table entries per unit of t */
    SUPPORT_MAX = 1 << 22 /* taps before folding; larger regions are refused */
};

static double cubic(double t) /* Catmull-Rom */
{
    if (t < 1.0)
        return (1.5 * t - 2.5) * t * t + 1.0;
    return t < 2.0 ? ((-0.5 * t + 2.5) * t - 4.0) * t + 2.0 : 0.0;
}

static double curve_exact(hr_interp interp, double t)
{
    if (interp == HR_INTERP_CUBIC)
        return cubic(t);
    if (interp == HR_INTERP_LANCZOS3)
        return t < 3.0 ? hr_sinc(t) * hr_sinc(t / 3.0) : 0.0;
    return hr_exp(-4.0 * t * t);
}

static int32_t curve_reach(hr_interp interp)
{
    return interp == HR_INTERP_CUBIC ? 2 : interp == HR_INTERP_LANCZOS3 ? 3 : 1;
}

static bool is_triangle(hr_interp interp)
{
    return interp == HR_INTERP_LINEAR || interp == HR_INTERP_TRIANGULAR;
}

int32_t hr__taps_table_size(const hr_taps *t)
{
    return t->given ? t->support : t->support == 0 || t->last == 2 ? 0 : t->last + 1;
}

void hr__taps_table(const hr_filter_axis *axis, float *table)
{
    const hr_interp interp = axis->resample.interp;
    int32_t half = curve_reach(interp) * TABLE_DENSITY;
    if (axis->given.taps != NULL) {
        memcpy(table, axis->given.taps, (size_t)axis->given.count * sizeof(float));
        return;
    }
    if (is_triangle(interp))
        return;
    for (int32_t i = 0; i <= half; i++)
        table[half + i] = table[half - i] = (float)curve_exact(interp, (double)i / TABLE_DENSITY);
}

/* `stretch` >= 1: how much wider the filter is than at scale 1. Returns the distance in elements
 * from the centre to the table's first entry. */
static float shape_curve(hr_taps *t, hr_interp interp, double stretch)
{
    int32_t reach = curve_reach(interp), half = is_triangle(interp) ? 1 : reach * TABLE_DENSITY;
    float radius = (float)(reach * stretch), support = 2.0f * radius;
    if (interp == HR_INTERP_GAUSSIAN) {
        /* DALI converts the radius to sigma and back. The rounding to float on the way decides on
         * which side of an exact tie the first tap is. */
        float sigma = (float)((double)(radius * 0.5f) / SQRT2);
        support = (float)(4.0 * SQRT2) * sigma;
    }
    t->last = 2 * half;
    t->density = (float)t->last / support;
    return (float)half / t->density;
}

static hr_status filter_alloc(hr_filter_taps *f, int32_t **start, float **coef, hr_arena *arena,
                              hr_error *error)
{
    size_t count;
    if (!hr_size_mul((size_t)f->out, (size_t)f->taps, &count) || count > SIZE_MAX / sizeof(float))
        return hr_fail(error, HR_STATUS_LIMIT, "a filter of %d x %d taps does not fit", f->out,
                       f->taps);
    *start = hr_arena_alloc(arena, (size_t)f->out * sizeof(int32_t), error);
    if (*start == NULL)
        return HR_STATUS_NO_MEMORY;
    *coef = hr_arena_alloc(arena, count * sizeof(float), error);
    if (*coef == NULL)
        return HR_STATUS_NO_MEMORY;
    f->start = *start;
    f->coef = *coef;
    return HR_STATUS_OK;
}

static bool axis_is_identity(const hr_resample_axis *axis)
{
    return fabs(axis->hi - axis->lo) == (double)axis->out && floor(axis->lo) == axis->lo &&
           axis->interp != HR_INTERP_LANCZOS3 && axis->interp != HR_INTERP_GAUSSIAN;
}

static hr_status axis_check(const hr_resample_axis *axis, int64_t n, hr_error *error)
{
    const double limit = 1 << 30;
    if (axis->out < 1 || n < 1 || n > INT32_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "cannot resize %lld elements to %d", (long long)n,
                       axis->out);
    if (!(fabs(axis->lo) <= limit) || !(fabs(axis->hi) <= limit))
        return hr_fail(error, HR_STATUS_ERROR, "the region [%g, %g) to resize is out of range",
                       axis->lo, axis->hi);
    if ((uint32_t)axis->interp >= HR_INTERP_COUNT)
        return hr_fail(error, HR_STATUS_VALUE, "unknown interpolation type %d", (int)axis->interp);
    return HR_STATUS_OK;
}

static hr_status given_make(hr_taps *t, const hr_given_taps *given, int64_t n, hr_error *error)
{
    if (n < 1 || n > INT32_MAX || given->count < 1 || given->count % 2 == 0 ||
        given->count > SUPPORT_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "cannot filter %lld elements with %d taps",
                       (long long)n, (int)given->count);
    *t = (hr_taps){.n = (int32_t)n,
                   .out = (int32_t)n,
                   .taps = (int32_t)HR_MIN((int64_t)given->count, n),
                   .support = given->count,
                   .given = true,
                   .scale = 1.0f,
                   .origin = (float)-(given->count / 2),
                   .table = given->taps};
    return HR_STATUS_OK;
}

bool hr__taps_are_mean(const hr_filter_axis *axis)
{
    double sum = 0.0;
    if (axis->given.taps == NULL)
        return true;
    for (int32_t k = 0; k < axis->given.count; k++) {
        if (!(axis->given.taps[k] >= 0.0f))
            return false;
        sum += (double)axis->given.taps[k];
    }
    return fabs(sum - 1.0) < 1e-5;
}

hr_status hr__taps_make(hr_taps *t, const hr_filter_axis *filter, int64_t n, hr_error *error)
{
    const hr_resample_axis *axis = &filter->resample;
    if (filter->given.taps != NULL)
        return given_make(t, &filter->given, n, error);
    HR_TRY(axis_check(axis, n, error));
    *t = (hr_taps){.n = (int32_t)n, .out = axis->out, .taps = 1, .cut = axis->cut};
    t->scale = ((float)axis->hi - (float)axis->lo) / (float)axis->out;
    if (axis->interp == HR_INTERP_NN || axis_is_identity(axis)) {
        t->base = floor(HR_MIN(axis->lo, axis->hi));
        t->origin = (float)axis->lo - (float)t->base;
        return HR_STATUS_OK;
    }
    double stretch = fabs(axis->hi - axis->lo) / axis->out;
    float anchor = shape_curve(t, axis->interp, axis->antialias && stretch > 1.0 ? stretch : 1.0);
    double length = (double)((float)t->last / t->density);
    if (length > SUPPORT_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "a filter of %.0f taps is too long", length);
    t->support = (int32_t)-floor(-length);
    t->taps = (int32_t)HR_MIN((int64_t)t->support, n);
    t->origin = (float)axis->lo + (0.5f * t->scale - 0.5f - anchor);
    return HR_STATUS_OK;
}

void hr__taps_running(const hr_taps *t, int32_t count, int32_t *starts)
{
    float at = t->origin + 0.5f * t->scale;
    double step = (double)t->n / (double)t->out, sum = 0.5 * step; /* as taps_summed */
    for (int32_t o = 0; o < count; o++, at += t->scale, sum += step)
        starts[o] = t->cut ? taps_clamp((int64_t)sum, t->n) : taps_nearest(t, at);
}

static void fill_nearest(const hr_taps *t, bool running, int32_t *start, float *coef)
{
    for (int32_t o = 0; o < t->out; o++)
        coef[o] = 1.0f;
    if (running || t->cut)
        hr__taps_running(t, t->out, start);
    else
        for (int32_t o = 0; o < t->out; o++)
            start[o] = taps_start(t, o);
}

/* Weights of the taps, the first at table position `at`; returns their sum. */
static float fill_weights(const hr_taps *t, int64_t first, float at, float *weight)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < t->support; k++) {
        weight[k] = taps_weight_of(t, first + k, at);
        sum += weight[k];
        at += t->density;
    }
    return sum;
}

static void fill_taps(const hr_taps *t, float *weight, int32_t *start, float *coef)
{
    for (int32_t o = 0; o < t->out; o++) {
        float at;
        int64_t first = taps_first(t, o, &at);
        float sum = fill_weights(t, first, at, weight);
        float *to = coef + (size_t)o * (size_t)t->taps;
        start[o] = taps_start(t, o);
        if (first >= 0 && first + t->support <= t->n) {
            for (int32_t k = 0; k < t->support; k++)
                to[k] = weight[k] / sum;
            continue;
        }
        memset(to, 0, (size_t)t->taps * sizeof(float));
        for (int32_t k = 0; k < t->support; k++)
            to[taps_clamp(first + k, t->n) - start[o]] += weight[k] / sum;
    }
}

static void fill_given(const hr_taps *t, hr_filter_taps *f, int32_t *start, float *coef)
{
    int32_t half = t->support / 2;
    for (int32_t o = 0; o < t->out; o++, coef += t->taps) {
        hr_taps_walk walk;
        taps_walk_begin(&walk, t, o);
        start[o] = walk.next;
        if (!walk.folded && o > half) {
            memcpy(coef, coef - t->taps, (size_t)t->taps * sizeof(float));
            continue;
        }
        for (int32_t k = 0; k < t->taps; k++)
            coef[k] = taps_walk_next(&walk, t);
    }
    f->even_from = HR_MIN(half, t->out);
    f->even_to = HR_MAX(t->out - half, f->even_from);
}

hr_status hr_filter_make(hr_filter_taps *f, const hr_filter_axis *axis, int64_t n, hr_arena *arena,
                         hr_error *error)
{
    hr_taps t;
    int32_t *start = NULL;
    float *coef = NULL, table[TAPS_TABLE_MAX];
    HR_TRY(hr__taps_make(&t, axis, n, error));
    *f = (hr_filter_taps){.out = t.out, .taps = t.taps};
    HR_TRY(filter_alloc(f, &start, &coef, arena, error));
    if (t.support == 0) {
        fill_nearest(&t, axis->resample.running, start, coef);
        return HR_STATUS_OK;
    }
    if (t.given) {
        fill_given(&t, f, start, coef);
        return HR_STATUS_OK;
    }
    float *weight = hr_arena_alloc(arena, (size_t)t.support * sizeof(float), error);
    if (weight == NULL)
        return HR_STATUS_NO_MEMORY;
    hr__taps_table(axis, table);
    t.table = table;
    fill_taps(&t, weight, start, coef);
    return HR_STATUS_OK;
}
