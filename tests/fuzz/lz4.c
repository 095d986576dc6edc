/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: LZ4 blocks. The first two bytes are the size of the output; nothing is read or
 * written outside of the buffers, which have exactly their sizes. */
#include "ops/decoders/inflate.h"

#include <stdlib.h>

#include "replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t room = data[0] | (size_t)data[1] << 8, coded = size - 2;
    uint8_t *from = malloc(coded + !coded), *to = malloc(room + !room);
    if (from && to) {
        memcpy(from, data + 2, coded);
        int64_t done = lz4_inflate(from, (int64_t)coded, to, (int64_t)room);
        if (done > (int64_t)room || (done >= 0 && done != (int64_t)room) || ~done > (int64_t)room)
            abort();
    }
    free(from);
    free(to);
    return 0;
}
