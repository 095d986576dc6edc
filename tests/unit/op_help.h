/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Shared by the tests of operators: arguments in a line, tensors over arrays, one call. */
#ifndef HR_TESTS_OP_HELP_H
#define HR_TESTS_OP_HELP_H

#include "core/core.h"
#include "exec/invoke.h"
#include "test.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof((array)[0])))
#define ARG_INT(id, v)                                                                             \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_INT, .u.i = (v)                                                       \
        }                                                                                          \
    }
#define ARG_FLOAT(id, v)                                                                           \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_FLOAT, .u.f = (v)                                                     \
        }                                                                                          \
    }
#define ARG_TEXT(id, v)                                                                            \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_STRING, .u.s = (v)                                                    \
        }                                                                                          \
    }
#define ARG_FLOATS(id, n, ...)                                                                     \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_FLOATS, .count = (n), .u.floats = (const double[])                    \
            {                                                                                      \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        }                                                                                          \
    }
#define ARG_INTS(id, n, ...)                                                                       \
    {                                                                                              \
        id,                                                                                        \
        {                                                                                          \
            .kind = HR_VALUE_INTS, .count = (n), .u.ints = (const int64_t[])                       \
            {                                                                                      \
                __VA_ARGS__                                                                        \
            }                                                                                      \
        }                                                                                          \
    }

static hr_error error;
static hr_arena *arena;

static inline hr_tensor tensor(const void *data, hr_dtype dtype, const char *layout, int32_t ndim,
                               const int64_t *extent)
{
    hr_tensor t;
    hr_tensor_describe(&t, dtype, hr_shape_make(ndim, extent), layout);
    t.data = (void *)(uintptr_t)data;
    return t;
}

/* Runs the operator. Its first output is valid in *out until the next call. */
static inline hr_status invoke(const char *op, const hr_arg_value *args, int32_t count,
                               const hr_tensor *in, int32_t n_in, int64_t sample, hr_tensor *out)
{
    hr_tensor outs[HR_OP_MAX_OUTPUTS];
    int32_t n_out = 0;
    if (!arena && hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return error.status;
    hr_arena_reset(arena);
    hr_rng rng = hr_rng_make(hr_rng_node_seed(11, 3, -1), sample, 0, 0);
    hr_status status = hr_op_invoke(op, args, count, in, n_in, rng, HR_CPU_LEVEL_AUTO, arena, outs,
                                    &n_out, &error);
    if (status == HR_STATUS_OK)
        *out = outs[0];
    return status;
}

#endif
