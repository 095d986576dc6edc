/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* power_spectrum: the spectra of whole signals. */
#include "ops/audio/power_spectrum.h"

typedef struct power_args {
    int32_t nfft, axis, power;
} power_args;

static hr_status power_check(const void *args, const hr_given *given, hr_error *error)
{
    const power_args *a = args;
    (void)given;
    if (a->power != 1 && a->power != 2)
        return hr_fail(error, HR_STATUS_ERROR, "`power` is %d; it must be 1 or 2", a->power);
    return HR_STATUS_OK;
}

static int32_t axis_of(const power_args *a, const hr_shape *shape)
{
    return a->axis < 0 ? shape->ndim - 1 : a->axis;
}

/* ---- what a worker keeps: the transform of one size, and a window of ones ---- */

typedef struct plan {
    int32_t size;
    hr_fft *fft;
    float *ones;
} plan;

static hr_status plan_create(const void *args, void *state, void **local, hr_error *error)
{
    (void)args;
    (void)state;
    *local = hr_calloc(1, sizeof(plan), error);
    return *local ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static void plan_clear(plan *p)
{
    hr__fft_destroy(p->fft);
    hr_free(p->ones);
    *p = (plan){0};
}

static void plan_destroy(void *local)
{
    plan_clear(local);
    hr_free(local);
}

static hr_status plan_fit(plan *p, int32_t size, hr_error *error)
{
    if (p->size == size)
        return HR_STATUS_OK;
    plan_clear(p);
    HR_TRY(hr__fft_create(&p->fft, size, error));
    p->ones = hr_calloc((size_t)size, sizeof(*p->ones), error);
    HR_TRY_ALLOC(p->ones);
    for (int32_t i = 0; i < size; i++)
        p->ones[i] = 1.0f;
    p->size = size;
    return HR_STATUS_OK;
}

/* For a device: stages the tables of the transform. */
static hr_status leave_plan(hr_op_call *c, int32_t axis, int32_t size, hr_error *error)
{
    const power_args *a = c->args;
    const hr_shape *shape = &c->in[0].shape;
    plan *p = c->local;
    const void *tables;
    hr_power_spectrum *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    HR_TRY_ALLOC(memo);
    HR_TRY(plan_fit(p, size, error));
    HR_TRY(c->staging->constant(c->staging, p->fft->tables, p->fft->floats * sizeof(float), &tables,
                                error));
    *memo = (hr_power_spectrum){.fft = *p->fft,
                                .outer = 1,
                                .size = shape->extent[axis],
                                .columns = 1,
                                .used = (int32_t)HR_MIN(size, shape->extent[axis]),
                                .result = (hr_fft_result)a->power};
    fft_move(&memo->fft, tables);
    for (int32_t d = 0; d < shape->ndim; d++)
        *(d < axis ? &memo->outer : &memo->columns) *= d == axis ? 1 : shape->extent[d];
    c->memo = memo;
    return HR_STATUS_OK;
}

static hr_status power_infer(hr_op_call *c, hr_error *error)
{
    const power_args *a = c->args;
    hr_shape shape = c->in[0].shape;
    const int32_t axis = axis_of(a, &shape);
    if (c->in[0].dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "the input must be FLOAT, but it is %s",
                       hr_dtype_name(c->in[0].dtype));
    if (shape.ndim < 1 || shape.ndim > 3)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must have 1, 2 or 3 dimensions, but it has %d", (int)shape.ndim);
    if (axis >= shape.ndim)
        return hr_fail(error, HR_STATUS_ERROR, "`axis` is %d, but the input has %d dimensions",
                       a->axis, (int)shape.ndim);
    const int64_t size = a->nfft > 0 ? a->nfft : shape.extent[axis];
    if (size < 1 || size > HR_FFT_MAX_SIZE)
        return hr_fail(error, HR_STATUS_ERROR,
                       "a Fourier transform has 1 .. %d samples, but %lld are asked for",
                       HR_FFT_MAX_SIZE, (long long)size);
    shape.extent[axis] = size / 2 + 1;
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, shape, c->in[0].layout.name);
    return c->staging ? leave_plan(c, axis, (int32_t)size, error) : HR_STATUS_OK;
}

/* ---- spectra ---- */

typedef struct work {
    const float *in;
    float *out;
    int64_t size, bins, columns; /* of the axis, before and after; elements of the axes behind it */
    int64_t used;                /* samples of a signal */
    float *room, *scratch, *norms;
} work;

/* The samples of a signal: in the input itself, or copied to `room` if they are not neighbours. */
static const float *signal_at(const work *w, int64_t signal, float *room)
{
    const float *from = w->in + signal / w->columns * w->size * w->columns + signal % w->columns;
    if (w->columns == 1)
        return from;
    for (int64_t i = 0; i < w->used; i++)
        room[i] = from[i * w->columns];
    return room;
}

static void store(const work *w, int64_t signal, int32_t lane)
{
    float *to = w->out + signal / w->columns * w->bins * w->columns + signal % w->columns;
    for (int64_t i = 0; i < w->bins; i++)
        to[i * w->columns] = w->norms[i * HR_FFT_LANES + lane];
}

static hr_status work_init(work *w, const hr_op_call *c, hr_error *error)
{
    const plan *p = c->local;
    const size_t room = (size_t)w->used * HR_FFT_LANES, norms = (size_t)w->bins * HR_FFT_LANES;
    w->room = hr_arena_alloc(c->arena, room * sizeof(float), error);
    w->scratch = hr_arena_alloc(c->arena, hr__fft_scratch(p->fft) * sizeof(float), error);
    w->norms = hr_arena_alloc(c->arena, norms * sizeof(float), error);
    return w->room && w->scratch && w->norms ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static hr_status power_run(hr_op_call *c, hr_error *error)
{
    const power_args *a = c->args;
    const hr_shape *shape = &c->in[0].shape;
    const int32_t axis = axis_of(a, shape);
    work w = {.in = c->in[0].data,
              .out = c->out[0].data,
              .size = shape->extent[axis],
              .bins = c->out[0].shape.extent[axis],
              .columns = 1};
    const int64_t size = a->nfft > 0 ? a->nfft : w.size;
    int64_t signals = 1;
    w.used = HR_MIN(size, w.size);
    for (int32_t d = 0; d < shape->ndim; d++) {
        signals *= d == axis ? 1 : shape->extent[d];
        w.columns *= d > axis ? shape->extent[d] : 1;
    }
    if (signals == 0)
        return HR_STATUS_OK;
    plan *p = c->local;
    HR_TRY(plan_fit(p, (int32_t)size, error));
    HR_TRY(work_init(&w, c, error));
    for (int64_t first = 0; first < signals; first += HR_FFT_LANES) {
        const float *lanes[HR_FFT_LANES];
        for (int64_t l = 0; l < HR_FFT_LANES; l++)
            lanes[l] =
                first + l < signals ? signal_at(&w, first + l, w.room + l * w.used) : lanes[0];
        hr__fft_norms(p->fft, c->kernels, lanes, p->ones, 0, (int32_t)w.used,
                      (hr_fft_result)a->power, w.scratch, w.norms);
        for (int32_t l = 0; l < HR_MIN(HR_FFT_LANES, signals - first); l++)
            store(&w, first + l, l);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_power_spectrum = {
    HR_OP("power_spectrum"),
    .doc = "The spectra of signals: the magnitudes of their Fourier transforms, or the squares of "
           "these, for frequencies from 0 to half of the sampling rate.",
    .devices = "cpu|gpu",
    HR_ARGS(power_args,
            HR_ARG(power_args, nfft, INT, HR_ARG_OPTIONAL, NULL,
                   "Samples of a transform; 0 or less: as many as the axis has, which is the "
                   "default. A longer signal is cut, a shorter one is followed by zeros."),
            HR_ARG(power_args, axis, INT, 0, "-1",
                   "The axis that is transformed; a negative number means the last one."),
            HR_ARG(power_args, power, INT, 0, "2", "1: magnitudes; 2: their squares.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = power_check,
    .infer = power_infer,
    .run = power_run,
    .local_create = plan_create,
    .local_destroy = plan_destroy,
};
