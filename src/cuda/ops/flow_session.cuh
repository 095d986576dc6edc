// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Sessions of the optical flow engine. They are kept for the next sequence of the same format:
// making one takes many milliseconds.
#pragma once

#include "cuda/ops/flow_engine.h"
#include "device/module.h"

namespace flow
{

struct Format {
    int32_t device;
    int64_t width, height;
    int32_t grid, hint_grid; // hint_grid is 0 without external hints
    int32_t speed;
    bool gray;
};

struct Buffer {
    void *handle;
    char *data; // on the device
    int64_t stride;
};

struct Session {
    Format format;
    void *engine, *stream;
    void *done; // event after the work of the last user
    Buffer frames[2], vectors, hints;
};

// A session whose work is queued on `stream`, after that of its last user. The device must be
// current. The caller gives it back with `give` or `drop`.
hr_status take(const Format &format, void *stream, Session **out, hr_error *error);
// Queues the search for the pixels of frames[current] in the other frame.
hr_status search(Session *s, int32_t current, bool temporal_hints, hr_error *error);
void give(Session *s);
void drop(Session *s); // after a failure: waits for its work

} // namespace flow

extern "C" {
// Destroys the sessions of a device that nobody uses; it must be current.
void hr_cuda_flow_drop_kept(int32_t device);

// What flow.cu finds in the driver, and tests replace.
flow_entry hr_cuda_flow_entry(void); // NULL: the library is not installed
// The calling thread's device and its CUcontext.
hr_status hr_cuda_flow_context(int32_t *device, void **context, hr_error *error);
}
