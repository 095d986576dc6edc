/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* get_property: facts about a tensor other than its elements. */
#include "core/core.h"
#include "headrace/operator.h"

#include <string.h>

typedef struct get_property_args {
    const char *key;
} get_property_args;

static const char *property(const hr_op_call *c)
{
    const char *key = ((const get_property_args *)c->args)->key;
    const char *info = c->in[0].source_info;

    return key[0] == 'l' ? c->in[0].layout.name : info ? info : "";
}

static hr_status get_property_infer(hr_op_call *c, hr_error *error)
{
    const int64_t size = (int64_t)strlen(property(c));

    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, hr_shape_make(1, &size), NULL);
    return HR_STATUS_OK;
}

static hr_status get_property_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    memcpy(c->out[0].data, property(c), (size_t)c->out[0].shape.extent[0]);
    return HR_STATUS_OK;
}

const hr_op_def hr_op_get_property = {
    HR_OP("get_property"),
    .doc = "Returns a property of the input as text: a 1-D tensor of UINT8.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS | HR_OP_CHEAP | HR_OP_ANYWHERE,
    HR_ARGS(get_property_args, HR_ARG(get_property_args, key, STRING, HR_ARG_REQUIRED, NULL,
                                      "\"source_info\": where the sample comes from, usually the "
                                      "name of a file; \"layout\": its layout.",
                                      .choices = "source_info|layout")),
    .in = HR_INPUTS({.name = "data"}),
    .infer = get_property_infer,
    .run = get_property_run,
};
