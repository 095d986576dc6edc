// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The scans of progressive files, one launch per level of refinement and a warp per segment. Where
// a symbol begins depends on the symbols before it and, in a refinement, on which coefficients of
// the block are known to be nonzero: all lanes follow this chain together. What is not on it is
// shared out: a lane has two coefficients of the block and finds their correction bits. Without an
// index or restart markers, a scan is a single chain.
#include "cuda/jpeg/decode.cuh"
#include "cuda/jpeg/scan.cuh"

namespace
{

constexpr uint32_t WARP = 32, ALL = ~0u;
constexpr uint32_t FAST_BITS = 10, FAST_SIZE = 1 << FAST_BITS;
constexpr uint32_t NOTE_BITS = 8 * HR_JPEG_DEVICE_NOTE;
constexpr int32_t DC_MOST = 1 << 27; // as in coefs.cu
constexpr uint32_t NOWHERE = UINT32_MAX, RUN_MOST = 15;

// A Huffman table. An entry of `fast` is a symbol and, << 8, the bits of its code, 0 for a longer or
// invalid one. In the table of an AC refinement, the usual symbols, which have a run and 0 or 1
// bits, are stored as *steps* instead, and the others are marked as RARE. A step: bits of code and
// value; << 5, bits of the value; << 8, the run.
struct table {
    uint16_t fast[FAST_SIZE];
    uint32_t limit[17]; // the first 16-bit window above the codes of a length
    int32_t offset[17]; // from code to symbol
    uint8_t symbols[256];
};

constexpr uint32_t RARE = 0x8000, NO_CODE = 0x7FFF;

__device__ __forceinline__ uint32_t step_of(uint32_t length, uint32_t symbol)
{
    uint32_t size = symbol & 15, run = symbol >> 4;
    bool usual = size == 1 || (size == 0 && run == 15);
    return usual ? run << 8 | size << 5 | (length + size) : RARE | length << 8 | symbol;
}

__device__ void build_table(table *t, const uint8_t *definition, bool steps)
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
        bool there = length <= FAST_BITS;
        uint32_t at = there ? (top >> (16 - length)) + (uint32_t)t->offset[length] : 0;
        uint32_t symbol = t->symbols[at & 255], none = steps ? RARE : 0;
        t->fast[i] =
            (uint16_t)(!there ? none : steps ? step_of(length, symbol) : length << 8 | symbol);
    }
    __syncwarp();
}

// The bits of a segment; behind its padding, there are zeros.
struct reader {
    const uint32_t *words;
    uint32_t next, stop; // the word after `later`; the first one that must not be read
    uint32_t a, b, later; // words; the last one as loaded, long before it is needed
    uint32_t base, used; // position of a; bits of it that are used, less than 32

    __device__ __forceinline__ uint32_t word(uint32_t i) const
    {
        return i < stop ? __ldg(words + i) : 0;
    }

    __device__ __forceinline__ void open(const uint32_t *scan, uint32_t at, uint32_t end)
    {
        words = scan;
        stop = (end / 8 + 3) / 4 + HR_JPEG_DEVICE_PAD / 4;
        base = at & ~31u;
        used = at & 31;
        next = at / 32 + 3;
        a = hr_jpeg_swap(word(next - 3));
        b = hr_jpeg_swap(word(next - 2));
        later = word(next - 1);
    }

    __device__ __forceinline__ uint32_t bit() const
    {
        return base + used;
    }

    // The next 32 bits: enough for a code and its value.
    __device__ __forceinline__ uint32_t top() const
    {
        return __funnelshift_l(b, a, used);
    }

    __device__ __forceinline__ void skip(uint32_t n)
    {
        used += n;
#pragma unroll 1
        while (used >= 32) {
            used -= 32;
            base += 32;
            a = b;
            b = hr_jpeg_swap(later);
            later = word(next++);
        }
    }

    // n < 32
    __device__ __forceinline__ uint32_t take(uint32_t n)
    {
        uint32_t v = top() >> 1 >> (31 - n);
        skip(n);
        return v;
    }

    __device__ __forceinline__ bool bit_at(uint32_t at) const
    {
        return hr_jpeg_swap(word(at / 32)) >> (31 - at % 32) & 1;
    }

    // A code that is not in the fast table, with its bits << 8; NO_CODE: there is no such code.
    __device__ __forceinline__ uint32_t find(const table *t) const
    {
        uint32_t window = top() >> 16, length = FAST_BITS + 1;
        while (length <= 16 && window >= t->limit[length])
            length++;
        if (length > 16)
            return NO_CODE;
        uint32_t at = (window >> (16 - length)) + (uint32_t)t->offset[length];
        return length << 8 | t->symbols[at & 255];
    }

    // Skips a code and returns its symbol, or NO_CODE.
    __device__ __forceinline__ uint32_t symbol(const table *t)
    {
        uint32_t e = t->fast[top() >> (32 - FAST_BITS)];
        e = e != 0 ? e : find(t);
        if (e == NO_CODE)
            return e;
        skip(e >> 8);
        return e & 255;
    }
};

// The value of `size` bits; negative ones are stored as one less.
__device__ __forceinline__ int32_t extend(uint32_t bits, uint32_t size)
{
    return (int32_t)bits - (size > 0 && bits >> (size - 1) == 0 ? (1 << size) - 1 : 0);
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
    uint16_t *places;                    // see read_steps
    hr_jpeg_address fast_at, places_at; // of the first table's `fast`, and of `places`
    reader r;
    const plane *planes;
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
        if (r.bit() < due)
            return;
        uint32_t slot = (r.bit() - segment->bit) / NOTE_BITS - 1;
        due = segment->bit + (slot + 2) * NOTE_BITS;
        if (slot < segment->notes && threadIdx.x == 0) {
            hr_jpeg_device_entry e = {r.bit(), pass->mcu + mcu, {a, b, c}};
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
                bad |= size > 15; // NO_CODE
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
        r.open(r.words, segment->bit + count, segment->end);
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
            bad |= s == NO_CODE;
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

    // A coefficient that was nonzero before: how many of these are before it in the band, and the
    // position of the correction bit of the first one.
    struct known {
        bool is;
        uint32_t before, first;

        // Those from number `from` on have bits from position `bit` on, until the next call.
        __device__ __forceinline__ void assign(uint32_t from, uint32_t bit)
        {
            first = before >= from ? bit - from : first;
        }

        __device__ __forceinline__ bool corrected(const reader &r) const
        {
            return is && r.bit_at(first + before);
        }
    };

    // The decoding of a block up to its last symbol.
    struct walk {
        known low, high;
        uint32_t corrections; // bits so far
        int32_t fresh_low, fresh_high;
        uint32_t ended; // blocks in an EOB run, this one included

        __device__ __forceinline__ void assign(uint32_t bit)
        {
            low.assign(corrections, bit);
            high.assign(corrections, bit);
        }
    };

    // A symbol that is not a step, or has a long code: makes it one, or begins an EOB run.
    __device__ __forceinline__ uint32_t rare_step(uint32_t e, uint32_t *ended)
    {
        e = e == RARE ? r.find(&tables[0]) : e & ~RARE;
        uint32_t length = e >> 8, symbol = e & 255, size = symbol & 15;
        bad |= e == NO_CODE || size > 1;
        if (size == 0 && symbol < 0xF0 && !bad) {
            r.skip(length);
            *ended = run_of(symbol);
        }
        return step_of(length, symbol);
    }

    // places[n]: the n-th coefficient of the band that was zero and, << 8, how many before it were
    // not. Behind the last one, the end of the band.
    __device__ __forceinline__ void read_steps(walk *w, uint32_t end)
    {
        uint32_t at = 0, n = 0, lane = threadIdx.x;
        while (at != end) {
            uint32_t top = r.top(), e = hr_jpeg_load16(fast_at + 2 * (top >> (32 - FAST_BITS)));
            if (e & RARE) {
                e = rare_step(e, &w->ended);
                if (bad || w->ended > 0)
                    return;
            }
            n += e >> 8;
            uint32_t place = hr_jpeg_load16(places_at + 2 * n++), bits = e & 31;
            at = place & 255;
            int32_t v = (int32_t)(top << (bits - 1)) < 0 ? 1 : -1;
            bool fresh = e & 32;
            if (fresh && at == end) {
                bad = true;
                return;
            }
            w->fresh_low = fresh && at == lane ? v : w->fresh_low;
            w->fresh_high = fresh && at == lane + WARP ? v : w->fresh_high;
            w->assign(r.bit() + bits);
            r.skip(bits + (place >> 8) - w->corrections);
            w->corrections = place >> 8;
            at = at + 1 == end ? end : at;
        }
    }

    // `low`, `high`: the lane's coefficients. `ended`: blocks left in an EOB run, this one
    // included; returns the same after the block.
    __device__ __forceinline__ uint32_t refine_block(int16_t *to, int32_t low, int32_t high,
                                                     uint32_t ended)
    {
        uint32_t lane = threadIdx.x, first = (uint32_t)pass->first, end = (uint32_t)pass->last + 1;
        bool in_low = lane >= first && lane < end;
        bool in_high = lane + WARP >= first && lane + WARP < end;
        walk w;
        w.low.is = in_low && low != 0;
        w.high.is = in_high && high != 0;
        uint32_t old = __ballot_sync(ALL, w.low.is), old_high = __ballot_sync(ALL, w.high.is);
        uint32_t below = (1u << lane) - 1, lows = (uint32_t)__popc(old);
        uint32_t all = lows + (uint32_t)__popc(old_high), zeros = end - first - all;
        w.low.before = (uint32_t)__popc(old & below);
        w.high.before = lows + (uint32_t)__popc(old_high & below);
        w.low.first = w.high.first = w.corrections = 0;
        w.fresh_low = w.fresh_high = 0;
        w.ended = ended;
        if (ended == 0) {
            if (in_low && low == 0)
                places[lane - first - w.low.before] = (uint16_t)(w.low.before << 8 | lane);
            if (in_high && high == 0)
                places[lane + WARP - first - w.high.before] =
                    (uint16_t)(w.high.before << 8 | (lane + WARP));
            if (lane <= RUN_MOST)
                places[zeros + lane] = (uint16_t)(all << 8 | end);
            __syncwarp();
            read_steps(&w, end);
            __syncwarp(); // before the next block changes `places`
        }
        if (w.ended > 0) {
            w.assign(r.bit());
            r.skip(all - w.corrections);
            w.ended--;
        }
        int32_t one = 1 << pass->low;
        bool low_moves = w.low.corrected(r), high_moves = w.high.corrected(r);
        if (low_moves || w.fresh_low != 0)
            to[lane] = (int16_t)(low_moves ? low + (low < 0 ? -one : one) : w.fresh_low * one);
        if (high_moves || w.fresh_high != 0)
            to[lane + WARP] =
                (int16_t)(high_moves ? high + (high < 0 ? -one : one) : w.fresh_high * one);
        return w.ended;
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
        return !bad && r.bit() >= segment->least && r.bit() <= segment->most;
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
    __shared__ plane planes[3];
    __shared__ uint16_t places[64 + RUN_MOST + 1];
    int tile;
    uint32_t i = b.from + (uint32_t)tiles::find(share, &tile);
    const hr_jpeg_device_image *image = &b.images[i];
    decoder d;
    d.image = image;
    d.segment = &image->segments[image->level[b.level] + (uint32_t)tile];
    d.pass = &image->passes[d.segment->pass];
    d.tables = tables;
    d.planes = planes;
    d.places = places;
    d.fast_at = hr_jpeg_address_of(tables[0].fast);
    d.places_at = hr_jpeg_address_of(places);
    d.bad = false;
    d.due = image->entries && d.segment->notes > 0 ? d.segment->bit + NOTE_BITS : NOWHERE;
    for (uint32_t k = threadIdx.x; image->entries && k < d.segment->notes; k += WARP)
        image->entries[d.segment->note + k].mcu = HR_JPEG_DEVICE_NOWHERE;
    for (int k = 0; k < d.pass->components; k++)
        build_table(&tables[k], d.pass->table[k], d.pass->first > 0 && d.pass->refine);
    if (threadIdx.x == 0)
        find_planes(planes, image, b.coefs + (size_t)(b.work[i].block - b.work[b.from].block) * 64);
    __syncwarp();
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
