/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Memory in pairs: a pinned block on the host and its twin on the device, into which the launch
 * copies it. Kernels read at `device` what is written at `host`, so records may contain device
 * addresses of other staged memory. */
#ifndef HR_CORE_STAGING_H
#define HR_CORE_STAGING_H

#include "core/error.h"

typedef struct hr_staged {
    void *host;
    void *device; /* must not be dereferenced on the host */
} hr_staged;

typedef struct hr_staging hr_staging;
struct hr_staging {
    /* 256-byte aligned, not zeroed; any thread. It lives until its launch is done. */
    hr_status (*alloc)(hr_staging *s, size_t size, hr_staged *out, hr_error *error);
    /* Queues the copy of staged memory that has not been copied yet; kernels queued later see it.
     * Only while launching. */
    hr_status (*flush)(hr_staging *s, hr_error *error);
    /* `*device`: where the device has a copy of `size` bytes at `data`. They belong to a node's
     * state and do not change, so they are copied once per pipeline. Kernels queued later see
     * them. */
    hr_status (*constant)(hr_staging *s, const void *data, size_t size, const void **device,
                          hr_error *error);
};

#endif
