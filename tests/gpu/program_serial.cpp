// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Runs the phases of each kernel thread by thread, so that sanitizers and debuggers work without a
// GPU. Shared memory has exactly the size that the record states.
#include "gpu/program_serial.h"

#include "cuda/image/fixed.cuh"
#include "cuda/image/float.cuh"
#include "cuda/image/gather.cuh"
#include "cuda/image/pixels.cuh"

#include <memory>
#include <vector>

static std::unique_ptr<uint8_t[]> shared_of(const hr_device_program *p)
{
    auto memory = std::unique_ptr<uint8_t[]>(new uint8_t[(size_t)p->tiles.shared + 16]);
    memset(memory.get(), 0x5a, (size_t)p->tiles.shared);
    return memory;
}

template <int C, int STORE>
static void run_fixed(const hr_device_program *p, const uint32_t *taps, int tile, int threads)
{
    auto memory = shared_of(p);
    alignas(16) uint32_t points[POINTS_WORDS];
    FixedTile<C, STORE> each;
    each.begin(p, taps, tile, memory.get(), points);
    for (int t = 0; t < threads; t++)
        each.load_taps(t, threads);
    for (int t = 0; t < threads; t++)
        each.filter_columns(t, threads);
    for (int t = 0; t < threads; t++)
        each.filter_pixels(t, threads);
}

template <int C>
static void run_fixed(const hr_device_program *p, const uint32_t *taps, int tile, int threads)
{
    if (p->store == HR_DEVICE_STORE_U8)
        run_fixed<C, HR_DEVICE_STORE_U8>(p, taps, tile, threads);
    else if (p->store == HR_DEVICE_STORE_F16)
        run_fixed<C, HR_DEVICE_STORE_F16>(p, taps, tile, threads);
    else if (p->store == HR_DEVICE_STORE_F32)
        run_fixed<C, HR_DEVICE_STORE_F32>(p, taps, tile, threads);
    else if (p->store == HR_DEVICE_STORE_POINTS)
        run_fixed<C, HR_DEVICE_STORE_POINTS>(p, taps, tile, threads);
    else if (C == 3 && p->store == HR_DEVICE_STORE_COLOR)
        run_fixed<3, HR_DEVICE_STORE_COLOR>(p, taps, tile, threads);
    else
        run_fixed<C, HR_DEVICE_STORE_ANY>(p, taps, tile, threads);
}

static void run_float_group(const hr_device_program *p, std::vector<FloatTile> &tiles, int first)
{
    int n = HR_MIN(HR_DEVICE_GROUP, p->channels - first), threads = (int)tiles.size();
    for (int filter = 0; filter < tiles[0].filters(); filter++) {
        for (auto &tile : tiles)
            tile.begin_filter(filter);
        int end = tiles[0].end_column;
        for (int from = tiles[0].first_column; from < end; from += p->tiles.span) {
            int count = HR_MIN(p->tiles.span, end - from);
            for (int t = 0; t < threads; t++)
                tiles[t].filter_columns(from, count, first, n, t, threads);
            for (auto &tile : tiles)
                tile.add_columns(from, count, n);
        }
        for (auto &tile : tiles)
            tile.end_filter(filter);
    }
    for (auto &tile : tiles)
        tile.store(first, n);
}

static void run_float(const hr_device_program *p, const uint32_t *taps, int number)
{
    const int threads = HR_DEVICE_THREADS;
    auto memory = shared_of(p);
    std::vector<FloatTile> tiles((size_t)threads);
    for (int t = 0; t < threads; t++)
        tiles[t].begin(p, taps, number, memory.get(), t);
    for (;;) {
        bool more = false;
        for (auto &tile : tiles)
            more = tile.next_rows();
        if (!more)
            return;
        for (int first = 0; first < p->channels; first += HR_DEVICE_GROUP)
            run_float_group(p, tiles, first);
    }
}

// `make(store, points)` for the program's way of storing, a std::integral_constant.
template <typename Make> static void by_store(const hr_device_program *p, int threads, Make make)
{
    alignas(16) uint32_t points[POINTS_WORDS];
    if (has_points(p->store))
        for (int t = 0; t < threads; t++)
            load_points(p, points, t, threads);
    if (p->store == HR_DEVICE_STORE_U8)
        make(std::integral_constant<int, HR_DEVICE_STORE_U8>(), points);
    else if (p->store == HR_DEVICE_STORE_F16)
        make(std::integral_constant<int, HR_DEVICE_STORE_F16>(), points);
    else if (p->store == HR_DEVICE_STORE_F32)
        make(std::integral_constant<int, HR_DEVICE_STORE_F32>(), points);
    else if (p->store == HR_DEVICE_STORE_POINTS)
        make(std::integral_constant<int, HR_DEVICE_STORE_POINTS>(), points);
    else if (p->store == HR_DEVICE_STORE_COLOR)
        make(std::integral_constant<int, HR_DEVICE_STORE_COLOR>(), points);
    else
        make(std::integral_constant<int, HR_DEVICE_STORE_ANY>(), points);
}

static void run_pick(const hr_device_program *p, int tile, int threads)
{
    by_store(p, threads, [=](auto store, const uint32_t *points) {
        for (int t = 0; t < threads; t++)
            pick_tile<decltype(store)::value>(p, tile, points, t, threads, [] {});
    });
}

static void run_gather(const hr_device_program *p, int tile, int threads)
{
    by_store(p, threads, [=](auto store, const uint32_t *points) {
        GatherPositions positions;
        memset(&positions, 0x5a, sizeof positions);
        if (decltype(store)::value == HR_DEVICE_STORE_ANY)
            for (int t = 0; t < threads; t++)
                gather_runs(p, tile, t, threads);
        else
            gather_tile<decltype(store)::value>(p, tile, &positions, points, [=](const auto &made) {
                for (int t = 0; t < threads; t++)
                    made.find(t, threads);
                for (int t = 0; t < threads; t++)
                    made.make(t, threads);
                for (int t = 0; t < threads && made.has_rows(); t++)
                    made.store_rows(t, threads);
            });
    });
}

void hr_serial_program_run(const hr_device_program *p, int threads)
{
    bool resampled = p->kind == HR_DEVICE_KIND_FIXED || p->kind == HR_DEVICE_KIND_FLOAT;
    std::vector<uint32_t> made(resampled ? (size_t)taps_size(p) : 0);
    const uint32_t *taps = made.data();
    for (int64_t i = 0; resampled && i < (int64_t)p->view_w + p->view_h + 3; i++)
        make_taps(p, made.data(), i);
    for (int tile = 0; tile < p->tiles.count; tile++) {
        if (p->kind == HR_DEVICE_KIND_FLOAT)
            run_float(p, taps, tile);
        else if (p->kind == HR_DEVICE_KIND_PICK)
            run_pick(p, tile, threads);
        else if (p->kind == HR_DEVICE_KIND_GATHER)
            run_gather(p, tile, threads);
        else if (p->channels == 1)
            run_fixed<1>(p, taps, tile, threads);
        else if (p->channels == 2)
            run_fixed<2>(p, taps, tile, threads);
        else if (p->channels == 3)
            run_fixed<3>(p, taps, tile, threads);
        else
            run_fixed<4>(p, taps, tile, threads);
    }
    for (int tile = 0; tile < p->fill_tiles; tile++)
        for (int t = 0; t < threads; t++)
            fill_tile(p, tile, t, threads);
}
