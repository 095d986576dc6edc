/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* multi_paste: what is pasted where, for the CPU and the GPU. Errors are written to a buffer `text`
 * of HR_PASTE_TEXT bytes. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

#include <math.h>
#include <stdio.h>

#define HR_PASTE_TEXT 256

typedef struct hr_multi_paste_args {
    hr_ints in_ids, output_size, in_anchors, out_anchors, shapes;
    hr_floats in_anchors_rel, out_anchors_rel, shapes_rel;
    int32_t dtype;
} hr_multi_paste_args;

/* What is pasted into one sample: its own inputs or, with `in_ids`, samples of the batch. */
typedef struct hr_multi_paste {
    const hr_multi_paste_args *args;
    const hr_op_call *call, *batch;
    int32_t first; /* the dimension of the height */
    int64_t count, frames, channels;
    int64_t canvas[2];
} hr_multi_paste;

typedef struct hr_paste_region {
    int64_t from[2], to[2], shape[2];
} hr_paste_region;

static inline const hr_tensor *multi_paste_source(const hr_multi_paste *m, int64_t k)
{
    const int32_t *ids = m->args->in_ids.v;
    return ids ? &m->batch[ids[k]].in[0] : &m->call->in[k];
}

/* The sources of call i of n. Fails unless they have the same type, frames and channels. The canvas
 * is not set. */
static inline bool multi_paste_open(hr_multi_paste *m, const hr_op_call *calls, int32_t n,
                                    int32_t i, char *text)
{
    const hr_tensor *own = &calls[i].in[0];
    const hr_multi_paste_args *args = (const hr_multi_paste_args *)calls[i].args;
    const hr_ints ids = args->in_ids;
    const int32_t last = own->shape.ndim - 1;

    m->args = args;
    m->call = &calls[i];
    m->batch = calls;
    m->count = ids.v ? ids.n : calls[i].n_in;
    m->first = last - 2;
    m->frames = m->first > 0 ? own->shape.extent[0] : 1;
    m->channels = own->shape.extent[last];
    for (int64_t k = 0; k < m->count; k++) {
        if (ids.v && (ids.v[k] < 0 || ids.v[k] >= n)) {
            snprintf(
                text, HR_PASTE_TEXT,
                "The `in_idx` must be in range [0, %d]. Got in_idx: %d. Input batch size is: %d.",
                (int)n - 1, (int)ids.v[k], (int)n);
            return false;
        }
        const hr_tensor *t = multi_paste_source(m, k);
        if (t->dtype != own->dtype || t->shape.ndim != own->shape.ndim) {
            snprintf(text, HR_PASTE_TEXT,
                     "all inputs must have the same type and number of dimensions");
            return false;
        }
        if (m->first > 0 && t->shape.extent[0] != m->frames) {
            snprintf(text, HR_PASTE_TEXT, "all inputs must have the same number of frames");
            return false;
        }
        if (k > 0 && t->shape.extent[last] != m->channels) {
            snprintf(text, HR_PASTE_TEXT,
                     "All regions pasted into given output sample must have the same number of "
                     "channels, but they have %lld and %lld",
                     (long long)m->channels, (long long)t->shape.extent[last]);
            return false;
        }
        m->channels = t->shape.extent[last];
    }
    return true;
}

/* The place of an element in a list with two numbers per region, or per frame and region. */
static inline bool multi_paste_element(const hr_multi_paste *m, const char *name, int32_t n,
                                       int64_t frame, int64_t k, int32_t d, int64_t *at, char *text)
{
    *at = (n == 2 * m->count ? k : frame * m->count + k) * 2 + d;
    if (n == 2 * m->count || n == 2 * m->count * m->frames)
        return true;
    snprintf(text, HR_PASTE_TEXT, "`%s` has %d elements; it must have 2 for each of %lld regions",
             name, (int)n, (long long)m->count);
    return false;
}

/* `*v` from the absolute list, or from the relative one times `size`; unchanged without both. */
static inline bool multi_paste_value(const hr_multi_paste *m, const char *name, hr_ints absolute,
                                     hr_floats relative, int64_t size, bool up, int64_t frame,
                                     int64_t k, int32_t d, int64_t *v, char *text)
{
    int64_t at = 0;

    if (absolute.v) {
        if (!multi_paste_element(m, name, absolute.n, frame, k, d, &at, text))
            return false;
        *v = absolute.v[at];
    } else if (relative.v) {
        if (!multi_paste_element(m, name, relative.n, frame, k, d, &at, text))
            return false;
        float factor = relative.v[at];
        if (!(factor >= 0.0f && factor <= 1.0f)) {
            snprintf(text, HR_PASTE_TEXT, "`%s_rel` must be float in [0, 1] range, got %g", name,
                     (double)factor);
            return false;
        }
        double product = (double)((float)size * factor);
        *v = (int64_t)(up ? -floor(-product) : floor(product));
    }
    return true;
}

/* Whether `shape` elements from `from` on are inside `extent`. */
static inline bool multi_paste_inside(const char *what, int64_t k, int64_t from, int64_t shape,
                                      int64_t extent, char *text)
{
    if (from >= 0 && shape >= 0 && from + shape <= extent)
        return true;
    snprintf(
        text, HR_PASTE_TEXT,
        "The pasted region must be within %s: region %lld is %lld elements from %lld on, of %lld",
        what, (long long)k, (long long)shape, (long long)from, (long long)extent);
    return false;
}

/* Region k of a frame. */
static inline bool multi_paste_region(const hr_multi_paste *m, int64_t frame, int64_t k,
                                      hr_paste_region *r, char *text)
{
    const hr_multi_paste_args *a = m->args;
    const int64_t *extent = multi_paste_source(m, k)->shape.extent + m->first;

    for (int32_t d = 0; d < 2; d++) {
        r->from[d] = r->to[d] = 0;
        if (!multi_paste_value(m, "in_anchors", a->in_anchors, a->in_anchors_rel, extent[d], false,
                               frame, k, d, &r->from[d], text) ||
            !multi_paste_value(m, "out_anchors", a->out_anchors, a->out_anchors_rel, m->canvas[d],
                               false, frame, k, d, &r->to[d], text))
            return false;
        r->shape[d] = extent[d] - r->from[d];
        if (!multi_paste_value(m, "shapes", a->shapes, a->shapes_rel, extent[d], true, frame, k, d,
                               &r->shape[d], text) ||
            !multi_paste_inside("its source", k, r->from[d], r->shape[d], extent[d], text) ||
            !multi_paste_inside("the canvas", k, r->to[d], r->shape[d], m->canvas[d], text))
            return false;
    }
    return true;
}
