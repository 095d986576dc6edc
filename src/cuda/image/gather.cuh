// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Pixels taken from positions in the source. A thread makes a run of adjacent pixels, because
// positions in a row are summed up.
#ifndef HR_CUDA_IMAGE_GATHER_CUH
#define HR_CUDA_IMAGE_GATHER_CUH

#include "cuda/image/tile.cuh"

// What all pixels of a picture have in common.
struct GatherFrame {
    const hr_gather_spec *gather;
    const hr_map *map;
    picture to;
    int64_t step[3]; // bytes of the source from pixel to pixel along x, y, z
    int64_t slice;

    HR_MEMBER GatherFrame(const hr_device_program *p, int which)
    {
        const hr_device_gather *g = p->gather;
        gather = &g->gather;
        map = g->maps;
        to = picture_at(p, which, false);
        step[0] = (int64_t)p->channels * value_size(p->src_dtype);
        step[1] = p->src_stride;
        step[2] = g->slice_step;
        slice = 0;
        for (int o = p->outer_count - 1; o >= 0; o--) {
            int at = which % p->outer[o].count;
            which /= p->outer[o].count;
            if (o == g->frames)
                map += g->first_frame + at;
            if (o == g->depth)
                slice = g->first_slice + (int64_t)at * g->slice_by;
        }
    }
};

// The pixels of the source that make a pixel.
struct GatherTaps {
    const hr_device_program *p;
    const GatherFrame *frame;
    int64_t tap[8];
    float part[3];
    int n;

    HR_MEMBER GatherTaps(const hr_device_program *program, const GatherFrame *of, const float *at)
    {
        p = program;
        frame = of;
        n = gather_taps(frame->gather, frame->step, at, tap, part);
    }

    HR_MEMBER float channel(int c) const
    {
        float v[8];
        int size = value_size(p->src_dtype);
        for (int k = 0; k < n; k++) {
            const uint8_t *at = frame->to.src + tap[k] + c * size;
            v[k] = tap[k] < 0 ? frame->gather->fill
                              : value_to_float(value_load(at, size), p->src_dtype);
        }
        return gather_blend(v, part, n);
    }
};

// Pixels that are u8 when they are gathered, of C channels. POINTS: C is the most channels that
// there may be.
template <int C, int STORE> struct GatherBytes {
    typedef PixelStore<C, STORE> Store;
    enum { ANY = 0 };

    Store store;
    Points<Store::WIDE> points;
    int channels;

    HR_MEMBER GatherBytes(const hr_device_program *p, int plane, const uint32_t *shared)
        : store(p, plane), points(p, shared), channels(p->channels)
    {
    }

    HR_MEMBER void operator()(uint8_t *dst, const GatherTaps &taps) const
    {
        uint32_t v[1][Store::WIDE] = {};
        HR_UNROLL
        for (int c = 0; c < C; c++)
            if (STORE != HR_DEVICE_STORE_POINTS || c < channels)
                v[0][c] = byte_of_float(taps.channel(c));
        if constexpr (has_points(STORE))
            points.template apply<1>(v);
        store.write_pixel(dst, v[0]);
    }
};

// A run of pixels, through `pixels`.
template <typename Pixels>
HR_SHARED void gather_run(const hr_device_program *p, const GatherFrame &f, int y, int x,
                          const Pixels &pixels)
{
    int size = value_size(p->dtype), end = HR_MIN(x + HR_DEVICE_RUN, p->view_w);
    int64_t to[3] = {p->view_x + x, p->view_y + y, f.slice};
    int64_t next = (p->mirror_x ? -p->dst_x : p->dst_x) * size;
    uint8_t *dst = f.to.dst + view_offset(p, y, x) * size;
    float at[3] = {0.0f, 0.0f, 0.0f};
    gather_position(f.gather, f.map, to, at);
    for (; x < end; x++, dst += next) {
        pixels(dst, GatherTaps(p, &f, at));
        to[0]++;
        gather_next(f.gather, f.map, to, at);
    }
}

// The same for any type and number of channels.
HR_SHARED void gather_any(const hr_device_program *p, const GatherFrame &f, int y, int x)
{
    int size = value_size(p->dtype), end = HR_MIN(x + HR_DEVICE_RUN, p->view_w);
    int64_t to[3] = {p->view_x + x, p->view_y + y, f.slice};
    float at[3] = {0.0f, 0.0f, 0.0f};
    gather_position(f.gather, f.map, to, at);
    for (; x < end; x++) {
        GatherTaps taps(p, &f, at);
        for (int first = 0; first < p->channels; first += HR_DEVICE_GROUP) {
            uint64_t v[HR_DEVICE_GROUP] = {};
            int n = HR_MIN(HR_DEVICE_GROUP, p->channels - first);
            for (int c = 0; c < n; c++)
                v[c] = value_of_float(taps.channel(first + c), p->resampled);
            store_any(p, f.to.plane, f.to.dst + view_offset(p, y, x) * size, v, first, n);
        }
        to[0]++;
        gather_next(f.gather, f.map, to, at);
    }
}

// The tile's runs, through `pixels`.
template <typename Pixels>
HR_SHARED void gather_runs(const hr_device_program *p, const GatherFrame &f, int64_t row,
                           int thread, int threads, const Pixels &pixels)
{
    int per_row = HR_DIVIDE_UP(p->view_w, HR_DEVICE_RUN);
    int64_t first = row * HR_DEVICE_RUNS, runs = (int64_t)p->view_h * per_row;
    int64_t end = HR_MIN(first + HR_DEVICE_RUNS, runs);
    for (int64_t i = first + thread; i < end; i += threads) {
        int run, y = (int)divide(i, per_row, &run), x = run * HR_DEVICE_RUN;
        if constexpr (Pixels::ANY)
            gather_any(p, f, y, x);
        else
            gather_run(p, f, y, x, pixels);
    }
}

struct GatherAny {
    enum { ANY = 1 };
};

// A tile of HR_DEVICE_RUNS runs of the view. `points`: from load_points.
template <int STORE>
HR_SHARED void gather_tile(const hr_device_program *p, int tile, const uint32_t *points, int thread,
                           int threads)
{
    position at = position_of(p, tile);
    GatherFrame f(p, at.which);
    int plane = f.to.plane, row = at.row;
    if constexpr (STORE == HR_DEVICE_STORE_ANY)
        gather_runs(p, f, row, thread, threads, GatherAny());
    else if constexpr (STORE == HR_DEVICE_STORE_POINTS)
        gather_runs(p, f, row, thread, threads, GatherBytes<4, STORE>(p, plane, points));
    else if constexpr (STORE == HR_DEVICE_STORE_COLOR)
        gather_runs(p, f, row, thread, threads, GatherBytes<3, STORE>(p, plane, points));
    else if (p->channels == 1)
        gather_runs(p, f, row, thread, threads, GatherBytes<1, STORE>(p, plane, points));
    else if (p->channels == 2)
        gather_runs(p, f, row, thread, threads, GatherBytes<2, STORE>(p, plane, points));
    else if (p->channels == 3)
        gather_runs(p, f, row, thread, threads, GatherBytes<3, STORE>(p, plane, points));
    else
        gather_runs(p, f, row, thread, threads, GatherBytes<4, STORE>(p, plane, points));
}

#endif
