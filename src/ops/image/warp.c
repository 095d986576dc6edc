/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Types, sizes and fill of warped images. */
#include "ops/image/warp.h"
#include "ops/image/pixels.h"

#include <math.h>
#include <string.h>

hr_status hr__warp_check(const hr_warp_args *a, hr_error *error)
{
    if (a->interp_type == HR_INTERP_NN || a->interp_type == HR_INTERP_LINEAR)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "`interp_type` must be INTERP_NN or INTERP_LINEAR");
}

static bool can_warp(hr_dtype t)
{
    return t == HR_DTYPE_UINT8 || t == HR_DTYPE_INT16 || t == HR_DTYPE_INT32 || t == HR_DTYPE_FLOAT;
}

static hr_status output_type(const hr_warp_args *a, hr_dtype in, hr_dtype *out, hr_error *error)
{
    *out = a->dtype == HR_DTYPE_NONE ? in : (hr_dtype)a->dtype;
    if (can_warp(in) && can_warp(*out) &&
        (*out == in || *out == HR_DTYPE_FLOAT || in == HR_DTYPE_FLOAT))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "from %s to %s is not supported; types are UINT8, INT16, INT32 and FLOAT, "
                   "and input and output must have the same type unless one of them is FLOAT",
                   hr_dtype_name(in), hr_dtype_name(*out));
}

/* The fill, rounded to a pixel of the type: that in which it is used. */
static float fill_of(const hr_warp_args *a, hr_dtype type)
{
    double pixel;
    float fill;

    hr_convert(&pixel, type, &a->fill_value, HR_DTYPE_FLOAT, 1);
    hr_convert(&fill, HR_DTYPE_FLOAT, &pixel, type, 1);
    return fill;
}

hr_status hr__warp_begin(const hr_warp_args *a, const hr_image_program *program, hr_gather_spec *g,
                         hr_dtype *dtype, hr_error *error)
{
    const hr_dtype in = hr_program_dtype(program);
    hr_layout layout;

    HR_TRY(hr_layout_match(HR_WARP_LAYOUTS, &program->layout, (int32_t)strlen(program->layout.name),
                           &layout, error));
    HR_TRY(output_type(a, in, dtype, error));
    *g = (hr_gather_spec){.axes = hr_program_has(program, 'D') ? 3 : 2,
                          .nearest = a->interp_type == HR_INTERP_NN,
                          .has_fill = !isnan(a->fill_value),
                          .in = {hr_program_extent(program, 'W'), hr_program_extent(program, 'H'),
                                 hr_program_extent(program, 'D')}};
    if (g->has_fill)
        g->fill = fill_of(a, g->nearest ? *dtype : in);
    return HR_STATUS_OK;
}

hr_status hr__warp_size(const hr_warp_args *a, hr_gather_spec *g, hr_error *error)
{
    if (a->size.n != g->axes)
        return hr_fail(error, HR_STATUS_ERROR, "`size` has %d elements; it must have %d",
                       (int)a->size.n, (int)g->axes);
    for (int32_t i = 0; i < g->axes; i++) {
        float size = a->size.v[g->axes - 1 - i];
        if (!(size > 0.0f && size < 2147483000.0f))
            return hr_fail(error, HR_STATUS_ERROR, "`size` contains %g; sizes must be positive",
                           (double)size);
        g->out[i] = (int64_t)HR_MAX(hr_round((double)size), 1.0);
    }
    return HR_STATUS_OK;
}

hr_status hr__warp_end(const hr_op_call *c, hr_image_program *program, const hr_gather_spec *g,
                       const hr_map *maps, int32_t count, hr_dtype dtype, hr_error *error)
{
    HR_TRY(hr__pixels_check(c, g->axes == 3 ? g->out[2] : 1, g->out[1], g->out[0], error));
    return hr_program_gather(program, g, maps, count, dtype, error);
}

hr_status hr__warp_matrices(const hr_op_call *c, hr_floats given, int32_t rows, int32_t columns,
                            hr_floats *list, hr_error *error)
{
    const hr_tensor *in = c->n_in > 1 ? &c->in[1] : NULL;
    const int32_t n = rows * columns;
    char text[128];

    *list = given;
    if (in) {
        const int32_t first = in->shape.ndim - 2; /* the dimension that is the first row */
        bool fits = in->dtype == HR_DTYPE_FLOAT && (first == 0 || first == 1) &&
                    in->shape.extent[first] == rows && in->shape.extent[first + 1] == columns;
        if (!fits || (first == 1 && in->shape.extent[0] > INT32_MAX / n))
            return hr_fail(error, HR_STATUS_ERROR,
                           "the matrix has type %s and shape %s; it must be FLOAT with shape "
                           "%dx%d, or frames x %d x %d",
                           hr_dtype_name(in->dtype), hr_shape_text(&in->shape, text, sizeof(text)),
                           (int)rows, (int)columns, (int)rows, (int)columns);
        list->frames = first == 1 ? (int32_t)in->shape.extent[0] : 0;
        list->n = n * (first == 1 ? list->frames : 1);
        list->v = in->data;
    }
    if (!in && list->n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "give `matrix` or a second input with the matrix");
    if (list->n != n * (list->frames ? list->frames : 1))
        return hr_fail(error, HR_STATUS_ERROR, "`matrix` has %d elements; it must have %d%s",
                       (int)list->n, (int)n, list->frames ? " for each frame" : "");
    return HR_STATUS_OK;
}

hr_status hr__warp_frames_check(const hr_floats *matrices, int64_t frames, hr_error *error)
{
    if (matrices->frames <= 1 || matrices->frames == frames)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "there are %d matrices for %lld frames; there must be one, or one for each",
                   (int)matrices->frames, (long long)frames);
}
