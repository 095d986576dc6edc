/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The taps of one resampled axis. DALI evaluates cubic, Lanczos and Gaussian from tables with
 * linear interpolation; the differences from the exact functions are visible, so the tables are
 * part of the meaning. */
#include "image/program.h"

#include <math.h>

enum {
    TABLE_DENSITY = 32,   /* table entries a unit of t */
    SUPPORT_MAX = 1 << 22 /* taps before folding; beyond it the region is nonsense */
};

typedef struct curve {
    double radius; /* the function is 0 beyond it */
    int32_t last;  /* of the table; 0: a triangle without a table */
    double table[6 * TABLE_DENSITY + 1];
} curve;

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

static void curve_init(curve *f, hr_interp interp)
{
    f->radius = interp == HR_INTERP_CUBIC ? 2.0 : interp == HR_INTERP_LANCZOS3 ? 3.0 : 1.0;
    f->last = 0;
    if (interp == HR_INTERP_LINEAR || interp == HR_INTERP_TRIANGULAR)
        return;
    int32_t half = (int32_t)f->radius * TABLE_DENSITY;
    f->last = 2 * half;
    for (int32_t i = 0; i <= half; i++)
        f->table[half + i] = f->table[half - i] = curve_exact(interp, (double)i / TABLE_DENSITY);
}

static double curve_at(const curve *f, double t)
{
    if (f->last == 0) {
        double weight = 1.0 - fabs(t);
        return weight > 0.0 ? weight : 0.0;
    }
    double at = (t + f->radius) * TABLE_DENSITY;
    if (!(at > -1.0) || !(at < f->last + 1))
        return 0.0;
    double below = floor(at);
    int32_t i = (int32_t)below;
    double a = i < 0 ? 0.0 : f->table[i];
    double b = i + 1 > f->last ? 0.0 : f->table[i + 1];
    return a + (at - below) * (b - a);
}

static int64_t clamp_index(double at, int64_t n)
{
    if (!(at > 0.0))
        return 0;
    return at >= (double)n ? n - 1 : (int64_t)at;
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

/* One tap an output: nearest neighbour, and axes on which interpolation changes nothing. */
static hr_status make_nearest(hr_filter_taps *f, const hr_resample_axis *axis, int64_t n,
                              hr_arena *arena, hr_error *error)
{
    int32_t *start;
    float *coef;
    f->taps = 1;
    HR_TRY(filter_alloc(f, &start, &coef, arena, error));
    double scale = (axis->hi - axis->lo) / axis->out;
    for (int32_t o = 0; o < axis->out; o++) {
        start[o] = (int32_t)clamp_index(floor(axis->lo + (o + 0.5) * scale), n);
        coef[o] = 1.0f;
    }
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

hr_status hr_filter_make(hr_filter_taps *f, const hr_resample_axis *axis, int64_t n,
                         hr_arena *arena, hr_error *error)
{
    HR_TRY(axis_check(axis, n, error));
    f->out = axis->out;
    if (axis->interp == HR_INTERP_NN || axis_is_identity(axis))
        return make_nearest(f, axis, n, arena, error);
    curve shape;
    curve_init(&shape, axis->interp);
    double scale = (axis->hi - axis->lo) / axis->out;
    double stretch = axis->antialias && fabs(scale) > 1.0 ? fabs(scale) : 1.0;
    double radius = shape.radius * stretch;
    if (radius * 2.0 > SUPPORT_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "a filter of %.0f taps is too long", radius * 2.0);
    int32_t support = (int32_t)-floor(-radius * 2.0);
    f->taps = (int32_t)HR_MIN((int64_t)support, n);
    int32_t *start;
    float *coef;
    HR_TRY(filter_alloc(f, &start, &coef, arena, error));
    double *weight = hr_arena_alloc(arena, (size_t)support * sizeof(double), error);
    double *folded = hr_arena_alloc(arena, (size_t)f->taps * sizeof(double), error);
    if (weight == NULL || folded == NULL)
        return HR_STATUS_NO_MEMORY;
    for (int32_t o = 0; o < f->out; o++) {
        double centre = axis->lo + (o + 0.5) * scale - 0.5;
        double first = -floor(-(centre - radius)), sum = 0.0;
        for (int32_t k = 0; k < support; k++)
            sum += weight[k] = curve_at(&shape, (first + k - centre) / stretch);
        start[o] = (int32_t)HR_MIN(clamp_index(first, n), n - f->taps);
        for (int32_t k = 0; k < f->taps; k++)
            folded[k] = 0.0;
        for (int32_t k = 0; k < support; k++)
            folded[clamp_index(first + k, n) - start[o]] += weight[k];
        for (int32_t k = 0; k < f->taps; k++)
            coef[(size_t)o * (size_t)f->taps + (size_t)k] = (float)(folded[k] / sum);
    }
    return HR_STATUS_OK;
}
