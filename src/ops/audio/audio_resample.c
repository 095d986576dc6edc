/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* audio_resample: sounds at another sampling rate. */
#include "ops/audio/audio_resample.h"
#include "ops/audio/resample.h"

static bool is_sample(hr_dtype dtype)
{
    return dtype == HR_DTYPE_FLOAT || (hr_dtype_is_integer(dtype) && hr_dtype_size(dtype) <= 4);
}

static hr_status audio_resample_check(const void *args, const hr_given *given, hr_error *error)
{
    const int32_t dtype = ((const audio_resample_args *)args)->dtype;
    const bool in = hr_arg_given(given, "in_rate"), out = hr_arg_given(given, "out_rate");
    const int ways = (in || out) + hr_arg_given(given, "scale") + hr_arg_given(given, "out_length");
    if (dtype >= 0 && !is_sample((hr_dtype)dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "dtype must be an integer type of up to 32 bits or FLOAT, but it is %s",
                       hr_dtype_name((hr_dtype)dtype));
    if (in != out)
        return hr_fail(error, HR_STATUS_ERROR, "`in_rate` and `out_rate` are given together");
    if (ways != 1)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "%s of `in_rate` with `out_rate`, `scale` and `out_length` %s given; exactly "
            "one is needed",
            ways ? "more than one" : "none", ways ? "are" : "is");
    return HR_STATUS_OK;
}

static void audio_resample_destroy(void *state)
{
    hr_free(((hr_resampler *)state)->memory);
    hr_free(state);
}

static hr_status audio_resample_create(const void *args, void **state, hr_error *error)
{
    const double quality = (double)((const audio_resample_args *)args)->quality;
    hr_resampler *r = hr_calloc(1, sizeof(*r), error);
    HR_TRY_ALLOC(r);
    hr_status status = hr__resampler_init(r, quality, error);
    if (status != HR_STATUS_OK)
        hr_free(r);
    else
        *state = r;
    return status;
}

static float most_of(hr_dtype dtype)
{
    return dtype == HR_DTYPE_FLOAT ? 1.0f : (float)hr_dtype_max(dtype);
}

static double step_of(const audio_resample_args *a, int64_t length)
{
    if (a->in_rate == a->in_rate)
        return (double)a->in_rate / (double)a->out_rate;
    return a->scale == a->scale ? 1.0 / (double)a->scale : (double)length / (double)a->out_length;
}

static hr_status length_of(const audio_resample_args *a, int64_t length, int64_t *out,
                           hr_error *error)
{
    const bool by_rates = a->in_rate == a->in_rate, by_scale = a->scale == a->scale;
    if (by_rates && (a->in_rate <= 0.0f || a->out_rate < 0.0f))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`in_rate` is %g and `out_rate` is %g; the first must be positive, the "
                       "second must not be negative",
                       (double)a->in_rate, (double)a->out_rate);
    if (by_scale && a->scale < 0.0f)
        return hr_fail(error, HR_STATUS_ERROR, "`scale` is %g; it must not be negative",
                       (double)a->scale);
    if (by_rates)
        *out = hr__resampled(length, (double)a->in_rate, (double)a->out_rate);
    else if (by_scale)
        *out = hr__resampled(length, 1.0, (double)a->scale);
    else if (a->out_length < 0)
        return hr_fail(error, HR_STATUS_ERROR, "`out_length` is %lld; it must not be negative",
                       (long long)a->out_length);
    else
        *out = a->out_length;
    if (length == 0 && *out > 0)
        return hr_fail(error, HR_STATUS_ERROR, "the input is empty, but %lld samples are asked for",
                       (long long)*out);
    return HR_STATUS_OK;
}

static hr_status audio_resample_infer(hr_op_call *c, hr_error *error)
{
    const audio_resample_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const hr_dtype dtype = a->dtype >= 0 ? (hr_dtype)a->dtype : in->dtype;
    hr_shape shape = in->shape;
    size_t bytes = 0;
    if (!is_sample(in->dtype))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must be of an integer type of up to 32 bits or FLOAT, but it is "
                       "%s",
                       hr_dtype_name(in->dtype));
    if (shape.ndim != 1 && shape.ndim != 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must have one dimension, or two with the channels last, but it "
                       "has %d",
                       (int)shape.ndim);
    HR_TRY(length_of(a, in->shape.extent[0], &shape.extent[0], error));
    hr_tensor_describe(&c->out[0], dtype, shape, in->layout.name);
    if (!hr_tensor_bytes(&c->out[0], &bytes) || bytes > SIZE_MAX / 8)
        return hr_fail(error, HR_STATUS_LIMIT, "the size of the output overflows");
    if (shape.ndim == 2 && shape.extent[1] > INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "the input has more than %d channels", INT32_MAX);
    audio_resampling *r = hr_arena_alloc(c->arena, sizeof(*r), error);
    HR_TRY_ALLOC(r);
    const double step = step_of(a, in->shape.extent[0]);
    *r = (audio_resampling){{0},
                            step,
                            most_of(in->dtype),
                            most_of(dtype),
                            hr_dtype_is_signed(in->dtype),
                            hr_dtype_is_signed(dtype)};
    c->memo = r;
    return hr__resampler_filter(c->state, a->lowpass && shape.extent[0] > 0, step, c->arena,
                                &r->sinc, error);
}

/* The samples of the input as floats: the input itself, if it has them. */
static hr_status load(const hr_op_call *c, size_t n, const float **out, hr_error *error)
{
    const audio_resampling *r = c->memo;
    const hr_dtype from = c->in[0].dtype;
    *out = c->in[0].data;
    if (from == HR_DTYPE_FLOAT && r->to_signed)
        return HR_STATUS_OK;
    float *v = hr_arena_alloc(c->arena, n * sizeof(*v), error);
    HR_TRY_ALLOC(v);
    hr_convert(v, HR_DTYPE_FLOAT, c->in[0].data, from, n);
    for (size_t i = 0; i < n; i++)
        v[i] = audio_resample_load(v[i], r->in_most, r->from_signed, r->to_signed);
    *out = v;
    return HR_STATUS_OK;
}

static hr_status audio_resample_one(hr_op_call *c, hr_error *error)
{
    const hr_shape *in = &c->in[0].shape, *out = &c->out[0].shape;
    const int64_t frames = in->extent[0], count = out->extent[0];
    const int64_t channels = in->ndim == 2 ? in->extent[1] : 1;
    const audio_resampling *r = c->memo;
    const size_t n = (size_t)(count * channels);
    const hr_dtype dtype = c->out[0].dtype;
    const float *src;
    if (n == 0)
        return HR_STATUS_OK;
    HR_TRY(load(c, (size_t)(frames * channels), &src, error));
    float *dst = dtype == HR_DTYPE_FLOAT ? c->out[0].data
                                         : hr_arena_alloc(c->arena, n * sizeof(*dst), error);
    HR_TRY_ALLOC(dst);
    for (int64_t k = 0; k < channels; k++)
        HR_TRY(hr__resample(&r->sinc, c->kernels, src, frames, (int32_t)channels, (int32_t)k,
                            r->step, dst, count, c->arena, error));
    if (dtype == HR_DTYPE_FLOAT)
        return HR_STATUS_OK;
    for (size_t i = 0; i < n; i++)
        dst[i] = audio_resample_scale(dst[i], r->out_most);
    hr_convert(c->out[0].data, dtype, dst, HR_DTYPE_FLOAT, n);
    return HR_STATUS_OK;
}

static hr_status audio_resample_run(hr_op_call *c, hr_error *error)
{
    return audio_resample_one(c, error);
}

const hr_op_def hr_op_audio_resample = {
    HR_OP("audio_resample"),
    .doc = "Resamples audio with a windowed sinc, whose length depends on `quality`. The first "
           "axis is time, a second one the channels. When the rate falls, there is a low-pass "
           "filter only with `lowpass`.",
    .aliases = HR_NAMES("experimental.audio_resample"),
    .devices = "cpu|gpu",
    HR_ARGS(audio_resample_args,
            HR_ARG(audio_resample_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                   "Type of the output, by default that of the input: an integer type of up to 32 "
                   "bits, or FLOAT. Integers use the full range of their type, and floats the "
                   "range from -1 to 1."),
            HR_ARG(audio_resample_args, in_rate, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "Sampling rate of the input, in the unit of `out_rate`."),
            HR_ARG(audio_resample_args, lowpass, BOOL, 0, "False",
                   "Not in DALI. When the rate falls, remove the frequencies that the output "
                   "cannot have, which would otherwise be heard as others (aliasing)."),
            HR_ARG(audio_resample_args, out_length, INT64, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL,
                   NULL, "Number of samples of the output, instead of the rates."),
            HR_ARG(audio_resample_args, out_rate, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "Sampling rate of the output."),
            HR_ARG(audio_resample_args, quality, FLOAT, 0, "50.0",
                   "0 is as good as 3 lobes of a sinc, 50 as 16, 100 as 64.", .min = 0, .max = 100),
            HR_ARG(audio_resample_args, scale, FLOAT, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
                   "The rate of the output divided by that of the input, instead of both.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = audio_resample_check,
    .create = audio_resample_create,
    .destroy = audio_resample_destroy,
    .infer = audio_resample_infer,
    .run = audio_resample_run,
};
