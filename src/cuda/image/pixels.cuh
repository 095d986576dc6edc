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

// A tile of HR_DEVICE_PIXELS pixels of the view. `each(dst, from, n)` takes up to Each::PIXELS
// pixels of a thread at a time.
template <typename Each>
HR_SHARED void pick_each(const hr_device_program *p, int tile, int thread, int threads,
                         const Each &each)
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
    bool resample = p->resample;
    while (dst.index < end) {
        uint8_t *into[Each::PIXELS];
        const uint8_t *from[Each::PIXELS];
        int n = 0;
        HR_UNROLL
        for (int i = 0; i < Each::PIXELS; i++) {
            if (i > 0 && dst.index >= end)
                break;
            into[i] = to.dst + dst.offset;
            from[i] = resample ? picked(p, &to, dst.y, dst.x) : to.src + src.offset;
            n = i + 1;
            dst.next(threads);
            src.next(threads);
        }
        each(into, from, n);
    }
}

// Loads from global memory that is read-only during the launch.
HR_SHARED uint32_t load_byte(const uint8_t *at)
{
#if defined(__CUDA_ARCH__)
    return __ldg(at);
#else
    return *at;
#endif
}

// POINTS: C is the most channels that there may be.
template <int C, int STORE> struct PickBytes {
    typedef PixelStore<C, STORE> Store;
    enum { PIXELS = Store::PIXELS };

    Store store;
    Points<Store::WIDE> points;
    int channels;

    HR_MEMBER PickBytes(const hr_device_program *p, int plane, const uint32_t *shared)
        : store(p, plane), points(p, shared), channels(p->channels)
    {
    }

    HR_MEMBER bool has(int c) const
    {
        return STORE != HR_DEVICE_STORE_POINTS || c < channels;
    }

    HR_MEMBER void operator()(uint8_t *const *dst, const uint8_t *const *from, int n) const
    {
        uint32_t v[PIXELS][Store::WIDE] = {};
        HR_UNROLL
        for (int i = 0; i < PIXELS; i++) {
            HR_UNROLL
            for (int c = 0; c < C; c++)
                if ((PIXELS == 1 || i < n) && has(c))
                    v[i][c] = load_byte(from[i] + c);
        }
        if constexpr (has_points(STORE))
            points.template apply<PIXELS>(v);
        HR_UNROLL
        for (int i = 0; i < PIXELS; i++)
            if (PIXELS == 1 || i < n)
                store.write_pixel(dst[i], v[i]);
    }
};

struct PickAny {
    enum { PIXELS = 1 };

    const hr_device_program *p;
    int plane;

    HR_MEMBER void operator()(uint8_t *const *dst, const uint8_t *const *from, int) const
    {
        pick_any(p, plane, dst[0], from[0]);
    }
};

// `points`: from load_points.
template <int STORE>
HR_SHARED void pick_tile(const hr_device_program *p, int tile, const uint32_t *points, int thread,
                         int threads)
{
    int plane = picture_at(p, position_of(p, tile).which, false).plane;
    if constexpr (STORE == HR_DEVICE_STORE_ANY)
        pick_each(p, tile, thread, threads, PickAny{p, plane});
    else if constexpr (STORE == HR_DEVICE_STORE_POINTS)
        pick_each(p, tile, thread, threads, PickBytes<HR_MATRIX_MAX, STORE>(p, plane, points));
    else if constexpr (STORE == HR_DEVICE_STORE_COLOR)
        pick_each(p, tile, thread, threads, PickBytes<3, STORE>(p, plane, points));
    else if (p->channels == 1)
        pick_each(p, tile, thread, threads, PickBytes<1, STORE>(p, plane, points));
    else if (p->channels == 2)
        pick_each(p, tile, thread, threads, PickBytes<2, STORE>(p, plane, points));
    else if (p->channels == 3)
        pick_each(p, tile, thread, threads, PickBytes<3, STORE>(p, plane, points));
    else
        pick_each(p, tile, thread, threads, PickBytes<4, STORE>(p, plane, points));
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
