// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Random elements: one thread per block of four draws, which makes as many elements as four draws
// suffice for.
#pragma once

#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"
#include "ops/random/distribution.h"

namespace op
{

// Make: the arguments of a call that the device needs. Its members:
//   int per() const                                   draws per element: 1, 2 or 4
//   uint64_t make(const uint32_t *bits, int to) const an element of type `to`
template <typename Make> struct draw_record {
    hr_rng rng;
    Make how;
    char *dst;
    int64_t count, elements;
    int32_t to;

    HR_DEVICE void element(int64_t block) const
    {
        uint32_t bits[4];
        int per = how.per(), each = 4 / per, size = value_size(to);
        rng_block(&rng, (uint64_t)block, bits);
        for (int k = 0; k < each && block * each + k < elements; k++)
            value_store(dst + (block * each + k) * size, size, how.make(bits + k * per, to));
    }
};

// Fills a record except for `how`; `per` as above.
template <typename Make> void draw_make(draw_record<Make> *r, const hr_op_call *c, int per)
{
    r->rng = c->rng;
    r->dst = (char *)c->out[0].data;
    r->elements = count(&c->out[0]);
    r->count = (r->elements * per + 3) / 4;
    r->to = c->out[0].dtype;
}

} // namespace op
