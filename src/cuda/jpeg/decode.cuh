// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Shared by the kernels of this folder. The steps of a batch, in order and without waiting on the
// host: tables, fetch, count, unstuff, synchronise, join (once per batch); coefficients,
// predictions, transform, color (once per part of the batch).
#pragma once

#include <cuda_runtime.h>

#include <stdint.h>

#include "codecs/jpeg/device.h"
#include "cuda/launch.cuh"
#include "cuda/search.cuh"
#include "cuda/tiles.cuh"

enum {
    HR_JPEG_TABLES_MAX = 6,
    HR_JPEG_DEVICE_FAST_BITS = 10,
    HR_JPEG_DEVICE_FAST_SIZE = 1 << HR_JPEG_DEVICE_FAST_BITS,
    HR_JPEG_DEVICE_FAST_BYTES = 4 * HR_JPEG_DEVICE_FAST_SIZE,
    HR_JPEG_STEP = 1024, // bits between two entries of the trace
    HR_JPEG_STEPS = HR_JPEG_DEVICE_SUB / HR_JPEG_STEP,
    // rounds in which synchronising may follow an image's scan from thread block to thread block;
    // photographs need at most about a hundred
    HR_JPEG_ROUNDS = 1024,
    HR_JPEG_IMAGES = 4096 // of a batch
};

// A Huffman table. An entry of `fast` has, from the lowest byte: bits of code and value together;
// bits of the code; bits of the value; how far the position in the block advances. 0: the code is
// longer than HR_JPEG_DEVICE_FAST_BITS, or invalid.
typedef struct hr_jpeg_table {
    uint32_t fast[HR_JPEG_DEVICE_FAST_SIZE];
    // codes of 11 to 16 bits: the first 16-bit window above them; offset from code to symbol
    uint32_t limit[6];
    int32_t offset[6];
    uint32_t ac;
    uint8_t symbols[256];
    uint32_t zero[3];
} hr_jpeg_table;

// Sums over the images before this one: where its data begins.
typedef struct hr_jpeg_work {
    // subsequences, blocks of the window, strips, 16-byte pieces of the files
    uint32_t sub, block, strip, piece;
} hr_jpeg_work;

typedef struct hr_jpeg_batch {
    const hr_jpeg_device_image *images, *host; // for the device and for the host
    uint32_t count;
    uint32_t from, to; // the images of a part; of the launches before the parts: all
    int level;         // of scans of progressive files
    hr_jpeg_work *work;
    hr_jpeg_table *tables; // HR_JPEG_TABLES_MAX of each image: DC, then AC
    uint32_t *done;        // segments of each image that ended at the expected position
    // of each strip: twice the offset in its segment without stuffing; plus one if its first byte
    // in the file is stuffing
    uint32_t *strips;
    // of each strip: its data bytes, and << 16 the byte where the data ends, 0xFFFF: not in it
    uint32_t *data;
    uint4 *fetched; // the pieces of each file, until the parts begin
    // of each subsequence
    uint32_t *trace;    // HR_JPEG_STEPS entries, see sync.cu
    uint32_t *counted;  // blocks that end before it in the image
    int32_t *dc;        // three: sums of differences, later the sums before it in the image
    int32_t *predicted; // three: the predictions that its differences are relative to
    // of the part
    int16_t *coefs;  // 64 per block, in zigzag order; DC relative to the subsequence's prediction
    uint32_t *owner; // of a block: the subsequence that contains its DC coefficient
    uint8_t *planes;
} hr_jpeg_batch;

#define HR_JPEG_HD static __host__ __device__ __forceinline__

HR_JPEG_HD uint32_t hr_jpeg_blocks_in_mcu(const hr_jpeg_device_image *image)
{
    return (uint32_t)(image->h * image->v + (image->components > 1 ? 2 : 0));
}

// Blocks of a component in the window's MCUs: per row of blocks, and in total.
HR_JPEG_HD uint32_t hr_jpeg_across(const hr_jpeg_device_image *image, int component)
{
    return (uint32_t)((image->right - image->left) * (component == 0 ? image->h : 1));
}

HR_JPEG_HD uint32_t hr_jpeg_component_blocks(const hr_jpeg_device_image *image, int component)
{
    return (uint32_t)((image->bottom - image->top) * (component == 0 ? image->v : 1)) *
           hr_jpeg_across(image, component);
}

HR_JPEG_HD uint32_t hr_jpeg_window_blocks(const hr_jpeg_device_image *image)
{
    return hr_jpeg_component_blocks(image, 0) +
           (image->planes > 1 ? 2 * hr_jpeg_component_blocks(image, 1) : 0);
}

// What an image needs of the memory of a batch.
HR_JPEG_HD hr_jpeg_work hr_jpeg_work_of(const hr_jpeg_device_image *image)
{
    uint32_t pieces = image->raw_size > 0
                          ? ((uint32_t)(uintptr_t)image->raw % 16 + image->raw_size + 15) / 16
                          : 0;
    return {image->subs, hr_jpeg_window_blocks(image), image->strips, pieces};
}

// Where the needed bytes are, which begin in the first of these pieces: aligned as in host memory.
HR_JPEG_HD uint8_t *hr_jpeg_copy_of(const hr_jpeg_device_image *image, uint4 *pieces)
{
    return (uint8_t *)pieces + (uintptr_t)image->raw % 16;
}

// All images of a part are in one launch: its longest image determines how long it takes, and the
// longest ones of several launches would be decoded one after the other.
typedef tiles::ShareOf<HR_JPEG_IMAGES> hr_jpeg_tiles;

// Launches `kernel` over the tiles of the images of a part, and returns the number of tiles.
// `tiles_of(image)`: the tiles of one. All thread blocks are in one row: many need so much shared
// memory that idle ones would take time.
template <typename TilesOf>
static uint32_t hr_jpeg_launch(void (*kernel)(hr_jpeg_batch, const hr_jpeg_tiles),
                               const hr_jpeg_batch *b, unsigned threads, cudaStream_t stream,
                               TilesOf tiles_of)
{
    hr_jpeg_tiles share;
    tiles::fill(&share, (int)(b->to - b->from),
                [=](int i) { return tiles_of(&b->host[b->from + (uint32_t)i]); });
    uint32_t all = share.first[share.count];
    if (all > 0)
        HR_CUDA_LAUNCH(kernel, all, threads, stream, *b, share);
    return all;
}

// Returns the sum of the values of the threads before this one; *all is the sum over all threads.
// `sums` may be reused at once.
template <uint32_t THREADS>
__device__ uint32_t hr_jpeg_sum_before(uint32_t *sums, uint32_t value, uint32_t *all)
{
    uint32_t t = threadIdx.x;
    sums[t] = value;
    __syncthreads();
    for (uint32_t d = 1; d < THREADS; d *= 2) {
        uint32_t before = t >= d ? sums[t - d] : 0;
        __syncthreads();
        sums[t] += before;
        __syncthreads();
    }
    uint32_t result = sums[t] - value;
    *all = sums[THREADS - 1];
    __syncthreads();
    return result;
}

// The bits of a subsequence.
typedef struct hr_jpeg_range {
    uint32_t begin, end;
    uint32_t segment;
    bool known; // the state at its beginning is known
    bool alone; // the only one of its segment
} hr_jpeg_range;

HR_JPEG_HD hr_jpeg_range hr_jpeg_range_of(const hr_jpeg_device_image *image, uint32_t sub)
{
    const hr_jpeg_device_segment *segments = image->segments;
    // with an index, most segments are one subsequence
    bool direct = sub < image->segment_count && segments[sub].first == sub;
    uint32_t low = direct ? sub
                          : hr_last_at_most(0u, image->segment_count, sub,
                                            [=](uint32_t i) { return segments[i].first; });
    hr_jpeg_range r;
    r.segment = low;
    r.known = sub == segments[low].first;
    r.alone = r.known && sub + 1 == segments[low + 1].first;
    uint32_t begin = segments[low].bit + (sub - segments[low].first) * HR_JPEG_DEVICE_SUB;
    uint32_t end =
        segments[low].end; // before `begin` if stuffed bytes filled more than one subsequence
    r.begin = min(begin, end);
    r.end = sub + 1 == segments[low + 1].first ? end : min(begin + HR_JPEG_DEVICE_SUB, end);
    return r;
}

cudaError_t hr__jpeg_fetch(const hr_jpeg_batch *b, cudaStream_t stream);
cudaError_t hr__jpeg_unstuff(const hr_jpeg_batch *b, cudaStream_t stream);
cudaError_t hr__jpeg_tables(const hr_jpeg_batch *b, cudaStream_t stream);
// `tables`: of the image with the most tables.
cudaError_t hr__jpeg_synchronise(const hr_jpeg_batch *b, int tables, cudaStream_t stream);
cudaError_t hr__jpeg_coefficients(const hr_jpeg_batch *b, int tables, cudaStream_t stream);
// The coefficients of progressive files. `blocks`: of the part.
cudaError_t hr__jpeg_passes(const hr_jpeg_batch *b, size_t blocks, cudaStream_t stream);
cudaError_t hr__jpeg_transform(const hr_jpeg_batch *b, cudaStream_t stream);
cudaError_t hr__jpeg_color(const hr_jpeg_batch *b, cudaStream_t stream);
