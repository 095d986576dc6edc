/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Finds the CUDA module: in this library's folder, or at HEADRACE_CUDA_MODULE. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"

#define MODULE_NAME "libheadrace_cuda.so"

static void find_beside(char *path, size_t size)
{
    Dl_info self = {0};
    size_t folder = 0;
    if (dladdr((void *)(uintptr_t)&hr_module_open, &self) && self.dli_fname) {
        const char *slash = strrchr(self.dli_fname, '/');
        folder = slash ? (size_t)(slash - self.dli_fname) + 1 : 0;
    }
    if (folder + sizeof(MODULE_NAME) > size)
        folder = 0;
    if (folder > 0)
        memcpy(path, self.dli_fname, folder);
    memcpy(path + folder, MODULE_NAME, sizeof(MODULE_NAME));
}

hr_status hr_module_open(const hr_cuda_module_def **out, hr_error *error)
{
    char beside[4096];
    const char *path = getenv("HEADRACE_CUDA_MODULE");
    if (!path || !path[0]) {
        find_beside(beside, sizeof(beside));
        path = beside;
    }
    /* Never closed, because the CUDA runtime inside does not survive that. Opening it again is
     * cheap. */
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib)
        return hr_fail(error, HR_STATUS_ERROR, "the CUDA module cannot be opened: %s", dlerror());
    hr_cuda_module_fn entry = NULL;
    void *symbol = dlsym(lib, "hr_cuda_module");
    memcpy(&entry, &symbol, sizeof(entry));
    const hr_cuda_module_def *module = entry ? entry() : NULL;
    if (!module)
        return hr_fail(error, HR_STATUS_ERROR, "%s is not a CUDA module of Headrace", path);
    if (module->abi != HR_CUDA_ABI_VERSION || module->struct_size != sizeof(*module))
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s does not fit this version of Headrace: its ABI is %u with a table of %u "
                       "bytes, expected %u with %zu",
                       path, module->abi, module->struct_size, HR_CUDA_ABI_VERSION,
                       sizeof(*module));
    *out = module;
    return HR_STATUS_OK;
}
