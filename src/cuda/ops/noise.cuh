// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Noise: one thread per block of four draws.
#pragma once

#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/noise/noise.h"

namespace op
{

// What all noise records have. `count` is the number of blocks for `elements` elements or pixels.
struct noise_record {
    hr_rng rng;
    const char *src;
    char *dst;
    int64_t count, elements;
    int32_t type;
};

inline void noise_make(noise_record *r, const hr_op_call *c, int64_t elements)
{
    r->rng = c->rng;
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->elements = elements;
    r->count = (elements + HR_NOISE_TILE - 1) / HR_NOISE_TILE * HR_NOISE_BLOCKS;
    r->type = c->in[0].dtype;
}

} // namespace op
