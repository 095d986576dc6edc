// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The scans of progressive files, one launch per level of refinement and a warp per segment. Where
// a symbol begins depends on the symbols before it and, in a refinement, on which coefficients of
// the block are known to be nonzero: all lanes follow this chain together. What is not on it is
// shared out: a lane has two coefficients of the block and finds their correction bits. Without an
// index or restart markers, a scan is a single chain.
#include "cuda/jpeg/decode.cuh"

namespace
{

constexpr uint32_t WARP = 32, ALL = ~0u;
constexpr uint32_t FAST_BITS = 10, FAST_SIZE = 1 << FAST_BITS;
constexpr uint32_t NOTE_BITS = 8 * HR_JPEG_DEVICE_NOTE;
constexpr int32_t DC_MOST = 1 << 27; // as in coefs.cu
constexpr uint32_t NOWHERE = UINT32_MAX;

// A Huffman table. An entry of `fast` is a symbol and, << 8, the bits of its code; 0: a longer or
// invalid code.
struct table {
    uint16_t fast[FAST_SIZE];
    uint32_t limit[17]; // the first 16-bit window above the codes of a length
    int32_t offset[17]; // from code to symbol
    uint8_t symbols[256];
};

__device__ void build_table(table *t, const uint8_t *definition)
{
    if (threadIdx.x == 0) {
        uint32_t code = 0;
        int32_t first = 0;
        for (int length = 1; length <= 16; length++) {
            t->offset[length] = first - (int32_t)(code >> (16 - length));
            code += (uint32_t)definition[length - 1] << (16 - length);
            first += definition[length - 1];
            t->limit[length] = code;
        }
    }
    for (uint32_t i = threadIdx.x; i < 256; i += WARP)
        t->symbols[i] = definition[16 + i];
    __syncwarp();
    for (uint32_t i = threadIdx.x; i < FAST_SIZE; i += WARP) {
        uint32_t top = i << (16 - FAST_BITS), length = 1;
        while (length <= FAST_BITS && top >= t->limit[length])
            length++;
        uint32_t at = length <= FAST_BITS ? (top >> (16 - length)) + (uint32_t)t->offset[length] : 0;
        t->fast[i] = length <= FAST_BITS ? (uint16_t)(length << 8 | t->symbols[at & 255]) : 0;
    }
    __syncwarp();
}

__device__ __forceinline__ uint32_t swap_bytes(uint32_t v)
{
    return __byte_perm(v, 0, 0x0123);
}

// The bits of a segment; behind its padding, there are zeros.
struct reader {
    const uint32_t *words;
    uint32_t next, stop; // word after `ahead`; the first one that must not be read
    uint32_t ahead;      // loaded before it is needed
    uint32_t held, bit;  // bits in the window; position of the first
    uint64_t window;     // the next bit on top

    __device__ __forceinline__ uint32_t word(uint32_t i) const
    {
        return i < stop ? swap_bytes(__ldg(words + i)) : 0;
    }

    // At least 33 bits from here on.
    __device__ __forceinline__ void refill()
    {
        if (held > 32)
            return;
        window |= (uint64_t)ahead << (32 - held);
        held += 32;
        ahead = word(next++);
    }

    __device__ __forceinline__ void open(const uint32_t *scan, uint32_t at, uint32_t end)
    {
        words = scan;
        stop = (end / 8 + 3) / 4 + HR_JPEG_DEVICE_PAD / 4;
        bit = at;
        next = at / 32 + 2;
        held = 32 - at % 32;
        window = (uint64_t)word(at / 32) << 32 << at % 32;
        ahead = word(at / 32 + 1);
        refill();
    }

    // n <= 32
    __device__ __forceinline__ void skip(uint32_t n)
    {
        window <<= n;
        held -= n;
        bit += n;
    }

    // n <= 16
    __device__ __forceinline__ uint32_t take(uint32_t n)
    {
        uint32_t v = (uint32_t)(window >> 32) >> 1 >> (31 - n);
        skip(n);
        return v;
    }

    __device__ __forceinline__ bool bit_at(uint32_t at) const
    {
        return word(at / 32) >> (31 - at % 32) & 1;
    }

    // Skips a code and returns its symbol; 256: there is no such code. 33 bits suffice for a code
    // and its value.
    __device__ __forceinline__ uint32_t symbol(const table *t)
    {
        refill();
        uint32_t top = (uint32_t)(window >> 48), e = t->fast[top >> (16 - FAST_BITS)];
        if (e == 0) {
            uint32_t length = FAST_BITS + 1;
            while (length <= 16 && top >= t->limit[length])
                length++;
            if (length > 16)
                return 256;
            e = length << 8 |
                t->symbols[((top >> (16 - length)) + (uint32_t)t->offset[length]) & 255];
        }
        skip(e >> 8);
        return e & 255;
    }
};

// The value of `size` bits; negative ones are stored as one less.
__device__ __forceinline__ int32_t extend(uint32_t bits, uint32_t size)
{
    return (int32_t)bits - (size > 0 && bits >> (size - 1) == 0 ? (1 << size) - 1 : 0);
}

__device__ __forceinline__ uint64_t below(uint32_t n)
{
    return n < 64 ? ((uint64_t)1 << n) - 1 : ~(uint64_t)0;
}

// Blocks of a component in memory: those of all MCUs down to the window's last.
struct plane {
    int16_t *coefs;
    uint32_t across; // blocks in a row
    uint32_t h, v;   // of an MCU
};

struct decoder {
    const hr_jpeg_device_image *image;
    const hr_jpeg_device_segment *segment;
    const hr_jpeg_device_pass *pass;
    const table *tables;
    uint8_t *places; // see refine_block
    reader r;
    plane planes[3];
    uint32_t due; // bit from which on an entry is noted
    bool bad;

    __device__ __forceinline__ int16_t *coefs_of(int component, uint32_t y, uint32_t x) const
    {
        const plane &p = planes[component];
        return p.coefs + ((size_t)y * p.across + x) * 64;
    }

    // Called where an MCU begins.
    __device__ __forceinline__ void note(uint32_t mcu, int32_t a, int32_t b, int32_t c)
    {
        if (r.bit < due)
            return;
        uint32_t slot = (r.bit - segment->bit) / NOTE_BITS - 1;
        due = segment->bit + (slot + 2) * NOTE_BITS;
        if (slot < segment->notes && threadIdx.x == 0) {
            hr_jpeg_device_entry e = {r.bit, pass->mcu + mcu, {a, b, c}};
            image->entries[segment->note + slot] = e;
        }
    }

    // ---- DC ----

    // The component of block `i` of an MCU, and its place in the MCU.
    __device__ __forceinline__ int16_t *block_of(uint32_t y, uint32_t x, uint32_t i, int *c) const
    {
        if (pass->components == 1) {
            *c = pass->component;
            return coefs_of(*c, y, x);
        }
        uint32_t luma = planes[0].h * planes[0].v;
        *c = i < luma ? 0 : (int)(i - luma) + 1;
        const plane &p = planes[*c];
        uint32_t k = i < luma ? i : 0;
        return coefs_of(*c, y * p.v + k / p.h, x * p.h + k % p.h);
    }

    __device__ void dc_first(uint32_t blocks)
    {
        int32_t dc[3] = {segment->dc[0], segment->dc[1], segment->dc[2]};
        uint32_t mcu = segment->block / blocks, end = segment->block_end / blocks;
        uint32_t y = mcu / pass->across, x = mcu % pass->across;
        for (; mcu < end && !bad; mcu++) {
            note(mcu, dc[0], dc[1], dc[2]);
            for (uint32_t i = 0; i < blocks; i++) {
                int c;
                int16_t *to = block_of(y, x, i, &c);
                uint32_t size = r.symbol(&tables[pass->components == 1 ? 0 : c]);
                bad |= size > 15;
                size &= 15;
                int32_t v = extend(r.take(size), size);
                dc[0] += c == 0 ? v : 0;
                dc[1] += c == 1 ? v : 0;
                dc[2] += c == 2 ? v : 0;
                v = c == 0 ? dc[0] : c == 1 ? dc[1] : dc[2];
                if (threadIdx.x == 0)
                    *to = (int16_t)((uint32_t)v << pass->low);
            }
            for (int k = 0; k < 3; k++)
                bad |= dc[k] > DC_MOST || dc[k] < -DC_MOST;
            if (++x == pass->across) {
                x = 0;
                y++;
            }
        }
    }

    // One bit per block.
    __device__ void dc_refine(uint32_t blocks)
    {
        uint32_t count = segment->block_end - segment->block;
        for (uint32_t i = threadIdx.x; i < count; i += WARP) {
            uint32_t block = segment->block + i, mcu = block / blocks;
            int c;
            int16_t *to = block_of(mcu / pass->across, mcu % pass->across, block % blocks, &c);
            if (r.bit_at(segment->bit + i))
                *to |= (int16_t)(1 << pass->low);
        }
        r.bit += count;
    }

    // ---- AC: the lane has coefficients `lane` and `lane` + 32 ----

    // The number of blocks in an EOB run, beginning with this one; 0: the block goes on.
    __device__ __forceinline__ uint32_t run_of(uint32_t symbol)
    {
        uint32_t n = symbol >> 4;
        return (symbol & 15) == 0 && n < 15 ? (1u << n) + r.take(n) : 0;
    }

    // Returns the number of blocks that are finished.
    __device__ __forceinline__ uint32_t first_block(int16_t *to)
    {
        uint32_t k = (uint32_t)pass->first, end = (uint32_t)pass->last + 1;
        int32_t low = 0, high = 0;
        uint32_t ended = 0;
        while (k < end && ended == 0 && !bad) {
            uint32_t s = r.symbol(&tables[0]), size = s & 15;
            bad |= s > 255;
            ended = run_of(s);
            if (ended > 0)
                break;
            k += (s >> 4 & 15) + 1;
            int32_t v = (int32_t)((uint32_t)extend(r.take(size), size) << pass->low);
            bad |= size > 0 && (k > end || size + (uint32_t)pass->low > 14);
            low = size > 0 && k - 1 == threadIdx.x ? v : low;
            high = size > 0 && k - 1 == threadIdx.x + WARP ? v : high;
        }
        if (low != 0)
            to[threadIdx.x] = (int16_t)low;
        if (high != 0)
            to[threadIdx.x + WARP] = (int16_t)high;
        return ended > 0 ? ended : 1;
    }

    __device__ void ac_first()
    {
        uint32_t block = segment->block, end = segment->block_end;
        uint32_t ended = (uint32_t)segment->dc[0] & 0x7FFF; // blocks to skip
        while (block < end && !bad) {
            uint32_t skipped = min(ended, end - block);
            block += skipped;
            ended -= skipped;
            if (block == end)
                break;
            // between blocks, at most one entry is due: an EOB run has none inside
            note(block, 0, 0, 0);
            int16_t *to =
                coefs_of(pass->component, block / pass->across, block % pass->across);
            ended = first_block(to);
        }
    }

    // A coefficient that was nonzero before: its number among these, and its correction bit.
    struct known {
        bool is;
        uint32_t before, bit;

        __device__ __forceinline__ known(uint64_t old, uint32_t at)
            : is(old >> at & 1), before((uint32_t)__popcll(old & below(at))), bit(NOWHERE)
        {
        }

        // Those from number `from` to `to` (exclusive) have bits from position `first` on.
        __device__ __forceinline__ void assign(uint32_t from, uint32_t to, uint32_t first)
        {
            bit = is && before >= from && before < to ? first + before - from : bit;
        }

        __device__ __forceinline__ int32_t correct(const reader &r, int32_t v, int32_t one) const
        {
            if (bit == NOWHERE || !r.bit_at(bit))
                return v;
            return v + (v < 0 ? -one : one);
        }
    };

    // Skips the correction bits of a symbol.
    __device__ __forceinline__ void skip_corrections(uint32_t n)
    {
        if (n > 32) {
            r.refill();
            r.skip(32);
            n -= 32;
        }
        r.refill();
        r.skip(n);
    }

    // `low`, `high`: the lane's coefficients. `ended`: blocks left in an EOB run, this one
    // included; returns the same after the block.
    __device__ __forceinline__ uint32_t refine_block(int16_t *to, int32_t low, int32_t high,
                                                     uint32_t ended)
    {
        uint32_t lane = threadIdx.x, first = (uint32_t)pass->first, end = (uint32_t)pass->last + 1;
        uint64_t band = below(end) & ~below(first);
        uint64_t old = __ballot_sync(ALL, low != 0), old_high = __ballot_sync(ALL, high != 0);
        old = (old | old_high << 32) & band;
        uint64_t zeros = band & ~old;
        uint32_t count = (uint32_t)__popcll(zeros), all = (uint32_t)__popcll(old);
        known a(old, lane), b(old, lane + WARP);
        // places[n]: of the n-th coefficient that was zero
        if (zeros >> lane & 1)
            places[__popcll(zeros & below(lane))] = (uint8_t)lane;
        if (zeros >> (lane + WARP) & 1)
            places[__popcll(zeros & below(lane + WARP))] = (uint8_t)(lane + WARP);
        __syncwarp();
        int32_t one = 1 << pass->low;
        // the next coefficient; how many before it were zero, and how many were not
        uint32_t k = first, passed = 0, corrected = 0;
        int32_t fresh_low = 0, fresh_high = 0;
        while (ended == 0 && k < end && !bad) {
            uint32_t s = r.symbol(&tables[0]), size = s & 15;
            ended = run_of(s);
            bad |= s > 255 || size > 1;
            if (ended > 0 || bad)
                break;
            int32_t v = r.take(size) ? one : -one;
            uint32_t n = passed + (s >> 4), at = n < count ? places[n] : end;
            uint32_t corrections = at - first - min(n, count);
            a.assign(corrected, corrections, r.bit);
            b.assign(corrected, corrections, r.bit);
            skip_corrections(corrections - corrected);
            bad |= size > 0 && at == end;
            fresh_low = size > 0 && at == lane ? v : fresh_low;
            fresh_high = size > 0 && at == lane + WARP ? v : fresh_high;
            corrected = corrections;
            passed = n + 1;
            k = at + 1;
        }
        if (ended > 0) {
            a.assign(corrected, all, r.bit);
            b.assign(corrected, all, r.bit);
            skip_corrections(all - corrected);
            ended--;
        }
        low = fresh_low != 0 ? fresh_low : a.correct(r, low, one);
        high = fresh_high != 0 ? fresh_high : b.correct(r, high, one);
        if (fresh_low != 0 || a.bit != NOWHERE)
            to[lane] = (int16_t)low;
        if (fresh_high != 0 || b.bit != NOWHERE)
            to[lane + WARP] = (int16_t)high;
        __syncwarp(); // before the next block changes `places`
        return ended;
    }

    __device__ void ac_refine()
    {
        uint32_t block = segment->block, end = segment->block_end, lane = threadIdx.x;
        uint32_t ended = (uint32_t)segment->dc[0] & 0x7FFF;
        uint32_t y = block / pass->across, x = block % pass->across;
        int16_t *to = coefs_of(pass->component, y, x);
        int32_t low = block < end ? to[lane] : 0, high = block < end ? to[lane + WARP] : 0;
        for (; block < end && !bad; block++) {
            if (++x == pass->across) {
                x = 0;
                y++;
            }
            // those of the next block are loaded while this one is decoded
            int16_t *next = block + 1 < end ? coefs_of(pass->component, y, x) : to;
            int32_t next_low = next[lane], next_high = next[lane + WARP];
            note(block, (int32_t)ended, 0, 0);
            ended = refine_block(to, low, high, ended);
            to = next;
            low = next_low;
            high = next_high;
        }
    }

    // True if the segment ends where it must.
    __device__ bool run()
    {
        uint32_t blocks = pass->components == 1 ? 1 : hr_jpeg_blocks_in_mcu(image);
        if (pass->first == 0 && pass->refine)
            dc_refine(blocks);
        else if (pass->first == 0)
            dc_first(blocks);
        else if (pass->refine)
            ac_refine();
        else
            ac_first();
        return !bad && r.bit >= segment->least && r.bit <= segment->most;
    }
};

__device__ void find_planes(plane *planes, const hr_jpeg_device_image *image, int16_t *coefs)
{
    for (int c = 0; c < image->components; c++) {
        planes[c].coefs = coefs;
        planes[c].across = hr_jpeg_across(image, c);
        planes[c].h = c == 0 ? (uint32_t)image->h : 1;
        planes[c].v = c == 0 ? (uint32_t)image->v : 1;
        coefs += (size_t)hr_jpeg_component_blocks(image, c) * 64;
    }
}

__global__ void __launch_bounds__(WARP)
    decode(hr_jpeg_batch b, const __grid_constant__ hr_jpeg_tiles share)
{
    __shared__ table tables[3];
    __shared__ uint8_t places[64];
    int tile;
    uint32_t i = b.from + (uint32_t)tiles::find(share, &tile);
    const hr_jpeg_device_image *image = &b.images[i];
    decoder d;
    d.image = image;
    d.segment = &image->segments[image->level[b.level] + (uint32_t)tile];
    d.pass = &image->passes[d.segment->pass];
    d.tables = tables;
    d.places = places;
    d.bad = false;
    d.due = image->entries && d.segment->notes > 0 ? d.segment->bit + NOTE_BITS : NOWHERE;
    for (uint32_t k = threadIdx.x; image->entries && k < d.segment->notes; k += WARP)
        image->entries[d.segment->note + k].mcu = HR_JPEG_DEVICE_NOWHERE;
    for (int k = 0; k < d.pass->components; k++)
        build_table(&tables[k], d.pass->table[k]);
    find_planes(d.planes, image, b.coefs + (size_t)(b.work[i].block - b.work[b.from].block) * 64);
    d.r.open(image->scan, d.segment->bit, d.segment->end);
    if (d.run() && threadIdx.x == 0)
        atomicAdd(&b.done[i], 1u);
}

} // namespace

cudaError_t hr__jpeg_passes(const hr_jpeg_batch *b, size_t blocks, cudaStream_t stream)
{
    hr_jpeg_batch level = *b;
    uint32_t any = 0;
    for (uint32_t i = b->from; i < b->to; i++)
        any += b->host[i].passes != NULL;
    if (any == 0)
        return cudaSuccess;
    cudaError_t code =
        cudaMemsetAsync(b->coefs, 0, blocks * 64 * sizeof *b->coefs, stream);
    for (int k = 0; k < HR_JPEG_DEVICE_LEVELS && code == cudaSuccess; k++) {
        level.level = k;
        hr_jpeg_launch(decode, &level, WARP, stream, [=](const hr_jpeg_device_image *image) {
            return image->passes ? image->level[k + 1] - image->level[k] : 0;
        });
        code = cudaGetLastError();
    }
    return code;
}
