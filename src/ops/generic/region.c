/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Copies boxes of elements. Dimensions are merged and contiguous runs are copied at once. Where
 * rows become columns, the copy proceeds in tiles, so that both sides stay in the cache. */
#include "ops/generic/region.h"
#include "ops/generic/tiles.h"

#include <string.h>

#define TILE 16       /* elements per side */
#define FILL_RUN 4096 /* bytes */

void hr__strides(const hr_shape *shape, size_t item, int64_t *stride)
{
    uint64_t step = item; /* may overflow for an empty tensor, where it is not used */

    for (int32_t d = shape->ndim - 1; d >= 0; d--) {
        stride[d] = (int64_t)step;
        step *= (uint64_t)shape->extent[d];
    }
}

void hr__region_init(hr_region *region, const hr_shape *shape, size_t item)
{
    region->ndim = shape->ndim;
    region->item = item;
    memcpy(region->extent, shape->extent, sizeof(region->extent));
    hr__strides(shape, item, region->to);
    hr__strides(shape, item, region->from);
}

static void keep(hr_region *r, int32_t *n, int32_t d)
{
    int32_t last = *n - 1;

    if (r->extent[d] == 1)
        return;
    if (last >= 0 && r->to[last] == r->to[d] * r->extent[d] &&
        r->from[last] == r->from[d] * r->extent[d]) {
        r->extent[last] *= r->extent[d];
        r->to[last] = r->to[d];
        r->from[last] = r->from[d];
        return;
    }
    r->extent[*n] = r->extent[d];
    r->to[*n] = r->to[d];
    r->from[*n] = r->from[d];
    ++*n;
}

void hr__region_simplify(hr_region *region)
{
    int32_t n = 0;

    for (int32_t d = 0; d < region->ndim; d++) {
        if (region->extent[d] == 0) {
            region->ndim = 1;
            region->extent[0] = 0;
            return;
        }
    }
    for (int32_t d = 0; d < region->ndim; d++)
        keep(region, &n, d);
    int64_t item = (int64_t)region->item;
    if (n > 0 && region->to[n - 1] == item && region->from[n - 1] == item)
        region->item *= (size_t)region->extent[--n];
    region->ndim = n;
}

/* Writes the same element `n` > 0 times. */
static void fill_row(char *to, const char *from, int64_t n, size_t item)
{
    size_t total = (size_t)n * item;

    if (item == 1) {
        memset(to, *from, total);
        return;
    }
    memcpy(to, from, item);
    for (size_t done = item; done < total;) { /* doubles while it fits the cache */
        size_t more = HR_MIN(HR_MIN(done, FILL_RUN / item * item + item), total - done);
        memcpy(to + done, to, more);
        done += more;
    }
}

/* Copies one row of `n` elements. */
static void copy_row(char *to, int64_t to_step, const char *from, int64_t from_step, int64_t n,
                     size_t item)
{
    if (from_step == 0 && to_step == (int64_t)item && n > 0) {
        fill_row(to, from, n, item);
        return;
    }
#define ROW(bytes)                                                                                 \
    for (int64_t i = 0; i < n; i++)                                                                \
    memcpy(to + i * to_step, from + i * from_step, bytes)
    switch (item) {
    case 1:
        ROW(1);
        break;
    case 2:
        ROW(2);
        break;
    case 3:
        ROW(3);
        break;
    case 4:
        ROW(4);
        break;
    case 8:
        ROW(8);
        break;
    case 12:
        ROW(12);
        break;
    case 16:
        ROW(16);
        break;
    default:
        ROW(item);
        break;
    }
#undef ROW
}

/* Copies dimensions `a` and `b` in tiles. */
static void copy_plane(char *to, const char *from, const hr_region *r, int32_t a, int32_t b)
{
    const int64_t item = (int64_t)r->item;
    if (r->to[b] == item && r->from[a] == item &&
        hr__tiles_copy(to, r->to[a], from, r->from[b], r->extent[a], r->extent[b], r->item))
        return;
    bool tiled = r->item <= 16 && HR_MIN(r->extent[a], r->extent[b]) > TILE;
    int64_t side = tiled ? TILE : HR_MAX(r->extent[a], r->extent[b]);

    for (int64_t i = 0; i < r->extent[a]; i += side) {
        int64_t rows = HR_MIN(side, r->extent[a] - i);
        for (int64_t j = 0; j < r->extent[b]; j += side) {
            int64_t columns = HR_MIN(side, r->extent[b] - j);
            for (int64_t k = i; k < i + rows; k++)
                copy_row(to + k * r->to[a] + j * r->to[b], r->to[b],
                         from + k * r->from[a] + j * r->from[b], r->from[b], columns, r->item);
        }
    }
}

/* The dimension other than the last one whose elements are closest together in the source. */
static int32_t nearest(const hr_region *r)
{
    int32_t best = r->ndim - 2;

    for (int32_t d = best - 1; d >= 0; d--) {
        int64_t step = r->from[d] < 0 ? -r->from[d] : r->from[d];
        int64_t least = r->from[best] < 0 ? -r->from[best] : r->from[best];
        if (step < least)
            best = d;
    }
    return best;
}

static void copy_dim(char *to, const char *from, const hr_region *r, int32_t d, int32_t across)
{
    if (d == r->ndim - 1) {
        copy_plane(to, from, r, across, d);
        return;
    }
    if (d == across) {
        copy_dim(to, from, r, d + 1, across);
        return;
    }
    for (int64_t i = 0; i < r->extent[d]; i++)
        copy_dim(to + i * r->to[d], from + i * r->from[d], r, d + 1, across);
}

void hr__region_copy(void *to, const void *from, const hr_region *region)
{
    hr_region r = *region;

    hr__region_simplify(&r);
    if (r.ndim == 0)
        memcpy(to, from, r.item);
    else if (r.ndim == 1)
        copy_row(to, r.to[0], from, r.from[0], r.extent[0], r.item);
    else
        copy_dim(to, from, &r, 0, nearest(&r));
}

hr_status hr__parts_make(hr_arena *arena, int32_t count, hr_region_parts **out, hr_error *error)
{
    size_t parts = (size_t)count * sizeof(hr_region_part);
    hr_region_parts *p = hr_arena_alloc(arena, sizeof(*p), error);

    HR_TRY_ALLOC(p);
    *p = (hr_region_parts){.count = count, .part = hr_arena_alloc(arena, HR_MAX(parts, 1), error)};
    *out = p;
    HR_TRY_ALLOC(p->part);
    memset(p->part, 0, parts);
    return HR_STATUS_OK;
}

/* Converts the box to another type, by way of contiguous copies. */
static hr_status copy_converted(const hr_op_call *c, void *to, const void *from, hr_dtype type,
                                const hr_region *region, hr_error *error)
{
    const hr_shape box = hr_shape_make(region->ndim, region->extent);
    hr_region get = *region, put = *region;
    hr_arena_mark mark = hr_arena_save(c->arena);
    size_t n = 0;

    get.item = hr_dtype_size(type);
    hr__strides(&box, get.item, get.to);
    hr__strides(&box, put.item, put.from);
    (void)hr_shape_volume(&box, &n); /* not larger than the tensor that contains the box */
    void *same = hr_arena_alloc(c->arena, n * get.item, error);
    void *other = same ? hr_arena_alloc(c->arena, n * put.item, error) : NULL;
    HR_TRY_ALLOC(other);
    hr__region_copy(same, from, &get);
    hr_convert_cut(other, c->out[0].dtype, same, type, n);
    hr__region_copy(to, other, &put);
    hr_arena_restore(c->arena, mark);
    return HR_STATUS_OK;
}

static hr_status parts_copy(const hr_op_call *c, const hr_region_parts *parts,
                            const hr_region_part *p, hr_error *error)
{
    const hr_tensor *in = p->input < 0 ? NULL : &c->in[p->input];
    const char *data = in ? in->data : parts->fill;
    size_t from = 0, to;

    if ((in && !hr_tensor_bytes(in, &from)) || !hr_tensor_bytes(&c->out[0], &to))
        return hr_fail(error, HR_STATUS_LIMIT, "the size overflows");
    for (size_t k = 0; k < (size_t)c->count; k++) {
        char *at = (char *)c->out[0].data + k * to + p->to;
        const char *source = data + k * from + p->from;
        if (in && parts->convert)
            HR_TRY(copy_converted(c, at, source, in->dtype, &p->region, error));
        else
            hr__region_copy(at, source, &p->region);
    }
    return HR_STATUS_OK;
}

hr_status hr__parts_run(hr_op_call *c, hr_error *error)
{
    const hr_region_parts *parts = c->memo;
    for (int32_t k = 0; k < parts->count; k++)
        HR_TRY(parts_copy(c, parts, &parts->part[k], error));
    return HR_STATUS_OK;
}
