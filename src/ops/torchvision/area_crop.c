/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.area_crop and area_crop_boxes: the window of torchvision's RandomResizedCrop. With
 * the same seed, boxes get that of their image. */
#include "ops/torchvision/area.h"
#include "ops/torchvision/rows.h"

enum { ATTEMPTS = 10, POSITION_DRAWS = 2 * ATTEMPTS };

/* The largest window in the middle whose ratio is in the range. */
static hr_window fall_back(const hr_area_args *a, int64_t h, int64_t w)
{
    double least = (double)a->ratio.v[0], most = (double)a->ratio.v[1];
    double ratio = (double)w / (double)h;
    hr_window window = {.h = h, .w = w};

    if (ratio < least)
        window.h = HR_MIN((int64_t)hr_round((double)w / least), h);
    else if (ratio > most)
        window.w = HR_MIN((int64_t)hr_round((double)h * most), w);
    window.h = HR_MAX(window.h, 1);
    window.w = HR_MAX(window.w, 1);
    window.y = (h - window.h) / 2;
    window.x = (w - window.w) / 2;
    return window;
}

static hr_status draw(const hr_op_call *c, int64_t h, int64_t w, hr_window *window, hr_error *error)
{
    const hr_area_args *a = c->args;

    if (h < 1 || w < 1)
        return hr_fail(error, HR_STATUS_ERROR, "an image without pixels has no windows");
    for (int64_t i = 0; i < ATTEMPTS; i++) {
        double width = 0.0, height = 0.0;
        hr__area_draw(a, &c->rng, i, (double)h * (double)w, &width, &height);
        if (!(width > 0.0 && width <= (double)w && height > 0.0 && height <= (double)h))
            continue;
        *window = (hr_window){.h = (int64_t)height, .w = (int64_t)width};
        window->y = hr_rng_below(&c->rng, POSITION_DRAWS, h - window->h + 1);
        window->x = hr_rng_below(&c->rng, POSITION_DRAWS + 2, w - window->w + 1);
        return HR_STATUS_OK;
    }
    *window = fall_back(a, h, w);
    return HR_STATUS_OK;
}

static hr_status area_crop_lower(hr_op_call *c, hr_image_program *p, hr_error *error)
{
    hr_window window;

    HR_TRY(draw(c, hr_program_extent(p, 'H'), hr_program_extent(p, 'W'), &window, error));
    return hr_program_crop(p, window, NULL, 0, error);
}

static hr_status area_crop_boxes(const hr_op_call *c, hr_box_rows *rows, hr_error *error)
{
    hr_window window;

    HR_TRY(draw(c, hr__rows_height(rows), hr__rows_width(rows), &window, error));
    hr__rows_window(rows, window.y, window.x, window.h, window.w);
    return HR_STATUS_OK;
}

static hr_status area_crop_boxes_run(hr_op_call *c, hr_error *error)
{
    return hr__rows_run(c, area_crop_boxes, error);
}

const hr_op_def hr_op_torchvision_area_crop = {
    HR_OP("_torchvision.area_crop"),
    .doc = "Takes a window of random area and ratio, as torchvision's RandomResizedCrop does.",
    .devices = "cpu|gpu",
    .flags = HR_OP_HIDDEN | HR_OP_RANDOM,
    HR_ARGS(hr_area_args, HR_AREA_ARG_DEFS),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|CHW"}),
    .lower = area_crop_lower,
    .lower_rank = HR_LOWER_RANK_WINDOW,
};

const hr_op_def hr_op_torchvision_area_crop_boxes = {
    HR_OP("_torchvision.area_crop_boxes"),
    .doc = "Moves boxes into the window that area_crop with the same seed takes.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_RANDOM | HR_OP_CHEAP,
    HR_ARGS(hr_area_args, HR_AREA_ARG_DEFS),
    .in = HR_INPUTS({.name = "boxes", .host = true}),
    .infer = hr__rows_infer,
    .run = area_crop_boxes_run,
};
