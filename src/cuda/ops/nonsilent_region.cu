// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// nonsilent_region: one thread per interval, in which means are updated one after the other. The
// largest mean is found in a first pass, the ends of the region in a second one that computes the
// means again: they are not stored. Integers of more than 16 bits become FLOAT first.
#include "ops/audio/nonsilent_region.h"
#include "core/dtype.h"
#include "core/mathx_inline.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/cast.cuh"

namespace
{

constexpr int64_t EXACT = 4096; // elements of an interval whose means are exact in any case
constexpr int AHEAD = 16;       // elements that are loaded before the first is added

// The squares of elements i .. i + AHEAD - 1. Sums depend on those before, so a load for each would
// be most of the time.
HR_DEVICE void load_squares(float *to, const float *in, int64_t n, int64_t i)
{
    if (i >= 0 && i + AHEAD <= n) {
        HR_UNROLL
        for (int k = 0; k < AHEAD; k++)
            to[k] = in[i + k];
    } else {
        HR_UNROLL_NOT
        for (int k = 0; k < AHEAD; k++) { // no index that is not a constant
            HR_UNROLL
            for (int e = 1; e < AHEAD; e++)
                to[e - 1] = to[e];
            to[AHEAD - 1] = i + k >= 0 && i + k < n ? in[i + k] : 0.0f;
        }
    }
    HR_UNROLL
    for (int k = 0; k < AHEAD; k++)
        to[k] *= to[k];
}

// Of a sample, in scratch memory.
struct found {
    uint32_t largest; // ordered() of it
    int32_t nan;      // the first mean is NaN
    int32_t first, behind;
};

struct signal {
    const char *src;
    found *at;
    int32_t *begin, *length;
    int64_t count; // intervals
    int64_t n, window, interval;
    int32_t dtype;
    bool exact, relative;     // relative: to the largest mean
    float factor, cut, least; // cut: of the reference; least: cut * reference_power

    HR_DEVICE int64_t integer_square(int64_t i) const
    {
        int64_t v =
            value_as_integer(value_load(src + i * value_size(dtype), value_size(dtype)), dtype);
        return v * v;
    }

    // Calls visit(i, mean i) for the elements of an interval.
    template <typename Visit> HR_DEVICE void exact_means(int64_t from, const Visit &visit) const
    {
        int64_t sum = 0;
        for (int64_t i = HR_MAX(from - window + 1, 0); i < from; i++)
            sum += integer_square(i);
        for (int64_t i = from; i < HR_MIN(from + interval, n); i++) {
            sum += integer_square(i);
            visit(i, (float)sum * factor);
            sum -= i >= window - 1 ? integer_square(i - window + 1) : 0;
        }
    }

    template <typename Visit> HR_DEVICE void float_means(int64_t from, const Visit &visit) const
    {
        const float *in = (const float *)src;
        const int64_t end = HR_MIN(from + interval, n);
        float sum = 0.0f, next[AHEAD] = {}, before[AHEAD] = {};
        for (int64_t i = from - window + 1; i <= from; i += AHEAD) { // nonsilent_sum
            load_squares(next, in, n, i);
            HR_UNROLL
            for (int k = 0; k < AHEAD; k++)
                sum = i + k <= from ? sum + next[k] : sum;
        }
        visit(from, sum * factor);
        for (int64_t i = from + 1; i < end; i += AHEAD) { // nonsilent_next
            load_squares(next, in, n, i);
            load_squares(before, in, n, i - window);
            HR_UNROLL
            for (int k = 0; k < AHEAD; k++) {
                sum = (sum - before[k]) + next[k];
                if (i + k < end)
                    visit(i + k, sum * factor);
            }
        }
    }

    template <typename Visit> HR_DEVICE void means(int64_t i, const Visit &visit) const
    {
        if (exact)
            exact_means(i * interval, visit);
        else
            float_means(i * interval, visit);
    }
};

// The bits of a float as a number with the same order; `value_of_order` reverses it.
HR_DEVICE uint32_t order_of(float v)
{
    uint32_t bits = bits_of_f32(v);
    return bits >> 31 ? ~bits : bits | UINT32_C(1) << 31;
}

HR_DEVICE float value_of_order(uint32_t v)
{
    return bits_as_f32(v >> 31 ? v & ~(UINT32_C(1) << 31) : ~v);
}

struct begin : signal {
    HR_DEVICE void element(int64_t) const
    {
        *at = {order_of(-(float)mathx_infinity()), 0, (int32_t)n, 0};
    }
};

struct find_largest : signal {
    HR_DEVICE void element(int64_t i) const
    {
        float most = -(float)mathx_infinity();
        bool nan = false;
        means(i, [&](int64_t e, float mean) {
            most = mean > most ? mean : most;
            nan = nan || (e == 0 && mean != mean);
        });
        op::raise_to(&at->largest, order_of(most));
        if (nan)
            at->nan = 1;
    }
};

struct find_ends : signal {
    HR_DEVICE void element(int64_t i) const
    {
        float limit = least;
        if (relative)
            limit = at->nan ? (float)mathx_quiet_nan() : value_of_order(at->largest) * cut;
        int64_t first = n, behind = 0;
        means(i, [&](int64_t e, float mean) {
            if (!(mean >= limit))
                return;
            first = HR_MIN(first, e);
            behind = e + 1;
        });
        if (behind == 0)
            return;
        op::lower_to(&at->first, (int32_t)first);
        op::raise_to(&at->behind, (int32_t)behind);
    }
};

struct finish : signal {
    HR_DEVICE void element(int64_t) const
    {
        int64_t first = HR_MAX((int64_t)at->first - (window - 1), 0);
        *begin = at->behind > 0 ? (int32_t)first : 0;
        *length = at->behind > 0 ? (int32_t)(at->behind - first) : 0;
    }
};

void make(signal *s, const hr_op_call *c, found *at)
{
    const nonsilent_args *a = (const nonsilent_args *)c->args;
    const bool resets = c->in[0].dtype == HR_DTYPE_FLOAT && a->reset_interval != -1;
    *s = {};
    s->src = (const char *)c->in[0].data;
    s->at = at;
    s->begin = (int32_t *)c->out[0].data;
    s->length = (int32_t *)c->out[1].data;
    s->n = c->in[0].shape.extent[0];
    s->window = HR_MIN(a->window_length, s->n);
    s->dtype = hr_dtype_number(c->in[0].dtype);
    s->exact = s->dtype != HR_DTYPE_FLOAT && value_size(s->dtype) <= 2;
    s->interval = s->exact ? EXACT : resets ? a->reset_interval : HR_MAX(s->n, 1);
    s->count = HR_DIVIDE_UP(s->n, s->interval);
    s->factor = 1.0f / (float)HR_MAX(s->window, 1);
    s->cut = (float)mathx_pow(10.0, (double)a->cutoff_db / 10.0);
    s->relative = a->reference_power != a->reference_power;
    s->least = a->reference_power * s->cut;
}

// Replaces integers of more than 16 bits by floats in scratch memory; `casts` does that.
hr_status make_floats(hr_cuda_launch *l, signal *s, op::cast_record *casts, int32_t n,
                      hr_error *error)
{
    size_t room = 0;
    void *memory;
    for (int32_t i = 0; i < n; i++)
        room += s[i].exact || s[i].dtype == HR_DTYPE_FLOAT ? 0 : (size_t)s[i].n;
    HR_TRY(l->scratch(l, (room + 1) * sizeof(float), &memory, error));
    float *at = (float *)memory;
    for (int32_t i = 0; i < n; i++) {
        casts[i] = {s[i].src, at, 0, s[i].dtype, HR_DTYPE_FLOAT};
        if (s[i].exact || s[i].dtype == HR_DTYPE_FLOAT)
            continue;
        casts[i].count = s[i].n;
        s[i].src = (const char *)at;
        s[i].dtype = HR_DTYPE_FLOAT;
        at += s[i].n;
    }
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged signals, samples, casts; // samples: with one element each
    void *room;
    HR_TRY(l->scratch(l, (size_t)n * sizeof(found), &room, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(signal), &signals, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(signal), &samples, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(op::cast_record), &casts, error));
    signal *s = (signal *)signals.host;
    for (int32_t i = 0; i < n; i++)
        make(&s[i], &calls[i], (found *)room + i);
    HR_TRY(make_floats(l, s, (op::cast_record *)casts.host, n, error));
    for (int32_t i = 0; i < n; i++) {
        ((signal *)samples.host)[i] = s[i];
        ((signal *)samples.host)[i].count = 1;
    }
    HR_TRY(staging->flush(staging, error));
    HR_TRY(op::cast_launch(l, casts, n, error));
    HR_TRY(op::launch<begin>(l, samples, n, error));
    if (s[0].relative)
        HR_TRY((op::launch<find_largest, 1>(l, signals, n, error)));
    HR_TRY((op::launch<find_ends, 1>(l, signals, n, error)));
    return op::launch<finish>(l, samples, n, error);
}

} // namespace

HR_CUDA_OP(nonsilent_region, "nonsilent_region", run);
