// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Copying elements of the source without a filter, and fill.
#ifndef HR_CUDA_IMAGE_PIXELS_CUH
#define HR_CUDA_IMAGE_PIXELS_CUH

#include "cuda/image/tile.cuh"

// Any type and number of channels.
HR_SHARED void pick_any(const hr_device_program *p, int plane, uint8_t *dst, const uint8_t *from)
{
    int size = value_size(p->src_dtype);
    for (int first = 0; first < p->channels; first += HR_DEVICE_GROUP) {
        uint64_t v[HR_DEVICE_GROUP] = {};
        int n = HR_MIN(HR_DEVICE_GROUP, p->channels - first);
        for (int c = 0; c < n; c++)
            v[c] = value_load(from + (int64_t)(first + c) * size, size);
        store_any(p, plane, dst, v, first, n);
    }
}

// Iterates over pixels `step` apart in rows of `width` and keeps their offsets. Computing each
// offset by division and multiplication would be most of the work.
struct PixelWalk {
    int64_t index;
    int x, y, width, skip_x, skip_y;
    int64_t offset, skip, wrap; // bytes

    // Pixel (y, x) is at offset base + y * stride_y + x * stride_x.
    HR_MEMBER PixelWalk(int64_t first, int step, int of_width, int64_t base, int64_t stride_y,
                        int64_t stride_x)
    {
        index = first;
        width = of_width;
        y = (int)divide(first, width, &x);
        skip_y = (int)divide(step, width, &skip_x);
        offset = base + y * stride_y + x * stride_x;
        skip = skip_y * stride_y + skip_x * stride_x;
        wrap = stride_y - width * stride_x;
    }

    HR_MEMBER void next(int step)
    {
        index += step;
        offset += skip;
        x += skip_x;
        y += skip_y;
        if (x >= width) {
            x -= width;
            y++;
            offset += wrap;
        }
    }
};

HR_SHARED const uint8_t *picked(const hr_device_program *p, const picture *to, int y, int x)
{
    y = taps_start(&p->y, p->view_y + y) - p->need_y;
    x = taps_start(&p->x, p->view_x + x) - p->need_x;
    return to->src + y * p->src_stride + (int64_t)x * p->channels * value_size(p->src_dtype);
}

// A tile of HR_DEVICE_PIXELS pixels of the view, of any type.
HR_SHARED void pick_pixels(const hr_device_program *p, int tile, int thread, int threads)
{
    position at = position_of(p, tile);
    picture to = picture_at(p, at.which, false);
    int64_t first = (int64_t)at.row * HR_DEVICE_PIXELS + thread, pixels = (int64_t)p->view_h;
    int64_t end = HR_MIN(first - thread + HR_DEVICE_PIXELS, pixels * p->view_w);
    int size = value_size(p->dtype);
    PixelWalk dst(first, threads, p->view_w, view_offset(p, 0, 0) * size,
                  (p->mirror_y ? -p->dst_y : p->dst_y) * size,
                  (p->mirror_x ? -p->dst_x : p->dst_x) * size);
    PixelWalk src(first, threads, p->view_w, 0, p->src_stride,
                  (int64_t)p->channels * value_size(p->src_dtype));
    for (; dst.index < end; dst.next(threads), src.next(threads))
        pick_any(p, to.plane, to.dst + dst.offset,
                 p->resample ? picked(p, &to, dst.y, dst.x) : to.src + src.offset);
}

template <typename T> struct alignas(4 * sizeof(T)) PixelFour {
    T v[4];
};

// Four neighbouring pixels of u8 at a time, with accesses of four elements where that is possible.
// POINTS: C is the most channels that there may be.
template <int C, int STORE> struct PickFours {
    typedef PixelStore<C, STORE> Store;
    enum { WIDE = Store::WIDE };
    enum Order {
        PLANES, // neighbouring pixels are neighbouring elements
        PIXELS, // neighbouring pixels follow one another, with all their channels
        OTHER
    };

    const hr_device_program *p;
    const picture to;
    Store store;
    Points<WIDE> points;
    int64_t next_y, next_x; // bytes of the output
    Order order;

    HR_MEMBER PickFours(const hr_device_program *program, const picture &of, const uint32_t *shared)
        : p(program), to(of), store(program, of.plane), points(program, shared)
    {
        int size = store.size();
        next_y = (p->mirror_y ? -p->dst_y : p->dst_y) * size;
        next_x = (p->mirror_x ? -p->dst_x : p->dst_x) * size;
        order = store.mode != WRITE_CHANNELS                                  ? OTHER
                : p->dst_x == 1                                               ? PLANES
                : p->dst_c == 1 && p->dst_x == WIDE && store.channels == WIDE ? PIXELS
                                                                              : OTHER;
    }

    // Four pixels of K channels from any address, out of aligned words.
    template <int K> HR_MEMBER static void load_words(uint32_t (*v)[WIDE], const uint8_t *at)
    {
        uint32_t w[K + 1], shift = (uint32_t)((uintptr_t)at & 3) * 8;
        const uint32_t *word = (const uint32_t *)((uintptr_t)at & ~(uintptr_t)3);
        HR_UNROLL
        for (int k = 0; k < K; k++)
            w[k] = load_word(word + k);
        w[K] = shift > 0 ? load_word(word + K) : 0;
        HR_UNROLL
        for (int k = 0; k < K; k++)
            w[k] = (uint32_t)(((uint64_t)w[k + 1] << 32 | w[k]) >> shift);
        HR_UNROLL
        for (int i = 0; i < 4; i++) {
            HR_UNROLL
            for (int c = 0; c < K; c++)
                v[i][c] = based_byte(w[(i * K + c) / 4], (i * K + c) % 4);
        }
    }

    // Pixels x .. x + n - 1 of a run of `width`. Words that reach beyond the run are not read.
    HR_MEMBER void load(uint32_t (*v)[WIDE], int row, int x, int n, int width) const
    {
        const uint8_t *at = to.src + row * p->src_stride + (int64_t)x * p->channels;
        // words around pixels that are not aligned have up to three more bytes at either end
        bool roomy = x > 0 && (int64_t)(width - x - 4) * p->channels >= 3;
        if (!p->resample && n == 4 && (roomy || ((uintptr_t)at & 3) == 0)) {
            if constexpr (STORE != HR_DEVICE_STORE_POINTS)
                load_words<C>(v, at);
            else if (p->channels == 1)
                load_words<1>(v, at);
            else if (p->channels == 2)
                load_words<2>(v, at);
            else if (p->channels == 3)
                load_words<3>(v, at);
            else
                load_words<4>(v, at);
            return;
        }
        HR_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint8_t *from = at + i * p->channels;
            if (p->resample && i < n)
                from = picked(p, &to, row, x + i);
            HR_UNROLL
            for (int c = 0; c < C; c++)
                if (i < n && (STORE != HR_DEVICE_STORE_POINTS || c < p->channels))
                    v[i][c] = load_byte(from + c);
        }
    }

    // Four elements; `of(i)`.
    template <typename T, typename Of> HR_MEMBER static void put(uint8_t *dst, const Of &of)
    {
        PixelFour<T> all = {{of(0), of(1), of(2), of(3)}};
        if ((uintptr_t)dst % sizeof all == 0) {
            *(PixelFour<T> *)dst = all;
        } else {
            HR_UNROLL
            for (int i = 0; i < 4; i++)
                ((T *)dst)[i] = all.v[i];
        }
    }

    // `of(pixel, c)`: an element. `dst`: of the pixel with the lowest address.
    template <typename T, typename Of>
    HR_MEMBER void put_all(uint8_t *dst, const uint32_t (*v)[WIDE], const Of &of) const
    {
        HR_UNROLL
        for (int c = 0; c < WIDE; c++) {
            if (order == PLANES && c < store.channels)
                put<T>(dst + c * store.channel, [=](int i) { return of(v[i], c); });
            if (order == PIXELS)
                put<T>(dst + c * 4 * sizeof(T),
                       [=](int i) { return of(v[(4 * c + i) / WIDE], (4 * c + i) % WIDE); });
        }
    }

    HR_MEMBER void write_fours(uint8_t *dst, uint32_t (*v)[WIDE]) const
    {
        if (next_x < 0) {
            dst += 3 * next_x;
            HR_UNROLL
            for (int c = 0; c < WIDE; c++) {
                uint32_t a = v[0][c], b = v[1][c];
                v[0][c] = v[3][c];
                v[1][c] = v[2][c];
                v[2][c] = b;
                v[3][c] = a;
            }
        }
        const Store &s = store;
        if (s.as == HR_DEVICE_STORE_U8)
            put_all<uint8_t>(dst, v, [](const uint32_t *at, int c) { return (uint8_t)at[c]; });
        else if (s.as == HR_DEVICE_STORE_F16)
            put_all<uint16_t>(dst, v, [&s](const uint32_t *at, int c) {
                return half_of_number(s.normalised(at, c));
            });
        else
            put_all<float>(dst, v, [&s](const uint32_t *at, int c) { return s.normalised(at, c); });
    }

    HR_MEMBER void make(uint8_t *dst, int row, int x, int n, int width) const
    {
        uint32_t v[4][WIDE] = {};
        load(v, row, x, n, width);
        if constexpr (has_points(STORE))
            points.template apply<4>(v);
        uint8_t *at = dst + row * next_y + x * next_x;
        if (n == 4 && order != OTHER) {
            write_fours(at, v);
            return;
        }
        HR_UNROLL
        for (int i = 0; i < 4; i++)
            if (i < n)
                store.write_pixel(at + i * next_x, v[i]);
    }

    // A tile of HR_DEVICE_PIXELS / 4 groups of the program's runs of pixels.
    HR_MEMBER void run(int tile, int thread, int threads) const
    {
        uint8_t *dst = to.dst + view_offset(p, 0, 0) * store.size();
        int width = p->tiles.width, per_run = HR_DIVIDE_UP(width, 4);
        int64_t first = (int64_t)tile * (HR_DEVICE_PIXELS / 4);
        int64_t groups = (int64_t)per_run * p->tiles.height;
        int64_t end = HR_MIN(first + HR_DEVICE_PIXELS / 4, groups);
        for (int64_t i = first + thread; i < end; i += threads) {
            int group = (int)i, row = 0;
            if (p->tiles.height > 1)
                row = (int)divide(i, per_run, &group);
            make(dst, row, group * 4, HR_MIN(width - group * 4, 4), width);
        }
    }
};

template <int C, int STORE>
HR_SHARED void pick_fours(const hr_device_program *p, int tile, const uint32_t *points, int thread,
                          int threads)
{
    position at = position_of(p, tile);
    PickFours<C, STORE>(p, picture_at(p, at.which, false), points).run(at.row, thread, threads);
}

// `points`: from load_points.
template <int STORE>
HR_SHARED void pick_tile(const hr_device_program *p, int tile, const uint32_t *points, int thread,
                         int threads)
{
    if constexpr (STORE == HR_DEVICE_STORE_ANY)
        pick_pixels(p, tile, thread, threads);
    else if constexpr (STORE == HR_DEVICE_STORE_POINTS)
        pick_fours<HR_MATRIX_MAX, STORE>(p, tile, points, thread, threads);
    else if constexpr (STORE == HR_DEVICE_STORE_COLOR)
        pick_fours<3, STORE>(p, tile, points, thread, threads);
    else if (p->channels == 1)
        pick_fours<1, STORE>(p, tile, points, thread, threads);
    else if (p->channels == 2)
        pick_fours<2, STORE>(p, tile, points, thread, threads);
    else if (p->channels == 3)
        pick_fours<3, STORE>(p, tile, points, thread, threads);
    else
        pick_fours<4, STORE>(p, tile, points, thread, threads);
}

// Fills the pixel if it is outside the source or in an added plane.
HR_SHARED void fill_pixel(const hr_device_program *p, const picture *to, int oy, int ox)
{
    int y = (p->mirror_y ? p->window_h - 1 - oy : oy) - p->inside_y;
    int x = (p->mirror_x ? p->window_w - 1 - ox : ox) - p->inside_x;
    if (!to->added && y >= 0 && y < p->view_h && x >= 0 && x < p->view_w)
        return;
    int size = value_size(p->dtype);
    uint8_t *dst = to->dst + (oy * p->dst_y + ox * p->dst_x) * size;
    for (int c = 0; c < p->dst_channels; c++) {
        int at = p->plane >= 0 ? to->plane : c;
        value_store(dst + c * p->dst_c * size, size, p->tables->fill[at < 63 ? at : 63]);
    }
}

// A tile of HR_DEVICE_PIXELS pixels of the window.
HR_SHARED void fill_tile(const hr_device_program *p, int tile, int thread, int threads)
{
    int64_t end = (int64_t)p->window_h * p->window_w;
    int tiles = (int)(HR_DIVIDE_UP(end, HR_DEVICE_PIXELS)), which = tile / tiles;
    picture to = picture_at(p, which, true);
    int64_t first = (int64_t)(tile - which * tiles) * HR_DEVICE_PIXELS;
    for (int i = thread; i < HR_DEVICE_PIXELS && first + i < end; i += threads) {
        int x, y = (int)divide(first + i, p->window_w, &x);
        fill_pixel(p, &to, y, x);
    }
}

#endif
