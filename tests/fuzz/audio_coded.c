/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: FLAC, Vorbis, Opus and MP3, whole and in part. Without the module, nothing is read.
 */
#include "codecs/audio/coded.h"
#include "replay.h"

#include <stdlib.h>

static void decode(const uint8_t *data, size_t size, double offset, double duration)
{
    hr_audio_job job = {.bytes = data,
                        .size = size,
                        .coding = hr_audio_coding_of(data, size),
                        .offset = offset,
                        .duration = duration};
    hr_error error;
    float sum = 0;
    if (job.coding == HR_AUDIO_CODING_NONE || hr_audio_coded_decode(&job, &error) != HR_STATUS_OK)
        return;
    if (job.frames < 0 || (duration >= 0 && (double)job.frames > duration * job.rate))
        abort();
    for (int64_t i = 0; i < job.frames * job.channels; i++)
        sum += ((const float *)job.samples)[i];
    if (sum == 1234.5f)
        abort(); /* all samples have been read */
    hr_audio_coded_release(&job);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#ifdef HR_AUDIO_MODULE
    setenv("HEADRACE_AUDIO_MODULE", HR_AUDIO_MODULE, 0);
    decode(data, size, 0, -1);
    decode(data, size, 0.05, 0.1);
#else
    (void)data;
    (void)size;
    (void)decode;
#endif
    return 0;
}
