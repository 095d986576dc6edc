// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Tier 1 (annex D of T.800): a thread decodes a code-block, and the threads of a warp blocks of
// about the same length. The flags of four coefficients, one below the other, are a word; those of
// the blocks of a warp are interleaved. A coefficient is written to its plane as twice its value,
// and with a one after the last bit that is known.
#include "cuda/jpeg2000/decode.cuh"
#include "cuda/jpeg2000/mq.cuh"

namespace jpeg2000
{
namespace
{

constexpr uint32_t ROWS = 4; // of a stripe

// Flags in a word: four bits each.
enum : uint32_t { SIGNIFICANT = 0, NEGATIVE = 4, VISITED = 8, REFINED = 12 };

enum { ALL_BANDS = 3, NEIGHBOURS = 256 };

// The contexts of significance for all neighbourhoods. From the lowest bit: three neighbours on the
// left from top to bottom, three on the right, the one above, the one below.
static __device__ uint32_t zero_context(uint32_t neighbours, uint32_t bands)
{
    uint32_t n = neighbours;
    uint32_t h = (n >> 1 & 1) + (n >> 4 & 1), v = (n >> 6 & 1) + (n >> 7 & 1);
    uint32_t d = (n & 1) + (n >> 2 & 1) + (n >> 3 & 1) + (n >> 5 & 1);
    if (bands == 2) { // HH
        uint32_t sum = h + v;
        if (d >= 2)
            return d >= 3 ? 8 : 6 + (sum >= 1);
        return 3 * d + min(sum, 2u);
    }
    if (bands == 1) { // HL
        uint32_t swap = h;
        h = v;
        v = swap;
    }
    if (h > 0)
        return h == 2 ? 8 : v > 0 ? 7 : 5 + (d > 0);
    return v > 0 ? 2 + v : min(d, 2u);
}

struct Tables {
    uint32_t words[2 * STATES];
    uint8_t zero[ALL_BANDS * NEIGHBOURS];
    uint32_t contexts[CONTEXTS * LANES];
};

// A column of a stripe with its neighbours: bits of six rows, from the one above the stripe to the
// one below it.
struct Column {
    uint32_t own, left, right;       // the words themselves
    uint32_t here, before, after;    // who is significant in this column and beside it
    uint32_t minus;                  // who is negative in this column
};

static __device__ __forceinline__ uint32_t six(uint32_t above, uint32_t word, uint32_t below,
                                               uint32_t what)
{
    return (above >> (what + 3) & 1) | (word >> what & 15) << 1 | (below >> what & 1) << 5;
}

static __device__ __forceinline__ uint32_t neighbours(const Column &k, uint32_t row)
{
    return (k.before >> row & 7) | (k.after >> row & 7) << 3 | (k.here >> row & 1) << 6 |
           (k.here >> (row + 2) & 1) << 7;
}

// 1, 0 or -1: the sign of a neighbour if it is significant.
static __device__ __forceinline__ int sign_of(uint32_t significant, uint32_t negative)
{
    return (int)(significant & 1) - 2 * (int)(significant & negative & 1);
}

struct Coder {
    Decoder mq;
    const uint8_t *zero;  // contexts of the band
    int32_t *coefficients;
    uint16_t *flags;
    uint32_t w, h, stride, bit; // bit: the plane that is decoded, of twice the value

    __device__ uint32_t load(uint32_t stripe, uint32_t x) const
    {
        return flags[(stripe * w + x) * LANES];
    }

    __device__ uint32_t read_sign(const Column &k, uint32_t row)
    {
        int side = sign_of(k.left >> row, k.left >> (NEGATIVE + row)) +
                   sign_of(k.right >> row, k.right >> (NEGATIVE + row));
        int line = sign_of(k.here >> row, k.minus >> row) +
                   sign_of(k.here >> (row + 2), k.minus >> (row + 2));
        side = max(-1, min(1, side));
        line = max(-1, min(1, line));
        bool flip = side < 0 || (side == 0 && line < 0);
        uint32_t context = side == 0 ? (uint32_t)(line != 0) : (uint32_t)(3 + side * line);
        return mq.decide(SIGN + context) ^ flip;
    }

    __device__ void become_significant(Column &k, uint32_t row, int32_t *p)
    {
        uint32_t negative = read_sign(k, row);
        int32_t v = (int32_t)(3u << bit >> 1);
        *p = negative ? -v : v;
        k.own |= 1u << (SIGNIFICANT + row) | negative << (NEGATIVE + row);
        k.here |= 2u << row;
        k.minus |= negative << (row + 1);
    }

    // Of coefficients beside significant ones.
    __device__ void significance(Column &k, uint32_t rows, int32_t *p)
    {
        if ((k.here | k.before | k.after) == 0)
            return;
        for (uint32_t row = 0; row < rows; row++, p += stride) {
            uint32_t n = neighbours(k, row);
            if ((k.own >> row & 1) || n == 0)
                continue;
            if (mq.decide(ZERO + zero[n]))
                become_significant(k, row, p);
            k.own |= 1u << (VISITED + row);
        }
    }

    // The next bit of coefficients that were significant before.
    __device__ void refinement(Column &k, uint32_t rows, int32_t *p)
    {
        for (uint32_t row = 0; row < rows; row++, p += stride) {
            if (!(k.own >> row & 1) || (k.own >> (VISITED + row) & 1))
                continue;
            bool again = k.own >> (REFINED + row) & 1;
            uint32_t context = again ? 2 : neighbours(k, row) != 0;
            bool one = mq.decide(MORE + context);
            int32_t v = *p, half = (int32_t)(1u << bit >> 1);
            *p = v + (one != (v < 0) ? half : -half);
            k.own |= 1u << (REFINED + row);
        }
    }

    // All others. A column with nothing significant around it has a run of zeros.
    __device__ void cleanup(Column &k, uint32_t rows, int32_t *p)
    {
        uint32_t row = 0;
        bool known = false; // the coefficient of this row is significant
        if (rows == ROWS && (k.own | k.here | k.before | k.after) == 0) {
            if (!mq.decide(RUN))
                return;
            row = mq.decide(UNIFORM) << 1;
            row |= mq.decide(UNIFORM);
            known = true;
        }
        for (p += row * stride; row < rows; row++, p += stride) {
            if ((k.own >> row | k.own >> (VISITED + row)) & 1)
                continue;
            if (known || mq.decide(ZERO + zero[neighbours(k, row)]))
                become_significant(k, row, p);
            known = false;
        }
        k.own &= ~(15u << VISITED);
    }

    // Words of a column: of the stripe, and of those above and below it.
    __device__ void load_column(uint32_t s, uint32_t stripes, uint32_t x, uint32_t words[3]) const
    {
        words[0] = x < w ? load(s, x) : 0;
        words[1] = x < w && s > 0 ? load(s - 1, x) : 0;
        words[2] = x < w && s + 1 < stripes ? load(s + 1, x) : 0;
    }

    template <int PASS> __device__ void stripe(uint32_t s, uint32_t stripes)
    {
        uint32_t rows = min(ROWS, h - s * ROWS);
        int32_t *p = coefficients + (size_t)s * ROWS * stride;
        uint32_t above[3] = {}, below[3] = {};
        uint32_t words[3], ahead[3]; // of the next column, and of the one after it
        Column k = {};
        load_column(s, stripes, 0, words);
        k.own = words[0];
        above[1] = words[1];
        below[1] = words[2];
        load_column(s, stripes, 1, words);
        for (uint32_t x = 0; x < w; x++) {
            load_column(s, stripes, x + 2, ahead); // takes longer than a column
            k.right = words[0];
            above[2] = words[1];
            below[2] = words[2];
            k.before = six(above[0], k.left, below[0], SIGNIFICANT);
            k.here = six(above[1], k.own, below[1], SIGNIFICANT);
            k.after = six(above[2], k.right, below[2], SIGNIFICANT);
            k.minus = six(above[1], k.own, below[1], NEGATIVE);
            uint32_t old = k.own;
            if (PASS == 0)
                significance(k, rows, p + x);
            else if (PASS == 1)
                refinement(k, rows, p + x);
            else
                cleanup(k, rows, p + x);
            if (k.own != old)
                flags[(s * w + x) * LANES] = (uint16_t)k.own;
            k.left = k.own;
            k.own = k.right;
            for (int i = 0; i < 2; i++) {
                above[i] = above[i + 1];
                below[i] = below[i + 1];
            }
            for (int i = 0; i < 3; i++)
                words[i] = ahead[i];
        }
    }

    template <int PASS> __device__ void pass()
    {
        uint32_t stripes = divide_up(h, ROWS);
        for (uint32_t s = 0; s < stripes; s++)
            stripe<PASS>(s, stripes);
    }

    // The first pass cleans up the highest plane; three follow for each plane below it.
    __device__ void run(uint32_t planes, uint32_t passes)
    {
        bit = planes;
        for (uint32_t i = 0; i < passes; i++) {
            if (i % 3 == 0) {
                pass<2>();
                bit--;
            } else if (i % 3 == 1) {
                pass<0>();
            } else {
                pass<1>();
            }
        }
    }
};

__global__ void __launch_bounds__(LANES) decode_group(const Image *images, const tiles::Share share, Memory memory)
{
    __shared__ Tables tables;
    uint32_t t = threadIdx.x;
    int group, i = tiles::find(share, &group);
    const Image &image = images[i];
    uint32_t number = (uint32_t)group * LANES + t;
    for (uint32_t k = t; k < 2 * STATES; k += LANES)
        tables.words[k] = word_of(k);
    for (uint32_t k = t; k < ALL_BANDS * NEIGHBOURS; k += LANES)
        tables.zero[k] = (uint8_t)zero_context(k % NEIGHBOURS, k / NEIGHBOURS);
    for (uint32_t k = 0; k < CONTEXTS; k++) {
        uint32_t state = k == ZERO ? STATE_ZERO : k == RUN ? STATE_RUN : STATE_FIRST;
        tables.contexts[k * LANES + t] = word_of(2 * (k == UNIFORM ? STATE_UNIFORM : state));
    }
    uint16_t *flags = memory.flags(&image) + (size_t)group * LANES * image.flag_words + t;
    for (uint32_t k = 0; k < image.flag_words; k++)
        flags[k * LANES] = 0;
    __syncthreads();
    if (number >= image.block_count)
        return;
    Block b = image.blocks[number];
    Coder c;
    c.mq.words = tables.words;
    c.mq.contexts = tables.contexts + t;
    c.mq.begin(image.bytes + b.from, b.size);
    c.zero = tables.zero + (b.kind == 3 ? 2 : b.kind == 1 ? 1 : 0) * NEIGHBOURS;
    c.coefficients = memory.plane<int32_t>(&image) + b.at;
    c.flags = flags;
    c.w = b.w;
    c.h = b.h;
    c.stride = b.stride;
    c.run(b.planes, b.passes);
}

constexpr uint32_t SCALERS = 128; // threads

// Halves coefficients of the 5/3 wavelet, and makes floats of those of 9/7.
__global__ void __launch_bounds__(SCALERS) scale(const Image *images, const tiles::Share share, Memory memory)
{
    int number, i = tiles::find(share, &number);
    const Image &image = images[i];
    Block b = image.blocks[number];
    uint32_t n = (uint32_t)b.w * b.h;
    int32_t *p = memory.plane<int32_t>(&image) + b.at;
    bool reversible = image.reversible;
    for (uint32_t k = threadIdx.x; k < n; k += SCALERS) {
        int32_t *v = p + (size_t)(k / b.w) * b.stride + k % b.w;
        if (reversible)
            *v /= 2;
        else
            *(float *)v = (float)*v * b.step;
    }
}

} // namespace

cudaError_t decode_blocks(const Batch &b)
{
    return tiles::launch(
        decode_group, b.host, b.device, b.count, LANES, b.stream,
        [](const Image *image) { return divide_up(image->block_count, LANES); }, b.memory);
}

cudaError_t scale_blocks(const Batch &b)
{
    return tiles::launch(
        scale, b.host, b.device, b.count, SCALERS, b.stream,
        [](const Image *image) { return image->block_count; }, b.memory);
}

} // namespace jpeg2000
