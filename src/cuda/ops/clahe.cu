// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// clahe: a block counts the values of a tile and makes its table; then one thread per pixel blends
// what the tables of four tiles make of it. Lightness is computed where it is needed.
#include "ops/color/clahe.h"
#include "cuda/ops/op.cuh"
#include "kernels/border.h"
#include "kernels/clahe.h"
#include "kernels/lab.h"

namespace
{

constexpr int LEVELS = HR_CLAHE_LEVELS;
constexpr int LANES = 8; // counters of one value: one for every 32 threads

struct image {
    hr_clahe_grid grid;
    const uint8_t *src;
    uint8_t *dst;
    uint8_t *tables;          // of each plane, of each of its tiles
    const hr_lab_tables *lab; // NULL: each channel is a plane, otherwise the lightness
    int64_t count;            // pixels
    int32_t channels, tiles;  // tiles of all planes

    HR_DEVICE int value(int64_t pixel, int plane) const
    {
        uint8_t l, a, b;
        if (!lab)
            return src[pixel * channels + plane];
        lab_of_rgb(lab, src + pixel * 3, &l, &a, &b);
        return l;
    }
};

// What is added to the count of value v when `excess` counts are spread: evenly, and the rest in
// equal steps.
HR_DEVICE uint32_t share(uint32_t excess, uint32_t v)
{
    uint32_t rest = excess % LEVELS, step = rest > 0 ? LEVELS / rest : 1;
    return excess / LEVELS + (v % step == 0 && v / step < rest ? 1 : 0);
}

struct make_tables : image {
    HR_DEVICE static constexpr int phases()
    {
        return 5;
    }
    struct Shared {
        uint32_t lanes[LANES][LEVELS];
        uint32_t counts[LEVELS], over[LEVELS];
    };

    HR_DEVICE void count_values(int tile, Shared *shared, int thread) const
    {
        int per_plane = grid.tiles_x * grid.tiles_y, plane = tile / per_plane;
        int64_t at = tile - plane * per_plane;
        int64_t tile_y = at / grid.tiles_x, tile_x = at - tile_y * grid.tiles_x;
        int64_t area = grid.tile_height * grid.tile_width;
        uint32_t *counts = shared->lanes[thread / 32 % LANES];
        for (int64_t i = thread; i < area; i += op::THREADS) {
            int64_t y = i, x = op::digit(&y, grid.tile_width) + tile_x * grid.tile_width;
            y = border_index(y + tile_y * grid.tile_height, grid.height, HR_BORDER_REFLECT_101);
            x = border_index(x, grid.width, HR_BORDER_REFLECT_101);
            op::add_to(&counts[value(y * grid.width + x, plane)], 1);
        }
    }

    // A thread has one value.
    HR_DEVICE void phase(int k, int tile, Shared *shared, int v) const
    {
        if (k == 0) {
            for (int lane = 0; lane < LANES; lane++)
                shared->lanes[lane][v] = 0;
        } else if (k == 1) {
            count_values(tile, shared, v);
        } else if (k == 2) {
            uint32_t sum = 0;
            for (int lane = 0; lane < LANES; lane++)
                sum += shared->lanes[lane][v];
            shared->over[v] = sum > grid.limit ? sum - grid.limit : 0;
            shared->counts[v] = sum - shared->over[v];
        } else if (k == 3) {
            uint32_t excess = 0;
            for (int i = 0; i < LEVELS; i++)
                excess += shared->over[i];
            shared->counts[v] += share(excess, (uint32_t)v);
        } else {
            uint32_t sum = 0;
            for (int i = 0; i <= v; i++)
                sum += shared->counts[i];
            tables[(int64_t)tile * LEVELS + v] = clahe_value(sum, grid.scale);
        }
    }
};

struct blend : image {
    HR_DEVICE void element(int64_t i) const
    {
        float right, down;
        int64_t y = i, x = op::digit(&y, grid.width), at[4];
        int64_t tile_y = clahe_tile_before(y, grid.tile_height, &down);
        int64_t tile_x = clahe_tile_before(x, grid.tile_width, &right);
        clahe_around(&grid, tile_y, tile_x, at);
        if (lab) {
            uint8_t l, a, b, *to = dst + i * 3;
            lab_of_rgb(lab, src + i * 3, &l, &a, &b);
            l = clahe_blend(quad(tables, at, l), right, down);
            lab_to_rgb(lab, l, a, b, &to[0], &to[1], &to[2]);
            return;
        }
        int64_t plane = (int64_t)grid.tiles_x * grid.tiles_y * LEVELS;
        for (int c = 0; c < channels; c++)
            dst[i * channels + c] =
                clahe_blend(quad(tables + c * plane, at, src[i * channels + c]), right, down);
    }

    HR_DEVICE static uint32_t quad(const uint8_t *table, const int64_t at[4], int v)
    {
        return table[at[0] + v] | (uint32_t)table[at[1] + v] << 8 |
               (uint32_t)table[at[2] + v] << 16 | (uint32_t)table[at[3] + v] << 24;
    }
};

static_assert(op::THREADS == LEVELS, "a thread has one value");

// Without its address, which `tables` is the offset of.
void make(image *p, const hr_op_call *c, const hr_lab_tables *lab)
{
    const hr_clahe_args *args = (const hr_clahe_args *)c->args;
    const int64_t *extent = c->in[0].shape.extent;
    *p = {};
    p->count = extent[0] * extent[1];
    if (p->count == 0)
        return;
    p->grid = clahe_grid(args, extent[0], extent[1]);
    p->src = (const uint8_t *)c->in[0].data;
    p->dst = (uint8_t *)c->out[0].data;
    p->channels = (int32_t)extent[2];
    p->lab = args->luma_only && p->channels == 3 ? lab : nullptr;
    p->tiles = args->tiles_x * args->tiles_y * (p->lab ? 1 : p->channels);
}

// Tables of a part of the batch; the next part overwrites them.
hr_status find_room(hr_cuda_launch *l, const image *p, int32_t n, size_t *most, char **room,
                    hr_error *error)
{
    size_t all = 0, one = 1;
    void *memory;
    for (int32_t i = 0; i < n; i++) {
        size_t size = (size_t)p[i].tiles * LEVELS;
        all += size;
        one = HR_MAX(one, size);
    }
    *most = HR_MAX(one, l->scratch_limit > 0 ? HR_MIN(all, l->scratch_limit) : all);
    HR_TRY(l->scratch(l, *most, &memory, error));
    *room = (char *)memory;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    const void *lab;
    hr_staged records;
    size_t most, used = 0;
    char *room;
    HR_TRY(staging->constant(staging, calls[0].state, sizeof(hr_lab_tables), &lab, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(image), &records, error));
    image *p = (image *)records.host;
    for (int32_t i = 0; i < n; i++)
        make(&p[i], &calls[i], (const hr_lab_tables *)lab);
    HR_TRY(find_room(l, p, n, &most, &room, error));
    for (int32_t i = 0; i < n; i++) {
        size_t size = (size_t)p[i].tiles * LEVELS;
        used = used + size > most ? 0 : used;
        p[i].tables = (uint8_t *)room + used;
        used += size;
    }
    HR_TRY(staging->flush(staging, error));
    for (int32_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && p[to].tables > p[to - 1].tables;)
            to++;
        hr_staged part = {p + from, (char *)records.device + (size_t)from * sizeof(image)};
        HR_TRY(op::launch_blocks<make_tables>(l, part, to - from, error));
        HR_TRY(op::launch<blend>(l, part, to - from, error));
    }
    return HR_STATUS_OK;
}

} // namespace

HR_CUDA_OP(clahe, "clahe", run);
