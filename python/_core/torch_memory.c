/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Outputs in memory of PyTorch's caching allocator, through the stable C functions that PyTorch has
 * for compiled models. They are looked up in the libraries that the process has loaded; none of
 * them needs the GIL. A block is a tensor of bytes. */
#include "pipeline.h"

#include <dlfcn.h>

static struct torch_api {
    int32_t (*guard_create)(void *stream, int32_t device, void **guard);
    int32_t (*guard_delete)(void *guard);
    int32_t (*empty)(int64_t ndim, const int64_t *extents, const int64_t *strides, int32_t dtype,
                     int32_t device_type, int32_t device, void **tensor);
    int32_t (*data)(void *tensor, void **data);
    int32_t (*delete_tensor)(void *tensor);
    int32_t (*uint8)(void);
    int32_t (*cuda)(void);
} api; /* written once, with the GIL */

static void *torch_alloc(void *context, int32_t device, void *stream, size_t size, void **block)
{
    (void)context;
    const int64_t extent = (int64_t)size, stride = 1;
    void *guard, *data = NULL;
    if (api.guard_create(stream, device, &guard) != 0)
        return NULL;
    if (api.empty(1, &extent, &stride, api.uint8(), api.cuda(), device, block) == 0 &&
        (api.data(*block, &data) != 0 || !data)) {
        api.delete_tensor(*block);
        data = NULL;
    }
    api.guard_delete(guard);
    return data;
}

static void torch_free(void *context, void *block)
{
    (void)context;
    api.delete_tensor(block);
}

static const hr_device_allocator allocator = {NULL, torch_alloc, torch_free};

/* The libraries stay loaded: PyTorch is never unloaded. */
const hr_device_allocator *torch_allocator(void)
{
    const struct {
        const char *name;
        void *to;
    } wanted[] = {
        {"aoti_torch_create_cuda_stream_guard", &api.guard_create},
        {"aoti_torch_delete_cuda_stream_guard", &api.guard_delete},
        {"aoti_torch_empty_strided", &api.empty},
        {"aoti_torch_get_data_ptr", &api.data},
        {"aoti_torch_delete_tensor_object", &api.delete_tensor},
        {"aoti_torch_dtype_uint8", &api.uint8},
        {"aoti_torch_device_type_cuda", &api.cuda},
    };
    static int found; /* 1: all, -1: not all */
    if (found)
        return found > 0 ? &allocator : NULL;
    void *cpu = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
    void *gpu = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
    found = cpu && gpu ? 1 : -1;
    for (size_t i = 0; found > 0 && i < sizeof(wanted) / sizeof(*wanted); i++) {
        void *symbol = dlsym(gpu, wanted[i].name);
        if (!symbol)
            symbol = dlsym(cpu, wanted[i].name);
        *(void **)wanted[i].to = symbol;
        found = symbol ? 1 : -1;
    }
    return found > 0 ? &allocator : NULL;
}
