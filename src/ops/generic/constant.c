/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* constant: the same tensor for every sample. */
#include "ops/generic/constant.h"
#include "headrace/operator.h"

#include <string.h>

typedef struct constant_args {
    hr_floats fdata;
    hr_int64s idata;
    hr_ints shape;
    int32_t dtype;
    const char *layout;
} constant_args;

static hr_status constant_shape(const constant_args *a, hr_shape *shape, hr_error *error)
{
    int64_t values = a->fdata.v ? a->fdata.n : a->idata.n;
    size_t volume;

    *shape = hr_shape_make(1, &values);
    if (a->shape.v) {
        if (a->shape.n > HR_MAX_NDIM)
            return hr_fail(error, HR_STATUS_ERROR,
                           "`shape` has %d dimensions; at most %d are supported", (int)a->shape.n,
                           HR_MAX_NDIM);
        shape->ndim = a->shape.n;
        for (int32_t i = 0; i < a->shape.n; i++)
            shape->extent[i] = a->shape.v[i];
    }
    if (!hr_shape_volume(shape, &volume) || (values != 1 && (size_t)values != volume))
        return hr_fail(error, HR_STATUS_ERROR, "%lld values do not fill `shape`",
                       (long long)values);
    if (a->layout && *a->layout && strlen(a->layout) != (size_t)shape->ndim)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Layout '%s' has %d dimensions but output shape has %d", a->layout,
                       (int)strlen(a->layout), (int)shape->ndim);
    return HR_STATUS_OK;
}

static hr_status constant_check(const void *args, const hr_given *given, hr_error *error)
{
    const constant_args *a = args;
    hr_shape shape;

    (void)given;
    if ((a->fdata.v != NULL) == (a->idata.v != NULL))
        return hr_fail(error, HR_STATUS_ERROR, "exactly one of `fdata` and `idata` must be given");
    return constant_shape(a, &shape, error);
}

static hr_status constant_create(const void *args, void **state, hr_error *error)
{
    const constant_args *a = args;
    const void *values = a->fdata.v ? (const void *)a->fdata.v : a->idata.v;
    hr_dtype from = a->fdata.v ? HR_DTYPE_FLOAT : HR_DTYPE_INT64;
    hr_dtype usual = a->fdata.v ? HR_DTYPE_FLOAT : HR_DTYPE_INT32;
    hr_constant made = {.count = (size_t)(a->fdata.v ? a->fdata.n : a->idata.n)};

    made.dtype = a->dtype != HR_DTYPE_NONE ? (hr_dtype)a->dtype : usual;
    HR_TRY(constant_shape(a, &made.shape, error));
    hr_constant *s = hr_calloc(1, sizeof(*s) + made.count * hr_dtype_size(made.dtype), error);
    HR_TRY_ALLOC(s);
    *s = made;
    s->values = s + 1;
    hr_convert(s->values, s->dtype, values, from, s->count);
    *state = s;
    return HR_STATUS_OK;
}

static hr_status constant_infer(hr_op_call *c, hr_error *error)
{
    const hr_constant *s = c->state;

    (void)error;
    hr_tensor_describe(&c->out[0], s->dtype, s->shape, ((const constant_args *)c->args)->layout);
    return HR_STATUS_OK;
}

/* Writes the same element n times to `to`. */
static void fill(const hr_constant *s, uint8_t *to, size_t n)
{
    size_t size = hr_dtype_size(s->dtype), have = HR_MIN(s->count, n);

    memcpy(to, s->values, have * size);
    for (; have < n; have *= 2)
        memcpy(to + have * size, to, HR_MIN(have, n - have) * size);
}

static hr_status constant_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    size_t count = 0;
    hr_shape_volume(&c->out[0].shape, &count);
    fill(c->state, c->out[0].data, count * (size_t)c->count);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_constant = {
    HR_OP("constant"),
    .doc = "Returns the same tensor for every sample.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_HIDDEN | HR_OP_CHEAP | HR_OP_COLUMNS,
    HR_ARGS(
        constant_args,
        HR_ARG(constant_args, fdata, FLOATS, HR_ARG_OPTIONAL | HR_ARG_NONFINITE, NULL,
               "The elements as floats; a single one is repeated. Not together with `idata`."),
        HR_ARG(constant_args, idata, INT64S, HR_ARG_OPTIONAL, NULL,
               "The elements as integers; a single one is repeated. Not together with `fdata`."),
        HR_ARG(constant_args, shape, INTS, HR_ARG_OPTIONAL, NULL,
               "Shape of the tensor. Default: 1-D, with as many elements as there are values."),
        HR_ARG(constant_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
               "Type of the elements. Default: FLOAT for `fdata`, INT32 for `idata`. Values are "
               "rounded and saturate."),
        HR_ARG(constant_args, layout, LAYOUT, 0, "\"\"",
               "Layout, one letter per dimension, or empty.")),
    .check = constant_check,
    .create = constant_create,
    .destroy = hr_free,
    .infer = constant_infer,
    .run = constant_run,
};
