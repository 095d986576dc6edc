// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Copying elements of the source without a filter, and fill.
#pragma once

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

// Row y and column x of the view in the source, from its first needed pixel on.
HR_SHARED int picked_row(const hr_device_program *p, int y)
{
    return taps_start(&p->y, p->view_y + y) - p->need_y;
}

HR_SHARED int picked_column(const hr_device_program *p, int x)
{
    return taps_start(&p->x, p->view_x + x) - p->need_x;
}

HR_SHARED const uint8_t *picked(const hr_device_program *p, const placed_image *to, int y, int x)
{
    return to->src + picked_row(p, y) * p->src_stride +
           (int64_t)picked_column(p, x) * p->channels * value_size(p->src_dtype);
}

// A tile of HR_DEVICE_PIXELS pixels of the view, of any type.
HR_SHARED void pick_pixels(const hr_device_program *p, int tile, int thread, int threads)
{
    position at = position_of(p, tile);
    placed_image to = image_at(p, at.which, false);
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
    const placed_image to;
    Store store;
    Points<WIDE> points;
    int64_t next_y, next_x; // bytes of the output
    int64_t before, after;  // readable bytes of the source
    Order order;

    HR_MEMBER PickFours(const hr_device_program *program, const placed_image &of, const uint32_t *shared)
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

    // Four pixels of K channels as pixels of WIDE channels; what the others are does not matter.
    template <int K> HR_MEMBER static void widen(uint32_t *out, const uint32_t *words)
    {
        HR_UNROLL
        for (int i = 0; i < WIDE && K == WIDE; i++)
            out[i] = words[i];
        HR_UNROLL
        for (int i = 0; i < 4 && K < WIDE; i++)
            out[i] = bytes_at(words, i * K, i * K + (K > 1 ? 1 : 0), i * K + (K > 2 ? 2 : 0), i * K);
    }

    // The pixels that fetch loaded, in WIDE words.
    HR_MEMBER void align(uint32_t *out, const Group &g) const
    {
        int shift = (int)((uintptr_t)source_of(g) & 3) * 8;
        uint32_t words[C];
        HR_UNROLL
        for (int k = 0; k < C; k++)
            words[k] = shifted_word(g.words[k], g.words[k + 1], shift);
        if (STORE != HR_DEVICE_STORE_POINTS || p->channels == 4)
            widen<C>(out, words);
        else if (p->channels == 3)
            widen<3>(out, words);
        else if (p->channels == 2)
            widen<2>(out, words);
        else
            widen<1>(out, words);
    }

    // The columns of the source from which the pixels of a group are picked. A loop of one pixel
    // after the other, because the positions take much code.
    HR_MEMBER void pick_columns(int *columns, const Group &g) const
    {
        HR_UNROLL
        for (int i = 0; i < 4; i++)
            columns[i] = g.x + i;
        HR_UNROLL_NOT
        for (int i = 0; i < 4 && p->resample; i++) {
            int next = picked_column(p, columns[0] < p->view_w ? columns[0] : g.x);
            columns[0] = columns[1];
            columns[1] = columns[2];
            columns[2] = columns[3];
            columns[3] = next;
        }
    }

    // Pixels that fetch did not load.
    HR_MEMBER void load_bytes(uint32_t *words, const Group &g) const
    {
        int columns[4], row = p->resample ? picked_row(p, g.row) : g.row;
        pick_columns(columns, g);
        HR_UNROLL
        for (int i = 0; i < WIDE; i++)
            words[i] = 0;
        HR_UNROLL
        for (int i = 0; i < 4; i++) {
            const uint8_t *from = to.src + row * p->src_stride + (int64_t)columns[i] * p->channels;
            HR_UNROLL
            for (int c = 0; c < C; c++)
                if (i < g.n && (STORE != HR_DEVICE_STORE_POINTS || c < p->channels))
                    words[(i * WIDE + c) / 4] |= load_byte(from + c) << (i * WIDE + c) % 4 * 8;
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

    // `of(k, c)`: an element, byte k of the words and channel c. `dst`: of the pixel with the lowest
    // address. `whole`: four elements are one access.
    template <typename T, typename Of>
    HR_MEMBER void put_all(uint8_t *dst, bool whole, const Of &of) const
    {
        if (order == PIXELS) {
            HR_UNROLL
            for (int c = 0; c < WIDE; c++)
                put<T>(dst + c * 4 * sizeof(T), whole,
                       [=](int i) { return of(4 * c + i, (4 * c + i) % WIDE); });
            return;
        }
        HR_UNROLL
        for (int c = 0; c < WIDE; c++)
            if (c < store.channels)
                put<T>(dst + c * store.channel, whole, [=](int i) { return of(i * WIDE + c, c); });
    }

    // Whether four elements are one access at this address, and in all planes.
    HR_MEMBER bool is_whole(const uint8_t *dst) const
    {
        int64_t planes = order == PLANES && store.channels > 1 ? store.channel : 0;
        return (((uintptr_t)dst | (uintptr_t)planes) & (uintptr_t)(4 * store.size() - 1)) == 0;
    }

    // Byte i of four mirrored pixels.
    HR_MEMBER static int mirrored(int i)
    {
        return (3 - i / WIDE) * WIDE + i % WIDE;
    }

    HR_MEMBER void write_fours(uint8_t *dst, bool whole, const uint32_t *of) const
    {
        uint32_t words[WIDE];
        HR_UNROLL
        for (int i = 0; i < WIDE; i++) {
            int k = 4 * i;
            words[i] = next_x > 0 ? of[i]
                                  : bytes_at(of, mirrored(k), mirrored(k + 1), mirrored(k + 2),
                                             mirrored(k + 3));
        }
        const Store &s = store;
        if (s.as == HR_DEVICE_STORE_U8)
            put_all<uint8_t>(dst, whole, [&words](int k, int) {
                return (uint8_t)byte_of(words[k / 4], k % 4);
            });
        else if (s.as == HR_DEVICE_STORE_F16)
            put_all<uint16_t>(dst, whole, [&s, &words](int k, int c) {
                return half_of_number(s.scaled(float_at(words, k), c));
            });
        else
            put_all<float>(dst, whole, [&s, &words](int k, int c) {
                return s.scaled(float_at(words, k), c);
            });
    }

    HR_MEMBER uint8_t *target_of(uint8_t *dst, const Group &g) const
    {
        return dst + g.row * next_y + g.x * next_x;
    }

    // Four pixels that were loaded.
    HR_MEMBER void make_fours(uint8_t *dst, bool whole, const Group &g) const
    {
        uint32_t words[WIDE];
        align(words, g);
        if constexpr (has_points(STORE))
            points.template apply_words<1>(words);
        write_fours(dst, whole, words);
    }

    // Any pixels. They are stored one after the other: unrolled, that would be most of the code.
    HR_MEMBER void make(uint8_t *dst, const Group &g) const
    {
        uint32_t words[WIDE];
        load_bytes(words, g);
        if constexpr (has_points(STORE))
            points.template apply_words<1>(words);
        uint8_t *at = target_of(dst, g);
        HR_UNROLL_NOT
        for (int i = 0; i < g.n; i++, at += next_x) {
            uint32_t v[WIDE];
            HR_UNROLL
            for (int c = 0; c < WIDE; c++)
                v[c] = byte_of(words[c / 4], c % 4);
            store.write_pixel(at, v);
            drop_pixel(words);
        }
    }

    // Removes the first of four pixels.
    HR_MEMBER static void drop_pixel(uint32_t *words)
    {
        HR_UNROLL
        for (int i = 0; i < WIDE; i++)
            words[i] = WIDE == 4      ? words[i + 1 < WIDE ? i + 1 : i]
                       : i + 1 < WIDE ? shifted_word(words[i], words[i + 1], WIDE * 8)
                                      : words[i] >> WIDE * 8 % 32;
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

    // Where byte i of 16 output pixels is in the words of the pixels.
    template <bool MIRROR, Order ORDER> HR_MEMBER static int byte_before(int i)
    {
        int pixel = ORDER == PIXELS ? i / C : i % 16, channel = ORDER == PIXELS ? i % C : i / 16;
        return (MIRROR ? 15 - pixel : pixel) * C + channel;
    }

    template <bool MIRROR, Order ORDER>
    HR_MEMBER void write_sixteen(uint8_t *dst, const uint32_t *words) const
    {
        HR_UNROLL
        for (int c = 0; c < C; c++) {
            int64_t at = ORDER == PIXELS ? c * 16 : c * store.channel;
            uint32_t out[4];
            HR_UNROLL
            for (int k = 0, i = 16 * c; k < 4; k++, i += 4)
                out[k] = bytes_at(words, byte_before<MIRROR, ORDER>(i),
                                  byte_before<MIRROR, ORDER>(i + 1),
                                  byte_before<MIRROR, ORDER>(i + 2),
                                  byte_before<MIRROR, ORDER>(i + 3));
            if (ORDER == PIXELS || c < store.channels)
                *(uint4 *)(dst + at) = make_uint4(out[0], out[1], out[2], out[3]);
        }
    }

    HR_MEMBER void make_sixteen(uint8_t *dst, uint32_t *words) const
    {
        if constexpr (has_points(STORE))
            points.template apply_words<4>(words);
        if (order == PIXELS && next_x > 0)
            write_sixteen<false, PIXELS>(dst, words);
        else if (order == PIXELS)
            write_sixteen<true, PIXELS>(dst, words);
        else if (next_x > 0)
            write_sixteen<false, PLANES>(dst, words);
        else
            write_sixteen<true, PLANES>(dst, words);
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
            if (n == 16)
                make_sixteen(sixteen_at(dst, row, unit * 16), words);
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

    // FLOAT: whether all channels follow one another, in accesses of four elements.
    HR_MEMBER bool by_elements(const uint8_t *dst) const
    {
        bool rows = p->tiles.width % 4 == 0 && next_y % 16 == 0;
        return order == PIXELS && next_x > 0 && !p->resample && (p->tiles.height == 1 || rows) &&
               (uintptr_t)dst % 16 == 0;
    }

    // Elements i .. i + 3 of a run, in the bytes of a word; of the run, there are n from i on.
    HR_MEMBER uint32_t load_elements(int row, int64_t i, int64_t n) const
    {
        int64_t offset = row * p->src_stride + i;
        const uint8_t *at = to.src + offset;
        int shift = (int)((uintptr_t)at & 3);
        uint32_t word = 0;
        if (n >= 4 && shift == 0)
            return load_word((const uint32_t *)at);
        if (offset + before >= 3 && offset + 4 + 3 <= after) {
            const uint32_t *words = (const uint32_t *)(at - shift);
            return shifted_word(load_word(words), load_word(words + 1), shift * 8);
        }
        HR_UNROLL
        for (int k = 0; k < 4; k++)
            word |= k < n ? load_byte(at + k) << 8 * k : 0;
        return word;
    }

    HR_MEMBER void make_elements(uint8_t *dst, int row, int group, int64_t n) const
    {
        uint32_t word = load_elements(row, (int64_t)group * 4, n);
        int first = (int)((uint32_t)group % C) * 4 % C; // channel
        PixelFour<float> four;
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            float mean = store.mean[k % C], mul = store.mul[k % C];
            HR_UNROLL
            for (int c = 1; c < C && 4 % C != 0; c++) {
                mean = first == c ? store.mean[(c + k) % C] : mean;
                mul = first == c ? store.mul[(c + k) % C] : mul;
            }
            four.v[k] = (float_at(&word, k) - mean) * mul;
        }
        float *out = (float *)(dst + row * next_y) + (int64_t)group * 4;
        if (n >= 4)
            *(PixelFour<float> *)out = four;
        HR_UNROLL
        for (int k = 0; k < 3; k++)
            if (k < n && n < 4)
                out[k] = four.v[k];
    }

    // Like `run`, four elements at a time, so that a warp's accesses are neighbours.
    HR_MEMBER void run_elements(uint8_t *dst, int tile, int thread, int threads) const
    {
        int64_t width = (int64_t)p->tiles.width * C, per_run = HR_DIVIDE_UP(width, 4);
        int64_t first = (int64_t)tile * (HR_DEVICE_PIXELS / 4) * C;
        int64_t end = HR_MIN(first + HR_DEVICE_PIXELS / 4 * C, per_run * p->tiles.height);
        HR_UNROLL_FOUR
        for (int64_t i = first + thread; i < end; i += threads) {
            int group = (int)i, row = 0;
            if (p->tiles.height > 1)
                row = (int)divide(i, (int)per_run, &group);
            make_elements(dst, row, group, width - (int64_t)group * 4);
        }
    }

    // A tile of HR_DEVICE_PIXELS / 4 groups of the program's runs of pixels. A thread loads a few
    // groups before it processes them, and leaves the others for a second loop, so that each loop
    // has all registers. `ready` is called once by every thread, before it uses shared memory.
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
        if constexpr (STORE == HR_DEVICE_STORE_F32)
            if (by_elements(dst)) {
                run_elements(dst, tile, thread, threads);
                return;
            }
        int64_t first = (int64_t)tile * (HR_DEVICE_PIXELS / 4);
        int64_t end = HR_MIN(first + HR_DEVICE_PIXELS / 4, (int64_t)per_run * p->tiles.height);
        bool is_ready = false;
        for (int64_t from = first; from < end;) {
            int64_t next = from + thread;
            uint32_t left = 0;
            for (int at = 0; at < 32 && from < end; at += TOGETHER, from += TOGETHER * threads) {
                Group some[TOGETHER];
                HR_UNROLL
                for (int k = 0; k < TOGETHER; k++) {
                    some[k] = group_at(from + thread + k * threads, end, per_run);
                    fetch(&some[k]);
                }
                if (!is_ready)
                    ready();
                is_ready = true;
                left |= make_loaded(dst, some) << at;
            }
            HR_UNROLL_NOT
            for (; left != 0; left >>= 1, next += threads)
                if (left & 1)
                    make(dst, group_at(next, end, per_run));
        }
    }
};

template <int C, int STORE, typename Ready>
HR_SHARED void pick_fours(const hr_device_program *p, int tile, const uint32_t *points, int thread,
                          int threads, const Ready &ready)
{
    position at = position_of(p, tile);
    placed_image to = image_at(p, at.which, false);
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
HR_SHARED void fill_pixel(const hr_device_program *p, const placed_image *to, int oy, int ox)
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
    placed_image to = image_at(p, which, true);
    int64_t first = (int64_t)(tile - which * tiles) * HR_DEVICE_PIXELS;
    for (int i = thread; i < HR_DEVICE_PIXELS && first + i < end; i += threads) {
        int x, y = (int)divide(first + i, p->window_w, &x);
        fill_pixel(p, &to, y, x);
    }
}
