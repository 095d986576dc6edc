/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Memory in pairs: a pinned block here and its twin on the device, into which the launch copies it.
 * What is written at `host` will be read by kernels at `device`, so that records may hold the
 * addresses of other staged memory. */
#ifndef HR_CORE_STAGING_H
#define HR_CORE_STAGING_H

#include "core/error.h"

typedef struct hr_staged {
    void *host;
    void *device; /* not to be touched here */
} hr_staged;

typedef struct hr_staging hr_staging;
struct hr_staging {
    /* 256-byte aligned, not zeroed; any thread. It lives until the launch that it was staged for is
     * done. */
    hr_status (*alloc)(hr_staging *s, size_t size, hr_staged *out, hr_error *error);
    /* Queues the copy of what was staged and not copied yet: kernels queued behind it see it. Only
     * while launching. */
    hr_status (*flush)(hr_staging *s, hr_error *error);
};

#endif
