// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// audio_resample: a block of threads makes a tile of outputs. Positions are added up from every
// HR_SINC_BLOCK-th output on, so one thread of each such block finds them all; then a thread sums
// up outputs. The weights and the samples of a tile are in shared memory, if they fit. Reading
// these takes longest, so a thread makes four outputs that are a period apart: they are equally far
// from a sample, or nearly, so that they have the same row of weights.
#include "ops/audio/audio_resample.h"
#include "core/dtype.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "kernels/sinc.h"

#include <cmath>
#include <cstring>

namespace
{

constexpr int TILE = 8 * HR_SINC_BLOCK; // outputs, at most
constexpr int BLOCKS = TILE / HR_SINC_BLOCK + 1;
constexpr int TAPS = 64;   // of weights in shared memory, at most
constexpr int ROOM = 4096; // samples
constexpr int TOGETHER = 4;

struct record {
    audio_resampling how;
    hr_sinc_filter sinc; // the tables on the device
    const char *src;
    char *dst;
    int64_t frames, count, channels; // of the input; of the output
    int32_t from, to, tiles, tile;   // tile: outputs of one
    int32_t period;                  // 0: does not fit into shared memory

    // Odd steps from row to row: threads with different rows use different banks.
    struct Shared {
        float at[BLOCKS][HR_SINC_BLOCK + 1];
        float phases[HR_SINC_PHASES * (TAPS + 1)], steps[HR_SINC_PHASES * (TAPS + 1)];
        float samples[ROOM];
    };

    HR_DEVICE int phases() const
    {
        return period > 0 ? 3 : 2;
    }

    HR_DEVICE int64_t first_of(int number) const
    {
        return (int64_t)number * tile;
    }

    // Where a block of outputs begins, counted from that of the tile's first output.
    HR_DEVICE double begin_of(int number, int64_t block) const
    {
        return (double)((first_of(number) / HR_SINC_BLOCK + block) * HR_SINC_BLOCK) * how.step;
    }

    HR_DEVICE void add_up(float *at, double begin) const
    {
        float place = (float)(begin - floor(begin));
        for (int n = 0; n < HR_SINC_BLOCK; n++, place += (float)how.step)
            at[n] = place;
    }

    // Sample i of the input, counted over all channels. Outside the input, the signal is 0.
    HR_DEVICE float load(int64_t i) const
    {
        if (i < 0 || i >= frames * channels)
            return 0.0f;
        if (from == HR_DTYPE_FLOAT && how.to_signed)
            return ((const float *)src)[i];
        const int size = value_size(from);
        const float v = value_to_float(value_load(src + i * size, size), from);
        return audio_resample_load(v, how.in_most, how.from_signed, how.to_signed);
    }

    // `sample(j)`: of the output's taps.
    template <typename Sample>
    HR_DEVICE float output(const float *row, const float *steps, float part,
                           const Sample &sample) const
    {
        float sum[HR_SINC_LANES] = {};
        for (int32_t j = 0; j < sinc.stride; j += HR_SINC_LANES)
            HR_UNROLL
        for (int k = 0; k < HR_SINC_LANES; k++)
            sum[k] += sample(j + k) * (row[j + k] + part * steps[j + k]);
        return hr_sinc_sum(sum);
    }

    HR_DEVICE void load_tables(Shared *s, int thread) const
    {
        // the first warp adds up
        for (int i = thread - 32; i < HR_SINC_PHASES * sinc.stride; i += op::THREADS - 32) {
            int row = i / sinc.stride;
            s->phases[i + row] = sinc.phases[i];
            s->steps[i + row] = sinc.steps[i];
        }
    }

    HR_DEVICE void store(int64_t i, float v) const
    {
        if (to != HR_DTYPE_FLOAT)
            v = audio_resample_scale(v, how.out_most);
        value_store(dst + i * value_size(to), value_size(to), value_of_float(v, to));
    }

    HR_DEVICE hr_sinc_place place_of(const Shared *s, int number, int64_t output) const
    {
        const int64_t n = output - first_of(number) / HR_SINC_BLOCK * HR_SINC_BLOCK;
        const int64_t block = n / HR_SINC_BLOCK;
        return hr_sinc_place_of(floor(begin_of(number, block)), s->at[block][n % HR_SINC_BLOCK],
                                frames);
    }

    // Of all outputs.
    HR_DEVICE void load_samples(Shared *s, int number, int thread) const
    {
        const int64_t last = HR_MIN(first_of(number) + tile, count) - 1;
        const int64_t first = place_of(s, number, first_of(number)).from;
        const int64_t behind = place_of(s, number, last).from + sinc.stride;
        for (int32_t i = thread; i < (int32_t)((behind - first) * channels); i += op::THREADS)
            s->samples[i] = load((first - sinc.lobes) * channels + i);
    }

    // `first`: the first sample in shared memory.
    HR_DEVICE void make_one(const Shared *s, int number, int64_t n, int64_t first) const
    {
        const hr_sinc_place p = place_of(s, number, n);
        const float *row = s->phases + p.row * (sinc.stride + 1);
        const float *steps = s->steps + p.row * (sinc.stride + 1);
        const int32_t step = (int32_t)channels;
        const float *at = s->samples + (int32_t)(p.from - first) * step;
        for (int32_t c = 0; c < step; c++, at++)
            store(n * step + c,
                  output(row, steps, p.part, [=](int32_t j) { return at[j * step]; }));
    }

    // Four outputs of one channel with the same row of weights; false: they have not.
    HR_DEVICE bool make_together(const Shared *s, int number, int64_t n, int64_t first) const
    {
        hr_sinc_place p[TOGETHER];
        const float *at[TOGETHER];
        float sum[TOGETHER][HR_SINC_LANES] = {};
        bool same = channels == 1;
        HR_UNROLL
        for (int k = 0; k < TOGETHER; k++) {
            p[k] = place_of(s, number, n + k * period);
            at[k] = s->samples + (int32_t)(p[k].from - first);
            same = same && p[k].row == p[0].row;
        }
        if (!same)
            return false;
        const float *row = s->phases + p[0].row * (sinc.stride + 1);
        const float *steps = s->steps + p[0].row * (sinc.stride + 1);
        for (int32_t j = 0; j < sinc.stride; j += HR_SINC_LANES) {
            HR_UNROLL
            for (int lane = 0; lane < HR_SINC_LANES; lane++) {
                const float weight = row[j + lane], more = steps[j + lane];
                HR_UNROLL
                for (int k = 0; k < TOGETHER; k++)
                    sum[k][lane] += at[k][j + lane] * (weight + p[k].part * more);
            }
        }
        HR_UNROLL
        for (int k = 0; k < TOGETHER; k++)
            store(n + k * period, hr_sinc_sum(sum[k]));
        return true;
    }

    HR_DEVICE void make_outputs(const Shared *s, int number, int thread) const
    {
        const int64_t first = place_of(s, number, first_of(number)).from;
        for (int i = thread; i < tile / TOGETHER; i += op::THREADS) {
            const int64_t n = first_of(number) + i / period * (TOGETHER * period) + i % period;
            if (n + (TOGETHER - 1) * period < count && make_together(s, number, n, first))
                continue;
            HR_UNROLL_NOT
            for (int k = 0; k < TOGETHER; k++)
                if (n + k * period < count)
                    make_one(s, number, n + k * period, first);
        }
    }

    // With weights and samples from device memory.
    HR_DEVICE void make_far(const Shared *s, int number, int thread) const
    {
        const int64_t end = HR_MIN(first_of(number) + tile, count);
        for (int64_t n = first_of(number) + thread; n < end; n += op::THREADS) {
            const hr_sinc_place p = place_of(s, number, n);
            const float *row = sinc.phases + p.row * sinc.stride;
            const float *steps = sinc.steps + p.row * sinc.stride;
            const int64_t first = p.from - sinc.lobes;
            for (int64_t c = 0; c < channels; c++)
                store(n * channels + c, output(row, steps, p.part, [&](int32_t j) {
                          return load((first + j) * channels + c);
                      }));
        }
    }

    HR_DEVICE void phase(int k, int number, Shared *s, int thread) const
    {
        if (k == 0) {
            if (thread < BLOCKS)
                add_up(s->at[thread], begin_of(number, thread));
            else if (period > 0 && thread >= 32)
                load_tables(s, thread);
        } else if (period == 0) {
            make_far(s, number, thread);
        } else if (k == 1) {
            load_samples(s, number, thread);
        } else {
            make_outputs(s, number, thread);
        }
    }
};

// The number of outputs, at most `most`, after which they are as far from a sample as before, or
// nearly: denominators of the continued fraction of `step`.
int32_t period_of(double step, int64_t most)
{
    int64_t period = 1, before = 0;
    double rest = step - floor(step);
    while (fabs((double)period * step - floor((double)period * step + 0.5)) > 1e-6) {
        const double inverse = 1.0 / rest, whole = floor(inverse);
        if (whole * (double)period + (double)before > (double)most)
            break;
        const int64_t next = (int64_t)whole * period + before;
        before = period;
        period = next;
        rest = inverse - whole;
    }
    return (int32_t)period;
}

// Makes the filter of a sample, which has the same weights as the one before or others.
hr_status stage_filter(const hr_op_call *c, const hr_op_call *last, hr_sinc_filter *sinc,
                       hr_staging *staging, hr_error *error)
{
    const hr_sinc_filter own = ((const audio_resampling *)c->memo)->sinc;
    const size_t rows = (size_t)HR_SINC_PHASES * (size_t)own.stride * sizeof(float);
    hr_staged tables;
    if (last && ((const audio_resampling *)last->memo)->sinc.phases == own.phases)
        return HR_STATUS_OK;
    *sinc = own;
    if (((const audio_resample_args *)c->args)->lowpass == 0) { // the same for all calls
        HR_TRY(op::stage_list(&sinc->phases, (int64_t)(rows / sizeof(float)), staging, error));
        return op::stage_list(&sinc->steps, (int64_t)(rows / sizeof(float)), staging, error);
    }
    HR_TRY(staging->alloc(staging, 2 * rows, &tables, error));
    memcpy(tables.host, own.phases, rows);
    memcpy((char *)tables.host + rows, own.steps, rows);
    sinc->phases = (const float *)tables.device;
    sinc->steps = (const float *)((const char *)tables.device + rows);
    return HR_STATUS_OK;
}

void make(record *r, const hr_op_call *c, const hr_sinc_filter &sinc)
{
    const hr_shape *in = &c->in[0].shape, *out = &c->out[0].shape;
    *r = {};
    r->how = *(const audio_resampling *)c->memo;
    r->sinc = sinc;
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->frames = in->extent[0];
    r->count = out->extent[0];
    r->channels = in->ndim == 2 ? in->extent[1] : 1;
    r->from = hr_dtype_number(c->in[0].dtype);
    r->to = hr_dtype_number(c->out[0].dtype);
    r->tile = TILE;
    // of outputs whose samples fit into shared memory; rounded up generously
    const double more = r->how.step + sinc.stride + 8;
    const double samples = ROOM / (double)HR_MAX(r->channels, 1) - more;
    const int64_t most = (int64_t)fmax(fmin(samples / r->how.step, TILE), 0) / TOGETHER;
    if (sinc.stride <= TAPS && most >= HR_SINC_BLOCK / TOGETHER) {
        r->period = period_of(r->how.step, most);
        r->tile = (int32_t)(most / r->period) * r->period * TOGETHER;
    }
    r->tiles = (int32_t)(r->channels ? HR_DIVIDE_UP(r->count, r->tile) : 0);
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_sinc_filter sinc = {};
    hr_staged records;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &records, error));
    for (int32_t i = 0; i < n; i++) {
        HR_TRY(stage_filter(&calls[i], i > 0 ? &calls[i - 1] : NULL, &sinc, staging, error));
        make((record *)records.host + i, &calls[i], sinc);
    }
    HR_TRY(staging->flush(staging, error));
    return op::launch_blocks<record>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(audio_resample, "audio_resample", run);
