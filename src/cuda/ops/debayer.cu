// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// debayer: one thread per pixel.
#include "ops/color/debayer.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

HR_DEVICE int distance(int a, int b)
{
    return a > b ? a - b : b - a;
}

// A pixel of an image and its neighbours; those outside are reflected.
struct place {
    const char *src;
    int64_t height, width, y, x;
    int32_t size;

    HR_DEVICE int at(int dy, int dx) const
    {
        int64_t row = y + dy, column = x + dx;
        row = row < 0 ? -row : row >= height ? 2 * (height - 1) - row : row;
        column = column < 0 ? -column : column >= width ? 2 * (width - 1) - column : column;
        return (int)value_load(src + (row * width + column) * size, size);
    }

    // the gradients of kernels/debayer_vng.c, at a neighbour
    HR_DEVICE int down(int dy, int dx) const
    {
        return distance(at(dy - 1, dx - 1), at(dy + 1, dx - 1)) +
               2 * distance(at(dy - 1, dx), at(dy + 1, dx)) +
               distance(at(dy - 1, dx + 1), at(dy + 1, dx + 1));
    }

    HR_DEVICE int across(int dy, int dx) const
    {
        return distance(at(dy - 1, dx - 1), at(dy - 1, dx + 1)) +
               2 * distance(at(dy, dx - 1), at(dy, dx + 1)) +
               distance(at(dy + 1, dx - 1), at(dy + 1, dx + 1));
    }

    // along the diagonal from (-side, -1) to (side, 1)
    HR_DEVICE int diagonal(int dy, int dx, int side) const
    {
        return 2 * distance(at(dy - side, dx - 1), at(dy + side, dx + 1));
    }

    HR_DEVICE int diagonal_wide(int dy, int dx, int side) const
    {
        return diagonal(dy, dx, side) + distance(at(dy + side, dx), at(dy, dx - 1)) +
               distance(at(dy - side, dx), at(dy, dx + 1));
    }

    HR_DEVICE int green(int dy, int dx) const
    {
        return (at(dy - 1, dx) + at(dy, dx - 1) + at(dy, dx + 1) + at(dy + 1, dx)) >> 1;
    }

    // The gradient in the direction (dy, dx).
    HR_DEVICE int gradient(int dy, int dx, bool coloured) const
    {
        if (dx == 0)
            return down(0, 0) + down(dy, 0);
        if (dy == 0)
            return across(0, 0) + across(0, dx);
        int side = dy * dx;
        if (coloured)
            return diagonal_wide(0, 0, side) + diagonal_wide(dy, dx, side);
        return diagonal(0, 0, side) + diagonal(dy, 0, side) + diagonal(0, dx, side) +
               diagonal(dy, dx, side);
    }
};

// v + the mean of `number` differences, of which `twice` is twice the sum; ties to even.
HR_DEVICE int corrected(int v, int twice, int number)
{
    const float magic = 12582912.0f;
    float mean = (float)twice * (0.5f / (float)number);
    int result = v + (int)((mean + magic) - magic);
    return result < 0 ? 0 : result > 255 ? 255 : result;
}

struct record {
    hr_debayer m;
    const char *src;
    char *dst;
    int64_t count;
    int32_t size;

    // The row's own colour, green, and the other one.
    HR_DEVICE void many_gradients(const place &p, bool coloured, int colours[3]) const
    {
        int gradients[9], low = INT32_MAX, high = 0, number = 0, v = p.at(0, 0);
        int sum[3] = {0, 0, 0};
        for (int i = 0; i < 9; i++) {
            if (i == 4)
                continue;
            int g = gradients[i] = p.gradient(i / 3 - 1, i % 3 - 1, coloured);
            low = g < low ? g : low;
            high = g > high ? g : high;
        }
        int limit = low + (high / 2 > 1 ? high / 2 : 1);
        for (int i = 0; i < 9; i++) {
            if (i == 4 || gradients[i] >= limit)
                continue;
            int dy = i / 3 - 1, dx = i % 3 - 1;
            bool straight = dy == 0 || dx == 0;
            number++;
            if (coloured) {
                sum[0] += p.at(2 * dy, 2 * dx) + v;
                sum[1] += straight ? 2 * p.at(dy, dx) : p.green(dy, dx);
                sum[2] += straight ? p.at(dy - dx, dx - dy) + p.at(dy + dx, dx + dy)
                                   : 2 * p.at(dy, dx);
                continue;
            }
            sum[1] += straight ? p.at(2 * dy, 2 * dx) + v : 2 * p.at(dy, dx);
            sum[0] += dy == 0 ? 2 * p.at(0, dx)
                      : dx == 0 ? p.at(2 * dy, -1) + p.at(2 * dy, 1)
                                : p.at(2 * dy, dx) + p.at(0, dx);
            sum[2] += dx == 0 ? 2 * p.at(dy, 0)
                      : dy == 0 ? p.at(-1, 2 * dx) + p.at(1, 2 * dx)
                                : p.at(dy, 2 * dx) + p.at(dy, 0);
        }
        int same = coloured ? 0 : 1;
        for (int k = 0; k < 3; k++)
            colours[k] = k == same ? v : corrected(v, sum[k] - sum[same], number);
    }

    HR_DEVICE void nearest_pixels(const place &p, bool coloured, int colours[3]) const
    {
        int v = p.at(0, 0), n = p.at(-1, 0), s = p.at(1, 0), w = p.at(0, -1), e = p.at(0, 1);
        int beside = (w + e + 1) >> 1, above = (n + s + 1) >> 1;
        colours[0] = beside;
        colours[1] = v;
        colours[2] = above;
        if (!coloured)
            return;
        colours[0] = v;
        colours[2] = (p.at(-1, -1) + p.at(-1, 1) + p.at(1, -1) + p.at(1, 1) + 2) >> 2;
        if (m.kind == HR_DEBAYER_KIND_EDGE_AWARE)
            colours[1] = distance(w, e) > distance(n, s) ? above : beside;
        else
            colours[1] = (n + s + w + e + 2) >> 2;
    }

    HR_DEVICE int gray(const place &p, bool coloured, bool first) const
    {
        uint32_t own = first ? HR_DEBAYER_RED : HR_DEBAYER_BLUE;
        uint32_t other = first ? HR_DEBAYER_BLUE : HR_DEBAYER_RED, green = HR_DEBAYER_GREEN;
        uint32_t v = 4 * (uint32_t)p.at(0, 0), down = (uint32_t)(p.at(-1, 0) + p.at(1, 0));
        uint32_t across = (uint32_t)(p.at(0, -1) + p.at(0, 1));
        uint32_t corners = (uint32_t)(p.at(-1, -1) + p.at(-1, 1) + p.at(1, -1) + p.at(1, 1));
        uint32_t sum = coloured ? corners * other + (across + down) * green + v * own
                                : 2 * down * other + v * green + 2 * across * own;
        return (int)((sum + 0x8000) >> 16);
    }

    HR_DEVICE void element(int64_t i) const
    {
        int64_t rest = i, x = op::digit(&rest, m.width), y = op::digit(&rest, m.height);
        int start = m.start[m.starts ? rest : 0], channels = m.kind == HR_DEBAYER_KIND_GRAY ? 1 : 3;
        bool small = m.height <= 2 || m.width <= 2;
        char *to = dst + i * channels * size;
        if (!m.vng && !small) { // edges repeat the pixels inside
            x = x < 1 ? 1 : x > m.width - 2 ? m.width - 2 : x;
            y = y < 1 ? 1 : y > m.height - 2 ? m.height - 2 : y;
        }
        bool first = (y + (start >> 1)) % 2 == 0;
        bool coloured = (y + x + (start >> 1) + (start & 1)) % 2 == 0;
        place p = {src + rest * m.height * m.width * size, m.height, m.width, y, x, size};
        int colours[3] = {0, 0, 0};
        if (m.vng)
            many_gradients(p, coloured, colours);
        else if (!small && channels == 1)
            colours[0] = gray(p, coloured, first);
        else if (!small)
            nearest_pixels(p, coloured, colours);
        for (int c = 0; c < channels; c++)
            value_store(to + c * size, size,
                        (uint64_t)colours[first || channels == 1 ? c : 2 - c]);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_debayer *m = (const hr_debayer *)c->memo;
    *r = {};
    r->m = *m;
    HR_TRY(op::stage_list(&r->m.start, m->starts ? m->frames : 1, staging, error));
    r->src = (const char *)c->in[0].data;
    r->dst = (char *)c->out[0].data;
    r->count = op::count(&c->in[0]);
    r->size = value_size(c->in[0].dtype);
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    return op::run<record>(l, calls, n, staging, make, error);
}

} // namespace

HR_CUDA_OP(debayer, "debayer", run);
