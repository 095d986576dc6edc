// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Decodes every subsequence again, now from its true state: writes the coefficients of all blocks
// that begin in it and the sums of their DC differences, and checks for damage. A block is
// assembled in shared memory and stored as a whole; storing single coefficients would be bound by
// the L2 cache.
#include "cuda/jpeg/decode.cuh"
#include "cuda/jpeg/entries.cuh"
#include "cuda/jpeg/scan.cuh"

namespace
{

constexpr int THREADS = 128;
constexpr int SUMMING = 512; // threads of *predict*, which has one thread block per image
constexpr int SLOT = 9; // units of 16 bytes: 8 for a block, and one against bank conflicts
constexpr int32_t DC_MOST = 1 << 27; // a larger DC value is damage; the CPU allows twice as much

// A block of an MCU: its index among the window's blocks in the first MCU, and the increment of
// that index per MCU down and across.
struct layout {
    uint32_t first, down, across;
    uint32_t component; // 3: not needed
};

__device__ void find_layouts(layout *layouts, const hr_jpeg_device_image *image)
{
    int luma = image->h * image->v, c = (int)threadIdx.x;
    if (c >= luma + (image->components > 1 ? 2 : 0))
        return;
    int component = c < luma ? 0 : c - luma + 1, k = c < luma ? c : 0;
    int h = component == 0 ? image->h : 1, v = component == 0 ? image->v : 1;
    uint32_t across = hr_jpeg_across(image, component);
    layout *p = &layouts[c];
    p->component = (uint32_t)component;
    p->first = component < image->planes ? 0 : UINT32_MAX;
    if (component < image->planes) {
        for (int before = 0; before < component; before++)
            p->first += hr_jpeg_component_blocks(image, before);
        p->first += (uint32_t)(k / h) * across + (uint32_t)(k % h);
    }
    p->down = (uint32_t)v * across;
    p->across = (uint32_t)h;
}

struct decoder {
    hr_jpeg_lookup lookup;
    const layout *layouts;
    uint4 *coefs; // of the image
    uint32_t *owner;
    uint32_t sub;
    uint4 *slot; // SLOT units, zero between blocks
    hr_jpeg_address slot_at;
    hr_jpeg_bits bits;
    uint32_t z, c, blocks, block, block_end;
    uint32_t x, y, width, height, first, next; // of MCUs, relative to the window; x, y may wrap
    uint32_t both, component, index; // of block c: tables, index among the window's blocks
    bool wanted;
    int32_t dc[3];
    hr_jpeg_device_entry *note; // index entry for the next start of an MCU, or NULL
    bool bad;

    __device__ __forceinline__ void aim()
    {
        const layout p = layouts[c];
        wanted = x < width && y < height && p.first != UINT32_MAX;
        component = p.component;
        both = hr_jpeg_tables_of(&lookup, c);
        index = p.first + y * p.down + x * p.across;
    }

    __device__ __forceinline__ void store_block()
    {
        uint4 *to = coefs + (size_t)index * 8;
        const uint4 zeros = {0, 0, 0, 0};
        if (!wanted)
            return;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            to[k] = slot[k];
            slot[k] = zeros;
        }
        owner[index] = sub;
    }

    __device__ __forceinline__ void start(const hr_jpeg_device_image *image, hr_jpeg_state state,
                                          uint32_t at)
    {
        hr_jpeg_open(&bits, image->scan, state.bit);
        z = state.z;
        c = state.c;
        block = at;
        blocks = hr_jpeg_blocks_in_mcu(image);
        uint32_t mcu = at / blocks, row = mcu / (uint32_t)image->across;
        width = (uint32_t)(image->right - image->left);
        height = (uint32_t)(image->bottom - image->top);
        first = 0u - (uint32_t)image->left;
        next = first + (uint32_t)image->across;
        y = row - (uint32_t)image->top;
        x = mcu - row * (uint32_t)image->across + first;
        dc[0] = dc[1] = dc[2] = 0;
        bad = false;
        aim();
    }

    __device__ __forceinline__ void next_block()
    {
        bad |= z >= HR_JPEG_BAD;
        z = 0;
        block++;
        bool end = ++c == blocks;
        c = end ? 0 : c;
        x += end;
        if (x == next) {
            x = first;
            y++;
        }
    }

    // Notes the position in the staged scan; `dc` is relative to the subsequence.
    __device__ __forceinline__ void note_entry()
    {
        note->bit = hr_jpeg_bit(&bits);
        note->mcu = block / blocks;
        for (int k = 0; k < 3; k++)
            note->dc[k] = dc[k];
        note = NULL;
    }

    // Consumes a symbol and returns its value, or 0 if it has none.
    __device__ __forceinline__ int32_t take(hr_jpeg_window *w, uint32_t e)
    {
        uint32_t value = w->v0 << (e >> 8 & 31), size = e >> 16 & 15;
        hr_jpeg_skip(&bits, w, e & 63);
        z += e >> 24;
        int32_t v = (int32_t)(value >> 1 >> (31 - size));
        return v + ((int32_t)value >= 0 ? 1 - (1 << size) : 0);
    }

    __device__ __forceinline__ void dc_symbol(hr_jpeg_window *w)
    {
        int32_t v = take(w, hr_jpeg_look(&lookup, both & 0xFFFF, w->v0));
        dc[0] += component == 0 ? v : 0;
        dc[1] += component == 1 ? v : 0;
        dc[2] += component == 2 ? v : 0;
        if (wanted)
            hr_jpeg_store(slot_at, component == 0 ? dc[0] : component == 1 ? dc[1] : dc[2]);
    }

    __device__ __forceinline__ void ac_symbol(hr_jpeg_window *w, uint32_t e)
    {
        int32_t v = take(w, e);
        if (wanted && v != 0)
            hr_jpeg_store(slot_at + 2 * min(z - 1, 63u), v);
    }

    // Decodes AC symbols that begin before `limit`.
    __device__ __forceinline__ void row(hr_jpeg_window *w, uint32_t limit)
    {
        uint32_t e = 0;
#pragma unroll
        for (int k = 0; k < HR_JPEG_ROW; k++) {
            bool more = z < 64 && bits.used < limit;
            e = hr_jpeg_fast(&lookup, both >> 16, w->v0);
            e = more ? e : 0;
            ac_symbol(w, e);
        }
        if (e == 0 && z < 64 && bits.used < limit)
            ac_symbol(w, hr_jpeg_look(&lookup, both >> 16, w->v0));
    }

    // Decodes the blocks that begin before `end`, up to `bits_end`. True if they include the last
    // block of the segment that is needed.
    __device__ __forceinline__ bool run(uint32_t end, uint32_t bits_end)
    {
        bool own = z == 0; // otherwise the first block belongs to an earlier subsequence
        wanted = wanted && own;
        while (hr_jpeg_bit(&bits) < (z == 0 ? end : bits_end)) {
            hr_jpeg_window w = hr_jpeg_window_of(&bits);
            uint32_t limit = hr_jpeg_limit(&bits, bits_end);
            if (z == 0)
                dc_symbol(&w);
            row(&w, limit);
            if (z >= 64) {
                store_block();
                next_block();
                if (block == block_end)
                    return own;
                own = true;
                if (c == 0 && note && hr_jpeg_bit(&bits) < end)
                    note_entry();
                aim();
            }
            hr_jpeg_turn(&bits);
        }
        return false;
    }
};

// The index entry that a subsequence fills in, or NULL.
__device__ __forceinline__ hr_jpeg_device_entry *entry_of(const hr_jpeg_device_image *image,
                                                          uint32_t sub)
{
    uint32_t i = sub - image->tail;
    return image->entries && sub > image->tail && i % 2 == 1 ? &image->entries[i / 2] : NULL;
}

template <int TABLES>
__global__ void __launch_bounds__(THREADS)
    decode(hr_jpeg_batch b, const __grid_constant__ hr_jpeg_tiles share)
{
    __shared__ hr_jpeg_shared<TABLES> shared;
    __shared__ layout layouts[6];
    __shared__ uint4 slots[THREADS * SLOT];
    int tile;
    uint32_t i = b.from + (uint32_t)tiles::find(share, &tile);
    const hr_jpeg_device_image *image = &b.images[i];
    hr_jpeg_work work = b.work[i];
    uint32_t sub = (uint32_t)tile * THREADS + threadIdx.x;
    const hr_jpeg_table *tables = b.tables + (size_t)i * HR_JPEG_TABLES_MAX;
    hr_jpeg_share<THREADS>(&shared, image, tables);
    find_layouts(layouts, image);
    for (int k = 0; k < SLOT; k++) {
        const uint4 zeros = {0, 0, 0, 0};
        slots[threadIdx.x * SLOT + k] = zeros;
    }
    __syncthreads();
    if (sub >= image->subs)
        return;
    hr_jpeg_range range = hr_jpeg_range_of(image, sub);
    const hr_jpeg_device_segment *segment = &image->segments[range.segment];
    hr_jpeg_state state = {range.begin, 0, 0};
    uint32_t block = segment->block, index = work.sub + sub;
    if (!range.known) {
        uint32_t entry = b.trace[(size_t)index * HR_JPEG_STEPS - 1];
        state = hr_jpeg_unpack(entry, range.begin);
        block += b.counted[index] - b.counted[work.sub + segment->first];
    }
    int32_t *dc = b.dc + 3 * (size_t)index;
    dc[0] = dc[1] = dc[2] = 0;
    hr_jpeg_device_entry *note = entry_of(image, sub);
    if (note)
        note->mcu = HR_JPEG_DEVICE_NOWHERE;
    if (block >= segment->block_end)
        return;
    size_t offset = work.block - b.work[b.from].block;
    decoder d;
    d.lookup = hr_jpeg_lookup_of(&shared, tables);
    d.layouts = layouts;
    d.coefs = (uint4 *)b.coefs + offset * 8;
    d.slot = slots + threadIdx.x * SLOT;
    d.slot_at = hr_jpeg_address_of((const uint32_t *)d.slot);
    d.owner = b.owner + offset;
    d.sub = sub;
    d.block_end = segment->block_end;
    d.note = note;
    d.start(image, state, block);
    bool done = d.run(range.end, segment->end);
    uint32_t bit = hr_jpeg_bit(&d.bits);
    if (done && bit >= segment->least && bit <= segment->most)
        atomicAdd(&b.done[i], 1u);
    if (d.bad)
        *image->status = 1;
    for (int k = 0; k < 3; k++)
        dc[k] = d.dc[k];
}

// Makes entries relative to the file: their positions count stuffed bytes, and their DC predictions
// are absolute.
__device__ void finish_entries(const hr_jpeg_device_image *image, const uint32_t *strips,
                               const int32_t *predicted)
{
    const hr_jpeg_device_segment *segment = &image->segments[image->segment_count - 1];
    uint32_t first = segment->bit / 8;
    for (uint32_t sub = image->tail + threadIdx.x; sub < image->subs; sub += SUMMING) {
        hr_jpeg_device_entry *p = entry_of(image, sub);
        if (!p || p->mcu == HR_JPEG_DEVICE_NOWHERE)
            continue;
        uint32_t byte = hr_jpeg_byte_of_file(image, segment, strips, p->bit / 8 - first);
        p->bit = 8 * (image->tail_byte + byte) + p->bit % 8;
        for (int k = 0; k < 3; k++)
            p->dc[k] =
                (int32_t)((uint32_t)p->dc[k] + (uint32_t)predicted[3 * (size_t)sub + (size_t)k]);
    }
}

// The same for a progressive file.
__device__ void finish_notes(const hr_jpeg_device_image *image, const uint32_t *strips)
{
    const hr_jpeg_device_segment *segments = image->segments;
    for (uint32_t i = threadIdx.x; i < image->notes; i += SUMMING) {
        hr_jpeg_device_entry *p = &image->entries[i];
        if (p->mcu == HR_JPEG_DEVICE_NOWHERE)
            continue;
        const hr_jpeg_device_segment *segment =
            &segments[hr_last_at_most(0u, image->segment_count, i,
                                      [=](uint32_t k) { return segments[k].note; })];
        uint32_t at = p->bit / 8 - segment->bit / 8;
        uint32_t byte = segment->raw + hr_jpeg_byte_of_file(image, segment, strips, at);
        p->bit = 8 * byte + p->bit % 8;
    }
}

// Sums the DC differences before each subsequence, one thread block per image. Overflow is always
// detected: a subsequence adds less than 2^26, and sums beyond DC_MOST are damage.
__global__ void __launch_bounds__(SUMMING) predict(hr_jpeg_batch b)
{
    __shared__ uint32_t sums[3][SUMMING];
    uint32_t i = b.from + blockIdx.x, t = threadIdx.x;
    const hr_jpeg_device_image *image = &b.images[i];
    uint32_t sum[3] = {0, 0, 0};
    int32_t *all = b.dc + 3 * (size_t)b.work[i].sub;
    bool bad = b.done[i] != image->segment_count;
    if (image->passes) {
        if (bad)
            *image->status = 1;
        if (image->entries)
            finish_notes(image, b.strips + b.work[i].strip);
        return;
    }
    for (uint32_t base = 0; base < image->subs; base += SUMMING) {
        uint32_t sub = base + t, own[3] = {0, 0, 0};
        for (int k = 0; k < 3; k++) {
            own[k] = sub < image->subs ? (uint32_t)all[3 * (size_t)sub + k] : 0;
            sums[k][t] = own[k];
        }
        __syncthreads();
        for (uint32_t d = 1; d < SUMMING; d *= 2) {
            uint32_t before[3];
            for (int k = 0; k < 3; k++)
                before[k] = t >= d ? sums[k][t - d] : 0;
            __syncthreads();
            for (int k = 0; k < 3; k++)
                sums[k][t] += before[k];
            __syncthreads();
        }
        for (int k = 0; k < 3; k++) {
            if (sub < image->subs)
                all[3 * (size_t)sub + k] = (int32_t)(sum[k] + sums[k][t] - own[k]);
            sum[k] += sums[k][SUMMING - 1];
        }
        __syncthreads();
    }
    int32_t *predicted = b.predicted + 3 * (size_t)b.work[i].sub;
    for (uint32_t sub = t; sub < image->subs; sub += SUMMING) {
        const hr_jpeg_device_segment *segment =
            &image->segments[hr_jpeg_range_of(image, sub).segment];
        for (int k = 0; k < 3; k++) {
            int32_t dc =
                (int32_t)((uint32_t)segment->dc[k] + (uint32_t)all[3 * (size_t)sub + (size_t)k] -
                          (uint32_t)all[3 * (size_t)segment->first + (size_t)k]);
            predicted[3 * (size_t)sub + (size_t)k] = dc;
            bad |= dc > DC_MOST || dc < -DC_MOST;
        }
    }
    if (bad)
        *image->status = 1;
    __syncthreads(); // predictions of all subsequences are stored
    if (image->entries)
        finish_entries(image, b.strips + b.work[i].strip, predicted);
}

} // namespace

cudaError_t hr__jpeg_coefficients(const hr_jpeg_batch *b, int tables, cudaStream_t stream)
{
    hr_jpeg_launch(
        tables <= 4 ? decode<4> : decode<HR_JPEG_TABLES_MAX>, b, THREADS, stream,
        [](const hr_jpeg_device_image *image) {
            return image->passes ? 0 : HR_DIVIDE_UP(image->subs, THREADS);
        });
    HR_CUDA_LAUNCH(predict, b->to - b->from, SUMMING, stream, *b);
    return cudaGetLastError();
}
