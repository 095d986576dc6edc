/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* element_extract: selected frames of a sequence, one output per frame. */
#include "ops/generic/sequence.h"
#include "ops/generic/view.h"

typedef struct element_extract_args {
    hr_ints element_map;
} element_extract_args;

static hr_status element_extract_check(const void *args, const hr_given *given, hr_error *error)
{
    const hr_ints map = ((const element_extract_args *)args)->element_map;

    (void)given;
    for (int32_t i = 0; i < map.n; i++)
        if (map.v[i] < 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "Negative indices in `element_map` are not allowed, found: %d",
                           (int)map.v[i]);
    return HR_STATUS_OK;
}

static int32_t element_extract_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return ((const element_extract_args *)args)->element_map.n;
}

static hr_status element_extract_infer(hr_op_call *c, hr_error *error)
{
    const element_extract_args *a = c->args;
    const hr_tensor *in = &c->in[0];

    HR_TRY(hr__sequence_dims_check(in, error));
    if (!hr__sequence_layout(in))
        return hr_fail(error, HR_STATUS_ERROR,
                       "Input layout must describe a sequence - it must start with 'F', got '%s' "
                       "instead.",
                       in->layout.name);
    hr_shape frame = hr_shape_make(in->shape.ndim - 1, in->shape.extent + 1);
    for (int32_t i = 0; i < c->n_out; i++) {
        if (a->element_map.v[i] >= in->shape.extent[0])
            return hr_fail(error, HR_STATUS_ERROR,
                           "Index `%d` from `element_map` is out of bounds for sample with "
                           "sequence length equal `%lld`",
                           (int)a->element_map.v[i], (long long)in->shape.extent[0]);
        const char *layout = in->layout.name[0] ? in->layout.name + 1 : "";
        hr_tensor_describe(&c->out[i], in->dtype, frame, layout);
    }
    return HR_STATUS_OK;
}

static hr_status element_extract_run(hr_op_call *c, hr_error *error)
{
    const element_extract_args *a = c->args;
    size_t bytes;
    if (!hr_tensor_bytes(&c->out[0], &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the input's size overflows");
    for (int32_t k = 0; k < c->n_out; k++) {
        c->out[k].data = (char *)c->in[0].data + (size_t)a->element_map.v[k] * bytes;
        c->out[k].buffer = c->in[0].buffer;
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_element_extract = {
    HR_OP("element_extract"),
    .doc = "Extracts frames of a sequence by their numbers, one output per frame.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_VIEW | HR_OP_BORROWS | HR_OP_SEQUENCE | HR_OP_CHEAP,
    HR_ARGS(element_extract_args,
            HR_ARG(element_extract_args, element_map, INTS, HR_ARG_REQUIRED, NULL,
                   "Numbers of the frames; there is one output for each of them.", .count_min = 1,
                   .count_max = HR_OP_MAX_OUTPUTS)),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"frame"}),
    .check = element_extract_check,
    .outputs = element_extract_outputs,
    .infer = element_extract_infer,
    .run = element_extract_run,
};
