/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Computes starts and ends of windows. */
#include "ops/common/slice_range.h"

#include <string.h>

hr_status hr__slice_given(const hr_op_call *c, const hr_slice_args *a, hr_error *error)
{
    const int ends = (a->end.v != NULL) + (a->rel_end.v != NULL) + (a->shape.v != NULL) +
                     (a->rel_shape.v != NULL);
    const bool named = a->start.v || a->rel_start.v || ends > 0;

    if (ends > 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "\"end\", \"rel_end\", \"shape\", and \"rel_shape\" arguments are "
                       "mutually exclusive");
    if (named != (c->n_in == 3) && c->n_in != 2)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "give the window either by the inputs `anchor` and `shape` or by arguments "
                   "(`start`, `end`, `shape`, `rel_...`)");
}

/* One element of a list with one element per axis, or one for all. */
static hr_status element(const char *name, int32_t n, int32_t count, int32_t i, int32_t *at,
                         hr_error *error)
{
    if (n != count && n != 1)
        return hr_fail(error, HR_STATUS_ERROR, "`%s` has %d elements for %d axes", name, (int)n,
                       (int)count);
    *at = n == 1 ? 0 : i;
    return HR_STATUS_OK;
}

static hr_status pick(const char *name, hr_ints ints, const char *rel_name, hr_floats floats,
                      int32_t count, int32_t i, double extent, double *value, bool *given,
                      hr_error *error)
{
    int32_t at = 0;

    *given = true;
    if (ints.n > 0) {
        HR_TRY(element(name, ints.n, count, i, &at, error));
        *value = (double)ints.v[at];
    } else if (floats.n > 0) {
        HR_TRY(element(rel_name, floats.n, count, i, &at, error));
        *value = (double)(floats.v[at] * (float)extent); /* in single precision, as in DALI */
    } else {
        *given = false;
    }
    return HR_STATUS_OK;
}

/* The window from arguments. Ends are rounded once, after the sum. An empty list counts as not
 * given, as in DALI. */
static hr_status range_named(const hr_slice_args *a, int32_t count, int32_t i, double extent,
                             double *start, double *end, hr_error *error)
{
    double size = 0.0;
    bool given;

    *start = 0.0;
    *end = extent;
    HR_TRY(
        pick("start", a->start, "rel_start", a->rel_start, count, i, extent, start, &given, error));
    HR_TRY(pick("end", a->end, "rel_end", a->rel_end, count, i, extent, end, &given, error));
    HR_TRY(
        pick("shape", a->shape, "rel_shape", a->rel_shape, count, i, extent, &size, &given, error));
    if (given && a->rel_shape.n > 0 && a->rel_start.n > 0)
        *end = ((double)a->rel_start.v[a->rel_start.n == 1 ? 0 : i] +
                (double)a->rel_shape.v[a->rel_shape.n == 1 ? 0 : i]) *
               extent;
    else if (given)
        *end = *start + size;
    return HR_STATUS_OK;
}

static bool on_host(const hr_tensor *t)
{
    return t->data && (!t->buffer || hr_buffer_device(t->buffer) == HR_DEVICE_HOST);
}

/* The window from the inputs `anchor` and `shape`. Integers are elements, whatever `normalized_*`
 * are. */
static hr_status range_inputs(const hr_op_call *c, const hr_slice_args *a, int32_t count, int32_t i,
                              double extent, double *start, double *end, hr_error *error)
{
    const hr_tensor *anchor = &c->in[1], *shape = &c->in[2];
    bool is_float = hr_dtype_is_float(anchor->dtype);
    size_t volume, other;

    if (!on_host(anchor) || !on_host(shape))
        return hr_fail(error, HR_STATUS_ERROR, "`anchor` and `shape` must be in host memory");
    if (anchor->dtype != shape->dtype)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`anchor` is %s and `shape` is %s: they must have the same type",
                       hr_dtype_name(anchor->dtype), hr_dtype_name(shape->dtype));
    if (!hr_shape_volume(&anchor->shape, &volume) || !hr_shape_volume(&shape->shape, &other) ||
        volume != (size_t)count || other != (size_t)count)
        return hr_fail(error, HR_STATUS_ERROR, "`anchor` and `shape` must have %d elements each",
                       (int)count);
    double at = hr_element_double(anchor->data, anchor->dtype, (size_t)i);
    double size = hr_element_double(shape->data, shape->dtype, (size_t)i);
    bool scale_at = is_float && a->normalized_anchor, scale_size = is_float && a->normalized_shape;
    *end = scale_at && scale_size
               ? (at + size) * extent
               : (scale_at ? at * extent : at) + (scale_size ? size * extent : size);
    *start = scale_at ? at * extent : at;
    return HR_STATUS_OK;
}

static hr_status whole(double v, const char *what, int64_t *out, hr_error *error)
{
    if (!(v > -0x1p60 && v < 0x1p60))
        return hr_fail(error, HR_STATUS_ERROR, "the %s of the window is %g, which is out of range",
                       what, v);
    *out = (int64_t)hr_round(v);
    return HR_STATUS_OK;
}

hr_status hr__slice_range(const hr_op_call *c, const hr_slice_args *a, int32_t count, int32_t i,
                          int64_t extent, int64_t *start, int64_t *end, hr_error *error)
{
    double from = 0.0, to = 0.0;

    if (c->n_in == 3)
        HR_TRY(range_inputs(c, a, count, i, (double)extent, &from, &to, error));
    else
        HR_TRY(range_named(a, count, i, (double)extent, &from, &to, error));
    if (to < from)
        return hr_fail(error, HR_STATUS_ERROR, "the end of the window, %g, is before its start, %g",
                       to, from);
    HR_TRY(whole(from, "start", start, error));
    return whole(to, "end", end, error);
}
