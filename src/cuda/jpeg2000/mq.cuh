// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// The MQ decoder (annex C of T.800). A context is a word with all that its state says, so a decision
// that does not change the state reads nothing else.
#pragma once

#include <cuda_runtime.h>

#include <stdint.h>

namespace jpeg2000
{

constexpr uint32_t LANES = 32;

// Contexts: coefficients that become significant, their signs, their further bits, runs, and
// numbers of equal probability.
enum : uint32_t { ZERO = 0, SIGN = 9, MORE = 14, RUN = 17, UNIFORM = 18, CONTEXTS };

constexpr uint32_t STATES = 47;
enum : uint32_t { STATE_FIRST = 0, STATE_ZERO = 4, STATE_RUN = 3, STATE_UNIFORM = 46 };

// The next state when the more probable symbol comes, when the less probable one does, and whether
// the latter makes them change places (table C.2).
struct State {
    uint16_t qe;
    uint8_t more, less, swap;
};

static __device__ __forceinline__ State state_of(uint32_t i)
{
    static const State states[STATES] = {
        {0x5601, 1, 1, 1},    {0x3401, 2, 6, 0},    {0x1801, 3, 9, 0},    {0x0AC1, 4, 12, 0},
        {0x0521, 5, 29, 0},   {0x0221, 38, 33, 0},  {0x5601, 7, 6, 1},    {0x5401, 8, 14, 0},
        {0x4801, 9, 14, 0},   {0x3801, 10, 14, 0},  {0x3001, 11, 17, 0},  {0x2401, 12, 18, 0},
        {0x1C01, 13, 20, 0},  {0x1601, 29, 21, 0},  {0x5601, 15, 14, 1},  {0x5401, 16, 14, 0},
        {0x5101, 17, 15, 0},  {0x4801, 18, 16, 0},  {0x3801, 19, 17, 0},  {0x3401, 20, 18, 0},
        {0x3001, 21, 19, 0},  {0x2801, 22, 19, 0},  {0x2401, 23, 20, 0},  {0x2201, 24, 21, 0},
        {0x1C01, 25, 22, 0},  {0x1801, 26, 23, 0},  {0x1601, 27, 24, 0},  {0x1401, 28, 25, 0},
        {0x1201, 29, 26, 0},  {0x1101, 30, 27, 0},  {0x0AC1, 31, 28, 0},  {0x09C1, 32, 29, 0},
        {0x08A1, 33, 30, 0},  {0x0521, 34, 31, 0},  {0x0441, 35, 32, 0},  {0x02A1, 36, 33, 0},
        {0x0221, 37, 34, 0},  {0x0141, 38, 35, 0},  {0x0111, 39, 36, 0},  {0x0085, 40, 37, 0},
        {0x0049, 41, 38, 0},  {0x0025, 42, 39, 0},  {0x0015, 43, 40, 0},  {0x0009, 44, 41, 0},
        {0x0005, 45, 42, 0},  {0x0001, 45, 43, 0},  {0x5601, 46, 46, 0}};
    return states[i];
}

// Words of all states: entry 2 * state + symbol, where `symbol` is the more probable one. From the
// lowest bit: 16 of qe, 7 of the next entry after the more probable symbol, 7 after the less
// probable one, the symbol.
static __device__ __forceinline__ uint32_t word_of(uint32_t entry)
{
    State s = state_of(entry / 2);
    uint32_t symbol = entry % 2, more = 2u * s.more + symbol, less = 2u * s.less + (symbol ^ s.swap);
    return s.qe | more << 16 | less << 23 | symbol << 30;
}

struct Decoder {
    const uint32_t *words; // shared
    uint32_t *contexts;    // shared: of this lane, LANES words apart
    const uint8_t *data;
    uint32_t size, at; // at: of the byte after the next one
    uint32_t last, next; // bytes: the last one that was taken, and the one after it
    uint32_t a, c, left;

    __device__ uint32_t byte(uint32_t i) const
    {
        return i < size ? data[i] : 0xFF; // ones follow the data
    }

    __device__ void begin(const uint8_t *from, uint32_t bytes)
    {
        data = from;
        size = bytes;
        last = byte(0);
        next = byte(1);
        at = 2;
        c = last << 16;
        left = 0;
        more();
        c <<= 7;
        left -= 7;
        a = 0x8000;
    }

    // Takes a byte; after 0xFF it has seven bits, and a marker is not taken.
    __device__ void more()
    {
        bool stuffed = last == 0xFF;
        if (stuffed && next > 0x8F) {
            c += 0xFF00;
            left = 8;
            return;
        }
        c += next << (stuffed ? 9 : 8);
        left = stuffed ? 7 : 8;
        last = next;
        next = byte(at++);
    }

    __device__ void normalise()
    {
        uint32_t shift = (uint32_t)__clz((int)a) - 16;
        while (shift > 0) {
            if (left == 0)
                more();
            uint32_t n = min(shift, left);
            a <<= n;
            c <<= n;
            left -= n;
            shift -= n;
        }
    }

    __device__ uint32_t decide(uint32_t context)
    {
        uint32_t *p = contexts + context * LANES;
        uint32_t word = *p, qe = word & 0xFFFF, symbol = word >> 30;
        a -= qe;
        bool below = c >> 16 < qe;
        if (!below) {
            c -= qe << 16;
            if (a & 0x8000)
                return symbol;
        }
        bool less = (a < qe) != below; // the less probable symbol
        a = below ? qe : a;
        *p = words[less ? word >> 23 & 127 : word >> 16 & 127];
        normalise();
        return symbol ^ less;
    }
};

} // namespace jpeg2000
