/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.erasing: the window of torchvision's RandomErasing. */
#include "ops/torchvision/area.h"

enum { ATTEMPTS = 10, POSITION_DRAWS = 2 * ATTEMPTS, CHANCE_DRAW = POSITION_DRAWS + 4 };

typedef struct erasing_args {
    hr_area_args area;
    float probability;
} erasing_args;

#define LAYOUTS "HWC|CHW"

static hr_status erasing_infer(hr_op_call *c, hr_error *error)
{
    hr_layout layout;

    HR_TRY(hr_layout_match(LAYOUTS, &c->in[0].layout, c->in[0].shape.ndim, &layout, error));
    for (int32_t i = 0; i < 2; i++)
        hr_tensor_describe(&c->out[i], HR_DTYPE_FLOAT, hr_shape_make(1, &(int64_t){2}), NULL);
    return HR_STATUS_OK;
}

static void draw(const hr_op_call *c, int64_t h, int64_t w, float *anchor, float *shape)
{
    const erasing_args *a = c->args;

    if (!(hr_rng_unit(&c->rng, CHANCE_DRAW) < (double)a->probability))
        return;
    for (int64_t i = 0; i < ATTEMPTS; i++) {
        double height = 0.0, width = 0.0;
        hr__area_draw(&a->area, &c->rng, i, (double)h * (double)w, &height, &width);
        if (!(height < (double)h && width < (double)w))
            continue;
        shape[0] = (float)height;
        shape[1] = (float)width;
        anchor[0] = (float)hr_rng_below(&c->rng, POSITION_DRAWS, h - (int64_t)height + 1);
        anchor[1] = (float)hr_rng_below(&c->rng, POSITION_DRAWS + 2, w - (int64_t)width + 1);
        return;
    }
}

static hr_status erasing_run(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    hr_layout layout;

    HR_TRY(hr_layout_match(LAYOUTS, &in->layout, in->shape.ndim, &layout, error));
    int32_t y = hr_layout_find(&layout, 'H');
    float *anchor = c->out[0].data, *shape = c->out[1].data;
    anchor[0] = anchor[1] = shape[0] = shape[1] = 0.0f;
    draw(c, in->shape.extent[y], in->shape.extent[y + 1], anchor, shape);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_torchvision_erasing = {
    HR_OP("_torchvision.erasing"),
    .doc = "Draws the window that torchvision's RandomErasing erases, possibly an empty one.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_RANDOM | HR_OP_ANYWHERE,
    HR_ARGS(erasing_args, HR_AREA_ARG_DEFS,
            HR_ARG(erasing_args, probability, FLOAT, 0, "0.5", "How often there is a window.",
                   .min = 0.0, .max = 1.0)),
    .in = HR_INPUTS({.name = "data", .layouts = LAYOUTS}),
    .out = HR_OUTPUTS({"anchor"}, {"shape"}),
    .infer = erasing_infer,
    .run = erasing_run,
};
