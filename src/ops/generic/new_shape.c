/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* New shapes for the same bytes. */
#include "ops/generic/new_shape.h"
#include "ops/generic/view.h"

#include <stdio.h>
#include <string.h>

/* "320 x 0" */
static const char *extents_text(const hr_shape *shape, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int32_t i = 0; i < shape->ndim && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld", i ? " x " : "",
                                 (long long)shape->extent[i]);
    return text;
}

/* Computes the extent of the wildcard, at position `at`, from `bytes`. Without one there is nothing
 * to do. */
static hr_status fill_rest(hr_shape *shape, const hr_shape *in, int32_t at, size_t item,
                           size_t bytes, hr_error *error)
{
    size_t others = 1;
    char text[128];

    if (at < 0)
        return HR_STATUS_OK;
    shape->extent[at] = 1;
    if (hr_shape_volume(shape, &others) && others == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Cannot infer the extent of dimension %d when the volume of remaining "
                       "dimensions is 0. Input shape: %s",
                       (int)at, extents_text(in, text, sizeof(text)));
    if (!hr_shape_volume(shape, &others) || !hr_size_mul(others, item, &others) ||
        bytes % others != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the negative extent at position %d cannot be computed: the other extents "
                       "do not divide the %zu bytes of the input",
                       (int)at, bytes);
    shape->extent[at] = (int64_t)(bytes / others);
    return HR_STATUS_OK;
}

static hr_status one_wildcard(int32_t *wildcard, int32_t i, hr_error *error)
{
    if (*wildcard >= 0)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the new shape has negative extents at positions %d and %d; at most one is allowed",
            (int)*wildcard, (int)i);
    *wildcard = i;
    return HR_STATUS_OK;
}

static hr_status from_list(const int64_t *extent, int32_t n, hr_shape *shape, int32_t *wildcard,
                           hr_error *error)
{
    HR_TRY(hr__ndim_check(n, error));
    shape->ndim = n;
    for (int32_t i = 0; i < n; i++) {
        if (extent[i] < 0)
            HR_TRY(one_wildcard(wildcard, i, error));
        shape->extent[i] = extent[i];
    }
    return HR_STATUS_OK;
}

/* The shape from the second input. */
static hr_status from_input(const hr_op_call *c, hr_shape *shape, int32_t *wildcard,
                            hr_error *error)
{
    const hr_tensor *t = &c->in[1];
    int64_t extent[HR_MAX_NDIM];

    if (c->count != 1) /* each sample has a shape of its own */
        return hr_fail(error, HR_STATUS_NOT_FUSABLE, "one sample after the other");
    if (!t->data || (t->buffer && hr_buffer_device(t->buffer) != HR_DEVICE_HOST))
        return hr_fail(error, HR_STATUS_ERROR, "the new shape must be in host memory");

    if (t->shape.ndim != 1 || hr_dtype_is_float(t->dtype) || hr_dtype_is_enum(t->dtype))
        return hr_fail(
            error, HR_STATUS_ERROR,
            "the second input must be a list of integers; it has type %s and %d dimensions",
            hr_dtype_name(t->dtype), (int)t->shape.ndim);
    int32_t n = (int32_t)HR_MIN(t->shape.extent[0], HR_MAX_NDIM + 1);
    HR_TRY(hr__ndim_check(n, error));
    for (int32_t i = 0; i < n; i++)
        extent[i] = hr_element_int(t->data, t->dtype, (size_t)i);
    return from_list(extent, n, shape, wildcard, error);
}

static hr_status source_extent(const hr_new_shape_args *a, const hr_shape *in, int32_t i,
                               int64_t *extent, hr_error *error)
{
    int32_t d = a->src_dims.v ? a->src_dims.v[i] : i;

    if (d < -1 || d >= in->ndim)
        return a->src_dims.v
                   ? hr_fail(error, HR_STATUS_ERROR,
                             "`src_dims` has %d at position %d, which is out of bounds: it must be "
                             "-1 or a dimension of the input, which has %d dimensions",
                             (int)d, (int)i, (int)in->ndim)
                   : hr_fail(error, HR_STATUS_ERROR,
                             "`rel_shape` has more elements (%d) than there are dimensions in the "
                             "input (%d): use `src_dims` to add dimensions",
                             (int)a->rel_shape.n, (int)in->ndim);
    *extent = d < 0 ? 1 : in->extent[d];
    return HR_STATUS_OK;
}

/* The shape from `rel_shape` and `src_dims`. */
static hr_status from_source(const hr_new_shape_args *a, const hr_shape *in, hr_shape *shape,
                             int32_t *wildcard, hr_error *error)
{
    int32_t n = a->src_dims.v ? a->src_dims.n : a->rel_shape.n;

    if (a->src_dims.v && a->rel_shape.v && a->src_dims.n != a->rel_shape.n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`src_dims` and `rel_shape` have different lengths: %d vs %d",
                       (int)a->src_dims.n, (int)a->rel_shape.n);
    HR_TRY(hr__ndim_check(n, error));
    shape->ndim = n;
    for (int32_t i = 0; i < n; i++) {
        shape->extent[i] = -1;
        if (a->rel_shape.v && a->rel_shape.v[i] < 0.0f) {
            HR_TRY(one_wildcard(wildcard, i, error));
            continue;
        }
        HR_TRY(source_extent(a, in, i, &shape->extent[i], error));
        double extent = (double)shape->extent[i] * (a->rel_shape.v ? (double)a->rel_shape.v[i] : 1);
        if (!(extent < 0x1p62))
            return hr_fail(error, HR_STATUS_ERROR,
                           "`rel_shape` has %g at position %d, which is too large",
                           (double)a->rel_shape.v[i], (int)i);
        shape->extent[i] = (int64_t)(extent + 0.5);
    }
    return HR_STATUS_OK;
}

/* The last extent changes when elements have another size. */
static hr_status rescale(hr_shape *shape, size_t from, size_t to, hr_error *error)
{
    int32_t last = shape->ndim - 1;
    size_t bytes;

    if (from == to)
        return HR_STATUS_OK;
    if (last < 0 || !hr_size_mul((size_t)shape->extent[last], from, &bytes) || bytes % to != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "elements of %zu bytes cannot be combined to elements of %zu bytes along "
                       "the last dimension",
                       from, to);
    shape->extent[last] = (int64_t)(bytes / to);
    return HR_STATUS_OK;
}

static hr_status check_bytes(const hr_tensor *out, const hr_tensor *in, size_t bytes,
                             hr_error *error)
{
    char from[128], to[128];
    size_t needed, volume;

    if (hr_tensor_bytes(out, &needed) && needed == bytes)
        return HR_STATUS_OK;
    if (in->dtype == out->dtype && hr_shape_volume(&out->shape, &volume))
        return hr_fail(
            error, HR_STATUS_ERROR,
            "The volume of the new shape should match the one of the original shape. "
            "Requested a shape with %zu elements but the original shape has %zu elements.",
            volume, bytes / hr_dtype_size(in->dtype));
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s elements of shape %s do not have as many bytes as %s elements of shape %s",
                   hr_dtype_name(in->dtype), hr_shape_text(&in->shape, from, sizeof(from)),
                   hr_dtype_name(out->dtype), hr_shape_text(&out->shape, to, sizeof(to)));
}

hr_status hr__new_shape(hr_op_call *c, const hr_new_shape_args *a, hr_dtype dtype, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    size_t bytes, item = hr_dtype_size(dtype);
    hr_shape shape = in->shape;
    int32_t wildcard = -1;
    bool listed = a->shape.v || a->rel_shape.v;

    if (!hr_tensor_bytes(in, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input's size overflows");
    if (c->n_in > 1 && listed)
        return hr_fail(error, HR_STATUS_ERROR,
                       "give the new shape either as a second input or as an argument, not both");
    if (c->n_in > 1) {
        HR_TRY(from_input(c, &shape, &wildcard, error));
    } else if (a->shape.v) {
        int64_t extent[HR_MAX_NDIM];
        for (int32_t i = 0; i < HR_MIN(a->shape.n, HR_MAX_NDIM); i++)
            extent[i] = a->shape.v[i];
        HR_TRY(from_list(extent, a->shape.n, &shape, &wildcard, error));
    } else {
        if (a->rel_shape.v || a->src_dims.v)
            HR_TRY(from_source(a, &in->shape, &shape, &wildcard, error));
        if (!a->rel_shape.v)
            HR_TRY(rescale(&shape, hr_dtype_size(in->dtype), item, error));
    }
    HR_TRY(fill_rest(&shape, &in->shape, wildcard, item, bytes, error));
    bool named = a->layout && a->layout[0];
    if (named && strlen(a->layout) != (size_t)shape.ndim)
        return hr_fail(error, HR_STATUS_ERROR, "`layout` is \"%s\" for %d dimensions", a->layout,
                       (int)shape.ndim);
    hr_tensor_describe(&c->out[0], dtype, shape,
                       a->layout                      ? a->layout
                       : shape.ndim == in->shape.ndim ? in->layout.name
                                                      : NULL);
    return check_bytes(&c->out[0], in, bytes, error);
}
