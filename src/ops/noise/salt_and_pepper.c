/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* noise.salt_and_pepper: replaces a few pixels or elements by one of two values. */
#include "ops/common/wrap.h"
#include "ops/noise/noise.h"

#include <math.h>
#include <string.h>

typedef struct salt_pepper_args {
    float prob, salt_vs_pepper, salt_val, pepper_val;
    int32_t per_channel;
} salt_pepper_args;

/* The number of draws that are below a probability. */
static uint64_t draws_below(double probability)
{
    return (uint64_t)-floor(-probability * 0x1p32);
}

static hr_status find_channels(const hr_op_call *c, hr_salt_pepper *m, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int32_t last = in->shape.ndim - 1;
    const bool named = in->layout.name[0] != '\0';
    int32_t at = named ? hr_layout_find(&in->layout, 'C') : last;
    size_t volume = 0;

    if (!hr_shape_volume(&in->shape, &volume))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    *m = (hr_salt_pepper){
        .pixels = (int64_t)volume, .channels = 1, .pixel_step = 1, .channel_step = 1};
    if (((const salt_pepper_args *)c->args)->per_channel || last < 0)
        return HR_STATUS_OK;
    if (at != 0 && at != last)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the layout is \"%s\"; the channels, C, must be the first or the last "
                       "dimension unless `per_channel` is set",
                       in->layout.name);
    m->channels = in->shape.extent[at];
    m->pixels = m->channels ? m->pixels / m->channels : 0;
    m->pixel_step = at == last ? m->channels : 1;
    m->channel_step = at == last ? 1 : m->pixels;
    return HR_STATUS_OK;
}

static hr_status salt_pepper_infer(hr_op_call *c, hr_error *error)
{
    const salt_pepper_args *a = c->args;
    const hr_dtype type = c->in[0].dtype;
    const bool whole = hr_dtype_is_integer(type);
    hr_salt_pepper *m = hr_arena_alloc(c->arena, sizeof(*m), error);

    HR_TRY_ALLOC(m);
    HR_TRY(hr__noise_infer(c, error));
    HR_TRY(find_channels(c, m, error));
    const double salt = whole ? hr_dtype_max(type) : 1.0,
                 pepper = whole ? hr_dtype_min(type) : -1.0;
    hr_convert(&m->salt, type, &salt, HR_DTYPE_FLOAT64, 1);
    hr_convert(&m->pepper, type, &pepper, HR_DTYPE_FLOAT64, 1);
    if (!isnan(a->salt_val))
        hr__value_cut(a->salt_val, type, &m->salt);
    if (!isnan(a->pepper_val))
        hr__value_cut(a->pepper_val, type, &m->pepper);
    m->noise_below = draws_below((double)a->prob);
    m->salt_below = draws_below((double)a->prob * (double)a->salt_vs_pepper);
    c->memo = m;
    return HR_STATUS_OK;
}

static void sprinkle(const hr_op_call *c, const uint32_t *bits, size_t at, size_t n)
{
    const hr_salt_pepper *m = c->memo;
    const size_t size = hr_dtype_size(c->in[0].dtype), step = (size_t)m->pixel_step * size;
    uint8_t *out = (uint8_t *)c->out[0].data + at * step;

    for (size_t i = 0; i < n; i++) {
        if (bits[i] >= m->noise_below)
            continue;
        const void *value = bits[i] < m->salt_below ? &m->salt : &m->pepper;
        for (int64_t k = 0; k < m->channels; k++)
            memcpy(out + i * step + (size_t)(k * m->channel_step) * size, value, size);
    }
}

static hr_status salt_pepper_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    size_t bytes = 0;
    hr_tensor_bytes(&c->in[0], &bytes);
    if (bytes > 0)
        memcpy(c->out[0].data, c->in[0].data, bytes);
    hr__noise_tiles(c, (size_t)((const hr_salt_pepper *)c->memo)->pixels, sprinkle);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_noise_salt_and_pepper = {
    HR_OP("noise.salt_and_pepper"),
    .doc = "Replaces random pixels by salt (white) or pepper (black).",
    .devices = "cpu|gpu",
    .flags = HR_OP_RANDOM | HR_OP_SEQUENCE | HR_OP_VOLUMETRIC,
    HR_ARGS(salt_pepper_args,
            HR_ARG(salt_pepper_args, prob, FLOAT, HR_ARG_PER_SAMPLE, "0.05",
                   "Probability that a pixel is replaced.", .min = 0, .max = 1),
            HR_ARG(salt_pepper_args, salt_vs_pepper, FLOAT, HR_ARG_PER_SAMPLE, "0.5",
                   "Probability that a replaced pixel is salt.", .min = 0, .max = 1),
            HR_ARG(salt_pepper_args, salt_val, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "Value of salt, truncated and wrapped to the type of the input. Default: the "
                   "greatest value of an integer type, 1.0 for FLOAT."),
            HR_ARG(salt_pepper_args, pepper_val, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "Value of pepper. Default: the least value of an integer type, -1.0 for FLOAT."),
            HR_ARG(salt_pepper_args, per_channel, BOOL, 0, "False",
                   "True: each element is replaced independently. False: each pixel is, with all "
                   "its channels. Channels are the first or the last dimension (the last one if "
                   "there is no layout).")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = salt_pepper_infer,
    .run = salt_pepper_run,
};
