/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Times kernels of the CUDA module that do little work per element, for 256 images of 512 x 512 x
 * 3, and prints how much memory they read and write per second. Arguments: MODULE [CASE]. The exit
 * status is 77 if there is no device. */
#include "core/core.h"
#include "device/module.h"
#include "ops/generic/lookup_table.h"
#include "ops/math/arithmetic.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 256, ELEMENTS = 512 * 512 * 3, ROUNDS = 9, SCRATCH_MAX = 64 };

static const hr_cuda_module_def *module;
static void *stream;
static hr_error error;

static void must(hr_status status, const char *what)
{
    if (status == HR_STATUS_OK)
        return;
    printf("%s: %s\n", what, error.message);
    exit(1);
}

static void *device_alloc(size_t size)
{
    void *memory;
    must(module->alloc(0, stream, size, &memory, &error), "alloc");
    return memory;
}

/* ---- staging: one pinned block and its twin; it starts anew with every launch ---- */

typedef struct bench_staging {
    hr_staging base;
    char *host, *device;
    size_t size, used, flushed;
} bench_staging;

static bench_staging staging;

static hr_status staging_alloc(hr_staging *s, size_t size, hr_staged *out, hr_error *e)
{
    bench_staging *b = (bench_staging *)s;
    if (size > b->size - b->used)
        return hr_fail(e, HR_STATUS_NO_MEMORY, "the staging is full");
    *out = (hr_staged){b->host + b->used, b->device + b->used};
    b->used += (size + 255) / 256 * 256;
    return HR_STATUS_OK;
}

static hr_status staging_flush(hr_staging *s, hr_error *e)
{
    bench_staging *b = (bench_staging *)s;
    size_t from = b->flushed;
    b->flushed = b->used;
    return module->copy(0, stream, b->device + from, b->host + from, b->used - from, e);
}

static hr_status staging_constant(hr_staging *s, const void *data, size_t size, const void **device,
                                  hr_error *e)
{
    hr_staged copy = {NULL, NULL};
    HR_TRY(staging_alloc(s, size, &copy, e));
    memcpy(copy.host, data, size);
    *device = copy.device;
    return HR_STATUS_OK;
}

static hr_status no_scratch(hr_cuda_launch *l, size_t size, void **out, hr_error *e)
{
    (void)l, (void)size, (void)out;
    return hr_fail(e, HR_STATUS_ERROR, "these operators need no scratch memory");
}

/* ---- cases ---- */

typedef struct bench_case {
    const char *name, *op;    /* NULL: copies on the device */
    hr_dtype in, second, out; /* second: NONE, or of a second operand */
    int32_t odd; /* elements by which samples are longer, so that most are not aligned */
    hr_arithmetic arithmetic;
} bench_case;

static hr_table table;
static float factor = 0.25f;
static hr_tensor factor_tensor;

static hr_tensor tensor_of(hr_dtype dtype, char *memory, int32_t i, int64_t count)
{
    hr_tensor t = {.dtype = dtype};
    t.shape.ndim = 1;
    t.shape.extent[0] = count;
    t.data = memory ? memory + (size_t)i * (size_t)count * hr_dtype_size(dtype) : NULL;
    return t;
}

static hr_cuda_run_fn find_op(const char *name)
{
    for (const hr_cuda_op *const *op = module->ops; *op; op++)
        if (strcmp((*op)->name, name) == 0)
            return (*op)->run;
    printf("no operator %s\n", name);
    exit(1);
}

static hr_tensor inputs[BATCH][2], outputs[BATCH];
static hr_arithmetic memos[BATCH];

static void make_calls(const bench_case *b, hr_op_call *calls, char *const *memory, int64_t count)
{
    memset(calls, 0, BATCH * sizeof(*calls));
    for (int32_t i = 0; i < BATCH; i++) {
        inputs[i][0] = tensor_of(b->in, memory[0], i, count);
        inputs[i][1] = tensor_of(b->second, memory[1], i, count);
        outputs[i] = tensor_of(b->out, memory[2], i, count);
        memos[i] = b->arithmetic;
        memos[i].a = &inputs[i][0];
        memos[i].b = b->second != HR_DTYPE_NONE ? &inputs[i][1] : &factor_tensor;
        calls[i].in = inputs[i];
        calls[i].n_in = b->second != HR_DTYPE_NONE ? 2 : 1;
        calls[i].out = &outputs[i];
        calls[i].n_out = 1;
        calls[i].count = 1;
        calls[i].state = &table;
        calls[i].memo = &memos[i];
    }
}

static void launch(const bench_case *b, hr_op_call *calls)
{
    hr_cuda_launch l = {.stream = stream, .scratch = no_scratch, .multiprocessors = 132};
    staging.used = staging.flushed = 0;
    if (b->op) {
        must(find_op(b->op)(&l, calls, BATCH, &staging.base, &error), b->name);
        return;
    }
    hr_staged copies;
    must(staging_alloc(&staging.base, BATCH * sizeof(hr_cuda_copy), &copies, &error), "staging");
    for (int32_t i = 0; i < BATCH; i++)
        ((hr_cuda_copy *)copies.host)[i] =
            (hr_cuda_copy){outputs[i].data, inputs[i][0].data,
                           (size_t)inputs[i][0].shape.extent[0] * hr_dtype_size(b->in)};
    must(staging_flush(&staging.base, &error), "staging");
    must(module->copy_all(&l, copies, BATCH, &error), b->name);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void measure(const bench_case *b)
{
    static hr_op_call calls[BATCH];
    const hr_dtype types[] = {b->in, b->second, b->out};
    int64_t count = ELEMENTS + b->odd;
    size_t bytes = 0;
    char *memory[3] = {NULL, NULL, NULL};
    void *from, *to;
    float ms[ROUNDS];
    for (int i = 0; i < 3; i++) {
        size_t size =
            types[i] == HR_DTYPE_NONE ? 0 : (size_t)count * BATCH * hr_dtype_size(types[i]);
        bytes += size;
        if (size > 0)
            memory[i] = device_alloc(size);
        if (size > 0)
            must(module->zero(0, stream, memory[i], size, &error), "zero");
    }
    make_calls(b, calls, memory, count);
    must(module->event_create(0, true, &from, &error), "event");
    must(module->event_create(0, true, &to, &error), "event");
    for (int r = -2; r < ROUNDS; r++) {
        launch(b, calls); /* the copy of the records of the next one then overlaps */
        must(module->event_record(0, from, stream, &error), "event");
        launch(b, calls);
        launch(b, calls);
        must(module->event_record(0, to, stream, &error), "event");
        must(module->event_wait(0, to, &error), "kernels");
        if (r >= 0)
            must(module->event_elapsed(from, to, &ms[r], &error), "elapsed");
    }
    qsort(ms, ROUNDS, sizeof(*ms), by_value);
    double us = (double)ms[ROUNDS / 2] * 1000 / 2;
    printf("%-34s %8.1f us  %6.3f us per image  %5.0f GB/s\n", b->name, us, us / BATCH,
           (double)bytes / us / 1e3);
    for (int i = 0; i < 3; i++)
        if (memory[i])
            module->free(0, stream, memory[i]);
    module->event_destroy(0, from);
    module->event_destroy(0, to);
}

static void set_up(void)
{
    void *host;
    static uint8_t values[257 * 4];
    staging = (bench_staging){
        {staging_alloc, staging_flush, staging_constant}, NULL, NULL, 1 << 20, 0, 0};
    must(module->host_alloc(0, staging.size, &host, &error), "pinned memory");
    staging.host = host;
    staging.device = device_alloc(staging.size);
    for (size_t i = 0; i < sizeof(values); i++)
        values[i] = (uint8_t)(i * 7);
    table = (hr_table){256, values};
    factor_tensor = (hr_tensor){.dtype = HR_DTYPE_FLOAT, .data = &factor};
}

static int run_all(const char *only)
{
    const hr_dtype u8 = HR_DTYPE_UINT8, f16 = HR_DTYPE_FLOAT16, f32 = HR_DTYPE_FLOAT,
                   i32 = HR_DTYPE_INT32, none = HR_DTYPE_NONE;
    const hr_arithmetic scale = {
        .op = HR_MATH_OP_MUL, .const_side = 1, .common = f32, .type = f32, .result = f32};
    const hr_arithmetic floats = {
        .op = HR_MATH_OP_ADD, .const_side = -1, .common = f32, .type = f32, .result = f32};
    const hr_arithmetic bytes = {
        .op = HR_MATH_OP_ADD, .const_side = -1, .common = u8, .type = u8, .result = u8};
    const bench_case cases[] = {
        {"copy, u8", NULL, u8, none, u8, 0, {0}},
        {"copy, u8, odd sizes", NULL, u8, none, u8, 1, {0}},
        {"cast, u8 to u8", "cast", u8, none, u8, 0, {0}},
        {"cast, u8 to f32", "cast", u8, none, f32, 0, {0}},
        {"cast, u8 to f32, odd sizes", "cast", u8, none, f32, 1, {0}},
        {"cast, u8 to f16", "cast", u8, none, f16, 0, {0}},
        {"cast, f32 to u8", "cast", f32, none, u8, 0, {0}},
        {"cast, f32 to f16", "cast", f32, none, f16, 0, {0}},
        {"cast, i32 to f32", "cast", i32, none, f32, 0, {0}},
        {"arithmetic, u8 * 0.25 to f32", "_arithmetic", u8, none, f32, 0, scale},
        {"arithmetic, f32 * 0.25", "_arithmetic", f32, none, f32, 0, scale},
        {"arithmetic, f32 + f32", "_arithmetic", f32, f32, f32, 0, floats},
        {"arithmetic, u8 + u8", "_arithmetic", u8, u8, u8, 0, bytes},
        {"lookup_table, u8 to u8", "lookup_table", u8, none, u8, 0, {0}},
        {"lookup_table, u8 to f32", "lookup_table", u8, none, f32, 0, {0}},
    };
    for (size_t i = 0; i < HR_COUNT_OF(cases); i++)
        if (only == NULL || strstr(cases[i].name, only) != NULL)
            measure(&cases[i]);
    return 0;
}

int main(int argc, char **argv)
{
    void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int32_t count = 0;
    if (library == NULL) {
        printf("usage: bench_gpu_ops MODULE [CASE]\n");
        return 1;
    }
    hr_cuda_module_fn entry;
    *(void **)&entry = dlsym(library, "hr_cuda_module");
    module = entry();
    if (module->device_count(&count, &error) != HR_STATUS_OK || count == 0) {
        printf("skipped: no device\n");
        return 77;
    }
    must(module->use(0, &error), "use");
    must(module->stream_create(0, &stream, &error), "stream");
    set_up();
    return run_all(argc > 2 ? argv[2] : NULL);
}
