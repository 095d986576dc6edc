// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// audio_resample: a block of threads makes BLOCKS blocks of outputs. Positions are added up within
// a block, so one thread of each finds them all; then every thread sums up outputs. The weights and
// the samples that a block of outputs needs are in shared memory, if they fit.
#include "ops/audio/audio_resample.h"
#include "core/dtype.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "kernels/sinc.h"

#include <string.h>

namespace
{

constexpr int BLOCKS = 8;
constexpr int TAPS = 64;   // of weights in shared memory, at most
constexpr int ROOM = 2048; // samples
static_assert(op::THREADS == HR_SINC_BLOCK, "a thread makes one output of each block");

struct record {
    audio_resampling how;
    hr_sinc_filter sinc; // the tables on the device
    const char *src;
    char *dst;
    int64_t frames, count, channels; // of the input; of the output
    int32_t from, to, tiles;
    bool fits; // into shared memory

    // Odd steps from row to row: threads with different rows use different banks.
    struct Shared {
        float at[BLOCKS][HR_SINC_BLOCK + 1];
        float phases[HR_SINC_PHASES * (TAPS + 1)], steps[HR_SINC_PHASES * (TAPS + 1)];
        float samples[ROOM];
    };

    HR_DEVICE int phases() const
    {
        return fits ? 1 + 2 * BLOCKS : 2;
    }

    HR_DEVICE double begin_of(int tile, int block) const
    {
        return (double)(((int64_t)tile * BLOCKS + block) * HR_SINC_BLOCK) * how.step;
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

    // The first output of a block.
    HR_DEVICE int64_t first_of(int tile, int block) const
    {
        return ((int64_t)tile * BLOCKS + block) * HR_SINC_BLOCK;
    }

    HR_DEVICE hr_sinc_place place_of(const Shared *s, int tile, int block, int thread) const
    {
        return hr_sinc_place_of(floor(begin_of(tile, block)), s->at[block][thread], frames);
    }

    // The samples for all outputs of a block.
    HR_DEVICE void load_samples(Shared *s, int tile, int block, int thread) const
    {
        const int64_t first = place_of(s, tile, block, 0).from - sinc.lobes;
        const int64_t last = place_of(s, tile, block, HR_SINC_BLOCK - 1).from - sinc.lobes;
        const int32_t end = (int32_t)((last - first + sinc.stride) * channels);
        if (first_of(tile, block) < count)
            for (int32_t i = thread; i < end; i += op::THREADS)
                s->samples[i] = load(first * channels + i);
    }

    HR_DEVICE void make_outputs(const Shared *s, int tile, int block, int thread) const
    {
        const int64_t n = first_of(tile, block) + thread;
        if (n >= count)
            return;
        const hr_sinc_place p = place_of(s, tile, block, thread);
        const int64_t first = place_of(s, tile, block, 0).from;
        const float *row = s->phases + p.row * (sinc.stride + 1);
        const float *steps = s->steps + p.row * (sinc.stride + 1);
        const int32_t step = (int32_t)channels;
        const float *at = s->samples + (int32_t)(p.from - first) * step;
        if (step == 1) {
            store(n, output(row, steps, p.part, [=](int32_t j) { return at[j]; }));
            return;
        }
        for (int32_t c = 0; c < step; c++, at++)
            store(n * step + c,
                  output(row, steps, p.part, [=](int32_t j) { return at[j * step]; }));
    }

    // With weights and samples from device memory.
    HR_DEVICE void make_far(const Shared *s, int tile, int block, int thread) const
    {
        const int64_t n = first_of(tile, block) + thread;
        if (n >= count)
            return;
        const hr_sinc_place p = place_of(s, tile, block, thread);
        const float *row = sinc.phases + p.row * sinc.stride;
        const float *steps = sinc.steps + p.row * sinc.stride;
        const int64_t first = p.from - sinc.lobes;
        for (int64_t c = 0; c < channels; c++)
            store(n * channels + c, output(row, steps, p.part, [&](int32_t j) {
                      return load((first + j) * channels + c);
                  }));
    }

    HR_DEVICE void phase(int k, int tile, Shared *s, int thread) const
    {
        if (k == 0) {
            if (thread < BLOCKS)
                add_up(s->at[thread], begin_of(tile, thread));
            else if (fits && thread >= 32)
                load_tables(s, thread);
        } else if (!fits) {
            for (int block = 0; block < BLOCKS; block++)
                make_far(s, tile, block, thread);
        } else if (k % 2 == 1) {
            load_samples(s, tile, k / 2, thread);
        } else {
            make_outputs(s, tile, k / 2 - 1, thread);
        }
    }
};

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
    double window = (HR_SINC_BLOCK + 1) * r->how.step + sinc.stride + 8; // rounded up generously
    r->fits = sinc.stride <= TAPS && window * (double)r->channels <= ROOM;
    r->tiles = (int32_t)(r->channels ? HR_DIVIDE_UP(r->count, BLOCKS * HR_SINC_BLOCK) : 0);
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
