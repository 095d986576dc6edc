/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "ops/image/remapped.h"
#include "core/prefetch.h"
#include "kernels/kernels.h"
#include "ops/image/pixels.h"

static int32_t taps_of(int32_t interp)
{
    return interp == HR_INTERP_NN       ? 1
           : interp == HR_INTERP_LINEAR ? 2
           : interp == HR_INTERP_CUBIC  ? 4
                                        : 0;
}

static hr_status check_type(hr_dtype t, hr_error *error)
{
    if (t == HR_DTYPE_UINT8 || t == HR_DTYPE_UINT16 || t == HR_DTYPE_INT16 || t == HR_DTYPE_FLOAT)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "the input is %s; it must be UINT8, UINT16, INT16 or FLOAT", hr_dtype_name(t));
}

hr_status hr__remapped_begin(hr_op_call *c, const char *layouts, int32_t interp, hr_remapped **out,
                             hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    const int64_t *extent = in->shape.extent;
    hr_remapped *m = hr_arena_alloc(c->arena, sizeof(*m), error);
    hr_layout layout;

    HR_TRY_ALLOC(m);
    HR_TRY(hr_layout_match(layouts, &in->layout, in->shape.ndim, &layout, error));
    HR_TRY(check_type(in->dtype, error));
    if (taps_of(interp) == 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the interpolation must be INTERP_NN, INTERP_LINEAR or INTERP_CUBIC");
    const int32_t h = hr_layout_find(&layout, 'H'), last = in->shape.ndim - 1;
    *m = (hr_remapped){.frames = layout.name[0] == 'F' ? extent[0] : 1,
                       .planes = h > 0 && layout.name[h - 1] == 'C' ? extent[h - 1] : 1,
                       .out = {extent[h + 1], extent[h]}};
    m->image = (hr_remap){.dtype = in->dtype,
                          .taps = taps_of(interp),
                          .channels = h + 1 < last ? (int32_t)extent[last] : 1,
                          .in = {extent[h + 1], extent[h]}};
    if (extent[h] > HR_REMAP_EXTENT || extent[h + 1] > HR_REMAP_EXTENT || extent[last] > 1 << 22)
        return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    m->image.step[0] = m->image.channels;
    m->image.step[1] = m->image.channels * m->image.in[0];
    hr_tensor_describe(&c->out[0], in->dtype, in->shape, layout.name);
    c->memo = *out = m;
    return HR_STATUS_OK;
}

hr_status hr__remapped_end(hr_op_call *c, const hr_remapped *m, hr_error *error)
{
    const int32_t h = hr_layout_find(&c->out[0].layout, 'H');
    const hr_remap *r = &m->image;
    const bool pixels = m->out[0] > 0 && m->out[1] > 0;

    HR_TRY(hr__pixels_check(c, 1, m->out[1], m->out[0], error));
    if (pixels && (r->in[0] == 0 || r->in[1] == 0))
        return hr_fail(error, HR_STATUS_ERROR, "the image is empty");
    if (pixels && (m->out[0] > HR_REMAP_EXTENT || m->out[1] > HR_REMAP_EXTENT))
        return hr_fail(error, HR_STATUS_LIMIT, "the output is too large");
    c->out[0].shape.extent[h] = m->out[1];
    c->out[0].shape.extent[h + 1] = m->out[0];
    return HR_STATUS_OK;
}

/* Positions of a row from the maps, whose element `at` is the first. Maps are large and not in the
 * cache: those of the next row, if there is `more`, arrive while the pixels of this one are made.
 */
static void map_row(const hr_op_call *c, int64_t at, bool more, float *x, float *y)
{
    const hr_remapped *m = c->memo;
    const size_t n = (size_t)m->out[0];
    const bool nearest = m->image.taps == 1;
    const float *map_x = (const float *)c->in[1].data + at;
    const float *map_y = (const float *)c->in[2].data + at;

    c->kernels->given_row(x, map_x, n, m->shift, nearest);
    c->kernels->given_row(y, map_y, n, m->shift, nearest);
    hr_prefetch(map_x + n, more ? n * sizeof(*x) : 0);
    hr_prefetch(map_y + n, more ? n * sizeof(*y) : 0);
}

static hr_status remapped_one(const hr_op_call *c, hr_error *error)
{
    const hr_remapped *m = c->memo;
    const int64_t width = m->out[0], height = m->out[1];
    const size_t element = hr_dtype_size(c->out[0].dtype);
    const size_t in_size = (size_t)(m->image.in[1] * m->image.step[1]) * element;
    const size_t row = (size_t)(width * m->image.channels) * element;
    float *x = hr_arena_alloc(c->arena, (size_t)width * sizeof(*x), error);
    float *y = hr_arena_alloc(c->arena, (size_t)width * sizeof(*y), error);
    char *dst = c->out[0].data;
    hr_remap image = m->image;

    HR_TRY_ALLOC(x && y);
    if (row == 0) /* there may be no memory to point into */
        return HR_STATUS_OK;
    image.src = c->in[0].data;
    for (int64_t f = 0; f < m->frames; f++) {
        const int64_t given = m->varies ? f : 0;
        for (int64_t p = 0; p < m->planes; p++) {
            for (int64_t i = 0; i < height; i++, dst += row) {
                if (m->matrix)
                    c->kernels->perspective_row(x, y, m->matrix + 9 * given, (int32_t)i,
                                                (size_t)width);
                else
                    map_row(c, (given * height + i) * width, i + 1 < height, x, y);
                c->kernels->remap_row(dst, &image, x, y, (size_t)width);
            }
            image.src = (const char *)image.src + in_size;
        }
    }
    return HR_STATUS_OK;
}

hr_status hr__remapped_run(hr_op_call *c, hr_error *error)
{
    hr_arena_mark mark = hr_arena_save(c->arena);
    hr_status status = remapped_one(c, error);
    hr_arena_restore(c->arena, mark);
    return status;
}
