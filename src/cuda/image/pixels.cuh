// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Elements of the source that go to the output without a filter, and fill.
#ifndef HR_CUDA_IMAGE_PIXELS_CUH
#define HR_CUDA_IMAGE_PIXELS_CUH

#include "cuda/image/tile.cuh"

HR_SHARED const uint8_t *picked(const hr_device_program *p, const picture *to, int y, int x)
{
    if (p->resample) {
        y = taps_start(&p->y, p->view_y + y) - p->need_y;
        x = taps_start(&p->x, p->view_x + x) - p->need_x;
    }
    return to->src + y * p->src_stride + (int64_t)x * p->channels * value_size(p->src_dtype);
}

template <int C, int STORE>
HR_SHARED void pick_bytes(const hr_device_program *p, int plane, uint8_t *dst, const uint8_t *from)
{
    uint32_t v[C];
    for (int c = 0; c < C; c++)
        v[c] = from[c];
    store_bytes<C, STORE>(p, norm_of<C>(p, plane), plane, dst, p->dst_c * value_size(p->dtype), v);
}

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

template <int STORE>
HR_SHARED void pick_pixel(const hr_device_program *p, const picture *to, int y, int x)
{
    const uint8_t *from = picked(p, to, y, x);
    uint8_t *dst = to->dst + view_offset(p, y, x) * value_size(p->dtype);
    if (STORE == HR_DEVICE_STORE_ANY)
        pick_any(p, to->plane, dst, from);
    else if (p->channels == 1)
        pick_bytes<1, STORE>(p, to->plane, dst, from);
    else if (p->channels == 2)
        pick_bytes<2, STORE>(p, to->plane, dst, from);
    else if (p->channels == 3)
        pick_bytes<3, STORE>(p, to->plane, dst, from);
    else
        pick_bytes<4, STORE>(p, to->plane, dst, from);
}

// A tile of HR_DEVICE_PIXELS pixels of the view.
template <int STORE>
HR_SHARED void pick_tile(const hr_device_program *p, int tile, int thread, int threads)
{
    int which = tile / p->tiles.rows;
    picture to = picture_at(p, which, false);
    int64_t first = (int64_t)(tile - which * p->tiles.rows) * HR_DEVICE_PIXELS;
    int64_t end = (int64_t)p->view_h * p->view_w;
    for (int i = thread; i < HR_DEVICE_PIXELS && first + i < end; i += threads) {
        int x, y = (int)divide(first + i, p->view_w, &x);
        pick_pixel<STORE>(p, &to, y, x);
    }
}

// Everything of the pixel that is not made by another kernel.
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
    int tiles = (int)((end + HR_DEVICE_PIXELS - 1) / HR_DEVICE_PIXELS), which = tile / tiles;
    picture to = picture_at(p, which, true);
    int64_t first = (int64_t)(tile - which * tiles) * HR_DEVICE_PIXELS;
    for (int i = thread; i < HR_DEVICE_PIXELS && first + i < end; i += threads) {
        int x, y = (int)divide(first + i, p->window_w, &x);
        fill_pixel(p, &to, y, x);
    }
}

#endif
