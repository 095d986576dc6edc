/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Nearly every file defines its own Huffman tables, so building them must be fast: entries are
 * filled by runs, in one or two microseconds. */
#include "codecs/jpeg/markers.h"

#include "codecs/bytes.h"
#include "kernels/jpeg_shared.h"

#include <string.h>

static const uint8_t zigzag[64] = {HR_JPEG_ZIGZAG(HR_JPEG_NATURAL)};

typedef enum table_kind { TABLE_KIND_DC, TABLE_KIND_AC, TABLE_KIND_PASS } table_kind;

/* The entry of a code of `length` bits in the AC table of a progressive scan. */
static uint32_t pass_entry(uint32_t length, uint32_t symbol)
{
    uint32_t size = symbol & 15, run = 1 + (symbol >> 4);
    if (size == 0 && run < 16) {
        size = run - 1;
        run = HR_JPEG_RUN_END;
    }
    return size << 24 | length << 16 | run << 8 | (length + size);
}

/* The entry of a code of `length` bits. */
static uint32_t entry_of(uint32_t length, uint32_t symbol, table_kind kind)
{
    if (kind == TABLE_KIND_PASS)
        return pass_entry(length, symbol);
    bool ac = kind == TABLE_KIND_AC;
    uint32_t size = ac ? symbol & 15 : symbol, run = 1;
    /* ZRL has no value to store */
    if (ac && (symbol == 0xF0 || length + size > HR_JPEG_TOTAL_MAX))
        return HR_JPEG_RUN_SLOW << 8;
    if (ac)
        run = size == 0 ? HR_JPEG_RUN_END : 1 + (symbol >> 4);
    return size << 24 | length << 16 | run << 8 | (length + size);
}

/* `first` and, if the index contains its whole code, the symbol behind it. Branch-free: whether
 * there is a second symbol is hard to predict. */
static uint64_t pair_of(uint32_t first, uint32_t second)
{
    uint32_t total = first & 255, run = first >> 8 & 255;
    uint32_t begin = total + (second >> 16 & 255), both = total + (second & 255);
    uint32_t there = 0u - (uint32_t)((run <= 16) & ((second & 255) > 0) &
                                     (begin <= HR_JPEG_FAST_BITS) & (both <= HR_JPEG_TOTAL_MAX));
    second &= there;
    uint32_t low = ((0 - (second >> 24)) & 63) << 24 | (begin & there) << 16 |
                   (run + (second >> 8 & 255)) << 8 | (total + (second & 255));
    uint32_t high = run << 24 | total << 16 | ((0 - (first >> 24)) & 63) << 8 | (first >> 16 & 255);
    return (uint64_t)high << 32 | low;
}

/* Fills the indices of one code at a time: what follows a value does not depend on it. */
static void build_pairs(hr_jpeg_huffman *t)
{
    const uint32_t size = 1u << HR_JPEG_FAST_BITS;
    for (uint32_t i = 0, span; i < size; i += span) {
        uint32_t first = t->fast[i], total = first & 255, code = first >> 16 & 255;
        span = code > 0 ? size >> code : 1;
        uint32_t done = code > 0 ? HR_MAX(size >> total, 1u) : 1;
        for (uint32_t k = 0; k < done; k++)
            t->pair[i + k] = pair_of(first, t->fast[k << total & (size - 1)]);
        for (; done < span; done *= 2)
            memcpy(&t->pair[i + done], &t->pair[i], done * sizeof t->pair[0]);
    }
}

bool hr_jpeg_huffman_fits(const uint8_t *definition, bool ac)
{
    uint32_t code = 0, symbols = 0;
    for (uint32_t length = 1; length <= 16; length++) {
        uint32_t count = definition[length - 1], each = 1u << (16 - length);
        code += count * each;
        symbols += count;
        if (count > 0 && code > 0x10000 - each) /* no code may be all ones */
            return false;
    }
    for (uint32_t i = 0; i < symbols && !ac; i++)
        if (definition[16 + i] > 15)
            return false;
    return true;
}

static bool build(hr_jpeg_huffman *t, const uint8_t *definition, table_kind kind)
{
    const uint8_t *symbols = definition + 16;
    uint32_t code = 0, filled = 0; /* code of 16 bits; entries of the fast table */
    int32_t first = 0;
    if (!hr_jpeg_huffman_fits(definition, kind != TABLE_KIND_DC))
        return false;
    t->limit[0] = 0;
    for (uint32_t length = 1; length <= 16; length++) {
        uint32_t count = definition[length - 1], each = 1u << (16 - length);
        t->offset[length] = first - (int32_t)(code >> (16 - length));
        code += count * each;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t symbol = symbols[(uint32_t)first + i];
            t->symbols[(uint32_t)first + i] = (uint8_t)symbol;
            if (length > HR_JPEG_FAST_BITS)
                continue;
            uint32_t entry = entry_of(length, symbol, kind);
            for (uint32_t end = filled + (each >> (16 - HR_JPEG_FAST_BITS)); filled < end; filled++)
                t->fast[filled] = entry;
        }
        first += (int32_t)count;
        t->limit[length] = code;
    }
    t->limit[17] = code;
    while (filled < 1u << HR_JPEG_FAST_BITS)
        t->fast[filled++] = HR_JPEG_RUN_SLOW << 8;
    return true;
}

bool hr_jpeg_huffman_build(hr_jpeg_huffman *t, const uint8_t *definition, bool ac)
{
    bool good = build(t, definition, ac ? TABLE_KIND_AC : TABLE_KIND_DC);
    if (good && ac)
        build_pairs(t);
    return good;
}

bool hr_jpeg_huffman_build_pass(hr_jpeg_huffman *t, const uint8_t *definition)
{
    return build(t, definition, TABLE_KIND_PASS);
}

void hr_jpeg_quant_build(int16_t quant[64], const uint8_t *definition, bool wide)
{
    for (size_t i = 0; i < 64; i++) {
        uint32_t v = wide ? hr_get_be16(definition + 2 * i) : definition[i];
        quant[HR_JPEG_POSITION(zigzag[i] / 8, zigzag[i] % 8)] = (int16_t)v;
    }
}
