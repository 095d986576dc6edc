/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Views, and axes by number or by letter. */
#include "ops/generic/view.h"

#include <string.h>

hr_status hr__view_run(hr_op_call *c, hr_error *error)
{
    (void)error;
    c->out[0].data = c->in[0].data;
    c->out[0].buffer = c->in[0].buffer;
    return HR_STATUS_OK;
}

void hr__dim_insert(hr_tensor *t, int32_t at, int64_t extent, char name)
{
    size_t after = (size_t)(t->shape.ndim - at);

    memmove(&t->shape.extent[at + 1], &t->shape.extent[at], after * sizeof(int64_t));
    t->shape.extent[at] = extent;
    t->shape.ndim++;
    memmove(&t->layout.name[at + 1], &t->layout.name[at], after);
    t->layout.name[at] = name;
    if (!name)
        memset(&t->layout, 0, sizeof(t->layout));
}

hr_status hr__ndim_check(int32_t ndim, hr_error *error)
{
    if (ndim <= HR_MAX_NDIM)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "the output would have %d dimensions; at most %d are supported", (int)ndim,
                   HR_MAX_NDIM);
}

static hr_status axis_at(const hr_tensor *t, hr_ints axes, const char *names, int32_t i,
                         int32_t *axis, hr_error *error)
{
    int32_t ndim = t->shape.ndim;

    if (axes.v && axes.n > 0) {
        *axis = axes.v[i] + (axes.v[i] < 0 ? ndim : 0);
        if (*axis >= 0 && *axis < ndim)
            return HR_STATUS_OK;
        return hr_fail(error, HR_STATUS_ERROR,
                       "`axes`: Axis %d out of range. Expected range is [%d, %d] for a %dD input",
                       (int)axes.v[i], -(int)ndim, (int)ndim - 1, (int)ndim);
    }
    *axis = hr_layout_find(&t->layout, names[i]);
    if (*axis >= 0)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "`axis_names`: axis '%c' is not present in the input layout \"%s\"", names[i],
                   t->layout.name);
}

hr_status hr__axes_resolve(const hr_tensor *t, hr_ints axes, const char *names, int32_t *out,
                           int32_t *count, hr_error *error)
{
    bool numbers = axes.v && axes.n > 0, letters = !axes.v && names && names[0];
    int32_t n = numbers ? axes.n : letters ? (int32_t)strlen(names) : t->shape.ndim;
    uint32_t seen = 0;

    if (n > t->shape.ndim)
        return hr_fail(error, HR_STATUS_ERROR, "%d axes for a tensor with %d dimensions", (int)n,
                       (int)t->shape.ndim);
    for (int32_t i = 0; i < n; i++) {
        out[i] = i;
        if (numbers || letters)
            HR_TRY(axis_at(t, axes, names, i, &out[i], error));
        if (seen >> out[i] & 1)
            return hr_fail(error, HR_STATUS_ERROR, "%s name axis %d twice",
                           numbers ? "`axes`" : "`axis_names`", (int)out[i]);
        seen |= 1u << out[i];
    }
    *count = n;
    return HR_STATUS_OK;
}
