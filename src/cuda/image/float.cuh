// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Resampling of any type in float. A block makes a tile of outputs, one per thread. It processes a
// few channels and a range of source columns (a stretch) at a time, so that filters of any length
// fit. The sums are those of kernels/resample_f32.c: first weight times first element, then the
// others in order.
#pragma once

#include "cuda/image/taps.cuh"
#include "cuda/image/tile.cuh"

// Loads an element as a float: from u8, from FLOAT, from any type.
struct LoadByte {
    int size = 1;
    HR_MEMBER float operator()(const uint8_t *at) const
    {
        return (float)*at;
    }
};

struct LoadFloat {
    int size = 4;
    HR_MEMBER float operator()(const uint8_t *at) const
    {
        return *(const float *)at;
    }
};

struct LoadAny {
    int size, dtype;
    HR_MEMBER float operator()(const uint8_t *at) const
    {
        return value_to_float(value_load(at, size), dtype);
    }
};

struct FloatTile {
    const hr_device_program *p;
    placed_image to;
    const uint32_t *made;      // from make_taps
    int y0, x0, rows, columns; // of the lines in progress
    int end_row;
    // of the filter in progress
    int first_column, end_column;  // source columns that the tile reads
    const uint32_t *x_tap, *y_tap; // for the first column and row
    int x_words, y_words, x_taps, y_taps;
    float *sums; // in shared memory: [row][column of the stretch][channel of the group]
    // this thread's output
    int row, column;
    bool active;
    int start, tap;
    float sum[HR_DEVICE_GROUP], before[HR_DEVICE_GROUP];

    HR_MEMBER void begin(const hr_device_program *program, const uint32_t *taps, int tile,
                         uint8_t *shared, int thread)
    {
        p = program;
        const hr_device_tiles *t = &p->tiles;
        position at = position_of(p, tile);
        to = image_at(p, at.which, false);
        y0 = at.row * t->height;
        x0 = at.column * t->width;
        end_row = HR_MIN(y0 + t->height, p->view_h);
        columns = HR_MIN(t->width, p->view_w - x0);
        made = taps;
        sums = (float *)shared;
        row = thread / t->width;
        column = thread - row * t->width;
        y0 -= p->tiles.lines;
    }

    // Moves to the next lines of the tile; false after the last.
    HR_MEMBER bool next_rows()
    {
        y0 += p->tiles.lines;
        rows = HR_MIN(p->tiles.lines, end_row - y0);
        active = row < rows && column < columns;
        return rows > 0;
    }

    HR_MEMBER int filters() const
    {
        return p->sum ? 2 : 1;
    }

    HR_MEMBER void begin_filter(int number)
    {
        const hr_taps *x = number > 0 ? &p->sum_x : &p->x, *y = number > 0 ? &p->sum_y : &p->y;
        x_taps = x->taps;
        y_taps = y->taps;
        x_words = tap_words(p, x);
        y_words = tap_words(p, y);
        x_tap = made + (number > 0 ? filter_size(p, &p->y, &p->x) : 0);
        y_tap = x_tap + (int64_t)p->view_w * x_words + (int64_t)y0 * y_words;
        x_tap += (int64_t)x0 * x_words;
        start = column < columns ? (int)x_tap[(int64_t)column * x_words] : 0;
        first_column = (int)HR_MIN(x_tap[0], x_tap[(int64_t)(columns - 1) * x_words]);
        end_column = (int)HR_MAX(x_tap[0], x_tap[(int64_t)(columns - 1) * x_words]) + x_taps;
        tap = 0;
    }

    // Adds the sums of the first filter to those of the second.
    HR_MEMBER void end_filter(int number)
    {
        HR_UNROLL
        for (int c = 0; c < HR_DEVICE_GROUP; c++) {
            if (number > 0)
                sum[c] += before[c];
            before[c] = sum[c];
        }
    }

    template <typename Load>
    HR_MEMBER void filter_stretch(const Load &load, int from, int count, int first, int n,
                                  int thread, int threads)
    {
        int64_t pixel = (int64_t)p->channels * load.size, stride = p->src_stride;
        int per_row = count * n;
        const uint8_t *base = to.src + from * pixel + (int64_t)first * load.size;
        for (int i = thread; i < rows * per_row; i += threads) {
            int r = 0, at = i;
            for (; at >= per_row; r++)
                at -= per_row;
            const uint32_t *taps = y_tap + (int64_t)r * y_words;
            const float *weight = (const float *)(taps + 1);
            int pixel_at = n == 1 ? at : n == 3 ? at / 3 : n == 4 ? at / 4 : at / n;
            const uint8_t *src = base + (int64_t)(int)taps[0] * stride + pixel_at * pixel +
                                 (at - pixel_at * n) * load.size;
            float out = weight[0] * load(src);
            for (int k = 1; k < y_taps; k++) {
                src += stride;
                out += weight[k] * load(src);
            }
            sums[i] = out;
        }
    }

    // Vertical pass for source columns from .. from + count - 1, channels first .. first + n - 1.
    HR_MEMBER void filter_columns(int from, int count, int first, int n, int thread, int threads)
    {
        if (p->src_dtype == HR_DTYPE_UINT8)
            filter_stretch(LoadByte(), from, count, first, n, thread, threads);
        else if (p->src_dtype == HR_DTYPE_FLOAT)
            filter_stretch(LoadFloat(), from, count, first, n, thread, threads);
        else
            filter_stretch(LoadAny{value_size(p->src_dtype), p->src_dtype}, from, count, first, n,
                           thread, threads);
    }

    HR_MEMBER void add_columns(int from, int count, int n)
    {
        if (!active)
            return;
        const float *weight = (const float *)(x_tap + (int64_t)column * x_words + 1);
        for (; tap < x_taps && start + tap < from + count; tap++) {
            float w = weight[tap];
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
