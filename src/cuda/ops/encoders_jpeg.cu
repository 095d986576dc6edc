// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// encoders.jpeg, in its two parts. The first one: thread blocks make the coefficients of some MCUs;
// then a thread per block counts its bits, sums say where they begin in their interval (from one
// restart marker to the next), the thread finds the bytes that need a zero behind them, and sums
// say where the bytes go. The second one: the thread of a block writes the bytes that begin in it.
// Codes are appended three times, but nothing has to be merged, and no memory is needed for bytes
// whose number is not known.
#include "codecs/jpeg/codes.h"
#include "cuda/ops/op.cuh"
#include "kernels/jpeg_shared.h"
#include "ops/encoders/jpeg_scan.h"

namespace
{

// An image, and the memory that both parts use.
struct part {
    hr_jpeg_grid grid;
    int16_t *coef;
    int64_t *bit, *stuffed, *interval;
    uint64_t *counts; // [2][2][256]: luma, chroma; DC, AC
    hr_jpeg_codes *codes;

    HR_DEVICE bool is_luma(int k) const // block k of an MCU
    {
        return k < grid.h * grid.v;
    }

    HR_DEVICE int64_t end_of_interval(int64_t block) const
    {
        return HR_MIN((block / grid.interval + 1) * grid.interval, grid.blocks);
    }
};

// What only the first part knows.
struct scan_part : part {
    const uint8_t *src;
    const hr_jpeg_scan_tables *tables;
    hr_jpeg_scan_head head;
    hr_jpeg_scan_info *info;
    int64_t count;
    int32_t tiles;
    bool optimize;
};

// ---- coefficients ----

// Some MCUs that follow one another.
struct transform : scan_part {
    void measure()
    {
        tiles = (int32_t)HR_DIVIDE_UP((int64_t)grid.across * grid.down, per_tile());
    }

    static constexpr int BLOCKS = 48; // a multiple of the blocks of any MCU

    struct Shared {
        int16_t x[BLOCKS][64]; // in natural order
    };

    HR_DEVICE static constexpr int phases()
    {
        return 4;
    }

    HR_MEMBER int per_tile() const // MCUs
    {
        return BLOCKS / grid.mcu;
    }

    HR_DEVICE int32_t luma(int32_t y, int32_t x) const
    {
        int64_t at = (int64_t)HR_MIN(y, grid.height - 1) * grid.width + HR_MIN(x, grid.width - 1);
        const uint8_t *p = src + grid.components * at;
        return grid.components == 1 ? p[0] : hr_jpeg_luma(p[0], p[1], p[2]);
    }

    // The mean of some pixels, rounded down and up in turn.
    HR_DEVICE int32_t chroma(bool blue, int32_t y, int32_t x) const
    {
        int32_t sum = 0, top = grid.v * HR_MIN(y, (grid.height - 1) / grid.v);
        for (int32_t dy = 0; dy < grid.v; dy++)
            for (int32_t dx = 0; dx < grid.h; dx++) {
                int64_t row = HR_MIN(top + dy, grid.height - 1);
                const uint8_t *p =
                    src + 3 * (row * grid.width + HR_MIN(grid.h * x + dx, grid.width - 1));
                sum += blue ? hr_jpeg_blue(p[0], p[1], p[2]) : hr_jpeg_red(p[0], p[1], p[2]);
            }
        int32_t shift = grid.h + grid.v - 2;
        return shift == 0 ? sum : (sum + shift - 1 + (x & 1)) >> shift;
    }

    // Sample `at` of block k of an MCU.
    HR_DEVICE int32_t sample(int64_t mcu, int k, int at) const
    {
        int32_t row = (int32_t)(mcu / grid.across), column = (int32_t)(mcu % grid.across);
        int32_t y = at >> 3, x = at & 7, luma_blocks = grid.h * grid.v;
        if (k < luma_blocks)
            return luma(8 * (row * grid.v + k / grid.h) + y,
                        8 * (column * grid.h + k % grid.h) + x);
        return chroma(k == luma_blocks, 8 * row + y, 8 * column + x);
    }

    // The block of the MCU whose DC block k has: another one, if block k is outside the image.
    HR_DEVICE int source(int64_t mcu, int k) const
    {
        int32_t row = (int32_t)(mcu / grid.across), column = (int32_t)(mcu % grid.across);
        if (!is_luma(k))
            return k;
        if (8 * (row * grid.v + k / grid.h) >= grid.height)
            k = grid.h - 1;
        return 8 * (column * grid.h + k % grid.h) >= grid.width ? k - 1 : k;
    }

    HR_DEVICE void turn_row(int16_t *x) const
    {
        int32_t v[8];
        HR_UNROLL
        for (int i = 0; i < 8; i++)
            v[i] = x[i];
        hr_jpeg_fdct_1d(v, false);
        HR_UNROLL
        for (int i = 0; i < 8; i++)
            x[i] = (int16_t)v[i];
    }

    HR_DEVICE void turn_column(int16_t *x, const hr_jpeg_quantiser *q, int c) const
    {
        int32_t v[8];
        HR_UNROLL
        for (int i = 0; i < 8; i++)
            v[i] = x[8 * i + c];
        hr_jpeg_fdct_1d(v, true);
        HR_UNROLL
        for (int i = 0; i < 8; i++) {
            int at = 8 * i + c;
            x[at] = (int16_t)hr_jpeg_quantised(v[i], q->half[at], q->factor[at], q->scale[at]);
        }
    }

    // Element i of the work of a phase; `first`: the tile's first MCU.
    HR_DEVICE void step(int phase, int64_t first, Shared *shared, int i) const
    {
        int block = phase == 1 || phase == 2 ? i >> 3 : i >> 6, k = block % grid.mcu;
        int64_t mcu = first + block / grid.mcu;
        if (phase == 0) {
            shared->x[block][i & 63] = (int16_t)(sample(mcu, k, i & 63) - CENTER);
        } else if (phase == 1) {
            turn_row(shared->x[block] + 8 * (i & 7));
        } else if (phase == 2) {
            turn_column(shared->x[block], &tables->quantiser[!is_luma(k)], i & 7);
        } else {
            int at = i & 63, from = source(mcu, k);
            int32_t v = from == k ? shared->x[block][tables->natural[at]]
                        : at == 0 ? shared->x[block - k + from][0]
                                  : 0;
            coef[64 * (first * grid.mcu + block) + at] = (int16_t)v;
        }
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        int64_t first = (int64_t)tile * per_tile(), mcus = (int64_t)grid.across * grid.down;
        int n = (int)HR_MIN((int64_t)per_tile(), mcus - first) * grid.mcu;
        for (int i = thread; i < n * (k == 1 || k == 2 ? 8 : 64); i += op::THREADS)
            step(k, first, shared, i);
    }
};

// ---- symbols ----

// The difference of a block's DC from that of the block before it, of the same component and in the
// same interval.
HR_DEVICE static inline int32_t difference(const part &p, int64_t block, int k)
{
    int luma = p.grid.h * p.grid.v;
    int64_t before = k >= luma ? block - p.grid.mcu
                     : k > 0   ? block - 1
                               : block - p.grid.mcu + luma - 1;
    bool first = block % p.grid.interval < p.grid.mcu && (k == 0 || k >= luma);
    return p.coef[64 * block] - (first ? 0 : p.coef[64 * before]);
}

// Calls to->put(ac, symbol, value, size) for the symbols of block k of an MCU, until to->full().
template <typename To>
HR_DEVICE static inline void symbols(const part &p, int64_t block, int k, To *to)
{
    const uint2 *words = (const uint2 *)(p.coef + 64 * block);
    int32_t v = difference(p, block, k);
    uint32_t size = hr_jpeg_size(v), run = 0;
    to->put(0, size, hr_jpeg_value(v), size);
    for (int i = 0; i < 16 && !to->full(); i++) {
        uint2 word = words[i];
        if (i == 0)
            word.x &= 0xFFFF0000;
        if ((word.x | word.y) == 0) {
            run += i == 0 ? 3 : 4;
            continue;
        }
        for (int j = i == 0 ? 1 : 0; j < 4; j++) {
            v = (int16_t)((j < 2 ? word.x : word.y) >> 16 * (j & 1));
            run++;
            if (v == 0)
                continue;
            for (run--; run > 15; run -= 16)
                to->put(1, 0xF0, 0, 0); // ZRL
            size = hr_jpeg_size(v);
            to->put(1, run << 4 | size, hr_jpeg_value(v), size);
            run = 0;
        }
    }
    if (run > 0 && !to->full())
        to->put(1, 0, 0, 0); // EOB
}

// ---- Huffman tables ----

struct clear : scan_part {
    void measure()
    {
        count = optimize ? 4 * 256 : 0;
    }

    HR_DEVICE void element(int64_t i) const
    {
        counts[i] = 0;
    }
};

struct tally : scan_part {
    void measure()
    {
        tiles = optimize ? (int32_t)HR_DIVIDE_UP(grid.blocks, BLOCKS) : 0;
    }

    static constexpr int BLOCKS = 8 * op::THREADS;

    struct Shared {
        uint32_t counts[2][2][256];
    };

    struct counter {
        uint32_t (*counts)[256];

        HR_DEVICE bool full() const
        {
            return false;
        }
        HR_DEVICE void put(int ac, uint32_t symbol, int32_t, uint32_t) const
        {
            op::add_to(&counts[ac][symbol], 1);
        }
    };

    HR_DEVICE static constexpr int phases()
    {
        return 3;
    }

    HR_DEVICE void phase(int phase, int tile, Shared *shared, int thread) const
    {
        if (phase == 1) {
            int64_t first = (int64_t)tile * BLOCKS, end = HR_MIN(first + BLOCKS, grid.blocks);
            for (int64_t b = first + thread; b < end; b += op::THREADS) {
                int k = (int)(b % grid.mcu);
                counter to = {shared->counts[!is_luma(k)]};
                symbols(*this, b, k, &to);
            }
            return;
        }
        for (int i = thread; i < 4 * 256; i += op::THREADS) {
            uint32_t *own = &shared->counts[0][0][0] + i;
            if (phase == 0)
                *own = 0;
            else if (*own > 0)
                op::add_to(counts + i, (uint64_t)*own);
        }
    }
};

// A thread makes a table, one more writes what the host knows.
struct make_codes : scan_part {
    void measure()
    {
        tiles = 1;
    }

    struct Shared {
        hr_jpeg_forest forest[4];
    };

    HR_DEVICE static constexpr int phases()
    {
        return 1;
    }

    HR_DEVICE void phase(int, int, Shared *shared, int thread) const
    {
        int chroma = thread >> 1, ac = thread & 1;
        if (thread == 4)
            info->head = head;
        if (thread >= 4)
            return;
        uint8_t *definition = info->definitions[chroma][ac];
        bool best = optimize && (chroma == 0 || grid.components > 1);
        for (int i = 0; i < HR_JPEG_DEFINITION_BYTES; i++)
            definition[i] = best ? 0 : tables->usual[chroma][ac][i];
        if (best)
            hr_jpeg_best_codes(definition, counts + 256 * thread, &shared->forest[thread]);
        hr_jpeg_codes_build(&codes[thread], definition);
    }
};

// ---- positions ----

struct count_bits : scan_part {
    void measure()
    {
        count = grid.blocks;
    }

    struct sum {
        const hr_jpeg_codes *codes;
        int64_t bits;

        HR_DEVICE bool full() const
        {
            return false;
        }
        HR_DEVICE void put(int ac, uint32_t symbol, int32_t, uint32_t)
        {
            bits += codes[ac].of[symbol].bits;
        }
    };

    HR_DEVICE void element(int64_t i) const
    {
        int k = (int)(i % grid.mcu);
        sum to = {codes + (is_luma(k) ? 0 : 2), 0};
        symbols(*this, i, k, &to);
        bit[i] = to.bits;
    }
};

// Calls emit->byte for the bytes that begin in a block.
template <typename Emit> struct writer {
    const hr_jpeg_codes *codes;
    Emit *emit;
    uint64_t window; // its lowest `count` bits are no byte yet
    int64_t bits;    // of this block
    uint32_t count;
    bool foreign; // the next byte began in a block before this one
    bool last;    // so is the block, and the byte is the last one
    bool done;

    HR_DEVICE bool full() const
    {
        return done;
    }

    HR_DEVICE void put(int ac, uint32_t symbol, int32_t value, uint32_t size)
    {
        hr_jpeg_code code = codes[ac].of[symbol];
        window = window << code.bits | (code.code | ((uint32_t)value & ((1u << size) - 1)));
        count += code.bits;
        bits += code.bits;
        for (; count >= 8 && !done; count -= 8, foreign = false) {
            if (!foreign)
                emit->byte((uint8_t)(window >> (count - 8)));
            done = last;
        }
    }
};

template <typename Emit>
HR_DEVICE static inline void write_block(const part &p, int64_t block, Emit *emit)
{
    int k = (int)(block % p.grid.mcu);
    writer<Emit> w = {};
    w.codes = p.codes + (p.is_luma(k) ? 0 : 2);
    w.emit = emit;
    w.count = (uint32_t)(p.bit[block] & 7);
    w.foreign = w.count > 0;
    symbols(p, block, k, &w);
    if (w.count == 0 || w.bits < w.count)
        return; // the last byte is complete, or began before this block
    int64_t end = p.end_of_interval(block);
    w.last = true;
    for (block++; block < end && !w.done; block++) {
        k = (int)(block % p.grid.mcu);
        w.codes = p.codes + (p.is_luma(k) ? 0 : 2);
        symbols(p, block, k, &w);
    }
    if (!w.done) // ends with ones
        emit->byte((uint8_t)(w.window << (8 - w.count) | ((1u << (8 - w.count)) - 1)));
}

struct count_stuffed : scan_part {
    void measure()
    {
        count = grid.blocks;
    }

    struct counter {
        int64_t n;

        HR_DEVICE void byte(uint8_t v)
        {
            n += v == 0xFF;
        }
    };

    HR_DEVICE void element(int64_t i) const
    {
        counter to = {0};
        write_block(*this, i, &to);
        stuffed[i] = to.n;
    }
};

// Replaces numbers by the sums of those before them, and returns the sum of all to the last thread.
struct sums {
    struct Shared {
        int64_t of[op::THREADS];
    };

    HR_DEVICE static int64_t add_up(int phase, int64_t *at, int64_t n, Shared *shared, int thread)
    {
        int64_t each = HR_DIVIDE_UP(n, op::THREADS), sum = 0;
        int64_t first = HR_MIN(each * thread, n), end = HR_MIN(first + each, n);
        for (int i = 0; phase == 1 && i < thread; i++)
            sum += shared->of[i];
        for (int64_t i = first; i < end; i++) {
            int64_t v = at[i];
            if (phase == 1)
                at[i] = sum;
            sum += v;
        }
        if (phase == 0)
            shared->of[thread] = sum;
        return sum;
    }
};

// Of the bits in an interval, or of the zeros in it. A marker follows the interval.
template <bool ZEROS> struct place : scan_part {
    void measure()
    {
        tiles = (int32_t)grid.intervals;
    }

    typedef sums::Shared Shared;

    HR_DEVICE static constexpr int phases()
    {
        return 2;
    }

    HR_DEVICE void phase(int phase, int tile, Shared *shared, int thread) const
    {
        int64_t first = tile * grid.interval, n = end_of_interval(first) - first;
        int64_t sum = sums::add_up(phase, (ZEROS ? stuffed : bit) + first, n, shared, thread);
        if (phase == 1 && thread == op::THREADS - 1)
            interval[tile] = ZEROS ? interval[tile] + sum + 2 : (sum + 7) / 8;
    }
};

typedef place<false> place_bits;
typedef place<true> place_zeros;

// Of all intervals. After the last one, there is no restart marker.
struct place_intervals : scan_part {
    void measure()
    {
        tiles = 1;
    }

    typedef sums::Shared Shared;

    HR_DEVICE static constexpr int phases()
    {
        return 2;
    }

    HR_DEVICE void phase(int phase, int, Shared *shared, int thread) const
    {
        int64_t sum = sums::add_up(phase, interval, grid.intervals, shared, thread);
        if (phase == 1 && thread == op::THREADS - 1)
            info->size = sum - 2;
    }
};

// ---- the file ----

struct file_part : part {
    const uint8_t *header;
    uint8_t *dst;
    int64_t header_size, size, count;
};

struct write_scan : file_part {
    void measure()
    {
        count = grid.blocks;
    }

    // What the other part left is trusted no further than the end of the output.
    struct bytes {
        uint8_t *dst;
        int64_t at, end;

        HR_DEVICE void store(uint8_t v)
        {
            if (at >= 0 && at < end)
                dst[at] = v;
            at++;
        }
        HR_DEVICE void byte(uint8_t v)
        {
            store(v);
            if (v == 0xFF)
                store(0);
        }
    };

    HR_DEVICE void element(int64_t i) const
    {
        int64_t first = header_size + interval[i / grid.interval];
        bytes to = {dst, first + (bit[i] + 7) / 8 + stuffed[i], size};
        write_block(*this, i, &to);
    }
};

// The header, the restart markers and EOI.
struct write_rest : file_part {
    void measure()
    {
        count = header_size + grid.intervals;
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t marker = i - header_size;
        if (marker < 0) {
            dst[i] = header[i];
            return;
        }
        bool last = marker == grid.intervals - 1;
        int64_t at = last ? size - 2 : header_size + interval[marker + 1] - 2;
        if (at < header_size || at > size - 2)
            return;
        dst[at] = 0xFF;
        dst[at + 1] = last ? (uint8_t)MARKER_EOI : (uint8_t)(MARKER_RST0 + marker % 8);
    }
};

// ---- on the host ----

void part_make(part *p, const hr_jpeg_grid *grid, const hr_jpeg_left *work, void *memory)
{
    char *at = (char *)memory;
    p->grid = *grid;
    p->coef = (int16_t *)(at + work->coef);
    p->bit = (int64_t *)(at + work->bit);
    p->stuffed = (int64_t *)(at + work->stuffed);
    p->interval = (int64_t *)(at + work->interval);
    p->counts = (uint64_t *)(at + work->count);
    p->codes = (hr_jpeg_codes *)(at + work->codes);
}

void scan_make(scan_part *p, const hr_op_call *c)
{
    const hr_jpeg_scan_memo *memo = (const hr_jpeg_scan_memo *)c->memo;
    part_make(p, &memo->grid, &memo->work, c->out[0].data);
    p->src = (const uint8_t *)c->in[0].data;
    p->tables = memo->tables;
    p->head = memo->head;
    p->info = (hr_jpeg_scan_info *)c->out[1].data;
    p->optimize = memo->optimize;
}

void file_make(file_part *p, const hr_op_call *c)
{
    const hr_jpeg_file_memo *memo = (const hr_jpeg_file_memo *)c->memo;
    part_make(p, &memo->grid, &memo->work, c->in[0].data);
    p->header = memo->header;
    p->dst = (uint8_t *)c->out[0].data;
    p->header_size = memo->header_size;
    p->size = memo->size;
}

// Stages the records of a kernel.
template <typename Kernel, typename Base>
hr_status stage(const hr_op_call *calls, int32_t n, void (*make)(Base *, const hr_op_call *),
                hr_staging *staging, hr_staged *out, hr_error *error)
{
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(Kernel), out, error));
    for (int32_t i = 0; i < n; i++) {
        Kernel *kernel = (Kernel *)out->host + i;
        *kernel = {};
        make(kernel, &calls[i]);
        kernel->measure();
    }
    return HR_STATUS_OK;
}

hr_status run_scan(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *s, hr_error *error)
{
    hr_staged at[9];
    HR_TRY(stage<transform>(calls, n, scan_make, s, &at[0], error));
    HR_TRY(stage<clear>(calls, n, scan_make, s, &at[1], error));
    HR_TRY(stage<tally>(calls, n, scan_make, s, &at[2], error));
    HR_TRY(stage<make_codes>(calls, n, scan_make, s, &at[3], error));
    HR_TRY(stage<count_bits>(calls, n, scan_make, s, &at[4], error));
    HR_TRY(stage<place_bits>(calls, n, scan_make, s, &at[5], error));
    HR_TRY(stage<count_stuffed>(calls, n, scan_make, s, &at[6], error));
    HR_TRY(stage<place_zeros>(calls, n, scan_make, s, &at[7], error));
    HR_TRY(stage<place_intervals>(calls, n, scan_make, s, &at[8], error));
    HR_TRY(s->flush(s, error));
    HR_TRY(op::launch_blocks<transform>(l, at[0], n, error));
    HR_TRY(op::launch<clear>(l, at[1], n, error));
    HR_TRY(op::launch_blocks<tally>(l, at[2], n, error));
    HR_TRY(op::launch_blocks<make_codes>(l, at[3], n, error));
    HR_TRY((op::launch<count_bits, 1>(l, at[4], n, error)));
    HR_TRY(op::launch_blocks<place_bits>(l, at[5], n, error));
    HR_TRY((op::launch<count_stuffed, 1>(l, at[6], n, error)));
    HR_TRY(op::launch_blocks<place_zeros>(l, at[7], n, error));
    return op::launch_blocks<place_intervals>(l, at[8], n, error);
}

hr_status run_file(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *s, hr_error *error)
{
    hr_staged at[2];
    HR_TRY(stage<write_scan>(calls, n, file_make, s, &at[0], error));
    HR_TRY(stage<write_rest>(calls, n, file_make, s, &at[1], error));
    HR_TRY(s->flush(s, error));
    HR_TRY((op::launch<write_scan, 1>(l, at[0], n, error)));
    return op::launch<write_rest>(l, at[1], n, error);
}

} // namespace

HR_CUDA_OP(jpeg_scan, "_jpeg_scan", run_scan);
HR_CUDA_OP(jpeg_file, "_jpeg_file", run_file);
