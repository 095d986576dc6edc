/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Delays for tests. HEADRACE_STALL=1 delays tasks at random; "read:2000,decode:500" delays every
 * read and decode by that many microseconds, "index:900" the index entries of every file that a
 * device decoded. */
#include "exec/stall.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"

hr_status hr__stall_parse(hr_stall *stall, const char *text, hr_error *error)
{
    *stall = (hr_stall){0};
    if (!text || !text[0] || strcmp(text, "0") == 0)
        return HR_STATUS_OK;
    if (strcmp(text, "1") == 0) {
        stall->random = true;
        return HR_STATUS_OK;
    }
    const struct {
        const char *name;
        int64_t *us;
    } kinds[] = {
        {"read:", &stall->read_us}, {"decode:", &stall->decode_us}, {"index:", &stall->index_us}};
    for (const char *at = text; *at;) {
        size_t k = 0;
        while (k < HR_COUNT_OF(kinds) && strncmp(at, kinds[k].name, strlen(kinds[k].name)) != 0)
            k++;
        if (k == HR_COUNT_OF(kinds))
            return hr_fail(error, HR_STATUS_VALUE,
                           "HEADRACE_STALL is '%s'; allowed are 1, read:US, decode:US and index:US",
                           text);
        char *end;
        *kinds[k].us = strtol(at + strlen(kinds[k].name), &end, 10);
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

void hr__stall_for(int64_t us)
{
    if (us > 0)
        nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}
