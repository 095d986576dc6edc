// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// equalize: blocks count the values of a piece of an image in shared memory; then blocks add up the
// counts of all pieces, make tables of these and take a piece through the tables.
#include "ops/color/equalize.h"
#include "cuda/ops/op.cuh"

namespace
{

constexpr int LEVELS = HR_EQUALIZE_LEVELS;
constexpr int GROUP = 4;        // channels at a time
constexpr int PIECE = 16 << 10; // pixels, if there are not too many pieces
constexpr int PIECES_MAX = 64;  // of an image

// Consecutive images of one sample.
struct part {
    const uint8_t *src;
    uint8_t *dst;
    uint32_t *counts;      // a row of LEVELS per image, channel and piece
    int64_t pixels, each; // of an image and of a piece
    int32_t channels, groups, pieces, tiles;
};

// What one thread block works on: a range of pixels, in up to GROUP channels of one image.
struct piece {
    int64_t row, first, end, at; // row: of counters of piece 0; at: of channel 0 of pixel `first`
    int32_t channels, number;

    HR_DEVICE piece(const part &p, int tile)
    {
        int which = tile / p.pieces, image = which / p.groups;
        int channel = (which - image * p.groups) * GROUP;
        number = tile - which * p.pieces;
        first = number * p.each;
        end = HR_MIN(first + p.each, p.pixels);
        row = ((int64_t)image * p.channels + channel) * p.pieces;
        at = ((int64_t)image * p.pixels + first) * p.channels + channel;
        channels = HR_MIN(p.channels - channel, GROUP);
    }
};

struct count_values : part {
    HR_DEVICE static constexpr int phases()
    {
        return 3;
    }
    struct Shared {
        uint32_t counts[GROUP][LEVELS];
    };

    template <int C> HR_DEVICE void add(const piece &p, Shared *shared, int thread) const
    {
        const uint8_t *from = src + p.at;
        int n = (int)(p.end - p.first);
        HR_UNROLL_FOUR
        for (int i = thread; i < n; i += op::THREADS) {
            const uint8_t *pixel = from + (int64_t)i * channels;
            HR_UNROLL
            for (int c = 0; c < C; c++)
                op::add_to(&shared->counts[c][pixel[c]], 1);
        }
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        const piece p(*this, tile);
        if (k == 1) {
            if (p.channels == 1)
                add<1>(p, shared, thread);
            else if (p.channels == 2)
                add<2>(p, shared, thread);
            else if (p.channels == 3)
                add<3>(p, shared, thread);
            else
                add<4>(p, shared, thread);
            return;
        }
        for (int i = thread; i < p.channels * LEVELS; i += op::THREADS) {
            const int c = i / LEVELS, value = i % LEVELS;
            if (k == 0)
                shared->counts[c][value] = 0;
            else
                counts[(p.row + c * pieces + p.number) * LEVELS + value] = shared->counts[c][value];
        }
    }
};

struct map_values : part {
    HR_DEVICE static constexpr int phases()
    {
        return 3;
    }
    struct Shared {
        uint32_t counts[GROUP][LEVELS];
        uint8_t tables[GROUP][LEVELS];
    };

    HR_DEVICE uint32_t count_of(const piece &p, int c, int value) const
    {
        const uint32_t *from = counts + (p.row + c * pieces) * LEVELS + value;
        uint32_t sum = 0;
        HR_UNROLL_FOUR
        for (int i = 0; i < pieces; i++)
            sum += from[i * LEVELS];
        return sum;
    }

    HR_DEVICE uint8_t value_of(const uint32_t *row, int value) const
    {
        const int first = equalize_first(row);
        uint32_t sum = 0;
        for (int v = first + 1; v <= value; v++)
            sum += row[v];
        return equalize_value(first, row[first], (uint32_t)pixels, sum);
    }

    template <int C> HR_DEVICE void map(const piece &p, const Shared *shared, int thread) const
    {
        const uint8_t *from = src + p.at;
        uint8_t *to = dst + p.at;
        int n = (int)(p.end - p.first);
        HR_UNROLL_FOUR
        for (int i = thread; i < n; i += op::THREADS) {
            int64_t pixel = (int64_t)i * channels;
            HR_UNROLL
            for (int c = 0; c < C; c++)
                to[pixel + c] = shared->tables[c][from[pixel + c]];
        }
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        const piece p(*this, tile);
        for (int i = thread; k < 2 && i < p.channels * LEVELS; i += op::THREADS) {
            const int c = i / LEVELS, value = i % LEVELS;
            if (k == 0)
                shared->counts[c][value] = count_of(p, c, value);
            else
                shared->tables[c][value] = value_of(shared->counts[c], value);
        }
        if (k < 2)
            return;
        if (p.channels == 1)
            map<1>(p, shared, thread);
        else if (p.channels == 2)
            map<2>(p, shared, thread);
        else if (p.channels == 3)
            map<3>(p, shared, thread);
        else
            map<4>(p, shared, thread);
    }
};

// Counters, which one part after the other uses.
struct room {
    uint32_t *memory;
    size_t rows;
};

constexpr size_t ROW_BYTES = LEVELS * sizeof(uint32_t);

const hr_equalize *memo(const hr_op_call *c)
{
    return (const hr_equalize *)c->memo;
}

size_t pieces_of(const hr_equalize *m)
{
    return HR_MIN(HR_DIVIDE_UP(m->pixels, (size_t)PIECE), (size_t)PIECES_MAX);
}

// Of an image.
size_t rows_of(const hr_equalize *m)
{
    return m->channels * pieces_of(m);
}

// Finds memory for the counters of as many images as fit: all of the batch, or a part of it.
hr_status find_room(room *to, hr_cuda_launch *l, const hr_op_call *calls, int32_t n,
                    hr_error *error)
{
    size_t all = 0, most = 1;
    void *memory;
    for (int32_t i = 0; i < n; i++) {
        all += memo(&calls[i])->outer * rows_of(memo(&calls[i]));
        most = HR_MAX(most, rows_of(memo(&calls[i])));
    }
    to->rows = HR_MIN(all, HR_MAX(l->scratch_limit / ROW_BYTES, HR_MAX(most, (size_t)1 << 14)));
    HR_TRY(l->scratch(l, HR_MAX(to->rows, 1) * ROW_BYTES, &memory, error));
    to->memory = (uint32_t *)memory;
    return HR_STATUS_OK;
}

// `images` of a call from `first` on, with the counters from row `used` on.
void part_make(part *p, const hr_op_call *c, const room *r, size_t used, size_t first,
               size_t images)
{
    const hr_equalize *m = memo(c);
    size_t at = first * m->pixels * m->channels;
    p->src = (const uint8_t *)c->in[0].data + at;
    p->dst = (uint8_t *)c->out[0].data + at;
    p->counts = r->memory + used * LEVELS;
    p->pixels = (int64_t)m->pixels;
    p->channels = (int32_t)m->channels;
    p->groups = (int32_t)HR_DIVIDE_UP(m->channels, GROUP);
    p->pieces = (int32_t)pieces_of(m);
    p->each = HR_DIVIDE_UP(p->pixels, p->pieces);
    p->tiles = (int32_t)images * p->groups * p->pieces;
}

hr_status launch_parts(hr_cuda_launch *l, hr_staged parts, int32_t n, hr_error *error)
{
    HR_TRY(op::launch_blocks<count_values>(l, parts, n, error));
    return op::launch_blocks<map_values>(l, parts, n, error);
}

// Adds the parts of call i until the room is full; `*image` is the next one.
int32_t add_parts(part *to, const hr_op_call *calls, int32_t n, const room *r, int32_t *i,
                  size_t *image)
{
    int32_t count = 0;
    for (size_t used = 0; *i < n; (*i)++, *image = 0) {
        size_t left = memo(&calls[*i])->outer - *image, rows = rows_of(memo(&calls[*i]));
        if (rows == 0)
            continue;
        size_t fit = HR_MIN((r->rows - used) / rows, left);
        if (fit > 0)
            part_make(to + count++, &calls[*i], r, used, *image, fit);
        *image += fit;
        used += fit * rows;
        if (fit < left)
            return count;
    }
    return count;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    room r;
    int32_t i = 0;
    size_t image = 0;
    HR_TRY(find_room(&r, l, calls, n, error));
    while (i < n) {
        hr_staged parts;
        HR_TRY(staging->alloc(staging, (size_t)(n - i) * sizeof(part), &parts, error));
        int32_t count = add_parts((part *)parts.host, calls, n, &r, &i, &image);
        HR_TRY(staging->flush(staging, error));
        HR_TRY(launch_parts(l, parts, count, error));
    }
    return HR_STATUS_OK;
}

} // namespace

HR_CUDA_OP(equalize, "equalize", run);
