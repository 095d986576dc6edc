/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* bbox_rotate: where boxes are after `rotate` has rotated their image. */
#include "ops/boxes/boxes.h"
#include "ops/image/rotation.h"

#include <math.h>
#include <string.h>

typedef struct bbox_rotate_args {
    float angle, remove_threshold;
    hr_ints input_shape;
    hr_floats size;
    int32_t bbox_normalized, keep_size;
    const char *bbox_layout, *mode, *shape_layout;
} bbox_rotate_args;

static hr_status bbox_rotate_check(const void *args, const hr_given *given, hr_error *error)
{
    const bbox_rotate_args *a = args;

    (void)given;
    if (strcmp(a->bbox_layout, "xyXY") != 0 && strcmp(a->bbox_layout, "xyWH") != 0)
        return hr_fail(error, HR_STATUS_ERROR, "`bbox_layout` is \"%s\"; it must be xyXY or xyWH",
                       a->bbox_layout);
    if (!strchr(a->shape_layout, 'H') || !strchr(a->shape_layout, 'W'))
        return hr_fail(error, HR_STATUS_ERROR, "`shape_layout` is \"%s\"; it must contain H and W",
                       a->shape_layout);
    if (!(a->remove_threshold >= 0.0f && a->remove_threshold < 1.0f))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`remove_threshold` is %g; it must be at least 0 and less than 1",
                       (double)a->remove_threshold);
    return HR_STATUS_OK;
}

/* Width and height of the image and of the canvas. */
typedef struct canvas {
    int64_t in[2], out[2];
} canvas;

static hr_status canvas_make(const bbox_rotate_args *a, const hr_rotation *r, canvas *c,
                             hr_error *error)
{
    const ptrdiff_t w = strchr(a->shape_layout, 'W') - a->shape_layout,
                    h = strchr(a->shape_layout, 'H') - a->shape_layout;
    int32_t alike[3];

    if (a->input_shape.n <= HR_MAX(w, h))
        return hr_fail(error, HR_STATUS_ERROR,
                       "`input_shape` has %d elements, too few for the layout %s",
                       (int)a->input_shape.n, a->shape_layout);
    c->in[0] = a->input_shape.v[w];
    c->in[1] = a->input_shape.v[h];
    if (c->in[0] <= 0 || c->in[1] <= 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`input_shape` contains %lld; extents must be positive",
                       (long long)HR_MIN(c->in[0], c->in[1]));
    if (a->size.n > 0 && a->keep_size)
        return hr_fail(error, HR_STATUS_ERROR, "give only one of `keep_size` and `size`");
    if (a->size.n > 0 && (a->size.n != 2 || !(a->size.v[0] >= 1.0f && a->size.v[0] < 0x1p31f) ||
                          !(a->size.v[1] >= 1.0f && a->size.v[1] < 0x1p31f)))
        return hr_fail(error, HR_STATUS_ERROR, "`size` must have two numbers: height and width");
    hr__rotation_canvas(r, c->in, c->out, alike);
    for (int32_t i = 0; i < 2; i++) {
        c->out[i] += (c->out[i] & 1) != (c->in[alike[i]] & 1);
        if (a->keep_size)
            c->out[i] = c->in[i];
        else if (a->size.n > 0)
            c->out[i] = (int64_t)a->size.v[1 - i];
    }
    return HR_STATUS_OK;
}

/* Rotates a box, left, top, right, bottom in pixels about the centre of the image. */
static hr_box rotate_box(const hr_rotation *r, const hr_box *b, const char *mode)
{
    const float xs[2] = {b->l, b->r}, ys[2] = {b->t, b->b};
    float w = b->r - b->l, h = b->b - b->t;
    hr_box out = {INFINITY, INFINITY, -INFINITY, -INFINITY};

    for (int32_t k = 0; k < 4; k++) { /* by the inverse, which is the transpose */
        float x = r->m[0][0] * xs[k & 1] + r->m[1][0] * ys[k >> 1];
        float y = r->m[0][1] * xs[k & 1] + r->m[1][1] * ys[k >> 1];
        out.l = HR_MIN(out.l, x);
        out.t = HR_MIN(out.t, y);
        out.r = HR_MAX(out.r, x);
        out.b = HR_MAX(out.b, y);
    }
    if (mode[0] == 'e')
        return out;
    float wide = out.r - out.l, high = out.b - out.t;
    float cx = (out.l + out.r) * 0.5f, cy = (out.t + out.b) * 0.5f;
    if ((w > h) != (wide > high)) {
        float swap = w;
        w = h;
        h = swap;
    }
    if (mode[0] == 'h') {
        w = (w + wide) * 0.5f;
        h = (h + high) * 0.5f;
    }
    return (hr_box){cx - w * 0.5f, cy - h * 0.5f, cx + w * 0.5f, cy + h * 0.5f};
}

/* Rotates one box and clips it to the canvas. false if too little of it is left. */
static bool move_box(const bbox_rotate_args *a, const hr_rotation *r, const canvas *c,
                     const float *in, float *out)
{
    const bool sizes = a->bbox_layout[2] == 'W';
    const float w = (float)c->in[0], h = (float)c->in[1], to_w = (float)c->out[0],
                to_h = (float)c->out[1], sx = a->bbox_normalized ? w : 1.0f,
                sy = a->bbox_normalized ? h : 1.0f;
    hr_box b = {in[0] * sx - w * 0.5f, in[1] * sy - h * 0.5f,
                (sizes ? in[0] + in[2] : in[2]) * sx - w * 0.5f,
                (sizes ? in[1] + in[3] : in[3]) * sy - h * 0.5f};

    b = rotate_box(r, &b, a->mode);
    b = (hr_box){b.l + to_w * 0.5f, b.t + to_h * 0.5f, b.r + to_w * 0.5f, b.b + to_h * 0.5f};
    const float area = box_area(&b);
    b = (hr_box){HR_MIN(HR_MAX(b.l, 0.0f), to_w), HR_MIN(HR_MAX(b.t, 0.0f), to_h),
                 HR_MIN(HR_MAX(b.r, 0.0f), to_w), HR_MIN(HR_MAX(b.b, 0.0f), to_h)};
    if (!(box_area(&b) / area >= a->remove_threshold))
        return false;
    const float ox = a->bbox_normalized ? to_w : 1.0f, oy = a->bbox_normalized ? to_h : 1.0f;
    out[0] = b.l / ox;
    out[1] = b.t / oy;
    out[2] = (sizes ? b.r - b.l : b.r) / ox;
    out[3] = (sizes ? b.b - b.t : b.b) / oy;
    return true;
}

/* What infer computes: the boxes that are kept, and where they were. */
typedef struct kept {
    int64_t count;
    float *boxes;
    int32_t *index;
} kept;

static hr_status bbox_rotate_infer(hr_op_call *c, hr_error *error)
{
    const bbox_rotate_args *a = c->args;
    hr_rotation r;
    canvas on;

    HR_TRY(hr__boxes_rows(c, 0, 4, 4, error));
    const int64_t n = c->in[0].shape.extent[0];
    if (c->n_in > 1)
        HR_TRY(hr__boxes_labels(c, 1, n, error));
    if (c->n_in > 1 &&
        (c->in[1].shape.ndim > 2 || (c->in[1].shape.ndim == 2 && c->in[1].shape.extent[1] != 1)))
        return hr_fail(error, HR_STATUS_ERROR, "there must be one label for each box");
    HR_TRY(hr__rotation_make(&r, (double)a->angle, NULL, error));
    HR_TRY(canvas_make(a, &r, &on, error));
    kept *k = hr_arena_alloc(c->arena, sizeof(*k) + (size_t)n * 5 * sizeof(float), error);
    HR_TRY_ALLOC(k);
    *k = (kept){0, (float *)(k + 1), (int32_t *)(k + 1) + 4 * n};
    for (int64_t i = 0; i < n; i++) {
        k->index[k->count] = (int32_t)i;
        k->count +=
            move_box(a, &r, &on, (const float *)c->in[0].data + 4 * i, k->boxes + 4 * k->count);
    }
    const int64_t extents[2] = {k->count, 4};
    hr_tensor_describe(&c->out[0], HR_DTYPE_FLOAT, hr_shape_make(2, extents), NULL);
    if (c->n_in > 1) {
        hr_shape shape = c->in[1].shape;
        shape.extent[0] = k->count;
        hr_tensor_describe(&c->out[1], HR_DTYPE_INT32, shape, NULL);
    }
    c->memo = k;
    return HR_STATUS_OK;
}

static hr_status bbox_rotate_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const kept *k = c->memo;
    memcpy(c->out[0].data, k->boxes, (size_t)k->count * 4 * sizeof(float));
    for (int64_t j = 0; c->n_in > 1 && j < k->count; j++)
        ((int32_t *)c->out[1].data)[j] = ((const int32_t *)c->in[1].data)[k->index[j]];
    return HR_STATUS_OK;
}

static int32_t bbox_rotate_outputs(const void *args, int32_t n_in)
{
    (void)args;
    return n_in;
}

const hr_op_def hr_op_bbox_rotate = {
    HR_OP("bbox_rotate"),
    .doc = "Moves boxes to their positions after `rotate` has rotated their image, and clips them "
           "to the canvas. Boxes that are mostly outside the canvas are removed, together with "
           "their labels.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP | HR_OP_ON_HOST,
    HR_ARGS(
        bbox_rotate_args,
        HR_ARG(bbox_rotate_args, angle, FLOAT, HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE, NULL,
               "Angle in degrees, as for `rotate`."),
        HR_ARG(bbox_rotate_args, input_shape, INTS, HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE, NULL,
               "Shape of the image before the rotation, in the order of `shape_layout`."),
        HR_ARG(bbox_rotate_args, bbox_layout, LAYOUT, 0, "\"xyXY\"",
               "\"xyXY\": boxes are left, top, right, bottom. \"xyWH\": left, top, width, height."),
        HR_ARG(bbox_rotate_args, bbox_normalized, BOOL, 0, "True",
               "True: input coordinates are relative to the image, output coordinates to the "
               "canvas. False: coordinates are in pixels."),
        HR_ARG(
            bbox_rotate_args, keep_size, BOOL, 0, "False",
            "The canvas has the size of the input image, as with the same argument of `rotate`."),
        HR_ARG(bbox_rotate_args, mode, STRING, 0, "\"expand\"",
               "Size of the output boxes. \"expand\": large enough to contain the rotated box. "
               "\"fixed\": the size of the input box. \"halfway\": the mean of these two. With "
               "\"fixed\" and \"halfway\", width and height of the input box are swapped if the "
               "rotation turns a wide box into a tall one, or the reverse.",
               .choices = "expand|halfway|fixed"),
        HR_ARG(bbox_rotate_args, remove_threshold, FLOAT, 0, "0.1",
               "A box is removed if the fraction of its area that lies on the canvas is less than "
               "this. At least 0, less than 1."),
        HR_ARG(bbox_rotate_args, shape_layout, LAYOUT, 0, "\"HW\"",
               "Order of the extents in `input_shape`; it must contain H and W."),
        HR_ARG(bbox_rotate_args, size, FLOATS, HR_ARG_PER_SAMPLE, "[]",
               "Height and width of the canvas, if `rotate` is given a size. Fractions are "
               "truncated.")),
    .in = HR_INPUTS({.name = "bboxes"}, {.name = "labels"}),
    .in_min = 1,
    .out = HR_OUTPUTS({"boxes"}, {"labels"}),
    .outputs = bbox_rotate_outputs,
    .check = bbox_rotate_check,
    .infer = bbox_rotate_infer,
    .run = bbox_rotate_run,
};
