// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The taps of a program, made once for all tiles: first of each column of the view, then of each
// row. The taps of one column or row are the first source index (relative to the pixels needed) and
// the weights, as pairs of 16-bit integers or as floats.
#pragma once

#include "core/error.h"
#include "image/device.h"

// Words that one output's taps take. t is the program's y or x.
HR_SHARED int tap_words(const hr_device_program *p, const hr_taps *t)
{
    return 1 + (p->kind == HR_DEVICE_KIND_FIXED ? (t->taps + 1) / 2 : t->taps);
}

// Words that the taps of one filter of a program take.
HR_SHARED int64_t filter_size(const hr_device_program *p, const hr_taps *y, const hr_taps *x)
{
    return (int64_t)p->view_w * tap_words(p, x) + (int64_t)p->view_h * tap_words(p, y);
}

// Words that all taps of a program take.
HR_SHARED int64_t taps_size(const hr_device_program *p)
{
    return filter_size(p, &p->y, &p->x) + (p->sum ? filter_size(p, &p->sum_y, &p->sum_x) : 0);
}

HR_SHARED void make_pairs(uint32_t *out, const hr_taps *t, hr_taps_walk *walk)
{
    hr_taps_fix fix = {0.0, 0};
    for (int k = 0; k < t->taps; k += 2) {
        uint32_t pair = (uint16_t)taps_fix_next(&fix, taps_walk_next(walk, t));
        if (k + 1 < t->taps)
            pair |= (uint32_t)(uint16_t)taps_fix_next(&fix, taps_walk_next(walk, t)) << 16;
        out[k / 2] = pair;
    }
}

HR_SHARED void make_floats(float *out, const hr_taps *t, hr_taps_walk *walk)
{
    for (int k = 0; k < t->taps; k++)
        out[k] = taps_walk_next(walk, t);
}

// Makes the taps of column i, or of row i - view_w, of one filter.
HR_SHARED void make_filter(const hr_device_program *p, const hr_taps *y, const hr_taps *x,
                           uint32_t *out, int64_t i)
{
    bool is_row = i >= p->view_w;
    const hr_taps *t = is_row ? y : x;
    int o = (int)(is_row ? p->view_y + (i - p->view_w) : p->view_x + i);
    out += is_row ? (int64_t)p->view_w * tap_words(p, x) : 0;
    out += (is_row ? i - p->view_w : i) * tap_words(p, t);
    hr_taps_walk walk;
    taps_walk_begin(&walk, t, o);
    out[0] = (uint32_t)(taps_start(t, o) - (is_row ? p->need_y : p->need_x));
    if (p->kind == HR_DEVICE_KIND_FIXED)
        make_pairs(out + 1, t, &walk);
    else
        make_floats((float *)(out + 1), t, &walk);
}

// Makes the taps of column i, or of row i - view_w.
HR_SHARED void make_taps(const hr_device_program *p, uint32_t *out, int64_t i)
{
    if (i - p->view_w >= p->view_h)
        return;
    make_filter(p, &p->y, &p->x, out, i);
    if (p->sum)
        make_filter(p, &p->sum_y, &p->sum_x, out + filter_size(p, &p->y, &p->x), i);
}
