// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// to_decibels: blocks find the largest value of a sample, where that is the reference; then one
// thread per element.
#include "ops/audio/to_decibels.h"
#include "core/mathx_short.h"
#include "cuda/ops/op.cuh"

#include <cfloat>

namespace
{

constexpr int EACH = 32;                // elements of a thread that looks for the largest one
constexpr int JOINS = op::THREADS / 32; // threads that join the results of a block

struct sample {
    const float *src;
    float *dst;
    uint32_t *largest; // the bits of the number, in staged memory; NULL: the reference is given
    int64_t count;
    int32_t tiles;
    float multiplier, reference, least;
};

// The order does not matter, because no values are added.
struct find_largest : sample {
    struct Shared {
        float values[op::THREADS];
    };

    HR_DEVICE static constexpr int phases()
    {
        return 2;
    }

    HR_DEVICE static float larger(float a, float b)
    {
        return b > a ? b : a; // a, if b is a NaN
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        float most = 0.0f;
        if (k == 0) {
            const int64_t first = (int64_t)tile * (op::THREADS * EACH) + thread;
            HR_UNROLL_FOUR
            for (int i = 0; i < EACH; i++)
                if (first + i * op::THREADS < count)
                    most = larger(most, src[first + i * op::THREADS]);
            shared->values[thread] = most;
        } else if (thread < JOINS) {
            for (int i = thread; i < op::THREADS; i += JOINS)
                most = larger(most, shared->values[i]);
            op::raise_to(largest, bits_of_f32(most)); // not negative: in the order of the numbers
        }
    }
};

struct convert : sample {
    HR_DEVICE void element(int64_t i) const
    {
        float inverse = decibels_inverse(largest ? bits_as_f32(*largest) : reference);
        float ratio = decibels_ratio(src[i], inverse, least);
        double log = ratio <= FLT_MAX ? mathx_short_log((double)ratio) : mathx_log((double)ratio);
        dst[i] = (float)(log / HR_DECIBELS_BASE) * multiplier;
    }
};

void make(sample *s, const hr_op_call *c, uint32_t *largest)
{
    const hr_decibels_args *a = (const hr_decibels_args *)c->args;
    *s = {};
    s->src = (const float *)c->in[0].data;
    s->dst = (float *)c->out[0].data;
    s->count = op::count(&c->in[0]);
    s->multiplier = a->multiplier;
    s->reference = a->reference;
    s->least = ((const hr_decibels *)c->memo)->least;
    if (a->reference != 0)
        return;
    s->largest = largest;
    s->tiles = (int32_t)HR_DIVIDE_UP(s->count, op::THREADS * EACH);
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged records, largest;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(uint32_t), &largest, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(sample), &records, error));
    memset(largest.host, 0, (size_t)n * sizeof(uint32_t));
    for (int32_t i = 0; i < n; i++)
        make((sample *)records.host + i, &calls[i], (uint32_t *)largest.device + i);
    HR_TRY(staging->flush(staging, error));
    HR_TRY(op::launch_blocks<find_largest>(l, records, n, error));
    return op::launch<convert>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(to_decibels, "to_decibels", run);
