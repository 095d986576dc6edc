// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Reductions: the kernels, and how a sample's axes become their records.
#include "cuda/ops/reduce.cuh"

#include <float.h>

namespace op
{

// ---- accumulating ----

template <typename T> struct take_sum {
    typedef uint64_t acc;
    HR_DEVICE acc operator()(acc p, T v) const
    {
        return p + (uint64_t)v; // wraps
    }
};

template <typename T> struct take_squares {
    typedef uint64_t acc;
    HR_DEVICE acc operator()(acc p, T v) const
    {
        return p + (uint64_t)v * (uint64_t)v;
    }
};

template <typename T> struct take_total {
    typedef double acc;
    HR_DEVICE acc operator()(acc p, T v) const
    {
        return p + (double)v;
    }
};

template <typename T> struct take_distances {
    typedef double acc;
    double mean;
    HR_DEVICE acc operator()(acc p, T v) const
    {
        double d = (double)v - mean;
        return p + d * d;
    }
};

template <typename T> struct take_least {
    typedef T acc;
    HR_DEVICE acc operator()(acc p, T v) const
    {
        return v < p ? v : p;
    }
};

template <typename T> struct take_most {
    typedef T acc;
    HR_DEVICE acc operator()(acc p, T v) const
    {
        return v > p ? v : p;
    }
};

template <typename T> HR_DEVICE T from_bits(uint64_t bits)
{
    T v;
    memcpy(&v, &bits, sizeof v); // little endian
    return v;
}

template <typename T> HR_DEVICE uint64_t to_bits(T v)
{
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof v);
    return bits;
}

template <typename T, typename Take>
HR_DEVICE uint64_t take_column(const Take &take, uint64_t start, const T *x, int64_t n,
                               int64_t step)
{
    typename Take::acc acc = from_bits<typename Take::acc>(start);
#if defined(__CUDACC__)
#pragma unroll 8
#endif
    for (int64_t k = 0; k < n; k++)
        acc = take(acc, x[k * step]);
    return to_bits(acc);
}

// `act` with a value of the type.
template <typename Act> HR_DEVICE uint64_t by_type(int32_t dtype, const Act &act)
{
    switch (dtype) {
    case HR_DTYPE_UINT8:
        return act(uint8_t{});
    case HR_DTYPE_INT8:
        return act(int8_t{});
    case HR_DTYPE_UINT16:
        return act(uint16_t{});
    case HR_DTYPE_INT16:
        return act(int16_t{});
    case HR_DTYPE_UINT32:
        return act(uint32_t{});
    case HR_DTYPE_INT32:
        return act(int32_t{});
    case HR_DTYPE_UINT64:
        return act(uint64_t{});
    case HR_DTYPE_INT64:
        return act(int64_t{});
    default:
        return act(float{});
    }
}

template <typename T>
HR_DEVICE uint64_t reduce_pass_record::sum(int64_t at, int64_t n, int64_t output) const
{
    const T *x = (const T *)src + at;
    switch (kind) {
    case HR_REDUCE_SUM:
        return take_column(take_sum<T>{}, start, x, n, wide);
    case HR_REDUCE_SQUARES:
        return take_column(take_squares<T>{}, start, x, n, wide);
    case HR_REDUCE_TOTAL:
        return take_column(take_total<T>{}, start, x, n, wide);
    case HR_REDUCE_DISTANCES:
        return take_column(take_distances<T>{mean ? (double)mean[output] : 0.0}, start, x, n, wide);
    case HR_REDUCE_MIN:
        return take_column(take_least<T>{}, start, x, n, wide);
    default:
        return take_column(take_most<T>{}, start, x, n, wide);
    }
}

HR_DEVICE void reduce_pass_record::element(int64_t i) const
{
    int64_t rest = i, column = digit(&rest, wide), at = column, output = 0, outputs = 1;
    for (int32_t d = axes - 1; d >= axes - kept; d--) {
        int64_t index = digit(&rest, outer[d]);
        at += index * outer_step[d];
        output += index * outputs;
        outputs *= outer[d];
    }
    int64_t first = digit(&rest, passes) * pass;
    for (int32_t d = axes - kept - 1; d >= 0; d--)
        at += digit(&rest, outer[d]) * outer_step[d];
    int64_t n = rows - first < pass ? rows - first : pass;
    if (n <= 0) { // the last row, which is not full
        first = rows;
        n = column < left;
    }
    at += first * wide;
    output = output * cols + digit(&column, cols);
    end.store(i, by_type(dtype, [&](auto v) { return sum<decltype(v)>(at, n, output); }));
}

// Adds `n` accumulators, `step` apart, to one. Many are loaded before the first is added: there are
// too few threads to wait for each.
template <typename Take>
HR_DEVICE typename Take::acc join_column(const Take &take, typename Take::acc acc,
                                         const uint64_t *x, int64_t n, int64_t step)
{
    constexpr int AHEAD = 16;
    for (int64_t k = 0; k < n; k += AHEAD) {
        uint64_t v[AHEAD];
        HR_UNROLL
        for (int i = 0; i < AHEAD; i++)
            v[i] = k + i < n ? x[(k + i) * step] : 0;
        HR_UNROLL
        for (int i = 0; i < AHEAD; i++)
            acc = k + i < n ? take(acc, from_bits<typename Take::acc>(v[i])) : acc;
    }
    return acc;
}

template <typename Take> HR_DEVICE uint64_t reduce_chain::sum(const Take &take, int64_t at) const
{
    typedef typename Take::acc acc_type;
    acc_type first = from_bits<acc_type>(start), acc = first;
    // the innermost sums; sums of one are left out
    bool of_rows = rows > 1, of_lanes = !of_rows && lanes > 1;
    int64_t n = of_rows ? rows : of_lanes ? lanes : terms;
    int64_t step = of_rows ? row_step : of_lanes ? lane_step : term_step;
    for (int64_t t = 0; t < (of_rows || of_lanes ? terms : 1); t++) {
        acc_type term = first;
        for (int64_t l = 0; l < (of_rows ? lanes : 1); l++)
            term = take(term, join_column(take, first, src + at + t * term_step + l * lane_step, n,
                                          step));
        acc = take(acc, term);
    }
    return to_bits(acc);
}

HR_DEVICE void reduce_chain::element(int64_t i) const
{
    int64_t rest = i, at = digit(&rest, inner);
    at += rest * outer_step;
    if (kind == HR_REDUCE_MIN)
        end.store(i, by_type(end.type, [&](auto v) { return sum(take_least<decltype(v)>{}, at); }));
    else if (kind == HR_REDUCE_MAX)
        end.store(i, by_type(end.type, [&](auto v) { return sum(take_most<decltype(v)>{}, at); }));
    else if (end.type == HR_DTYPE_FLOAT64)
        end.store(i, sum(take_total<double>{}, at));
    else
        end.store(i, sum(take_sum<uint64_t>{}, at));
}

// ---- results ----

// Divides by the number of elements and converts.
static HR_DEVICE uint64_t reduce_mean(const reduce_end *e, uint64_t acc, bool root)
{
    if (e->to == HR_DTYPE_FLOAT) {
        double v = bits_as_f64(value_convert(acc, e->type, HR_DTYPE_FLOAT64)) / (double)e->count;
        return value_of_double(root ? sqrt(v) : v, e->to);
    }
    if (e->count > 0)
        acc = e->type == HR_DTYPE_INT64 ? (uint64_t)((int64_t)acc / e->count)
                                        : acc / (uint64_t)e->count;
    if (!root)
        return value_convert(acc, e->type, e->to);
    double v = bits_as_f64(value_convert(acc, e->type, HR_DTYPE_FLOAT64));
    return value_of_double(floor(sqrt(v)), e->to);
}

HR_DEVICE uint64_t reduce_end::value(uint64_t acc) const
{
    double v = bits_as_f64(acc);
    switch (what) {
    case HR_REDUCTION_END_VALUE:
        return to == HR_DTYPE_FLOAT ? value_convert(acc, type, to) : acc;
    case HR_REDUCTION_END_MEAN:
    case HR_REDUCTION_END_ROOT:
        return reduce_mean(this, acc, what == HR_REDUCTION_END_ROOT);
    case REDUCE_END_FACTOR:
        return bits_of_f32(normalization_factor(v, by, epsilon, scale));
    default:
        v = untouched ? 0.0 : v / by; // without axes an element is its own mean
        return value_of_double(what == HR_REDUCTION_END_DEVIATION ? sqrt(v) : v, to);
    }
}

HR_DEVICE void reduce_end::store(int64_t i, uint64_t acc) const
{
    if (what == REDUCE_END_KEPT)
        ((uint64_t *)dst)[i] = acc;
    else
        value_store(dst + i * value_size(to), value_size(to), value(acc));
}

// ---- records ----

// The accumulator's initial value.
static uint64_t reduce_start(int32_t kind, int32_t type)
{
    if (kind != HR_REDUCE_MIN && kind != HR_REDUCE_MAX)
        return 0;
    double far = kind == HR_REDUCE_MIN ? 1e30 : -1e30; // conversion saturates
    if (type == HR_DTYPE_FLOAT)
        return bits_of_f32(kind == HR_REDUCE_MIN ? FLT_MAX : -FLT_MAX);
    return value_of_double(far, type);
}

hr_status reduce_begin(reduction *r, hr_cuda_launch *l, int32_t n, hr_staging *staging,
                       hr_error *error)
{
    *r = {};
    r->l = l;
    r->n = n;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(reduce_pass_record), &r->passes, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(reduce_chain), &r->joins, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(reduce_chain), &r->ends, error));
    for (int32_t i = 0; i < n; i++) {
        ((reduce_pass_record *)r->passes.host)[i] = {};
        ((reduce_chain *)r->joins.host)[i] = ((reduce_chain *)r->ends.host)[i] = {};
    }
    return HR_STATUS_OK;
}

// Reserves scratch for `count` accumulators of a sample. Returns its offset as a pointer;
// reduce_allocate adds the address.
static char *reduce_room(reduction *r, int64_t count)
{
    size_t at = r->scratch;
    r->scratch += ((size_t)count * sizeof(uint64_t) + 255) / 256 * 256;
    return (char *)at;
}

// Splits the axes into the innermost reduced one, the kept axes inside it, and the outer ones. Also
// returns the numbers of outputs and of terms that the outer axes contribute.
static void reduce_split(reduce_pass_record *p, const hr_reduce_shape *shape, int64_t *outputs,
                         int64_t *terms)
{
    int32_t inner = shape->count - 1;
    const hr_reduce_axis *axes = shape->axes;
    p->rows = p->cols = *outputs = *terms = 1;
    if (axes[inner].out_step != 0)
        p->cols = (int64_t)axes[inner--].extent;
    if (inner >= 0)
        p->rows = (int64_t)axes[inner].extent;
    for (int kept = 0; kept < 2; kept++) {
        for (int32_t d = 0; d < inner; d++) {
            if ((axes[d].out_step != 0) != (kept != 0))
                continue;
            p->outer[p->axes] = (int64_t)axes[d].extent;
            p->outer_step[p->axes++] = (int64_t)axes[d].in_step;
            *(kept ? outputs : terms) *= (int64_t)axes[d].extent;
            p->kept += kept;
        }
    }
}

void reduce_add(reduction *r, int32_t i, hr_reduce_kind kind, const hr_tensor *in,
                const hr_reduce_shape *shape, const float *mean, const reduce_end *end)
{
    constexpr int64_t FEW = 8; // passes that are added up together with the lanes
    reduce_pass_record *p = (reduce_pass_record *)r->passes.host + i;
    reduce_chain *join = (reduce_chain *)r->joins.host + i, *e = (reduce_chain *)r->ends.host + i;
    int64_t outputs, terms;
    reduce_split(p, shape, &outputs, &terms);
    if (shape->outputs == 0)
        return;
    int64_t lanes = (int64_t)reduce_lanes((size_t)p->rows, (size_t)p->cols);
    p->src = (const char *)in->data;
    p->mean = mean;
    p->wide = p->cols * lanes;
    p->pass = (int64_t)reduce_pass((size_t)p->wide);
    p->left = p->rows % lanes * p->cols;
    p->rows /= lanes;
    p->passes = (p->rows + p->pass - 1) / p->pass + (p->left != 0);
    p->kind = e->kind = kind;
    p->dtype = in->dtype;
    p->end = e->end = *end;
    p->start = e->start = reduce_start(kind, end->type);
    int64_t across = outputs * p->wide;
    p->count = terms * p->passes * across;
    if (p->passes * terms * lanes == 1)
        return;
    p->end.what = REDUCE_END_KEPT;
    p->end.dst = reduce_room(r, p->count);
    e->src = (const uint64_t *)p->end.dst;
    e->count = outputs * p->cols;
    e->inner = p->cols;
    e->outer_step = p->wide;
    e->terms = lanes > 1 ? terms : terms * p->passes;
    e->lanes = lanes;
    e->rows = lanes > 1 ? p->passes : 1;
    e->row_step = across;
    e->lane_step = p->cols;
    e->term_step = across * e->rows;
    if (e->rows <= FEW)
        return;
    *join = *e;
    join->end.what = REDUCE_END_KEPT;
    join->end.dst = reduce_room(r, terms * across);
    join->count = terms * across;
    join->inner = across;
    join->outer_step = across * p->passes;
    join->terms = join->lanes = 1;
    e->src = (const uint64_t *)join->end.dst;
    e->rows = 1;
    e->term_step = across;
}

hr_status reduce_allocate(reduction *r, hr_error *error)
{
    void *memory;
    if (r->scratch == 0)
        return HR_STATUS_OK;
    HR_TRY(r->l->scratch(r->l, r->scratch, &memory, error));
    uintptr_t base = (uintptr_t)memory;
    for (int32_t i = 0; i < r->n; i++) {
        reduce_pass_record *p = (reduce_pass_record *)r->passes.host + i;
        reduce_chain *join = (reduce_chain *)r->joins.host + i;
        reduce_chain *end = (reduce_chain *)r->ends.host + i;
        if (p->end.what == REDUCE_END_KEPT)
            p->end.dst = (char *)((uintptr_t)p->end.dst + base);
        join->src = (const uint64_t *)((uintptr_t)join->src + base);
        join->end.dst = (char *)((uintptr_t)join->end.dst + base);
        end->src = (const uint64_t *)((uintptr_t)end->src + base);
    }
    return HR_STATUS_OK;
}

hr_status reduce_launch(const reduction *r, hr_error *error)
{
    HR_TRY((launch<reduce_pass_record, 1>(r->l, r->passes, r->n, error)));
    HR_TRY(reduce_chains(r->l, r->joins, r->n, error));
    return reduce_chains(r->l, r->ends, r->n, error);
}

void reduce_samples(reduce_chain *chain, const void *sums, int64_t n, int64_t groups,
                    const reduce_end *end)
{
    *chain = {};
    chain->src = (const uint64_t *)sums;
    chain->count = chain->inner = chain->row_step = groups;
    chain->terms = chain->lanes = 1;
    chain->rows = n;
    chain->kind = HR_REDUCE_TOTAL;
    chain->end = *end;
}

hr_status reduce_chains(hr_cuda_launch *l, hr_staged chains, int32_t n, hr_error *error)
{
    return launch<reduce_chain, 1>(l, chains, n, error);
}

hr_status reduction_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                        hr_error *error)
{
    reduction r;
    HR_TRY(reduce_begin(&r, l, n, staging, error));
    for (int32_t i = 0; i < n; i++) {
        const hr_op_call *c = &calls[i];
        const hr_reduction *m = (const hr_reduction *)c->memo;
        reduce_end end = {};
        end.dst = (char *)c->out[0].data;
        end.what = m->end;
        end.type = m->type;
        end.to = c->out[0].dtype;
        end.untouched = m->untouched;
        end.count = (int64_t)m->shape.inputs;
        end.by = (double)end.count - (double)m->ddof;
        const float *mean = c->n_in > 1 ? (const float *)c->in[1].data : nullptr;
        hr_tensor in = c->in[0];
        bool same = m->untouched && (m->kind == HR_REDUCE_MIN || m->kind == HR_REDUCE_MAX);
        if (same && in.dtype == HR_DTYPE_FLOAT)
            in.dtype = HR_DTYPE_UINT32; // NaN and infinities are kept, too
        reduce_add(&r, i, same ? HR_REDUCE_SUM : m->kind, &in, &m->shape, mean, &end);
    }
    HR_TRY(reduce_allocate(&r, error));
    HR_TRY(staging->flush(staging, error));
    return reduce_launch(&r, error);
}

} // namespace op

HR_CUDA_OP(reductions_max, "reductions.max", op::reduction_run);
HR_CUDA_OP(reductions_mean, "reductions.mean", op::reduction_run);
HR_CUDA_OP(reductions_mean_square, "reductions.mean_square", op::reduction_run);
HR_CUDA_OP(reductions_min, "reductions.min", op::reduction_run);
HR_CUDA_OP(reductions_rms, "reductions.rms", op::reduction_run);
HR_CUDA_OP(reductions_std_dev, "reductions.std_dev", op::reduction_run);
HR_CUDA_OP(reductions_sum, "reductions.sum", op::reduction_run);
HR_CUDA_OP(reductions_variance, "reductions.variance", op::reduction_run);
