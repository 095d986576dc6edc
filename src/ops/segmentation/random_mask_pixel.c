/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* segmentation.random_mask_pixel: the position of a random element of a mask. */
#include "core/core.h"
#include "headrace/operator.h"

#include <math.h>

#define CHUNK 1024

typedef struct mask_pixel_args {
    int32_t foreground;
    float threshold;
    hr_ints value;
} mask_pixel_args;

static hr_status mask_pixel_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int64_t ndim = in->shape.ndim;
    size_t volume;

    if (in->dtype == HR_DTYPE_FLOAT16 || in->dtype == HR_DTYPE_FLOAT64)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the mask is %s; it must be BOOL, an integer type or FLOAT",
                       hr_dtype_name(in->dtype));
    if (!hr_shape_volume(&in->shape, &volume) || volume == 0)
        return hr_fail(error, HR_STATUS_ERROR, "the mask has no elements to draw from");
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT64, hr_shape_make(1, &ndim), NULL);
    return HR_STATUS_OK;
}

/* The foreground of UINT8 masks: `more` values after `low`. */
typedef struct byte_range {
    bool known;
    uint8_t low, more;
} byte_range;

static byte_range range_of(const mask_pixel_args *a, hr_dtype dtype)
{
    const double least = a->value.v ? (double)a->value.v[0] : floor((double)a->threshold) + 1;
    const double low = least < 0 && a->value.v == NULL ? 0 : least;

    if (dtype != HR_DTYPE_UINT8 || !(low >= 0 && low <= 255))
        return (byte_range){0};
    return (byte_range){true, (uint8_t)low, a->value.v ? 0 : (uint8_t)(255 - low)};
}

static size_t count_bytes(const uint8_t *restrict p, size_t n, byte_range range)
{
    size_t count = 0;

    for (size_t at = 0; at < n; at += UINT8_MAX) { /* a byte holds the number of a part */
        const size_t end = HR_MIN(n, at + UINT8_MAX);
        uint8_t part = 0;
        for (size_t k = at; k < end; k++)
            part = (uint8_t)(part + ((uint8_t)(p[k] - range.low) <= range.more));
        count += part;
    }
    return count;
}

/* Goes through the foreground: returns the position of its element number `stop`, or, if it has
 * fewer, how many it has. */
static size_t walk(const hr_op_call *c, size_t volume, size_t stop)
{
    const mask_pixel_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const size_t size = hr_dtype_size(in->dtype);
    const double wanted = a->value.v ? (double)a->value.v[0] : (double)a->threshold;
    const byte_range range = range_of(a, in->dtype);
    double v[CHUNK];
    size_t seen = 0;

    for (size_t at = 0; at < volume; at += CHUNK) {
        const size_t n = HR_MIN(volume - at, (size_t)CHUNK);
        const uint8_t *data = (const uint8_t *)in->data + at * size;
        size_t here = range.known ? count_bytes(data, n, range) : 0;
        if (range.known && stop - seen >= here) {
            seen += here;
            continue;
        }
        hr_convert(v, HR_DTYPE_FLOAT64, data, in->dtype, n);
        for (size_t k = 0; k < n && !range.known; k++)
            here += a->value.v ? v[k] == wanted : v[k] > wanted;
        if (stop - seen >= here) {
            seen += here;
            continue;
        }
        for (size_t k = 0;; k++) {
            bool is = a->value.v ? v[k] == wanted : v[k] > wanted;
            if (is && seen++ == stop)
                return at + k;
        }
    }
    return seen;
}

static hr_status mask_pixel_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const hr_shape *shape = &c->in[0].shape;
    int64_t *out = c->out[0].data;
    size_t volume, count = 0;
    hr_shape_volume(shape, &volume);
    if (((const mask_pixel_args *)c->args)->foreground)
        count = walk(c, volume, volume);
    int64_t at = hr_rng_below(&c->rng, 0, (int64_t)(count ? count : volume));
    if (count)
        at = (int64_t)walk(c, volume, (size_t)at);
    for (int32_t d = shape->ndim - 1; d >= 0; d--) {
        out[d] = at % shape->extent[d];
        at /= shape->extent[d];
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_segmentation_random_mask_pixel = {
    HR_OP("segmentation.random_mask_pixel"),
    .doc = "Draws the position of an element of a mask, with the same probability for each element "
           "or for each element of the foreground.",
    .devices = "cpu",
    .flags = HR_OP_RANDOM,
    HR_ARGS(
        mask_pixel_args,
        HR_ARG(mask_pixel_args, foreground, INT, HR_ARG_PER_SAMPLE, "0",
               "If not 0, draw among the foreground, or among all elements if there is none. If 0, "
               "draw among all elements."),
        HR_ARG(mask_pixel_args, threshold, FLOAT, HR_ARG_PER_SAMPLE, "0.0",
               "Elements greater than this are foreground. Excludes `value`.", .excludes = "value"),
        HR_ARG(mask_pixel_args, value, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK,
               NULL, "Elements equal to this are foreground.", .count_min = 1, .count_max = 1)),
    .in = HR_INPUTS({.name = "mask"}),
    .out = HR_OUTPUTS({"position"}),
    .infer = mask_pixel_infer,
    .run = mask_pixel_run,
};
