/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The fake module, as tests see it. */
#pragma once

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "fake_module.h"

static fake_counts_fn counts_of;
static fake_fail_fn fail_at;

static inline void fake_find(void)
{
    setenv("HEADRACE_CUDA_MODULE", HR_FAKE_CUDA, 1);
    void *lib = dlopen(HR_FAKE_CUDA, RTLD_NOW | RTLD_NODELETE);
    void *symbols[2] = {lib ? dlsym(lib, "hr_fake_counts") : NULL,
                        lib ? dlsym(lib, "hr_fake_fail") : NULL};
    memcpy(&counts_of, &symbols[0], sizeof(counts_of));
    memcpy(&fail_at, &symbols[1], sizeof(fail_at));
}

/* Number of live objects; 0 if everything was released and nothing was misused. */
static inline long long alive(void)
{
    fake_counts c;
    counts_of(&c);
    return c.allocs + c.pinned + c.streams + c.events + c.bytes + 1000000 * (c.broken + c.misused);
}
