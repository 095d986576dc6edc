// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Copies the bytes of scans without stuffed zeros, in two launches over groups of strips of 256
// bytes, one per thread. Both load the strips of a group together. *count* counts their data bytes;
// *unstuff* adds up those before each strip, and stores the data in words. A word belongs to the
// strip in which it begins. Images of a single group are counted by *unstuff*.
#include "cuda/jpeg/decode.cuh"

namespace
{

constexpr uint32_t THREADS = 128, STRIP = HR_JPEG_DEVICE_STRIP;
constexpr uint32_t BEHIND = 8;  // bytes after a strip that its last word may need
constexpr uint32_t PIECES = 18; // of 16 bytes: 15 + 1 + STRIP + BEHIND, rounded up
constexpr uint32_t AT_ONCE = 6; // ... that a thread loads at a time
constexpr uint32_t ROW = 73;    // words; odd, to avoid bank conflicts
static_assert(PIECES % AT_ONCE == 0, "strips are loaded in whole turns");
constexpr uint32_t PAD_WORDS = HR_JPEG_DEVICE_PAD / 4;
constexpr uint32_t FILL_BYTES =
    256; // fill bytes before a marker, at most; the host decodes files with more
constexpr uint32_t NONE = UINT32_MAX, NO_STOP = 0xFFFF;

struct strip {
    const hr_jpeg_device_segment *segment;
    const uint4 *from; // the 16-byte pieces of the file around it
    uint32_t count;
    const uint32_t *window; // its copy in shared memory
    uint32_t at;            // the strip's first byte in `window`
    uint32_t raw;           // ... and in the needed bytes of the file
    uint32_t length, known; // bytes of the strip; and with the bytes loaded after it
    bool first, last;       // strip of the segment

    __device__ __forceinline__ uint32_t byte(uint32_t i) const
    {
        return window[(at + i) / 4] >> (8 * ((at + i) % 4)) & 255;
    }

    __device__ __forceinline__ uint32_t word(uint32_t i) const
    {
        uint32_t k = (at + i) / 4;
        return __funnelshift_r(window[k], window[k + 1], 8 * ((at + i) % 4));
    }

    __device__ __forceinline__ bool behind_ones() const
    {
        return !first && (window[(at - 1) / 4] >> (8 * ((at - 1) % 4)) & 255) == 0xFF;
    }

    // Whether the first byte is a stuffed zero.
    __device__ __forceinline__ bool begins_stuffed() const
    {
        return behind_ones() && byte(0) == 0;
    }

    // Whether the data ends at byte i, which is 0xFF: a marker begins there, or the file ends.
    __device__ __forceinline__ bool ends_at(uint32_t i) const
    {
        if (raw + i + 1 >= segment->raw_end)
            return segment->kind == HR_JPEG_DEVICE_LAST;
        return byte(i + 1) != 0;
    }
};

__device__ __forceinline__ bool has_ones(uint32_t word)
{
    uint32_t v = ~word;
    return ((v - 0x01010101u) & ~v & 0x80808080u) != 0;
}

__device__ strip find_strip(const hr_jpeg_device_image *image, const uint8_t *raw, uint32_t s)
{
    const hr_jpeg_device_segment *segments = image->segments;
    strip r;
    r.segment = &segments[hr_last_at_most(0u, image->segment_count, s,
                                          [=](uint32_t i) { return segments[i].strip; })];
    r.raw = r.segment->raw + (s - r.segment->strip) * STRIP;
    r.first = s == r.segment->strip;
    r.last = r.segment->raw_end - r.raw <= STRIP;
    r.length = min(STRIP, r.segment->raw_end - r.raw);
    r.known = min(STRIP + BEHIND, r.segment->raw_end - r.raw);
    uintptr_t begin = (uintptr_t)(raw + r.raw) - !r.first;
    r.at = (uint32_t)(begin % 16) + !r.first;
    r.from = (const uint4 *)(begin - begin % 16);
    r.count = (r.at + r.known + 15) / 16;
    return r;
}

// Counts data bytes. *stop: where the data ends, if that is in the strip.
__device__ uint32_t count_data(const strip &s, uint32_t *stop)
{
    bool ones = s.behind_ones();
    uint32_t data = 0, i = 0;
    *stop = NONE;
    while (i < s.length) {
        if (!ones && i + 4 <= s.length && !has_ones(s.word(i))) {
            data += 4;
            i += 4;
            continue;
        }
        uint32_t c = s.byte(i);
        if (c == 0xFF && s.ends_at(i)) {
            *stop = i;
            break;
        }
        data += !(ones && c == 0);
        ones = c == 0xFF;
        i++;
    }
    return data;
}

// Both in a word: an entry of hr_jpeg_batch.data.
__device__ __forceinline__ uint32_t count_strip(const strip &s)
{
    uint32_t stop, data = count_data(s, &stop);
    return stop << 16 | data; // NONE becomes NO_STOP
}

// Stores the words that begin in the strip; its `data` bytes begin at byte `at` of the scan.
__device__ void store_data(const strip &s, uint32_t at, uint32_t data, uint32_t stop,
                           uint32_t *scan)
{
    uint32_t *to = scan + (at + 3) / 4, *end = scan + (at + data + 3) / 4;
    uint32_t skip = (0u - at) % 4, limit = min(stop, s.known), held = 0, i = 0;
    uint64_t bytes = 0;
    bool ones = s.behind_ones();
    while (to < end && i < limit) {
        if (!ones && skip == 0 && i + 4 <= min(limit, s.length) && !has_ones(s.word(i))) {
            bytes |= (uint64_t)s.word(i) << (8 * held);
            *to++ = (uint32_t)bytes;
            bytes >>= 32;
            i += 4;
            continue;
        }
        uint32_t c = s.byte(i);
        if (c == 0xFF && s.ends_at(i))
            break;
        bool stuffed = ones && c == 0;
        ones = c == 0xFF;
        i++;
        if (stuffed)
            continue;
        if (skip > 0) {
            skip--;
            continue;
        }
        bytes |= (uint64_t)c << (8 * held);
        if (++held == 4) {
            *to++ = (uint32_t)bytes;
            bytes = held = 0;
        }
    }
    if (to < end)
        *to = (uint32_t)bytes;
}

// Records where a segment of `bytes` bytes ends. False if it does not end properly.
__device__ bool finish_segment(const hr_jpeg_device_image *image, const uint8_t *raw,
                               hr_jpeg_device_segment *segment, uint32_t bytes, uint32_t stop)
{
    uint32_t end = 8 * (segment->bit / 8 + bytes), ahead = 8 * HR_JPEG_DEVICE_AHEAD;
    uint32_t *pad = image->scan + (end / 8 + 3) / 4;
    for (uint32_t i = 0; i < PAD_WORDS; i++)
        pad[i] = 0;
    segment->end = segment->least = segment->most = end - (8 - segment->bits) % 8;
    if (segment->kind != HR_JPEG_DEVICE_LAST) {
        segment->least -= segment->kind == HR_JPEG_DEVICE_RESTART ? min(end, 7u) : 0;
        if (segment->kind == HR_JPEG_DEVICE_PART)
            segment->least = segment->bit;
        return stop == NONE;
    }
    uint32_t next = stop == NONE ? segment->raw_end : stop;
    uint32_t limit = min(segment->raw_end, next + FILL_BYTES); // a file has less than 2^29 bytes
    while (next < limit && raw[next] == 0xFF)
        next++;
    if (next < segment->raw_end) { // a marker, unless the bytes 0xFF are data
        if (raw[next] == 0 || raw[next] == 0xFF)
            return false;
        ahead = 0;
    }
    segment->least = segment->bit;
    segment->most = end - ahead;
    return end >= segment->bit + ahead;
}

// Copies `count` strips to shared memory. Several loads of a thread are in flight.
__device__ __forceinline__ void load_strips(uint32_t *windows, const uint4 *const *from,
                                            const uint32_t *counts, uint32_t count)
{
    for (uint32_t first = threadIdx.x; first < count * PIECES; first += THREADS * AT_ONCE) {
        uint4 v[AT_ONCE] = {};
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            uint32_t i = first + k * THREADS;
            if (i % PIECES < counts[i / PIECES])
                v[k] = from[i / PIECES][i % PIECES];
        }
#pragma unroll
        for (uint32_t k = 0; k < AT_ONCE; k++) {
            uint32_t i = first + k * THREADS, *to = windows + i / PIECES * ROW + 4 * (i % PIECES);
            if (i % PIECES >= counts[i / PIECES])
                continue;
            to[0] = v[k].x;
            to[1] = v[k].y;
            to[2] = v[k].z;
            to[3] = v[k].w;
        }
    }
}

// The strips of a thread block: one per thread, of one image.
struct group {
    const hr_jpeg_device_image *image;
    const uint8_t *raw;      // the needed bytes of the file, in device memory
    uint32_t base, number;   // the first strip, and the one of this thread
    uint32_t *strips, *data; // of the image
    bool mine;               // the image has a strip of that number
};

struct group_memory {
    uint32_t windows[THREADS * ROW], counts[THREADS];
    const uint4 *from[THREADS];
};

__device__ group group_of(const hr_jpeg_batch *b, const hr_jpeg_tiles &share)
{
    int tile;
    uint32_t i = b->from + (uint32_t)tiles::find(share, &tile);
    hr_jpeg_work work = b->work[i];
    group g;
    g.image = &b->images[i];
    g.raw =
        g.image->raw_size > 0 ? hr_jpeg_copy_of(g.image, b->fetched + work.piece) : g.image->raw;
    g.base = (uint32_t)tile * THREADS;
    g.number = g.base + threadIdx.x;
    g.strips = b->strips + work.strip;
    g.data = b->data + work.strip;
    g.mine = g.number < g.image->strips;
    return g;
}

__device__ __forceinline__ strip strip_of(const group &g)
{
    return find_strip(g.image, g.raw, g.mine ? g.number : 0);
}

__device__ __forceinline__ void load_group(const group &g, strip *s, group_memory *m)
{
    uint32_t t = threadIdx.x;
    s->window = m->windows + t * ROW;
    m->from[t] = s->from;
    m->counts[t] = g.mine ? s->count : 0;
    __syncthreads();
    load_strips(m->windows, m->from, m->counts, min(THREADS, g.image->strips - g.base));
    __syncthreads();
}

__global__ void __launch_bounds__(THREADS)
    count(hr_jpeg_batch b, const __grid_constant__ hr_jpeg_tiles share)
{
    __shared__ group_memory memory;
    group g = group_of(&b, share);
    strip s = strip_of(g);
    load_group(g, &s, &memory);
    if (g.mine)
        g.data[g.number] = count_strip(s);
}

HR_JPEG_HD uint32_t groups_of(const hr_jpeg_device_image *image)
{
    return HR_DIVIDE_UP(image->strips, THREADS);
}

__global__ void __launch_bounds__(THREADS)
    unstuff(hr_jpeg_batch b, const __grid_constant__ hr_jpeg_tiles share)
{
    __shared__ group_memory memory;
    __shared__ uint32_t sums[THREADS], ended, begun;
    group g = group_of(&b, share);
    uint32_t t = threadIdx.x, sum = 0, end = NONE, carry, all;
    strip s = strip_of(g);
    hr_jpeg_device_segment *segment = (hr_jpeg_device_segment *)s.segment;
    if (t == 0) {
        ended = NONE; // the strip in which the data ends
        begun = segment->strip;
    }
    __syncthreads();
    for (uint32_t i = t; i < g.base; i += THREADS) {
        uint32_t data = g.data[i];
        end = data >> 16 != NO_STOP ? min(end, i) : end;
        sum += i >= begun ? data & 0xFFFF : 0;
    }
    if (end != NONE)
        atomicMin(&ended, end);
    hr_jpeg_sum_before<THREADS>(sums, sum, &carry); // the segment's bytes before this group
    if (ended != NONE) {
        if (g.mine)
            g.strips[g.number] = NONE;
        return;
    }
    load_group(g, &s, &memory);
    uint32_t own = NO_STOP << 16;
    if (g.mine)
        own = groups_of(g.image) == 1 ? count_strip(s) : g.data[g.number];
    uint32_t stop = own >> 16;
    if (stop != NO_STOP)
        atomicMin(&ended, g.number);
    __syncthreads();
    bool live = g.mine && g.number <= ended, bad = false;
    uint32_t data = live ? own & 0xFFFF : 0;
    uint32_t before = hr_jpeg_sum_before<THREADS>(sums, data, &all);
    sums[t] = before;
    __syncthreads();
    if (live) {
        uint32_t first = segment->strip;
        uint32_t bytes = first < g.base ? carry + before : before - sums[first - g.base];
        stop = stop == NO_STOP ? NONE : stop;
        g.strips[g.number] = 2 * bytes + s.begins_stuffed();
        store_data(s, segment->bit / 8 + bytes, data, stop, g.image->scan);
        if (s.last || stop != NONE)
            bad = !finish_segment(g.image, g.raw, segment, bytes + data,
                                  stop == NONE ? NONE : s.raw + stop);
    } else if (g.mine) {
        g.strips[g.number] = NONE;
    }
    if (bad)
        *g.image->status = 1;
}

} // namespace

cudaError_t hr__jpeg_unstuff(const hr_jpeg_batch *b, cudaStream_t stream)
{
    hr_jpeg_launch(count, b, THREADS, stream, [](const hr_jpeg_device_image *image) {
        uint32_t groups = groups_of(image);
        return groups > 1 ? groups : 0;
    });
    hr_jpeg_launch(unstuff, b, THREADS, stream, groups_of);
    return cudaGetLastError();
}
