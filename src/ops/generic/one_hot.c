/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* one_hot: class numbers as vectors in which one element is set. */
#include "ops/generic/one_hot.h"
#include "ops/generic/join.h"
#include "ops/generic/region.h"
#include "ops/generic/view.h"
#include "ops/common/wrap.h"

#include <string.h>

typedef struct one_hot_args {
    int32_t axis, num_classes, dtype;
    const char *axis_name;
    float on_value, off_value;
} one_hot_args;

static hr_status one_hot_check(const void *args, const hr_given *given, hr_error *error)
{
    const one_hot_args *a = args;

    (void)given;
    if (a->dtype == HR_DTYPE_NONE)
        return hr_fail(error, HR_STATUS_ERROR, "`dtype` must be an element type");
    if (a->axis_name && strlen(a->axis_name) != 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Unsupported axis_name value. It must be a single character, got \"%s\"",
                       a->axis_name);
    return HR_STATUS_OK;
}

static bool one_hot_whole_batch(const void *args, const hr_given *given)
{
    (void)args;
    return !hr_arg_given(given, "axis");
}

/* If all samples have one element, they count as numbers without dimensions. */
static hr_status one_hot_infer_batch(hr_op_call *calls, int32_t n, hr_error *error)
{
    bool numbers = true;
    size_t volume;

    (void)error;
    for (int32_t i = 0; i < n; i++)
        numbers = numbers && hr_shape_volume(&calls[i].in[0].shape, &volume) && volume == 1;
    for (int32_t i = 0; i < n; i++)
        calls[i].out[0].shape.ndim = numbers;
    return HR_STATUS_OK;
}

static hr_status one_hot_infer(hr_op_call *c, hr_error *error)
{
    const one_hot_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_tensor *out = &c->out[0];
    bool number = out->shape.ndim == 1;
    int32_t ndim = number ? 0 : in->shape.ndim, axis = a->axis;
    hr_one_hot *m = hr_arena_alloc(c->arena, sizeof(*m), error);

    HR_TRY_ALLOC(m);
    HR_TRY(hr__ndim_check(ndim + 1, error));
    HR_TRY(hr__join_axis(&axis, ndim + 1, error));
    if (a->axis_name && ndim > 0 && !in->layout.name[0])
        return hr_fail(error, HR_STATUS_ERROR,
                       "Input layout mismatch: `axis_name` needs an input with a layout");
    hr_tensor_describe(out, (hr_dtype)a->dtype, hr_shape_make(ndim, in->shape.extent),
                       a->axis_name && !number ? in->layout.name : NULL);
    hr__dim_insert(out, axis, a->num_classes, a->axis_name ? a->axis_name[0] : '\0');
    size_t inner = 1;
    for (int32_t d = axis + 1; d < out->shape.ndim; d++)
        inner *= (size_t)out->shape.extent[d];
    *m = (hr_one_hot){.inner = (int64_t)inner, .classes = a->num_classes};
    hr__value_cut(a->on_value, out->dtype, &m->on);
    hr__value_cut(a->off_value, out->dtype, &m->off);
    c->memo = m;
    return HR_STATUS_OK;
}

static hr_status one_hot_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    const hr_one_hot *m = c->memo;
    const hr_tensor *in = &c->in[0], *out = &c->out[0];
    size_t count = 0, inner = (size_t)m->inner, item = hr_dtype_size(out->dtype);
    hr_region all;
    hr__region_init(&all, &out->shape, item);
    memset(all.from, 0, sizeof(all.from));
    hr__region_copy(out->data, &m->off, &all);
    (void)hr_shape_volume(&in->shape, &count);
    for (size_t k = 0; k < count; k++) {
        double v = hr_element_double(in->data, in->dtype, k);
        int64_t class = one_hot_class(v, m->classes);
        size_t at = (k / inner * (size_t)m->classes + (size_t) class) * inner + k % inner;
        if (class >= 0)
            memcpy((char *)out->data + at * item, &m->on, item);
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_one_hot = {
    HR_OP("one_hot"),
    .doc = "Converts class numbers to vectors: `on_value` at the class, `off_value` elsewhere. "
           "Fractions of class numbers are truncated.",
    .devices = "cpu|gpu",
    .flags = HR_OP_CHEAP,
    HR_ARGS(
        one_hot_args,
        HR_ARG(one_hot_args, axis, INT, 0, "-1",
               "Position of the class axis in the output; -1: last. If it is not given and every "
               "sample of the batch has one element, the class axis is the only axis.",
               .min = -1, .max = HR_MAX_NDIM),
        HR_ARG(one_hot_args, axis_name, STRING, HR_ARG_OPTIONAL, NULL,
               "Letter of the new axis. Without it the output has no layout."),
        HR_ARG(one_hot_args, num_classes, INT, 0, "0", "Number of classes.", .min = 0,
               .max = INT32_MAX),
        HR_ARG(one_hot_args, on_value, FLOAT, 0, "1.0", "Value of the element of the class."),
        HR_ARG(
            one_hot_args, off_value, FLOAT, 0, "0.0",
            "Value of all other elements, and of all elements for a number that is not a class."),
        HR_ARG(one_hot_args, dtype, DTYPE, 0, "FLOAT", "Type of the output.")),
    .in = HR_INPUTS({.name = "data"}),
    .check = one_hot_check,
    .infer = one_hot_infer,
    .run = one_hot_run,
    .infer_batch = one_hot_infer_batch,
    .whole_batch = one_hot_whole_batch,
};
