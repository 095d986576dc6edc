// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// filter: a block makes a tile of an image from floats in shared memory. Filters that are too
// large for that take one thread per element. Sums are those of kernels/resample_f32.c.
#include "ops/filter/filter.h"
#include "cuda/image/value.cuh"
#include "cuda/ops/op.cuh"

namespace
{

// Of a tile, in elements of rows: width, height; and how far a filter may reach beyond it.
constexpr int WIDE = op::THREADS, HIGH = 8, REACH = 64, LINES = 24;
constexpr int PITCH = WIDE + REACH, WEIGHTS = (LINES - HIGH + 1) * (REACH + 1);

struct record {
    hr_filter2d m; // anchors: on the device
    const char *src;
    const float *filter;
    const char *fill; // NULL: 0
    char *dst;
    int64_t count; // of single elements
    int64_t row;   // elements of an output row
    int32_t across, down, tiles;
    int32_t from, to;

    HR_DEVICE float fill_value() const
    {
        return fill ? value_to_float(value_load(fill, value_size(from)), from) : 0.0f;
    }

    HR_DEVICE const float *weights_of(int64_t image) const
    {
        return filter + (m.filters ? image / (int64_t)m.per_frame * m.rows * m.columns : 0);
    }

    HR_DEVICE hr_anchor anchor_of(int64_t image) const
    {
        return m.anchors[m.anchor_count == 1 ? 0 : image / (int64_t)m.per_frame];
    }

    // The offset in its row of element `e` of a row of the padded image; -1: the fill value.
    HR_DEVICE int64_t column_of(int64_t e, const hr_anchor &anchor) const
    {
        int64_t c = op::digit(&e, m.channels);
        int64_t x = border_index(e - anchor.column, m.width, m.border);
        return x < 0 ? -1 : x * m.channels + c;
    }

    HR_DEVICE const char *row_at(int64_t image, int64_t y) const
    {
        return src + (image * m.height + y) * m.width * m.channels * value_size(from);
    }
};

// Rounds to the nearest integer, ties to even: next to 1.5 * 2^23, no float has a fraction.
template <int TO> HR_DEVICE uint64_t stored(float v)
{
    const float magic = 12582912.0f;
    if (TO != HR_DTYPE_FLOAT)
        v = (v + magic) - magic;
    return value_of_float(v, TO);
}

HR_DEVICE uint64_t stored_as(float v, int to)
{
    return to == HR_DTYPE_FLOAT   ? stored<HR_DTYPE_FLOAT>(v)
           : to == HR_DTYPE_UINT8 ? stored<HR_DTYPE_UINT8>(v)
           : to == HR_DTYPE_INT16 ? stored<HR_DTYPE_INT16>(v)
                                  : stored<HR_DTYPE_UINT16>(v);
}

struct single : record {
    HR_DEVICE void element(int64_t i) const
    {
        int64_t image = i, e = op::digit(&image, row), y = op::digit(&image, m.out_height);
        const float *weight = weights_of(image);
        const hr_anchor anchor = anchor_of(image);
        int size = value_size(from);
        float sum = -0.0f, outside = fill_value();
        for (int32_t r = 0; r < m.rows; r++) {
            int64_t line = border_index(y + r - anchor.row, m.height, m.border);
            for (int32_t k = 0; k < m.columns; k++) {
                int64_t at = line < 0 ? -1 : column_of(e + k * m.channels, anchor);
                float v = outside;
                if (at >= 0)
                    v = value_to_float(value_load(row_at(image, line) + at * size, size), from);
                sum += *weight++ * v;
            }
        }
        value_store(dst + i * value_size(to), value_size(to), stored_as(sum, to));
    }
};

struct tiled : record {
    HR_DEVICE static constexpr int phases()
    {
        return 2;
    }
    struct Shared {
        float window[LINES][PITCH], weights[WEIGHTS];
    };

    // The tile's image and first output.
    struct place {
        int64_t image, y, e;
    };

    HR_DEVICE place place_of(int tile) const
    {
        int at = tile / across, image = at / down;
        return {image, (int64_t)(at - image * down) * HIGH,
                (int64_t)(tile - at * across) * WIDE};
    }

    template <typename T>
    HR_DEVICE void load_window(const place &p, Shared *shared, int thread) const
    {
        const hr_anchor anchor = anchor_of(p.image);
        int n = (int)HR_MIN(row - p.e, WIDE) + (m.columns - 1) * (int)m.channels;
        int lines = (int)HR_MIN(m.out_height - p.y, HIGH) + m.rows - 1;
        float outside = fill_value();
        for (int i = thread; i < n; i += op::THREADS) {
            int64_t at = column_of(p.e + i, anchor);
            HR_UNROLL_FOUR
            for (int r = 0; r < lines; r++) {
                int64_t y = border_index(p.y + r - anchor.row, m.height, m.border);
                const T *line = (const T *)row_at(p.image, HR_MAX(y, 0));
                shared->window[r][i] = y < 0 || at < 0 ? outside : (float)line[at];
            }
        }
    }

    HR_DEVICE void load(const place &p, Shared *shared, int thread) const
    {
        const float *weights = weights_of(p.image);
        for (int i = thread; i < m.rows * m.columns; i += op::THREADS)
            shared->weights[i] = weights[i];
        if (from == HR_DTYPE_UINT8)
            load_window<uint8_t>(p, shared, thread);
        else if (from == HR_DTYPE_INT16)
            load_window<int16_t>(p, shared, thread);
        else if (from == HR_DTYPE_UINT16)
            load_window<uint16_t>(p, shared, thread);
        else
            load_window<float>(p, shared, thread);
    }

    template <typename T, int TO>
    HR_DEVICE void store(const place &p, const float *sum, int thread) const
    {
        T *out = (T *)dst + (p.image * m.out_height + p.y) * row + p.e + thread;
        HR_UNROLL
        for (int y = 0; y < HIGH; y++)
            if (p.y + y < m.out_height)
                out[y * row] = (T)stored<TO>(sum[y]);
    }

    HR_DEVICE void add(const place &p, const Shared *shared, int thread) const
    {
        float sum[HIGH];
        const float *weight = shared->weights;
        HR_UNROLL
        for (int y = 0; y < HIGH; y++)
            sum[y] = -0.0f; // adding to it changes nothing, not even the sign of a zero
        for (int r = 0; r < m.rows; r++) {
            const float *column = &shared->window[r][thread];
            for (int k = 0; k < m.columns; k++, column += m.channels, weight++) {
                HR_UNROLL
                for (int y = 0; y < HIGH; y++)
                    sum[y] += *weight * column[y * PITCH];
            }
        }
        if (p.e + thread >= row)
            return;
        if (to == HR_DTYPE_FLOAT)
            store<uint32_t, HR_DTYPE_FLOAT>(p, sum, thread);
        else if (to == HR_DTYPE_UINT8)
            store<uint8_t, HR_DTYPE_UINT8>(p, sum, thread);
        else if (to == HR_DTYPE_INT16)
            store<uint16_t, HR_DTYPE_INT16>(p, sum, thread);
        else
            store<uint16_t, HR_DTYPE_UINT16>(p, sum, thread);
    }

    HR_DEVICE void phase(int k, int tile, Shared *shared, int thread) const
    {
        const place p = place_of(tile);
        if (k == 0)
            load(p, shared, thread);
        else
            add(p, shared, thread);
    }
};

hr_status make(record *r, const hr_op_call *c, hr_staging *staging, hr_error *error)
{
    const hr_filter2d *m = (const hr_filter2d *)c->memo;
    *r = {};
    r->m = *m;
    HR_TRY(op::stage_list(&r->m.anchors, m->anchor_count, staging, error));
    r->src = (const char *)c->in[0].data;
    r->filter = (const float *)c->in[1].data;
    r->fill = c->n_in > 2 ? (const char *)c->in[2].data : nullptr;
    r->dst = (char *)c->out[0].data;
    r->from = c->in[0].dtype;
    r->to = c->out[0].dtype;
    r->row = m->out_width * m->channels;
    r->count = op::count(&c->out[0]);
    double tiles = (double)HR_DIVIDE_UP(r->row, WIDE) * (double)HR_DIVIDE_UP(m->out_height, HIGH) *
                   (double)m->outer;
    if (r->count == 0 || m->rows > LINES - HIGH + 1 || tiles > 1e9 || m->channels > REACH ||
        (m->columns - 1) * m->channels > REACH)
        return HR_STATUS_OK;
    r->count = 0;
    r->across = (int32_t)HR_DIVIDE_UP(r->row, WIDE);
    r->down = (int32_t)HR_DIVIDE_UP(m->out_height, HIGH);
    r->tiles = (int32_t)tiles;
    return HR_STATUS_OK;
}

hr_status run(hr_cuda_launch *l, hr_op_call *calls, int32_t n, hr_staging *staging, hr_error *error)
{
    hr_staged records;
    HR_TRY(op::stage<record>(calls, n, staging, make, &records, error));
    HR_TRY(op::launch_blocks<tiled>(l, records, n, error));
    return op::launch<single>(l, records, n, error);
}

} // namespace

HR_CUDA_OP(filter, "filter", run);
