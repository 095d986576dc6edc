/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* water: the image as if seen through waves. */
#include "core/core.h"
#include "ops/pixels/displace.h"

typedef struct water_args {
    hr_displace_args displace;
    float ampl_x, ampl_y, freq_x, freq_y, phase_x, phase_y;
} water_args;

static hr_status water_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    return hr__displace_check(&((const water_args *)args)->displace, error);
}

/* Moves of rows or columns, as many as any image needed so far: they depend on the arguments only.
 * Shorter lists are kept, since other samples may still be going to use them. */
typedef struct moves {
    struct moves *shorter;
    int64_t count;
    float by[];
} moves;

typedef struct water_local {
    moves *x, *y;
} water_local;

static hr_status water_local_create(const void *args, void *state, void **local, hr_error *error)
{
    (void)args;
    (void)state;
    *local = hr_calloc(1, sizeof(water_local), error);
    return *local ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static void moves_free(moves *m)
{
    for (moves *next; m; m = next) {
        next = m->shorter;
        hr_free(m);
    }
}

static void water_local_destroy(void *local)
{
    water_local *w = local;
    moves_free(w->x);
    moves_free(w->y);
    hr_free(w);
}

/* Makes sure that there are `need` moves in *list. */
static hr_status find_moves(moves **list, int64_t need, double (*wave)(double), float amplitude,
                            float frequency, float phase, hr_error *error)
{
    int64_t count = *list ? (*list)->count : 256;
    if (*list && need <= count)
        return HR_STATUS_OK;
    while (count < need)
        count *= 2;
    moves *m = hr_calloc(1, sizeof(*m) + (size_t)count * sizeof(float), error);
    HR_TRY_ALLOC(m);
    for (int64_t k = 0; k < count; k++)
        m->by[k] = amplitude * (float)wave((double)(frequency * (float)k + phase));
    m->shorter = *list;
    m->count = count;
    *list = m;
    return HR_STATUS_OK;
}

/* The moves as the sample's run finds them, which on a device is after other samples. */
static hr_status give_moves(hr_op_call *c, const moves *m, const float **out, hr_error *error)
{
    const void *device;

    *out = m->by;
    if (!c->staging)
        return HR_STATUS_OK;
    HR_TRY(
        c->staging->constant(c->staging, m->by, (size_t)m->count * sizeof(float), &device, error));
    *out = device;
    return HR_STATUS_OK;
}

static hr_status water_infer(hr_op_call *c, hr_error *error)
{
    const water_args *a = c->args;
    water_local *w = c->local;
    hr_displace *d;

    HR_TRY(hr__displace_infer(c, &a->displace, HR_DISPLACE_KIND_WATER, &d, error));
    HR_TRY(find_moves(&w->x, d->gather.in[1], hr_sin, a->ampl_x, a->freq_x, a->phase_x, error));
    HR_TRY(find_moves(&w->y, d->gather.in[0], hr_cos, a->ampl_y, a->freq_y, a->phase_y, error));
    HR_TRY(give_moves(c, w->x, &d->shift_x, error));
    return give_moves(c, w->y, &d->shift_y, error);
}

const hr_op_def hr_op_water = {
    HR_OP("water"),
    .doc = "Moves rows horizontally by ampl_x * sin(freq_x * y + phase_x), and columns vertically "
           "by ampl_y * cos(freq_y * x + phase_y). The input is UINT8 or FLOAT.",
    .devices = "cpu|gpu",
    HR_ARGS(
        water_args, HR_DISPLACE_ARG_DEFS,
        HR_ARG(water_args, ampl_x, FLOAT, 0, "10.0", "Amplitude of horizontal moves in pixels."),
        HR_ARG(water_args, ampl_y, FLOAT, 0, "10.0", "Amplitude of vertical moves in pixels."),
        HR_ARG(water_args, freq_x, FLOAT, 0, "0.04908738521234052",
               "Change of the horizontal wave's phase from row to row, in radians."),
        HR_ARG(water_args, freq_y, FLOAT, 0, "0.04908738521234052",
               "Change of the vertical wave's phase from column to column, in radians."),
        HR_ARG(water_args, phase_x, FLOAT, 0, "0.0", "Phase of the horizontal wave in radians."),
        HR_ARG(water_args, phase_y, FLOAT, 0, "0.0", "Phase of the vertical wave in radians.")),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC"}),
    .check = water_check,
    .create = hr__displace_create,
    .destroy = hr__displace_destroy,
    .local_create = water_local_create,
    .local_destroy = water_local_destroy,
    .infer = water_infer,
    .run = hr__displace_run,
};
