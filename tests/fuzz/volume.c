/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: volumes, in files of DICOM, NIfTI and TIFF. The memory of the values is exactly as
 * large as they are. */
#define FUZZ_MAX_PIXELS (1 << 14)
#include "codec_fuzz.h"
#include "codecs/volume/volume.h"
#include "replay.h"

static void read_values(const hr_volume *v, hr_op_call *c)
{
    size_t count;
    hr_error error;
    if (!hr_shape_volume(&v->shape, &count) || count > FUZZ_MAX_PIXELS)
        return;
    void *values = malloc(count * hr_dtype_size(v->dtype));
    if (values) {
        hr_status status = v->format->read(v, c, values, &error);
        if (status != HR_STATUS_OK && (error.status != status || error.message[0] == 0))
            abort(); /* a failure without a message */
    }
    free(values);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_arena *arena;
    hr_error error;
    hr_volume v;
    if (hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return 0;
    hr_op_call c = {.arena = arena};
    if (hr_volume_open(data, size, &c, &v, &error) == HR_STATUS_OK)
        read_values(&v, &c);
    else if (error.message[0] == 0)
        abort();
    hr_arena_destroy(arena);
    return 0;
}
