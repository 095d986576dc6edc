/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A prepared axis of a separable filter (hr__taps_make in filter.c), and the taps of one of its
 * outputs. The CPU makes them for a whole axis at once, a GPU thread for its own output, by the
 * same operations in single precision. */
#pragma once

#include "core/shared.h"
#include "kernels/kernels.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    TAPS_TABLE_MAX = 193, /* entries of the longest curve, Lanczos' */
    TAPS_CUBIC_LAST = 128 /* last index of the cubic curve */
};

typedef struct hr_taps {
    int32_t n, out;  /* elements of the source, and outputs */
    int32_t taps;    /* of every output */
    int32_t support; /* taps before folding at the edges; 0: nearest neighbour */
    bool given;      /* the taps are the table's, centred on the output */
    bool cut;        /* as Pillow does: taps outside the source count 0 instead of being folded to
                                   its edge, the cubic curve and positions of nearest are exact */
    int32_t last;    /* last index of the curve's table; 2: the triangle, which has no table */
    float scale, origin; /* output o begins at o * scale + origin; nearest: from `base` */
    float density;       /* table entries per element of the source */
    double base;
    const float *table;    /* last + 1 entries; `support` if given */
    const int32_t *starts; /* nearest with running positions: of every output */
} hr_taps;

HR_SHARED int32_t taps_clamp(int64_t at, int32_t n)
{
    return at <= 0 ? 0 : at >= n ? n - 1 : (int32_t)at;
}

HR_SHARED int32_t taps_nearest(const hr_taps *t, float at)
{
    double from = t->base + floor((double)at);
    if (!(from > 0.0))
        return 0;
    return from >= (double)t->n ? t->n - 1 : (int32_t)from;
}

/* The table's curve, linear between entries, 0 beyond. */
HR_SHARED float taps_curve(const float *table, int32_t last, float at)
{
    if (!(at > -1.0f) || !(at < (float)(last + 1)))
        return 0.0f;
    int32_t i = (int32_t)(at + 1.0f) - 1;
    i -= (float)i > at; /* the addition may have rounded up */
    float a = i < 0 ? 0.0f : table[i];
    float b = i + 1 > last ? 0.0f : table[i + 1];
    return a + (at - (float)i) * (b - a);
}

/* taps_curve for the table 0, 1, 0, without the operations that have no effect there. */
HR_SHARED float taps_triangle(float at)
{
    float v = at < 1.0f ? at : 1.0f - (at - 1.0f);
    return v > 0.0f ? v : 0.0f;
}

/* The curve of which the cubic table has samples: Catmull-Rom, two elements to each side. */
HR_SHARED float taps_cubic(float at)
{
    const float half = (float)(TAPS_CUBIC_LAST / 2);
    float t = (at < half ? half - at : at - half) / (half * 0.5f);
    if (t < 1.0f)
        return (1.5f * t - 2.5f) * t * t + 1.0f;
    return t < 2.0f ? ((-0.5f * t + 2.5f) * t - 4.0f) * t + 2.0f : 0.0f;
}

HR_SHARED float taps_weight(const hr_taps *t, float at)
{
    if (t->cut && t->last == TAPS_CUBIC_LAST)
        return taps_cubic(at);
    return t->last == 2 ? taps_triangle(at) : taps_curve(t->table, t->last, at);
}

/* The weight of an element of the source, before folding, at position `at` of the table. */
HR_SHARED float taps_weight_of(const hr_taps *t, int64_t element, float at)
{
    return t->cut && (element < 0 || element >= t->n) ? 0.0f : taps_weight(t, at);
}

/* Returns the first element before folding; *entry is its position in the table. */
HR_SHARED int64_t taps_first(const hr_taps *t, int32_t o, float *entry)
{
    *entry = 0.0f;
    if (t->given)
        return (int64_t)o - t->support / 2;
    float at = (float)o * t->scale + t->origin;
    int64_t first = (int64_t)at + (at > (float)(int64_t)at); /* rounded up */
    *entry = ((float)first - at) * t->density;
    return first;
}

/* Nearest as Pillow computes it: the step is added up, which decides ties. */
HR_SHARED int32_t taps_summed(const hr_taps *t, int32_t o)
{
    double step = (double)t->n / (double)t->out, at = 0.5 * step;
    for (int32_t k = 0; k < o; k++)
        at += step;
    return taps_clamp((int64_t)at, t->n);
}

/* Output o reads elements start .. start + taps - 1. */
HR_SHARED int32_t taps_start(const hr_taps *t, int32_t o)
{
    if (t->support == 0 && t->starts != 0)
        return t->starts[o];
    if (t->support == 0 && t->cut)
        return taps_summed(t, o);
    if (t->support == 0)
        return taps_nearest(t, t->origin + ((float)o + 0.5f) * t->scale);
    float entry;
    int32_t from = taps_clamp(taps_first(t, o, &entry), t->n), end = t->n - t->taps;
    return from < end ? from : end;
}

/* ---- one output's weights, one after the other ---- */

typedef struct hr_taps_walk {
    int64_t first; /* element of tap k = 0, before folding */
    int32_t k, next;
    float entry, sum;
    bool folded;
} hr_taps_walk;

HR_SHARED void taps_walk_begin(hr_taps_walk *w, const hr_taps *t, int32_t o)
{
    w->first = 0;
    w->k = 0;
    w->next = taps_start(t, o);
    w->entry = 0.0f;
    w->sum = 1.0f;
    w->folded = false;
    if (t->support == 0)
        return;
    w->first = taps_first(t, o, &w->entry);
    w->folded = w->first < 0 || w->first + t->support > t->n;
    if (t->given)
        return;
    float sum = 0.0f, at = w->entry;
    for (int32_t k = 0; k < t->support; k++, at += t->density)
        sum += taps_weight_of(t, w->first + k, at);
    w->sum = sum;
}

/* The sum of table[first], table[first + step], ... */
HR_SHARED float taps_every(const hr_taps *t, int64_t first, int64_t step)
{
    float sum = 0.0f;
    for (int64_t k = first; k < t->support; k += step)
        sum += t->table[k];
    return sum;
}

/* The next weight of given taps. Element i is also element -i and 2 * (n - 1) - i. */
HR_SHARED float taps_given_next(hr_taps_walk *w, const hr_taps *t)
{
    int64_t at = w->next++, period = t->n > 1 ? 2 * ((int64_t)t->n - 1) : 1;
    if (!w->folded)
        return t->table[w->k++];
    int64_t direct = (at - w->first) % period, mirrored = (-at - w->first) % period;
    direct += direct < 0 ? period : 0;
    mirrored += mirrored < 0 ? period : 0;
    float sum = taps_every(t, direct, period);
    return direct == mirrored ? sum : sum + taps_every(t, mirrored, period);
}

HR_SHARED float taps_walk_next(hr_taps_walk *w, const hr_taps *t)
{
    if (t->support == 0)
        return 1.0f;
    if (t->given)
        return taps_given_next(w, t);
    if (!w->folded) {
        float weight = taps_weight(t, w->entry);
        w->entry += t->density;
        return weight / w->sum;
    }
    float folded = 0.0f;
    for (; w->k < t->support && taps_clamp(w->first + w->k, t->n) == w->next; w->k++) {
        folded += taps_weight_of(t, w->first + w->k, w->entry) / w->sum;
        w->entry += t->density;
    }
    w->next++;
    return folded;
}

/* ---- in fixed point ---- */

/* Weights rounded one after the other; the rounding error is carried along, so that they sum to
 * exactly one. */
typedef struct hr_taps_fix {
    double exact;
    int32_t given;
} hr_taps_fix;

HR_SHARED int16_t taps_fix_next(hr_taps_fix *f, float weight)
{
    f->exact += (double)weight * (1 << HR_FIX_COEF_BITS);
    double whole = f->exact + 32768.5; /* positive, so that the conversion rounds down */
    int32_t upto = (int32_t)whole - 32768, coef = upto - f->given;
    f->given = upto;
    return (int16_t)coef;
}
