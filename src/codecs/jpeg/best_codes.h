/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Huffman tables for encoding, made by the method of annex K.2 of the standard, on the CPU and the
 * GPU. */
#pragma once

#include "core/shared.h"
#include "kernels/jpeg.h"

/* A definition, as in a DHT segment: 16 counts, then symbols. */
enum { HR_JPEG_DEFINITION_BYTES = 16 + 256 };

HR_SHARED void hr_jpeg_codes_build(hr_jpeg_codes *codes, const uint8_t *definition)
{
    const uint8_t *symbol = definition + 16;
    uint32_t code = 0;
    for (int i = 0; i < 256; i++)
        codes->of[i].code = codes->of[i].bits = 0;
    for (uint32_t length = 1; length <= 16; length++, code <<= 1)
        for (int i = 0; i < definition[length - 1]; i++, symbol++, code++) {
            uint32_t size = *symbol & 15;
            codes->of[*symbol].code = code << size;
            codes->of[*symbol].bits = length + size;
        }
}

enum { HR_JPEG_LEAVES = 257, HR_JPEG_RESERVED = 256, HR_JPEG_LONGEST = 16 };

/* Trees of symbols. A tree is known by one of its symbols, and the others are a list. */
typedef struct hr_jpeg_forest {
    uint64_t count[HR_JPEG_LEAVES]; /* of a whole tree; 0: joined to another one */
    int16_t symbol[HR_JPEG_LEAVES];
    int16_t next[HR_JPEG_LEAVES]; /* of the same tree, or -1 */
    uint16_t depth[HR_JPEG_LEAVES];
    uint16_t lengths[HR_JPEG_LEAVES]; /* how many codes have each length */
    int leaves;
} hr_jpeg_forest;

/* The rarest tree other than `but`, of equal ones the last one; -1: there is none. */
HR_SHARED int hr_jpeg_rarest(const hr_jpeg_forest *f, int but)
{
    int found = -1;
    for (int i = 0; i < f->leaves; i++)
        if (i != but && f->count[i] > 0 && (found < 0 || f->count[i] <= f->count[found]))
            found = i;
    return found;
}

/* Puts both trees one deeper, under a new root. */
HR_SHARED void hr_jpeg_join(hr_jpeg_forest *f, int a, int b)
{
    int end = a;
    f->count[a] += f->count[b];
    f->count[b] = 0;
    for (int i = a; i >= 0; i = f->next[i]) {
        f->depth[i]++;
        end = i;
    }
    f->next[end] = (int16_t)b;
    for (int i = b; i >= 0; i = f->next[i])
        f->depth[i]++;
}

/* One code more than there are symbols, so that the code of all ones, which no symbol may have, is
 * free. */
HR_SHARED void hr_jpeg_grow(hr_jpeg_forest *f, const uint64_t count[256])
{
    f->leaves = 0;
    for (int i = 0; i < HR_JPEG_LEAVES; i++)
        if (i == HR_JPEG_RESERVED || count[i] > 0) {
            f->symbol[f->leaves] = (int16_t)i;
            f->count[f->leaves] = i == HR_JPEG_RESERVED ? 1 : count[i];
            f->next[f->leaves] = -1;
            f->depth[f->leaves++] = 0;
        }
    for (int a = hr_jpeg_rarest(f, -1), b; (b = hr_jpeg_rarest(f, a)) >= 0;
         a = hr_jpeg_rarest(f, -1))
        hr_jpeg_join(f, a, b);
}

/* Two codes that are too long make place for one that is one shorter, and the other one shares the
 * place of a shorter code. */
HR_SHARED void hr_jpeg_shorten(uint16_t lengths[HR_JPEG_LEAVES])
{
    for (int i = HR_JPEG_LEAVES - 1; i > HR_JPEG_LONGEST; i--)
        while (lengths[i] > 0) {
            int shorter = i - 2;
            while (lengths[shorter] == 0)
                shorter--;
            lengths[i] -= 2;
            lengths[i - 1]++;
            lengths[shorter + 1] += 2;
            lengths[shorter]--;
        }
}

/* The best definition for symbols that occur so often; the same as libjpeg makes. */
HR_SHARED void hr_jpeg_best_codes(uint8_t definition[HR_JPEG_DEFINITION_BYTES],
                                  const uint64_t count[256], hr_jpeg_forest *f)
{
    uint8_t *next = definition + 16;
    int longest = HR_JPEG_LONGEST;

    hr_jpeg_grow(f, count);
    for (int i = 0; i < HR_JPEG_LEAVES; i++)
        f->lengths[i] = 0;
    for (int i = 0; i < f->leaves; i++)
        f->lengths[f->depth[i]]++;
    f->lengths[0] = 0; /* the reserved code alone */
    hr_jpeg_shorten(f->lengths);
    while (longest > 0 && f->lengths[longest] == 0)
        longest--;
    if (longest > 0)
        f->lengths[longest]--; /* the reserved code */
    for (int i = 0; i < HR_JPEG_LONGEST; i++)
        definition[i] = (uint8_t)f->lengths[i + 1];
    for (int depth = 1; depth < HR_JPEG_LEAVES; depth++)
        for (int i = 0; i < f->leaves; i++)
            if (f->depth[i] == depth && f->symbol[i] != HR_JPEG_RESERVED)
                *next++ = (uint8_t)f->symbol[i];
}
