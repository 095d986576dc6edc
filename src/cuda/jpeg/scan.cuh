// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The state machine of a sequential Huffman scan: one symbol after the other, whatever the bits.
// Every symbol takes at least one bit and at most 31, so nothing here can hang.
#ifndef HR_CUDA_JPEG_SCAN_CUH
#define HR_CUDA_JPEG_SCAN_CUH

#include "cuda/jpeg/decode.cuh"

enum {
    HR_JPEG_END = 64, // added to the place by an end of block
    HR_JPEG_BAD = 192 // ... and by bits that are no code
};

// What is shared by the threads of a block: they work for one image.
template <int TABLES> struct hr_jpeg_shared {
    uint32_t fast[TABLES * HR_JPEG_FAST_SIZE];
    uint32_t tables[6]; // of each block in an MCU: where its DC table begins, AC << 16
};

template <int TABLES>
__device__ __forceinline__ void hr_jpeg_share(hr_jpeg_shared<TABLES> *s,
                                              const hr_jpeg_device_image *image,
                                              const hr_jpeg_table *tables)
{
    int count = image->dc_count + image->ac_count;
    for (int t = 0; t < count; t++)
        for (int i = (int)threadIdx.x; i < HR_JPEG_FAST_SIZE / 4; i += HR_JPEG_GROUP)
            ((uint4 *)s->fast)[t * (HR_JPEG_FAST_SIZE / 4) + i] = ((const uint4 *)tables[t].fast)[i];
    int luma = image->h * image->v, c = (int)threadIdx.x;
    if (c < luma + (image->components > 1 ? 2 : 0)) {
        int component = c < luma ? 0 : c - luma + 1;
        uint32_t dc = image->dc[component], ac = image->dc_count + image->ac[component];
        s->tables[c] = dc * HR_JPEG_FAST_SIZE | ac * HR_JPEG_FAST_SIZE << 16;
    }
}

__device__ __forceinline__ uint32_t hr_jpeg_entry(uint32_t length, uint32_t symbol, bool ac)
{
    uint32_t size = ac ? symbol & 15 : symbol, run = symbol >> 4, move = 1;
    if (ac)
        move = size == 0 && run < 15 ? (uint32_t)HR_JPEG_END : run + 1;
    return move << 24 | size << 16 | length << 8 | (length + size);
}

// What the fast table does not have.
static __device__ __noinline__ uint32_t hr_jpeg_slow(const hr_jpeg_table *t, uint32_t window)
{
    uint32_t top = window >> 16;
    for (uint32_t i = 0; i < 6; i++)
        if (top < t->limit[i]) {
            uint32_t code = top >> (5 - i);
            return hr_jpeg_entry(11 + i, t->symbols[(code + (uint32_t)t->offset[i]) & 255],
                                 t->ac != 0);
        }
    return (uint32_t)HR_JPEG_BAD << 24 | 0x0101;
}

// A place in a scan: the bit, the place in the block, the block in the MCU.
typedef struct hr_jpeg_state {
    uint32_t bit, z, c;
} hr_jpeg_state;

// An entry of the trace: bits beyond the step's end, place in the block, block in the MCU; blocks
// that ended in the step.
enum { HR_JPEG_STATE = 0xFFFFF, HR_JPEG_COUNT_SHIFT = 20 };

__device__ __forceinline__ uint32_t hr_jpeg_pack(const hr_jpeg_state *s, uint32_t boundary,
                                                 uint32_t count)
{
    return (s->bit - boundary) | s->z << 8 | s->c << 16 | count << HR_JPEG_COUNT_SHIFT;
}

__device__ __forceinline__ hr_jpeg_state hr_jpeg_unpack(uint32_t entry, uint32_t boundary)
{
    hr_jpeg_state s = {boundary + (entry & 255), entry >> 8 & 255, entry >> 16 & 15};
    return s;
}

// Bits in registers: `high` holds the next one, `low` follows, `ahead` is on its way.
typedef struct hr_jpeg_bits {
    const uint32_t *words;
    uint32_t bit, refill; // where `low` begins
    uint32_t high, low, ahead;
} hr_jpeg_bits;

__device__ __forceinline__ uint32_t hr_jpeg_swap(uint32_t v)
{
    return __byte_perm(v, 0, 0x0123);
}

__device__ __forceinline__ void hr_jpeg_open(hr_jpeg_bits *b, const uint32_t *words, uint32_t bit)
{
    b->words = words;
    b->bit = bit;
    b->refill = (bit | 31) + 1;
    const uint32_t *at = words + (bit >> 5);
    b->high = hr_jpeg_swap(__ldg(at));
    b->low = hr_jpeg_swap(__ldg(at + 1));
    b->ahead = __ldg(at + 2);
}

__device__ __forceinline__ uint32_t hr_jpeg_peek(const hr_jpeg_bits *b)
{
    return __funnelshift_l(b->low, b->high, b->bit);
}

__device__ __forceinline__ void hr_jpeg_skip(hr_jpeg_bits *b, uint32_t bits)
{
    b->bit += bits;
    if (b->bit >= b->refill) {
        b->high = b->low;
        b->low = hr_jpeg_swap(b->ahead);
        b->refill += 32;
        b->ahead = __ldg(b->words + (b->refill >> 5) + 1);
    }
}

// The symbol that a window begins with.
template <int TABLES>
__device__ __forceinline__ uint32_t hr_jpeg_look(const hr_jpeg_shared<TABLES> *s,
                                                 const hr_jpeg_table *tables, uint32_t table,
                                                 uint32_t window)
{
    uint32_t e = s->fast[table + (window >> (32 - HR_JPEG_FAST_BITS))];
    if (e == 0)
        e = hr_jpeg_slow(tables + table / HR_JPEG_FAST_SIZE, window);
    return e;
}

#endif
