// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Shared by the kernels of this folder. The launches of a batch, in order and without waiting on
// the host: tables, unstuff, synchronise, join (once per batch); coefficients, predictions,
// transform, color (once per part of the batch).
#ifndef HR_CUDA_JPEG_DECODE_CUH
#define HR_CUDA_JPEG_DECODE_CUH

#include <cuda_runtime.h>

#include <stdint.h>

#include "codecs/jpeg/device.h"

#ifndef HR_CUDA_LAUNCH
#define HR_CUDA_LAUNCH(kernel, grid, block, stream, ...)                                           \
    kernel<<<(grid), (block), 0, (stream)>>>(__VA_ARGS__)
#endif

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
    HR_JPEG_GROUP = 256,  // threads of a thread block that synchronises, one subsequence each
    HR_JPEG_DECODE = 128, // ... of a thread block that decodes
    HR_JPEG_BLOCKS_PER_CTA = 128, // blocks that a thread block transforms
    HR_JPEG_COLOR_PIXELS = 4,     // of a group: pixels that a thread makes at a time
    HR_JPEG_COLOR_GROUPS = 1024,  // groups per thread block
    HR_JPEG_COLOR_LINES = 8       // of a bundle
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

// Sums over the images before this one: where its data begins, and its first thread blocks.
typedef struct hr_jpeg_work {
    uint32_t sync, decode, transform, color; // thread blocks
    uint32_t sub, block, strip;              // subsequences, blocks of the window, strips
} hr_jpeg_work;

typedef struct hr_jpeg_batch {
    const hr_jpeg_device_image *images;
    uint32_t count;
    uint32_t from, to; // the images of a part
    hr_jpeg_work *work;
    hr_jpeg_table *tables; // HR_JPEG_TABLES_MAX of each image: DC, then AC
    uint32_t *done;        // segments of each image that ended at the expected position
    // of each strip: twice the offset in its segment without stuffing; plus one if its first byte
    // in the file is stuffing
    uint32_t *strips;
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

// Groups of pixels that may cover a row; the first may begin before it.
HR_JPEG_HD uint32_t hr_jpeg_color_groups(const hr_jpeg_device_image *image)
{
    return HR_DIVIDE_UP((uint32_t)image->window_width + HR_JPEG_COLOR_PIXELS - 1,
                        HR_JPEG_COLOR_PIXELS);
}

// Rows and columns of the window are swapped, so its columns are contiguous.
HR_JPEG_HD bool hr_jpeg_swapped(const hr_jpeg_device_image *image)
{
    return image->step_y == image->channels || image->step_y == -image->channels;
}

// Rows of groups. Those of a swapped picture are processed in bundles, so that threads which work
// at the same time write pixels that are next to each other.
HR_JPEG_HD uint32_t hr_jpeg_color_lines(const hr_jpeg_device_image *image)
{
    uint32_t lines = (uint32_t)image->window_height;
    return hr_jpeg_swapped(image) ? HR_DIVIDE_UP(lines, HR_JPEG_COLOR_LINES) * HR_JPEG_COLOR_LINES
                                  : lines;
}

// The work of one image.
HR_JPEG_HD hr_jpeg_work hr_jpeg_work_of(const hr_jpeg_device_image *image)
{
    hr_jpeg_work w;
    w.sub = image->subs;
    w.strip = image->strips;
    w.decode = HR_DIVIDE_UP(image->subs, HR_JPEG_DECODE);
    w.sync = image->subs > image->segment_count ? HR_DIVIDE_UP(image->subs, HR_JPEG_GROUP) : 0;
    w.block = hr_jpeg_window_blocks(image);
    w.transform = HR_DIVIDE_UP(w.block, HR_JPEG_BLOCKS_PER_CTA);
    w.color = HR_DIVIDE_UP(hr_jpeg_color_groups(image) * hr_jpeg_color_lines(image),
                           HR_JPEG_COLOR_GROUPS);
    return w;
}

// The image among from .. to - 1 that thread block `at` works on.
template <uint32_t hr_jpeg_work::*field>
__device__ __forceinline__ uint32_t hr_jpeg_find(const hr_jpeg_work *work, uint32_t from,
                                                 uint32_t to, uint32_t at)
{
    while (to - from > 1) {
        uint32_t middle = (from + to) / 2;
        if (work[middle].*field <= at)
            from = middle;
        else
            to = middle;
    }
    return from;
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
    uint32_t low = 0, high = image->segment_count;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (segments[middle].first <= sub)
            low = middle;
        else
            high = middle;
    }
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

cudaError_t hr__jpeg_unstuff(const hr_jpeg_batch *b, cudaStream_t stream);
cudaError_t hr__jpeg_tables(const hr_jpeg_batch *b, cudaStream_t stream);
// `blocks`: thread blocks of all images. `tables`: of the image with the most tables.
cudaError_t hr__jpeg_synchronise(const hr_jpeg_batch *b, uint32_t blocks, int tables,
                                 cudaStream_t stream);
cudaError_t hr__jpeg_coefficients(const hr_jpeg_batch *b, uint32_t blocks, int tables,
                                  cudaStream_t stream);
cudaError_t hr__jpeg_transform(const hr_jpeg_batch *b, uint32_t blocks, cudaStream_t stream);
cudaError_t hr__jpeg_color(const hr_jpeg_batch *b, uint32_t blocks, cudaStream_t stream);

#endif
