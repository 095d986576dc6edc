/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* multi_paste: regions of several pictures on one canvas. They come from the inputs, or from
 * samples of the batch. */
#include "core/core.h"
#include "headrace/operator.h"
#include "ops/image/pixels.h"

#include <math.h>
#include <string.h>

typedef struct multi_paste_args {
    hr_ints in_ids, output_size, in_anchors, out_anchors, shapes;
    hr_floats in_anchors_rel, out_anchors_rel, shapes_rel;
    int32_t dtype;
} multi_paste_args;

#define EACH (HR_ARG_PER_SAMPLE | HR_ARG_PER_FRAME | HR_ARG_OPTIONAL)

static const hr_arg_def multi_paste_arg_defs[] = {
    HR_ARG(multi_paste_args, in_ids, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
           "Indices of the samples of the batch to paste, in this order. Default: the inputs "
           "of the sample itself are pasted one after the other."),
    HR_ARG(multi_paste_args, output_size, INTS, HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL, NULL,
           "Height and width of the canvas. Default: those of the inputs, which then must be "
           "equal."),
    HR_ARG(multi_paste_args, in_anchors, INTS, EACH, NULL,
           "Top and left of each region in its source. Default: 0.", .excludes = "in_anchors_rel"),
    HR_ARG(multi_paste_args, in_anchors_rel, FLOATS, EACH, NULL,
           "Like `in_anchors`, as fractions of the source's extents. Pixels are rounded down."),
    HR_ARG(multi_paste_args, shapes, INTS, EACH, NULL,
           "Height and width of each region. Default: the region extends to the end of the "
           "source.",
           .excludes = "shapes_rel"),
    HR_ARG(multi_paste_args, shapes_rel, FLOATS, EACH, NULL,
           "Like `shapes`, as fractions of the source's extents. Pixels are rounded up."),
    HR_ARG(multi_paste_args, out_anchors, INTS, EACH, NULL,
           "Top and left of each region on the canvas. Default: 0.", .excludes = "out_anchors_rel"),
    HR_ARG(multi_paste_args, out_anchors_rel, FLOATS, EACH, NULL,
           "Like `out_anchors`, as fractions of the extents of the canvas. Pixels are rounded "
           "down."),
    HR_ARG(multi_paste_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
           "Type of the output: UINT8, INT16, INT32 or FLOAT; default: that of the inputs. Halves "
           "are rounded away from zero."),
    HR_ARG_END};

/* What is pasted into one sample. */
typedef struct job {
    const multi_paste_args *args;
    const hr_tensor **sources;
    int64_t count, frames;
    int32_t first; /* the dimension of the height */
    int64_t canvas[2], channels;
    hr_dtype from, to;
} job;

typedef struct region {
    int64_t from[2], to[2], shape[2];
} region;

static bool is_supported(hr_dtype t)
{
    return t == HR_DTYPE_UINT8 || t == HR_DTYPE_INT16 || t == HR_DTYPE_INT32 || t == HR_DTYPE_FLOAT;
}

/* Type, frames and channels; the sources must agree in them. */
static hr_status sources_check(job *j, const hr_tensor *own, hr_error *error)
{
    hr_layout layout;

    HR_TRY(hr_layout_match("HWC|FHWC", &own->layout, own->shape.ndim, &layout, error));
    j->first = own->shape.ndim - 3;
    j->frames = j->first > 0 ? own->shape.extent[0] : 1;
    j->channels = own->shape.extent[own->shape.ndim - 1];
    j->from = own->dtype;
    j->to = j->args->dtype == HR_DTYPE_NONE ? own->dtype : (hr_dtype)j->args->dtype;
    if (!is_supported(j->from) || !is_supported(j->to))
        return hr_fail(error, HR_STATUS_ERROR,
                       "from %s to %s is not supported; input and output must be UINT8, INT16, "
                       "INT32 or FLOAT",
                       hr_dtype_name(j->from), hr_dtype_name(j->to));
    for (int64_t k = 0; k < j->count; k++) {
        const hr_tensor *t = j->sources[k];
        if (t->dtype != j->from || t->shape.ndim != own->shape.ndim)
            return hr_fail(error, HR_STATUS_ERROR,
                           "all inputs must have the same type and number of dimensions");
        if (j->first > 0 && t->shape.extent[0] != j->frames)
            return hr_fail(error, HR_STATUS_ERROR,
                           "all inputs must have the same number of frames");
        int64_t channels = t->shape.extent[t->shape.ndim - 1];
        if (k > 0 && channels != j->channels)
            return hr_fail(error, HR_STATUS_ERROR,
                           "regions with %lld and with %lld channels cannot be pasted into one "
                           "picture",
                           (long long)j->channels, (long long)channels);
        j->channels = channels;
    }
    return HR_STATUS_OK;
}

/* The canvas: given, or that of the inputs. */
static hr_status canvas_find(job *j, const hr_op_call *c, hr_error *error)
{
    const hr_ints size = j->args->output_size;

    for (int32_t d = 0; d < 2; d++) {
        j->canvas[d] = size.v && size.n >= 2 ? size.v[d] : c->in[0].shape.extent[j->first + d];
        if (j->canvas[d] < 0 || (size.v && size.n < 2))
            return hr_fail(error, HR_STATUS_ERROR,
                           "`output_size` must be height and width, both at least 0");
        for (int32_t k = 0; k < c->n_in && !size.v; k++)
            if (c->in[k].shape.extent[j->first + d] != j->canvas[d])
                return hr_fail(error, HR_STATUS_ERROR,
                               "without `output_size`, all inputs must have the same size");
    }
    return hr__pixels_check(c, 1, j->canvas[0], j->canvas[1], error);
}

/* The element of a list with two numbers per region, or per frame and region. */
static hr_status element(const job *j, const char *name, int32_t n, int64_t frame, int64_t k,
                         int32_t d, int64_t *at, hr_error *error)
{
    if (n != 2 * j->count && n != 2 * j->count * j->frames)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`%s` has %d elements; it must have 2 for each of %lld regions", name,
                       (int)n, (long long)j->count);
    *at = (n == 2 * j->count ? k : frame * j->count + k) * 2 + d;
    return HR_STATUS_OK;
}

/* `*v` from the absolute list, or from the relative one times `size`; unchanged without both. */
static hr_status value(const job *j, const char *name, hr_ints absolute, hr_floats relative,
                       int64_t size, bool up, int64_t frame, int64_t k, int32_t d, int64_t *v,
                       hr_error *error)
{
    int64_t at = 0;

    if (absolute.v) {
        HR_TRY(element(j, name, absolute.n, frame, k, d, &at, error));
        *v = absolute.v[at];
    } else if (relative.v) {
        HR_TRY(element(j, name, relative.n, frame, k, d, &at, error));
        float factor = relative.v[at];
        if (!(factor >= 0.0f && factor <= 1.0f))
            return hr_fail(error, HR_STATUS_ERROR,
                           "`%s_rel` contains %g; fractions must be from 0 to 1", name,
                           (double)factor);
        double product = (double)((float)size * factor);
        *v = (int64_t)(up ? -floor(-product) : floor(product));
    }
    return HR_STATUS_OK;
}

static hr_status region_find(const job *j, int64_t frame, int64_t k, region *r, hr_error *error)
{
    const multi_paste_args *a = j->args;
    const int64_t *extent = j->sources[k]->shape.extent + j->first;

    for (int32_t d = 0; d < 2; d++) {
        r->from[d] = r->to[d] = 0;
        HR_TRY(value(j, "in_anchors", a->in_anchors, a->in_anchors_rel, extent[d], false, frame, k,
                     d, &r->from[d], error));
        HR_TRY(value(j, "out_anchors", a->out_anchors, a->out_anchors_rel, j->canvas[d], false,
                     frame, k, d, &r->to[d], error));
        r->shape[d] = extent[d] - r->from[d];
        HR_TRY(value(j, "shapes", a->shapes, a->shapes_rel, extent[d], true, frame, k, d,
                     &r->shape[d], error));
        if (r->from[d] < 0 || r->shape[d] < 0 || r->from[d] + r->shape[d] > extent[d])
            return hr_fail(error, HR_STATUS_ERROR,
                           "region %lld is not inside its source: %lld elements from %lld on, of "
                           "%lld",
                           (long long)k, (long long)r->shape[d], (long long)r->from[d],
                           (long long)extent[d]);
        if (r->to[d] < 0 || r->to[d] + r->shape[d] > j->canvas[d])
            return hr_fail(error, HR_STATUS_ERROR,
                           "region %lld is not inside the canvas: %lld elements from %lld on, of "
                           "%lld",
                           (long long)k, (long long)r->shape[d], (long long)r->to[d],
                           (long long)j->canvas[d]);
    }
    return HR_STATUS_OK;
}

static hr_status job_make(job *j, hr_op_call *c, const hr_tensor **sources, int64_t count,
                          hr_error *error)
{
    region r;

    *j = (job){.args = c->args, .sources = sources, .count = count};
    HR_TRY(sources_check(j, &c->in[0], error));
    HR_TRY(canvas_find(j, c, error));
    for (int64_t f = 0; f < j->frames; f++)
        for (int64_t k = 0; k < count; k++)
            HR_TRY(region_find(j, f, k, &r, error));
    const int64_t extent[4] = {j->frames, j->canvas[0], j->canvas[1], j->channels};
    bool sequence = j->first > 0;
    hr_shape shape = hr_shape_make(sequence ? 4 : 3, sequence ? extent : extent + 1);
    hr_tensor_describe(&c->out[0], j->to, shape, sequence ? "FHWC" : "HWC");
    return HR_STATUS_OK;
}

static void region_paste(const job *j, const region *r, int64_t frame, const hr_tensor *t,
                         char *dst)
{
    size_t from = hr_dtype_size(j->from), to = hr_dtype_size(j->to), channels = (size_t)j->channels;
    const int64_t *extent = t->shape.extent + j->first;
    size_t n = (size_t)r->shape[1] * channels;

    for (int64_t y = 0; y < r->shape[0] && n > 0; y++) {
        int64_t at = (frame * extent[0] + r->from[0] + y) * extent[1] + r->from[1];
        const char *src = (const char *)t->data + (size_t)at * channels * from;
        int64_t row = (frame * j->canvas[0] + r->to[0] + y) * j->canvas[1] + r->to[1];
        char *out = dst + (size_t)row * channels * to;
        if (j->from == j->to)
            memcpy(out, src, n * to);
        else
            hr_convert(out, j->to, src, j->from, n);
    }
}

static hr_status job_run(const job *j, hr_tensor *out, hr_error *error)
{
    size_t bytes;
    region r;

    if (!hr_tensor_bytes(out, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output is too large");
    if (bytes == 0)
        return HR_STATUS_OK;
    memset(out->data, 0, bytes);
    for (int64_t f = 0; f < j->frames; f++)
        for (int64_t k = 0; k < j->count; k++) {
            HR_TRY(region_find(j, f, k, &r, error));
            region_paste(j, &r, f, j->sources[k], out->data);
        }
    return HR_STATUS_OK;
}

/* ---- the sample's own inputs ---- */

static hr_status own_job(job *j, hr_op_call *c, hr_error *error)
{
    const hr_tensor **sources = hr_arena_alloc(c->arena, (size_t)c->n_in * sizeof(*sources), error);

    if (!sources)
        return HR_STATUS_NO_MEMORY;
    for (int32_t k = 0; k < c->n_in; k++)
        sources[k] = &c->in[k];
    return job_make(j, c, sources, c->n_in, error);
}

static hr_status multi_paste_infer(hr_op_call *c, hr_error *error)
{
    job j;
    return own_job(&j, c, error);
}

static hr_status multi_paste_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        hr_op_call c = calls[i];
        hr_tensor out = c.out[0], described;
        job j;
        c.out = &described;
        HR_TRY(own_job(&j, &c, error));
        HR_TRY(job_run(&j, &out, error));
    }
    return HR_STATUS_OK;
}

/* ---- samples of the batch ---- */

static bool multi_paste_whole(const void *args, const hr_given *given)
{
    (void)args;
    return hr_arg_given(given, "in_ids");
}

static hr_status batch_one(hr_op_call *calls, int32_t n, int32_t i, hr_error *error)
{
    hr_op_call *c = &calls[i];
    const hr_ints ids = ((const multi_paste_args *)c->args)->in_ids;
    const hr_tensor **sources =
        hr_arena_alloc(c->arena, (size_t)HR_MAX(ids.n, 1) * sizeof(*sources), error);
    hr_layout layout;
    job j;

    if (!sources)
        return HR_STATUS_NO_MEMORY;
    HR_TRY(hr_layout_match("HWC|FHWC", &c->in[0].layout, c->in[0].shape.ndim, &layout, error));
    if (c->n_in != 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "there must be exactly one input if `in_ids` is given");
    if (c->in[0].shape.ndim > 3)
        return hr_fail(error, HR_STATUS_ERROR, "`in_ids` cannot be given for sequences");
    for (int32_t k = 0; k < ids.n; k++) {
        if (ids.v[k] < 0 || ids.v[k] >= n)
            return hr_fail(error, HR_STATUS_ERROR,
                           "`in_ids` contains %d; the batch has the samples 0 to %d", (int)ids.v[k],
                           (int)n - 1);
        sources[k] = &calls[ids.v[k]].in[0];
    }
    HR_TRY(job_make(&j, c, sources, ids.n, error));
    if (!j.args->output_size.v && (c->in[0].shape.extent[0] != calls[0].in[0].shape.extent[0] ||
                                   c->in[0].shape.extent[1] != calls[0].in[0].shape.extent[1]))
        return hr_fail(error, HR_STATUS_ERROR,
                       "without `output_size`, all samples must have the same size");
    HR_TRY(hr_task_memory(c->task, 0, &c->out[0], error));
    return job_run(&j, &c->out[0], error);
}

static hr_status multi_paste_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++)
        HR_TRY(batch_one(calls, n, i, error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_multi_paste = {
    HR_OP_ABI,
    .name = "multi_paste",
    .doc = "Pastes regions of pictures, one after the other, onto a canvas of zeros. The pictures "
           "are the inputs or, with `in_ids`, samples of the batch.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE,
    .args = multi_paste_arg_defs,
    .args_size = sizeof(multi_paste_args),
    .in = HR_INPUTS({.name = "data", .layouts = "HWC|FHWC"}),
    .in_min = 1,
    .in_max = 64,
    .out = HR_OUTPUTS({"output"}),
    .out_count = 1,
    .infer = multi_paste_infer,
    .run_cpu = multi_paste_run,
    .run_batch = multi_paste_batch,
    .whole_batch = multi_paste_whole,
};
