// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// nonsilent_region: in an interval, means are updated one after the other. A block has a few
// intervals. One thread of each adds up squares in shared memory; meanwhile others load the next
// squares, and store the means before and look for the largest one. The ends of the region are then
// found in the means, in no order.
#include "ops/audio/nonsilent_region.h"
#include "core/dtype.h"
#include "core/mathx_inline.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

constexpr int64_t EXACT = 4096; // elements of an interval whose means are exact in any case
constexpr int CHAINS = 4;       // intervals of a block: one per scheduler of a multiprocessor
constexpr int CHUNK = 256;      // elements of an interval that are in shared memory at a time
constexpr int AHEAD = 16;       // of them in registers
constexpr int64_t TILES_MAX = 4096;
constexpr int ENDS = 16; // means of a thread that looks for the ends, which it loads together
constexpr int WARP = 32;
constexpr int JOINS = op::THREADS / WARP; // threads that join the results of a block

// Of a sample, in staged memory.
struct found {
    uint32_t largest; // order_of() it
    int32_t nan;      // the first mean is NaN
    int32_t first, behind;
    uint32_t done; // blocks that have looked for the ends
};

// The bits of a float as a number with the same order; `value_of_order` reverses it.
HR_SHARED uint32_t order_of(float v)
{
    uint32_t bits = bits_of_f32(v);
    return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

HR_DEVICE float value_of_order(uint32_t v)
{
    return bits_as_f32(v >> 31 ? v & ~(UINT32_C(1) << 31) : ~v);
}

struct signal {
    const char *src;
    float *means;
    found *at;
    int32_t *begin, *length;
    int32_t tiles, chunks; // blocks; chunks of an interval with the window before it
    int64_t n, window, interval, intervals;
    int32_t dtype;
    bool exact, relative;     // relative: to the largest mean
    float factor, cut, least; // cut: of the reference; least: cut * reference_power
};

// The squares of a chunk and what is to be subtracted, as integers or bits of floats, and bits of
// the means. Memory that one phase fills is used in the next one.
struct chain {
    alignas(16) uint32_t next[2][CHUNK], before[2][CHUNK], mean[2][CHUNK];
    uint64_t sum;
};

// An addition waits for the one before it, so nothing else may delay it: AHEAD elements are loaded
// while the AHEAD before are added.
// WHOLE: a window is full, and something is subtracted.
template <bool WHOLE> struct ahead {
    alignas(16) uint32_t next[AHEAD], before[AHEAD];

    HR_DEVICE void load(const chain *c, int buffer, int from)
    {
        HR_UNROLL
        for (int k = 0; k < AHEAD; k += 4) {
            *(uint4 *)(next + k) = *(const uint4 *)(c->next[buffer] + from + k);
            if (WHOLE)
                *(uint4 *)(before + k) = *(const uint4 *)(c->before[buffer] + from + k);
        }
    }

    HR_DEVICE float add(float sum, int k) const
    {
        return (WHOLE ? sum - bits_as_f32(before[k]) : sum) + bits_as_f32(next[k]);
    }

    HR_DEVICE int64_t add(int64_t sum, int k) const
    {
        return sum + (WHOLE ? (int64_t)next[k] - (int64_t)before[k] : (int64_t)next[k]);
    }
};

// The means of AHEAD elements.
struct means_ahead {
    alignas(16) uint32_t of[AHEAD];

    template <bool WHOLE, typename Sum>
    HR_DEVICE Sum add(const ahead<WHOLE> &from, Sum sum, float factor)
    {
        HR_UNROLL
        for (int k = 0; k < AHEAD; k++) {
            sum = from.add(sum, k);
            of[k] = bits_of_f32((float)sum * factor);
        }
        return sum;
    }

    HR_DEVICE void store(chain *c, int buffer, int at) const
    {
        HR_UNROLL
        for (int k = 0; k < AHEAD; k += 4)
            *(uint4 *)(c->mean[buffer] + at + k) = *(const uint4 *)(of + k);
    }
};

// Two sets of registers take turns, and what is next is loaded before means are stored: with one
// set, or in another order, the compiler would load after the additions.
template <bool WHOLE, typename Sum>
HR_DEVICE Sum add_up(chain *c, int buffer, Sum sum, float factor)
{
    ahead<WHOLE> first, second;
    means_ahead means;
    first.load(c, buffer, 0);
    HR_UNROLL_NOT
    for (int i = 0; i < CHUNK; i += 2 * AHEAD) {
        second.load(c, buffer, i + AHEAD);
        sum = means.add(first, sum, factor);
        first.load(c, buffer, HR_MIN(i + 2 * AHEAD, CHUNK - AHEAD));
        means.store(c, buffer, i);
        sum = means.add(second, sum, factor);
        means.store(c, buffer, i + AHEAD);
    }
    return sum;
}

struct find_means : signal {
    struct Shared {
        chain chains[CHAINS];
        float most[WARP * CHAINS];
    };

    HR_MEMBER int64_t rounds() const
    {
        return HR_DIVIDE_UP(intervals, (int64_t)CHAINS * tiles);
    }

    HR_DEVICE int phases() const
    {
        return (int)rounds() * (chunks + 2) + 1;
    }

    // The squares of element i and of those that are each WARP elements further; 0 in place of
    // those before element `from`. All are loaded before the first is needed.
    template <bool FLOATS> HR_DEVICE void load_squares(uint32_t *to, int64_t i, int64_t from) const
    {
        const int type = FLOATS ? (int)HR_DTYPE_FLOAT : dtype, size = value_size(type);
        const char *in = src;
        const int64_t end = n;
        uint64_t bits[CHUNK / WARP];
        HR_UNROLL
        for (int k = 0; k < CHUNK / WARP; k++, i += WARP)
            bits[k] = i >= from && i < end ? value_load(in + i * size, size) : 0;
        HR_UNROLL
        for (int k = 0; k < CHUNK / WARP; k++) {
            if (!FLOATS && exact) {
                int64_t v = value_as_integer(bits[k], type);
                to[k * WARP] = (uint32_t)(v * v);
            } else {
                float v = value_to_float(bits[k], type);
                to[k * WARP] = bits_of_f32(v * v);
            }
        }
    }

    // Sums of an interval begin with those of the window before it, from which nothing is
    // subtracted: element t of them is element first + t of the signal, and mean t is that of the
    // window up to it.
    HR_DEVICE void load(chain *c, int buffer, int64_t first, int64_t from, int lane) const
    {
        const int64_t i = first + from + lane, whole = HR_MAX(first, 0);
        uint32_t *next = c->next[buffer] + lane, *before = c->before[buffer] + lane;
        if (dtype == HR_DTYPE_FLOAT) {
            load_squares<true>(next, i, 0);
            load_squares<true>(before, i - window, whole);
        } else {
            load_squares<false>(next, i, 0);
            load_squares<false>(before, i - window, whole);
        }
    }

    HR_DEVICE void store(const chain *c, int buffer, int64_t first, int64_t from, int lane,
                         float *most) const
    {
        const int64_t start = first + window - 1, end = HR_MIN(start + interval, n);
        float *to = means, largest = *most;
        HR_UNROLL
        for (int k = 0; k < CHUNK / WARP; k++) {
            int64_t i = first + from + k * WARP + lane;
            float mean = bits_as_f32(c->mean[buffer][k * WARP + lane]);
            if (i < start || i >= end)
                continue;
            to[i] = mean;
            largest = mean > largest ? mean : largest;
            if (i == 0 && mean != mean)
                at->nan = 1;
        }
        *most = largest;
    }

    template <bool WHOLE> HR_DEVICE void add_chunk(chain *c, int buffer, uint64_t sum) const
    {
        if (exact)
            c->sum = (uint64_t)add_up<WHOLE>(c, buffer, (int64_t)sum, factor);
        else
            c->sum = bits_of_f32(add_up<WHOLE>(c, buffer, bits_as_f32((uint32_t)sum), factor));
    }

    // Step k of an interval: loads chunk k, adds up chunk k - 1 and stores chunk k - 2.
    HR_DEVICE void step(int k, int64_t number, chain *c, float *most, int lane, bool adds) const
    {
        const int64_t first = number * interval - window + 1;
        if (adds && lane == 0 && k > 0 && k <= chunks) {
            const int buffer = (k - 1) % 2;
            const uint64_t sum = k == 1 ? 0 : c->sum;
            if ((int64_t)k * CHUNK <= window)
                add_chunk<false>(c, buffer, sum);
            else
                add_chunk<true>(c, buffer, sum);
        }
        if (adds)
            return;
        if (k >= 2)
            store(c, k % 2, first, (int64_t)(k - 2) * CHUNK, lane, most + lane);
        if (k < chunks)
            load(c, k % 2, first, (int64_t)k * CHUNK, lane);
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        const int lane = thread % WARP, warp = thread / WARP, c = warp % CHAINS;
        const bool adds = warp < CHAINS;
        float *most = shared->most + c * WARP;
        if (k == 0 && !adds)
            most[lane] = -(float)mathx_infinity();
        if (k + 1 < phases()) {
            const int round = k / (chunks + 2);
            const int64_t number = ((int64_t)round * tiles + tile) * CHAINS + c;
            if (number < intervals)
                step(k % (chunks + 2), number, &shared->chains[c], most, lane, adds);
        } else if (thread < JOINS) {
            float largest = shared->most[thread];
            for (int i = thread + JOINS; i < WARP * CHAINS; i += JOINS)
                largest = shared->most[i] > largest ? shared->most[i] : largest;
            op::raise_to(&at->largest, order_of(largest));
        }
    }
};

struct find_ends : signal {
    struct Shared {
        int32_t first[op::THREADS], behind[op::THREADS];
    };

    HR_DEVICE static constexpr int phases()
    {
        return 3;
    }

    HR_DEVICE float limit() const
    {
        if (!relative)
            return least;
        return at->nan ? (float)mathx_quiet_nan() : value_of_order(at->largest) * cut;
    }

    HR_DEVICE void find(int tile, Shared *shared, int thread) const
    {
        const float lowest = limit(), *from = means;
        const int64_t start = (int64_t)tile * (op::THREADS * ENDS) + thread;
        int32_t first = (int32_t)n, behind = 0;
        bool is_loud[ENDS];
        HR_UNROLL
        for (int k = 0; k < ENDS; k++) {
            const int64_t i = start + k * op::THREADS;
            is_loud[k] = i < n && from[i] >= lowest;
        }
        HR_UNROLL
        for (int k = 0; k < ENDS; k++)
            if (is_loud[k]) {
                first = HR_MIN(first, (int32_t)start + k * op::THREADS);
                behind = (int32_t)start + k * op::THREADS + 1;
            }
        shared->first[thread] = first;
        shared->behind[thread] = behind;
    }

    // What other blocks have found is seen by the one that is done last.
    HR_DEVICE void finish() const
    {
        op::fence();
        if (op::take_from(&at->done, 1) + 1 != (uint32_t)tiles)
            return;
        op::fence();
        const volatile found *all = at;
        const int32_t behind = all->behind, before = all->first - (int32_t)(window - 1);
        *begin = behind > 0 ? HR_MAX(before, 0) : 0;
        *length = behind > 0 ? behind - HR_MAX(before, 0) : 0;
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        if (k == 0) {
            find(tile, shared, thread);
        } else if (k == 1 && thread < JOINS) {
            int32_t first = (int32_t)n, behind = 0;
            for (int i = thread; i < op::THREADS; i += JOINS) {
                first = HR_MIN(first, shared->first[i]);
                behind = HR_MAX(behind, shared->behind[i]);
            }
            op::lower_to(&at->first, first);
            op::raise_to(&at->behind, behind);
            op::fence();
        } else if (k == 2 && thread == 0) {
            finish();
        }
    }
};

void make(signal *s, const hr_op_call *c)
{
    const nonsilent_args *a = (const nonsilent_args *)c->args;
    const bool resets = c->in[0].dtype == HR_DTYPE_FLOAT && a->reset_interval != -1;
    *s = {};
    s->src = (const char *)c->in[0].data;
    s->begin = (int32_t *)c->out[0].data;
    s->length = (int32_t *)c->out[1].data;
    s->n = c->in[0].shape.extent[0];
    s->window = HR_MIN(a->window_length, s->n);
    s->dtype = hr_dtype_number(c->in[0].dtype);
    s->exact = s->dtype != HR_DTYPE_FLOAT && value_size(s->dtype) <= 2;
    s->interval = HR_MIN(s->exact ? EXACT : resets ? a->reset_interval : s->n, s->n);
    s->intervals = s->n > 0 ? HR_DIVIDE_UP(s->n, s->interval) : 0;
    s->tiles = (int32_t)HR_MIN(HR_DIVIDE_UP(s->intervals, CHAINS), TILES_MAX);
    s->chunks = (int32_t)HR_DIVIDE_UP(s->window + s->interval - 1, CHUNK);
    s->factor = 1.0f / (float)HR_MAX(s->window, 1);
    s->cut = (float)mathx_pow(10.0, (double)a->cutoff_db / 10.0);
    s->relative = a->reference_power != a->reference_power;
    s->least = a->reference_power * s->cut;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged records, ends, all;
    size_t means = 0;
    void *room;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(found), &all, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(signal), &records, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(signal), &ends, error));
    signal *s = (signal *)records.host;
    for (int32_t i = 0; i < n; i++) {
        make(&s[i], &calls[i]);
        means += (size_t)s[i].n;
    }
    HR_TRY(l->scratch(l, (means + 1) * sizeof(float), &room, error));
    float *at = (float *)room;
    for (int32_t i = 0; i < n; i++) {
        s[i].means = at;
        s[i].at = (found *)all.device + i;
        ((found *)all.host)[i] = {order_of(-(float)mathx_infinity()), 0, (int32_t)s[i].n, 0, 0};
        at += s[i].n;
        ((signal *)ends.host)[i] = s[i];
        ((signal *)ends.host)[i].tiles =
            (int32_t)HR_MAX(HR_DIVIDE_UP(s[i].n, op::THREADS * ENDS), 1);
    }
    HR_TRY(staging->flush(staging, error));
    HR_TRY(op::launch_blocks<find_means>(l, records, n, error));
    return op::launch_blocks<find_ends>(l, ends, n, error);
}

} // namespace

HR_CUDA_OP(nonsilent_region, "nonsilent_region", run);
