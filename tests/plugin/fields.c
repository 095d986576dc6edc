/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A plug-in with a dictionary as argument: tests/python/test_json_arguments.py compiles it. */
#include "headrace/plugin.h"

typedef struct fields_args {
    const hr_json *fields;
    const hr_json *groups;
} fields_args;

static const hr_arg_def fields_defs[] = {
    HR_ARG(fields_args, fields, JSON, HR_ARG_REQUIRED, NULL, "Kind, shape, type, default.",
           .form = "{str: ('fixed' | 'var', [int], dtype, int | float | [float])}"),
    HR_ARG(fields_args, groups, JSON, 0, "[[1, 2], [3]]", "Lists of lists.", .form = "[[int]]"),
    HR_ARG_END};

static hr_status fields_infer(hr_op_call *c, hr_error *error)
{
    const fields_args *args = c->args;
    (void)error;
    hr_shape shape = {.ndim = 1, .extent = {args->fields->count + args->groups->count}};
    hr_tensor_describe(&c->out[0], HR_DTYPE_INT64, shape, NULL);
    return HR_STATUS_OK;
}

static int64_t sum(const hr_json *list)
{
    int64_t total = 0;
    for (int32_t i = 0; i < list->count; i++)
        total += list->items[i].i;
    return total;
}

/* Per field: the sum of its shape, or -1 for "label"; then the sums of the groups. */
static hr_status fields_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < n; i++) {
        const fields_args *args = calls[i].args;
        const hr_json *label = hr_json_get(args->fields, "label");
        int64_t *out = calls[i].out[0].data;
        for (int32_t k = 0; k < args->fields->count; k++) {
            const hr_json *field = &args->fields->items[k];
            *out++ = field == label ? -1 : sum(&field->items[1]);
        }
        for (int32_t k = 0; k < args->groups->count; k++)
            *out++ = sum(&args->groups->items[k]);
    }
    return HR_STATUS_OK;
}

static const hr_op_def fields_op = {HR_OP_ABI,
                                    .name = "sample.fields",
                                    .doc = "Sums of the numbers in its arguments.",
                                    .devices = "cpu",
                                    .args = fields_defs,
                                    .args_size = sizeof(fields_args),
                                    .in = HR_INPUTS({.name = "data"}),
                                    .infer = fields_infer,
                                    .run_cpu = fields_run};

HR_PLUGIN("fields", &fields_op)
