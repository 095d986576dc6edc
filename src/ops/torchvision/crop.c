/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* _torchvision.crop and crop_boxes: CenterCrop, RandomCrop and Pad of torchvision. With the same
 * seed, boxes get the window of their image. */
#include "image/program.h"
#include "ops/image/pixels.h"
#include "ops/torchvision/rows.h"

typedef struct tv_crop_args {
    hr_ints size, padding;
    int32_t pad_if_needed, random;
    hr_floats fill;
} tv_crop_args;

static const hr_arg_def tv_crop_arg_defs[] = {
    HR_ARG(tv_crop_args, size, INTS, HR_ARG_OPTIONAL, NULL,
           "Height and width of the window; not given: the image with its padding.", .min = 1,
           .max = 2147483647, .count_min = 2, .count_max = 2),
    HR_ARG(tv_crop_args, padding, INTS, 0, "[0, 0, 0, 0]",
           "Pixels added at the left, top, right and bottom.", .min = -2147483647,
           .max = 2147483647, .count_min = 4, .count_max = 4),
    HR_ARG(tv_crop_args, pad_if_needed, BOOL, 0, "False",
           "Whether images smaller than the window are padded."),
    HR_ARG(tv_crop_args, random, BOOL, 0, "False",
           "Whether the position is random; otherwise the window is in the middle."),
    HR_ARG(tv_crop_args, fill, FLOATS, 0, "[0.0]", "Value outside the image, per channel or one.",
           .count_min = 1, .count_max = HR_CHANNELS_MAX),
    HR_ARG_END};

typedef struct span {
    int64_t start, size;
} span;

/* Half of a length that is at least 0, to even. */
static int64_t half_even(int64_t length)
{
    int64_t half = length / 2;
    return half + (length % 2 && half % 2);
}

/* The window along an axis of n elements with `low` and `high` added. */
static hr_status span_make(const hr_op_call *c, int64_t n, int32_t axis, span *s, hr_error *error)
{
    const tv_crop_args *a = c->args;
    int64_t low = a->padding.v[1 - axis], high = a->padding.v[3 - axis], padded = n + low + high;
    int64_t size = a->size.n > 0 ? a->size.v[axis] : padded;

    if (a->size.n > 0 && padded < size && a->pad_if_needed) {
        low += size - padded;
        padded += 2 * (size - padded);
    }
    if (a->random && padded < size)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the window has a %s of %lld pixels, but that of the image with its "
                       "padding is %lld; give `padding` or `pad_if_needed`",
                       axis == 0 ? "height" : "width", (long long)size, (long long)padded);
    if (size < 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "nothing is left of %lld pixels with padding of "
                       "%lld and %lld",
                       (long long)n, (long long)low, (long long)high);
    s->size = size;
    if (a->random)
        s->start = hr_rng_below(&c->rng, 2 * (uint64_t)axis, padded - size + 1) - low;
    else
        s->start = (padded < size ? -((size - padded) / 2) : half_even(padded - size)) - low;
    return HR_STATUS_OK;
}

static hr_status tv_crop_lower(hr_op_call *c, hr_image_program *p, hr_error *error)
{
    const tv_crop_args *a = c->args;
    int64_t h = hr_program_extent(p, 'H'), w = hr_program_extent(p, 'W');
    span y = {0, 0}, x = {0, 0};

    HR_TRY(span_make(c, h, 0, &y, error));
    HR_TRY(span_make(c, w, 1, &x, error));
    HR_TRY(hr__pixels_check(c, 1, y.size, x.size, error));
    bool inside = y.start >= 0 && x.start >= 0 && y.start + y.size <= h && x.start + x.size <= w;
    hr_window window = {y.start, x.start, y.size, x.size};
    return hr_program_crop(p, window, inside ? NULL : a->fill.v, a->fill.n, error);
}

/* torchvision pads, which cuts boxes at the new edges, and then takes the window. */
static hr_status crop_boxes(const hr_op_call *c, hr_box_rows *rows, hr_error *error)
{
    const tv_crop_args *a = c->args;
    int64_t h = hr__rows_height(rows), w = hr__rows_width(rows);
    bool whole = a->size.n == 0, padded = whole;
    span y = {0, 0}, x = {0, 0};

    HR_TRY(span_make(c, h, 0, &y, error));
    HR_TRY(span_make(c, w, 1, &x, error));
    for (int32_t k = 0; k < 4; k++)
        padded = padded || a->padding.v[k] != 0;
    if (a->random && !padded && y.size == h && x.size == w)
        return HR_STATUS_OK;
    hr__rows_window(rows, y.start, x.start, y.size, x.size);
    return HR_STATUS_OK;
}

static hr_status crop_boxes_run(hr_op_call *c, hr_error *error)
{
    return hr__rows_run(c, crop_boxes, error);
}

const hr_op_def hr_op_torchvision_crop_boxes = {
    HR_OP("_torchvision.crop_boxes"),
    .doc = "Moves boxes into the window that crop with the same seed takes.",
    .devices = "cpu",
    .flags = HR_OP_HIDDEN | HR_OP_RANDOM | HR_OP_CHEAP,
    .args = tv_crop_arg_defs,
    .args_size = sizeof(tv_crop_args),
    .in = HR_INPUTS({.name = "boxes", .host = true}),
    .infer = hr__rows_infer,
    .run = crop_boxes_run,
};

const hr_op_def hr_op_torchvision_crop = {
    HR_OP("_torchvision.crop"),
    .doc = "Takes a window in the middle of an image, or anywhere, as torchvision does.",
    .devices = "cpu|gpu",
    .flags = HR_OP_HIDDEN | HR_OP_RANDOM,
    .args = tv_crop_arg_defs,
    .args_size = sizeof(tv_crop_args),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|CHW"}),
    .lower = tv_crop_lower,
    .lower_rank = HR_LOWER_RANK_WINDOW,
};
