/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reference-counted functions of the caller: graphs are copied and may outlive one another. */
#include "core/function.h"

#include <stdatomic.h>

#include "core/core.h"

struct hr_function {
    atomic_int refs;
    hr_function_fn fn;
    void *context;
    hr_release_fn release;
};

hr_status hr_function_create(hr_function **out, hr_function_fn fn, void *context,
                             hr_release_fn release, hr_error *error)
{
    hr_function *f = hr_calloc(1, sizeof(*f), error);
    HR_TRY_ALLOC(f);
    atomic_init(&f->refs, 1);
    f->fn = fn;
    f->context = context;
    f->release = release;
    *out = f;
    return HR_STATUS_OK;
}

hr_function *hr_function_ref(hr_function *function)
{
    if (function)
        atomic_fetch_add(&function->refs, 1);
    return function;
}

void hr_function_unref(hr_function *function)
{
    if (!function || atomic_fetch_sub(&function->refs, 1) != 1)
        return;
    if (function->release)
        function->release(function->context);
    hr_free(function);
}

hr_status hr_function_call_run(const hr_function *function, hr_function_call *call, hr_error *error)
{
    return function->fn(function->context, call, error);
}
