// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// spectrogram: a block transforms some windows in shared memory. Windows that are too long for that
// take turns in slots of scratch memory, one per block. The operations and their order are those of
// ops/audio/fft.c and kernels/fft.c.
#include "ops/audio/spectrogram.h"
#include "cuda/ops/op.cuh"
#include "kernels/border.h"
#include "kernels/fft_point.h"

#include <cmath>

namespace
{

constexpr int ROOM = 2080; // points in each of the two buffers of a block

struct alignas(8) slot {
    fft_point v;
};

// Divides numbers from 0 to ROOM by one that is at least 1.
struct divider {
    uint32_t by, factor; // 2^31 / by, rounded up; 0: numbers are larger

    HR_DEVICE int of(int i) const
    {
        return (int)(factor ? (uint64_t)(uint32_t)i * factor >> 31 : (uint32_t)i / by);
    }
};

struct step {
    int32_t radix, stride;
    const slot *twiddles, *roots;
    divider by_gap, by_stride; // gap: butterflies of a pass of one window
};

// What all samples of a node share.
struct plan {
    int32_t n, points, size, count, bins; // as in hr_fft
    int32_t group, pitch;                 // windows of a block, and points from one to the next
    int32_t phases;                       // of a group
    int32_t length, hop, lead, padding;   // of the window: samples; where it begins
    bool shared, reflect, magnitudes, time_first;
    divider by_size, by_row; // row: bins of a window, or the same bin of all windows of a group
    const slot *turns, *chirp, *kernel;
    const float *window;
    step steps[HR_FFT_MAX_PASSES];
};

// A group of windows and their buffers.
struct place {
    const plan *p;
    slot *buffers[2];
    int64_t first;
    int windows;
};

struct record {
    const plan *p;
    const float *src;
    float *dst;
    slot *room; // two buffers per tile; NULL: in shared memory
    int64_t length, windows;
    int32_t tiles, rounds; // groups are processed in rounds of `tiles`

    struct Shared {
        slot buffers[2][ROOM];
    };

    HR_DEVICE int phases() const
    {
        return p->phases * rounds;
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const;
};

// Sample s of the transform of the window that begins at `start`.
HR_DEVICE float sample_at(const record &r, const plan &p, int64_t start, int s)
{
    int i = s - p.padding;
    if (i < 0 || i >= p.length)
        return 0.0f;
    int64_t at = start + i;
    if (at < 0 || at >= r.length)
        at = border_index(at, r.length, p.reflect ? HR_BORDER_REFLECT_101 : HR_BORDER_CONSTANT);
    return (at < 0 ? 0.0f : r.src[at]) * p.window[i];
}

HR_DEVICE void load(const record &r, const place &g, int thread)
{
    const plan &p = *g.p;
    const int count = g.windows * p.size;
    for (int i = thread; i < count; i += op::THREADS) {
        int w = p.by_size.of(i), at = i - w * p.size;
        int64_t start = (g.first + w) * p.hop - p.lead;
        fft_point v = {0.0f, 0.0f};
        if (at < p.points && p.n % 2 == 0) {
            v.re = sample_at(r, p, start, 2 * at);
            v.im = sample_at(r, p, start, 2 * at + 1);
        } else if (at < p.points) {
            v.re = sample_at(r, p, start, at);
        }
        if (p.chirp && at < p.points)
            v = fft_turned(v, p.chirp[at].v.re, p.chirp[at].v.im);
        g.buffers[0][w * p.pitch + at].v = v;
    }
}

template <int RADIX> HR_DEVICE void butterfly(fft_point *v)
{
    if (RADIX == 2)
        fft_butterfly_2(v);
    else if (RADIX == 3)
        fft_butterfly_3(v);
    else if (RADIX == 4)
        fft_butterfly_4(v);
    else
        fft_butterfly_5(v);
}

// Where the inputs and the outputs of butterfly i of a pass are, and its twiddles.
struct butterfly_place {
    const slot *src, *twiddles;
    slot *dst;

    HR_DEVICE butterfly_place(const step &s, const slot *from, slot *to, int pitch, int gap, int i)
    {
        int w = s.by_gap.of(i), at = i - w * gap, q = s.by_stride.of(at);
        src = from + w * pitch + at;
        dst = to + w * pitch + at + q * (s.radix - 1) * s.stride;
        twiddles = s.twiddles + q * (s.radix - 1);
    }
};

template <int RADIX>
HR_DEVICE void pass(const step &s, const place &g, const slot *from, slot *to, int thread)
{
    const int pitch = g.p->pitch, gap = (int)s.by_gap.by, count = g.windows * gap;
    const int stride = s.stride;
    for (int i = thread; i < count; i += op::THREADS) {
        const butterfly_place at(s, from, to, pitch, gap, i);
        fft_point v[RADIX];
        HR_UNROLL
        for (int j = 0; j < RADIX; j++)
            v[j] = at.src[j * gap].v;
        butterfly<RADIX>(v);
        at.dst[0].v = v[0];
        HR_UNROLL
        for (int k = 1; k < RADIX; k++) {
            const fft_point turn = at.twiddles[k - 1].v;
            at.dst[k * stride].v = fft_turned(v[k], turn.re, turn.im);
        }
    }
}

HR_DEVICE void pass_any(const step &s, const place &g, const slot *from, slot *to, int thread)
{
    const int gap = (int)s.by_gap.by, count = g.windows * gap;
    for (int i = thread; i < count; i += op::THREADS) {
        const butterfly_place at(s, from, to, g.p->pitch, gap, i);
        for (int k = 0; k < s.radix; k++) {
            fft_point sum = at.src[0].v;
            for (int j = 1, turn = k; j < s.radix; j++) {
                const fft_point root = s.roots[turn].v;
                fft_point v = fft_turned(at.src[j * gap].v, root.re, root.im);
                sum.re += v.re;
                sum.im += v.im;
                turn = turn + k < s.radix ? turn + k : turn + k - s.radix;
            }
            const fft_point one = {1.0f, 0.0f}, turn = k > 0 ? at.twiddles[k - 1].v : one;
            at.dst[k * s.stride].v = fft_turned(sum, turn.re, turn.im);
        }
    }
}

HR_DEVICE void run_pass(const place &g, int i, const slot *from, slot *to, int thread)
{
    const step &s = g.p->steps[i];
    if (s.radix == 4)
        pass<4>(s, g, from, to, thread);
    else if (s.radix == 2)
        pass<2>(s, g, from, to, thread);
    else if (s.radix == 3)
        pass<3>(s, g, from, to, thread);
    else if (s.radix == 5)
        pass<5>(s, g, from, to, thread);
    else
        pass_any(s, g, from, to, thread);
}

// Bluestein's products: with the kernel, conjugated after it; and with the chirp, conjugated
// before.
HR_DEVICE void multiply(const place &g, const slot *factors, bool before, slot *data, int thread)
{
    const plan &p = *g.p;
    const int count = g.windows * p.size;
    for (int i = thread; i < count; i += op::THREADS) {
        int w = p.by_size.of(i), at = i - w * p.size;
        if (before && at >= p.points)
            continue;
        fft_point *v = &data[w * p.pitch + at].v, turned = *v;
        turned.im *= before ? -1.0f : 1.0f;
        turned = fft_turned(turned, factors[at].v.re, factors[at].v.im);
        turned.im *= before ? 1.0f : -1.0f;
        *v = turned;
    }
}

HR_DEVICE float norm_of(const plan &p, const slot *data, int bin)
{
    const int half = p.points;
    fft_point v = data[bin < half ? bin : 0].v;
    if (p.n % 2 == 0) {
        const fft_point turn = p.turns[bin].v;
        v = fft_real_bin(v, data[bin > 0 ? half - bin : 0].v, turn.re, turn.im);
    }
    float power = fft_power(v);
    return p.magnitudes ? sqrtf(power) : power;
}

HR_DEVICE void store(const record &r, const place &g, const slot *data, int thread)
{
    const plan &p = *g.p;
    const int rows = p.time_first ? g.windows : p.bins, row = (int)p.by_row.by;
    for (int i = thread; i < rows * row; i += op::THREADS) {
        int y = p.by_row.of(i), x = i - y * row;
        int w = p.time_first ? y : x, bin = p.time_first ? x : y;
        if (w >= g.windows)
            continue;
        int64_t window = g.first + w;
        r.dst[p.time_first ? window * p.bins + bin : bin * r.windows + window] =
            norm_of(p, data + w * p.pitch, bin);
    }
}

// load, passes, [multiply, passes, multiply,] store
HR_DEVICE void record::phase(int k, int tile, Shared *shared, int thread) const
{
    const int round = rounds > 1 ? k / p->phases : 0, count = p->count;
    place g = {p, {shared->buffers[0], shared->buffers[1]}, 0, 0};
    if (room) {
        g.buffers[0] = room + (int64_t)tile * 2 * p->pitch;
        g.buffers[1] = g.buffers[0] + p->pitch;
    }
    g.first = ((int64_t)round * tiles + tile) * p->group;
    g.windows = (int)HR_MIN(windows - g.first, p->group);
    k -= round * p->phases;
    if (k == 0) {
        load(*this, g, thread);
    } else if (k <= count) {
        run_pass(g, k - 1, g.buffers[(k - 1) & 1], g.buffers[k & 1], thread);
    } else if (!p->chirp) {
        store(*this, g, g.buffers[count & 1], thread);
    } else if (k == count + 1) {
        multiply(g, p->kernel, false, g.buffers[count & 1], thread);
    } else if (k <= 2 * count + 1) {
        run_pass(g, k - count - 2, g.buffers[k & 1], g.buffers[(k + 1) & 1], thread);
    } else if (k == 2 * count + 2) {
        multiply(g, p->chirp, true, g.buffers[0], thread);
    } else {
        store(*this, g, g.buffers[0], thread);
    }
}

divider divide_by(int64_t by, bool shared)
{
    return {(uint32_t)by, shared ? (uint32_t)((UINT64_C(1) << 31) / (uint64_t)by + 1) : 0};
}

void make_steps(plan *p, const hr_fft *fft, const float *tables)
{
    auto at = [=](const float *v) {
        return v ? (const slot *)(tables + (v - fft->tables)) : nullptr;
    };
    p->turns = at(fft->turns);
    p->chirp = at(fft->chirp);
    p->kernel = at(fft->kernel);
    for (int32_t i = 0; i < fft->count; i++) {
        const hr_fft_pass &from = fft->passes[i];
        step *s = &p->steps[i];
        s->radix = from.radix;
        s->stride = from.stride;
        s->twiddles = at(from.twiddles);
        s->roots = at(from.roots);
        s->by_gap = divide_by(p->size / from.radix, p->shared);
        s->by_stride = divide_by(from.stride, p->shared);
    }
}

hr_status make_plan(plan *p, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_spectrogram_args *a = (const hr_spectrogram_args *)c->args;
    const hr_spectrogram_state *s = (const hr_spectrogram_state *)c->state;
    const hr_fft *fft = s->fft;
    const float *tables = fft->tables;
    memset((void *)p, 0, sizeof(*p)); // gaps too: it is staged by its bytes
    p->n = fft->n;
    p->points = fft->points;
    p->size = fft->size;
    p->count = fft->count;
    p->bins = fft->n / 2 + 1;
    p->pitch = p->size + 2; // a bin of several windows is in different banks
    p->shared = p->pitch <= ROOM;
    p->group = p->shared ? ROOM / p->pitch : 1;
    p->phases = fft->chirp ? 2 * p->count + 4 : p->count + 2;
    p->length = a->window_length;
    p->hop = a->window_step;
    p->lead = spectrogram_lead(a);
    p->padding = spectrogram_padding(a, fft);
    p->reflect = a->reflect_padding != 0;
    p->magnitudes = a->power == HR_FFT_RESULT_MAGNITUDE;
    p->time_first = a->layout[0] == 't';
    p->by_size = divide_by(p->size, p->shared);
    p->by_row = divide_by(p->time_first ? p->bins : p->group, p->shared);
    p->window = s->window;
    HR_TRY(op::stage_list(&p->window, p->length, staging, error));
    HR_TRY(op::stage_list(&tables, (int64_t)fft->floats, staging, error));
    make_steps(p, fft, tables);
    return HR_STATUS_OK;
}

void make_record(record *r, const hr_op_call *c, const plan *p)
{
    *r = {};
    r->src = (const float *)c->in[0].data;
    r->dst = (float *)c->out[0].data;
    r->length = op::count(&c->in[0]);
    r->windows = c->out[0].shape.extent[p->time_first ? 0 : 1];
    r->tiles = (int32_t)HR_DIVIDE_UP(r->windows, p->group);
    r->rounds = 1;
}

// Gives records whose windows do not fit into shared memory a slot of scratch memory per tile: as
// many as blocks can run at once. Where there are fewer slots than records, they are used again.
hr_status find_room(hr_cuda_launch *l, const plan *p, record *r, int32_t n, hr_error *error)
{
    const size_t size = 2 * (size_t)p->pitch * sizeof(slot);
    int64_t slots = 8 * HR_MAX(l->multiprocessors, 1), used = 0;
    if (l->scratch_limit > 0)
        slots = HR_MAX(HR_MIN(slots, (int64_t)(l->scratch_limit / size)), 1);
    void *room;
    HR_TRY(l->scratch(l, (size_t)slots * size, &room, error));
    for (int32_t i = 0; i < n; i++) {
        r[i].tiles = (int32_t)HR_MIN(r[i].windows, HR_MAX(slots / n, 1));
        r[i].rounds = (int32_t)HR_DIVIDE_UP(r[i].windows, r[i].tiles);
        used = used + r[i].tiles > slots ? 0 : used;
        r[i].room = (slot *)room + used * 2 * p->pitch;
        used += r[i].tiles;
    }
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    plan p;
    const void *device;
    hr_staged records;
    HR_TRY(make_plan(&p, &calls[0], staging, error));
    HR_TRY(staging->constant(staging, &p, sizeof(p), &device, error));
    HR_TRY(staging->alloc(staging, (size_t)n * sizeof(record), &records, error));
    record *r = (record *)records.host;
    for (int32_t i = 0; i < n; i++) {
        make_record(&r[i], &calls[i], &p);
        r[i].p = (const plan *)device;
    }
    if (!p.shared)
        HR_TRY(find_room(l, &p, r, n, error));
    HR_TRY(staging->flush(staging, error));
    for (int32_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && (p.shared || r[to].room > r[to - 1].room);)
            to++;
        hr_staged part = {r + from, (char *)records.device + (size_t)from * sizeof(record)};
        HR_TRY(op::launch_blocks<record>(l, part, to - from, error));
    }
    return HR_STATUS_OK;
}

} // namespace

HR_CUDA_OP(spectrogram, "spectrogram", run);
