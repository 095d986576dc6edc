/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* segmentation.select_masks: polygons of some masks, and their vertices. */
#include "core/core.h"
#include "headrace/operator.h"

#include <string.h>

typedef struct select_masks_args {
    int32_t reindex_masks;
} select_masks_args;

/* A row of `polygons`. */
typedef struct polygon {
    int32_t mask, start, end;
} polygon;

/* The polygons that infer selects, one per mask. */
typedef struct selection {
    int64_t count;
    polygon *of;
} selection;

static hr_status check_inputs(const hr_op_call *c, hr_error *error)
{
    const hr_tensor *ids = &c->in[0], *polygons = &c->in[1], *vertices = &c->in[2];

    if (ids->dtype != HR_DTYPE_INT32 || ids->shape.ndim != 1)
        return hr_fail(error, HR_STATUS_ERROR, "`mask_ids` must be INT32, with one dimension");
    if (polygons->dtype != HR_DTYPE_INT32 || polygons->shape.ndim != 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`polygons` must be INT32 with two dimensions and three columns");
    if (polygons->shape.extent[1] != 3)
        return hr_fail(error, HR_STATUS_ERROR,
                       "``polygons`` is expected to contain 2D tensors with 3 columns: ``mask_id, "
                       "start_idx, end_idx``. Got %lld columns.",
                       (long long)polygons->shape.extent[1]);
    if (vertices->shape.ndim != 2)
        return hr_fail(error, HR_STATUS_ERROR, "`vertices` must have two dimensions, not %d",
                       (int)vertices->shape.ndim);
    return HR_STATUS_OK;
}

/* Finds the polygon of a mask: the last one, as in DALI. */
static hr_status find(const hr_op_call *c, int32_t mask, polygon *found, hr_error *error)
{
    const polygon *all = c->in[1].data;
    const int64_t vertices = c->in[2].shape.extent[0];

    for (int64_t k = c->in[1].shape.extent[0] - 1; k >= 0; k--) {
        if (all[k].mask != mask)
            continue;
        *found = all[k];
        if (found->start < 0 || found->end > vertices || found->end < found->start)
            return hr_fail(error, HR_STATUS_ERROR,
                           "Vertex index range for mask id %d [%d, %d) is out of bounds. Expected "
                           "to be within the range of available vertices [0, %lld).",
                           (int)mask, (int)found->start, (int)found->end, (long long)vertices);
        return HR_STATUS_OK;
    }
    return hr_fail(error, HR_STATUS_ERROR, "Selected mask_id %d is not present in the input.",
                   (int)mask);
}

static hr_status select_masks_infer(hr_op_call *c, hr_error *error)
{
    HR_TRY(check_inputs(c, error));
    const int32_t *ids = c->in[0].data;
    const int64_t n = c->in[0].shape.extent[0];
    int64_t total = 0;
    selection *s = hr_arena_alloc(c->arena, sizeof(*s) + (size_t)n * sizeof(polygon), error);
    HR_TRY_ALLOC(s);
    *s = (selection){n, (polygon *)(s + 1)};
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < i; k++)
            if (ids[k] == ids[i])
                return hr_fail(error, HR_STATUS_ERROR, "`mask_ids` contains %d more than once",
                               (int)ids[i]);
        HR_TRY(find(c, ids[i], &s->of[i], error));
        total += s->of[i].end - s->of[i].start;
    }
    if (total > INT32_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "the selected masks have %lld vertices",
                       (long long)total);
    const int64_t polygons[2] = {n, 3}, vertices[2] = {total, c->in[2].shape.extent[1]};
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT32, hr_shape_make(2, polygons), NULL);
    hr_tensor_describe(&c->out[1], c->in[2].dtype, hr_shape_make(2, vertices), NULL);
    c->memo = s;
    return HR_STATUS_OK;
}

static hr_status select_masks_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const selection *s = c->memo;
    const bool renumber = ((const select_masks_args *)c->args)->reindex_masks;
    const size_t row = (size_t)c->in[2].shape.extent[1] * hr_dtype_size(c->in[2].dtype);
    polygon *out = c->out[0].data;
    int32_t at = 0;
    for (int64_t k = 0; k < s->count; k++) {
        const polygon *p = &s->of[k];
        out[k] = (polygon){renumber ? (int32_t)k : p->mask, at, at + p->end - p->start};
        memcpy((uint8_t *)c->out[1].data + (size_t)at * row,
               (const uint8_t *)c->in[2].data + (size_t)p->start * row,
               (size_t)(p->end - p->start) * row);
        at = out[k].end;
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_segmentation_select_masks = {
    HR_OP("segmentation.select_masks"),
    .doc = "Selects the polygons of the masks in `mask_ids`, in this order, and their vertices. If "
           "a mask has several polygons, the last one is selected.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP | HR_OP_ON_HOST,
    HR_ARGS(select_masks_args,
            HR_ARG(select_masks_args, reindex_masks, BOOL, 0, "False",
                   "Number the masks in the output by their position in `mask_ids`.")),
    .in = HR_INPUTS({.name = "mask_ids"}, {.name = "polygons"}, {.name = "vertices"}),
    .out = HR_OUTPUTS({"polygons"}, {"vertices"}),
    .infer = select_masks_infer,
    .run = select_masks_run,
};
