// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// jpeg_compression_distortion: one thread makes the samples of 2 x 2 pixels; then a thread
// transforms a block of samples in place, quantises it and transforms it back; then one thread per
// pixel doubles the chroma and mixes the colours.
#include "ops/image/jpeg_distortion.h"
#include "cuda/ops/op.cuh"
#include "kernels/jpeg_shared.h"

namespace
{

// In natural order: row by row.
struct table {
    float half[64], inverse[64]; // as hr_jpeg_quantiser
    int16_t quant[64];
};

// One sample: its frames, and their planes in scratch memory, each of whole blocks.
struct part {
    const uint8_t *src;
    uint8_t *dst, *planes;
    int64_t count;
    int32_t width, height;
    table tables[2]; // of luma and chroma

    HR_DEVICE int32_t across(int component) const // blocks
    {
        return component == 0 ? (width + 7) / 8 : (width + 15) / 16;
    }

    HR_DEVICE int32_t down(int component) const
    {
        return component == 0 ? (height + 7) / 8 : (height + 15) / 16;
    }

    HR_DEVICE int64_t blocks(int component) const
    {
        return (int64_t)across(component) * down(component);
    }

    HR_DEVICE int64_t frame_blocks() const
    {
        return blocks(0) + 2 * blocks(1);
    }

    HR_DEVICE uint8_t *plane(int64_t frame, int component) const
    {
        int64_t before = component == 0 ? 0 : blocks(0) + (component - 1) * blocks(1);
        return planes + 64 * (frame * frame_blocks() + before);
    }
};

// Pixels beyond the edges repeat the last one.
struct split : part {
    HR_DEVICE void element(int64_t i) const
    {
        int64_t frame = i, k = op::digit(&frame, 64 * blocks(1));
        int32_t x = (int32_t)op::digit(&k, 8 * across(1)), y = (int32_t)k, last = (height - 1) / 2;
        int32_t stride = 8 * across(0), luma[4], blue = 0, red = 0;
        HR_UNROLL
        for (int n = 0; n < 4; n++) {
            int64_t row = HR_MIN(2 * HR_MIN(y, last) + n / 2, height - 1);
            int64_t at = (frame * height + row) * width + HR_MIN(2 * x + n % 2, width - 1);
            const uint8_t *p = src + 3 * at;
            luma[n] = hr_jpeg_luma(p[0], p[1], p[2]);
            blue += hr_jpeg_blue(p[0], p[1], p[2]);
            red += hr_jpeg_red(p[0], p[1], p[2]);
        }
        plane(frame, 1)[(int64_t)y * 8 * across(1) + x] = (uint8_t)((blue + 1 + (x & 1)) >> 2);
        plane(frame, 2)[(int64_t)y * 8 * across(1) + x] = (uint8_t)((red + 1 + (x & 1)) >> 2);
        if (2 * x >= stride || 2 * y >= 8 * down(0))
            return;
        uint8_t *to = plane(frame, 0) + (int64_t)2 * y * stride + 2 * x;
        int32_t upper = luma[0] | luma[1] << 8, lower = luma[2] | luma[3] << 8;
        *(uint16_t *)to = (uint16_t)(y > last ? lower : upper); // lower: the last row
        *(uint16_t *)(to + stride) = (uint16_t)lower;
    }
};

struct distort : part {
    // A column of the block: the second dimension there and the first one back.
    HR_DEVICE void column(int32_t *x, const table *t, int c) const
    {
        int32_t v[8];
        HR_UNROLL
        for (int r = 0; r < 8; r++)
            v[r] = x[8 * r + c];
        hr_jpeg_fdct_1d(v, true);
        HR_UNROLL
        for (int r = 0; r < 8; r++) {
            int i = 8 * r + c;
            int32_t size = v[r] < 0 ? -v[r] : v[r];
            int32_t whole = (int32_t)(((float)size + t->half[i]) * t->inverse[i]);
            v[r] = (int16_t)((v[r] < 0 ? -whole : whole) * t->quant[i]);
        }
        hr_jpeg_idct_1d(v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7,
                        CONST_BITS - PASS1_BITS);
        HR_UNROLL
        for (int r = 0; r < 8; r++)
            x[8 * r + c] = v[r];
    }

    // Eight samples, at an address that is a multiple of 8.
    HR_DEVICE static void load(int32_t *to, const uint8_t *at)
    {
        const uint2 words = *(const uint2 *)at;
        HR_UNROLL
        for (int k = 0; k < 8; k++)
            to[k] = (int32_t)((k < 4 ? words.x : words.y) >> k % 4 * 8 & 255) - CENTER;
    }

    HR_DEVICE static void store(uint8_t *at, const int32_t *v)
    {
        uint32_t words[2] = {};
        HR_UNROLL
        for (int k = 0; k < 8; k++)
            words[k / 4] |= (uint32_t)(HR_MAX(-CENTER, HR_MIN(v[k], CENTER - 1)) + CENTER)
                            << k % 4 * 8;
        *(uint2 *)at = make_uint2(words[0], words[1]);
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t frame = i, k = op::digit(&frame, frame_blocks());
        int c = k < blocks(0) ? 0 : k < blocks(0) + blocks(1) ? 1 : 2;
        k -= c == 0 ? 0 : blocks(0) + (c - 1) * blocks(1);
        int32_t left = 8 * (int32_t)op::digit(&k, across(c)), top = 8 * (int32_t)k, x[64];
        int32_t stride = 8 * across(c);
        uint8_t *block = plane(frame, c) + (int64_t)top * stride + left;
        HR_UNROLL
        for (int r = 0; r < 8; r++) {
            load(x + 8 * r, block + r * stride);
            hr_jpeg_fdct_1d(x + 8 * r, false);
        }
        HR_UNROLL
        for (int col = 0; col < 8; col++)
            column(x, &tables[c > 0], col);
        HR_UNROLL
        for (int r = 0; r < 8; r++) {
            int32_t *v = x + 8 * r;
            hr_jpeg_idct_1d(v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7,
                            CONST_BITS + PASS1_BITS + 3);
            store(block + r * stride, v);
        }
    }
};

struct mix : part {
    // A mean of the two nearest rows and columns, weighted 3 to 1; in the narrowest images, the
    // nearest sample.
    HR_DEVICE int32_t chroma(int64_t frame, int c, int32_t y, int32_t x) const
    {
        int32_t wide = (width + 1) / 2, high = (height + 1) / 2, stride = 8 * across(c);
        const uint8_t *near = plane(frame, c) + (int64_t)(y / 2) * stride;
        int32_t row = y & 1 ? HR_MIN(y / 2 + 1, high - 1) : HR_MAX(y / 2 - 1, 0);
        const uint8_t *far = plane(frame, c) + (int64_t)row * stride;
        int32_t at = x / 2, other = x & 1 ? HR_MIN(at + 1, wide - 1) : HR_MAX(at - 1, 0);
        if (wide < 3)
            return near[at] - CENTER;
        int32_t sum = 3 * (3 * near[at] + far[at]) + 3 * near[other] + far[other];
        return ((sum + (x & 1 ? 7 : 8)) >> 4) - CENTER;
    }

    static HR_DEVICE uint8_t clamp(int32_t v)
    {
        return (uint8_t)HR_MAX(0, HR_MIN(v, 255));
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t y = i;
        int32_t x = (int32_t)op::digit(&y, width);
        int64_t frame = y;
        y = op::digit(&frame, height);
        int32_t luma = plane(frame, 0)[y * 8 * across(0) + x];
        int32_t cb = chroma(frame, 1, (int32_t)y, x), cr = chroma(frame, 2, (int32_t)y, x);
        dst[3 * i] = clamp(luma + ((R_CR * cr + HALF) >> 16));
        dst[3 * i + 1] = clamp(luma + ((HALF - G_CB * cb - G_CR * cr) >> 16));
        dst[3 * i + 2] = clamp(luma + ((B_CB * cb + HALF) >> 16));
    }
};

void table_make(table *t, int chroma, int32_t quality)
{
    static const uint8_t natural[64] = {HR_JPEG_ZIGZAG(HR_JPEG_NATURAL)};
    uint8_t zigzag[64];
    hr_jpeg_quality_table(zigzag, chroma, quality);
    for (int i = 0; i < 64; i++) {
        float divisor = 8.0f * (float)zigzag[i];
        t->half[natural[i]] = divisor / 2.0f + 0.5f;
        t->inverse[natural[i]] = 1.0f / divisor;
        t->quant[natural[i]] = zigzag[i];
    }
}

int64_t frames_of(const hr_op_call *c)
{
    return op::count(&c->in[0]) == 0 ? 0 : c->in[0].shape.ndim == 4 ? c->in[0].shape.extent[0] : 1;
}

// Blocks of `size` x `size` pixels in a frame.
int64_t blocks_of(const hr_op_call *c, int64_t size)
{
    const int64_t *extent = c->in[0].shape.extent + c->in[0].shape.ndim - 3;
    return HR_DIVIDE_UP(extent[0], size) * HR_DIVIDE_UP(extent[1], size);
}

int64_t frame_bytes(const hr_op_call *c)
{
    return 64 * (blocks_of(c, 8) + 2 * blocks_of(c, 16));
}

int64_t scratch_of(const hr_op_call *c)
{
    return frames_of(c) > 0 ? frames_of(c) * frame_bytes(c) : 0;
}

part part_make(const hr_op_call *c, uint8_t *planes)
{
    const int64_t *extent = c->in[0].shape.extent + c->in[0].shape.ndim - 3;
    const int32_t quality = ((const hr_jpeg_distortion_args *)c->args)->quality;
    part p = {};
    p.src = (const uint8_t *)c->in[0].data;
    p.dst = (uint8_t *)c->out[0].data;
    p.planes = planes;
    p.height = (int32_t)extent[0];
    p.width = (int32_t)extent[1];
    table_make(&p.tables[0], 0, quality);
    table_make(&p.tables[1], 1, quality);
    return p;
}

// Samples whose planes fit in `size` bytes together.
hr_status run_group(hr_cuda_launch *l, const hr_op_call *calls, int32_t n, uint8_t *planes,
                    hr_staging *staging, hr_error *error)
{
    hr_staged samples, blocks, pixels;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(split), &samples, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(distort), &blocks, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(mix), &pixels, error));
    for (int32_t i = 0; i < n; i++) {
        part p = part_make(&calls[i], planes);
        planes += scratch_of(&calls[i]);
        p.count = frames_of(&calls[i]) * 64 * blocks_of(&calls[i], 16);
        (part &)((split *)samples.host)[i] = p;
        p.count = scratch_of(&calls[i]) / 64;
        (part &)((distort *)blocks.host)[i] = p;
        p.count = op::count(&calls[i].in[0]) / 3;
        (part &)((mix *)pixels.host)[i] = p;
    }
    HR_TRY(staging->flush(staging, error));
    HR_TRY(op::launch<split>(l, samples, n, error));
    HR_TRY((op::launch<distort, 1, 2>(l, blocks, n, error)));
    return op::launch<mix>(l, pixels, n, error);
}

// Groups that use the same scratch memory one after the other.
hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    int64_t all = 0, most = 1;
    void *planes;
    for (int32_t i = 0; i < n; i++) {
        all += scratch_of(&calls[i]);
        most = HR_MAX(most, scratch_of(&calls[i]));
    }
    int64_t room = HR_MAX(most, HR_MIN(all, (int64_t)l->scratch_limit));
    HR_TRY(l->scratch(l, (size_t)room, &planes, error));
    for (int32_t first = 0, end = 0; first < n; first = end) {
        for (int64_t used = 0; end < n && used + scratch_of(&calls[end]) <= room; end++)
            used += scratch_of(&calls[end]);
        HR_TRY(run_group(l, calls + first, end - first, (uint8_t *)planes, staging, error));
    }
    return HR_STATUS_OK;
}

} // namespace

HR_CUDA_OP(jpeg_compression_distortion, "jpeg_compression_distortion", run);
