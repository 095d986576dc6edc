/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: FITS files. Every HDU with an array is read. */
#include "readers/fits/image.h"
#include "replay.h"

#include <stdlib.h>

#define MOST_BYTES ((size_t)64 << 20) /* of an array */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_arena *arena = NULL;
    if (hr_arena_create(&arena, NULL) != HR_STATUS_OK)
        return 0;
    for (int32_t number = 1; number <= 4; number++) {
        hr_fits_hdu hdu;
        hr_error error;
        size_t count = 0;
        if (hr_fits_find(data, size, number, &hdu, &error) != HR_STATUS_OK)
            continue;
        if (hdu.data > size || hdu.size > size - hdu.data || hdu.shape.ndim > HR_MAX_NDIM ||
            !hr_shape_volume(&hdu.shape, &count))
            abort();
        if (count * 8 > MOST_BYTES)
            continue;
        char *out = malloc(count * hr_dtype_size(hdu.dtype) + 1);
        if (out)
            (void)hr_fits_read(data, &hdu, out, arena, &error);
        free(out);
        hr_arena_reset(arena);
    }
    hr_arena_destroy(arena);
    return 0;
}
