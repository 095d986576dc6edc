// SPDX-License-Identifier: Apache-2.0
// Copyright The Headrace authors
// Shared by all kernels of image programs: finds the image and tile that a block works on, and
// converts and stores pixels.
#pragma once

#include "cuda/image/points.cuh"
#include "cuda/image/unroll.cuh"
#include "cuda/image/value.cuh"
#include "image/device.h"

typedef struct placed_image {
    const uint8_t *src; // the first pixel needed
    uint8_t *dst;       // its first output
    int plane;          // index of an outer C, for mean and fill, or of the frame; otherwise 0
    bool added;         // a plane that the source does not have
} placed_image;

// Image `i` of the output (`filled`) or of the source.
HR_SHARED placed_image image_at(const hr_device_program *p, int i, bool filled)
{
    int64_t from = p->src_offset, to = 0;
    placed_image out = {(const uint8_t *)p->src + from, (uint8_t *)p->dst, 0, false};
    if (p->outer_count == 0)
        return out;
    for (int o = p->outer_count - 1; o >= 0; o--) {
        const hr_device_outer *outer = &p->outer[o];
        int extent = filled ? outer->extent : outer->count, skip = filled ? outer->first : 0;
        int from_first = i % extent - skip, at = from_first + outer->first;
        i /= extent;
        from += from_first * outer->src_stride;
        to += at * outer->dst_stride;
        out.added |= from_first < 0 || from_first >= outer->count;
        if (o == p->plane || o == p->frames)
            out.plane = at;
    }
    out.src = (const uint8_t *)p->src + from;
    out.dst = (uint8_t *)p->dst + to * value_size(p->dtype);
    return out;
}

// A tile's image, and its position among the image's tiles.
typedef struct position {
    int which, row, column;
} position;

HR_SHARED position position_of(const hr_device_program *p, int tile)
{
    position at = {0, tile, 0};
    if (p->tiles.columns > 1) { // divisions are expensive, and rarely needed
        at.row = tile / p->tiles.columns;
        at.column = tile - at.row * p->tiles.columns;
    }
    if (p->outer_count > 0) {
        at.which = at.row / p->tiles.rows;
        at.row -= at.which * p->tiles.rows;
    }
    return at;
}

// The offset of output (y, x) of the view, in elements from the image's first.
HR_SHARED int64_t view_offset(const hr_device_program *p, int y, int x)
{
    int oy = p->inside_y + y, ox = p->inside_x + x;
    oy = p->mirror_y ? p->window_h - 1 - oy : oy;
    ox = p->mirror_x ? p->window_w - 1 - ox : ox;
    return oy * p->dst_y + ox * p->dst_x;
}

// a / b; fast if `a` fits into 32 bits, as it usually does.
HR_SHARED int64_t divide(int64_t a, int b, int *rest)
{
    if (a >> 32 == 0) {
        uint32_t q = (uint32_t)a / (uint32_t)b;
        *rest = (int)((uint32_t)a - q * (uint32_t)b);
        return q;
    }
    *rest = (int)(a % b);
    return a / b;
}

HR_SHARED uint4 load_quad(const uint4 *at)
{
#if defined(__CUDA_ARCH__)
    return __ldg(at);
#else
    return *at;
#endif
}

// ---- pixels of any type ----

// Fills the added channels of the pixel whose channel 0 is at `dst`.
HR_SHARED void store_added(const hr_device_program *p, uint8_t *dst)
{
    int size = value_size(p->dtype);
    for (int c = p->out_channels; c < p->dst_channels; c++)
        value_store(dst + c * p->dst_c * size, size, p->tables->fill[c < 63 ? c : 63]);
}

HR_SHARED void apply_matrix(const hr_matrix *m, uint64_t *v, int from, int to)
{
    float in[HR_MATRIX_MAX];
    for (int c = 0; c < m->in; c++)
        in[c] = value_to_float(v[c], from);
    for (int c = 0; c < m->out; c++)
        v[c] = value_of_float(hr_matrix_row(m, c, in), to);
}

// Takes `n` channels of a pixel of the resampled type through the points; returns how many they
// are then. A matrix gets all channels of the pixel. `frame`: its index in the output.
HR_SHARED int apply_points(const hr_device_program *p, int frame, uint64_t *v, int n)
{
    int dtype = p->resampled;
    for (int i = 0; i < p->point_count; i++) {
        const hr_point_step *step = &p->tables->point[i];
        if (step->kind == HR_POINT_KIND_MATRIX) {
            apply_matrix(hr_point_matrix(step, frame), v, dtype, step->dtype);
            n = step->matrix.out;
        } else if (step->kind == HR_POINT_KIND_AFFINE) {
            const hr_matrix *m = hr_point_matrix(step, frame);
            float mul = m->m[0][0], add = m->add[0];
            for (int c = 0; c < n; c++)
                v[c] = value_of_float(mul * value_to_float(v[c], dtype) + add, step->dtype);
        } else {
            int size = value_size(step->dtype);
            for (int c = 0; c < n; c++)
                v[c] = step->kind == HR_POINT_KIND_TABLE
                           ? value_load((const char *)step->table + v[c] * size, size)
                       : step->kind == HR_POINT_KIND_CUT ? value_cut(v[c], dtype, step->dtype)
                                                         : value_convert(v[c], dtype, step->dtype);
        }
        dtype = step->dtype;
    }
    return n;
}

// The type after the points.
HR_SHARED int points_dtype(const hr_device_program *p)
{
    return p->point_count > 0 ? (int)p->tables->point[p->point_count - 1].dtype : (int)p->resampled;
}

// Channels first .. first + n - 1 (at most HR_DEVICE_GROUP) of a pixel of the resampled type; `v`
// has room for HR_DEVICE_GROUP.
HR_SHARED void store_any(const hr_device_program *p, int plane, uint8_t *dst, uint64_t *v,
                         int first, int n)
{
    int dtype = points_dtype(p), size = value_size(p->dtype);
    bool is_last = first + n == p->channels;
    n = apply_points(p, plane, v, n);
    for (int c = 0; c < n; c++) {
        uint64_t value = v[c];
        if (p->normalize) {
            int at = p->plane >= 0 ? plane : first + c;
            bool many = p->tables != NULL;
            at = at < 63 ? at : 63;
            float mean = many ? p->tables->mean[at] : p->mean[at & 3];
            float mul = many ? p->tables->mul[at] : p->mul[at & 3];
            value = value_of_float((value_to_float(value, dtype) - mean) * mul, p->dtype);
        }
        value_store(dst + (first + c) * p->dst_c * size, size, value);
    }
    if (is_last)
        store_added(p, dst);
}

// ---- pixels of u8, up to four channels ----

// How u8 pixels are written.
enum WriteMode {
    WRITE_CHANNELS, // channel by channel, none added
    WRITE_ADDED,    // there are more channels than in the source
    WRITE_QUADS     // a pixel is four halves, three of them of the source: one store
};

// Whether pixels go through steps of 8-bit values.
HR_SHARED constexpr bool has_points(int store)
{
    return store == HR_DEVICE_STORE_POINTS || store == HR_DEVICE_STORE_COLOR;
}

// Stores u8 pixels of C channels. The fields of the record that it needs are in registers.
template <int C, int STORE> struct PixelStore {
    enum {
        // Channels of a pixel with its points.
        WIDE = STORE == HR_DEVICE_STORE_POINTS ? HR_MATRIX_MAX : C,
        // Pixels that a thread takes through the points together.
        PIXELS = has_points(STORE) ? 2 : 1
    };

    const hr_device_program *p;
    int plane, channels; // channels: of the source and after the points
    hr_device_store as;
    int64_t channel; // bytes from channel to channel
    WriteMode mode;
    uint32_t last; // of a quad
    float mean[WIDE], mul[WIDE];

    HR_MEMBER PixelStore(const hr_device_program *program, int of_plane)
    {
        p = program;
        plane = of_plane;
        channels = p->out_channels;
        as = !has_points(STORE)           ? (hr_device_store)STORE
             : !p->normalize              ? HR_DEVICE_STORE_U8
             : p->dtype == HR_DTYPE_FLOAT ? HR_DEVICE_STORE_F32
                                          : HR_DEVICE_STORE_F16;
        channel = p->dst_c * size();
        mode = p->dst_channels == p->out_channels ? WRITE_CHANNELS
               : may_be_quads()                   ? WRITE_QUADS
                                                  : WRITE_ADDED;
        last = mode == WRITE_QUADS ? (uint32_t)p->tables->fill[3] << 16 : 0;
        const hr_device_tables *tables = p->tables;
        const float *means = tables != NULL ? tables->mean : p->mean;
        const float *muls = tables != NULL ? tables->mul : p->mul;
        int first = p->plane < 0 ? 0 : plane < 63 ? plane : 63;
        HR_UNROLL
        for (int c = 0; c < WIDE; c++) {
            bool has = c < C || p->plane < 0; // planes have one channel
            mean[c] = has ? means[first + c] : 0.0f;
            mul[c] = has ? muls[first + c] : 0.0f;
        }
    }

    HR_MEMBER int size() const
    {
        return STORE == HR_DEVICE_STORE_ANY ? value_size(p->dtype)
               : as == HR_DEVICE_STORE_U8   ? 1
               : as == HR_DEVICE_STORE_F16  ? 2
                                            : 4;
    }

    HR_MEMBER bool may_be_quads() const
    {
        return C == 3 && STORE == HR_DEVICE_STORE_F16 && p->dst_channels == 4 && p->dst_c == 1 &&
               (p->dst_x & 3) == 0 && (p->dst_y & 3) == 0 && ((uintptr_t)p->dst & 7) == 0 &&
               p->outer_count == 0;
    }

    HR_MEMBER float normalised(const uint32_t *v, int c) const
    {
        return scaled(float_of_byte(v[c]), c);
    }

    HR_MEMBER float scaled(float f, int c) const
    {
        return (f - mean[c]) * mul[c];
    }

    template <int AS> HR_MEMBER void write_channels(uint8_t *dst, const uint32_t *v) const
    {
        HR_UNROLL
        for (int c = 0; c < WIDE; c++) {
            if (has_points(STORE) && c >= channels)
                break;
            if constexpr (AS == HR_DEVICE_STORE_U8)
                dst[c * channel] = (uint8_t)v[c];
            else if constexpr (AS == HR_DEVICE_STORE_F16)
                *(uint16_t *)(dst + c * channel) = half_of_number(normalised(v, c));
            else
                *(float *)(dst + c * channel) = normalised(v, c);
        }
    }

    // The pixel is through its points.
    HR_MEMBER void write_points(uint8_t *dst, const uint32_t *v) const
    {
        if (as == HR_DEVICE_STORE_F16)
            write_channels<HR_DEVICE_STORE_F16>(dst, v);
        else if (as == HR_DEVICE_STORE_F32)
            write_channels<HR_DEVICE_STORE_F32>(dst, v);
        else
            write_channels<HR_DEVICE_STORE_U8>(dst, v);
        if (mode != WRITE_CHANNELS)
            store_added(p, dst);
    }

    // dst: the pixel's channel 0.
    template <int MODE> HR_MEMBER void write(uint8_t *dst, const uint32_t *v) const
    {
        if constexpr (STORE == HR_DEVICE_STORE_ANY) {
            uint64_t value[HR_DEVICE_GROUP] = {};
            for (int c = 0; c < C; c++)
                value[c] = v[c];
            store_any(p, plane, dst, value, 0, C);
        } else if constexpr (has_points(STORE)) {
            write_points(dst, v);
        } else if constexpr (MODE == WRITE_QUADS) {
            uint32_t low = half_of_number(normalised(v, 0)) |
                           (uint32_t)half_of_number(normalised(v, 1 % C)) << 16;
            *(uint2 *)dst = make_uint2(low, half_of_number(normalised(v, 2 % C)) | last);
        } else {
            write_channels<STORE>(dst, v);
            if constexpr (MODE == WRITE_ADDED)
                store_added(p, dst);
        }
    }

    // In the mode of this program.
    HR_MEMBER void write_pixel(uint8_t *dst, const uint32_t *v) const
    {
        if constexpr (STORE >= HR_DEVICE_STORE_POINTS)
            write<WRITE_CHANNELS>(dst, v);
        else if (mode == WRITE_CHANNELS)
            write<WRITE_CHANNELS>(dst, v);
        else if (mode == WRITE_QUADS)
            write<WRITE_QUADS>(dst, v);
        else
            write<WRITE_ADDED>(dst, v);
    }
};
