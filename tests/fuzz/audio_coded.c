/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: FLAC, Vorbis, Opus, MP3 and the sound of containers, whole and in part. Decoders are
 * kept from one input to the next, which must not change the samples. Without the module, nothing
 * is read. */
#include "codecs/audio/coded.h"
#include "replay.h"

#include <stdlib.h>
#include <string.h>

static bool decode(hr_audio_job *job, hr_audio_kept **kept, hr_arena *arena)
{
    hr_error error;
    float sum = 0;
    job->kept = kept;
    if (hr_audio_coded_decode(job, arena, &error) != HR_STATUS_OK)
        return false;
    if (job->frames < 0 || (job->duration >= 0 && (double)job->frames > job->duration * job->rate))
        abort();
    for (int64_t i = 0; i < job->frames * job->channels; i++)
        sum += ((const float *)job->samples)[i];
    if (sum == 1234.5f)
        abort(); /* all samples have been read */
    return true;
}

static void compare(const uint8_t *data, size_t size, double offset, double duration,
                    hr_arena *arena)
{
    static hr_audio_kept *kept;
    size_t start;
    const hr_audio_coding coding = hr_audio_coding_of(data, size, &start);
    hr_audio_job job = {.bytes = data + start,
                        .size = size - start,
                        .coding = coding,
                        .offset = offset,
                        .duration = duration};
    hr_audio_job again = job, fresh = job;
    if (job.coding == HR_AUDIO_CODING_NONE)
        return;
    bool done = decode(&job, &kept, arena);
    if (decode(&again, &kept, arena) != done || decode(&fresh, NULL, arena) != done)
        abort();
    size_t bytes = (size_t)(job.frames * job.channels) * sizeof(float);
    if (done && (again.frames != job.frames || fresh.frames != job.frames ||
                 (bytes > 0 && (memcmp(again.samples, job.samples, bytes) != 0 ||
                                memcmp(fresh.samples, job.samples, bytes) != 0))))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#ifdef HR_AUDIO_MODULE
    hr_arena *arena;
    hr_error error;
    setenv("HEADRACE_AUDIO_MODULE", HR_AUDIO_MODULE, 0);
#ifdef HR_VIDEO_MODULE
    setenv("HEADRACE_VIDEO_MODULE", HR_VIDEO_MODULE, 0);
#endif
    if (hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return 0;
    compare(data, size, 0, -1, arena);
    compare(data, size, 0, 0.1, arena);
    compare(data, size, 0.05, 0.1, arena);
    hr_arena_destroy(arena);
#else
    (void)data;
    (void)size;
    (void)compare;
#endif
    return 0;
}
