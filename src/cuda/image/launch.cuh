// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The kernels of image programs: each family of kernels is a file with a list of them, and
// program.cu launches those that a batch needs. A block works on one tile of one program.
#pragma once

#include "cuda/tiles.cuh"
#include "image/device.h"

namespace image
{

enum {
    TAPS_UNIT = 4 // words: alignment of a program's taps
};

// The taps of program i, if any, are at taps + taps_at[i] * TAPS_UNIT.
struct Share {
    tiles::Share tiles;
    const hr_device_program *programs;
    uint32_t *taps;
    uint32_t taps_at[tiles::RECORDS_MAX];
};

static __device__ __forceinline__ uint32_t *taps_of(const Share &share, int i)
{
    return share.taps + (size_t)share.taps_at[i] * TAPS_UNIT;
}

typedef void (*Kernel)(const Share);

// A kernel and the programs that it runs; -1: any. KIND_NONE is the kernel for fill, which any
// program may have.
struct Work {
    Kernel kernel; // NULL ends a list
    int kind, store, channels;
};

extern const Work fixed_1[], fixed_2[], fixed_3[], fixed_4[], floats[], gathers[];
extern const Work pick_u8[], pick_scaled[], pick_points[], pick_any[];
extern const Kernel make_all_taps;

// A list's entries: OF(store) for all ways of storing.
#define HR_IMAGE_STORES(OF)                                                                        \
    OF(HR_DEVICE_STORE_U8), OF(HR_DEVICE_STORE_F16), OF(HR_DEVICE_STORE_F32),                      \
        OF(HR_DEVICE_STORE_POINTS), OF(HR_DEVICE_STORE_ANY)

} // namespace image
