/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Delays for tests. HEADRACE_STALL=1 delays tasks at random; "read:2000,decode:500" delays every
 * read and decode by that many microseconds. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "exec/exec.h"

hr_status hr__stall_parse(hr_stall *stall, const char *text, hr_error *error)
{
    *stall = (hr_stall){0};
    if (!text || !text[0] || strcmp(text, "0") == 0)
        return HR_STATUS_OK;
    if (strcmp(text, "1") == 0) {
        stall->random = true;
        return HR_STATUS_OK;
    }
    for (const char *at = text; *at;) {
        int64_t *us = strncmp(at, "read:", 5) == 0 ? &stall->read_us : &stall->decode_us;
        size_t skip = us == &stall->read_us ? 5 : 7;
        if (us == &stall->decode_us && strncmp(at, "decode:", 7) != 0)
            return hr_fail(error, HR_STATUS_VALUE,
                           "HEADRACE_STALL is '%s'; allowed are 1, read:US and decode:US", text);
        char *end;
        *us = strtol(at + skip, &end, 10);
        at = *end == ',' ? end + 1 : end;
        if (end == at && *end)
            return hr_fail(error, HR_STATUS_VALUE, "HEADRACE_STALL is '%s': no number at '%s'",
                           text, at);
    }
    return HR_STATUS_OK;
}

void hr__stall_random(const hr_stall *stall, uint64_t salt)
{
    if (!stall->random)
        return;
    uint64_t r = hr_mix(salt, (uint64_t)hr_clock_ns());
    if (r % 4 == 0)
        nanosleep(&(struct timespec){0, (long)(r >> 8) % 3000000}, NULL);
}
