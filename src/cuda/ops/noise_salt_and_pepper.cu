// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
#include "cuda/ops/noise.cuh"

namespace
{

struct record : op::noise_record {
    hr_salt_pepper m;

    HR_DEVICE void pixel(int64_t at, uint32_t draw) const
    {
        int size = value_size(type);
        for (int64_t c = 0; c < m.channels; c++) {
            int64_t offset = (at * m.pixel_step + c * m.channel_step) * size;
            uint64_t v = draw >= m.noise_below ? value_load(src + offset, size)
                         : draw < m.salt_below ? m.salt
                                               : m.pepper;
            value_store(dst + offset, size, v);
        }
    }

    HR_DEVICE void element(int64_t block) const
    {
        int64_t at = noise_element(block);
        if (at >= elements)
            return;
        uint32_t bits[4];
        rng_block(&rng, (uint64_t)block, bits);
        for (int k = 0; k < 4 && at < elements; k++, at += HR_NOISE_BLOCKS)
            pixel(at, bits[k]);
    }
};

// RGB images of bytes: a block of threads draws for a tile of pixels, and then a thread makes four
// neighbours.
struct rgb_record : record {
    int32_t tiles;

    struct Shared {
        alignas(8) uint16_t of[HR_NOISE_TILE]; // what is kept of a byte, and << 8, what replaces it
    };

    HR_DEVICE static constexpr int phases()
    {
        return 2;
    }

    HR_DEVICE void draw(int tile, Shared *shared, int thread) const
    {
        uint32_t bits[4];
        rng_block(&rng, (uint64_t)tile * HR_NOISE_BLOCKS + (uint32_t)thread, bits);
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            const uint64_t v = bits[k] < m.salt_below ? m.salt : m.pepper;
            shared->of[thread + k * HR_NOISE_BLOCKS] =
                bits[k] >= m.noise_below ? 255 : (uint16_t)((v & 255) << 8);
        }
    }

    // Bytes of eight, by the digits of `which` from the last one on.
    HR_DEVICE static uint32_t bytes_of(const uint2 &from, uint32_t which)
    {
#if defined(__CUDA_ARCH__)
        return __byte_perm(from.x, from.y, which);
#else
        const uint64_t all = from.x | (uint64_t)from.y << 32;
        uint32_t v = 0;
        for (int k = 0; k < 4; k++)
            v |= (uint32_t)(all >> 8 * (which >> 4 * k & 7) & 255) << 8 * k;
        return v;
#endif
    }

    HR_DEVICE void make(int tile, const Shared *shared, int thread) const
    {
        const int64_t first = (int64_t)tile * HR_NOISE_TILE + 4 * thread;
        const uint8_t *in = (const uint8_t *)src + 3 * first;
        uint8_t *out = (uint8_t *)dst + 3 * first;
        if (first + 4 > elements) {
            for (int64_t i = 0; i < 3 * (elements - first); i++) {
                const uint16_t of = shared->of[4 * thread + i / 3];
                out[i] = (uint8_t)((in[i] & of) | of >> 8);
            }
            return;
        }
        const uint2 of = *(const uint2 *)(shared->of + 4 * thread);
        const uint32_t *words = (const uint32_t *)in;
        const uint32_t v[3] = {words[0], words[1], words[2]};
        ((uint32_t *)out)[0] = (v[0] & bytes_of(of, 0x2000)) | bytes_of(of, 0x3111);
        ((uint32_t *)out)[1] = (v[1] & bytes_of(of, 0x4422)) | bytes_of(of, 0x5533);
        ((uint32_t *)out)[2] = (v[2] & bytes_of(of, 0x6664)) | bytes_of(of, 0x7775);
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        if (k == 0)
            draw(tile, shared, thread);
        else
            make(tile, shared, thread);
    }
};
static_assert(op::THREADS == HR_NOISE_BLOCKS && 4 * op::THREADS == HR_NOISE_TILE,
              "a block draws for a tile");

void make(record *r, const hr_op_call *c)
{
    *r = record();
    r->m = *(const hr_salt_pepper *)c->memo;
    op::noise_make(r, c, r->m.pixels);
}

bool is_rgb(const record *r)
{
    return r->type == HR_DTYPE_UINT8 && r->m.channels == 3 && r->m.channel_step == 1 &&
           ((uintptr_t)r->src | (uintptr_t)r->dst) % 4 == 0;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged rgb, others;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(rgb_record), &rgb, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &others, error));
    for (int32_t i = 0; i < n; i++) {
        rgb_record *r = (rgb_record *)rgb.host + i;
        record *other = (record *)others.host + i;
        make(other, &calls[i]);
        *r = {};
        if (!is_rgb(other))
            continue;
        (record &)*r = *other;
        r->tiles = (int32_t)HR_DIVIDE_UP(r->elements, HR_NOISE_TILE);
        other->count = 0;
    }
    HR_TRY(staging->flush(staging, error));
    HR_TRY(op::launch_blocks<rgb_record>(l, rgb, n, error));
    return op::launch<record>(l, others, n, error);
}

} // namespace

HR_CUDA_OP(noise_salt_and_pepper, "noise.salt_and_pepper", run);
