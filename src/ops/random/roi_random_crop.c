/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* roi_random_crop: draws the start of a crop within a region, or around it. Dimension d uses draws
 * 2d and 2d + 1. */
#include "core/core.h"
#include "headrace/operator.h"

typedef struct roi_crop_args {
    hr_ints crop_shape, in_shape, roi_end, roi_shape, roi_start;
} roi_crop_args;

static hr_status check_length(hr_ints list, const char *name, int32_t n, hr_error *error)
{
    if (!list.v || list.n == n)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`%s` has %d elements: it must have %d, like `crop_shape`", name, (int)list.n,
                   (int)n);
}

static hr_status roi_crop_infer(hr_op_call *c, hr_error *error)
{
    const roi_crop_args *a = c->args;
    const int64_t n = a->crop_shape.n;

    if (!a->roi_end.v == !a->roi_shape.v)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Either ROI end or ROI shape should be defined, but not both: give one of "
                       "`roi_end` and `roi_shape`");
    HR_TRY(check_length(a->roi_start, "roi_start", a->crop_shape.n, error));
    HR_TRY(check_length(a->roi_end, "roi_end", a->crop_shape.n, error));
    HR_TRY(check_length(a->roi_shape, "roi_shape", a->crop_shape.n, error));
    HR_TRY(check_length(a->in_shape, "in_shape", a->crop_shape.n, error));
    if (a->in_shape.v && c->n_in > 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "``in_shape`` argument is incompatible with providing an input.");
    if (c->n_in > 0 && c->in[0].shape.ndim < n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`crop_shape` has %d elements for an input with %d dimensions", (int)n,
                       (int)c->in[0].shape.ndim);
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT64, hr_shape_make(1, &n), NULL);
    return HR_STATUS_OK;
}

/* The least and the greatest start of the crop along dimension d. */
static hr_status range(const hr_op_call *c, int32_t d, int64_t *low, int64_t *high, hr_error *error)
{
    const roi_crop_args *a = c->args;
    const int64_t start = a->roi_start.v[d], crop = a->crop_shape.v[d];
    const int64_t end = a->roi_end.v ? a->roi_end.v[d] : start + a->roi_shape.v[d];
    const bool inside = end - start >= crop; /* otherwise the crop is around the region */

    *low = inside ? start : end - crop;
    *high = inside ? end - crop : start;
    if (!a->in_shape.v && c->n_in == 0)
        return HR_STATUS_OK;
    const int64_t extent = a->in_shape.v ? a->in_shape.v[d] : c->in[0].shape.extent[d];
    if (extent < 0)
        return hr_fail(error, HR_STATUS_ERROR, "Input shape can't be negative. Got %lld for d=%d",
                       (long long)extent, (int)d);
    if (crop < 0)
        return hr_fail(error, HR_STATUS_ERROR, "Crop shape can't be negative. Got %lld for d=%d",
                       (long long)crop, (int)d);
    if (crop > extent)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Cropping shape can't be bigger than the input shape. Got: "
                       "crop_shape[%lld] and sample_shape[%lld] for d=%d",
                       (long long)crop, (long long)extent, (int)d);
    if (start < 0 || end > extent)
        return hr_fail(error, HR_STATUS_ERROR,
                       "ROI can't be out of bounds. Got roi_start[%lld], roi_end[%lld], "
                       "sample_shape[%lld], for d=%d",
                       (long long)start, (long long)end, (long long)extent, (int)d);
    *low = HR_MAX(*low, 0);
    *high = HR_MIN(*high, extent - crop);
    return HR_STATUS_OK;
}

static hr_status roi_crop_run(hr_op_call *c, hr_error *error)
{
    const int32_t dims = ((const roi_crop_args *)c->args)->crop_shape.n;
    int64_t *out = c->out[0].data, low, high;
    for (int32_t d = 0; d < dims; d++) {
        HR_TRY(range(c, d, &low, &high, error));
        for (int32_t k = 0; k < c->count; k++)
            out[k * dims + d] = low;
        for (int32_t k = 0; k < c->count && high > low; k++)
            out[k * dims + d] += hr_rng_below(&c->rngs[k], 2 * (uint64_t)d, high - low + 1);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_roi_random_crop = {
    HR_OP("roi_random_crop"),
    .doc = "Draws the start of a crop so that the crop is within a region of interest. In "
           "dimensions where the crop is larger than the region, it contains the whole region.",
    .devices = "cpu",
    .flags = HR_OP_RANDOM | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(roi_crop_args,
            HR_ARG(roi_crop_args, crop_shape, INTS, HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE, NULL,
                   "Extents of the crop."),
            HR_ARG(roi_crop_args, in_shape, INTS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE, NULL,
                   "Extents of the tensor to crop; the crop stays inside. Cannot be given together "
                   "with an input, whose extents are used otherwise."),
            HR_ARG(roi_crop_args, roi_end, INTS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE, NULL,
                   "End of the region, exclusive. Either this or `roi_shape` is required."),
            HR_ARG(roi_crop_args, roi_shape, INTS, HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE, NULL,
                   "Extents of the region."),
            HR_ARG(roi_crop_args, roi_start, INTS, HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE, NULL,
                   "Start of the region.")),
    .in = HR_INPUTS({.name = "data"}),
    .in_max = 1,
    .out = HR_OUTPUTS({"start"}),
    .infer = roi_crop_infer,
    .run = roi_crop_run,
};
