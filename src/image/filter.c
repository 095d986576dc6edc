/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The taps of one resampled axis. DALI evaluates cubic, Lanczos and Gaussian from tables with
 * linear interpolation; the differences from the exact functions are visible, so the tables are
 * part of the meaning. */
#include "image/program.h"

#include <math.h>
#include <string.h>

#define SQRT2 1.41421356237309504880

enum {
    TABLE_DENSITY = 32,   /* table entries a unit of t */
    SUPPORT_MAX = 1 << 22 /* taps before folding; beyond it the region is nonsense */
};

typedef struct curve {
    int32_t last;  /* of the table */
    float density; /* table entries an element of the source */
    float anchor;  /* elements from the centre to the table's first entry */
    float table[6 * TABLE_DENSITY + 1];
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

/* `stretch` >= 1: how much wider than at scale 1 the filter is. */
static void curve_init(curve *f, hr_interp interp, double stretch)
{
    double reach = interp == HR_INTERP_CUBIC ? 2.0 : interp == HR_INTERP_LANCZOS3 ? 3.0 : 1.0;
    float radius = (float)(reach * stretch), support = 2.0f * radius;
    int32_t half = (int32_t)reach * TABLE_DENSITY;
    if (interp == HR_INTERP_LINEAR || interp == HR_INTERP_TRIANGULAR) {
        half = 1;
        f->table[0] = f->table[2] = 0.0f;
        f->table[1] = 1.0f;
    } else {
        for (int32_t i = 0; i <= half; i++)
            f->table[half + i] = f->table[half - i] =
                (float)curve_exact(interp, (double)i / TABLE_DENSITY);
    }
    if (interp == HR_INTERP_GAUSSIAN) {
        /* Its width goes through sigma and back; what float loses on the way decides which side of
         * an exact tie the first tap falls. */
        float sigma = (float)((double)(radius * 0.5f) / SQRT2);
        support = (float)(4.0 * SQRT2) * sigma;
    }
    f->last = 2 * half;
    f->density = (float)f->last / support;
    f->anchor = (float)half / f->density;
}

static float curve_at(const curve *f, float at)
{
    if (!(at > -1.0f) || !(at < (float)(f->last + 1)))
        return 0.0f;
    int32_t i = (int32_t)(at + 1.0f) - 1;
    i -= (float)i > at; /* the addition may have rounded up */
    float a = i < 0 ? 0.0f : f->table[i];
    float b = i + 1 > f->last ? 0.0f : f->table[i + 1];
    return a + (at - (float)i) * (b - a);
}

/* curve_at of the triangle's table 0, 1, 0: the same operations where they do anything. */
static float triangle_at(float at)
{
    float v = at < 1.0f ? at : 1.0f - (at - 1.0f);
    return v > 0.0f ? v : 0.0f;
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
    double base = floor(HR_MIN(axis->lo, axis->hi));
    float scale = ((float)axis->hi - (float)axis->lo) / (float)axis->out;
    float origin = (float)axis->lo - (float)base, at = origin + 0.5f * scale;
    for (int32_t o = 0; o < axis->out; o++) {
        if (!axis->running)
            at = origin + ((float)o + 0.5f) * scale;
        start[o] = (int32_t)clamp_index(base + floor((double)at), n);
        coef[o] = 1.0f;
        at += scale;
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

/* Weights of `support` taps, the first at table position `at`; returns their sum. */
static float curve_weights(const curve *f, float at, int32_t support, float *weight)
{
    float sum = 0.0f;
    for (int32_t k = 0; k < support; k++) {
        weight[k] = f->last == 2 ? triangle_at(at) : curve_at(f, at);
        sum += weight[k];
        at += f->density;
    }
    return sum;
}

hr_status hr_filter_make(hr_filter_taps *f, const hr_resample_axis *axis, int64_t n,
                         hr_arena *arena, hr_error *error)
{
    HR_TRY(axis_check(axis, n, error));
    f->out = axis->out;
    if (axis->interp == HR_INTERP_NN || axis_is_identity(axis))
        return make_nearest(f, axis, n, arena, error);
    curve shape;
    double stretch = fabs(axis->hi - axis->lo) / axis->out;
    curve_init(&shape, axis->interp, axis->antialias && stretch > 1.0 ? stretch : 1.0);
    double length = (double)((float)shape.last / shape.density);
    if (length > SUPPORT_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "a filter of %.0f taps is too long", length);
    int32_t support = (int32_t)-floor(-length);
    f->taps = (int32_t)HR_MIN((int64_t)support, n);
    int32_t *start;
    float *coef;
    HR_TRY(filter_alloc(f, &start, &coef, arena, error));
    float *weight = hr_arena_alloc(arena, (size_t)support * sizeof(float), error);
    if (weight == NULL)
        return HR_STATUS_NO_MEMORY;
    float scale = ((float)axis->hi - (float)axis->lo) / (float)axis->out;
    float origin = (float)axis->lo + (0.5f * scale - 0.5f - shape.anchor);
    for (int32_t o = 0; o < f->out; o++) {
        float at = (float)o * scale + origin;
        int64_t first = (int64_t)at + (at > (float)(int64_t)at); /* rounded up */
        float sum = curve_weights(&shape, ((float)first - at) * shape.density, support, weight);
        float *to = coef + (size_t)o * (size_t)f->taps;
        if (first >= 0 && first + support <= n) {
            start[o] = (int32_t)first;
            for (int32_t k = 0; k < support; k++)
                to[k] = weight[k] / sum;
            continue;
        }
        start[o] = (int32_t)HR_MIN(clamp_index((double)first, n), n - f->taps);
        memset(to, 0, (size_t)f->taps * sizeof(float));
        for (int32_t k = 0; k < support; k++)
            to[clamp_index((double)(first + k), n) - start[o]] += weight[k] / sum;
    }
    return HR_STATUS_OK;
}
