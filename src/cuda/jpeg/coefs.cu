// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Every subsequence again, from its true state: coefficients of the blocks that the window needs,
// sums of DC differences, and whether all is as it should be.
#include "cuda/jpeg/decode.cuh"
#include "cuda/jpeg/scan.cuh"

namespace
{

constexpr int THREADS = HR_JPEG_GROUP;
constexpr int32_t DC_MOST = 1 << 27; // beyond is surely damage; the decoder on the CPU allows twice

// A block in an MCU: where it lies among the window's, in blocks, when its MCU is the first, and
// how far it moves for an MCU down and across.
struct place {
    uint32_t first, down, across;
    uint32_t component; // 3: not wanted
};

__device__ void find_places(place *places, const hr_jpeg_device_image *image)
{
    int luma = image->h * image->v, c = (int)threadIdx.x;
    if (c >= luma + (image->components > 1 ? 2 : 0))
        return;
    int component = c < luma ? 0 : c - luma + 1, k = c < luma ? c : 0;
    int h = component == 0 ? image->h : 1, v = component == 0 ? image->v : 1;
    uint32_t across = hr_jpeg_across(image, component);
    place *p = &places[c];
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

// What decoding a subsequence gives.
struct result {
    int32_t dc[3];
    bool bad, done;
};

template <int TABLES> struct decoder {
    const hr_jpeg_shared<TABLES> *shared;
    const place *places;
    const hr_jpeg_table *tables;
    const hr_jpeg_device_image *image;
    int16_t *coefs; // of the image
    hr_jpeg_bits bits;
    uint32_t z, c, blocks, block;
    uint32_t x, y, width, height, across; // MCU, seen from the window's first; wraps before it

    // Of block c, NULL where it is not wanted.
    __device__ __forceinline__ int16_t *aim() const
    {
        const place p = places[c];
        if (x >= width || y >= height || p.first == UINT32_MAX)
            return NULL;
        return coefs + (size_t)(p.first + y * p.down + x * p.across) * 64;
    }

    __device__ __forceinline__ void start(hr_jpeg_state state, uint32_t at)
    {
        hr_jpeg_open(&bits, image->scan, state.bit);
        z = state.z;
        c = state.c;
        block = at;
        blocks = hr_jpeg_blocks_in_mcu(image);
        uint32_t mcu = at / blocks, row = mcu / (uint32_t)image->across;
        width = (uint32_t)(image->right - image->left);
        height = (uint32_t)(image->bottom - image->top);
        across = (uint32_t)image->across;
        y = row - (uint32_t)image->top;
        x = mcu - row * across - (uint32_t)image->left;
    }

    __device__ __forceinline__ void next_block()
    {
        z = 0;
        block++;
        if (++c < blocks)
            return;
        c = 0;
        if (++x == across - (uint32_t)image->left) {
            x = 0u - (uint32_t)image->left;
            y++;
        }
    }

    __device__ result run(uint32_t end, const hr_jpeg_device_segment *segment)
    {
        result r = {{0, 0, 0}, false, false};
        int16_t *out = aim();
        uint32_t both = shared->tables[c], component = places[c].component;
        while (bits.bit < end) {
            uint32_t window = hr_jpeg_peek(&bits);
            uint32_t e =
                hr_jpeg_look(shared, tables, z == 0 ? both & 0xFFFF : both >> 16, window);
            uint32_t size = e >> 16 & 15, value = window << (e >> 8 & 31);
            int32_t v = (int32_t)(value >> 1 >> (31 - size));
            v += (int32_t)value >= 0 ? 1 - (1 << size) : 0;
            if (z == 0) {
                r.dc[0] += component == 0 ? v : 0;
                r.dc[1] += component == 1 ? v : 0;
                r.dc[2] += component == 2 ? v : 0;
                v = component == 0 ? r.dc[0] : component == 1 ? r.dc[1] : r.dc[2];
                size = 1;
            }
            z += e >> 24;
            if (out && size > 0)
                out[min(z - 1, 63u)] = (int16_t)v;
            hr_jpeg_skip(&bits, e & 63);
            if (z >= 64) {
                r.bad |= z >= HR_JPEG_BAD;
                next_block();
                if (block == segment->block_end) {
                    r.done = bits.bit >= segment->least && bits.bit <= segment->most;
                    break;
                }
                both = shared->tables[c];
                component = places[c].component;
                out = aim();
            }
        }
        return r;
    }
};

template <int TABLES> __global__ void __launch_bounds__(THREADS) decode(hr_jpeg_batch b)
{
    __shared__ hr_jpeg_shared<TABLES> shared;
    __shared__ place places[6];
    uint32_t at = blockIdx.x + b.work[b.from].decode;
    uint32_t i = hr_jpeg_find<&hr_jpeg_work::decode>(b.work, b.from, b.to, at);
    const hr_jpeg_device_image *image = &b.images[i];
    hr_jpeg_work work = b.work[i];
    uint32_t sub = (at - work.decode) * THREADS + threadIdx.x;
    const hr_jpeg_table *tables = b.tables + (size_t)i * HR_JPEG_TABLES_MAX;
    hr_jpeg_share(&shared, image, tables);
    find_places(places, image);
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
    b.first[index] = min(block + (state.z > 0), segment->block_end);
    result r = {{0, 0, 0}, false, false};
    if (block < segment->block_end) {
        decoder<TABLES> d;
        d.shared = &shared;
        d.places = places;
        d.tables = tables;
        d.image = image;
        d.coefs = b.coefs + (size_t)(work.block - b.work[b.from].block) * 64;
        d.start(state, block);
        r = d.run(range.end, segment);
        if (r.bad)
            *image->status = 1;
        if (r.done)
            atomicAdd(&b.done[i], 1u);
    }
    for (int k = 0; k < 3; k++)
        b.dc[3 * (size_t)index + k] = r.dc[k];
}

// Sums before each subsequence of an image, a thread block an image. They wrap, and are seen before
// they do: a subsequence adds less than 2^26.
__global__ void __launch_bounds__(THREADS) predict(hr_jpeg_batch b)
{
    __shared__ uint32_t sums[3][THREADS];
    uint32_t i = b.from + blockIdx.x, t = threadIdx.x;
    const hr_jpeg_device_image *image = &b.images[i];
    uint32_t sum[3] = {0, 0, 0};
    int32_t *all = b.dc + 3 * (size_t)b.work[i].sub;
    bool bad = b.done[i] != image->segment_count;
    for (uint32_t base = 0; base < image->subs; base += THREADS) {
        uint32_t sub = base + t, own[3] = {0, 0, 0};
        for (int k = 0; k < 3; k++) {
            own[k] = sub < image->subs ? (uint32_t)all[3 * (size_t)sub + k] : 0;
            sums[k][t] = own[k];
        }
        __syncthreads();
        for (uint32_t d = 1; d < THREADS; d *= 2) {
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
            sum[k] += sums[k][THREADS - 1];
        }
        __syncthreads();
    }
    for (uint32_t sub = t; sub < image->subs; sub += THREADS) {
        hr_jpeg_dc dc = hr_jpeg_predicted(image, all, sub);
        for (int k = 0; k < 3; k++)
            bad |= dc.v[k] > DC_MOST || dc.v[k] < -DC_MOST;
    }
    if (bad)
        *image->status = 1;
}

} // namespace

cudaError_t hr__jpeg_coefficients(const hr_jpeg_batch *b, uint32_t blocks, int tables,
                                  cudaStream_t stream)
{
    if (tables <= 4)
        HR_CUDA_LAUNCH(decode<4>, blocks, THREADS, stream, *b);
    else
        HR_CUDA_LAUNCH(decode<HR_JPEG_TABLES_MAX>, blocks, THREADS, stream, *b);
    HR_CUDA_LAUNCH(predict, b->to - b->from, THREADS, stream, *b);
    return cudaGetLastError();
}
