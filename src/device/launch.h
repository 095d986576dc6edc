/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A launch: a stream with the memory of one batch. */
#pragma once

#include "device/device.h"

typedef struct hr_launch hr_launch;
struct hr_launch {
    hr_staging staging; /* staging from any thread; flush from the launching one */
    hr_cuda_launch cuda;
    hr_device *device;
    void *done; /* event after everything that the launch queued */
};
hr_status hr_launch_create(hr_launch **out, hr_device *d, hr_error *error);
/* Releases all memory; the event must have completed. The device keeps the launch for the next
 * hr_launch_create. NULL is allowed. */
void hr_launch_destroy(hr_launch *l);
/* To be called after a failed call: waits for the queued work, whatever its state. Afterwards the
 * launch can only be destroyed. */
void hr_launch_abandon(hr_launch *l);
/* Holds a reference to the buffer until the launch is destroyed or rewound: queued work reads it.
 * From the launching thread. */
hr_status hr_launch_keep(hr_launch *l, hr_buffer *buffer, hr_error *error);
/* Drops scratch and what was kept; keeps staged memory: the launch will be repeated. */
void hr_launch_rewind(hr_launch *l);

size_t hr__chunk_size(size_t memory_limit); /* of a device with this limit */
void hr__launches_free(hr_device *d);       /* frees launches and chunks that are not in use */
