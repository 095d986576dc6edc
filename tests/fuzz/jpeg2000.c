/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: JPEG 2000 files. Without the module, only the headers are read. */
#define FUZZ_MAX_PIXELS (1 << 13)
#include "codec_fuzz.h"
#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
#ifdef HR_JPEG2000_MODULE
    setenv("HEADRACE_JPEG2000_MODULE", HR_JPEG2000_MODULE, 0);
#endif
    return fuzz_codec("jpeg2000", data, size);
}
