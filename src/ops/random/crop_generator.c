/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* random_crop_generator: random windows for images whose shapes are data. */
#include "ops/image/random_window.h"

typedef struct crop_generator_args {
    hr_random_window_args random;
} crop_generator_args;

static hr_status crop_generator_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int64_t two = 2;
    char text[128];

    if (!hr_dtype_is_integer(in->dtype) || in->dtype == HR_DTYPE_UINT64 || in->shape.ndim != 1 ||
        (in->shape.extent[0] != 2 && in->shape.extent[0] != 3))
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input has type %s and shape %s; it must be the shape of an image: 2 "
                       "or 3 integers",
                       hr_dtype_name(in->dtype), hr_shape_text(&in->shape, text, sizeof(text)));
    for (int32_t i = 0; i < 2; i++)
        hr_tensor_describe(&c->out[i], HR_DTYPE_INT32, hr_shape_make(1, &two), NULL);
    return HR_STATUS_OK;
}

static hr_status generate(const hr_op_call *c, int32_t k, hr_error *error)
{
    const hr_random_window_args *args = &((const crop_generator_args *)c->args)->random;
    const hr_tensor *in = &c->in[0];
    size_t at = (size_t)k * (size_t)in->shape.extent[0];
    int64_t h = hr_element_int(in->data, in->dtype, at);
    int64_t w = hr_element_int(in->data, in->dtype, at + 1);
    int32_t *anchor = (int32_t *)c->out[0].data + 2 * k, *shape = (int32_t *)c->out[1].data + 2 * k;
    hr_window window = {0};

    if (h > INT32_MAX || w > INT32_MAX)
        return hr_fail(error, HR_STATUS_ERROR, "an image of %lld x %lld pixels is too large",
                       (long long)h, (long long)w);
    if (h > 0 && w > 0)
        HR_TRY(hr__random_window(args, &c->rngs[k], h, w, &window, error));
    anchor[0] = (int32_t)window.y;
    anchor[1] = (int32_t)window.x;
    shape[0] = (int32_t)window.h;
    shape[1] = (int32_t)window.w;
    return HR_STATUS_OK;
}

static hr_status crop_generator_run(hr_op_call *c, hr_error *error)
{
    for (int32_t k = 0; k < c->count; k++)
        HR_TRY(generate(c, k, error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_random_crop_generator = {
    HR_OP("random_crop_generator"),
    .doc = "Draws windows of random area and aspect ratio. The input is the shape of an image: "
           "height, width and optionally channels. The outputs are start and size of the window.",
    .devices = "cpu",
    .flags = HR_OP_RANDOM | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(crop_generator_args, HR_RANDOM_WINDOW_ARG_DEFS(crop_generator_args, random)),
    .in = HR_INPUTS({.name = "shape"}),
    .out = HR_OUTPUTS({"anchor"}, {"shape"}),
    .infer = crop_generator_infer,
    .run = crop_generator_run,
};
