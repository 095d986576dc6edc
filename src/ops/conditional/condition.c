/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A condition is a scalar on the CPU: one truth value per sample. The messages are those of DALI,
 * which scripts match. */
#include "ops/conditional/condition.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

hr_status hr_condition_infer(hr_op_call *c, hr_error *error)
{
    (void)error;
    hr_tensor_describe(&c->out[0], HR_DTYPE_BOOL, (hr_shape){0}, NULL);
    return HR_STATUS_OK;
}

/* Type names in the messages are NumPy's: "int32". */
static hr_status fail_type(hr_dtype dtype, const char *rule, const char *where, hr_error *error)
{
    char name[32];
    snprintf(name, sizeof(name), "%s", hr_dtype_name(dtype));
    for (char *c = name; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s, that are placed on CPU. Got an input of type `%s` %s. Compare it with a "
                   "number, or use cast(dtype=BOOL).",
                   rule, name, where);
}

hr_status hr_condition_get(const hr_tensor *t, const char *expression, const char *side,
                           bool strict, bool *out, hr_error *error)
{
    bool branch = strcmp(expression, "if") == 0;
    char rule[160], where[64] = "";
    if (branch) {
        snprintf(rule, sizeof(rule),
                 "Conditions inside `if` statements are restricted to scalar (0-d tensors) inputs");
        snprintf(where, sizeof(where), "as a condition of the `if` statement");
    } else {
        snprintf(rule, sizeof(rule),
                 "Logical expression `%s` is restricted to scalar (0-d tensors) inputs%s",
                 expression, strict ? " of `bool` type" : "");
        snprintf(where, sizeof(where), "%s%s%sin logical expression", side[0] ? "as the " : "",
                 side, side[0] ? " argument " : "");
    }
    if (t->shape.ndim != 0)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "%s, that are placed on CPU. Got a %d-d input %s. Reduce it to one value per "
            "sample, or use `&`, `|` or a comparison, which work on elements.",
            rule, t->shape.ndim, where);
    if (strict && t->dtype != HR_DTYPE_BOOL)
        return fail_type(t->dtype, rule, where, error);
    *out = hr_element_double(t->data, t->dtype, 0) != 0.0;
    return HR_STATUS_OK;
}
