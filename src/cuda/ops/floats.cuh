// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Operators that make floats of floats and of what `infer` has found out.
#pragma once

#include "cuda/ops/op.cuh"

namespace op
{

// What a record begins with. PER: floats of the output that a thread makes.
template <typename Memo, int PER = 1> struct floats {
    typedef Memo memo;
    static constexpr int per = PER;

    Memo m;
    const float *src;
    float *dst;
    int64_t count; // threads
};

// `run` of an operator whose record has no other fields.
template <typename Record>
hr_status run_floats(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                     hr_error *error)
{
    auto make = [](Record *r, const hr_op_call *c, hr_staging *, hr_error *) {
        r->m = *(const typename Record::memo *)c->memo;
        r->src = (const float *)c->in[0].data;
        r->dst = (float *)c->out[0].data;
        r->count = count(&c->out[0]) / Record::per;
        return HR_STATUS_OK;
    };
    return run<Record>(l, calls, n, staging, make, error);
}

} // namespace op
