/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* sphere, water and jitter: pixels taken from positions that follow from a formula. nvcc compiles
 * this header, too. */
#pragma once

#include "core/rng_inline.h"
#include "core/rounding.h"
#include "headrace/operator.h"
#include "kernels/gather.h"

typedef enum hr_displace_kind {
    HR_DISPLACE_KIND_NONE, /* a copy */
    HR_DISPLACE_KIND_SPHERE,
    HR_DISPLACE_KIND_WATER,
    HR_DISPLACE_KIND_JITTER
} hr_displace_kind;

/* The arguments that all of them have come first in their structs. */
typedef struct hr_displace_args {
    float fill_value;
    int32_t interp_type, mask;
} hr_displace_args;

/* Describes the arguments of a struct that begins with them. */
#define HR_DISPLACE_ARG_DEFS                                                                       \
    HR_ARG(hr_displace_args, fill_value, FLOAT, 0, "0.0",                                          \
           "Value of pixels that come from outside the image."),                                   \
        HR_ARG(hr_displace_args, interp_type, INTERP, 0, "INTERP_NN",                              \
               "INTERP_NN or INTERP_LINEAR."),                                                     \
        HR_ARG(hr_displace_args, mask, INT, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, "1",              \
               "Per sample: 0 leaves the image unchanged. A constant has no effect.")

typedef struct hr_displace {
    hr_gather_spec gather; /* of two axes, with a fill */
    hr_displace_kind kind;
    int32_t channels;
    bool is_float; /* otherwise UINT8 */
    /* WATER: x from row y, y from column x. On a device if the image is there. */
    const float *shift_x, *shift_y;
    int32_t degree; /* JITTER */
    hr_rng rng;
} hr_displace;

/* The position in the source of pixel (x, y); a pixel's corner is at integers. */
HR_SHARED void displace_position(const hr_displace *d, int32_t x, int32_t y, float *p)
{
    if (d->kind == HR_DISPLACE_KIND_WATER) {
        p[0] = (float)x + d->shift_x[y];
        p[1] = (float)y + d->shift_y[x];
        return;
    }
    float mid_x = (float)d->gather.in[0] * 0.5f, mid_y = (float)d->gather.in[1] * 0.5f;
    float from_x = (float)x + 0.5f - mid_x, from_y = (float)y + 0.5f - mid_y;
    float radius = (float)(int32_t)(mid_x > mid_y ? mid_x : mid_y);
    float part = sqrtf(from_x * from_x + from_y * from_y) / radius;
    p[0] = mid_x + part * from_x;
    p[1] = mid_y + part * from_y;
}

HR_SHARED float displace_read(const hr_displace *d, const void *src, int64_t offset, int32_t c)
{
    if (offset < 0)
        return d->gather.fill;
    return d->is_float ? ((const float *)src)[offset + c]
                       : (float)((const uint8_t *)src)[offset + c];
}

/* One element of the output at position p. Positions that are not numbers give the fill. */
HR_SHARED float displace_sample(const hr_displace *d, const void *src, const float *p, int32_t c)
{
    const int64_t step[3] = {d->channels, d->channels * d->gather.in[0], 0};
    const float far = 1e9f;
    int64_t tap[8];
    float part[3], v[8];

    if (!(p[0] > -far && p[0] < far && p[1] > -far && p[1] < far))
        return d->gather.fill;
    int32_t n = gather_taps(&d->gather, step, p, tap, part);
    for (int32_t k = 0; k < n; k++)
        v[k] = displace_read(d, src, tap[k], c);
    return gather_blend(v, part, n);
}

/* Channel c of pixel (x, y) of the output from a pixel at most degree / 2 away; edges repeat. */
HR_SHARED float displace_by(const hr_displace *d, const void *src, int64_t x, int64_t y, int32_t c,
                            const uint32_t *draw)
{
    x += rng_scale((uint64_t)draw[0] << 32, d->degree) - d->degree / 2;
    y += rng_scale((uint64_t)draw[1] << 32, d->degree) - d->degree / 2;
    x = x < 0 ? 0 : x >= d->gather.in[0] ? d->gather.in[0] - 1 : x;
    y = y < 0 ? 0 : y >= d->gather.in[1] ? d->gather.in[1] - 1 : y;
    return displace_read(d, src, (y * d->gather.in[0] + x) * d->channels, c);
}

/* Element `at` of the output. */
HR_SHARED float displace_jitter(const hr_displace *d, const void *src, int64_t at)
{
    int64_t c = at % d->channels, pixel = at / d->channels;
    uint32_t bits[4];

    rng_block(&d->rng, (uint64_t)at / 2, bits);
    return displace_by(d, src, pixel % d->gather.in[0], pixel / d->gather.in[0], (int32_t)c,
                       bits + (at & 1) * 2);
}

/* Makes the memo and describes the output; a memo of the kind NONE where the mask is 0. */
hr_status hr__displace_infer(hr_op_call *c, const hr_displace_args *a, hr_displace_kind kind,
                             hr_displace **out, hr_error *error);
hr_status hr__displace_check(const hr_displace_args *a, hr_error *error);
/* `create` of the operators, whose args begin with hr_displace_args: the state tells whether masks
 * are given per sample. */
hr_status hr__displace_create(const void *args, void **state, hr_error *error);
void hr__displace_destroy(void *state);
hr_status hr__displace_run(hr_op_call *c, hr_error *error);
