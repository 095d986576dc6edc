/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Windows that repeat the source: along each dimension the window is cut into runs of neighbouring
 * source elements, forwards, backwards or all the same one. Each combination of runs is a box. */
#include "ops/generic/border_parts.h"

#define PARTS_MAX 65536 /* boxes of a window */

/* Elements to .. to + count - 1 of the window: from, from + step, from + 2 * step, ... */
typedef struct run {
    int64_t to, count, from;
    int32_t step;
} run;

/* The run that begins at element `at`, which may be outside, of a row of n >= 1 elements. */
static run run_at(int64_t at, int64_t n, hr_border border)
{
    run r = {.from = border_index(at, n, border)};

    if (n == 1 || (border == HR_BORDER_CLAMP && (at < 0 || at >= n))) {
        r.count = n > 1 && at < 0 ? -at : INT64_MAX;
        return r;
    }
    int64_t period = border == HR_BORDER_REFLECT_1001  ? 2 * n
                     : border == HR_BORDER_REFLECT_101 ? 2 * n - 2
                                                       : n;
    int64_t phase = at % period;
    phase += phase < 0 ? period : 0;
    r.step = phase < n ? 1 : -1;
    r.count = (phase < n ? n : period) - phase;
    return r;
}

/* Writes the runs of `size` elements from `start` on, at most `limit`; returns how many there are,
 * or limit + 1. */
static int64_t runs_make(int64_t start, int64_t size, int64_t n, hr_border border, run *out,
                         int64_t limit)
{
    int64_t count = 0;

    for (int64_t done = 0; done < size; count++) {
        if (count == limit)
            return limit + 1;
        run r = run_at(start + done, n, border);
        r.to = done;
        r.count = HR_MIN(r.count, size - done);
        if (out)
            out[count] = r;
        done += r.count;
    }
    return count;
}

/* The box of the k-th combination of runs. */
static void part_make(hr_region_part *part, const hr_region *whole, run *const *runs,
                      const int64_t *counts, int64_t k)
{
    *part = (hr_region_part){.region = *whole};
    for (int32_t d = whole->ndim - 1; d >= 0; d--) {
        const run *r = &runs[d][k % counts[d]];
        k /= counts[d];
        part->to += r->to * whole->to[d];
        part->from += r->from * whole->from[d];
        part->region.extent[d] = r->count;
        part->region.from[d] = r->step * whole->from[d];
    }
}

hr_status hr__border_parts(hr_op_call *c, const int64_t *start, hr_border border, hr_error *error)
{
    const hr_tensor *in = &c->in[0], *out = &c->out[0];
    hr_region whole;
    hr_region_parts *parts;
    run *runs[HR_MAX_NDIM];
    int64_t counts[HR_MAX_NDIM], total = 1;
    size_t bytes;

    if (!hr_tensor_bytes(out, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    for (int32_t d = 0; d < in->shape.ndim && bytes > 0; d++) {
        int64_t n = in->shape.extent[d], size = out->shape.extent[d];
        if (n == 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "dimension %d has no elements that could be repeated", (int)d);
        counts[d] = runs_make(start[d], size, n, border, NULL, PARTS_MAX / total);
        if (counts[d] > PARTS_MAX / total)
            return hr_fail(error, HR_STATUS_LIMIT,
                           "the window repeats the input more than %d times; pad with a constant, "
                           "or make it smaller",
                           PARTS_MAX);
        total *= counts[d];
        runs[d] = hr_arena_alloc(c->arena, (size_t)counts[d] * sizeof(run), error);
        HR_TRY_ALLOC(runs[d]);
        runs_make(start[d], size, n, border, runs[d], counts[d]);
    }
    total = bytes > 0 ? total : 0;
    HR_TRY(hr__parts_make(c->arena, (int32_t)total, &parts, error));
    c->memo = parts;
    parts->convert = in->dtype != out->dtype;
    hr__region_init(&whole, &out->shape, hr_dtype_size(out->dtype));
    hr__strides(&in->shape, hr_dtype_size(in->dtype), whole.from);
    for (int64_t k = 0; k < total; k++) {
        part_make(&parts->part[k], &whole, runs, counts, k);
        if (!parts->convert)
            hr__region_simplify(&parts->part[k].region);
    }
    return HR_STATUS_OK;
}
