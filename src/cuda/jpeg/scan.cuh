// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The state machine of a sequential Huffman scan. It accepts any bits: every symbol consumes 1 to
// 31 of them, so no input can loop forever.
#pragma once

#include "cuda/jpeg/decode.cuh"

enum {
    HR_JPEG_END = 64, // added to the position in the block by EOB
    HR_JPEG_BAD = 192 // ... and by bits that are not a code
};

enum {
    // AC symbols that are decoded without a branch: a row. Rare cases (the end of a block, a DC
    // symbol, a long code) are handled between rows. A lane that meets one idles to the end of its
    // row, which costs less than a divergent branch of the whole warp.
    HR_JPEG_ROW = 6
};

// Shared memory of a thread block, which works on one image.
template <int TABLES> struct hr_jpeg_shared {
    uint32_t fast[TABLES * HR_JPEG_DEVICE_FAST_SIZE];
    uint32_t tables[6]; // of each block of an MCU: byte offset of its DC table, and of its AC table
                        // << 16
};

template <int THREADS, int TABLES>
__device__ __forceinline__ void hr_jpeg_share(hr_jpeg_shared<TABLES> *s,
                                              const hr_jpeg_device_image *image,
                                              const hr_jpeg_table *tables)
{
    int count = image->dc_count + image->ac_count;
    for (int t = 0; t < count; t++)
        for (int i = (int)threadIdx.x; i < HR_JPEG_DEVICE_FAST_SIZE / 4; i += THREADS)
            ((uint4 *)s->fast)[t * (HR_JPEG_DEVICE_FAST_SIZE / 4) + i] =
                ((const uint4 *)tables[t].fast)[i];
    int luma = image->h * image->v, c = (int)threadIdx.x;
    if (c < luma + (image->components > 1 ? 2 : 0)) {
        int component = c < luma ? 0 : c - luma + 1;
        uint32_t dc = image->dc[component], ac = image->dc_count + image->ac[component];
        s->tables[c] = dc * HR_JPEG_DEVICE_FAST_BYTES | ac * HR_JPEG_DEVICE_FAST_BYTES << 16;
    }
}

// An address in shared memory that stays in a register. Without it, the compiler computes the
// address again for every symbol.
#ifdef __CUDA_ARCH__
typedef uint32_t hr_jpeg_address;
__device__ __forceinline__ hr_jpeg_address hr_jpeg_address_of(const void *p)
{
    hr_jpeg_address a = (hr_jpeg_address)__cvta_generic_to_shared(p);
    asm volatile("" : "+r"(a));
    return a;
}
__device__ __forceinline__ uint32_t hr_jpeg_load(hr_jpeg_address a)
{
    uint32_t v;
    asm("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(a));
    return v;
}
__device__ __forceinline__ uint32_t hr_jpeg_load16(hr_jpeg_address a)
{
    uint16_t v;
    asm volatile("ld.shared.u16 %0, [%1];" : "=h"(v) : "r"(a) : "memory");
    return v;
}
__device__ __forceinline__ void hr_jpeg_store(hr_jpeg_address a, int32_t v)
{
    asm volatile("st.shared.u16 [%0], %1;" ::"r"(a), "h"((int16_t)v) : "memory");
}
#else
typedef uintptr_t hr_jpeg_address;
__device__ __forceinline__ hr_jpeg_address hr_jpeg_address_of(const void *p)
{
    return (hr_jpeg_address)p;
}
__device__ __forceinline__ uint32_t hr_jpeg_load(hr_jpeg_address a)
{
    return *(const uint32_t *)a;
}
__device__ __forceinline__ uint32_t hr_jpeg_load16(hr_jpeg_address a)
{
    return *(const uint16_t *)a;
}
__device__ __forceinline__ void hr_jpeg_store(hr_jpeg_address a, int32_t v)
{
    *(int16_t *)a = (int16_t)v;
}
#endif

__device__ __forceinline__ uint32_t hr_jpeg_entry(uint32_t length, uint32_t symbol, bool ac)
{
    uint32_t size = ac ? symbol & 15 : symbol, run = symbol >> 4, move = 1;
    if (ac)
        move = size == 0 && run < 15 ? (uint32_t)HR_JPEG_END : run + 1;
    return move << 24 | size << 16 | length << 8 | (length + size);
}

// Decodes codes that are not in the fast table. All loads are issued at once, because the whole
// warp waits for them.
static __device__ __noinline__ uint32_t hr_jpeg_slow(const hr_jpeg_table *t, uint32_t window)
{
    const uint4 *codes = (const uint4 *)t->limit;
    uint4 a = codes[0], b = codes[1], c = codes[2];
    const uint32_t limit[6] = {a.x, a.y, a.z, a.w, b.x, b.y};
    const uint32_t offset[6] = {b.z, b.w, c.x, c.y, c.z, c.w};
    uint32_t top = window >> 16, length = 11, from = offset[0];
#pragma unroll
    for (int i = 0; i < 5; i++) {
        length += top >= limit[i];
        from = top >= limit[i] ? offset[i + 1] : from;
    }
    if (top >= limit[5])
        return (uint32_t)HR_JPEG_BAD << 24 | 0x0101;
    return hr_jpeg_entry(length, t->symbols[((top >> (16 - length)) + from) & 255], t->ac != 0);
}

// A decoder's state: bit position, position in the block, block of the MCU.
typedef struct hr_jpeg_state {
    uint32_t bit, z, c;
} hr_jpeg_state;

// An entry of the trace: bits beyond the step's end, position in the block, block of the MCU,
// number of blocks that ended in the step.
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

// Bits in registers: 64 at `base`, of which `used` are consumed, the next 64, and 64 that are being
// loaded. Using a load stalls the whole warp until it arrives, so it is used one row after it was
// issued.
typedef struct hr_jpeg_bits {
    const uint2 *next;
    uint32_t base, used;
    uint32_t a0, a1, b0, b1;
    uint2 later;
} hr_jpeg_bits;

__device__ __forceinline__ uint32_t hr_jpeg_swap(uint32_t v)
{
    return __byte_perm(v, 0, 0x0123);
}

__device__ __forceinline__ void hr_jpeg_open(hr_jpeg_bits *b, const uint32_t *words, uint32_t bit)
{
    const uint2 *at = (const uint2 *)words + (bit >> 6);
    uint2 first = __ldg(at), second = __ldg(at + 1);
    b->later = __ldg(at + 2);
    b->next = at + 3;
    b->base = bit & ~63u;
    b->used = bit & 63;
    b->a0 = hr_jpeg_swap(first.x);
    b->a1 = hr_jpeg_swap(first.y);
    b->b0 = hr_jpeg_swap(second.x);
    b->b1 = hr_jpeg_swap(second.y);
}

__device__ __forceinline__ uint32_t hr_jpeg_bit(const hr_jpeg_bits *b)
{
    return b->base + b->used;
}

// Called between rows: advances by 64 bits when those at `base` are consumed.
__device__ __forceinline__ void hr_jpeg_turn(hr_jpeg_bits *b)
{
    if (b->used >= 64) {
        b->used -= 64;
        b->base += 64;
        b->a0 = b->b0;
        b->a1 = b->b1;
        b->b0 = hr_jpeg_swap(b->later.x);
        b->b1 = hr_jpeg_swap(b->later.y);
        b->later = __ldg(b->next++);
    }
}

// The bits of a row; the next bit is the top bit of v0. They suffice for a symbol while `used` is
// below the row's limit.
typedef struct hr_jpeg_window {
    uint32_t v0, v1, v2;
} hr_jpeg_window;

__device__ __forceinline__ hr_jpeg_window hr_jpeg_window_of(const hr_jpeg_bits *b)
{
    bool far = b->used >= 32;
    uint32_t x0 = far ? b->a1 : b->a0, x1 = far ? b->b0 : b->a1, x2 = far ? b->b1 : b->b0;
    uint32_t x3 = far ? 0 : b->b1;
    hr_jpeg_window w = {__funnelshift_l(x1, x0, b->used), __funnelshift_l(x2, x1, b->used),
                        __funnelshift_l(x3, x2, b->used)};
    return w;
}

// The limit of the next row: no symbol begins at `end` or later.
__device__ __forceinline__ uint32_t hr_jpeg_limit(const hr_jpeg_bits *b, uint32_t end)
{
    return min(end - b->base, min(b->used + 65, 97u));
}

__device__ __forceinline__ void hr_jpeg_skip(hr_jpeg_bits *b, hr_jpeg_window *w, uint32_t bits)
{
    b->used += bits;
    w->v0 = __funnelshift_l(w->v1, w->v0, bits);
    w->v1 = __funnelshift_l(w->v2, w->v1, bits);
    w->v2 <<= bits;
}

// Fast tables and the table offsets of each block in shared memory, complete tables in global
// memory.
typedef struct hr_jpeg_lookup {
    hr_jpeg_address fast, block_tables;
    const hr_jpeg_table *tables;
} hr_jpeg_lookup;

template <int TABLES>
__device__ __forceinline__ hr_jpeg_lookup hr_jpeg_lookup_of(const hr_jpeg_shared<TABLES> *s,
                                                            const hr_jpeg_table *tables)
{
    hr_jpeg_lookup l = {hr_jpeg_address_of(s->fast), hr_jpeg_address_of(s->tables), tables};
    return l;
}

// The tables of block c in an MCU.
__device__ __forceinline__ uint32_t hr_jpeg_tables_of(const hr_jpeg_lookup *l, uint32_t c)
{
    return hr_jpeg_load(l->block_tables + c * 4);
}

// The fast table's entry for the first symbol of a window. `table` is an offset in bytes.
__device__ __forceinline__ uint32_t hr_jpeg_fast(const hr_jpeg_lookup *l, uint32_t table,
                                                 uint32_t window)
{
    return hr_jpeg_load(l->fast + table + (window >> (32 - HR_JPEG_DEVICE_FAST_BITS)) * 4);
}

// The entry for the first symbol of a window, of any length.
__device__ __forceinline__ uint32_t hr_jpeg_look(const hr_jpeg_lookup *l, uint32_t table,
                                                 uint32_t window)
{
    uint32_t e = hr_jpeg_fast(l, table, window);
    return e != 0 ? e : hr_jpeg_slow(l->tables + table / HR_JPEG_DEVICE_FAST_BYTES, window);
}
