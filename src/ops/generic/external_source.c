/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* external_source: a source that is fed by hr_pipeline_feed. It does no work itself. */
#include "core/core.h"
#include "headrace/operator.h"

#include <string.h>

typedef struct external_source_args {
    int32_t num_outputs, dtype, ndim;
    const char *layout;
} external_source_args;

static int32_t external_source_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return ((const external_source_args *)args)->num_outputs;
}

static hr_status external_source_check(const void *args, const hr_given *given, hr_error *error)
{
    const external_source_args *a = args;
    hr_layout layout;

    (void)given;
    HR_TRY(hr_layout_set(&layout, a->layout, error));
    if (a->layout && *a->layout && a->ndim >= 0 && strlen(layout.name) != (size_t)a->ndim)
        return hr_fail(error, HR_STATUS_ERROR,
                       "Number of dimensions in the provided layout does not match the ndim "
                       "argument. The arguments provided:\n ndim = %d,\n layout: \"%s\".",
                       (int)a->ndim, a->layout);
    return HR_STATUS_OK;
}

/* Checks the data against its declaration and sets the declared layout. */
static hr_status external_source_infer(hr_op_call *c, hr_error *error)
{
    const external_source_args *a = c->args;

    for (int32_t i = 0; i < c->n_out; i++) {
        hr_tensor *t = &c->out[i];
        *t = c->in[i];
        if (a->dtype != HR_DTYPE_NONE && t->dtype != (hr_dtype)a->dtype)
            return hr_fail(error, HR_STATUS_ERROR, "the data has type %s, but `dtype` is %s",
                           hr_dtype_name(t->dtype), hr_dtype_name((hr_dtype)a->dtype));
        if (a->ndim >= 0 && t->shape.ndim != a->ndim)
            return hr_fail(error, HR_STATUS_ERROR, "the data has %d dimensions, but `ndim` is %d",
                           (int)t->shape.ndim, (int)a->ndim);
        if (!a->layout || !*a->layout)
            continue;
        if (strlen(a->layout) != (size_t)t->shape.ndim)
            return hr_fail(error, HR_STATUS_ERROR,
                           "the data has %d dimensions, but `layout` is \"%s\"", (int)t->shape.ndim,
                           a->layout);
        HR_TRY(hr_layout_set(&t->layout, a->layout, error));
    }
    return HR_STATUS_OK;
}

static const hr_source_def external_source = {.kind = HR_SOURCE_KIND_FED};

const hr_op_def hr_op_external_source = {
    HR_OP("external_source"),
    .doc =
        "A source of batches that come from a callable or an iterable, or that the program feeds.",
    .devices = "cpu|gpu",
    .flags = HR_OP_ENUMS,
    .source = &external_source,
    HR_ARGS(
        external_source_args,
        HR_ARG(external_source_args, num_outputs, INT, 0, "1",
               "Number of outputs. Each of them is fed one batch per iteration.", .min = 1,
               .max = HR_OP_MAX_OUTPUTS),
        HR_ARG(external_source_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
               "Type that the data must have. Default: any."),
        HR_ARG(external_source_args, ndim, INT, HR_ARG_OPTIONAL, NULL,
               "Number of dimensions that samples must have. Default: that of `layout`, or any.",
               .min = 0, .max = HR_MAX_NDIM),
        HR_ARG(external_source_args, layout, LAYOUT, HR_ARG_OPTIONAL, NULL,
               "Layout of the samples, one letter per dimension."),
        HR_ARG_ACCEPT(blocking, BOOL, "False",
                      "No effect: sources are called when data is needed."),
        HR_ARG_ACCEPT(no_copy, BOOL, "False",
                      "No effect: batches are referenced and never copied a second time."),
        HR_ARG_ACCEPT(repeat_last, BOOL, "False",
                      "Feed the last batch again when there is no new one. The caller that feeds "
                      "does this.")),
    .outputs = external_source_outputs,
    .check = external_source_check,
    .infer = external_source_infer,
};
