// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// noise.shot. Elements of UINT8 have few means: for each of them, the distribution function is
// computed once, as the draws from which on a number is exceeded, in which elements search.
#include "cuda/ops/noise.cuh"

namespace
{

constexpr int VALUES = 256, NUMBERS = 256;

// The distributions of one factor.
struct table {
    // Of each value: draws below limits[first] give `first`, below limits[end - 1] at most end - 1,
    // and others `end`. `end` is -1 if the mean is too large.
    int16_t first[VALUES], end[VALUES];
    uint32_t limits[VALUES][NUMBERS];
};

struct make_table {
    hr_noise_shot m;
    table *to;
    int64_t count;

    // poisson_short, for all draws.
    HR_DEVICE void fill(double mean, int16_t *first, int16_t *end, uint32_t *limits) const
    {
        double p = mathx_exp(-mean), sum = p, k = 0.0;
        int n = 0;
        *first = 0;
        for (; n < NUMBERS - 1; n++) {
            // the first draw for which noise_unit is not below the sum
            double limit = ceil(sum * 0x1p32 - 0.5);
            if (limit > (double)UINT32_MAX)
                break;
            limits[n] = (uint32_t)limit;
            *first = (int16_t)(limits[n] == 0 ? n + 1 : *first);
            k += 1.0;
            p *= mean / k;
            sum += p;
        }
        *end = (int16_t)n;
    }

    HR_DEVICE void element(int64_t v) const
    {
        double mean = (double)((float)v / m.factor);
        to->first[v] = to->end[v] = 0;
        if (mean > 0.0 && mean <= HR_POISSON_SHORT)
            fill(mean, &to->first[v], &to->end[v], to->limits[v]);
        else if (mean > 0.0 && mean < 0x1p127)
            to->end[v] = -1;
    }
};

struct record : op::noise_record {
    hr_noise_shot m;
    const table *distributions; // NULL: none

    HR_DEVICE uint8_t byte_of(uint8_t v, uint32_t draw) const
    {
        int low = distributions->first[v], high = distributions->end[v];
        const uint32_t *limits = distributions->limits[v];
        if (high < 0)
            return (uint8_t)value_of_float(shot_of(&m, (float)v, draw), HR_DTYPE_UINT8);
        while (low < high) {
            int middle = (low + high) / 2;
            if (draw >= limits[middle])
                low = middle + 1;
            else
                high = middle;
        }
        return (uint8_t)value_of_float((float)low * m.factor, HR_DTYPE_UINT8);
    }

    HR_DEVICE void element(int64_t block) const
    {
        int64_t at = noise_element(block);
        if (at >= elements)
            return;
        uint32_t bits[4];
        int size = value_size(type);
        rng_block(&rng, (uint64_t)block, bits);
        HR_UNROLL
        for (int k = 0; k < 4; k++, at += HR_NOISE_BLOCKS) {
            if (at >= elements)
                continue;
            if (distributions) {
                dst[at] = (char)byte_of((uint8_t)src[at], bits[k]);
                continue;
            }
            float v = value_to_float(value_load(src + at * size, size), type);
            value_store(dst + at * size, size, value_of_float(shot_of(&m, v, bits[k]), type));
        }
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *, hr_error *)
{
    *r = record();
    op::noise_make(r, c, op::count(&c->in[0]));
    r->m = *(const hr_noise_shot *)c->memo;
    return HR_STATUS_OK;
}

// Makes tables for the calls whose elements are UINT8: one for calls with the same factor that
// follow one another, and as many as the room for scratch memory allows.
hr_status add_tables(record *records, make_table *tables, int32_t n, hr_cuda_launch *l,
                     hr_error *error)
{
    int32_t count = 0;
    int32_t most = (int32_t)HR_MIN(l->scratch_limit / sizeof(table), (size_t)n);
    void *room;
    if (n == 0 || most == 0 || records[0].type != HR_DTYPE_UINT8)
        return HR_STATUS_OK;
    for (int32_t i = 0; i < n; i++) {
        if (count == 0 || tables[count - 1].m.factor != records[i].m.factor) {
            if (count == most)
                break;
            tables[count].m = records[i].m;
            tables[count++].count = VALUES;
        }
    }
    HR_TRY(l->scratch(l, (size_t)count * sizeof(table), &room, error));
    for (int32_t i = 0; i < count; i++)
        tables[i].to = (table *)room + i;
    for (int32_t i = 0, k = 0; i < n && k < count; i++) {
        if (tables[k].m.factor != records[i].m.factor && ++k == count)
            break;
        records[i].distributions = tables[k].to;
    }
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged records, tables;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &records, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(make_table), &tables, error));
    memset(tables.host, 0, (size_t)n * sizeof(make_table));
    for (int32_t i = 0; i < n; i++)
        HR_TRY(make((record *)records.host + i, &calls[i], staging, error));
    HR_TRY(add_tables((record *)records.host, (make_table *)tables.host, n, l, error));
    HR_TRY(staging->flush(staging, error));
    HR_TRY((op::launch<make_table, 1>(l, tables, n, error)));
    return op::launch<record>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(noise_shot, "noise.shot", run);
