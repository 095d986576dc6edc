// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// spectrogram and power_spectrum, whose signals are windows: a block transforms some windows in
// shared memory. Windows that are too long for that
// take turns in slots of scratch memory, one per block. The operations and their order are those of
// ops/audio/fft.c and kernels/fft.c.
#include "ops/audio/power_spectrum.h"
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

    HR_MEMBER int of(int i) const
    {
        return (int)(factor ? (uint64_t)(uint32_t)i * factor >> 31 : (uint32_t)i / by);
    }
};

struct step {
    int32_t radix, stride;
    const slot *twiddles, *roots;
    divider by_gap, by_stride; // gap: butterflies of a pass of one window
};

// What samples with transforms of one size share.
struct plan {
    int32_t n, points, size, count, bins; // as in hr_fft
    int32_t group, pitch;                 // windows of a block, and points from one to the next
    int32_t phases;                       // of a group
    int32_t length, lead, padding;        // of the window: samples; where it begins
    int64_t hop, stride;                  // from window to window, and from sample to sample
    bool shared, reflect, magnitudes, time_first;
    divider by_size, by_row; // row: bins of a window, or the same bin of all windows of a group
    const slot *turns, *chirp, *kernel;
    const float *window; // NULL: ones
    step steps[HR_FFT_MAX_PASSES];
};

struct record {
    const plan *p;
    const float *src;
    float *dst;
    slot *room; // of windows that do not fit into shared memory: two buffers per tile
    int64_t length, windows;
    int32_t tiles, rounds; // groups are processed in rounds of `tiles`
    int32_t pitch;         // of the plan, for the host
};

// Some windows: `first` and those behind it.
struct group {
    int64_t first;
    int windows;
};

// Memory that does not change during a launch. The compiler does not know that pointers in records
// are to device memory.
HR_MEMBER float fetch(const float *from)
{
#if defined(__CUDA_ARCH__)
    return __ldg(from);
#else
    return *from;
#endif
}

HR_MEMBER fft_point fetch(const slot *from)
{
#if defined(__CUDA_ARCH__)
    float2 v = __ldg((const float2 *)from);
    return {v.x, v.y};
#else
    return from->v;
#endif
}

// Where windows are read, in registers.
struct reading {
    const float *src, *window;
    int64_t length, stride; // of the signal
    int count;              // of a window
    hr_border border;

    // Sample i of the window that begins at `start`.
    HR_MEMBER float at(int64_t start, int i, bool inside) const
    {
        if ((uint32_t)i >= (uint32_t)count)
            return 0.0f;
        int64_t at = start + i * stride;
        if (!inside)
            at = border_index(at, length, border);
        const float v = at < 0 ? 0.0f : fetch(src + at);
        return window ? v * fetch(window + i) : v;
    }
};

HR_MEMBER void load(const record &r, const plan &p, const group &g, slot *to, int thread)
{
    const reading from = {r.src,    p.window,
                          r.length, p.stride,
                          p.length, p.reflect ? HR_BORDER_REFLECT_101 : HR_BORDER_CONSTANT};
    const int size = p.size, points = p.points, pitch = p.pitch, padding = p.padding;
    const int64_t hop = p.hop, begin = g.first * hop - p.lead;
    const bool even = p.n % 2 == 0;
    const slot *chirp = p.chirp;
    const divider by_size = p.by_size;
    for (int i = thread; i < g.windows * size; i += op::THREADS) {
        const int w = by_size.of(i), at = i - w * size;
        const int64_t start = begin + w * hop;
        const bool inside = start >= 0 && start + from.count <= from.length;
        fft_point v = {0.0f, 0.0f};
        if (at < points) {
            v.re = from.at(start, (even ? 2 * at : at) - padding, inside);
            if (even)
                v.im = from.at(start, 2 * at + 1 - padding, inside);
            if (chirp) {
                const fft_point turn = fetch(chirp + at);
                v = fft_turned(v, turn.re, turn.im);
            }
        }
        to[w * pitch + at].v = v;
    }
}

template <int RADIX> HR_MEMBER void butterfly(fft_point *v)
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

// A pass with what all of its butterflies need in registers.
struct passing {
    const step &s;
    const slot *twiddles;
    divider by_gap, by_stride;
    int radix, stride, gap, pitch, count; // butterflies

    HR_MEMBER passing(const plan &p, const group &g, int i)
        : s(p.steps[i]), twiddles(s.twiddles), by_gap(s.by_gap), by_stride(s.by_stride),
          radix(s.radix), stride(s.stride), gap((int)s.by_gap.by), pitch(p.pitch),
          count(g.windows * gap)
    {
    }

    // Of butterfly i: its first input and output, and its twiddles.
    HR_MEMBER void find(int i, int *src, int *dst, const slot **w) const
    {
        const int window = by_gap.of(i), at = i - window * gap, q = by_stride.of(at);
        *src = window * pitch + at;
        *dst = *src + q * (radix - 1) * stride;
        *w = twiddles + q * (radix - 1);
    }
};

template <int RADIX> HR_MEMBER void pass(const passing &p, const slot *from, slot *to, int thread)
{
    for (int i = thread; i < p.count; i += op::THREADS) {
        int src, dst;
        const slot *w;
        fft_point v[RADIX];
        p.find(i, &src, &dst, &w);
        HR_UNROLL
        for (int j = 0; j < RADIX; j++)
            v[j] = from[src + j * p.gap].v;
        butterfly<RADIX>(v);
        to[dst].v = v[0];
        HR_UNROLL
        for (int k = 1; k < RADIX; k++) {
            const fft_point turn = fetch(w + k - 1);
            to[dst + k * p.stride].v = fft_turned(v[k], turn.re, turn.im);
        }
    }
}

HR_MEMBER void pass_any(const passing &p, const slot *from, slot *to, int thread)
{
    for (int i = thread; i < p.count; i += op::THREADS) {
        int src, dst;
        const slot *w;
        p.find(i, &src, &dst, &w);
        for (int k = 0; k < p.radix; k++) {
            fft_point sum = from[src].v;
            for (int j = 1, turn = k; j < p.radix; j++) {
                const fft_point root = fetch(p.s.roots + turn);
                const fft_point v = fft_turned(from[src + j * p.gap].v, root.re, root.im);
                sum.re += v.re;
                sum.im += v.im;
                turn = turn + k < p.radix ? turn + k : turn + k - p.radix;
            }
            const fft_point one = {1.0f, 0.0f}, turn = k > 0 ? fetch(w + k - 1) : one;
            to[dst + k * p.stride].v = fft_turned(sum, turn.re, turn.im);
        }
    }
}

HR_MEMBER void run_pass(const passing &p, const slot *from, slot *to, int thread)
{
    if (p.radix == 4)
        pass<4>(p, from, to, thread);
    else if (p.radix == 2)
        pass<2>(p, from, to, thread);
    else if (p.radix == 3)
        pass<3>(p, from, to, thread);
    else if (p.radix == 5)
        pass<5>(p, from, to, thread);
    else
        pass_any(p, from, to, thread);
}

// Bluestein's products: with the kernel, conjugated after it; and with the chirp, conjugated
// before.
HR_MEMBER void multiply(const plan &p, const group &g, bool kernel, slot *data, int thread)
{
    const slot *factors = kernel ? p.kernel : p.chirp;
    const int size = p.size, used = kernel ? size : p.points;
    for (int i = thread; i < g.windows * size; i += op::THREADS) {
        const int w = p.by_size.of(i), at = i - w * size;
        if (at >= used)
            continue;
        const fft_point factor = fetch(factors + at);
        fft_point *v = &data[w * p.pitch + at].v, turned = *v;
        turned.im *= kernel ? 1.0f : -1.0f;
        turned = fft_turned(turned, factor.re, factor.im);
        turned.im *= kernel ? -1.0f : 1.0f;
        *v = turned;
    }
}

// The bins of a transform as norms.
struct norms {
    const slot *turns;
    int half;
    bool even, roots;

    HR_MEMBER float of(const slot *data, int bin) const
    {
        fft_point v = data[bin < half ? bin : 0].v;
        if (even) {
            const fft_point turn = fetch(turns + bin);
            v = fft_real_bin(v, data[bin > 0 ? half - bin : 0].v, turn.re, turn.im);
        }
        const float power = fft_power(v);
        return roots ? sqrtf(power) : power;
    }
};

HR_MEMBER void store(const record &r, const plan &p, const group &g, const slot *data, int thread)
{
    const norms n = {p.turns, p.points, p.n % 2 == 0, p.magnitudes};
    const int bins = p.bins, pitch = p.pitch, row = (int)p.by_row.by;
    const divider by_row = p.by_row;
    if (p.time_first) {
        float *to = r.dst + g.first * bins;
        for (int i = thread; i < g.windows * bins; i += op::THREADS) {
            const int w = by_row.of(i);
            to[i] = n.of(data + w * pitch, i - w * bins);
        }
        return;
    }
    // A thread makes bins of one window; those of a bin are neighbours.
    const int each = op::THREADS / row, y = by_row.of(thread), w = thread - y * row;
    const int64_t apart = each * r.windows;
    float *to = r.dst + y * r.windows + g.first + w;
    if (y >= each || w >= g.windows)
        return;
    data += w * pitch;
    for (int bin = y; bin < bins; bin += each, to += apart)
        *to = n.of(data, bin);
}

// Phase k of a group: load, passes, [multiply, passes, multiply,] store. `buffers` are `apart`.
HR_MEMBER void run_phase(const record &r, const plan &p, const group &g, slot *buffers, int apart,
                         int k, int thread)
{
    const int count = p.count;
    const bool twice = p.chirp != nullptr, again = twice && k > count + 1;
    const int i = again ? k - count - 2 : k - 1, at = (again ? i + count : i) & 1;
    if (k == 0)
        load(r, p, g, buffers, thread);
    else if (i < count)
        run_pass(passing(p, g, i), buffers + at * apart, buffers + (1 - at) * apart, thread);
    else if (twice && k < p.phases - 1)
        multiply(p, g, !again, buffers + at * apart, thread);
    else
        store(r, p, g, buffers + (twice ? 0 : at * apart), thread);
}

// In shared memory.
struct short_windows : record {
    struct Shared {
        slot buffers[2 * ROOM];
    };

    HR_DEVICE int phases() const
    {
        return p->phases;
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        const int64_t first = (int64_t)tile * p->group;
        const group g = {first, (int)HR_MIN(windows - first, p->group)};
        run_phase(*this, *p, g, shared->buffers, ROOM, k, thread);
    }
};

// In slots of scratch memory.
struct long_windows : record {
    struct Shared {
    };

    HR_DEVICE int phases() const
    {
        return p->phases * rounds;
    }

    HR_DEVICE void phase(int k, int tile, Shared *, int thread) const
    {
        const int round = k / p->phases;
        const int64_t first = (int64_t)round * tiles + tile;
        const group g = {first, first < windows ? 1 : 0};
        run_phase(*this, *p, g, room + (int64_t)tile * 2 * p->pitch, p->pitch,
                  k - round * p->phases, thread);
    }
};

divider divide_by(int64_t by, bool shared)
{
    return {(uint32_t)by, shared ? (uint32_t)((UINT64_C(1) << 31) / (uint64_t)by + 1) : 0};
}

// What follows from a transform, whose tables are on the device.
void begin_plan(plan *p, const hr_fft *fft, bool time_first)
{
    memset((void *)p, 0, sizeof(*p)); // gaps too: it is staged by its bytes
    p->n = fft->n;
    p->points = fft->points;
    p->size = fft->size;
    p->count = fft->count;
    p->bins = fft->n / 2 + 1;
    p->pitch = p->size + 2; // a bin of several windows is in different banks
    p->shared = p->pitch <= ROOM;
    p->group = p->shared ? HR_MIN(ROOM / p->pitch, op::THREADS) : 1;
    p->phases = fft->chirp ? 2 * p->count + 4 : p->count + 2;
    p->time_first = time_first;
    p->by_size = divide_by(p->size, p->shared);
    p->by_row = divide_by(time_first ? p->bins : p->group, p->shared);
    p->turns = (const slot *)fft->turns;
    p->chirp = (const slot *)fft->chirp;
    p->kernel = (const slot *)fft->kernel;
    for (int32_t i = 0; i < fft->count; i++) {
        const hr_fft_pass &from = fft->passes[i];
        step *s = &p->steps[i];
        s->radix = from.radix;
        s->stride = from.stride;
        s->twiddles = (const slot *)from.twiddles;
        s->roots = (const slot *)from.roots;
        s->by_gap = divide_by(p->size / from.radix, p->shared);
        s->by_stride = divide_by(from.stride, p->shared);
    }
}

hr_status make_plan(plan *p, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_spectrogram_args *a = (const hr_spectrogram_args *)c->args;
    const hr_spectrogram_state *s = (const hr_spectrogram_state *)c->state;
    hr_fft fft = *s->fft;
    const float *tables = fft.tables;
    HR_TRY(op::stage_list(&tables, (int64_t)fft.floats, staging, error));
    fft_move(&fft, tables);
    begin_plan(p, &fft, a->layout[0] == 't');
    p->length = a->window_length;
    p->hop = a->window_step;
    p->stride = 1;
    p->lead = spectrogram_lead(a);
    p->padding = spectrogram_padding(a, &fft);
    p->reflect = a->reflect_padding != 0;
    p->magnitudes = a->power == HR_FFT_RESULT_MAGNITUDE;
    p->window = s->window;
    return op::stage_list(&p->window, p->length, staging, error);
}

void make_record(record *r, const plan *p, const void *device, const float *src, float *dst,
                 int64_t length, int64_t windows)
{
    *r = {};
    r->p = (const plan *)device;
    r->src = src;
    r->dst = dst;
    r->length = length;
    r->windows = windows;
    r->tiles = (int32_t)HR_DIVIDE_UP(windows, p->group);
    r->rounds = 1;
    r->pitch = p->pitch;
}

// Gives records whose windows do not fit into shared memory a slot of scratch memory per tile: as
// many as blocks can run at once. Where there are fewer slots than records, they are used again.
hr_status find_room(hr_cuda_launch *l, record *r, int32_t n, hr_error *error)
{
    int64_t pitch = 0, used = 0, slots = 8 * HR_MAX(l->multiprocessors, 1);
    void *room;
    for (int32_t i = 0; i < n; i++)
        pitch = HR_MAX(pitch, r[i].pitch);
    const size_t size = 2 * (size_t)pitch * sizeof(slot);
    if (l->scratch_limit > 0 && n > 0)
        slots = HR_MAX(HR_MIN(slots, (int64_t)(l->scratch_limit / size)), 1);
    if (n > 0)
        HR_TRY(l->scratch(l, (size_t)slots * size, &room, error));
    for (int32_t i = 0; i < n; i++) {
        r[i].tiles = (int32_t)HR_MIN(r[i].windows, HR_MAX(slots / n, 1));
        r[i].rounds = r[i].tiles > 0 ? (int32_t)HR_DIVIDE_UP(r[i].windows, r[i].tiles) : 0;
        used = used + r[i].tiles > slots ? 0 : used;
        r[i].room = (slot *)room + used * 2 * pitch;
        used += r[i].tiles;
    }
    return HR_STATUS_OK;
}

// Records of windows that fit into shared memory, and of those that do not.
struct work {
    hr_staged records[2];
    int32_t count[2];

    record *add(const plan &p)
    {
        const int which = p.shared ? 0 : 1;
        return (record *)records[which].host + count[which]++;
    }
};

hr_status begin(work *w, int64_t most, hr_staging *staging, hr_error *error)
{
    *w = {};
    for (hr_staged &records : w->records)
        HR_TRY(staging->alloc(staging, ((size_t)most + 1) * sizeof(record), &records, error));
    return HR_STATUS_OK;
}

hr_status launch(const work *w, hr_cuda_launch *l, hr_staging *staging, hr_error *error)
{
    record *r = (record *)w->records[1].host;
    const int32_t n = w->count[1];
    HR_TRY(find_room(l, r, n, error));
    HR_TRY(staging->flush(staging, error));
    HR_TRY(op::launch_blocks<short_windows>(l, w->records[0], w->count[0], error));
    for (int32_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && r[to].room > r[to - 1].room;)
            to++;
        hr_staged part = {r + from, (char *)w->records[1].device + (size_t)from * sizeof(record)};
        HR_TRY(op::launch_blocks<long_windows>(l, part, to - from, error));
    }
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    plan p;
    work w;
    const void *device;
    HR_TRY(make_plan(&p, &calls[0], staging, error));
    HR_TRY(staging->constant(staging, &p, sizeof(p), &device, error));
    HR_TRY(begin(&w, n, staging, error));
    for (int32_t i = 0; i < n; i++) {
        const hr_op_call *c = &calls[i];
        make_record(w.add(p), &p, device, (const float *)c->in[0].data, (float *)c->out[0].data,
                    op::count(&c->in[0]), c->out[0].shape.extent[p.time_first ? 0 : 1]);
    }
    return launch(&w, l, staging, error);
}

// ---- power_spectrum ----

// Signals are windows, one behind the other, or next to each other: then those of an index of the
// axes before them are a record.
int64_t power_records(const hr_power_spectrum *m)
{
    return m->columns == 1 ? 1 : m->columns == 0 ? 0 : m->outer;
}

hr_status add_power(work *w, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_power_spectrum *m = (const hr_power_spectrum *)c->memo;
    const int64_t everywhere = INT64_MAX / 4; // no window ends behind it
    const bool rows = m->columns == 1;
    const int64_t records = power_records(m);
    const void *device;
    plan p;
    begin_plan(&p, &m->fft, rows);
    p.length = m->used;
    p.hop = rows ? m->size : 1;
    p.stride = m->columns;
    p.magnitudes = m->result == HR_FFT_RESULT_MAGNITUDE;
    HR_TRY(staging->constant(staging, &p, sizeof(p), &device, error));
    for (int64_t i = 0; i < records; i++)
        make_record(w->add(p), &p, device, (const float *)c->in[0].data + i * m->size * m->columns,
                    (float *)c->out[0].data + i * p.bins * m->columns, everywhere,
                    rows ? m->outer : m->columns);
    return HR_STATUS_OK;
}

hr_status power_run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging,
                    hr_error *error)
{
    work w;
    int64_t most = 0;
    for (int32_t i = 0; i < n; i++)
        most += power_records((const hr_power_spectrum *)calls[i].memo);
    HR_TRY(begin(&w, most, staging, error));
    for (int32_t i = 0; i < n; i++)
        HR_TRY(add_power(&w, &calls[i], staging, error));
    return launch(&w, l, staging, error);
}

} // namespace

HR_CUDA_OP(power_spectrum, "power_spectrum", power_run);
HR_CUDA_OP(spectrogram, "spectrogram", run);
