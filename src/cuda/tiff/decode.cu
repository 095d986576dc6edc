// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// LZW-compressed TIFF files: a warp decompresses a block of a file, 32 codes at a time; another
// launch makes pixels of the rows.
#include "codecs/tiff/device.h"
#include "cuda/error.cuh"
#include "cuda/launch.cuh"
#include "cuda/runtime.cuh"
#include "cuda/tiff/lzw.cuh"

namespace
{

constexpr uint32_t WARP = 32, ALL = 0xFFFFFFFFu;
constexpr uint32_t ALONE = 24; // bytes of a string that its lane copies; more are for the warp

// ---- decompression ----

// The string of a code is one that was written before and the byte after it.
struct String {
    uint32_t to, from;  // offsets in the output
    uint32_t length;    // bytes to write
    uint32_t needs;     // lanes whose strings it contains
    bool literal, last; // last: its last byte is its own first one
};

static __device__ void copy_alone(uint8_t *out, const String &s)
{
    for (uint32_t k = 0; k < s.length; k += 4) {
        uint8_t v[4] = {};
        for (uint32_t i = 0; i < 4; i++)
            if (k + i < s.length)
                v[i] = out[s.from + (s.last && s.from + k + i == s.to ? 0 : k + i)];
        for (uint32_t i = 0; i < 4; i++)
            if (k + i < s.length)
                out[s.to + k + i] = v[i];
    }
}

// The string of one lane, copied by all.
static __device__ void copy_together(uint8_t *out, const String &mine, uint32_t lane)
{
    uint32_t t = threadIdx.x, to = __shfl_sync(ALL, mine.to, lane);
    uint32_t from = __shfl_sync(ALL, mine.from, lane), n = __shfl_sync(ALL, mine.length, lane);
    uint32_t last = __shfl_sync(ALL, (uint32_t)mine.last, lane);
    for (uint32_t k = t; k < n; k += WARP)
        out[to + k] = out[from + (last && from + k == to ? 0 : k)];
}

// Writes the strings of all lanes, each one after those that it contains.
static __device__ void write_strings(uint8_t *out, const String &s, uint32_t literal)
{
    bool waits = s.length > 0 && !s.literal;
    if (s.length > 0 && s.literal)
        out[s.to] = (uint8_t)literal;
    __syncwarp();
    uint32_t done = ~__ballot_sync(ALL, waits);
    while (done != ALL) {
        bool ready = waits && (s.needs & ~done) == 0;
        if (ready && s.length <= ALONE)
            copy_alone(out, s);
        uint32_t together = __ballot_sync(ALL, ready && s.length > ALONE);
        for (; together != 0; together &= together - 1)
            copy_together(out, s, (uint32_t)__ffs((int)together) - 1);
        done |= __ballot_sync(ALL, ready);
        waits = waits && !ready;
        __syncwarp();
    }
}

static __device__ uint32_t sum_until(uint32_t v)
{
    for (uint32_t d = 1; d < WARP; d *= 2) {
        uint32_t before = __shfl_up_sync(ALL, v, d);
        v += threadIdx.x >= d ? before : 0;
    }
    return v;
}

// Bytes of the string of a code whose lane is below `count`. `at`: where the strings before this
// group are, `parent`: the lane with the rest of the string, or -1.
static __device__ uint32_t length_of(const uint32_t *at, uint32_t code, int parent, bool used)
{
    uint32_t length = !used ? 0 : code < lzw::CLEAR || parent >= 0 ? 1 : 0;
    if (used && length == 0)
        length = at[code - lzw::FIRST + 1] - at[code - lzw::FIRST] + 1;
    while (__ballot_sync(ALL, parent >= 0) != 0) { // twice as far each time
        uint32_t lane = parent >= 0 ? (uint32_t)parent : threadIdx.x;
        uint32_t more = __shfl_sync(ALL, length, lane);
        int next = __shfl_sync(ALL, parent, lane);
        length += parent >= 0 ? more : 0;
        parent = parent >= 0 ? next : -1;
    }
    return length;
}

// Writes the strings of `count` codes, of which the first has this number; `at` has the places of
// all strings since the table was cleared. Returns the end of what was written, which may be
// beyond `size`.
static __device__ uint32_t write_group(uint8_t *out, uint32_t size, uint32_t n, uint32_t *at,
                                       uint32_t code, uint32_t number, uint32_t count)
{
    uint32_t t = threadIdx.x, own = number + t;
    bool used = t < count, known = used && code >= lzw::FIRST;
    uint32_t entry = known ? code - lzw::FIRST : 0;
    if (t == 0 && number <= lzw::STRINGS)
        at[number] = n;
    __syncwarp();
    int parent = known && entry >= number ? (int)(entry - number) : -1;
    uint32_t length = length_of(at, code, parent, used), sum = sum_until(length);
    String s = {};
    s.to = n + sum - length;
    if (used && own < lzw::STRINGS)
        at[own + 1] = n + sum;
    __syncwarp();
    s.literal = !known;
    s.length = !used || s.to >= size ? 0 : min(length, size - s.to);
    s.from = known ? at[entry] : 0;
    s.last = entry + 1 == own;
    s.needs = parent >= 0 ? 1u << parent : 0;
    if (known && entry + 1 >= number && entry + 1 < own)
        s.needs |= 1u << (entry + 1 - number);
    write_strings(out, s, code);
    return n + __shfl_sync(ALL, sum, WARP - 1);
}

// False if the data is damaged, or ends too early.
static __device__ bool unpack(const lzw::Bits &bits, uint8_t *out, uint32_t size, uint32_t *at)
{
    uint32_t from = 0, number = 0, n = 0, t = threadIdx.x; // from: the first bit of code 0
    uint32_t code = bits.code(from, t);
    while (n < size) {
        uint32_t ahead = bits.code(from, number + WARP + t);
        bool valid = code < lzw::CLEAR || (code >= lzw::FIRST && code - lzw::FIRST < number + t);
        uint32_t stops = ~__ballot_sync(ALL, valid);
        uint32_t count = stops ? (uint32_t)__ffs((int)stops) - 1 : WARP;
        n = write_group(out, size, n, at, code, number, count);
        number += count;
        if (count < WARP) {
            if (n < size && __shfl_sync(ALL, code, count) != lzw::CLEAR)
                return false;
            from += lzw::place_of(number) + lzw::width_of(number);
            number = 0;
            ahead = bits.code(from, t);
        }
        code = ahead;
    }
    return true;
}

__global__ void __launch_bounds__(WARP)
    unpack_blocks(const hr_tiff_device_image *images, const tiles::Share share)
{
    __shared__ uint32_t at[lzw::STRINGS + 1];
    int block, i = tiles::find(share, &block);
    const hr_tiff_device_image &image = images[i];
    hr_tiff_device_block b = image.blocks[block];
    lzw::Bits bits = {image.words + b.word, 8 * b.size};
    uint32_t size = hr_tiff_device_rows(&image, (uint32_t)block) * image.row_size;
    if (!unpack(bits, image.unpacked + (size_t)block * image.slot_size, size, at) &&
        threadIdx.x == 0)
        *image.status = 1;
}

// ---- pixels ----

static __device__ uint32_t add_bytes(uint32_t a, uint32_t b)
{
    return ((a & 0x7F7F7F7F) + (b & 0x7F7F7F7F)) ^ ((a ^ b) & 0x80808080);
}

// The samples of a pixel, the first one in the lowest byte.
static __device__ uint32_t load_pixel(const uint8_t *p, int samples)
{
    uint32_t v = 0;
    for (int k = 0; k < samples; k++)
        v |= (uint32_t)p[k] << 8 * k;
    return v;
}

static __device__ uint32_t add_differences(uint32_t v, uint32_t before)
{
    for (uint32_t d = 1; d < WARP; d *= 2) {
        uint32_t other = __shfl_up_sync(ALL, v, d);
        v = threadIdx.x >= d ? add_bytes(v, other) : v;
    }
    return add_bytes(v, before);
}

// A grey sample is repeated where more channels are asked for; one that the file lacks is opaque.
static __device__ void store_pixel(uint8_t *dst, uint32_t v, int samples, int channels)
{
    bool grey = samples < 3 && samples != channels;
    for (int k = 0; k < channels; k++)
        dst[k] = (uint8_t)(grey ? v : k < samples ? v >> 8 * k : 0xFF);
}

// A warp makes the part of a block's row that lies in the window.
__global__ void __launch_bounds__(WARP)
    write_rows(const hr_tiff_device_image *images, const tiles::Share share)
{
    int tile, i = tiles::find(share, &tile);
    const hr_tiff_device_image image = images[i];
    uint32_t block = (uint32_t)tile / image.slot_rows, row = (uint32_t)tile % image.slot_rows;
    int64_t y = image.top + (int64_t)(block / image.across) * image.block_h + row;
    int64_t left = image.left + (int64_t)(block % image.across) * image.block_w;
    if (y < 0 || row >= hr_tiff_device_rows(&image, block))
        return;
    const uint8_t *src =
        image.unpacked + (size_t)block * image.slot_size + (size_t)row * image.row_size;
    uint8_t *dst = image.dst + image.steps.first + y * image.steps.y;
    int64_t end = min((int64_t)image.block_w, image.width - left);
    uint32_t before = 0;
    for (int64_t base = 0; base < end; base += WARP) {
        int64_t x = base + threadIdx.x;
        uint32_t v = x < end ? load_pixel(src + x * image.samples, image.samples) : 0;
        if (image.differences) {
            v = add_differences(v, before);
            before = __shfl_sync(ALL, v, WARP - 1);
        }
        if (x < end && left + x >= 0)
            store_pixel(dst + (left + x) * image.steps.x, v, image.samples, image.channels);
    }
}

} // namespace

hr_status hr_cuda_tiff_decode(hr_cuda_launch *l, hr_staged images, int32_t count, hr_error *error)
{
    const hr_tiff_device_image *host = (const hr_tiff_device_image *)images.host;
    const hr_tiff_device_image *device = (const hr_tiff_device_image *)images.device;
    cudaStream_t stream = (cudaStream_t)l->stream;
    HR_CUDA_TRY(tiles::launch(unpack_blocks, host, device, count, WARP, stream,
                              [](const hr_tiff_device_image *image) { return image->count; }));
    HR_CUDA_TRY(tiles::launch(
        write_rows, host, device, count, WARP, stream,
        [](const hr_tiff_device_image *image) { return image->count * image->slot_rows; }));
    return HR_STATUS_OK;
}
