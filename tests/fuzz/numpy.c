/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: NumPy files. Arrays that are complete are copied. */
#include "ops/io/npy.h"
#include "replay.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_npy npy;
    hr_error error;
    if (hr__npy_parse(data, size, &npy, &error) != HR_STATUS_OK)
        return 0;
    if (npy.offset > size || npy.shape.ndim > HR_MAX_NDIM)
        abort();
    if (hr__npy_complete(&npy, size, &error) != HR_STATUS_OK)
        return 0;
    char *copy = malloc(npy.bytes + 1);
    if (copy && npy.bytes > 0)
        hr__npy_copy(&npy, data + npy.offset, copy);
    free(copy);
    return 0;
}
