/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A plug-in in several variants, most of which cannot be loaded: SAMPLE_... selects one. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "headrace/plugin.h"

typedef struct twice_args {
    int32_t times;
} twice_args;

static const hr_arg_def twice_defs[] = {
    HR_ARG(twice_args, times, INT, HR_ARG_PER_SAMPLE, "2", "Multiplies the bytes."), HR_ARG_END};

static hr_status twice_infer(hr_op_call *c, hr_error *error)
{
    if (c->in[0].dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the input is %s", hr_dtype_name(c->in[0].dtype));
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, c->in[0].shape, NULL);
    return HR_STATUS_OK;
}

static hr_status twice_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++) {
        size_t size;
        if (!hr_tensor_bytes(&calls[i].in[0], &size))
            return hr_fail(error, HR_STATUS_ERROR, "too large");
        for (size_t k = 0; k < size; k++)
            ((uint8_t *)calls[i].out[0].data)[k] =
                (uint8_t)(((const uint8_t *)calls[i].in[0].data)[k] *
                          ((const twice_args *)calls[i].args)->times);
    }
    return HR_STATUS_OK;
}

/* ---- on a device: the fake module runs a function as if it were a kernel ---- */

typedef struct record {
    const uint8_t *in;
    uint8_t *out;
    size_t size;
    int32_t times;
} record;

__attribute__((no_sanitize("address"))) static void twice_kernel(const void *at)
{
    for (const record *r = at; r->in; r++)
        for (size_t k = 0; k < r->size; k++)
            r->out[k] = (uint8_t)(r->in[k] * r->times);
}

static hr_status twice_run_cuda(hr_cuda_launch *l, hr_op_call *calls, int32_t n,
                                hr_staging *staging, hr_error *error)
{
    hr_status (*launch)(hr_cuda_launch *, void (*)(const void *), const void *, hr_error *);
    void *module = dlopen(getenv("HEADRACE_CUDA_MODULE"), RTLD_NOW);
    void *symbol = module ? dlsym(module, "hr_fake_kernel") : NULL;
    hr_staged records;
    memcpy(&launch, &symbol, sizeof(launch));
    if (!launch)
        return hr_fail(error, HR_STATUS_ERROR, "this is not the fake module");
    HR_TRY(staging->alloc(staging, ((size_t)n + 1) * sizeof(record), &records, error));
    for (int32_t i = 0; i < n; i++) {
        record *r = (record *)records.host + i;
        *r = (record){calls[i].in[0].data, calls[i].out[0].data, 0,
                      ((const twice_args *)calls[i].args)->times};
        if (!hr_tensor_bytes(&calls[i].in[0], &r->size))
            return hr_fail(error, HR_STATUS_ERROR, "too large");
    }
    ((record *)records.host)[n] = (record){0};
    HR_TRY(staging->flush(staging, error));
    return launch(l, twice_kernel, records.device, error);
}

#if defined(SAMPLE_MISSING)
hr_status hr_no_such_function(hr_op_call *calls, int32_t n, hr_error *error);
#define RUN hr_no_such_function
#elif defined(SAMPLE_BAD_TABLE)
#define RUN NULL
#else
#define RUN twice_run
#endif

/* What tables said before it followed from the rest. */
#define ALL_FIELDS .in_min = 1, .in_max = 1, .out = HR_OUTPUTS({"output"}), .out_count = 1

#define TABLE(op, ...)                                                                             \
    {                                                                                              \
        .abi = HR_OP_ABI_VERSION, .name = op, .doc = "Multiplies bytes.", .devices = "cpu|gpu",    \
        .args = twice_defs, .args_size = sizeof(twice_args), .in = HR_INPUTS({.name = "data"}),    \
        .infer = twice_infer, __VA_ARGS__                                                          \
    }

#if defined(SAMPLE_OLD)
#define FIRST "sample.young"
static const char *const aliases[] = {NULL};
#else
#define FIRST "sample.twice"
static const char *const aliases[] = {"sample_twice", "flip_old", NULL};
#endif
static const hr_op_def twice = TABLE(FIRST, .run_cpu = twice_run, .aliases = aliases,
                                     .run_cuda = twice_run_cuda, .struct_size = sizeof(hr_op_def));
#if defined(SAMPLE_OLD)
/* A table of an older version ends before `run_batch`; what follows is not a part of it. */
static const hr_source_def no_source;
static const hr_op_def other = TABLE("sample.old", ALL_FIELDS, .run_cpu = twice_run,
                                     .struct_size = offsetof(hr_op_def, run_batch),
                                     .run_batch = twice_run, .source = &no_source);
#elif defined(SAMPLE_TAKEN)
static const hr_op_def other =
    TABLE("flip", .run_cpu = twice_run, .struct_size = sizeof(hr_op_def));
#elif defined(SAMPLE_SAME)
static const hr_op_def other =
    TABLE("flip_old", .run_cpu = twice_run, .struct_size = sizeof(hr_op_def));
#else
static const hr_op_def other =
    TABLE("sample.other", .run_cpu = RUN, .struct_size = sizeof(hr_op_def));
#endif

#if defined(SAMPLE_ABI)
#undef HR_OP_ABI_VERSION
#define HR_OP_ABI_VERSION 99
#endif
#if defined(SAMPLE_NEWER)
#define hr_host struct newer_host
struct newer_host {
    char more[1 << 20];
};
#endif
HR_PLUGIN("sample", &twice, &other)
