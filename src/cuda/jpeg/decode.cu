// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The launches of a batch and their memory. Coefficients take most of it. They are processed in
// parts of the batch, so that a part's coefficients may still be in the cache when they are
// transformed.
#include "cuda/error.cuh"
#include "cuda/jpeg/decode.cuh"
#include "cuda/runtime.cuh"

namespace
{

constexpr size_t BLOCK_SIZE = 64 * sizeof(int16_t) + 64 + 4; // coefficients, samples, owner
constexpr size_t PLANES_PAD = 64; // bytes after the planes that may be read
// ... of images that are decoded together
constexpr uint32_t SUBS_MOST = 1 << 22;
constexpr size_t BYTES_MOST = (size_t)1 << 30; // to copy

// Cuts memory into pieces. The first pass adds up sizes, the second assigns addresses.
struct pieces {
    char *base;
    size_t used;

    template <typename T> void cut(T **out, size_t count)
    {
        used = (used + 255) & ~(size_t)255;
        *out = (T *)(base ? base + used : NULL);
        used += count * sizeof(T);
    }
};

// Sums of the images' work, as the kernels compute them. Only the number of blocks of a whole batch
// may exceed 32 bits.
struct sums {
    size_t strips, subs, blocks, pieces;
};

void cut_all(pieces *p, hr_jpeg_batch *b, const sums *all, size_t blocks)
{
    p->used = 0;
    p->cut(&b->work, b->count + 1);
    p->cut(&b->tables, (size_t)b->count * HR_JPEG_TABLES_MAX);
    p->cut(&b->done, b->count);
    p->cut(&b->strips, all->strips);
    p->cut(&b->data, all->strips);
    p->cut(&b->trace, all->subs * HR_JPEG_STEPS);
    p->cut(&b->counted, all->subs);
    p->cut(&b->dc, all->subs * 3);
    p->cut(&b->predicted, all->subs * 3);
    size_t begin = p->used;
    p->cut(&b->fetched, all->pieces); // until the parts begin
    size_t end = p->used;
    p->used = begin;
    p->cut(&b->owner, blocks);
    p->cut(&b->coefs, blocks * 64);
    p->cut(&b->planes, blocks * 64 + PLANES_PAD);
    p->used = max(p->used, end);
}

sums add_up(const hr_jpeg_device_image *images, uint32_t from, uint32_t to)
{
    sums s = {};
    for (uint32_t i = from; i < to; i++) {
        hr_jpeg_work w = hr_jpeg_work_of(&images[i]);
        s.strips += w.strip;
        s.subs += w.sub;
        s.blocks += w.block;
        s.pieces += w.piece;
    }
    return s;
}

// The end of the part that begins at `from`. A part has at least one image.
uint32_t part_end(const hr_jpeg_device_image *images, uint32_t from, uint32_t count, size_t limit)
{
    size_t size = 0;
    uint32_t to = from;
    while (to < count) {
        size += hr_jpeg_window_blocks(&images[to]) * BLOCK_SIZE;
        if (to > from && limit > 0 && size > limit)
            break;
        to++;
    }
    return to;
}

int most_tables(const hr_jpeg_device_image *images, uint32_t count)
{
    int most = 0;
    for (uint32_t i = 0; i < count; i++)
        most = max(most, images[i].dc_count + images[i].ac_count);
    return most;
}

hr_status decode_part(const hr_jpeg_batch *b, int tables, cudaStream_t stream, hr_error *error)
{
    HR_CUDA_TRY(hr__jpeg_passes(b, add_up(b->host, b->from, b->to).blocks, stream));
    HR_CUDA_TRY(hr__jpeg_coefficients(b, tables, stream));
    HR_CUDA_TRY(hr__jpeg_transform(b, stream));
    HR_CUDA_TRY(hr__jpeg_color(b, stream));
    return HR_STATUS_OK;
}

hr_status decode_some(hr_cuda_launch *l, const hr_jpeg_device_image *images,
                      const hr_jpeg_device_image *device, uint32_t count, hr_error *error)
{
    hr_jpeg_batch b = {};
    cudaStream_t stream = (cudaStream_t)l->stream;
    pieces p = {};
    size_t blocks = 0;
    int tables = most_tables(images, count);
    b.images = device;
    b.host = images;
    b.count = b.to = count;
    for (uint32_t from = 0, to; from < count; from = to) {
        to = part_end(images, from, count, l->scratch_limit);
        size_t part = add_up(images, from, to).blocks;
        blocks = part > blocks ? part : blocks;
    }
    sums all = add_up(images, 0, count);
    cut_all(&p, &b, &all, blocks);
    void *memory;
    hr_status status = l->scratch(l, p.used, &memory, error);
    if (status != HR_STATUS_OK)
        return status;
    p.base = (char *)memory;
    cut_all(&p, &b, &all, blocks);
    HR_CUDA_TRY(hr__jpeg_tables(&b, stream));
    HR_CUDA_TRY(hr__jpeg_fetch(&b, stream));
    HR_CUDA_TRY(hr__jpeg_unstuff(&b, stream));
    HR_CUDA_TRY(hr__jpeg_synchronise(&b, tables, stream));
    for (b.from = 0; b.from < count && status == HR_STATUS_OK; b.from = b.to) {
        b.to = part_end(images, b.from, count, l->scratch_limit);
        status = decode_part(&b, tables, stream, error);
    }
    return status;
}

} // namespace

hr_status hr_cuda_jpeg_decode(hr_cuda_launch *l, hr_staged images, int32_t count, hr_error *error)
{
    const hr_jpeg_device_image *host = (const hr_jpeg_device_image *)images.host;
    const hr_jpeg_device_image *device = (const hr_jpeg_device_image *)images.device;
    hr_status status = HR_STATUS_OK;
    for (uint32_t from = 0, to; from < (uint32_t)count && status == HR_STATUS_OK; from = to) {
        size_t subs = 0, bytes = 0;
        for (to = from; to < (uint32_t)count && to - from < HR_JPEG_IMAGES; to++) {
            subs += host[to].subs;
            bytes += host[to].raw_size;
            if (to > from && (subs > SUBS_MOST || bytes > BYTES_MOST))
                break;
        }
        status = decode_some(l, host + from, device + from, to - from, error);
    }
    return status;
}
