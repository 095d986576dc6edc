/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* noise.shot: replaces elements by numbers of the Poisson distribution, times a factor. For UINT8
 * images there are tables of the 256 distributions. */
#include "core/rounding.h"
#include "ops/noise/noise.h"

#define NUMBERS 128       /* in a table: larger ones have no draws at HR_POISSON_SHORT */
#define GUIDES 64         /* parts of the range of draws */
#define TABLE_FROM 0x4000 /* elements for which making tables is worthwhile */

typedef struct noise_shot_args {
    float factor;
} noise_shot_args;

/* The distributions of the values of a byte, of which a worker keeps those of one factor. */
typedef struct shot_tables {
    bool made;
    hr_noise_shot of;
    bool direct[256];            /* the mean is too large for a table */
    uint8_t guide[256][GUIDES];  /* the number of the first draw of a part */
    uint32_t last[256][NUMBERS]; /* the last draw of each number */
    uint8_t result[NUMBERS];     /* the byte for each number */
} shot_tables;

static hr_status shot_local_create(const void *args, void *state, void **local, hr_error *error)
{
    (void)args;
    (void)state;
    *local = hr_calloc(1, sizeof(shot_tables), error);
    return *local ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

/* The same additions as in poisson_short. A number has the draws with u below the sum, if they are
 * not of a smaller number. */
static void table_make(shot_tables *t, int32_t value)
{
    const double mean = (double)((float)value / t->of.factor);
    uint32_t *last = t->last[value];
    double p = hr_exp(-mean), sum = p;
    int32_t guide = 0;

    t->direct[value] = !(mean > 0.0 && mean <= HR_POISSON_SHORT);
    for (int32_t k = 0; k < NUMBERS && !t->direct[value]; k++) {
        double draws = -floor(0.5 - sum * 0x1p32); /* ceil(sum * 2^32 - 0.5): draws of 0 .. k */
        bool all = draws >= 0x1p32 || k == NUMBERS - 1;
        last[k] = all ? UINT32_MAX : draws > 0.0 ? (uint32_t)(draws - 1.0) : 0;
        while (guide < GUIDES && (all || (double)guide * (0x1p32 / GUIDES) < draws))
            t->guide[value][guide++] = (uint8_t)k;
        p *= mean / (double)(k + 1);
        sum += p;
    }
}

static const shot_tables *tables_for(shot_tables *t, const hr_noise_shot *m)
{
    if (t->made && t->of.factor == m->factor)
        return t;
    t->of = *m;
    t->made = true;
    for (int32_t value = 0; value < 256; value++)
        table_make(t, value);
    for (int32_t k = 0; k < NUMBERS; k++)
        t->result[k] = round_byte((float)k * m->factor);
    return t;
}

static void shoot_bytes(const hr_op_call *c, const uint32_t *bits, size_t at, size_t n)
{
    const shot_tables *t = c->local;
    const uint8_t *in = (const uint8_t *)c->in[0].data + at;
    uint8_t *out = (uint8_t *)c->out[0].data + at;

    for (size_t i = 0; i < n; i++) {
        const uint8_t value = in[i];
        const uint32_t draw = bits[i];
        if (t->direct[value]) {
            out[i] = round_byte(shot_of(&t->of, (float)value, draw));
            continue;
        }
        uint32_t k = t->guide[value][draw / (UINT32_MAX / GUIDES + 1)];
        while (draw > t->last[value][k])
            k++;
        out[i] = t->result[k];
    }
}

static void shoot(const hr_op_call *c, const uint32_t *bits, size_t at, size_t n)
{
    const hr_dtype type = c->in[0].dtype;
    const size_t size = hr_dtype_size(type);
    float value[HR_NOISE_TILE];

    hr_convert(value, HR_DTYPE_FLOAT, (const uint8_t *)c->in[0].data + at * size, type, n);
    for (size_t i = 0; i < n; i++)
        value[i] = shot_of(c->memo, value[i], bits[i]);
    hr_convert((uint8_t *)c->out[0].data + at * size, type, value, HR_DTYPE_FLOAT, n);
}

static hr_status noise_shot_infer(hr_op_call *c, hr_error *error)
{
    hr_noise_shot *m = hr_arena_alloc(c->arena, sizeof(*m), error);

    HR_TRY_ALLOC(m);
    m->factor = ((const noise_shot_args *)c->args)->factor;
    c->memo = m;
    return hr__noise_infer(c, error);
}

static hr_status noise_shot_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const hr_noise_shot *m = c->memo;
    size_t volume = 0;
    hr_shape_volume(&c->in[0].shape, &volume);
    bool tables =
        c->in[0].dtype == HR_DTYPE_UINT8 && volume >= TABLE_FROM && c->local && m->factor > 0.0f;
    if (tables)
        tables_for(c->local, m);
    hr__noise_tiles(c, volume, tables ? shoot_bytes : shoot);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_noise_shot = {
    HR_OP("noise.shot"),
    .doc = "Simulates the noise of counting single events, such as photons. Every element is "
           "replaced by a random number whose mean is the element. The result is rounded and "
           "saturated to the type of the input.",
    .devices = "cpu|gpu",
    .flags = HR_OP_RANDOM | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(noise_shot_args,
            HR_ARG(noise_shot_args, factor, FLOAT, HR_ARG_PER_SAMPLE, "20.0",
                   "What one event adds: an element x becomes factor times a random number from "
                   "the Poisson distribution with the mean x / factor. 0 or less gives 0.")),
    .in = HR_INPUTS({.name = "data"}),
    .local_create = shot_local_create,
    .local_destroy = hr_free,
    .infer = noise_shot_infer,
    .run = noise_shot_run,
};
