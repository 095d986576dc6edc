/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "video_fuzz.h"

#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_demuxer("MPEG-TS", data, size);
}
