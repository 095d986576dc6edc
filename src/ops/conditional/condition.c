/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Conditions are scalars of the host: what a branch is taken by must be one truth value a sample.
 */
#include "ops/conditional/condition.h"

#include <stdio.h>
#include <string.h>

#define ADVICE                                                                                     \
    "; make one truth value a sample, or use the bitwise operators & and | or a comparison, "      \
    "which "                                                                                       \
    "work on elements"

hr_status hr_condition_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_BOOL, (hr_shape){0}, NULL);
    return HR_STATUS_OK;
}

hr_status hr_condition_get(const hr_tensor *t, const char *expression, const char *side,
                           bool strict, bool *out, hr_error *error)
{
    bool branch = strcmp(expression, "if") == 0;
    char what[96], given[64] = "";
    snprintf(what, sizeof(what), branch ? "the condition of `%s`" : "the logical expression `%s`",
             expression);
    if (side[0])
        snprintf(given, sizeof(given), " as its %s operand", side);
    if (t->shape.ndim != 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s takes scalars (0-d tensors) on the CPU only; got a %d-d input%s" ADVICE,
                       what, t->shape.ndim, given);
    if (strict && t->dtype != HR_DTYPE_BOOL)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s takes scalars of type BOOL only; got %s%s" ADVICE, what,
                       hr_dtype_name(t->dtype), given);
    *out = hr_element_double(t->data, t->dtype, 0) != 0.0;
    return HR_STATUS_OK;
}
