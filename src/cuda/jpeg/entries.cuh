// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Where the bytes of an unstuffed scan are in the file.
#pragma once

#include "cuda/jpeg/decode.cuh"

// Counts bytes 0xFF from byte `at` to byte `end`; in the file a stuffed zero follows each.
static __device__ uint32_t hr_jpeg_count_stuffed(const uint32_t *scan, uint32_t at, uint32_t end)
{
    uint32_t count = 0;
#pragma unroll 4
    for (uint32_t i = at / 4; i < (end + 3) / 4; i++) {
        uint32_t rest = ~__ldg(scan + i); // zero where the byte is 0xFF
        uint32_t other = ((rest & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | rest;
        if (4 * i < at)
            other |= (1u << (8 * (at - 4 * i))) - 1;
        if (end < 4 * i + 4)
            other |= ~0u << (8 * (end - 4 * i));
        count += 4 - (uint32_t)__popc(other & 0x80808080u);
    }
    return count;
}

// Maps a byte of a segment's staged scan to the byte of the file, both relative to the segment's
// first byte. `strips` has the start of each strip; within a strip, stuffed bytes are counted.
static __device__ uint32_t hr_jpeg_byte_of_file(const hr_jpeg_device_image *image,
                                 const hr_jpeg_device_segment *segment, const uint32_t *strips,
                                 uint32_t at)
{
    uint32_t i = hr_last_at_most(segment->strip, segment[1].strip, at,
                                 [=](uint32_t k) { return strips[k] / 2; });
    uint32_t begin = (i - segment->strip) * HR_JPEG_DEVICE_STRIP + strips[i] % 2;
    uint32_t from = strips[i] / 2, first = segment->bit / 8;
    return begin + at - from + hr_jpeg_count_stuffed(image->scan, first + from, first + at);
}
