/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.image_slice: a window of a coded picture by start and end; only the window is decoded.
 */
#include "ops/decoders/decode.h"
#include "ops/image/crop_window.h"

typedef struct image_slice_args {
    hr_decode_args decode;
    hr_ints axes, start, end, shape;
    hr_floats rel_start, rel_end, rel_shape;
    const char *axis_names;
    int32_t normalized_anchor, normalized_shape;
} image_slice_args;

#define WHEN_GIVEN (HR_ARG_PER_SAMPLE | HR_ARG_OPTIONAL)

static const hr_arg_def image_slice_arg_defs[] = {
    HR_DECODE_ARG_DEFS(image_slice_args, decode),
    HR_ARG(image_slice_args, axes, INTS, WHEN_GIVEN, "[1, 0]",
           "Which axis each element of the window's arguments means: 0 height, 1 width; negative "
           "numbers count from the end. Not together with `axis_names`."),
    HR_ARG(image_slice_args, axis_names, LAYOUT, HR_ARG_OPTIONAL, "\"WH\"",
           "The axes as letters: H, W. Axes that are not named are taken whole."),
    HR_ARG(image_slice_args, start, INTS, WHEN_GIVEN, NULL, "Start of the window in pixels."),
    HR_ARG(image_slice_args, rel_start, FLOATS, WHEN_GIVEN, NULL,
           "Start of the window as a fraction of the extent."),
    HR_ARG(image_slice_args, end, INTS, WHEN_GIVEN, NULL,
           "End of the window in pixels (not included)."),
    HR_ARG(image_slice_args, rel_end, FLOATS, WHEN_GIVEN, NULL,
           "End of the window as a fraction of the extent."),
    HR_ARG(image_slice_args, shape, INTS, WHEN_GIVEN, NULL, "Size of the window in pixels."),
    HR_ARG(image_slice_args, rel_shape, FLOATS, WHEN_GIVEN, NULL,
           "Size of the window as a fraction of the extent."),
    HR_ARG(image_slice_args, normalized_anchor, BOOL, 0, "True",
           "The input `anchor` is a fraction of the extent, if it is a float."),
    HR_ARG(image_slice_args, normalized_shape, BOOL, 0, "True",
           "The input `shape` is a fraction of the extent, if it is a float."),
    HR_ARG_END};

static hr_status image_slice_check(const void *args, uint64_t given, hr_error *error)
{
    static const char *const ends[] = {"end", "rel_end", "shape", "rel_shape"};
    const hr_arg_def *d = image_slice_arg_defs;
    int count = 0;

    (void)args;
    if (hr__arg_given(d, given, "start") && hr__arg_given(d, given, "rel_start"))
        return hr_fail(error, HR_STATUS_ERROR, "`start` and `rel_start` exclude each other");
    if (hr__arg_given(d, given, "axes") && hr__arg_given(d, given, "axis_names"))
        return hr_fail(error, HR_STATUS_ERROR, "`axes` and `axis_names` exclude each other");
    for (size_t i = 0; i < HR_COUNT_OF(ends); i++)
        count += hr__arg_given(d, given, ends[i]);
    if (count > 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`end`, `rel_end`, `shape` and `rel_shape` exclude each other");
    return HR_STATUS_OK;
}

/* The axes (0 height, 1 width) that elements of the window's arguments mean. */
static hr_status slice_axes(const image_slice_args *a, int32_t *axes, int32_t *count,
                            hr_error *error)
{
    const char *names = a->axis_names ? a->axis_names : "WH";

    *count = 0;
    for (int32_t i = 0; a->axes.v ? i < a->axes.n : names[i] != '\0'; i++) {
        int32_t axis = a->axes.v ? a->axes.v[i] : names[i] == 'H' ? 0 : names[i] == 'W' ? 1 : 9;
        axis += axis < 0 ? 2 : 0;
        if (axis < 0 || axis > 1)
            return hr_fail(error, HR_STATUS_ERROR,
                           "%s names an axis that cannot be sliced: height (0, H) and width (1, W) "
                           "can",
                           a->axes.v ? "`axes`" : "`axis_names`");
        if (*count == 2 || (*count == 1 && axes[0] == axis))
            return hr_fail(error, HR_STATUS_ERROR, "%s names an axis twice",
                           a->axes.v ? "`axes`" : "`axis_names`");
        axes[(*count)++] = axis;
    }
    return HR_STATUS_OK;
}

/* One element of a list that has one an axis, or one for all. */
static hr_status element(const char *name, int32_t n, int32_t count, int32_t i, int32_t *at,
                         hr_error *error)
{
    if (n != count && n != 1)
        return hr_fail(error, HR_STATUS_ERROR, "`%s` has %d elements for %d axes", name, (int)n,
                       (int)count);
    *at = n == 1 ? 0 : i;
    return HR_STATUS_OK;
}

static hr_status pick(const char *name, hr_ints ints, const char *rel_name, hr_floats floats,
                      int32_t count, int32_t i, double extent, double *value, bool *given,
                      hr_error *error)
{
    int32_t at = 0;

    *given = true;
    if (ints.v) {
        HR_TRY(element(name, ints.n, count, i, &at, error));
        *value = (double)ints.v[at];
    } else if (floats.v) {
        HR_TRY(element(rel_name, floats.n, count, i, &at, error));
        *value = (double)(floats.v[at] * (float)extent); /* DALI: in single precision */
    } else {
        *given = false;
    }
    return HR_STATUS_OK;
}

/* Named arguments; ends are rounded once, after the sum. */
static hr_status range_named(const image_slice_args *a, int32_t count, int32_t i, double extent,
                             double *start, double *end, hr_error *error)
{
    double size = 0.0;
    bool given;

    *start = 0.0;
    *end = extent;
    HR_TRY(
        pick("start", a->start, "rel_start", a->rel_start, count, i, extent, start, &given, error));
    HR_TRY(pick("end", a->end, "rel_end", a->rel_end, count, i, extent, end, &given, error));
    HR_TRY(
        pick("shape", a->shape, "rel_shape", a->rel_shape, count, i, extent, &size, &given, error));
    if (given && a->rel_shape.v && a->rel_start.v)
        *end = ((double)a->rel_start.v[a->rel_start.n == 1 ? 0 : i] +
                (double)a->rel_shape.v[a->rel_shape.n == 1 ? 0 : i]) *
               extent;
    else if (given)
        *end = *start + size;
    return HR_STATUS_OK;
}

/* The inputs `anchor` and `shape`: integers are pixels whatever `normalized_*` say. */
static hr_status range_inputs(const hr_op_call *c, int32_t count, int32_t i, double extent,
                              double *start, double *end, hr_error *error)
{
    const image_slice_args *a = c->args;
    const hr_tensor *anchor = &c->in[1], *shape = &c->in[2];
    bool is_float = hr_dtype_is_float(anchor->dtype);
    size_t volume, other;

    if (anchor->dtype != shape->dtype)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`anchor` is %s and `shape` is %s: they must have the same type",
                       hr_dtype_name(anchor->dtype), hr_dtype_name(shape->dtype));
    if (!hr_shape_volume(&anchor->shape, &volume) || !hr_shape_volume(&shape->shape, &other) ||
        volume != (size_t)count || other != (size_t)count)
        return hr_fail(error, HR_STATUS_ERROR, "`anchor` and `shape` must have %d elements each",
                       (int)count);
    double at = hr_element_double(anchor->data, anchor->dtype, (size_t)i);
    double size = hr_element_double(shape->data, shape->dtype, (size_t)i);
    bool scale_at = is_float && a->normalized_anchor, scale_size = is_float && a->normalized_shape;
    *end = scale_at && scale_size
               ? (at + size) * extent
               : (scale_at ? at * extent : at) + (scale_size ? size * extent : size);
    *start = scale_at ? at * extent : at;
    return HR_STATUS_OK;
}

static hr_status slice_window(const hr_op_call *c, const hr_decode_picture *picture,
                              hr_window *window, hr_error *error)
{
    const image_slice_args *a = c->args;
    const int64_t extent[2] = {picture->height, picture->width};
    int64_t from[2] = {0, 0}, to[2] = {extent[0], extent[1]};
    int32_t axes[2], count = 0;

    HR_TRY(slice_axes(a, axes, &count, error));
    for (int32_t i = 0; i < count; i++) {
        int32_t axis = axes[i];
        double e = (double)extent[axis], start = 0.0, end = 0.0;
        if (c->n_in == 3)
            HR_TRY(range_inputs(c, count, i, e, &start, &end, error));
        else
            HR_TRY(range_named(a, count, i, e, &start, &end, error));
        start = hr_round(start);
        end = hr_round(end);
        if (!(start >= 0.0 && end > start && end <= e))
            return hr_fail(error, HR_STATUS_ERROR,
                           "the window [%g, %g) along the %s does not lie inside the picture of "
                           "%lldx%lld (height x width)",
                           start, end, axis == 0 ? "height" : "width", (long long)extent[0],
                           (long long)extent[1]);
        from[axis] = (int64_t)start;
        to[axis] = (int64_t)end;
    }
    *window = (hr_window){from[0], from[1], to[0] - from[0], to[1] - from[1]};
    return HR_STATUS_OK;
}

static hr_status image_slice_lower(hr_op_call *c, hr_image_program *program, hr_error *error)
{
    const image_slice_args *a = c->args;
    bool named =
        a->start.v || a->rel_start.v || a->end.v || a->rel_end.v || a->shape.v || a->rel_shape.v;
    hr_decode_picture *picture;
    hr_window window;

    if (named == (c->n_in == 3) || c->n_in == 2)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the window comes either from the inputs `anchor` and `shape` or from "
                       "arguments (`start`, `end`, `shape`, `rel_...`)");
    HR_TRY(hr__decode_open(c, &a->decode, &picture, error));
    HR_TRY(slice_window(c, picture, &window, error));
    return hr__decode_program(program, picture, window, error);
}

static const char *const image_slice_aliases[] = {"image_decoder_slice",
                                                  "ops:HostDecoderSlice",
                                                  "ops:ImageDecoderSlice",
                                                  "ops:nvJPEGDecoderSlice",
                                                  "experimental.decoders.image_slice",
                                                  NULL};

const hr_op_def hr_op_decoders_image_slice = {
    HR_OP_ABI,
    .name = "decoders.image_slice",
    .doc = "Decodes a window of a picture given by its start and its end or size, in pixels or in "
           "fractions, x before y unless `axes` or `axis_names` say otherwise. Inputs: the bytes "
           "of one file a sample (1-D, UINT8), and optionally the window's anchor and shape. The "
           "output is HWC. A window that leaves the picture is an error.",
    .aliases = image_slice_aliases,
    .devices = "cpu|mixed",
    .args = image_slice_arg_defs,
    .args_size = sizeof(image_slice_args),
    .in = {{.name = "data"}, {.name = "anchor"}, {.name = "shape_input"}},
    .in_min = 1,
    .in_max = 3,
    .out = {{"image"}},
    .out_count = 1,
    .check = image_slice_check,
    .lower = image_slice_lower,
    .lower_rank = HR_LOWER_RANK_SOURCE,
};
