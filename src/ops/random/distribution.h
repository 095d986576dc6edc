/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Numbers from draws of 32 bits, on the CPU and on the GPU, and the memos that infer leaves for
 * both. */
#pragma once

#include "core/rng_inline.h"
#include "ops/random/gauss.h"

/* ---- random.coin_flip: one draw per element ---- */

typedef struct hr_coin_flip {
    double below; /* 2^32 times the probability */
} hr_coin_flip;

HR_SHARED bool coin_flip_of(const hr_coin_flip *m, uint32_t bits)
{
    return (double)bits < m->below;
}

/* ---- random.uniform: one draw per element, or two with a list ---- */

typedef struct hr_uniform {
    hr_floats values; /* the list, if there is one */
    float low, high;
    double wide_low, wide_high; /* for types other than FLOAT */
} hr_uniform;

/* In single precision: [0, 1) in 24 bits, scaled. */
HR_SHARED float uniform_float(const hr_uniform *m, uint32_t bits)
{
    float x = m->low + (float)(bits >> 8) * 0x1p-24f * (m->high - m->low);

    return x < m->high ? x : m->low; /* rounding may reach the end, which is excluded */
}

HR_SHARED double uniform_double(const hr_uniform *m, uint32_t bits)
{
    return m->wide_low + bits * 0x1p-32 * (m->wide_high - m->wide_low);
}

HR_SHARED float uniform_value(const hr_uniform *m, const uint32_t *bits)
{
    return m->values.v[rng_scale((uint64_t)bits[0] << 32 | bits[1], m->values.n)];
}

/* ---- random.normal: one draw per element, or two for FLOAT64 ---- */

typedef struct hr_normal {
    double mean, stddev;
} hr_normal;

/* In the middle of intervals, so that it is never 0: (bits + 0.5) / 2^32, without a conversion. */
HR_SHARED double normal_uniform(uint32_t bits)
{
    return bits_as_f64(UINT64_C(0x3ff) << 52 | (uint64_t)bits << 20 | UINT64_C(1) << 19) - 1.0;
}

HR_SHARED double normal_uniform_fine(const uint32_t *bits)
{
    uint64_t wide = (uint64_t)bits[0] << 20 | bits[1] >> 12;

    return ((double)wide + 0.5) * 0x1p-52;
}

HR_SHARED double normal_scaled(const hr_normal *m, double z)
{
    return m->mean + m->stddev * z;
}

HR_SHARED double normal_of(const hr_normal *m, uint32_t bits)
{
    return normal_scaled(m, gauss_of(normal_uniform(bits)));
}

HR_SHARED double normal_fine(const hr_normal *m, const uint32_t *bits)
{
    return normal_scaled(m, gauss_of(normal_uniform_fine(bits)));
}
