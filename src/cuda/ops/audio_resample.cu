// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// audio_resample: a block of threads makes BLOCKS blocks of outputs. Positions are added up within
// a block, so one thread of each finds them all; then every thread sums up outputs.
#include "ops/audio/audio_resample.h"
#include "core/dtype.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "kernels/sinc.h"

namespace
{

constexpr int BLOCKS = 8;
static_assert(op::THREADS == HR_SINC_BLOCK, "a thread makes one output of each block");

struct record {
    audio_resampling how;
    hr_sinc_filter sinc; // the tables on the device
    const char *src;
    char *dst;
    int64_t frames, count, channels; // of the input; of the output
    int32_t from, to, tiles;

    struct Shared {
        float at[BLOCKS][HR_SINC_BLOCK + 1]; // odd: the threads that add up use different banks
    };

    HR_DEVICE int phases() const
    {
        return 2;
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

    // A sample of a channel; silence before and after the input.
    HR_DEVICE float load(int64_t frame, int64_t channel) const
    {
        if (frame < 0 || frame >= frames)
            return 0.0f;
        const int64_t i = frame * channels + channel;
        if (from == HR_DTYPE_FLOAT && how.to_signed)
            return ((const float *)src)[i];
        const int size = value_size(from);
        const float v = value_to_float(value_load(src + i * size, size), from);
        return audio_resample_load(v, how.in_most, how.from_signed, how.to_signed);
    }

    HR_DEVICE float output(const hr_sinc_place &p, int64_t channel) const
    {
        const float *row = sinc.phases + p.row * sinc.stride;
        const float *steps = sinc.steps + p.row * sinc.stride;
        float sum[HR_SINC_LANES] = {};
        for (int32_t j = 0; j < sinc.stride; j += HR_SINC_LANES)
            HR_UNROLL
        for (int k = 0; k < HR_SINC_LANES; k++)
            sum[k] +=
                load(p.from - sinc.lobes + j + k, channel) * (row[j + k] + p.part * steps[j + k]);
        return hr_sinc_sum(sum);
    }

    HR_DEVICE void store(int64_t i, float v) const
    {
        if (to != HR_DTYPE_FLOAT)
            v = audio_resample_scale(v, how.out_most);
        value_store(dst + i * value_size(to), value_size(to), value_of_float(v, to));
    }

    HR_DEVICE void phase(int k, int tile, Shared *s, int thread) const
    {
        if (k == 0) {
            if (thread < BLOCKS)
                add_up(s->at[thread], begin_of(tile, thread));
            return;
        }
        for (int block = 0; block < BLOCKS; block++) {
            const int64_t n = ((int64_t)tile * BLOCKS + block) * HR_SINC_BLOCK + thread;
            if (n >= count)
                return;
            const double whole = floor(begin_of(tile, block));
            const hr_sinc_place p = hr_sinc_place_of(whole, s->at[block][thread], frames);
            for (int64_t c = 0; c < channels; c++)
                store(n * channels + c, output(p, c));
        }
    }
};

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
    r->tiles = (int32_t)(r->channels ? HR_DIVIDE_UP(r->count, BLOCKS * HR_SINC_BLOCK) : 0);
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_sinc_filter sinc = *((const audio_resampling *)calls[0].memo)->sinc;
    const int64_t entries = HR_SINC_PHASES * (int64_t)sinc.stride;
    hr_staged records;
    HR_TRY(op::stage_list(&sinc.phases, entries, staging, error));
    HR_TRY(op::stage_list(&sinc.steps, entries, staging, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &records, error));
    for (int32_t i = 0; i < n; i++)
        make((record *)records.host + i, &calls[i], sinc);
    HR_TRY(staging->flush(staging, error));
    return op::launch_blocks<record>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(audio_resample, "audio_resample", run);
