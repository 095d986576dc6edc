// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Per-pixel steps of 8-bit pixels of up to four channels. A block copies weights and tables to
// shared memory. A thread takes a few pixels through a step at a time, so that weights are loaded
// once for all of them; the kind of a step is a branch outside of the loop over its pixels.
#pragma once

#include "core/rounding.h"
#include "cuda/image/unroll.cuh"
#include "image/device.h"

enum {
    POINT_WORDS = 64, // of a step in shared memory: a table, or the weights of a matrix
    POINT_MATRIX_WORDS = HR_MATRIX_MAX * (HR_MATRIX_MAX + 1),
    POINT_OUTPUTS = HR_POINT_MAX * POINT_WORDS, // then, for each step: a matrix's outputs, or 0
    POINTS_WORDS = POINT_OUTPUTS + HR_POINT_MAX
};

// Conversions between bytes and floats are slow on a device, so there are none: a byte's bits are
// a float already, the byte * 2^-149. Weights are times 2^80, so that products are normal numbers.
// All scales are powers of two, which change no rounding (device.c checks that weights are neither
// too large nor too small for them).
#if defined(__CUDA_ARCH__)
#define POINT_WEIGHT_SCALE 0x1p80f
#define POINT_SCALE 0x1p-69f // of what a matrix adds, and of its results
#else
#define POINT_WEIGHT_SCALE 1.0f
#define POINT_SCALE 1.0f
#endif

HR_SHARED float point_factor(uint32_t byte)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(byte);
#else
    return (float)byte;
#endif
}

// Selects four of the eight bytes of (b, a), one per nibble of `selector`.
HR_SHARED uint32_t pick_bytes(uint32_t a, uint32_t b, uint32_t selector)
{
#if defined(__CUDA_ARCH__)
    return __byte_perm(a, b, selector);
#else
    uint64_t both = (uint64_t)b << 32 | a;
    uint32_t out = 0;
    for (int i = 0; i < 4; i++)
        out |= (uint32_t)(both >> (selector >> 4 * i & 7) * 8 & 255) << 8 * i;
    return out;
#endif
}

HR_SHARED uint32_t byte_of(uint32_t word, int k)
{
    return pick_bytes(word, 0, 0x4440u | (uint32_t)k);
}

// Bytes a, b, c and d of some words, in as few steps as possible if they are constants.
HR_SHARED uint32_t bytes_at(const uint32_t *words, int a, int b, int c, int d)
{
    const int at[4] = {a, b, c, d};
    int first = a / 4, second = (b / 4 != first ? b : c / 4 != first ? c : d) / 4;
    uint32_t selector = 0, third = 0x3210, fourth = 0x3210;
    HR_UNROLL
    for (int i = 0; i < 4; i++) {
        int word = at[i] / 4, nibble = at[i] % 4, shift = 4 * i;
        if (word == first || word == second)
            selector |= (uint32_t)(word == first ? nibble : 4 + nibble) << shift;
        else if (word == c / 4)
            third = (third & ~(15u << shift)) | (uint32_t)(4 + nibble) << shift;
        else
            fourth = (fourth & ~(15u << shift)) | (uint32_t)(4 + nibble) << shift;
    }
    if (first == second && selector == 0x3210)
        return words[first];
    uint32_t out = pick_bytes(words[first], words[second], selector);
    if (third != 0x3210)
        out = pick_bytes(out, words[c / 4], third);
    if (fourth != 0x3210)
        out = pick_bytes(out, words[d / 4], fourth);
    return out;
}

// The low bytes of four words.
HR_SHARED uint32_t four_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return pick_bytes(pick_bytes(a, b, 0x0040), pick_bytes(c, d, 0x0040), 0x5410);
}

// For a result v of a matrix: 256 * v + 128 without its fraction, as a signed integer or beyond all
// of 16 bits. Saturated to 16 bits without a sign, its upper byte is round_byte(v).
HR_SHARED uint32_t point_rounded(float v)
{
#if defined(__CUDA_ARCH__)
    return __float_as_uint(__fmaf_rz(v, 0x1p-72f, 0x1p-142f)); // of a step of 2^-149
#else
    return (uint32_t)round_byte(v) << 8;
#endif
}

// Two of them, saturated.
HR_SHARED uint32_t point_pair(uint32_t low, uint32_t high)
{
#if defined(__CUDA_ARCH__)
    uint32_t out;
    asm("cvt.pack.sat.u16.s32 %0, %1, %2;" : "=r"(out) : "r"(high), "r"(low));
    return out;
#else
    return low | high << 16;
#endif
}

// 2^23 + v for v = 0 .. 255, as a float, has the bits 0x4b000000 + v.
HR_SHARED float float_of_byte(uint32_t v)
{
#if defined(__CUDA_ARCH__)
    return __uint_as_float(0x4b000000u | v) - 8388608.0f; // exact; the conversion is slow
#else
    return (float)v;
#endif
}

// Byte i of some words.
HR_SHARED float float_at(const uint32_t *words, int i)
{
#if defined(__CUDA_ARCH__)
    uint32_t bits = __byte_perm(words[i / 4], 0x4b000000u, 0x7440u | (uint32_t)(i % 4));
    return __uint_as_float(bits) - 8388608.0f;
#else
    return (float)(words[i / 4] >> i % 4 * 8 & 255);
#endif
}

// round_byte.
HR_SHARED uint32_t byte_of_float(float v)
{
#if defined(__CUDA_ARCH__)
    // Truncated by an addition; the conversion is slow.
    float inside = fminf(fmaxf(v, 0.0f), 255.0f) + ROUND_BELOW_HALF;
    return __float_as_uint(__fadd_rz(inside, 8388608.0f)) & 255;
#else
    return round_byte(v);
#endif
}

// Loads from global memory that is read-only during the launch.
HR_SHARED uint32_t load_byte(const uint8_t *at)
{
#if defined(__CUDA_ARCH__)
    return __ldg(at);
#else
    return *at;
#endif
}

HR_SHARED uint32_t load_word(const uint32_t *at)
{
#if defined(__CUDA_ARCH__)
    return __ldg(at);
#else
    return *at;
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
    if (at >= HR_MATRIX_MAX * HR_MATRIX_MAX)
        return bits_of_f32(m->add[at % HR_MATRIX_MAX] * POINT_SCALE);
    return bits_of_f32(m->m[at / HR_MATRIX_MAX][at % HR_MATRIX_MAX] * POINT_WEIGHT_SCALE);
}

// Copies the steps of a program to shared memory.
HR_SHARED void load_points(const hr_device_program *p, uint32_t *shared, int thread, int threads)
{
    for (int i = thread; i < p->point_count * POINT_WORDS; i += threads) {
        const hr_point_step *step = &p->tables->point[i / POINT_WORDS];
        bool is_matrix = step->kind == HR_POINT_KIND_MATRIX;
        int at = i % POINT_WORDS;
        if (!is_matrix || at < POINT_MATRIX_WORDS)
            shared[i] = point_word(step, at);
        if (at == 0)
            shared[POINT_OUTPUTS + i / POINT_WORDS] = is_matrix ? (uint32_t)step->matrix.out : 0;
    }
}

// The steps of a program, for pixels of WIDE channels. What channels are that a pixel does not have
// does not matter: their weights are 0.
template <int WIDE> struct Points {
    const uint32_t *steps; // in shared memory: from load_points
    int count;

    HR_MEMBER Points(const hr_device_program *p, const uint32_t *shared)
    {
        steps = shared;
        count = p->point_count;
    }

    // A matrix of which ROWS outputs are wanted.
    template <int ROWS> struct Matrix {
        PointRow row[ROWS], add;

        HR_MEMBER explicit Matrix(const uint32_t *step)
        {
            HR_UNROLL
            for (int c = 0; c < ROWS; c++)
                row[c] = point_row(step + HR_MATRIX_MAX * c);
            add = point_row(step + HR_MATRIX_MAX * HR_MATRIX_MAX);
        }

        // hr_matrix_row, and point_rounded.
        HR_MEMBER void multiply(uint32_t *v) const
        {
            float in[WIDE];
            HR_UNROLL
            for (int c = 0; c < WIDE; c++)
                in[c] = point_factor(v[c]);
            HR_UNROLL
            for (int c = 0; c < ROWS; c++) {
                float sum = row[c].v[0] * in[0];
                HR_UNROLL
                for (int k = 1; k < WIDE; k++)
                    sum += row[c].v[k] * in[k];
                v[c] = point_rounded(sum + add.v[c]);
            }
            HR_UNROLL
            for (int c = ROWS; c < WIDE; c++)
                v[c] = 0;
        }
    };

    // ---- pixels with a word per channel ----

    template <int ROWS, int PIXELS>
    HR_MEMBER static void multiply(const uint32_t *step, uint32_t (*v)[WIDE])
    {
        const Matrix<ROWS> matrix(step);
        HR_UNROLL
        for (int i = 0; i < PIXELS; i++)
            matrix.multiply(v[i]);
        HR_UNROLL
        for (int i = 0, j = 1; i < PIXELS * WIDE; i += 2, j += 2) {
            j = HR_MIN(j, PIXELS * WIDE - 1);
            uint32_t pair = point_pair(v[i / WIDE][i % WIDE], v[j / WIDE][j % WIDE]);
            v[j / WIDE][j % WIDE] = byte_of(pair, 3);
            v[i / WIDE][i % WIDE] = byte_of(pair, 1);
        }
    }

    template <int PIXELS> HR_MEMBER void apply(uint32_t (*v)[WIDE]) const
    {
        const uint32_t *step = steps;
        for (int s = 0; s < count; s++, step += POINT_WORDS) {
            uint32_t outputs = steps[POINT_OUTPUTS + s];
            if (outputs > 1) {
                multiply<WIDE, PIXELS>(step, v);
            } else if (outputs > 0) {
                multiply<1, PIXELS>(step, v);
            } else {
                HR_UNROLL
                for (int i = 0; i < PIXELS * WIDE; i++)
                    v[i / WIDE][i % WIDE] = ((const uint8_t *)step)[v[i / WIDE][i % WIDE]];
            }
        }
    }

    // ---- four pixels in WIDE words ----

    HR_MEMBER static void unpack(uint32_t *v, const uint32_t *words)
    {
        HR_UNROLL
        for (int i = 0; i < 4 * WIDE; i++)
            v[i] = byte_of(words[i / 4], i % 4);
    }

    template <int ROWS, int FOURS>
    HR_MEMBER static void multiply_words(const uint32_t *step, uint32_t *words)
    {
        const Matrix<ROWS> matrix(step);
        HR_UNROLL
        for (int k = 0; k < FOURS; k++, words += WIDE) {
            uint32_t v[4 * WIDE];
            unpack(v, words);
            HR_UNROLL
            for (int i = 0; i < 4; i++)
                matrix.multiply(v + i * WIDE);
            HR_UNROLL
            for (int i = 0; i < WIDE; i++)
                words[i] = pick_bytes(point_pair(v[4 * i], v[4 * i + 1]),
                                      point_pair(v[4 * i + 2], v[4 * i + 3]), 0x7531);
        }
    }

    template <int FOURS>
    HR_MEMBER static void look_up_words(const uint8_t *table, uint32_t *words)
    {
        HR_UNROLL
        for (int k = 0; k < FOURS; k++, words += WIDE) {
            uint32_t v[4 * WIDE];
            unpack(v, words);
            HR_UNROLL
            for (int i = 0; i < WIDE; i++)
                words[i] = four_bytes(table[v[4 * i]], table[v[4 * i + 1]], table[v[4 * i + 2]],
                                      table[v[4 * i + 3]]);
        }
    }

    template <int FOURS> HR_MEMBER void apply_words(uint32_t *words) const
    {
        const uint32_t *step = steps;
        for (int s = 0; s < count; s++, step += POINT_WORDS) {
            uint32_t outputs = steps[POINT_OUTPUTS + s];
            if (outputs > 1)
                multiply_words<WIDE, FOURS>(step, words);
            else if (outputs > 0)
                multiply_words<1, FOURS>(step, words);
            else
                look_up_words<FOURS>((const uint8_t *)step, words);
        }
    }
};
