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
    enum {
        WIDE = Store::WIDE,
        TOGETHER = STORE == HR_DEVICE_STORE_POINTS ? 1 : 4 // groups
    };
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
    int64_t before, after;  // readable bytes of the source
    Order order;

    HR_MEMBER PickFours(const hr_device_program *program, const picture &of, const uint32_t *shared)
        : p(program), to(of), store(program, of.plane), points(program, shared)
    {
        int size = store.size();
        before = p->src_offset;
        after = p->tail - (p->src_offset - p->lead);
        next_y = (p->mirror_y ? -p->dst_y : p->dst_y) * size;
        next_x = (p->mirror_x ? -p->dst_x : p->dst_x) * size;
        order = store.mode != WRITE_CHANNELS                                  ? OTHER
                : p->dst_x == 1                                               ? PLANES
                : p->dst_c == 1 && p->dst_x == WIDE && store.channels == WIDE ? PIXELS
                                                                              : OTHER;
    }

    // Four pixels of a run, from column x on, of which there are n. `words`: what was loaded.
    struct Group {
        int row, x, n;
        bool loaded;
        uint32_t words[C + 1];
    };

    HR_MEMBER const uint8_t *source_of(const Group &g) const
    {
        return to.src + g.row * p->src_stride + (int64_t)g.x * p->channels;
    }

    // Loads the aligned words around pixels of any address, if all of their bytes may be read.
    HR_MEMBER void fetch(Group *g) const
    {
        int64_t offset = g->row * p->src_stride + (int64_t)g->x * p->channels;
        int count = STORE == HR_DEVICE_STORE_POINTS ? p->channels : C;
        const uint32_t *word = (const uint32_t *)((uintptr_t)(to.src + offset) & ~(uintptr_t)3);
        bool aligned = ((uintptr_t)(to.src + offset) & 3) == 0;
        // words around pixels that are not aligned have up to three more bytes at either end
        bool roomy = offset + before >= 3 && offset + 4 * count + 3 <= after;
        g->loaded = !p->resample && g->n == 4 && (roomy || aligned);
        HR_UNROLL
        for (int k = 0; k <= C; k++) {
            g->words[k] = 0;
            if (g->loaded && k < count + !aligned)
                g->words[k] = load_word(word + k);
        }
    }

    // Four pixels of K channels out of their words.
    template <int K> HR_MEMBER static void unpack(uint32_t (*v)[WIDE], const Group &g, int shift)
    {
        HR_UNROLL
        for (int k = 0; k < K; k++) {
            uint32_t word = shifted_word(g.words[k], g.words[k + 1], shift);
            HR_UNROLL
            for (int i = 0; i < 4; i++)
                v[(4 * k + i) / K][(4 * k + i) % K] = based_byte(word, i);
        }
    }

    HR_MEMBER void unpack(uint32_t (*v)[WIDE], const Group &g) const
    {
        int shift = (int)((uintptr_t)source_of(g) & 3) * 8;
        if constexpr (STORE != HR_DEVICE_STORE_POINTS)
            unpack<C>(v, g, shift);
        else if (p->channels == 1)
            unpack<1>(v, g, shift);
        else if (p->channels == 2)
            unpack<2>(v, g, shift);
        else if (p->channels == 3)
            unpack<3>(v, g, shift);
        else
            unpack<4>(v, g, shift);
    }

    // Pixels that fetch did not load.
    HR_MEMBER void load_bytes(uint32_t (*v)[WIDE], const Group &g) const
    {
        const uint8_t *at = source_of(g);
        HR_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint8_t *from = at + i * p->channels;
            if (p->resample && i < g.n)
                from = picked(p, &to, g.row, g.x + i);
            HR_UNROLL
            for (int c = 0; c < C; c++)
                if (i < g.n && (STORE != HR_DEVICE_STORE_POINTS || c < p->channels))
                    v[i][c] = POINT_BASE | load_byte(from + c);
        }
    }

    // Four elements; `of(i)`.
    template <typename T, typename Of>
    HR_MEMBER static void put(uint8_t *dst, bool whole, const Of &of)
    {
        PixelFour<T> all = {{of(0), of(1), of(2), of(3)}};
        if (whole) {
            *(PixelFour<T> *)dst = all;
        } else {
            HR_UNROLL
            for (int i = 0; i < 4; i++)
                ((T *)dst)[i] = all.v[i];
        }
    }

    // `of(pixel, c)`: an element. `dst`: of the pixel with the lowest address. `whole`: four
    // elements are one access.
    template <typename T, typename Of>
    HR_MEMBER void put_all(uint8_t *dst, bool whole, const uint32_t (*v)[WIDE], const Of &of) const
    {
        if (order == PIXELS) {
            HR_UNROLL
            for (int c = 0; c < WIDE; c++)
                put<T>(dst + c * 4 * sizeof(T), whole,
                       [=](int i) { return of(v[(4 * c + i) / WIDE], (4 * c + i) % WIDE); });
            return;
        }
        HR_UNROLL
        for (int c = 0; c < WIDE; c++)
            if (c < store.channels)
                put<T>(dst + c * store.channel, whole, [=](int i) { return of(v[i], c); });
    }

    // Whether four elements are one access at this address, and in all planes.
    HR_MEMBER bool is_whole(const uint8_t *dst) const
    {
        int64_t planes = order == PLANES && store.channels > 1 ? store.channel : 0;
        return (((uintptr_t)dst | (uintptr_t)planes) & (uintptr_t)(4 * store.size() - 1)) == 0;
    }

    HR_MEMBER void write_fours(uint8_t *dst, bool whole, uint32_t (*v)[WIDE]) const
    {
        if (next_x < 0) {
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
            put_all<uint8_t>(dst, whole, v,
                             [](const uint32_t *at, int c) { return (uint8_t)at[c]; });
        else if (s.as == HR_DEVICE_STORE_F16)
            put_all<uint16_t>(dst, whole, v, [&s](const uint32_t *at, int c) {
                return half_of_number(s.scaled(float_of_based(at[c]), c));
            });
        else
            put_all<float>(dst, whole, v, [&s](const uint32_t *at, int c) {
                return s.scaled(float_of_based(at[c]), c);
            });
    }

    HR_MEMBER uint8_t *target_of(uint8_t *dst, const Group &g) const
    {
        return dst + g.row * next_y + g.x * next_x;
    }

    HR_MEMBER static void clear(uint32_t (*v)[WIDE])
    {
        HR_UNROLL
        for (int i = 0; i < 4 * WIDE; i++)
            v[i / WIDE][i % WIDE] = POINT_BASE;
    }

    // Four pixels that were loaded.
    HR_MEMBER void make_fours(uint8_t *dst, bool whole, const Group &g) const
    {
        uint32_t v[4][WIDE];
        clear(v);
        unpack(v, g);
        if constexpr (has_points(STORE))
            points.template apply<4, true>(v);
        write_fours(dst, whole, v);
    }

    // Any pixels.
    HR_MEMBER void make(uint8_t *dst, const Group &g) const
    {
        uint32_t v[4][WIDE];
        clear(v);
        load_bytes(v, g);
        if constexpr (has_points(STORE))
            points.template apply<4, true>(v);
        HR_UNROLL
        for (int i = 0; i < 4; i++)
            if (i < g.n)
                store.write_pixel(target_of(dst, g) + i * next_x, v[i]);
    }

    // Group i of the runs of pixels, of which `end` are wanted.
    HR_MEMBER Group group_at(int64_t i, int64_t end, int per_run) const
    {
        int group = (int)i, row = 0;
        if (p->tiles.height > 1)
            row = (int)divide(i, per_run, &group);
        int n = HR_MIN(p->tiles.width - group * 4, 4);
        return {row, group * 4, i < end ? n : 0, false, {}};
    }

    // Makes the groups that were loaded; what is left is marked in the result.
    HR_MEMBER uint32_t make_loaded(uint8_t *dst, const Group *some) const
    {
        uint32_t left = 0;
        HR_UNROLL
        for (int k = 0; k < TOGETHER; k++) {
            uint8_t *at = target_of(dst, some[k]) + (next_x < 0 ? 3 * next_x : 0);
            bool whole = is_whole(at);
            if (some[k].loaded && order != OTHER)
                make_fours(at, whole, some[k]);
            else if (some[k].n > 0)
                left |= 1u << k;
        }
        return left;
    }

    // The lowest address of 16 output pixels from pixel x of a run on.
    HR_MEMBER uint8_t *sixteen_at(uint8_t *dst, int row, int x) const
    {
        return dst + row * next_y + (x + (next_x < 0 ? 15 : 0)) * next_x;
    }

    // Whether 16 pixels are whole accesses of 16 bytes, in the source and in the output.
    HR_MEMBER bool by_sixteen(uint8_t *dst) const
    {
        bool one = p->tiles.height == 1;
        int64_t planes = order == PLANES && store.channels > 1 ? store.channel : 0;
        uintptr_t all = (uintptr_t)to.src | (uintptr_t)sixteen_at(dst, 0, 0) | (uintptr_t)planes;
        if (!one)
            all |= (uintptr_t)p->src_stride | (uintptr_t)next_y;
        return !p->resample && order != OTHER && store.as == HR_DEVICE_STORE_U8 &&
               p->channels == C && all % 16 == 0 && (one || (p->tiles.width + 3) / 4 % 4 == 0);
    }

    // Four pixels of 16, number k of the output, as words of bytes.
    template <Order ORDER> HR_MEMBER static void pack_four(uint32_t *out, int k, const uint32_t (*v)[WIDE])
    {
        HR_UNROLL
        for (int c = 0; c < C; c++) {
            if (ORDER == PIXELS)
                out[k * C + c] = four_bytes(v[4 * c / C][4 * c % C],
                                            v[(4 * c + 1) / C][(4 * c + 1) % C],
                                            v[(4 * c + 2) / C][(4 * c + 2) % C],
                                            v[(4 * c + 3) / C][(4 * c + 3) % C]);
            else
                out[c * 4 + k] = four_bytes(v[0][c], v[1][c], v[2][c], v[3][c]);
        }
    }

    template <bool MIRROR, Order ORDER>
    HR_MEMBER void make_sixteen(uint8_t *dst, const uint32_t *words) const
    {
        uint32_t out[4 * C], made[4][WIDE], v[4][WIDE];
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            HR_UNROLL
            for (int i = 0; i < 4 * C; i++)
                made[i / C][i % C] = based_byte(words[k * C + i / 4], i % 4);
            if constexpr (has_points(STORE))
                points.template apply<4, true>(made);
            HR_UNROLL
            for (int i = 0; i < 4 * C; i++)
                v[i / C][i % C] = made[MIRROR ? 3 - i / C : i / C][i % C];
            pack_four<ORDER>(out, MIRROR ? 3 - k : k, v);
        }
        HR_UNROLL
        for (int c = 0; c < C; c++) {
            int64_t at = ORDER == PIXELS ? c * 16 : c * store.channel;
            if (ORDER == PIXELS || c < store.channels)
                *(uint4 *)(dst + at) =
                    make_uint4(out[4 * c], out[4 * c + 1], out[4 * c + 2], out[4 * c + 3]);
        }
    }

    // Like `run`, sixteen pixels at a time.
    template <typename Ready>
    HR_MEMBER void run_sixteens(uint8_t *dst, int tile, int thread, int threads,
                                const Ready &ready) const
    {
        const int units = HR_DEVICE_PIXELS / 16;
        int width = p->tiles.width, per_run = HR_DIVIDE_UP(width, 16);
        int end = HR_MIN((tile + 1) * units, per_run * p->tiles.height);
        bool is_ready = false;
        for (int from = tile * units; from < end; from += threads) {
            uint32_t words[4 * C] = {};
            int i = from + thread, row = 0, unit = i;
            if (p->tiles.height > 1) {
                row = (int)((uint32_t)i / (uint32_t)per_run);
                unit = i - row * per_run;
            }
            int n = i < end ? HR_MIN(width - unit * 16, 16) : 0;
            if (n == 16)
                load_sixteen(words, to.src + row * p->src_stride + (int64_t)unit * 16 * C);
            if (!is_ready)
                ready();
            is_ready = true;
            uint8_t *at = sixteen_at(dst, row, unit * 16);
            if (n == 16 && order == PIXELS && next_x > 0)
                make_sixteen<false, PIXELS>(at, words);
            else if (n == 16 && order == PIXELS)
                make_sixteen<true, PIXELS>(at, words);
            else if (n == 16 && next_x > 0)
                make_sixteen<false, PLANES>(at, words);
            else if (n == 16)
                make_sixteen<true, PLANES>(at, words);
            HR_UNROLL_NOT
            for (int x = 0; x < n && n < 16; x += 4)
                make(dst, {row, unit * 16 + x, HR_MIN(n - x, 4), false, {}});
        }
    }

    HR_MEMBER static void load_sixteen(uint32_t *words, const uint8_t *at)
    {
        HR_UNROLL
        for (int c = 0; c < C; c++) {
            uint4 word = load_quad((const uint4 *)at + c);
            words[4 * c] = word.x;
            words[4 * c + 1] = word.y;
            words[4 * c + 2] = word.z;
            words[4 * c + 3] = word.w;
        }
    }

    // A tile of HR_DEVICE_PIXELS / 4 groups of the program's runs of pixels. A thread loads a few
    // groups before it processes them. `ready` is called once by every thread, before it uses
    // shared memory.
    template <typename Ready>
    HR_MEMBER void run(int tile, int thread, int threads, const Ready &ready) const
    {
        uint8_t *dst = to.dst + view_offset(p, 0, 0) * store.size();
        int per_run = HR_DIVIDE_UP(p->tiles.width, 4);
        if constexpr (STORE == HR_DEVICE_STORE_U8 || STORE == HR_DEVICE_STORE_COLOR)
            if (by_sixteen(dst)) {
                run_sixteens(dst, tile, thread, threads, ready);
                return;
            }
        int64_t first = (int64_t)tile * (HR_DEVICE_PIXELS / 4);
        int64_t end = HR_MIN(first + HR_DEVICE_PIXELS / 4, (int64_t)per_run * p->tiles.height);
        bool is_ready = false;
        for (int64_t from = first; from < end; from += TOGETHER * threads) {
            Group some[TOGETHER];
            HR_UNROLL
            for (int k = 0; k < TOGETHER; k++) {
                some[k] = group_at(from + thread + k * threads, end, per_run);
                fetch(&some[k]);
            }
            if (!is_ready)
                ready();
            is_ready = true;
            uint32_t left = make_loaded(dst, some);
            HR_UNROLL_NOT
            for (int k = 0; left >> k != 0; k++)
                if (left >> k & 1)
                    make(dst, group_at(from + thread + k * threads, end, per_run));
        }
    }
};

template <int C, int STORE, typename Ready>
HR_SHARED void pick_fours(const hr_device_program *p, int tile, const uint32_t *points, int thread,
                          int threads, const Ready &ready)
{
    position at = position_of(p, tile);
    picture to = picture_at(p, at.which, false);
    PickFours<C, STORE>(p, to, points).run(at.row, thread, threads, ready);
}

// `ready`: makes `points` by load_points.
template <int STORE, typename Ready>
HR_SHARED void pick_tile(const hr_device_program *p, int tile, const uint32_t *points, int thread,
                         int threads, const Ready &ready)
{
    if constexpr (STORE == HR_DEVICE_STORE_ANY)
        pick_pixels(p, tile, thread, threads);
    else if constexpr (STORE == HR_DEVICE_STORE_POINTS)
        pick_fours<HR_MATRIX_MAX, STORE>(p, tile, points, thread, threads, ready);
    else if constexpr (STORE == HR_DEVICE_STORE_COLOR)
        pick_fours<3, STORE>(p, tile, points, thread, threads, ready);
    else if (p->channels == 1)
        pick_fours<1, STORE>(p, tile, points, thread, threads, ready);
    else if (p->channels == 2)
        pick_fours<2, STORE>(p, tile, points, thread, threads, ready);
    else if (p->channels == 3)
        pick_fours<3, STORE>(p, tile, points, thread, threads, ready);
    else
        pick_fours<4, STORE>(p, tile, points, thread, threads, ready);
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
