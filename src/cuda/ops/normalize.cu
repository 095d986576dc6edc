// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// normalize: means and factors by reductions, then one thread per element.
#include "cuda/ops/reduce.cuh"

namespace
{

struct record {
    const char *src;
    char *dst;
    const float *mean, *factor; // of each group
    int64_t count, extent[HR_MAX_NDIM], step[HR_MAX_NDIM];
    int32_t axes, from, to;
    float shift;

    HR_DEVICE void element(int64_t i) const
    {
        int64_t rest = i, group = 0;
        for (int32_t d = axes - 1; d > 0; d--)
            group += op::digit(&rest, extent[d]) * step[d];
        group += rest * step[0];
        float v = value_to_float(value_load(src + i * value_size(from), value_size(from)), from);
        value_store(dst + i * value_size(to), value_size(to),
                    value_of_float((v - mean[group]) * factor[group] + shift, to));
    }
};

const hr_normalization *memo(const hr_op_call *c)
{
    return (const hr_normalization *)c->memo;
}

// The means or the factors: of each sample, or of the whole batch from the samples' sums of
// doubles.
struct step {
    op::reduction own;
    hr_staged batch; // one record
};

hr_status step_begin(step *s, hr_cuda_launch *l, int32_t n, hr_staging *staging, hr_error *error)
{
    HR_TRY(staging->alloc(staging, sizeof(op::reduce_chain), &s->batch, error));
    *(op::reduce_chain *)s->batch.host = {};
    return op::reduce_begin(&s->own, l, n, staging, error);
}

hr_status step_launch(const step *s, hr_cuda_launch *l, hr_error *error)
{
    HR_TRY(op::reduce_launch(&s->own, error));
    return op::reduce_chains(l, s->batch, 1, error);
}

op::reduce_end end_of(int32_t what, const hr_normalization *m, int64_t count, const float *out)
{
    op::reduce_end end = {};
    end.dst = (char *)out;
    end.what = what;
    end.type = HR_DTYPE_FLOAT64;
    end.to = HR_DTYPE_FLOAT;
    end.count = count;
    end.by = (double)count - m->ddof;
    end.epsilon = m->epsilon;
    end.scale = m->scale;
    return end;
}

// Adds the reductions of one call. `mean`: NULL to compute means; otherwise the values that
// deviations are taken from.
void step_add(step *s, const hr_op_call *c, int32_t i, const float *mean, const float *out,
              double *sums)
{
    const hr_normalization *m = memo(c);
    hr_reduce_kind kind = mean ? HR_REDUCE_DISTANCES : HR_REDUCE_TOTAL;
    int32_t what = mean ? op::REDUCE_END_FACTOR : (int32_t)HR_REDUCTION_END_MEAN;
    op::reduce_end end = end_of(what, m, (int64_t)m->shape.inputs, out);
    if (sums) {
        end.dst = (char *)sums;
        end.what = HR_REDUCTION_END_VALUE;
        end.to = end.type;
    }
    op::reduce_add(&s->own, i, kind, &c->in[0], &m->shape, mean, &end);
}

// A list of floats on the device: the given one, staged, or else memory at `room`.
hr_status find_list(const float *given, size_t n, float *room, hr_staging *staging,
                    const float **out, hr_error *error)
{
    *out = given ? given : room;
    return given ? op::stage_list(out, (int64_t)n, staging, error) : HR_STATUS_OK;
}

void make(record *r, const hr_op_call *c)
{
    const hr_normalization *m = memo(c);
    *r = {};
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->count = op::count(&c->in[0]);
    r->axes = m->shape.count;
    for (int32_t d = 0; d < r->axes; d++) {
        r->extent[d] = (int64_t)m->shape.axes[d].extent;
        r->step[d] = (int64_t)m->shape.axes[d].out_step;
    }
    r->from = c->in[0].dtype;
    r->to = c->out[0].dtype;
    r->shift = m->shift;
}

hr_status check_alike(const hr_op_call *calls, int32_t n, hr_error *error)
{
    char text[256];
    for (int32_t i = 1; i < n; i++) {
        if (!normalization_unlike(calls, i, text, sizeof text))
            continue;
        if (error) {
            error->status = HR_STATUS_ERROR;
            snprintf(error->message, sizeof error->message, "%s", text);
        }
        return HR_STATUS_ERROR;
    }
    return HR_STATUS_OK;
}

struct work {
    hr_cuda_launch *l;
    hr_staging *staging;
    step means, factors;
    hr_staged records;
    double *sums; // per batch: sums of all samples, those of the means before those of the factors
    float *lists; // means and factors, per sample or of the batch
};

hr_status find_room(work *w, const hr_op_call *calls, int32_t n, hr_error *error)
{
    bool batch = memo(&calls[0])->batch;
    size_t sums = 0, lists = 0;
    void *room;
    for (int32_t i = 0; i < n; i++) {
        sums += batch ? memo(&calls[i])->shape.outputs : 0;
        lists += batch && i > 0 ? 0 : 2 * memo(&calls[i])->shape.outputs;
    }
    HR_TRY(w->l->scratch(w->l, sums * sizeof(double) + lists * sizeof(float) + 1, &room, error));
    w->sums = (double *)room;
    w->lists = (float *)(w->sums + sums);
    return HR_STATUS_OK;
}

hr_status add_sample(work *w, const hr_op_call *calls, int32_t i, hr_error *error)
{
    const hr_op_call *c = &calls[i];
    const hr_normalization *m = memo(c);
    record *r = (record *)w->records.host + i;
    size_t n = m->shape.outputs;
    make(r, c);
    if (m->batch && i > 0) {
        r->mean = r[-1].mean;
        r->factor = r[-1].factor;
    } else {
        HR_TRY(find_list(m->mean, n, w->lists, w->staging, &r->mean, error));
        HR_TRY(find_list(m->factor, n, w->lists + n, w->staging, &r->factor, error));
        w->lists += 2 * n;
    }
    double *sums = m->batch ? w->sums + (size_t)i * n : nullptr;
    if (!m->mean)
        step_add(&w->means, c, i, nullptr, r->mean, sums);
    if (!m->factor)
        step_add(&w->factors, c, i, r->mean, r->factor, sums);
    return HR_STATUS_OK;
}

// Makes the batch's means and factors from the samples' sums.
void join(work *w, const hr_op_call *calls, int32_t n)
{
    const hr_normalization *m = memo(&calls[0]);
    const record *r = (const record *)w->records.host;
    int64_t count = 0, groups = (int64_t)m->shape.outputs;
    for (int32_t i = 0; i < n; i++)
        count += (int64_t)memo(&calls[i])->shape.inputs;
    op::reduce_end mean = end_of(HR_REDUCTION_END_MEAN, m, count, r->mean);
    op::reduce_end factor = end_of(op::REDUCE_END_FACTOR, m, count, r->factor);
    op::reduce_chain *means = (op::reduce_chain *)w->means.batch.host;
    op::reduce_chain *factors = (op::reduce_chain *)w->factors.batch.host;
    if (!m->mean)
        op::reduce_samples(means, w->sums, n, groups, &mean);
    if (!m->factor)
        op::reduce_samples(factors, w->sums, n, groups, &factor);
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    bool batch = memo(&calls[0])->batch;
    work w = {};
    w.l = l;
    w.staging = staging;
    if (batch)
        HR_TRY(check_alike(calls, n, error));
    HR_TRY(find_room(&w, calls, n, error));
    HR_TRY(step_begin(&w.means, l, n, staging, error));
    HR_TRY(step_begin(&w.factors, l, n, staging, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &w.records, error));
    for (int32_t i = 0; i < n; i++)
        HR_TRY(add_sample(&w, calls, i, error));
    if (batch)
        join(&w, calls, n);
    HR_TRY(op::reduce_allocate(&w.means.own, error));
    HR_TRY(op::reduce_allocate(&w.factors.own, error));
    HR_TRY(staging->flush(staging, error));
    HR_TRY(step_launch(&w.means, l, error));
    HR_TRY(step_launch(&w.factors, l, error));
    return op::launch<record>(l, w.records, n, error);
}

} // namespace

HR_CUDA_OP(normalize, "normalize", run);
