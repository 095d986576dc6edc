/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* multi_paste: regions of several images on one canvas. They come from the inputs, or from
 * samples of the batch. */
#include "ops/pixels/multi_paste.h"
#include "ops/image/pixels.h"

#include <string.h>

#define EACH (HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_OPTIONAL)

static bool is_supported(hr_dtype t)
{
    return t == HR_DTYPE_UINT8 || t == HR_DTYPE_INT16 || t == HR_DTYPE_INT32 || t == HR_DTYPE_FLOAT;
}

static hr_status types_check(const hr_op_call *c, hr_dtype *to, hr_error *error)
{
    const hr_multi_paste_args *a = c->args;
    const hr_dtype from = c->in[0].dtype;
    hr_layout layout;

    HR_TRY(hr_layout_match("HWC|FHWC", &c->in[0].layout, c->in[0].shape.ndim, &layout, error));
    *to = a->dtype == HR_DTYPE_NONE ? from : (hr_dtype)a->dtype;
    if (is_supported(from) && is_supported(*to))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "from %s to %s is not supported; input and output must be UINT8, INT16, "
                   "INT32 or FLOAT",
                   hr_dtype_name(from), hr_dtype_name(*to));
}

/* The canvas: given, or that of the inputs. */
static hr_status canvas_find(hr_multi_paste *m, hr_error *error)
{
    const hr_ints size = m->args->output_size;
    const hr_op_call *c = m->call;

    for (int32_t d = 0; d < 2; d++) {
        m->canvas[d] = size.v && size.n >= 2 ? size.v[d] : c->in[0].shape.extent[m->first + d];
        if (m->canvas[d] < 0 || (size.v && size.n < 2))
            return hr_fail(error, HR_STATUS_ERROR,
                           "`output_size` must be height and width, both at least 0");
        for (int32_t k = 0; k < c->n_in && !size.v; k++)
            if (c->in[k].shape.extent[m->first + d] != m->canvas[d])
                return hr_fail(error, HR_STATUS_ERROR,
                               "If the `output_size` is not specified, all the input samples must "
                               "have the same shape.");
    }
    return hr__pixels_check(c, 1, m->canvas[0], m->canvas[1], error);
}

/* The sources of all regions, separated by semicolons: that of the output. */
static hr_status sources_join(hr_multi_paste *m, hr_op_call *c, hr_error *error)
{
    size_t size = 1, at = 0;

    for (int64_t k = 0; k < m->count; k++) {
        const char *info = multi_paste_source(m, k)->source_info;
        size += info ? strlen(info) + 1 : 0;
    }
    char *text = hr_arena_alloc(c->arena, size, error);
    HR_TRY_ALLOC(text);
    for (int64_t k = 0; k < m->count; k++) {
        const char *info = multi_paste_source(m, k)->source_info;
        if (!info || !info[0])
            continue;
        if (at > 0)
            text[at++] = ';';
        memcpy(text + at, info, strlen(info));
        at += strlen(info);
    }
    text[at] = 0;
    c->source_info = text;
    return HR_STATUS_OK;
}

/* Describes the output of call i, after all checks. */
static hr_status open_call(hr_multi_paste *m, hr_op_call *calls, int32_t n, int32_t i,
                           hr_error *error)
{
    char text[HR_PASTE_TEXT];
    hr_paste_region r;
    hr_dtype to;

    HR_TRY(types_check(&calls[i], &to, error));
    if (!multi_paste_open(m, calls, n, i, text))
        return hr_fail(error, HR_STATUS_ERROR, "%s", text);
    HR_TRY(canvas_find(m, error));
    for (int64_t f = 0; f < m->frames; f++)
        for (int64_t k = 0; k < m->count; k++)
            if (!multi_paste_region(m, f, k, &r, text))
                return hr_fail(error, HR_STATUS_ERROR, "%s", text);
    const int64_t extent[4] = {m->frames, m->canvas[0], m->canvas[1], m->channels};
    bool sequence = m->first > 0;
    hr_shape shape = hr_shape_make(sequence ? 4 : 3, sequence ? extent : extent + 1);
    hr_tensor_describe(&calls[i].out[0], to, shape, sequence ? "FHWC" : "HWC");
    return sources_join(m, &calls[i], error);
}

static void region_paste(const hr_multi_paste *m, const hr_paste_region *r, int64_t frame,
                         const hr_tensor *t, const hr_tensor *out)
{
    size_t from = hr_dtype_size(t->dtype), to = hr_dtype_size(out->dtype);
    size_t channels = (size_t)m->channels, n = (size_t)r->shape[1] * channels;
    const int64_t *extent = t->shape.extent + m->first;

    for (int64_t y = 0; y < r->shape[0] && n > 0; y++) {
        int64_t at = (frame * extent[0] + r->from[0] + y) * extent[1] + r->from[1];
        const char *src = (const char *)t->data + (size_t)at * channels * from;
        int64_t row = (frame * m->canvas[0] + r->to[0] + y) * m->canvas[1] + r->to[1];
        char *dst = (char *)out->data + (size_t)row * channels * to;
        if (t->dtype == out->dtype)
            memcpy(dst, src, n * to);
        else
            hr_convert(dst, out->dtype, src, t->dtype, n);
    }
}

static hr_status paste_all(const hr_multi_paste *m, hr_error *error)
{
    const hr_tensor *out = &m->call->out[0];
    char text[HR_PASTE_TEXT];
    hr_paste_region r;
    size_t bytes;

    if (!hr_tensor_bytes(out, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output is too large");
    if (bytes == 0)
        return HR_STATUS_OK;
    memset(out->data, 0, bytes);
    for (int64_t f = 0; f < m->frames; f++)
        for (int64_t k = 0; k < m->count; k++) {
            if (!multi_paste_region(m, f, k, &r, text))
                return hr_fail(error, HR_STATUS_ERROR, "%s", text);
            region_paste(m, &r, f, multi_paste_source(m, k), out);
        }
    return HR_STATUS_OK;
}

/* ---- the sample's own inputs ---- */

/* With `in_ids`, the output is described already. */
static hr_status multi_paste_infer(hr_op_call *c, hr_error *error)
{
    hr_multi_paste m;

    if (((const hr_multi_paste_args *)c->args)->in_ids.v)
        return HR_STATUS_OK;
    return open_call(&m, c, 1, 0, error);
}

static hr_status multi_paste_run(hr_op_call *c, hr_error *error)
{
    const hr_tensor out = c->out[0];
    hr_multi_paste m;

    HR_TRY(open_call(&m, c, 1, 0, error));
    c->out[0] = out;
    return paste_all(&m, error);
}

/* ---- samples of the batch ---- */

static bool multi_paste_whole(const void *args, const hr_given *given)
{
    (void)args;
    return hr_arg_given(given, "in_ids");
}

static hr_status open_in_batch(hr_multi_paste *m, hr_op_call *calls, int32_t n, int32_t i,
                               hr_error *error)
{
    hr_op_call *c = &calls[i];
    const int64_t *extent = c->in[0].shape.extent, *first = calls[0].in[0].shape.extent;
    hr_layout layout;

    HR_TRY(hr_layout_match("HWC|FHWC", &c->in[0].layout, c->in[0].shape.ndim, &layout, error));
    if (c->n_in != 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "there must be exactly one input if `in_ids` is given");
    if (c->in[0].shape.ndim > 3)
        return hr_fail(error, HR_STATUS_ERROR, "`in_ids` cannot be given for sequences");
    if (!((const hr_multi_paste_args *)c->args)->output_size.v &&
        (extent[0] != first[0] || extent[1] != first[1]))
        return hr_fail(error, HR_STATUS_ERROR,
                       "If the `output_size` is not specified, all the input samples must have "
                       "the same shape.");
    return open_call(m, calls, n, i, error);
}

static hr_status multi_paste_infer_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    hr_multi_paste m;

    for (int32_t i = 0; i < n; i++)
        HR_TRY(open_in_batch(&m, calls, n, i, error));
    return HR_STATUS_OK;
}

static hr_status multi_paste_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        hr_multi_paste m;
        HR_TRY(open_in_batch(&m, calls, n, i, error));
        HR_TRY(hr_task_memory(calls[i].task, 0, &calls[i].out[0], error));
        HR_TRY(paste_all(&m, error));
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_multi_paste = {
    HR_OP("multi_paste"),
    .doc = "Pastes regions of images, one after the other, onto a canvas of zeros. The images are "
           "the inputs or, with `in_ids`, samples of the batch.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    HR_ARGS(
        hr_multi_paste_args,
        HR_ARG(hr_multi_paste_args, in_ids, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
               "Indices of the samples of the batch to paste, in this order. Default: the inputs "
               "of the sample itself are pasted one after the other."),
        HR_ARG(hr_multi_paste_args, output_size, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
               "Height and width of the canvas. Default: those of the inputs, which then must be "
               "equal."),
        HR_ARG(hr_multi_paste_args, in_anchors, INTS, EACH, NULL,
               "Top and left of each region in its source. Default: 0.",
               .excludes = "in_anchors_rel"),
        HR_ARG(hr_multi_paste_args, in_anchors_rel, FLOATS, EACH, NULL,
               "Like `in_anchors`, as fractions of the source's extents. Pixels are rounded down."),
        HR_ARG(hr_multi_paste_args, shapes, INTS, EACH, NULL,
               "Height and width of each region. Default: the region extends to the end of the "
               "source.",
               .excludes = "shapes_rel"),
        HR_ARG(hr_multi_paste_args, shapes_rel, FLOATS, EACH, NULL,
               "Like `shapes`, as fractions of the source's extents. Pixels are rounded up."),
        HR_ARG(hr_multi_paste_args, out_anchors, INTS, EACH, NULL,
               "Top and left of each region on the canvas. Default: 0.",
               .excludes = "out_anchors_rel"),
        HR_ARG(hr_multi_paste_args, out_anchors_rel, FLOATS, EACH, NULL,
               "Like `out_anchors`, as fractions of the extents of the canvas. Pixels are rounded "
               "down."),
        HR_ARG(hr_multi_paste_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
               "Type of the output: UINT8, INT16, INT32 or FLOAT; default: that of the inputs. "
               "Halves are rounded away from zero.")),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|FHWC"}),
    .in_min = 1,
    .in_max = 64,
    .infer = multi_paste_infer,
    .run = multi_paste_run,
    .run_batch = multi_paste_batch,
    .infer_batch = multi_paste_infer_batch,
    .whole_batch = multi_paste_whole,
};
