/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: sound files. The headers are read from all bytes and from the first half, and all
 * samples are converted to every type and mixed. */
#include "codecs/audio/adpcm.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

static void convert(const hr_audio *a, const uint8_t *samples)
{
    size_t frames = (size_t)a->frames, count = frames * (size_t)a->channels;
    float *values = malloc(count * sizeof(*values)), *mixed = malloc(count * sizeof(*mixed));
    const hr_kernels *kernels = hr_kernels_get(HR_CPU_LEVEL_AUTO);
    if (values && mixed) {
        hr_audio_read(a, kernels, samples, count, HR_DTYPE_INT16, values);
        hr_audio_read(a, kernels, samples, count, HR_DTYPE_INT32, values);
        hr_audio_read(a, kernels, samples, count, HR_DTYPE_FLOAT, values);
        hr_audio_downmix(values, frames, a->channels, mixed);
        hr_audio_scale(mixed, frames, HR_DTYPE_INT16, values);
        hr_audio_scale(mixed, frames, HR_DTYPE_INT32, values);
    }
    free(values);
    free(mixed);
}

/* Whole, and the second half alone, which must be the same. */
static void decode_blocks(const hr_audio *a, const uint8_t *samples)
{
    const size_t frame = a->frame_bytes, frames = (size_t)a->frames, half = frames / 2;
    int16_t *values = malloc(frames * frame + 1), *again = malloc(frames * frame + 1);
    hr_arena *arena = NULL;
    hr_error error;
    if (values && again && hr_arena_create(&arena, &error) == HR_STATUS_OK &&
        hr_adpcm_decode(a, samples, 0, a->frames, values, arena, &error) == HR_STATUS_OK &&
        (hr_adpcm_decode(a, samples, (int64_t)half, (int64_t)(frames - half), again, arena,
                         &error) != HR_STATUS_OK ||
         memcmp(again, (const char *)values + half * frame, (frames - half) * frame) != 0))
        abort();
    hr_arena_destroy(arena);
    free(values);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_audio a;
    hr_error error;
    if (hr_audio_open(data, size / 2, size, &a, &error) == HR_STATUS_OK &&
        (a.frames < 0 || a.offset > size))
        abort();
    if (hr_audio_open(data, size, size, &a, &error) != HR_STATUS_OK)
        return 0;
    if (a.frames < 0 || a.offset > size || a.length > size - a.offset || a.channels < 1 ||
        a.rate < 1)
        abort();
    if (a.block_bytes > 0) {
        decode_blocks(&a, data + a.offset);
        return 0;
    }
    if ((uint64_t)a.frames * a.frame_bytes > a.length)
        abort();
    convert(&a, data + a.offset);
    return 0;
}
