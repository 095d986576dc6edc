// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Resampling of any type in float: a block makes a tile of outputs, a thread each, for a few
// channels and a stretch of source columns at a time, so that filters of any length fit. The sums
// are those of kernels/resample_f32.c: first weight times first element, then the others in order.
#ifndef HR_CUDA_IMAGE_FLOAT_CUH
#define HR_CUDA_IMAGE_FLOAT_CUH

#include "cuda/image/tile.cuh"

struct FloatTile {
    const hr_device_program *p;
    picture to;
    int y0, x0, rows, columns;
    bool kept; // vertical weights are in shared memory
    // in shared memory
    float *sums;   // [row][column of the stretch][channel of the group]
    float *y_coef; // [row][tap]
    int32_t *y_start;
    // this thread's output
    int row, column;
    bool active;
    hr_taps_walk walk;
    int start, tap;
    float sum[HR_DEVICE_GROUP];

    HR_MEMBER void begin(const hr_device_program *program, int tile, uint8_t *shared, int thread)
    {
        p = program;
        const hr_device_tiles *t = &p->tiles;
        int line = tile / t->columns, at = tile - line * t->columns, which = line / t->rows;
        line -= which * t->rows;
        to = picture_at(p, which, false);
        y0 = line * t->height;
        x0 = at * t->width;
        rows = HR_MIN(t->height, p->view_h - y0);
        columns = HR_MIN(t->width, p->view_w - x0);
        kept = (int64_t)p->y.taps * t->height <= HR_DEVICE_Y_WEIGHTS;
        y_start = (int32_t *)shared;
        y_coef = (float *)(y_start + t->height);
        sums = y_coef + (kept ? p->y.taps * t->height : 0);
        row = thread / t->width;
        column = thread - row * t->width;
        active = row < rows && column < columns;
    }

    HR_MEMBER void make_taps(int thread, int threads)
    {
        for (int i = thread; i < rows; i += threads) {
            int o = p->view_y + y0 + i;
            y_start[i] = taps_start(&p->y, o) - p->need_y;
            hr_taps_walk each;
            taps_walk_begin(&each, &p->y, o);
            for (int k = 0; kept && k < p->y.taps; k++)
                y_coef[i * p->y.taps + k] = taps_walk_next(&each, &p->y);
        }
    }

    // Source columns that the tile reads.
    HR_MEMBER int first_column() const
    {
        int a = taps_start(&p->x, p->view_x + x0);
        int b = taps_start(&p->x, p->view_x + x0 + columns - 1);
        return HR_MIN(a, b) - p->need_x;
    }

    HR_MEMBER int end_column() const
    {
        int a = taps_start(&p->x, p->view_x + x0);
        int b = taps_start(&p->x, p->view_x + x0 + columns - 1);
        return HR_MAX(a, b) - p->need_x + p->x.taps;
    }

    HR_MEMBER void begin_group()
    {
        if (!active)
            return;
        int o = p->view_x + x0 + column;
        start = taps_start(&p->x, o) - p->need_x;
        tap = 0;
        taps_walk_begin(&walk, &p->x, o);
    }

    HR_MEMBER float filter_rows(int r, int at, int channel) const
    {
        int size = value_size(p->src_dtype);
        const uint8_t *from =
            to.src + y_start[r] * p->src_stride + ((int64_t)at * p->channels + channel) * size;
        hr_taps_walk each = {};
        if (!kept)
            taps_walk_begin(&each, &p->y, p->view_y + y0 + r);
        float out = 0.0f;
        for (int k = 0; k < p->y.taps; k++, from += p->src_stride) {
            float w = kept ? y_coef[r * p->y.taps + k] : taps_walk_next(&each, &p->y);
            float v = w * value_to_float(value_load(from, size), p->src_dtype);
            out = k == 0 ? v : out + v;
        }
        return out;
    }

    // Source columns from .. from + count - 1, channels first .. first + n - 1.
    HR_MEMBER void filter_columns(int from, int count, int first, int n, int thread, int threads)
    {
        for (int i = thread; i < rows * count * n; i += threads) {
            int at = i / n, c = i - at * n, r = at / count;
            sums[i] = filter_rows(r, from + at - r * count, first + c);
        }
    }

    HR_MEMBER void add_columns(int from, int count, int n)
    {
        if (!active)
            return;
        for (; tap < p->x.taps && start + tap < from + count; tap++) {
            float w = taps_walk_next(&walk, &p->x);
            const float *at = sums + (row * count + start + tap - from) * n;
            HR_UNROLL
            for (int c = 0; c < HR_DEVICE_GROUP; c++)
                if (c < n)
                    sum[c] = tap == 0 ? w * at[c] : sum[c] + w * at[c];
        }
    }

    HR_MEMBER void store(int first, int n) const
    {
        if (!active)
            return;
        uint64_t v[HR_DEVICE_GROUP] = {};
        HR_UNROLL
        for (int c = 0; c < HR_DEVICE_GROUP; c++)
            if (c < n)
                v[c] = value_of_float(sum[c], p->resampled);
        int64_t at = view_offset(p, y0 + row, x0 + column);
        store_any(p, to.plane, to.dst + at * value_size(p->dtype), v, first, n);
    }
};

#endif
