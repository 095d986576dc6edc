// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Operators that choose an element of a window (ops/filter/window.h). A block loads a tile of the
// image, with what its windows need around it, into shared memory. Extremes are found along rows
// and then along columns. Where a tile does not fit, one thread makes an element from the image.
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/filter/window.h"

namespace
{

// The key of an element of `size` bytes.
HR_DEVICE uint32_t key_of(const char *at, int32_t size, int32_t dtype)
{
    uint32_t bits = (uint32_t)value_load(at, size);
    return size == 4 ? window_key(bits, dtype) : bits;
}

HR_DEVICE void store_key(char *at, int32_t size, int32_t dtype, uint32_t key)
{
    value_store(at, size, size == 4 ? window_element(key, dtype) : key);
}

HR_DEVICE uint32_t least(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

HR_DEVICE uint32_t most(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

// What both kernels know.
struct windows {
    hr_windows m;
    const char *src;
    char *dst;
    int32_t size, dtype;

    HR_DEVICE const hr_reach &reach_of(int64_t image) const
    {
        return m.reach[m.reach_count > 1 ? image / (int64_t)m.per_frame : 0];
    }

    // The element with as many others below it as above it, found bit by bit. `count(limit)`: how
    // many keys are below the limit.
    template <typename Count> HR_DEVICE uint32_t median(int64_t half, const Count &count) const
    {
        uint32_t best = 0;
        for (uint32_t bit = 1u << (8 * size - 1); bit != 0; bit >>= 1)
            best |= count(best | bit) <= half ? bit : 0;
        return best;
    }
};

// ---- one thread per element ----

struct window_record : windows {
    int64_t count;

    // The key of an element at (y, x), which may be outside the image; false: it does not count.
    HR_DEVICE bool key_at(const char *image, int64_t y, int64_t x, uint32_t *key) const
    {
        y = border_index(y, m.height, m.border);
        x = border_index(x, m.width, m.border);
        if (y < 0 || x < 0)
            return false;
        *key = key_of(image + (y * m.width + x) * m.channels * size, size, dtype);
        return true;
    }

    HR_DEVICE uint32_t extreme(const char *image, const hr_reach &r, int64_t y, int64_t x) const
    {
        uint32_t best = m.kind == HR_WINDOW_KIND_MAX ? 0 : 0xffffffff, key;
        for (int64_t v = y - r.up; v <= y + r.down; v++)
            for (int64_t u = x - r.left; u <= x + r.right; u++)
                if (key_at(image, v, u, &key))
                    best = m.kind == HR_WINDOW_KIND_MAX ? most(best, key) : least(best, key);
        return best;
    }

    HR_DEVICE uint32_t median_at(const char *image, const hr_reach &r, int64_t y, int64_t x) const
    {
        return median((r.up + r.down + 1) * (r.left + r.right + 1) / 2, [&](uint32_t limit) {
            int64_t below = 0;
            uint32_t key = 0;
            for (int64_t v = y - r.up; v <= y + r.down; v++)
                for (int64_t u = x - r.left; u <= x + r.right; u++)
                    below += key_at(image, v, u, &key) && key < limit;
            return below;
        });
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t rest = i, c = op::digit(&rest, m.channels), x = op::digit(&rest, m.width);
        int64_t y = op::digit(&rest, m.height);
        const char *image = src + (rest * m.height * m.width * m.channels + c) * size;
        const hr_reach &r = reach_of(rest);
        uint32_t key = m.kind == HR_WINDOW_KIND_MEDIAN ? median_at(image, r, y, x)
                                                       : extreme(image, r, y, x);
        store_key(dst + i * size, size, dtype, key);
    }
};

// ---- one block per tile ----

enum {
    TILE_WIDE = 128, // elements
    TILE_HIGH = 32,  // rows, at most
    TILE_ROOM = 24 * 1024
};

// Three elements in order.
struct window_three {
    uint32_t low, middle, high;

    HR_DEVICE window_three(uint32_t a, uint32_t b, uint32_t c)
    {
        uint32_t x = least(a, b), y = most(a, b), z = most(x, c);
        low = least(x, c);
        middle = least(y, z);
        high = most(y, z);
    }
};

// Rows are sequences of elements, in which the neighbours of an element are `channels` apart. The
// keys of the smallest elements are inverted, so that they are the largest.
struct window_tile : windows {
    struct Shared {
        uint32_t room[TILE_ROOM / 4];
    };
    int32_t high;         // rows of a tile
    uint32_t invert;      // what keys are combined with
    int32_t down, across; // tiles of an image
    int32_t tiles;

    // The part of an image that a tile is about.
    struct part {
        hr_reach r;
        int64_t image;           // its first element
        int32_t y, at, line;       // at: the first element in its row; line: elements of a row
        int32_t rows, count, wide; // of outputs; wide: elements of a row in shared memory
    };

    HR_DEVICE int phases() const
    {
        return m.kind == HR_WINDOW_KIND_MEDIAN ? 2 : 3;
    }

    HR_DEVICE part part_of(int tile) const
    {
        part p;
        int32_t row = tile / across, image = row / down;
        p.r = reach_of(image);
        p.line = (int32_t)(m.width * m.channels);
        p.image = image * m.height * p.line;
        p.y = (row - image * down) * high;
        p.at = (tile - row * across) * TILE_WIDE;
        p.rows = HR_MIN((int32_t)m.height - p.y, high);
        p.count = HR_MIN(p.line - p.at, TILE_WIDE);
        p.wide = TILE_WIDE + (int32_t)((p.r.left + p.r.right) * m.channels);
        return p;
    }

    // The key of an element outside of a row.
    HR_DEVICE uint32_t key_outside(const char *row, int32_t at) const
    {
        int32_t channels = (int32_t)m.channels;
        int64_t x = at < 0 ? -((channels - 1 - at) / channels) : at / channels;
        int64_t c = at - x * channels;
        x = border_index(x, m.width, m.border);
        if (x < 0)
            return 0;
        return key_of(row + (x * m.channels + c) * size, size, dtype) ^ invert;
    }

    template <typename T> HR_DEVICE void load(const part &p, T *keys, int thread) const
    {
        const int lanes = 64;
        int32_t first = p.at - (int32_t)(p.r.left * m.channels);
        int32_t rows = p.rows + (int32_t)(p.r.up + p.r.down);
        int32_t count = p.count + p.wide - TILE_WIDE;
        for (int32_t r = thread / lanes; r < rows; r += op::THREADS / lanes) {
            int64_t y = border_index(p.y - p.r.up + r, m.height, m.border);
            const char *row = src + (p.image + y * p.line) * size;
            for (int32_t k = thread % lanes; k < count; k += lanes) {
                int32_t at = first + k;
                uint32_t key = 0;
                if (y >= 0 && at >= 0 && at < p.line)
                    key = key_of(row + (int64_t)at * sizeof(T), sizeof(T), dtype) ^ invert;
                else if (y >= 0)
                    key = key_outside(row, at);
                keys[r * p.wide + k] = (T)key;
            }
        }
    }

    // Extremes along rows, behind the keys.
    template <typename T> HR_DEVICE void along(const part &p, T *keys, int thread) const
    {
        int32_t rows = p.rows + (int32_t)(p.r.up + p.r.down), k = thread % TILE_WIDE;
        int32_t more = (int32_t)(p.r.left + p.r.right), step = (int32_t)m.channels;
        T *to = keys + (high + p.r.up + p.r.down) * p.wide;
        for (int32_t r = thread / TILE_WIDE; r < rows && k < p.count;
             r += op::THREADS / TILE_WIDE) {
            const T *from = keys + r * p.wide + k;
            uint32_t best = from[0];
            for (int32_t n = 1; n <= more; n++)
                best = most(best, from[n * step]);
            to[r * TILE_WIDE + k] = (T)best;
        }
    }

    // A thread makes half a column of the tile: `make(r, at)` for its rows.
    template <typename T, typename Make>
    HR_DEVICE void each_row(const part &p, int thread, const Make &make) const
    {
        const int parts = op::THREADS / TILE_WIDE;
        int32_t k = thread % TILE_WIDE, n = HR_DIVIDE_UP(high, parts), r = thread / TILE_WIDE * n;
        int32_t end = HR_MIN(r + n, p.rows);
        T *to = (T *)dst + p.image + (int64_t)(p.y + r) * p.line + p.at + k;
        for (; r < end && k < p.count; r++, to += p.line)
            store_key((char *)to, sizeof(T), dtype, make(r, k) ^ invert);
    }

    template <typename T>
    HR_DEVICE void along_columns(const part &p, const T *keys, int thread) const
    {
        int32_t more = (int32_t)(p.r.up + p.r.down);
        const T *rows = keys + (high + more) * p.wide;
        each_row<T>(p, thread, [&](int32_t r, int32_t k) {
            const T *from = rows + r * TILE_WIDE + k;
            uint32_t best = from[0];
            for (int32_t n = 1; n <= more; n++)
                best = most(best, from[n * TILE_WIDE]);
            return best;
        });
    }

    template <typename T> HR_DEVICE window_three three_of(const T *from) const
    {
        int32_t step = (int32_t)m.channels;
        return window_three(from[0], from[step], from[2 * step]);
    }

    // Of three times three elements. Rows in order are used for three outputs.
    template <typename T>
    HR_DEVICE void medians_of_nine(const part &p, const T *keys, int thread) const
    {
        int32_t begin = thread / TILE_WIDE * HR_DIVIDE_UP(high, op::THREADS / TILE_WIDE);
        const T *first = keys + begin * p.wide + thread % TILE_WIDE;
        window_three a = three_of(first), b = three_of(first + p.wide);
        each_row<T>(p, thread, [&](int32_t r, int32_t k) {
            window_three c = three_of(keys + (r + 2) * p.wide + k);
            window_three middle(a.middle, b.middle, c.middle);
            uint32_t low = most(most(a.low, b.low), c.low);
            uint32_t above = least(least(a.high, b.high), c.high);
            a = b;
            b = c;
            return window_three(low, middle.middle, above).middle;
        });
    }

    template <typename T> HR_DEVICE void medians(const part &p, const T *keys, int thread) const
    {
        int32_t rows = (int32_t)(p.r.up + p.r.down + 1), step = (int32_t)m.channels;
        int32_t columns = (int32_t)(p.r.left + p.r.right + 1);
        if (rows == 3 && columns == 3) {
            medians_of_nine(p, keys, thread);
            return;
        }
        each_row<T>(p, thread, [&](int32_t r, int32_t k) {
            return median((int64_t)rows * columns / 2, [&](uint32_t limit) {
                int32_t below = 0;
                        for (int32_t y = 0; y < rows; y++)
                    for (int32_t x = 0; x < columns; x++)
                        below += keys[(r + y) * p.wide + k + x * step] < limit;
                return (int64_t)below;
            });
        });
    }

    template <typename T> HR_DEVICE void run_phase(int k, const part &p, T *keys, int thread) const
    {
        if (k == 0)
            load(p, keys, thread);
        else if (m.kind == HR_WINDOW_KIND_MEDIAN)
            medians(p, keys, thread);
        else if (k == 1)
            along(p, keys, thread);
        else
            along_columns(p, keys, thread);
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        part p = part_of(tile);
        if (size == 1)
            run_phase(k, p, (uint8_t *)shared->room, thread);
        else if (size == 2)
            run_phase(k, p, (uint16_t *)shared->room, thread);
        else
            run_phase(k, p, shared->room, thread);
    }
};

// ---- on the host ----

hr_status windows_make(windows *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_windows *m = (const hr_windows *)c->memo;
    r->m = *m;
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->dtype = c->in[0].dtype;
    r->size = value_size(c->in[0].dtype);
    return op::stage_list(&r->m.reach, m->reach_count, staging, error);
}

// Cuts the images into tiles that fit into shared memory, if there are such. `m`: the memo.
bool cut_windows(window_tile *t, const hr_windows *m)
{
    const int64_t far = TILE_ROOM;
    int64_t rows = 0, columns = 0, line = m->width * m->channels;
    for (int32_t i = 0; i < m->reach_count; i++) {
        const hr_reach *r = &m->reach[i];
        rows = HR_MAX(rows, HR_MIN(r->up, far) + HR_MIN(r->down, far));
        columns = HR_MAX(columns, HR_MIN(r->left, far) + HR_MIN(r->right, far));
    }
    if (m->channels > far || m->height > INT32_MAX / 2 || line > INT32_MAX / 2)
        return false;
    int64_t wide = TILE_WIDE + columns * m->channels;
    wide += m->kind == HR_WINDOW_KIND_MEDIAN ? 0 : TILE_WIDE;
    for (t->high = TILE_HIGH; (t->high + rows) * wide * t->size > TILE_ROOM; t->high /= 2)
        if (t->high == 1)
            return false;
    int64_t down = HR_DIVIDE_UP(m->height, t->high), across = HR_DIVIDE_UP(line, TILE_WIDE);
    if (m->outer == 0 || line == 0 || down > INT32_MAX / across ||
        (int64_t)m->outer > INT32_MAX / HR_MAX(down * across, 1))
        return false;
    t->down = (int32_t)down;
    t->across = (int32_t)across;
    t->tiles = (int32_t)((int64_t)m->outer * down * across);
    return true;
}

hr_status windows_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                      hr_error *error)
{
    hr_staged records, tiles;
    auto make = [](window_record *r, const hr_op_call *c, hr_staging *s, hr_error *e) {
        window_tile t = {};
        *r = {};
        HR_TRY(windows_make(r, c, s, e));
        t.size = r->size;
        r->count = cut_windows(&t, (const hr_windows *)c->memo) ? 0 : op::count(&c->out[0]);
        return HR_STATUS_OK;
    };
    auto make_tiles = [](window_tile *t, const hr_op_call *c, hr_staging *s, hr_error *e) {
        *t = {};
        HR_TRY(windows_make(t, c, s, e));
        t->tiles = cut_windows(t, (const hr_windows *)c->memo) ? t->tiles : 0;
        t->invert = t->m.kind == HR_WINDOW_KIND_MIN ? 0xffffffff : 0;
        return HR_STATUS_OK;
    };
    HR_TRY(op::stage<window_record>(calls, n, staging, make, &records, error));
    HR_TRY(op::stage<window_tile>(calls, n, staging, make_tiles, &tiles, error));
    HR_TRY(op::launch<window_record>(l, records, n, error));
    return op::launch_blocks<window_tile>(l, tiles, n, error);
}

} // namespace

HR_CUDA_OP(experimental_dilate, "experimental.dilate", windows_run);
HR_CUDA_OP(experimental_erode, "experimental.erode", windows_run);
HR_CUDA_OP(experimental_median_blur, "experimental.median_blur", windows_run);
