// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Pixels taken from positions in the source. Positions in a row are summed up. From images of u8,
// a block makes a tile: some of its threads compute the positions of a row each. From anything
// else, a thread makes a run of adjacent pixels.
#pragma once

#include "cuda/image/rgb.cuh"
#include "cuda/image/tile.cuh"

// What all pixels of an image have in common.
struct GatherFrame {
    const hr_gather_spec *gather;
    const hr_map *map;
    placed_image to;
    int64_t step[3]; // bytes of the source from pixel to pixel along x, y, z
    int64_t slice;

    HR_MEMBER GatherFrame(const hr_device_program *p, int which)
    {
        const hr_device_gather *g = p->gather;
        gather = &g->gather;
        map = g->maps;
        to = image_at(p, which, false);
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

// A run of pixels of any type and number of channels.
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

// A tile of HR_DEVICE_RUNS runs of the view.
HR_SHARED void gather_runs(const hr_device_program *p, int tile, int thread, int threads)
{
    position at = position_of(p, tile);
    GatherFrame f(p, at.which);
    int per_row = HR_DIVIDE_UP(p->view_w, HR_DEVICE_RUN);
    int64_t first = (int64_t)at.row * HR_DEVICE_RUNS, runs = (int64_t)p->view_h * per_row;
    int64_t end = HR_MIN(first + HR_DEVICE_RUNS, runs);
    for (int64_t i = first + thread; i < end; i += threads) {
        int run, y = (int)divide(i, per_row, &run);
        gather_any(p, f, y, run * HR_DEVICE_RUN);
    }
}

// The positions of a tile's pixels, in shared memory; a tile is narrower than HR_GATHER_RUN. One
// more column, so that rows are in different banks.
struct GatherPositions {
    float at[2][HR_DEVICE_GATHER_HIGH][HR_DEVICE_GATHER_WIDE + 1];
};

// The pixels that make a pixel, along one axis.
struct GatherAxis {
    int first;   // inside the image
    bool second; // the second pixel is another one
    int outside; // bit 0: the first would be outside, bit 1: the second
    float part;  // distance from the first

    HR_MEMBER GatherAxis(float center, int extent, bool nearest)
    {
        float at = fminf(fmaxf(center, -HR_GATHER_FAR), HR_GATHER_FAR);
        at = nearest ? at : at - 0.5f;
        float whole = floorf(at);
        int low = (int)whole;
        part = at - whole;
        outside = (low < 0 || low >= extent) | (low < -1 || low >= extent - 1) << 1;
        first = HR_MIN(HR_MAX(low, 0), extent - 1);
        second = low >= 0 && low < extent - 1;
    }
};

// A tile of pixels of C channels that are u8 when they are gathered. POINTS: C is the most channels
// that there may be. Shared memory is read between the phases `find` and `make`.
template <int C, int STORE> struct GatherTile {
    typedef PixelStore<C, STORE> Store;

    const hr_device_program *p;
    GatherPositions *positions;
    const GatherFrame frame;
    int y0, x0;        // of the tile in the view
    int rows, columns; // of it
    const uint32_t *points;
    // What each pixel needs, in registers: the compiler does not know that stores leave the record
    // as it is.
    int width, height; // of the source
    int64_t line;      // bytes of it from row to row
    bool nearest, has_fill;
    float fill;
    float inside_x, inside_y; // what positions inside are below

    HR_MEMBER GatherTile(const hr_device_program *program, const position &at,
                         GatherPositions *shared, const uint32_t *shared_points)
        : p(program), positions(shared), frame(program, at.which)
    {
        const hr_gather_spec *g = frame.gather;
        y0 = at.row * HR_DEVICE_GATHER_HIGH;
        x0 = at.column * HR_DEVICE_GATHER_WIDE;
        rows = HR_MIN(HR_DEVICE_GATHER_HIGH, p->view_h - y0);
        columns = HR_MIN(HR_DEVICE_GATHER_WIDE, p->view_w - x0);
        points = shared_points;
        width = (int)g->in[0];
        height = (int)g->in[1];
        line = p->src_stride;
        nearest = g->nearest;
        has_fill = g->has_fill;
        fill = g->fill;
        inside_x = fminf((float)width - 0.5f, HR_GATHER_FAR);
        inside_y = fminf((float)height - 1.5f, HR_GATHER_FAR);
    }

    // The positions of a row along an axis. They are summed up anew at most once.
    HR_MEMBER void find_row(int axis, int row) const
    {
        const hr_map *map = frame.map;
        const unsigned x = (unsigned)(p->view_x + x0), ahead = x % HR_GATHER_RUN;
        const float y = (float)(p->view_y + y0 + row) + 0.5f, step = map->m[axis][0];
        const int end = HR_MIN(columns, (int)(HR_GATHER_RUN - ahead));
        float *to = positions->at[axis][row];
        float at = gather_at(map, axis, (float)(x - ahead) + 0.5f, y);
        HR_UNROLL_FOUR
        for (unsigned k = 0; k < ahead; k++)
            at += step;
        HR_UNROLL_FOUR
        for (int k = 0; k < end; k++, at += step)
            to[k] = at;
        if (end == columns)
            return;
        at = gather_at(map, axis, (float)(x + (unsigned)end) + 0.5f, y);
        HR_UNROLL_FOUR
        for (int k = end; k < columns; k++, at += step)
            to[k] = at;
    }

    HR_MEMBER void find(int thread, int threads) const
    {
        for (int i = thread; i < 2 * HR_DEVICE_GATHER_HIGH; i += threads)
            if (i % HR_DEVICE_GATHER_HIGH < rows)
                find_row(i / HR_DEVICE_GATHER_HIGH, i % HR_DEVICE_GATHER_HIGH);
    }

    // `each(c)` for the channels of a pixel.
    template <typename Each> HR_MEMBER void channels_of(uint32_t *v, const Each &each) const
    {
        HR_UNROLL
        for (int c = 0; c < C; c++)
            if (STORE != HR_DEVICE_STORE_POINTS || c < p->channels)
                v[c] = byte_of_float(each(c));
    }

    HR_MEMBER float blend(float a, float b, float c, float d, float part_x, float part_y) const
    {
        float upper = a + (b - a) * part_x, lower = c + (d - c) * part_x;
        return upper + (lower - upper) * part_y;
    }

    // Whether a pixel of three channels is between four that are neither in the first row nor in
    // the last one, so that the words around them are in the image.
    HR_MEMBER bool is_inside(float at_x, float at_y) const
    {
        return at_x >= 0.5f && at_x < inside_x && at_y >= 1.5f && at_y < inside_y;
    }

    HR_MEMBER void pixel_inside(uint32_t *v, float at_x, float at_y) const
    {
        float part_x, part_y, mean[3];
        const int x = rgb_whole(at_x - 0.5f, &part_x), y = rgb_whole(at_y - 0.5f, &part_y);
        rgb_between(mean, frame.to.src + y * line + 3 * x, line, part_x, part_y);
        HR_UNROLL
        for (int c = 0; c < 3; c++)
            v[c] = rgb_rounded(mean[c]) & 255;
    }

    HR_MEMBER void pixel(uint32_t *v, int row, int column) const
    {
        const float at_x = positions->at[0][row][column], at_y = positions->at[1][row][column];
        if constexpr (C == 3 && STORE != HR_DEVICE_STORE_POINTS)
            if (is_inside(at_x, at_y))
                return pixel_inside(v, at_x, at_y);
        GatherAxis x(at_x, width, false), y(at_y, height, false);
        bool at_edge = has_fill && (x.outside | y.outside);
        int64_t offset = y.first * line + x.first * frame.step[0];
        const uint8_t *a = frame.to.src + offset;
        const uint8_t *b = a + (x.second ? frame.step[0] : 0);
        const uint8_t *c = a + (y.second ? line : 0), *d = c + (b - a);
        if (!at_edge) {
            channels_of(v, [=](int k) {
                return blend(float_of_byte(a[k]), float_of_byte(b[k]), float_of_byte(c[k]),
                             float_of_byte(d[k]), x.part, y.part);
            });
        } else {
            bool left = x.outside & 1, right = x.outside >> 1;
            bool upper = y.outside & 1, lower = y.outside >> 1;
            const float f = fill;
            channels_of(v, [=](int k) {
                return blend(left || upper ? f : float_of_byte(a[k]),
                             right || upper ? f : float_of_byte(b[k]),
                             left || lower ? f : float_of_byte(c[k]),
                             right || lower ? f : float_of_byte(d[k]), x.part, y.part);
            });
        }
    }

    // The bytes of the pixel of the source that is nearest.
    HR_MEMBER void nearest_pixel(uint32_t *v, int row, int column) const
    {
        GatherAxis x(positions->at[0][row][column], width, true);
        GatherAxis y(positions->at[1][row][column], height, true);
        int64_t offset = y.first * line + x.first * frame.step[0];
        const uint8_t *at = frame.to.src + offset;
        if (has_fill && ((x.outside | y.outside) & 1)) {
            const float f = fill;
            channels_of(v, [=](int) { return f; });
            return;
        }
        if constexpr (C == 3 && STORE != HR_DEVICE_STORE_POINTS)
            if (offset >= 3 && offset + 8 <= (height - 1) * line + (int64_t)width * 3) {
                const uint32_t word = rgb_load(at);
                HR_UNROLL
                for (int c = 0; c < 3; c++)
                    v[c] = word >> 8 * c & 255;
                return;
            }
        HR_UNROLL
        for (int c = 0; c < C; c++)
            if (STORE != HR_DEVICE_STORE_POINTS || c < p->channels)
                v[c] = load_byte(at + c);
    }

    // A warp makes pixels that are close to each other in the source, too: 8 x 4 of them.
    HR_MEMBER static int row_of(int i)
    {
        return i / 32 / (HR_DEVICE_GATHER_WIDE / 8) * 4 + i % 32 / 8;
    }

    HR_MEMBER static int column_of(int i)
    {
        return i / 32 % (HR_DEVICE_GATHER_WIDE / 8) * 8 + i % 8;
    }

    // A thread makes TOGETHER pixels at a time: it stores none before it has loaded all.
    template <int TOGETHER, typename Pixel>
    HR_MEMBER void make_pixels(int thread, int threads, const Pixel &pixel_at) const
    {
        const Store store(p, frame.to.plane);
        const Points<Store::WIDE> steps(p, points);
        const bool in_rows = has_rows();
        int size = value_size(p->dtype);
        int64_t next_y = (p->mirror_y ? -p->dst_y : p->dst_y) * size;
        int64_t next_x = (p->mirror_x ? -p->dst_x : p->dst_x) * size;
        uint8_t *dst = frame.to.dst + view_offset(p, y0, x0) * size;
        const int count = HR_DEVICE_GATHER_WIDE * HR_DEVICE_GATHER_HIGH;
        for (int first = thread; first < count; first += TOGETHER * threads) {
            uint32_t v[TOGETHER][1][Store::WIDE] = {};
            HR_UNROLL
            for (int k = 0; k < TOGETHER; k++) {
                int i = first + k * threads, row = row_of(i), column = column_of(i);
                if (row < rows && column < columns)
                    pixel_at(v[k][0], row, column);
            }
            HR_UNROLL
            for (int k = 0; k < TOGETHER; k++) {
                int i = first + k * threads, row = row_of(i), column = column_of(i);
                if (row >= rows || column >= columns)
                    continue;
                if (in_rows) {
                    const uint32_t *bytes = v[k][0];
                    positions->at[0][row][column] =
                        bits_as_f32(bytes[0] | bytes[1 % C] << 8 | bytes[2 % C] << 16);
                    continue;
                }
                if constexpr (has_points(STORE))
                    steps.template apply<1>(v[k]);
                store.write_pixel(dst + row * next_y + column * next_x, v[k][0]);
            }
        }
    }

    // Whether rows of the output are bytes one after the other. Then, pixels take the places of
    // their positions, and are stored as words after the tile is complete.
    HR_MEMBER bool has_rows() const
    {
        return C == 3 && STORE == HR_DEVICE_STORE_U8 && p->dst_c == 1 && p->dst_x == 3 &&
               p->dst_channels == 3 && !p->mirror_x;
    }

    HR_MEMBER void store_rows(int thread, int threads) const
    {
        const int fours = HR_DIVIDE_UP(columns, 4);
        const int64_t next = p->mirror_y ? -p->dst_y : p->dst_y;
        uint8_t *dst = frame.to.dst + view_offset(p, y0, x0);
        for (int i = thread; i < rows * (HR_DEVICE_GATHER_WIDE / 4); i += threads) {
            const int row = i / (HR_DEVICE_GATHER_WIDE / 4), four = i % (HR_DEVICE_GATHER_WIDE / 4);
            if (four >= fours)
                continue;
            const float *pixels = &positions->at[0][row][4 * four];
            uint32_t v[12];
            HR_UNROLL
            for (int k = 0; k < 12; k++)
                v[k] = bits_of_f32(pixels[k / 3]) >> k % 3 * 8;
            rgb_store_four(dst + row * next + 12 * four, v, columns - 4 * four);
        }
    }

    HR_MEMBER void make(int thread, int threads) const
    {
        if (nearest)
            make_pixels<has_points(STORE) ? 1 : 4>(
                thread, threads,
                [this](uint32_t *v, int row, int column) { nearest_pixel(v, row, column); });
        else
            make_pixels<1>(thread, threads,
                           [this](uint32_t *v, int row, int column) { pixel(v, row, column); });
    }
};

// `run(tile)` with the tile of the program's number of channels.
template <int STORE, typename Run>
HR_SHARED void gather_tile(const hr_device_program *p, int number, GatherPositions *shared,
                           const uint32_t *points, const Run &run)
{
    position at = position_of(p, number);
    if constexpr (STORE == HR_DEVICE_STORE_POINTS)
        run(GatherTile<HR_MATRIX_MAX, STORE>(p, at, shared, points));
    else if constexpr (STORE == HR_DEVICE_STORE_COLOR)
        run(GatherTile<3, STORE>(p, at, shared, points));
    else if (p->channels == 1)
        run(GatherTile<1, STORE>(p, at, shared, points));
    else if (p->channels == 2)
        run(GatherTile<2, STORE>(p, at, shared, points));
    else if (p->channels == 3)
        run(GatherTile<3, STORE>(p, at, shared, points));
    else
        run(GatherTile<4, STORE>(p, at, shared, points));
}
