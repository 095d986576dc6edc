// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Resampling of u8 in fixed point; a block makes a tile of outputs. The vertical pass reads global
// memory and writes rows of int16 to shared memory; the horizontal pass normalises and stores. Sums
// and rounding are those of kernels/resample_u8.c. Each phase is a function of the thread's index,
// so that a host can run the threads one after the other.
#pragma once

#include "cuda/image/taps.cuh"
#include "cuda/image/tile.cuh"

// ---- instructions, with their equivalents on the host ----

// sum + coef.lo * bytes[0] + coef.hi * bytes[1] (HIGH: bytes 2 and 3). Coefficients are signed,
// bytes are unsigned.
template <bool HIGH> HR_SHARED int32_t add_pair(uint32_t coefs, uint32_t bytes, int32_t sum)
{
#if defined(__CUDA_ARCH__)
    int32_t out;
    if (HIGH)
        asm("dp2a.hi.s32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(coefs), "r"(bytes), "r"(sum));
    else
        asm("dp2a.lo.s32.u32 %0, %1, %2, %3;" : "=r"(out) : "r"(coefs), "r"(bytes), "r"(sum));
    return out;
#else
    bytes >>= HIGH ? 16 : 0;
    return sum + (int16_t)coefs * (int32_t)(bytes & 255) +
           (int16_t)(coefs >> 16) * (int32_t)(bytes >> 8 & 255);
#endif
}

// Packs both, saturated to int16.
HR_SHARED uint32_t pack_rows(int32_t low, int32_t high)
{
#if defined(__CUDA_ARCH__)
    uint32_t out;
    asm("cvt.pack.sat.s16.s32 %0, %1, %2;" : "=r"(out) : "r"(high), "r"(low));
    return out;
#else
    return (uint32_t)(uint16_t)clamp_i(low, INT16_MIN, INT16_MAX) |
           (uint32_t)(uint16_t)clamp_i(high, INT16_MIN, INT16_MAX) << 16;
#endif
}

// Four bytes of (high, low), from bit `shift` on.
HR_SHARED uint32_t shift_words(uint32_t low, uint32_t high, uint32_t shift)
{
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(low, high, shift);
#else
    return (uint32_t)(((uint64_t)high << 32 | low) >> shift);
#endif
}

// ---- the tile ----

template <int C, int STORE> struct FixedTile {
    enum {
        PIXEL = C == 1   ? 2
                : C == 2 ? 4
                         : 8, // bytes of a pixel between the passes
        V_SHIFT = HR_FIX_COEF_BITS - HR_FIX_ROW_BITS,
        H_SHIFT = HR_FIX_COEF_BITS + HR_FIX_ROW_BITS,
        H_BELOW_HALF = (1 << (H_SHIFT - 1)) - 1
    };

    const hr_device_program *p;
    const uint32_t *taps; // from make_taps
    placed_image to;
    int y0, x0, rows, columns; // the tile's outputs, in the view
    int stride, row_bytes;     // of source rows; of the rows between the passes
    int x_taps, y_taps, y_words, width;
    // in shared memory
    uint8_t *pixels; // rows of span pixels
    uint32_t *x_tap; // [word of the column's taps][column]
    uint32_t *y_tap; // [row][word]; the first word is 2 * start + is_roomy
    uint32_t *points; // from load_points

    HR_MEMBER void begin(const hr_device_program *program, const uint32_t *made, int tile,
                         uint8_t *shared, uint32_t *shared_points)
    {
        p = program;
        taps = made;
        points = shared_points;
        const hr_device_tiles *t = &p->tiles;
        position at = position_of(p, tile);
        to = image_at(p, at.which, false);
        int row = at.row, column = at.column;
        y0 = row * t->height;
        x0 = column * t->width;
        rows = HR_MIN(t->height, p->view_h - y0);
        columns = HR_MIN(t->width, p->view_w - x0);
        stride = (int)p->src_stride;
        row_bytes = t->span * PIXEL;
        x_taps = p->x.taps;
        y_taps = p->y.taps;
        y_words = tap_words(p, &p->y);
        width = t->width;
        pixels = shared;
        x_tap = (uint32_t *)(shared + t->height * row_bytes + 32);
        y_tap = x_tap + t->width * tap_words(p, &p->x);
    }

    // Whether whole words may be read around the source rows of an output row.
    HR_MEMBER bool is_roomy(int start) const
    {
        int64_t from = (int64_t)start * stride, to_end = from + (int64_t)(y_taps - 1) * stride;
        bool before = from + p->lead >= 3 || ((uintptr_t)(to.src - p->lead) & 3) == 0;
        return before && to_end + (int64_t)(p->need_w + 3) * C + 4 <= p->tail;
    }

    // First phase.
    HR_MEMBER void load_taps(int thread, int threads)
    {
        int words = tap_words(p, &p->x);
        const uint32_t *from = taps + (int64_t)x0 * words;
        if constexpr (has_points(STORE))
            load_points(p, points, thread, threads);
        for (int i = thread; i < columns; i += threads)
            for (int k = 0; k < words; k++)
                x_tap[k * width + i] = load_word(from + i * words + k);
        from = taps + (int64_t)p->view_w * words + (int64_t)y0 * y_words;
        for (int i = threads - 1 - thread; i < rows; i += threads) {
            uint32_t start = load_word(from + i * y_words);
            y_tap[i * y_words] = start * 2 + is_roomy((int)start);
            for (int k = 1; k < y_words; k++)
                y_tap[i * y_words + k] = load_word(from + i * y_words + k);
        }
    }

    // ---- vertical: four pixels of a row at a time, C words ----

    HR_MEMBER static void load_words(uint32_t *out, const uint8_t *at)
    {
        const uint32_t *from = (const uint32_t *)((uintptr_t)at & ~(uintptr_t)3);
        uint32_t shift = (uint32_t)(uintptr_t)at * 8 & 24, word[C + 1];
        HR_UNROLL
        for (int w = 0; w <= C; w++)
            word[w] = load_word(from + w);
        HR_UNROLL
        for (int w = 0; w < C; w++)
            out[w] = shift_words(word[w], word[w + 1], shift);
    }

    // The same from `count` bytes; the rest are 0.
    HR_MEMBER static void load_bytes(uint32_t *out, const uint8_t *at, int count)
    {
        HR_UNROLL
        for (int w = 0; w < C; w++) {
            out[w] = 0;
            for (int b = 0; b < 4; b++)
                if (4 * w + b < count)
                    out[w] |= (uint32_t)at[4 * w + b] << 8 * b;
        }
    }

    HR_MEMBER static void add_rows(int32_t *sum, const uint32_t *a, const uint32_t *b,
                                   uint32_t coefs)
    {
        HR_UNROLL
        for (int w = 0; w < C; w++) {
            uint32_t low = pick_bytes(a[w], b[w], 0x5140), high = pick_bytes(a[w], b[w], 0x7362);
            sum[4 * w] = add_pair<false>(coefs, low, sum[4 * w]);
            sum[4 * w + 1] = add_pair<true>(coefs, low, sum[4 * w + 1]);
            sum[4 * w + 2] = add_pair<false>(coefs, high, sum[4 * w + 2]);
            sum[4 * w + 3] = add_pair<true>(coefs, high, sum[4 * w + 3]);
        }
    }

    // `at`: the first pixel in the first row; `count` bytes of the row follow.
    template <bool ROOMY>
    HR_MEMBER void filter_any(int32_t *sum, const uint8_t *at, int count,
                              const uint32_t *coef) const
    {
        uint32_t a[C], b[C];
        for (int k = 0; k < y_taps; k += 2, at += 2 * (int64_t)stride, coef++) {
            // An odd number of rows: the last weight is paired with zero.
            const uint8_t *second = k + 1 < y_taps ? at + stride : at;
            if constexpr (ROOMY) {
                load_words(a, at);
                load_words(b, second);
            } else {
                load_bytes(a, at, count);
                load_bytes(b, second, count);
            }
            add_rows(sum, a, b, *coef);
        }
    }

    // Loads all rows before the first is used, which hides the latency.
    template <int TAPS>
    HR_MEMBER void filter_few(int32_t *sum, const uint8_t *at, const uint32_t *coef) const
    {
        uint32_t row[TAPS][C];
        HR_UNROLL
        for (int k = 0; k < TAPS; k++, at += stride)
            load_words(row[k], at);
        add_rows(sum, row[0], row[TAPS > 1 ? 1 : 0], coef[0]);
        if constexpr (TAPS > 2)
            add_rows(sum, row[2], row[TAPS > 3 ? 3 : 2], coef[1]);
    }

    HR_MEMBER static void store_rows(uint8_t *at, const int32_t *sum)
    {
        uint32_t out[PIXEL];
        if constexpr (C == 3) {
            HR_UNROLL
            for (int i = 0; i < 4; i++) {
                out[2 * i] = pack_rows(sum[3 * i] >> V_SHIFT, sum[3 * i + 1] >> V_SHIFT);
                out[2 * i + 1] = pack_rows(sum[3 * i + 2] >> V_SHIFT, 0);
            }
        } else {
            HR_UNROLL
            for (int i = 0; i < 2 * C; i++)
                out[i] = pack_rows(sum[2 * i] >> V_SHIFT, sum[2 * i + 1] >> V_SHIFT);
        }
        if constexpr (C == 1) {
            *(uint2 *)at = make_uint2(out[0], out[1]);
        } else {
            HR_UNROLL
            for (int i = 0; i < PIXEL; i += 4)
                *(uint4 *)(at + 4 * i) = make_uint4(out[i], out[i + 1], out[i + 2], out[i + 3]);
        }
    }

    HR_MEMBER int first_column() const
    {
        return (int)HR_MIN(x_tap[0], x_tap[columns - 1]);
    }

    // Groups of four pixels, row after row. TAPS 0: any number of source rows per output.
    template <int TAPS> HR_MEMBER void filter_groups(int thread, int threads)
    {
        int first = first_column();
        int span = (int)HR_MAX(x_tap[0], x_tap[columns - 1]) + x_taps - first;
        int groups = (span + 3) / 4, step_r = threads / groups, step_g = threads - step_r * groups;
        int r = thread / groups, g = thread - r * groups;
        const uint8_t *src = to.src + first * C;
        while (r < rows) {
            int32_t sum[4 * C];
            HR_UNROLL
            for (int i = 0; i < 4 * C; i++)
                sum[i] = 1 << (V_SHIFT - 1);
            const uint32_t *tap = y_tap + r * y_words;
            const uint8_t *at = src + (int64_t)(int)(tap[0] >> 1) * stride + g * (4 * C);
            if ((tap[0] & 1) == 0)
                filter_any<false>(sum, at, (p->need_w - first - 4 * g) * C, tap + 1);
            else if constexpr (TAPS > 0)
                filter_few<TAPS>(sum, at, tap + 1);
            else
                filter_any<true>(sum, at, 0, tap + 1);
            store_rows(pixels + r * row_bytes + g * (4 * PIXEL), sum);
            r += step_r;
            g += step_g;
            if (g >= groups) {
                g -= groups;
                r++;
            }
        }
    }

    // Second phase.
    HR_MEMBER void filter_columns(int thread, int threads)
    {
        if (y_taps <= 2 && y_taps > 1)
            filter_groups<2>(thread, threads);
        else if (y_taps == 3)
            filter_groups<3>(thread, threads);
        else if (y_taps == 4)
            filter_groups<4>(thread, threads);
        else
            filter_groups<0>(thread, threads);
    }

    // ---- horizontal: one column of outputs per thread ----

    HR_MEMBER static void add_pixel(int32_t *sum, const uint8_t *at, int32_t coef)
    {
        if constexpr (C == 1) {
            sum[0] += *(const int16_t *)at * coef;
        } else if constexpr (C == 2) {
            uint32_t both = *(const uint32_t *)at;
            sum[0] += (int16_t)both * coef;
            sum[1] += ((int32_t)both >> 16) * coef;
        } else {
            uint2 all = *(const uint2 *)at;
            sum[0] += (int16_t)all.x * coef;
            sum[1] += ((int32_t)all.x >> 16) * coef;
            sum[2] += (int16_t)all.y * coef;
            if constexpr (C == 4)
                sum[3] += ((int32_t)all.y >> 16) * coef;
        }
    }

    HR_MEMBER void add_any(int32_t *sum, const uint8_t *at, const uint32_t *tap) const
    {
        for (int k = 0; k < x_taps; k += 2, at += 2 * PIXEL, tap += width) {
            uint32_t pair = *tap;
            add_pixel(sum, at, (int16_t)pair);
            add_pixel(sum, at + PIXEL, (int32_t)pair >> 16); // the weight is 0 beyond the last tap
        }
    }

    template <int TAPS>
    HR_MEMBER void filter_pixel(uint32_t *v, const uint8_t *at, const int32_t *kept, int x) const
    {
        int32_t sum[C] = {};
        if constexpr (TAPS > 0) {
            HR_UNROLL
            for (int k = 0; k < TAPS; k++)
                add_pixel(sum, at + k * PIXEL, kept[k]);
        } else {
            add_any(sum, at, x_tap + width + x);
        }
        HR_UNROLL
        for (int c = 0; c < C; c++) {
            int32_t rounded = (sum[c] + H_BELOW_HALF + (sum[c] >> H_SHIFT & 1)) >> H_SHIFT;
            v[c] = (uint32_t)(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
        }
    }

    // TAPS: weights kept in registers; 0: they stay in shared memory.
    template <int TAPS, int MODE>
    HR_MEMBER void filter_column(const PixelStore<C, STORE> &store, int x, int row, int step) const
    {
        int32_t kept[TAPS + 1];
        HR_UNROLL
        for (int k = 0; k < TAPS; k++) {
            uint32_t pair = x_tap[(1 + k / 2) * width + x];
            kept[k] = k & 1 ? (int32_t)pair >> 16 : (int16_t)pair;
        }
        int64_t next = (p->mirror_y ? -p->dst_y : p->dst_y) * step * store.size();
        uint8_t *dst = to.dst + view_offset(p, y0 + row, x0 + x) * store.size();
        const uint8_t *at = pixels + ((int)x_tap[x] - first_column()) * PIXEL + row * row_bytes;
        constexpr int PIXELS = PixelStore<C, STORE>::PIXELS;
        const Points<PixelStore<C, STORE>::WIDE> steps(p, points);
        for (int left = rows - row; left > 0; left -= PIXELS * step) {
            uint32_t v[PIXELS][PixelStore<C, STORE>::WIDE] = {};
            HR_UNROLL
            for (int i = 0; i < PIXELS; i++, at += step * row_bytes)
                if (PIXELS == 1 || i * step < left)
                    filter_pixel<TAPS>(v[i], at, kept, x);
            if constexpr (has_points(STORE))
                steps.template apply<PIXELS>(v);
            HR_UNROLL
            for (int i = 0; i < PIXELS; i++, dst += next)
                if (PIXELS == 1 || i * step < left)
                    store.template write<MODE>(dst, v[i]);
        }
    }

    template <int TAPS> HR_MEMBER void filter_as(int x, int row, int step) const
    {
        PixelStore<C, STORE> store(p, to.plane);
        if constexpr (STORE >= HR_DEVICE_STORE_POINTS)
            filter_column<TAPS, WRITE_CHANNELS>(store, x, row, step);
        else if (store.mode == WRITE_CHANNELS)
            filter_column<TAPS, WRITE_CHANNELS>(store, x, row, step);
        else if (C == 3 && STORE == HR_DEVICE_STORE_F16 && store.mode == WRITE_QUADS)
            filter_column<TAPS, WRITE_QUADS>(store, x, row, step);
        else
            filter_column<TAPS, WRITE_ADDED>(store, x, row, step);
    }

    HR_MEMBER void filter_some(int x, int row, int step) const
    {
        if constexpr (STORE == HR_DEVICE_STORE_ANY || STORE == HR_DEVICE_STORE_POINTS) // rare
            filter_as<0>(x, row, step);
        else if (x_taps <= 2)
            filter_as<2>(x, row, step);
        else if (x_taps == 3)
            filter_as<3>(x, row, step);
        else if (x_taps == 4)
            filter_as<4>(x, row, step);
        else
            filter_as<0>(x, row, step);
    }

    // Third phase. Narrow tiles: several rows at a time.
    HR_MEMBER void filter_pixels(int thread, int threads) const
    {
        int step = 2 * columns > threads ? 1 : threads / columns;
        for (int i = thread; i < columns * step; i += threads) {
            int row = step == 1 ? 0 : i / columns;
            filter_some(i - row * columns, row, step);
        }
    }
};
