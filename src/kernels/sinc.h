/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Another sampling rate by a windowed sinc. The window is a table with HR_SINC_PHASES points from
 * one input sample to the next, between which weights are interpolated. All taps of an output have
 * the same place between two points, so the table is stored by phases: the weights of an output
 * are a mean of two rows. Positions are exact at the beginning of HR_SINC_BLOCK outputs and added
 * up in single precision from there on, as in DALI. The CPU and the GPU share this. */
#pragma once

#include "core/shared.h"

#include <math.h>
#include <stdint.h>

#define HR_SINC_PHASES 32
#define HR_SINC_LANES 8 /* partial sums of an output */
#define HR_SINC_BLOCK 256

typedef struct hr_sinc_filter {
    int32_t lobes;       /* on each side of an output */
    int32_t stride;      /* taps of a phase: 2 * lobes, and zeros up to a multiple of LANES */
    const float *phases; /* HR_SINC_PHASES rows of weights ... */
    const float *steps;  /* ... and what is to be added to them to get to the next row */
} hr_sinc_filter;

/* A signal: `src` begins with `lobes` zeros, and `stride` + LANES zeros follow its samples. */
typedef struct hr_sinc_signal {
    const float *src;
    int64_t samples;
    double step; /* samples from one output to the next */
} hr_sinc_signal;

/* An output between two input samples. Its taps begin at sample `from` of `src`; its weights are
 * `part` of the way from row `row` of the table to the next one. */
typedef struct hr_sinc_place {
    int64_t from;
    int32_t row;
    float part;
} hr_sinc_place;

/* The place of the output `at` samples after sample `whole` of the input. */
HR_SHARED hr_sinc_place hr_sinc_place_of(double whole, float at, int64_t samples)
{
    const double next = -floor(-(double)at), first = whole + next;
    const double phase = (next - (double)at) * HR_SINC_PHASES;
    const int32_t row = (int32_t)phase;
    const hr_sinc_place place = {first < (double)samples ? (int64_t)first : samples, row,
                                 (float)(phase - row)};
    return place;
}

/* Adds partial sums, at all levels and on the GPU in one order. */
HR_SHARED float hr_sinc_sum(const float s[HR_SINC_LANES])
{
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}
