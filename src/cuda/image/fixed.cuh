// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Resampling of u8 in fixed point: a block makes a tile of outputs. Vertical pass from device
// memory into rows of int16 in shared memory, then horizontal pass, normalisation and store. The
// sums and roundings are those of kernels/resample_u8.c. Each phase is a function of the thread's
// number, so that a host can run them one thread after the other.
#ifndef HR_CUDA_IMAGE_FIXED_CUH
#define HR_CUDA_IMAGE_FIXED_CUH

#include "cuda/image/tile.cuh"

// ---- instructions, and what they do ----

// Bytes `selector` (four nibbles) of the eight in (b, a).
HR_SHARED uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
#if defined(__CUDA_ARCH__)
    return __byte_perm(a, b, selector);
#else
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t out = 0;
    for (int i = 0; i < 4; i++)
        out |= (uint32_t)(both >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    return out;
#endif
}

// sum + coef.lo * bytes[0] + coef.hi * bytes[1] (HIGH: bytes 2 and 3); coefs are signed, bytes not.
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

// Both saturated to int16.
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

// The four bytes from bit `shift` of (high, low) on.
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
    picture to;
    int y0, x0, rows, columns; // of outputs, in the view
    int y_pairs;
    // in shared memory
    uint8_t *pixels;   // rows of span pixels
    int32_t *x_start;  // a column's first source column
    int32_t *x_coef;   // [tap][column]
    uint32_t *y_start; // a row's first source row, doubled; odd: words may be read around it
    uint32_t *y_coef;  // [row][pair of taps]

    HR_MEMBER void begin(const hr_device_program *program, int tile, uint8_t *shared)
    {
        p = program;
        const hr_device_tiles *t = &p->tiles;
        int row = tile / t->columns, column = tile - row * t->columns;
        int which = row / t->rows;
        row -= which * t->rows;
        to = picture_at(p, which, false);
        y0 = row * t->height;
        x0 = column * t->width;
        rows = HR_MIN(t->height, p->view_h - y0);
        columns = HR_MIN(t->width, p->view_w - x0);
        y_pairs = (p->y.taps + 1) / 2;
        pixels = shared;
        x_start = (int32_t *)(shared + t->height * t->span * PIXEL + 32);
        x_coef = x_start + t->width;
        y_start = (uint32_t *)(x_coef + t->width * p->x.taps);
        y_coef = y_start + t->height;
    }

    // May whole words be read around the source rows of an output row?
    HR_MEMBER bool is_roomy(int start) const
    {
        int64_t from = start * p->src_stride, to_end = from + (p->y.taps - 1) * p->src_stride;
        bool before = from + p->lead >= 3 || ((uintptr_t)(to.src - p->lead) & 3) == 0;
        return before && to_end + (int64_t)(p->need_w + 3) * C + 4 <= p->tail;
    }

    HR_MEMBER void make_x(int i)
    {
        hr_taps_walk walk;
        hr_taps_fix fix = {0.0, 0};
        int o = p->view_x + x0 + i;
        x_start[i] = taps_start(&p->x, o) - p->need_x;
        taps_walk_begin(&walk, &p->x, o);
        for (int k = 0; k < p->x.taps; k++)
            x_coef[k * p->tiles.width + i] = taps_fix_next(&fix, taps_walk_next(&walk, &p->x));
    }

    HR_MEMBER void make_y(int i)
    {
        hr_taps_walk walk;
        hr_taps_fix fix = {0.0, 0};
        int o = p->view_y + y0 + i, start = taps_start(&p->y, o) - p->need_y;
        y_start[i] = (uint32_t)start * 2 + is_roomy(start);
        taps_walk_begin(&walk, &p->y, o);
        for (int k = 0; k < p->y.taps; k += 2) {
            uint32_t pair = (uint16_t)taps_fix_next(&fix, taps_walk_next(&walk, &p->y));
            if (k + 1 < p->y.taps)
                pair |= (uint32_t)taps_fix_next(&fix, taps_walk_next(&walk, &p->y)) << 16;
            y_coef[i * y_pairs + k / 2] = pair;
        }
    }

    // First phase.
    HR_MEMBER void make_taps(int thread, int threads)
    {
        for (int i = thread; i < columns + rows; i += threads) {
            if (i < columns)
                make_x(i);
            else
                make_y(i - columns);
        }
    }

    // ---- vertical: four pixels of a row at a time, C words ----

    HR_MEMBER static void load_words(uint32_t *out, const uint8_t *at)
    {
        const uint32_t *from = (const uint32_t *)((uintptr_t)at & ~(uintptr_t)3);
        uint32_t shift = (uint32_t)((uintptr_t)at & 3) * 8, word = from[0];
        HR_UNROLL
        for (int w = 0; w < C; w++) {
            uint32_t next = from[w + 1];
            out[w] = shift_words(word, next, shift);
            word = next;
        }
    }

    // Of the bytes that there are.
    HR_MEMBER static void load_bytes(uint32_t *out, const uint8_t *at, int count)
    {
        for (int w = 0; w < C; w++) {
            out[w] = 0;
            for (int b = 0; b < 4; b++)
                if (4 * w + b < count)
                    out[w] |= (uint32_t)at[4 * w + b] << 8 * b;
        }
    }

    HR_MEMBER void add_rows(int32_t *sum, const uint32_t *a, const uint32_t *b,
                            uint32_t coefs) const
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
    HR_MEMBER void filter_rows(int32_t *sum, const uint8_t *at, int count,
                               const uint32_t *coef) const
    {
        uint32_t a[C], b[C];
        for (int k = 0; k < p->y.taps; k += 2, at += 2 * p->src_stride, coef++) {
            // The last of an odd number has a zero weight beside it.
            const uint8_t *second = k + 1 < p->y.taps ? at + p->src_stride : at;
            if (ROOMY) {
                load_words(a, at);
                load_words(b, second);
            } else {
                load_bytes(a, at, count);
                load_bytes(b, second, count);
            }
            add_rows(sum, a, b, *coef);
        }
    }

    HR_MEMBER void store_rows(uint8_t *at, const int32_t *sum) const
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
        return HR_MIN(x_start[0], x_start[columns - 1]);
    }

    // Second phase.
    HR_MEMBER void filter_columns(int thread, int threads)
    {
        int first = first_column();
        int span = HR_MAX(x_start[0], x_start[columns - 1]) + p->x.taps - first;
        int groups = (span + 3) / 4, row_bytes = p->tiles.span * PIXEL;
        int step_r = threads / groups, step_g = threads - step_r * groups;
        int r = thread / groups, g = thread - r * groups;
        while (r < rows) {
            int32_t sum[4 * C];
            HR_UNROLL
            for (int i = 0; i < 4 * C; i++)
                sum[i] = 1 << (V_SHIFT - 1);
            uint32_t start = y_start[r];
            int column = first + 4 * g;
            const uint8_t *at = to.src + (start >> 1) * p->src_stride + column * C;
            const uint32_t *coef = y_coef + r * y_pairs;
            if (start & 1)
                filter_rows<true>(sum, at, 0, coef);
            else
                filter_rows<false>(sum, at, (p->need_w - column) * C, coef);
            store_rows(pixels + r * row_bytes + g * (4 * PIXEL), sum);
            r += step_r;
            g += step_g;
            if (g >= groups) {
                g -= groups;
                r++;
            }
        }
    }

    // ---- horizontal: a column of outputs a thread ----

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

    // TAPS: so many weights are kept in registers; 0: they stay in shared memory.
    template <int TAPS> HR_MEMBER void filter_column(int x, int row, int step)
    {
        int32_t kept[TAPS + 1];
        HR_UNROLL
        for (int k = 0; k < TAPS; k++)
            kept[k] = k < p->x.taps ? x_coef[k * p->tiles.width + x] : 0;
        Norm<C> norm = norm_of<C>(p, to.plane);
        int size = value_size(p->dtype);
        int64_t next = (p->mirror_y ? -p->dst_y : p->dst_y) * step * size;
        int64_t channel = p->dst_c * size;
        uint8_t *dst = to.dst + view_offset(p, y0 + row, x0 + x) * size;
        const uint8_t *from = pixels + (x_start[x] - first_column()) * PIXEL;
        for (; row < rows; row += step, dst += next) {
            const uint8_t *at = from + row * (p->tiles.span * PIXEL);
            int32_t sum[C] = {};
            uint32_t v[C];
            if (TAPS > 0) {
                HR_UNROLL
                for (int k = 0; k < TAPS; k++)
                    add_pixel(sum, at + k * PIXEL, kept[k]);
            } else {
                const int32_t *coef = x_coef + x;
                for (int k = 0; k < p->x.taps; k++, coef += p->tiles.width)
                    add_pixel(sum, at + k * PIXEL, *coef);
            }
            HR_UNROLL
            for (int c = 0; c < C; c++) {
                int32_t rounded = (sum[c] + H_BELOW_HALF + (sum[c] >> H_SHIFT & 1)) >> H_SHIFT;
                v[c] = (uint32_t)(rounded < 0 ? 0 : rounded > 255 ? 255 : rounded);
            }
            store_bytes<C, STORE>(p, norm, to.plane, dst, channel, v);
        }
    }

    // Third phase.
    HR_MEMBER void filter_pixels(int thread, int threads)
    {
        int step = threads / columns > 0 ? threads / columns : 1;
        for (int i = thread; i < columns * step; i += threads) {
            int row = i / columns, x = i - row * columns;
            if (p->x.taps <= 2)
                filter_column<2>(x, row, step);
            else if (p->x.taps == 3)
                filter_column<3>(x, row, step);
            else if (p->x.taps == 4)
                filter_column<4>(x, row, step);
            else
                filter_column<0>(x, row, step);
        }
    }
};

#endif
