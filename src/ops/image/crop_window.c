/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Crop windows: position, rounding, and what happens outside the image. */
#include "ops/image/crop_window.h"
#include "ops/image/pixels.h"

#include <string.h>

hr_status hr__crop_check(const hr_given *given, hr_error *error)
{
    bool h = hr_arg_given(given, "crop_h"), w = hr_arg_given(given, "crop_w");
    bool d = hr_arg_given(given, "crop_d");

    if (h != w)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`crop_h` and `crop_w` must be given together, but only `%s` is given",
                       h ? "crop_h" : "crop_w");
    if (d && !h)
        return hr_fail(error, HR_STATUS_ERROR, "`crop_d` needs `crop_h` and `crop_w`");
    return HR_STATUS_OK;
}

/* Dimensions are counted as in DALI: without channels. */
static hr_status positions_check(const hr_crop_args *args, bool has_depth, hr_error *error)
{
    const float pos[] = {args->crop_pos_z, args->crop_pos_y, args->crop_pos_x};
    const int first = has_depth ? 0 : 1;

    for (int d = first; d < 3; d++)
        if (!(pos[d] >= 0.0f && pos[d] <= 1.0f))
            return hr_fail(error, HR_STATUS_ERROR,
                           "`crop_pos_%c` is %g: Anchor for dimension %d (%g) is out of range "
                           "[0.0, 1.0]",
                           "zyx"[d], (double)pos[d], d - first, (double)pos[d]);
    return HR_STATUS_OK;
}

static hr_status find_range(float wanted, float pos, bool truncate, int64_t extent,
                            hr_crop_range *range, hr_error *error)
{
    range->size = extent;
    if (wanted >= 1.0f) { /* NaN (absent), 0 and less keep the whole extent */
        if (wanted > 2147483647.0f)
            return hr_fail(error, HR_STATUS_ERROR, "a crop of %g pixels is too large",
                           (double)wanted);
        range->size = (int64_t)wanted;
    }
    double start = (double)pos * (double)(extent - range->size);
    range->start = truncate ? (int64_t)start : (int64_t)hr_round(start);
    return HR_STATUS_OK;
}

char hr__crop_depth_axis(const hr_image_program *p)
{
    if (hr_program_has(p, 'D'))
        return 'D';
    return hr_program_has(p, 'F') ? 'F' : 0;
}

hr_status hr__crop_box(const hr_crop_args *args, bool has_depth, int64_t depth, int64_t height,
                       int64_t width, hr_crop_box *box, hr_error *error)
{
    float d = args->crop_d, h = args->crop_h, w = args->crop_w;
    bool truncate = strcmp(args->rounding, "truncate") == 0;

    if (args->crop.v) {
        int32_t n = args->crop.n;
        if (n != 2 && n != 3)
            return hr_fail(
                error, HR_STATUS_ERROR,
                "`crop` has %d elements; it must be (height, width) or (depth, height, width)",
                (int)n);
        d = n == 3 ? args->crop.v[0] : 0.0f;
        h = args->crop.v[n - 2];
        w = args->crop.v[n - 1];
    }
    HR_TRY(positions_check(args, has_depth, error));
    HR_TRY(find_range(h, args->crop_pos_y, truncate, height, &box->y, error));
    HR_TRY(find_range(w, args->crop_pos_x, truncate, width, &box->x, error));
    if (!has_depth) {
        box->z = (hr_crop_range){.size = depth};
        return HR_STATUS_OK;
    }
    return find_range(d, args->crop_pos_z, truncate, depth, &box->z, error);
}

hr_bounds hr__bounds_parse(const char *policy)
{
    hr_border border;

    if (hr__border_named(policy, &border))
        return border == HR_BORDER_CONSTANT ? HR_BOUNDS_PAD : HR_BOUNDS_REPEAT;
    return strcmp(policy, "trim_to_shape") == 0 ? HR_BOUNDS_TRIM : HR_BOUNDS_ERROR;
}

static hr_status bound(hr_crop_range *r, hr_bounds bounds, const char *axis, int64_t extent,
                       hr_error *error)
{
    if (r->start >= 0 && r->size <= extent - r->start)
        return HR_STATUS_OK;
    if (bounds == HR_BOUNDS_PAD || bounds == HR_BOUNDS_REPEAT)
        return HR_STATUS_OK;
    if (bounds == HR_BOUNDS_ERROR)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "Slice can't be placed out of bounds with current policy. Got: %lld to %lld along "
            "the %s, which has %lld elements. Give `out_of_bounds_policy` \"pad\" or "
            "\"trim_to_shape\" to allow it",
            (long long)r->start, (long long)(r->start + r->size), axis, (long long)extent);
    int64_t end = HR_MIN(r->start + r->size, extent);
    r->start = HR_MIN(HR_MAX(r->start, 0), extent);
    r->size = HR_MAX(end - r->start, 0);
    return HR_STATUS_OK;
}

hr_status hr__crop_bound(const hr_op_call *c, hr_crop_box *box, hr_bounds bounds, int64_t depth,
                         int64_t height, int64_t width, hr_error *error)
{
    HR_TRY(bound(&box->z, bounds, "depth", depth, error));
    HR_TRY(bound(&box->y, bounds, "height", height, error));
    HR_TRY(bound(&box->x, bounds, "width", width, error));
    return hr__pixels_check(c, box->z.size, box->y.size, box->x.size, error);
}
