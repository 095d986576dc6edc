// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Per-pixel steps of 8-bit pixels of up to four channels. A block copies weights and tables to
// shared memory. A thread takes a few pixels through a step at a time, so that weights are loaded
// once for all of them; the kind of a step is a branch outside of the loop over its pixels.
#ifndef HR_CUDA_IMAGE_POINTS_CUH
#define HR_CUDA_IMAGE_POINTS_CUH

#include "core/rounding.h"
#include "cuda/image/unroll.cuh"
#include "image/device.h"

enum {
    POINT_WORDS = 64, // of a step in shared memory: a table, or the weights of a matrix
    POINTS_WORDS = HR_POINT_MAX * POINT_WORDS,
    POINT_MATRIX_WORDS = HR_MATRIX_MAX * (HR_MATRIX_MAX + 1)
};

// The numbers 2^23 + v for v = 0 .. 255 as floats have the bits POINT_BASE + v. Between steps a
// pixel's channels are these bits: a conversion to or from float is one addition, and the byte is
// the low one.
#define POINT_BASE 0x4b000000u

// POINT_BASE + byte k of a word.
HR_SHARED uint32_t based_byte(uint32_t word, int k)
{
#if defined(__CUDA_ARCH__)
    return __byte_perm(word, POINT_BASE, 0x7440u | (uint32_t)k);
#else
    return POINT_BASE | (word >> 8 * k & 255);
#endif
}

HR_SHARED float float_of_byte(uint32_t v)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(POINT_BASE | v) - 8388608.0f; // exact; the conversion is slow
#else
    return (float)(v & 255);
#endif
}

// POINT_BASE + round_byte(v).
HR_SHARED uint32_t based_byte_of_float(float v)
{
#if defined(__CUDA_ARCH__)
    // Truncated by an addition; the conversion is slow.
    float inside = fminf(fmaxf(v, 0.0f), 255.0f) + ROUND_BELOW_HALF;
    return __float_as_uint(__fadd_rz(inside, 8388608.0f));
#else
    return POINT_BASE + round_byte(v);
#endif
}

HR_SHARED float float_of_based(uint32_t v)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(v) - 8388608.0f;
#else
    return (float)(v & 255);
#endif
}

// Bytes from `shift` bits on of two words that follow one another.
HR_SHARED uint32_t shifted_word(uint32_t low, uint32_t high, int shift)
{
#if defined(__CUDA_ARCH__)
    return __funnelshift_r(low, high, (uint32_t)shift);
#else
    return (uint32_t)(((uint64_t)high << 32 | low) >> shift);
#endif
}

// The low bytes of four words.
HR_SHARED uint32_t four_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
#if defined(__CUDA_ARCH__)
    return __byte_perm(__byte_perm(a, b, 0x0040), __byte_perm(c, d, 0x0040), 0x5410);
#else
    return (a & 255) | (b & 255) << 8 | (c & 255) << 16 | d << 24;
#endif
}

struct PointRow {
    float v[HR_MATRIX_MAX];
};

// Four floats at an address that is a multiple of 16.
HR_SHARED PointRow point_row(const uint32_t *at)
{
#if defined(__CUDA_ARCH__)
    float4 row = *(const float4 *)at;
    return {{row.x, row.y, row.z, row.w}};
#else
    PointRow row;
    memcpy(&row, at, sizeof row);
    return row;
#endif
}

// A word of a step in shared memory: of a table, or of the weights of a matrix.
HR_SHARED uint32_t point_word(const hr_point_step *step, int at)
{
    const hr_matrix *m = &step->matrix;
    if (step->kind != HR_POINT_KIND_MATRIX)
        return ((const uint32_t *)step->table)[at];
    return bits_of_f32(at < HR_MATRIX_MAX * HR_MATRIX_MAX
                           ? m->m[at / HR_MATRIX_MAX][at % HR_MATRIX_MAX]
                           : m->add[at % HR_MATRIX_MAX]);
}

// Copies the steps of a program to shared memory.
HR_SHARED void load_points(const hr_device_program *p, uint32_t *shared, int thread, int threads)
{
    for (int i = thread; i < p->point_count * POINT_WORDS; i += threads) {
        const hr_point_step *step = &p->tables->point[i / POINT_WORDS];
        int at = i % POINT_WORDS;
        if (step->kind != HR_POINT_KIND_MATRIX || at < POINT_MATRIX_WORDS)
            shared[i] = point_word(step, at);
    }
}

// The steps of a program, for pixels of WIDE channels. What channels are that a pixel does not have
// does not matter: their weights are 0.
template <int WIDE> struct Points {
    const uint32_t *words; // in shared memory: from load_points
    int count;
    uint32_t matrices; // bit i: step i is a matrix

    HR_MEMBER Points(const hr_device_program *p, const uint32_t *shared)
    {
        words = shared;
        count = p->point_count;
        matrices = 0;
        for (int i = 0; i < count; i++)
            matrices |= (uint32_t)(p->tables->point[i].kind == HR_POINT_KIND_MATRIX) << i;
    }

    // hr_matrix_row.
    template <int PIXELS> HR_MEMBER static void multiply(const uint32_t *m, uint32_t (*v)[WIDE])
    {
        float in[PIXELS][WIDE];
        HR_UNROLL
        for (int i = 0; i < PIXELS; i++) {
            HR_UNROLL
            for (int c = 0; c < WIDE; c++)
                in[i][c] = float_of_based(v[i][c]);
        }
        PointRow add = point_row(m + HR_MATRIX_MAX * HR_MATRIX_MAX);
        HR_UNROLL
        for (int c = 0; c < WIDE; c++) {
            PointRow weight = point_row(m + HR_MATRIX_MAX * c);
            HR_UNROLL
            for (int i = 0; i < PIXELS; i++) {
                float sum = weight.v[0] * in[i][0];
                HR_UNROLL
                for (int k = 1; k < WIDE; k++)
                    sum += weight.v[k] * in[i][k];
                v[i][c] = based_byte_of_float(sum + add.v[c]);
            }
        }
    }

    template <int PIXELS> HR_MEMBER static void look_up(const uint8_t *table, uint32_t (*v)[WIDE])
    {
        HR_UNROLL
        for (int i = 0; i < PIXELS; i++) {
            HR_UNROLL
            for (int c = 0; c < WIDE; c++)
                v[i][c] = POINT_BASE | table[v[i][c] - POINT_BASE];
        }
    }

    // `v`: bytes; afterwards, POINT_BASE + bytes. BASED: the base is there already.
    template <int PIXELS, bool BASED = false> HR_MEMBER void apply(uint32_t (*v)[WIDE]) const
    {
        HR_UNROLL
        for (int i = 0; i < PIXELS && !BASED; i++) {
            HR_UNROLL
            for (int c = 0; c < WIDE; c++)
                v[i][c] |= POINT_BASE;
        }
        const uint32_t *step = words;
        for (int s = 0; s < count; s++, step += POINT_WORDS) {
            if (matrices >> s & 1)
                multiply<PIXELS>(step, v);
            else
                look_up<PIXELS>((const uint8_t *)step, v);
        }
    }
};

#endif
