/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* lookup_table: maps integers by a table. On UINT8 images it is a step of an image program. */
#include "ops/generic/lookup_table.h"
#include "image/program.h"

#include <string.h>

#define KEY_MAX 65535

typedef struct lookup_table_args {
    hr_ints keys;
    hr_floats values;
    float default_value;
    int32_t dtype;
} lookup_table_args;

static hr_status lookup_table_check(const void *args, const hr_given *given, hr_error *error)
{
    const lookup_table_args *a = args;

    (void)given;
    if (a->dtype == HR_DTYPE_NONE)
        return hr_fail(error, HR_STATUS_ERROR, "`dtype` must be an element type");
    if (a->keys.n != a->values.n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%d `keys` for %d `values`; their numbers must be equal", (int)a->keys.n,
                       (int)a->values.n);
    return HR_STATUS_OK;
}

static hr_status lookup_table_create(const void *args, void **state, hr_error *error)
{
    const lookup_table_args *a = args;
    size_t item = hr_dtype_size((hr_dtype)a->dtype), count = UINT8_MAX + 1; /* no byte is outside */

    for (int32_t i = 0; i < a->keys.n; i++)
        count = HR_MAX(count, (size_t)a->keys.v[i] + 1);
    hr_table *t = hr_calloc(1, sizeof(*t) + (count + 1) * item, error);
    HR_TRY_ALLOC(t);
    t->count = count;
    t->values = (uint8_t *)(t + 1);
    for (size_t k = 0; k <= count; k++)
        hr_convert(t->values + k * item, (hr_dtype)a->dtype, &a->default_value, HR_DTYPE_FLOAT, 1);
    for (int32_t i = 0; i < a->keys.n; i++)
        hr_convert(t->values + (size_t)a->keys.v[i] * item, (hr_dtype)a->dtype, &a->values.v[i],
                   HR_DTYPE_FLOAT, 1);
    *state = t;
    return HR_STATUS_OK;
}

static hr_status lookup_table_infer(hr_op_call *c, hr_error *error)
{
    if (!hr_dtype_is_integer(c->in[0].dtype))
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s: keys must be integers",
                       hr_dtype_name(c->in[0].dtype));
    hr_tensor_describe(&c->out[0], (hr_dtype)((const lookup_table_args *)c->args)->dtype,
                       c->in[0].shape, c->in[0].layout.name);
    return HR_STATUS_OK;
}

static hr_status lookup_table_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const hr_table *t = c->state;
    const hr_point_step step = {.kind = HR_POINT_KIND_TABLE,
                                .dtype = (hr_dtype)((const lookup_table_args *)c->args)->dtype,
                                .table = t->values};

    return hr_program_point(program, &step, error);
}

#define LOOK_UP(in_type, out_type)                                                                 \
    for (size_t k = 0; k < n; k++) {                                                               \
        uint64_t key = (uint64_t)((const in_type *)in)[k]; /* negative ones are large */           \
        ((out_type *)out)[k] = values[key < count ? key : count];                                  \
    }
#define LOOK_UP_AS(out_type)                                                                       \
    static void look_up_##out_type(const hr_table *t, hr_dtype dtype, const void *in, void *out,   \
                                   size_t n)                                                       \
    {                                                                                              \
        const out_type *values = (const void *)t->values;                                          \
        uint64_t count = t->count;                                                                 \
        switch (dtype) {                                                                           \
        case HR_DTYPE_UINT8:                                                                       \
            for (size_t k = 0; k < n; k++)                                                         \
                ((out_type *)out)[k] = values[((const uint8_t *)in)[k]];                           \
            break;                                                                                 \
        case HR_DTYPE_INT8:                                                                        \
            LOOK_UP(int8_t, out_type) break;                                                       \
        case HR_DTYPE_UINT16:                                                                      \
            LOOK_UP(uint16_t, out_type) break;                                                     \
        case HR_DTYPE_INT16:                                                                       \
            LOOK_UP(int16_t, out_type) break;                                                      \
        case HR_DTYPE_UINT32:                                                                      \
            LOOK_UP(uint32_t, out_type) break;                                                     \
        case HR_DTYPE_INT32:                                                                       \
            LOOK_UP(int32_t, out_type) break;                                                      \
        default:                                                                                   \
            LOOK_UP(uint64_t, out_type) break;                                                     \
        }                                                                                          \
    }
LOOK_UP_AS(uint8_t)
LOOK_UP_AS(uint16_t)
LOOK_UP_AS(uint32_t)
LOOK_UP_AS(uint64_t)

static hr_status lookup_table_run(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0], *out = &c->out[0];
    size_t volume;
    if (!hr_shape_volume(&in->shape, &volume))
        return hr_fail(error, HR_STATUS_LIMIT, "the input is too large");
    volume *= (size_t)c->count;
    switch (hr_dtype_size(out->dtype)) {
    case 1:
        look_up_uint8_t(c->state, in->dtype, in->data, out->data, volume);
        break;
    case 2:
        look_up_uint16_t(c->state, in->dtype, in->data, out->data, volume);
        break;
    case 4:
        look_up_uint32_t(c->state, in->dtype, in->data, out->data, volume);
        break;
    default:
        look_up_uint64_t(c->state, in->dtype, in->data, out->data, volume);
        break;
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_lookup_table = {
    HR_OP("lookup_table"),
    .doc = "Maps integers to values by a table of keys and values. Shape and layout do not change.",
    .devices = "cpu|gpu",
    .flags = HR_OP_SEQUENCE | HR_OP_VOLUMETRIC | HR_OP_COLUMNS,
    HR_ARGS(lookup_table_args,
            HR_ARG(lookup_table_args, keys, INTS, 0, "[]", "Keys of the table.", .min = 0,
                   .max = KEY_MAX),
            HR_ARG(lookup_table_args, values, FLOATS, HR_ARG_NONFINITE, "[]",
                   "The values for the keys, one per key."),
            HR_ARG(lookup_table_args, default_value, FLOAT, HR_ARG_NONFINITE, "0.0",
                   "The value for all other elements."),
            HR_ARG(lookup_table_args, dtype, DTYPE, 0, "FLOAT",
                   "Type of the output; values are rounded and saturate."),
            HR_ARG_RENAMED(output_dtype, DTYPE, dtype, "0.24")),
    .in = HR_INPUTS({.name = "data"}),
    .check = lookup_table_check,
    .create = lookup_table_create,
    .destroy = hr_free,
    .infer = lookup_table_infer,
    .lower = lookup_table_lower,
    .lower_rank = HR_LOWER_RANK_POINT,
    .run = lookup_table_run,
};
