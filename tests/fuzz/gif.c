/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: GIF files. Drawing over all frames takes long for large ones. */
#define FUZZ_MAX_PIXELS (1 << 12)
#include "codec_fuzz.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_codec("gif", data, size);
}
