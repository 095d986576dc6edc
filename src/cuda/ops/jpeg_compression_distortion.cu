// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// jpeg_compression_distortion: threads make four samples of each chroma from 8 x 2 pixels; then a
// thread transforms a block of chroma in place, quantises it and transforms it back; then a thread
// does this with a block of luma, which stays in registers, doubles the chroma and mixes the
// colours.
#include "ops/image/jpeg_distortion.h"
#include "codecs/jpeg/quality.h"
#include "core/rounding.h"
#include "cuda/image/points.cuh"
#include "cuda/ops/op.cuh"
#include "kernels/jpeg_shared.h"

#include <cmath>

namespace
{

// The quantisers of luma and of chroma. For each column of a block eight factors, floats, and what
// coefficients are multiplied by afterwards.
struct tables {
    alignas(16) uint32_t of[2][8][16];
};

// Integers of less than 22 bits are the low bits of this plus the integer, as a float.
constexpr float INTEGER = 0x1.8p23f;

// A block of samples.
struct block {
    int32_t x[8][8];

    // A quotient v / 8 q, rounded half away from zero, times q. The factor is 1 / 8 q, but larger
    // by 2^-20 of it, so halves are rounded away; no other quotient of less than 2^13 crosses a
    // half.
    HR_DEVICE static int32_t quantised(int32_t v, uint32_t factor, uint32_t q)
    {
        const float whole = fmaf((float)v, bits_as_f32(factor), INTEGER);
        return (int32_t)((bits_of_f32(whole) - bits_of_f32(INTEGER)) * q);
    }

    // A column: the second dimension there and the first one back.
    HR_DEVICE void turn_column(int c, const uint32_t *table)
    {
        int32_t v[8];
        HR_UNROLL
        for (int r = 0; r < 8; r++)
            v[r] = x[r][c];
        hr_jpeg_fdct_1d(v, true);
        HR_UNROLL
        for (int r = 0; r < 8; r += 4) {
            const uint4 f = *(const uint4 *)(table + r), q = *(const uint4 *)(table + 8 + r);
            v[r] = quantised(v[r], f.x, q.x);
            v[r + 1] = quantised(v[r + 1], f.y, q.y);
            v[r + 2] = quantised(v[r + 2], f.z, q.z);
            v[r + 3] = quantised(v[r + 3], f.w, q.w);
        }
        hr_jpeg_idct_of(v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7, CONST_BITS - PASS1_BITS,
                        true);
        HR_UNROLL
        for (int r = 0; r < 8; r++)
            x[r][c] = v[r];
    }

    // All but the second dimension back. Only the sums of rows depend on what is subtracted from
    // all samples.
    HR_DEVICE void distort(const uint32_t (*table)[16])
    {
        HR_UNROLL
        for (int r = 0; r < 8; r++) {
            hr_jpeg_fdct_1d(x[r], false);
            x[r][0] -= 8 * CENTER << PASS1_BITS;
        }
        HR_UNROLL
        for (int c = 0; c < 8; c++)
            turn_column(c, table[c]);
    }

    // Row r after that, from 0 to 255 if saturated.
    HR_DEVICE void finish_row(int r, int32_t *v) const
    {
        HR_UNROLL
        for (int k = 0; k < 8; k++)
            v[k] = x[r][k];
        v[0] += CENTER << (PASS1_BITS + 3);
        hr_jpeg_idct_of(v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7,
                        CONST_BITS + PASS1_BITS + 3, true);
    }
};

// Four integers as bytes, saturated.
HR_DEVICE static inline uint32_t four_bytes(int32_t a, int32_t b, int32_t c, int32_t d)
{
#if defined(__CUDA_ARCH__)
    uint32_t high, all;
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(high) : "r"(d), "r"(c), "r"(0));
    asm("cvt.pack.sat.u8.s32.b32 %0, %1, %2, %3;" : "=r"(all) : "r"(b), "r"(a), "r"(high));
    return all;
#else
    auto byte = [](int32_t v) { return (uint32_t)HR_MAX(0, HR_MIN(v, 255)); };
    return byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24;
#endif
}

// Byte i of some words.
HR_DEVICE static inline int32_t byte_at(const uint32_t *words, int i)
{
    return (int32_t)(words[i / 4] >> i % 4 * 8 & 255);
}

// The same in 16 bits of fraction, and a half.
HR_DEVICE static inline int32_t byte_and_half(const uint32_t *words, int i)
{
#if defined(__CUDA_ARCH__)
    return (int32_t)__byte_perm(words[i / 4], HALF, 0x4054u | (uint32_t)(i % 4) << 8);
#else
    return byte_at(words, i) * ONE + HALF;
#endif
}

// Pixel i of some words, and one more byte.
HR_DEVICE static inline uint32_t rgb_at(const uint32_t *words, int i)
{
    const int at = 3 * i / 4, shift = 3 * i % 4 * 8;
    return shift > 8 ? shifted_word(words[at], words[at + 1], shift) : words[at] >> shift;
}

// R * r + G * g + B * b + `more`. The GPU multiplies four bytes at once, so factors are two bytes.
template <int32_t R, int32_t G, int32_t B>
HR_DEVICE static inline int32_t weighted(uint32_t rgb, int32_t more)
{
#if defined(__CUDA_ARCH__)
    const uint32_t low = (R & 255) | (G & 255) << 8 | (B & 255) << 16;
    const uint32_t high = (R >> 8 & 255) | (G >> 8 & 255) << 8 | (B >> 8 & 255) << 16;
    uint32_t sum = 0;
    if (R < 0 || G < 0 || B < 0)
        asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(sum) : "r"(rgb), "r"(high), "r"(0));
    else
        sum = __dp4a(rgb, high, sum);
    return (int32_t)(sum * 256 + __dp4a(rgb, low, (uint32_t)more));
#else
    return R * (int32_t)(rgb & 255) + G * (int32_t)(rgb >> 8 & 255) +
           B * (int32_t)(rgb >> 16 & 255) + more;
#endif
}

// hr_jpeg_luma, hr_jpeg_blue and hr_jpeg_red of a pixel. Of chroma, the largest factor has a high
// byte only if all are negated: -v >> 16 is ~(v - 1 >> 16).
HR_DEVICE static inline int32_t luma_of(uint32_t rgb)
{
    return weighted<Y_R, Y_G, Y_B>(rgb, HALF) >> 16;
}

HR_DEVICE static inline int32_t blue_of(uint32_t rgb)
{
    return ~(weighted<-CB_R, -CB_G, -HALF>(rgb, -(128 * ONE + HALF)) >> 16);
}

HR_DEVICE static inline int32_t red_of(uint32_t rgb)
{
    return ~(weighted<-HALF, -CR_G, -CR_B>(rgb, -(128 * ONE + HALF)) >> 16);
}

// One sample: its frames, and their planes of chroma in scratch memory, each of whole blocks.
struct part {
    const uint8_t *src;
    uint8_t *dst, *planes;
    const tables *quantisers;
    int64_t count, frames;
    int32_t width, height;
    bool aligned; // all rows, to eight bytes

    HR_DEVICE int32_t across(int size) const // squares of this size
    {
        return (width + size - 1) / size;
    }

    HR_DEVICE int32_t down(int size) const
    {
        return (height + size - 1) / size;
    }

    // Of chroma 0 or 1 of a frame.
    HR_DEVICE uint8_t *plane(int64_t frame, int which) const
    {
        return planes + (2 * frame + which) * 64 * across(16) * down(16);
    }

    HR_DEVICE const uint8_t *row_of(int64_t frame, int32_t y) const
    {
        return src + (frame * height + HR_MIN(y, height - 1)) * width * 3;
    }

    // Eight pixels from column x on, which may begin at any address.
    HR_DEVICE static void load_words(uint32_t *words, const uint8_t *at)
    {
        const int shift = (int)((uintptr_t)at & 3);
        const uint32_t *from = (const uint32_t *)(at - shift);
        uint32_t word = from[0];
        HR_UNROLL
        for (int k = 0; k < 6; k++) {
            const uint32_t next = from[k + 1];
            words[k] = shifted_word(word, next, shift * 8);
            word = next;
        }
    }

    HR_DEVICE static void load_pairs(uint32_t *words, const uint8_t *at)
    {
        HR_UNROLL
        for (int k = 0; k < 3; k++) {
            const uint2 two = ((const uint2 *)at)[k];
            words[2 * k] = two.x;
            words[2 * k + 1] = two.y;
        }
    }

    HR_DEVICE void load_bytes(uint32_t *words, const uint8_t *row, int32_t x) const
    {
        HR_UNROLL
        for (int k = 0; k < 6; k++)
            words[k] = 0;
        HR_UNROLL
        for (int k = 0; k < 24; k++)
            words[k / 4] |= (uint32_t)row[3 * HR_MIN(x + k / 3, width - 1) + k % 3] << k % 4 * 8;
    }

    // Eight pixels of some rows, as words. Beyond the edges, the last ones are repeated.
    template <int ROWS>
    HR_DEVICE void load(uint32_t (*words)[6], int64_t frame, int32_t y, int32_t x) const
    {
        const bool inside = x + 8 <= width;
        const uint8_t *first = row_of(frame, y) + 3 * x;
        const uint8_t *last = row_of(frame, y + ROWS - 1) + 3 * x;
        const uint8_t *end = src + frames * height * width * 3;
        if (inside && aligned) {
            HR_UNROLL
            for (int r = 0; r < ROWS; r++)
                load_pairs(words[r], row_of(frame, y + r) + 3 * x);
        } else if (inside && first - src >= 3 && end - last >= 28) {
            HR_UNROLL
            for (int r = 0; r < ROWS; r++)
                load_words(words[r], row_of(frame, y + r) + 3 * x);
        } else {
            HR_UNROLL
            for (int r = 0; r < ROWS; r++)
                load_bytes(words[r], row_of(frame, y + r), x);
        }
    }
};

struct split : part {
    HR_DEVICE void element(int64_t i) const
    {
        int64_t frame = i, k = op::digit(&frame, (int64_t)16 * across(16) * down(16));
        const int32_t x = 8 * (int32_t)op::digit(&k, 2 * across(16)), y = (int32_t)k;
        uint32_t words[2][6], blue = 0, red = 0;
        load<2>(words, frame, 2 * HR_MIN(y, (height - 1) / 2), x);
        HR_UNROLL
        for (int n = 0; n < 4; n++) {
            int32_t b = 1 + n % 2, r = 1 + n % 2; // rounded down and up in turn
            HR_UNROLL
            for (int p = 0; p < 4; p++) {
                const uint32_t rgb = rgb_at(words[p / 2], 2 * n + p % 2);
                b += blue_of(rgb);
                r += red_of(rgb);
            }
            blue |= (uint32_t)(b >> 2) << 8 * n;
            red |= (uint32_t)(r >> 2) << 8 * n;
        }
        const int64_t at = (int64_t)y * 8 * across(16) + x / 2;
        *(uint32_t *)(plane(frame, 0) + at) = blue;
        *(uint32_t *)(plane(frame, 1) + at) = red;
    }
};

// What is beyond the image in a row of chroma becomes the last sample inside.
struct distort : part {
    HR_DEVICE void element(int64_t i) const
    {
        int64_t which = i, k = op::digit(&which, (int64_t)across(16) * down(16));
        const int32_t left = 8 * (int32_t)op::digit(&k, across(16)), stride = 8 * across(16);
        uint8_t *at = plane(0, 0) + which * stride * 8 * down(16) + k * 8 * stride + left;
        block b;
        HR_UNROLL
        for (int r = 0; r < 8; r++) {
            const uint2 row = *(const uint2 *)(at + r * stride);
            const uint32_t words[2] = {row.x, row.y};
            HR_UNROLL
            for (int c = 0; c < 8; c++)
                b.x[r][c] = byte_at(words, c);
        }
        b.distort(quantisers->of[1]);
        HR_UNROLL
        for (int r = 0; r < 8; r++) {
            int32_t v[8];
            b.finish_row(r, v);
            HR_UNROLL
            for (int c = 1; c < 8; c++)
                v[c] = left + c < across(2) ? v[c] : v[c - 1];
            *(uint2 *)(at + r * stride) =
                make_uint2(four_bytes(v[0], v[1], v[2], v[3]), four_bytes(v[4], v[5], v[6], v[7]));
        }
    }
};

// Four samples of a row of each chroma, with their neighbours.
struct chroma_row {
    int32_t v[2][6];
};

struct mix : part {
    HR_DEVICE void load_chroma(chroma_row *row, int64_t frame, int32_t y, int32_t x) const
    {
        HR_UNROLL
        for (int c = 0; c < 2; c++) {
            const int64_t line = (int64_t)HR_MAX(0, HR_MIN(y, down(2) - 1)) * 8 * across(16);
            const uint8_t *at = plane(frame, c) + line;
            const uint32_t word = *(const uint32_t *)(at + x);
            row->v[c][0] = at[HR_MAX(x - 1, 0)];
            HR_UNROLL
            for (int k = 0; k < 4; k++)
                row->v[c][1 + k] = byte_at(&word, k);
            row->v[c][5] = at[HR_MIN(x + 4, across(2) - 1)];
        }
    }

    // Chroma c of eight pixels: means of the two nearest rows and columns, weighted 3 to 1. NARROW:
    // in the narrowest images, the nearest samples.
    template <bool NARROW>
    HR_DEVICE static void double_row(int32_t *to, const chroma_row &near, const chroma_row &far,
                                     int c)
    {
        int32_t sum[6];
        HR_UNROLL
        for (int k = 0; k < 6; k++)
            sum[k] = 3 * near.v[c][k] + far.v[c][k];
        HR_UNROLL
        for (int k = 0; k < 4; k++) {
            const int32_t most = 3 * sum[k + 1] + 7 - 16 * CENTER;
            to[2 * k] = NARROW ? near.v[c][k + 1] - CENTER : (most + sum[k] + 1) >> 4;
            to[2 * k + 1] = NARROW ? near.v[c][k + 1] - CENTER : (most + sum[k + 2]) >> 4;
        }
    }

    HR_DEVICE void store(uint8_t *at, const uint32_t *words, int32_t pixels) const
    {
        if (aligned) {
            HR_UNROLL
            for (int k = 0; k < 3; k++)
                ((uint2 *)at)[k] = make_uint2(words[2 * k], words[2 * k + 1]);
        } else if (pixels >= 8 && ((uintptr_t)at & 3) == 0) {
            HR_UNROLL
            for (int k = 0; k < 6; k++)
                ((uint32_t *)at)[k] = words[k];
        } else {
            HR_UNROLL
            for (int k = 0; k < 24; k++)
                if (k / 3 < pixels)
                    at[k] = (uint8_t)byte_at(words, k);
        }
    }

    template <bool NARROW>
    HR_DEVICE void mix_block(const block &b, int64_t frame, int32_t top, int32_t left) const
    {
        chroma_row rows[3];
        load_chroma(&rows[0], frame, top / 2 - 1, left / 2);
        load_chroma(&rows[1], frame, top / 2, left / 2);
        HR_UNROLL
        for (int r = 0; r < 8; r++) {
            int32_t luma[8], blue[8], red[8], out[24];
            uint32_t bytes[2], words[6];
            const chroma_row &near = rows[(r / 2 + 1) % 3];
            if (r % 2 == 0)
                load_chroma(&rows[(r / 2 + 2) % 3], frame, (top + r) / 2 + 1, left / 2);
            b.finish_row(r, luma);
            bytes[0] = four_bytes(luma[0], luma[1], luma[2], luma[3]);
            bytes[1] = four_bytes(luma[4], luma[5], luma[6], luma[7]);
            double_row<NARROW>(blue, near, rows[(r % 2 ? r / 2 + 2 : r / 2) % 3], 0);
            double_row<NARROW>(red, near, rows[(r % 2 ? r / 2 + 2 : r / 2) % 3], 1);
            HR_UNROLL
            for (int k = 0; k < 8; k++) {
                const int32_t y = byte_and_half(bytes, k);
                out[3 * k] = (y + R_CR * red[k]) >> 16;
                out[3 * k + 1] = (y - G_CB * blue[k] - G_CR * red[k]) >> 16;
                out[3 * k + 2] = (y + B_CB * blue[k]) >> 16;
            }
            HR_UNROLL
            for (int k = 0; k < 6; k++)
                words[k] = four_bytes(out[4 * k], out[4 * k + 1], out[4 * k + 2], out[4 * k + 3]);
            if (top + r < height)
                store(dst + ((frame * height + top + r) * width + left) * 3, words, width - left);
        }
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t frame = i, k = op::digit(&frame, (int64_t)across(8) * down(8));
        const int32_t left = 8 * (int32_t)op::digit(&k, across(8)), top = 8 * (int32_t)k;
        uint32_t words[8][6];
        block b;
        load<8>(words, frame, top, left);
        HR_UNROLL
        for (int r = 0; r < 8; r++) {
            HR_UNROLL
            for (int c = 0; c < 8; c++)
                b.x[r][c] = luma_of(rgb_at(words[r], c));
        }
        b.distort(quantisers->of[0]);
        if (across(2) < 3)
            mix_block<true>(b, frame, top, left);
        else
            mix_block<false>(b, frame, top, left);
    }
};

// ---- on the host ----

void tables_make(tables *t, int32_t quality)
{
    static const uint8_t natural[64] = {HR_JPEG_ZIGZAG(HR_JPEG_NATURAL)};
    for (int chroma = 0; chroma < 2; chroma++) {
        uint8_t zigzag[64];
        hr_jpeg_quality_table(zigzag, chroma, quality);
        for (int i = 0; i < 64; i++) {
            const double factor = (1 + 0x1p-20) / (8 * zigzag[i]);
            uint32_t *column = t->of[chroma][natural[i] % 8];
            column[natural[i] / 8] = bits_of_f32((float)factor);
            column[8 + natural[i] / 8] = zigzag[i];
        }
    }
}

// The tables of a quality on the device, which samples share.
struct qualities {
    const void *known[101];

    hr_status find(const tables **out, int32_t quality, hr_staging *staging, hr_error *error)
    {
        const void **at = &known[HR_MAX(1, HR_MIN(quality, 100))];
        tables made;
        if (*at == nullptr) {
            tables_make(&made, quality);
            HR_TRY(staging->constant(staging, &made, sizeof(made), at, error));
        }
        *out = (const tables *)*at;
        return HR_STATUS_OK;
    }
};

int64_t frames_of(const hr_op_call *c)
{
    return op::count(&c->in[0]) == 0 ? 0 : c->in[0].shape.ndim == 4 ? c->in[0].shape.extent[0] : 1;
}

// Squares of `size` x `size` pixels in all frames.
int64_t squares_of(const hr_op_call *c, int64_t size)
{
    const int64_t *extent = c->in[0].shape.extent + c->in[0].shape.ndim - 3;
    const int64_t frames = frames_of(c); // 0: the others may be too many
    return frames == 0 ? 0 : frames * HR_DIVIDE_UP(extent[0], size) * HR_DIVIDE_UP(extent[1], size);
}

int64_t scratch_of(const hr_op_call *c)
{
    return 2 * 64 * squares_of(c, 16);
}

hr_status part_make(part *p, const hr_op_call *c, uint8_t *planes, qualities *known,
                    hr_staging *staging, hr_error *error)
{
    const int64_t *extent = c->in[0].shape.extent + c->in[0].shape.ndim - 3;
    const int32_t quality = ((const hr_jpeg_distortion_args *)c->args)->quality;
    *p = {};
    p->src = (const uint8_t *)c->in[0].data;
    p->dst = (uint8_t *)c->out[0].data;
    p->planes = planes;
    p->frames = frames_of(c);
    p->height = (int32_t)extent[0];
    p->width = (int32_t)extent[1];
    p->aligned = p->width % 8 == 0 && ((uintptr_t)p->src | (uintptr_t)p->dst) % 8 == 0;
    return known->find(&p->quantisers, quality, staging, error);
}

// Samples whose planes fit in `size` bytes together.
hr_status run_group(hr_cuda_launch *l, const hr_op_call *calls, int32_t n, uint8_t *planes,
                    qualities *known, hr_staging *staging, hr_error *error)
{
    hr_staged pixels, chroma, luma;
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(split), &pixels, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(distort), &chroma, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(mix), &luma, error));
    for (int32_t i = 0; i < n; i++) {
        part p;
        HR_TRY(part_make(&p, &calls[i], planes, known, staging, error));
        planes += scratch_of(&calls[i]);
        p.count = 16 * squares_of(&calls[i], 16);
        (part &)((split *)pixels.host)[i] = p;
        p.count = 2 * squares_of(&calls[i], 16);
        (part &)((distort *)chroma.host)[i] = p;
        p.count = squares_of(&calls[i], 8);
        (part &)((mix *)luma.host)[i] = p;
    }
    HR_TRY(staging->flush(staging, error));
    HR_TRY((op::launch<split, 1>(l, pixels, n, error)));
    HR_TRY((op::launch<distort, 1, 2>(l, chroma, n, error)));
    return op::launch<mix, 1, 2>(l, luma, n, error);
}

// Groups that use the same scratch memory one after the other.
hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    int64_t all = 0, most = 1;
    qualities known = {};
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
        HR_TRY(run_group(l, calls + first, end - first, (uint8_t *)planes, &known, staging, error));
    }
    return HR_STATUS_OK;
}

} // namespace

HR_CUDA_OP(jpeg_compression_distortion, "jpeg_compression_distortion", run);
