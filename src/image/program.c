/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Building an image program: each function adds one step, or fails and changes nothing. Steps that
 * commute exactly are composed (windows with per-pixel steps, mirrors with windows); all others are
 * not fusable. */
#include "image/program.h"

#include <string.h>

enum { COORDINATE_MAX = 1 << 30 };

static hr_status not_fusable(hr_error *error, const char *why)
{
    return hr_fail(error, HR_STATUS_NOT_FUSABLE, "%s", why);
}

static const hr_outer *outer_find(const hr_image_program *p, char letter)
{
    for (int32_t i = 0; i < p->outer_count; i++)
        if (p->outer[i].letter == letter)
            return &p->outer[i];
    return NULL;
}

static bool channels_inside(const hr_image_program *p)
{
    return hr_program_has(p, 'C') && outer_find(p, 'C') == NULL;
}

static int64_t channel_count(const hr_image_program *p)
{
    const hr_outer *outer = outer_find(p, 'C');
    return outer != NULL ? outer->count : p->out_channels;
}

static void program_reset(hr_image_program *p, hr_dtype dtype, int64_t height, int64_t width,
                          int32_t channels)
{
    memset(p, 0, sizeof(*p));
    p->src_dtype = p->resampled = p->dtype = dtype;
    p->height = height;
    p->width = width;
    p->channels = p->out_channels = channels;
    p->clamp = p->window = (hr_window){0, 0, height, width};
}

static hr_status tensor_layout(const hr_tensor *t, const char *layouts, hr_layout *out,
                               hr_error *error)
{
    if (layouts == NULL) { /* any tensor that has a layout */
        *out = t->layout;
        if (out->name[0] != '\0' && strlen(out->name) == (size_t)t->shape.ndim)
            return HR_STATUS_OK;
        return not_fusable(error, "the tensor has no layout that fits it");
    }
    return hr_layout_match(layouts, &t->layout, t->shape.ndim, out, error);
}

hr_status hr_program_from_tensor(hr_image_program *p, const hr_tensor *t, const char *layouts,
                                 hr_error *error)
{
    hr_layout layout;
    size_t volume;
    if (hr_dtype_is_enum(t->dtype))
        return not_fusable(error, "the elements are not numbers");
    HR_TRY(tensor_layout(t, layouts, &layout, error));
    int32_t h = hr_layout_find(&layout, 'H'), ndim = t->shape.ndim;
    if (h < 0 || hr_layout_find(&layout, 'W') != h + 1 || h > HR_OUTER_MAX || ndim > h + 3 ||
        (ndim == h + 3 && layout.name[h + 2] != 'C'))
        return not_fusable(error, "the layout is not (outer)HW or (outer)HWC");
    const int64_t *extent = t->shape.extent;
    int64_t channels = ndim == h + 3 ? extent[h + 2] : 1;
    if (!hr_shape_volume(&t->shape, &volume) || channels > INT32_MAX ||
        extent[h] > COORDINATE_MAX || extent[h + 1] > COORDINATE_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "the image is too large");
    program_reset(p, t->dtype, extent[h], extent[h + 1], (int32_t)channels);
    p->data = t->data;
    p->src_layout = p->layout = layout;
    p->outer_count = h;
    /* The product for an empty tensor may overflow; nothing is read. */
    int64_t stride = volume > 0 ? extent[h] * extent[h + 1] * channels : 0;
    for (int32_t i = h - 1; i >= 0; i--) {
        p->outer[i] = (hr_outer){.letter = layout.name[i],
                                 .extent = extent[i],
                                 .stride = stride,
                                 .count = extent[i],
                                 .high = extent[i]};
        stride *= extent[i];
    }
    return HR_STATUS_OK;
}

hr_status hr_program_from_coded(hr_image_program *p, hr_image_source source, hr_dtype dtype,
                                int64_t height, int64_t width, int32_t channels, hr_error *error)
{
    if (height < 1 || width < 1 || channels < 1 || height > COORDINATE_MAX ||
        width > COORDINATE_MAX)
        return hr_fail(error, HR_STATUS_LIMIT, "an image of %lld x %lld x %d is not supported",
                       (long long)height, (long long)width, channels);
    program_reset(p, dtype, height, width, channels);
    p->coded = source;
    HR_TRY(hr_layout_set(&p->src_layout, "HWC", error));
    p->layout = p->src_layout;
    return HR_STATUS_OK;
}

bool hr_program_has(const hr_image_program *p, char letter)
{
    return hr_layout_find(&p->src_layout, letter) >= 0;
}

int64_t hr_program_extent(const hr_image_program *p, char letter)
{
    if (letter == 'H')
        return p->window.h;
    if (letter == 'W')
        return p->window.w;
    if (letter == 'C')
        return p->pad_channels > 0 ? p->pad_channels : channel_count(p);
    const hr_outer *outer = outer_find(p, letter);
    return outer != NULL ? outer->count : 1;
}

hr_dtype hr_program_dtype(const hr_image_program *p)
{
    return p->dtype;
}

static bool fits(int64_t at, int64_t length, int64_t extent)
{
    return at >= 0 && length <= extent && at <= extent - length;
}

static bool in_range(int64_t v)
{
    return v >= -COORDINATE_MAX && v <= COORDINATE_MAX;
}

/* Clips [low, high) to [start, start + count). */
static void narrow(int64_t *low, int64_t *high, int64_t start, int64_t count)
{
    *low = HR_MAX(*low, start);
    *high = HR_MAX(HR_MIN(*high, start + count), *low);
}

/* From now on, everything outside the current windows is fill. */
static void fence(hr_image_program *p)
{
    const hr_window now = p->window;
    int64_t bottom = p->exist.y + p->exist.h, right = p->exist.x + p->exist.w;
    if (!p->has_fill) {
        p->exist = now;
    } else {
        narrow(&p->exist.y, &bottom, now.y, now.h);
        narrow(&p->exist.x, &right, now.x, now.w);
        p->exist.h = bottom - p->exist.y;
        p->exist.w = right - p->exist.x;
    }
    for (int32_t i = 0; i < p->outer_count; i++)
        narrow(&p->outer[i].low, &p->outer[i].high, p->outer[i].start, p->outer[i].count);
    p->has_fill = true;
}

static hr_status set_fill(hr_image_program *p, const float *fill, int32_t count, hr_error *error)
{
    int64_t channels = channel_count(p);
    float all[HR_CHANNELS_MAX];
    if (p->pad_channels > 0)
        return not_fusable(error, "a fill after added channels");
    if (count != 1 && count != channels)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%d fill values were given for %lld channels; give one, or one per channel",
                       count, (long long)channels);
    if (count > HR_CHANNELS_MAX)
        return not_fusable(error, "more fill values than a program holds");
    for (int32_t c = 0; c < HR_CHANNELS_MAX; c++)
        all[c] = fill[HR_MIN(c, count - 1)];
    if (p->has_fill && memcmp(p->fill, all, sizeof(all)) != 0)
        return not_fusable(error, "a second fill");
    memcpy(p->fill, all, sizeof(all));
    p->fill_count = count;
    fence(p);
    return HR_STATUS_OK;
}

hr_status hr_program_crop(hr_image_program *p, hr_window window, const float *fill,
                          int32_t fill_count, hr_error *error)
{
    const hr_window now = p->window;
    if (window.h < 0 || window.w < 0 || !in_range(window.y) || !in_range(window.x) ||
        !in_range(window.h) || !in_range(window.w))
        return hr_fail(
            error, HR_STATUS_ERROR, "a window of %lld x %lld at (%lld, %lld) is not a valid window",
            (long long)window.h, (long long)window.w, (long long)window.y, (long long)window.x);
    hr_window next = window;
    next.y = now.y + (p->mirror_y ? now.h - (window.y + window.h) : window.y);
    next.x = now.x + (p->mirror_x ? now.w - (window.x + window.w) : window.x);
    if (!in_range(next.y) || !in_range(next.x))
        return hr_fail(error, HR_STATUS_ERROR, "the window is too far outside the image");
    if (!fits(window.y, window.h, now.h) || !fits(window.x, window.w, now.w)) {
        if (fill == NULL || fill_count < 1)
            return hr_fail(error, HR_STATUS_ERROR,
                           "the window of %lld x %lld at (%lld, %lld) is not inside the image "
                           "of %lld x %lld (height x width)",
                           (long long)window.h, (long long)window.w, (long long)window.y,
                           (long long)window.x, (long long)now.h, (long long)now.w);
        HR_TRY(set_fill(p, fill, fill_count, error));
    }
    p->window = next;
    return HR_STATUS_OK;
}

hr_status hr_program_crop_outer(hr_image_program *p, char letter, int64_t start, int64_t count,
                                const float *fill, int32_t fill_count, hr_error *error)
{
    hr_outer *outer = (hr_outer *)outer_find(p, letter);
    if (outer == NULL)
        return not_fusable(error, "not an outer dimension");
    bool inside = fits(start, count, outer->count);
    if (count < 0 || (!inside && (fill == NULL || fill_count < 1)))
        return hr_fail(error, HR_STATUS_ERROR,
                       "a window of %lld from %lld on is not inside dimension %c of extent %lld",
                       (long long)count, (long long)start, letter, (long long)outer->count);
    if (letter == 'C' && (p->normalize || p->has_fill || p->pad_channels > 0 || !inside))
        return not_fusable(error, "a window of channels with a step that names channels");
    if (!inside && (!in_range(start) || !in_range(count) || !in_range(outer->count)))
        return hr_fail(error, HR_STATUS_ERROR,
                       "a window of %lld from %lld on is too far outside dimension %c",
                       (long long)count, (long long)start, letter);
    int64_t next = outer->start + (outer->reverse ? outer->count - (start + count) : start);
    if (!inside && !in_range(next))
        return hr_fail(error, HR_STATUS_ERROR, "the window is too far outside the volume");
    if (!inside)
        HR_TRY(set_fill(p, fill, fill_count, error));
    outer->start = next;
    outer->count = count;
    return HR_STATUS_OK;
}

hr_status hr_program_flip(hr_image_program *p, bool horizontal, bool vertical, bool depthwise,
                          hr_error *error)
{
    (void)error;
    p->mirror_x ^= horizontal;
    p->mirror_y ^= vertical;
    hr_outer *depth = (hr_outer *)outer_find(p, 'D');
    if (depthwise && depth != NULL)
        depth->reverse = !depth->reverse;
    return HR_STATUS_OK;
}

/* Whether a step has been added after which pixels cannot be resampled or gathered. */
static bool is_past_source(const hr_image_program *p)
{
    return p->resample || p->gather.axes > 0 || p->mirror_x || p->mirror_y || p->has_fill ||
           p->point_count > 0 || p->normalize || p->pad_channels > 0;
}

/* Adds the filter; the output is h x w. */
static hr_status separable(hr_image_program *p, const hr_filter_axis *y, const hr_filter_axis *x,
                           int64_t h, int64_t w, hr_dtype dtype)
{
    p->clamp = p->window;
    p->window = (hr_window){0, 0, h, w};
    p->resample = true;
    p->y = *y;
    p->x = *x;
    p->resampled = p->dtype = dtype;
    return HR_STATUS_OK;
}

hr_status hr_program_filter(hr_image_program *p, const hr_given_taps *y, const hr_given_taps *x,
                            int32_t count, hr_dtype dtype, hr_error *error)
{
    int32_t first = count == 2 && y[1].count > y[0].count;
    const hr_filter_axis along_y = {.given = y[first]}, along_x = {.given = x[first]};
    if (count < 1 || count > 2)
        return hr_fail(error, HR_STATUS_ERROR, "cannot add %d filters", (int)count);
    if (is_past_source(p))
        return not_fusable(error, "a filter must come before mirrors and per-pixel steps");
    if (p->window.h < 1 || p->window.w < 1)
        return not_fusable(error, "the image has no pixels");
    if (dtype != p->dtype && dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR, "filtering %s gives %s or FLOAT, not %s",
                       hr_dtype_name(p->dtype), hr_dtype_name(p->dtype), hr_dtype_name(dtype));
    p->sum = count == 2;
    if (p->sum) {
        p->sum_y.given = y[1 - first];
        p->sum_x.given = x[1 - first];
    }
    return separable(p, &along_y, &along_x, p->window.h, p->window.w, dtype);
}

hr_status hr_program_resample(hr_image_program *p, const hr_resample_axis *y,
                              const hr_resample_axis *x, hr_dtype dtype, hr_error *error)
{
    const hr_filter_axis along_y = {.resample = *y}, along_x = {.resample = *x};
    if (is_past_source(p))
        return not_fusable(error, "a resample must come before mirrors and per-pixel steps");
    if (p->window.h < 1 || p->window.w < 1)
        return hr_fail(error, HR_STATUS_ERROR, "cannot resize an image of %lld x %lld",
                       (long long)p->window.h, (long long)p->window.w);
    if (y->out < 0 || x->out < 0 || !in_range(y->out) || !in_range(x->out))
        return hr_fail(error, HR_STATUS_ERROR, "cannot resize to %d x %d", y->out, x->out);
    if (dtype != p->dtype && dtype != HR_DTYPE_FLOAT)
        return hr_fail(error, HR_STATUS_ERROR,
                       "resizing %s gives %s or FLOAT, not %s; cast before or after",
                       hr_dtype_name(p->dtype), hr_dtype_name(p->dtype), hr_dtype_name(dtype));
    return separable(p, &along_y, &along_x, y->out, x->out, dtype);
}

static bool can_gather(hr_dtype t)
{
    return t == HR_DTYPE_UINT8 || t == HR_DTYPE_INT16 || t == HR_DTYPE_INT32 || t == HR_DTYPE_FLOAT;
}

/* The slices of the output replace those of the source. */
static void gather_depth(hr_image_program *p, hr_outer *depth)
{
    p->gather.in[2] = depth->count;
    p->depth_first = depth->start * depth->stride;
    p->depth_step = depth->stride;
    *depth = (hr_outer){.letter = 'D',
                        .extent = p->gather.out[2],
                        .count = p->gather.out[2],
                        .high = p->gather.out[2]};
}

hr_status hr_program_gather(hr_image_program *p, const hr_gather_spec *gather, const hr_map *maps,
                            int32_t map_count, hr_dtype dtype, hr_error *error)
{
    hr_outer *depth = (hr_outer *)outer_find(p, 'D');
    const hr_outer *frames = outer_find(p, 'F');
    if (is_past_source(p) || (depth != NULL && depth->reverse))
        return not_fusable(error, "a gather must come before mirrors and per-pixel steps");
    if (!can_gather(p->dtype) || !can_gather(dtype) || (gather->axes == 3) != (depth != NULL))
        return not_fusable(error, "a gather of this type or number of axes");
    for (int32_t i = 0; i < gather->axes; i++)
        if (gather->out[i] < 0 || !in_range(gather->out[i]))
            return hr_fail(error, HR_STATUS_ERROR, "cannot make %lld pixels of an axis",
                           (long long)gather->out[i]);
    p->gather = *gather;
    p->gather.in[0] = p->window.w;
    p->gather.in[1] = p->window.h;
    p->gather.in[2] = 1;
    if (depth != NULL)
        gather_depth(p, depth);
    if (p->gather.in[0] < 1 || p->gather.in[1] < 1 || p->gather.in[2] < 1) {
        p->gather.fill = p->gather.has_fill ? p->gather.fill : 0.0f;
        p->gather.has_fill = true;
    }
    p->clamp = p->window;
    p->window = (hr_window){0, 0, gather->out[1], gather->out[0]};
    p->maps = maps;
    p->map_count = map_count;
    p->first_frame = frames != NULL ? frames->start : 0;
    p->resampled = p->dtype = dtype;
    return HR_STATUS_OK;
}

/* Takes the fill through the step, as if it were pixels. */
static void point_fill(hr_image_program *p, const hr_point_step *step)
{
    bool cut = step->kind == HR_POINT_KIND_CUT;
    for (int32_t c = 0; p->has_fill && c < HR_CHANNELS_MAX; c++) {
        double rounded[2]; /* each has room for an element of any type */
        hr_convert(rounded, p->dtype, &p->fill[c], HR_DTYPE_FLOAT, 1);
        (cut ? hr_convert_cut : hr_convert)(rounded + 1, step->dtype, rounded, p->dtype, 1);
        hr_convert(&p->fill[c], HR_DTYPE_FLOAT, rounded + 1, step->dtype, 1);
    }
}

/* The weights that count; the others are left 0. */
static void matrix_set(hr_matrix *to, const hr_matrix *m)
{
    to->in = m->in;
    to->out = m->out;
    for (int32_t i = 0; i < m->out; i++) {
        to->add[i] = m->add[i];
        for (int32_t k = 0; k < m->in; k++)
            to->m[i][k] = m->m[i][k];
    }
}

hr_status hr_program_point(hr_image_program *p, const hr_point_step *step, hr_error *error)
{
    bool matrix = step->kind == HR_POINT_KIND_MATRIX, table = step->kind == HR_POINT_KIND_TABLE;
    bool convert = step->kind == HR_POINT_KIND_CAST || step->kind == HR_POINT_KIND_CUT;
    const hr_outer *frames = outer_find(p, 'F');
    if (convert && step->dtype == p->dtype)
        return HR_STATUS_OK;
    if (hr_dtype_is_enum(step->dtype))
        return not_fusable(error, "the elements become values of an enumeration");
    if (p->normalize || p->pad_channels > 0 || p->point_count == HR_POINT_MAX)
        return not_fusable(error, "a per-pixel step after normalisation, or too many steps");
    if (p->has_fill && !convert)
        return not_fusable(error, "a matrix or a table after a fill");
    if (matrix && (!channels_inside(p) || p->out_channels != step->matrix.in))
        return not_fusable(error, "a matrix needs interleaved channels, as many as it has inputs");
    if (table && p->dtype != HR_DTYPE_UINT8)
        return not_fusable(error, "a table needs UINT8");
    if (step->frames > 0 && (frames == NULL || frames->count != step->frames))
        return not_fusable(error, "values per frame for another number of frames");
    point_fill(p, step);
    hr_point_step *to = &p->point[p->point_count++];
    *to = (hr_point_step){.kind = step->kind,
                          .dtype = step->dtype,
                          .table = step->table,
                          .matrices = step->matrices,
                          .frames = step->frames,
                          .first_frame = step->frames > 0 ? (int32_t)frames->start : 0};
    p->dtype = step->dtype;
    if (!convert && !table)
        matrix_set(&to->matrix, &step->matrix);
    if (matrix)
        p->out_channels = step->matrix.out;
    return HR_STATUS_OK;
}

hr_status hr_program_normalize(hr_image_program *p, const float *mean, const float *mul,
                               int32_t count, hr_dtype dtype, hr_error *error)
{
    int64_t channels = channel_count(p);
    if (p->normalize || p->has_fill || p->pad_channels > 0)
        return not_fusable(error, "normalisation after normalisation, a fill or added channels");
    if (count != 1 && count != channels)
        return hr_fail(error, HR_STATUS_ERROR,
                       "%d means were given for %lld channels; give one, or one per channel", count,
                       (long long)channels);
    if (count > HR_CHANNELS_MAX)
        return not_fusable(error, "more means than a program holds");
    if (dtype != HR_DTYPE_FLOAT && dtype != HR_DTYPE_FLOAT16 && dtype != HR_DTYPE_UINT8 &&
        dtype != HR_DTYPE_INT8)
        return hr_fail(error, HR_STATUS_ERROR,
                       "normalisation gives FLOAT, FLOAT16, UINT8 or INT8, not %s",
                       hr_dtype_name(dtype));
    for (int32_t c = 0; c < HR_CHANNELS_MAX; c++) {
        p->mean[c] = mean[HR_MIN(c, count - 1)];
        p->mul[c] = mul[HR_MIN(c, count - 1)];
    }
    p->normalize = true;
    p->norm_count = count;
    p->dtype = dtype;
    return HR_STATUS_OK;
}

static bool is_permutation(const char *a, const char *b)
{
    if (strlen(a) != strlen(b))
        return false;
    for (const char *at = a; *at != '\0'; at++)
        if (strchr(b, *at) == NULL || strchr(at + 1, *at) != NULL)
            return false;
    return true;
}

hr_status hr_program_output(hr_image_program *p, const char *layout, int32_t pad_channels,
                            const float *fill, int32_t fill_count, hr_error *error)
{
    int64_t channels = channel_count(p);
    if (layout != NULL && layout[0] != '\0' && !is_permutation(layout, p->layout.name))
        return hr_fail(error, HR_STATUS_VALUE,
                       "the output layout %s does not permute the layout %s", layout,
                       p->layout.name);
    if (pad_channels > channels) {
        if (p->pad_channels > 0 || !hr_program_has(p, 'C') || pad_channels > HR_CHANNELS_MAX)
            return not_fusable(error, "channels cannot be added here");
        for (int32_t c = (int32_t)channels; c < HR_CHANNELS_MAX; c++)
            p->fill[c] = fill_count > 0 ? fill[HR_MIN(c, fill_count - 1)] : 0.0f;
        p->pad_channels = pad_channels;
    }
    if (layout != NULL && layout[0] != '\0')
        return hr_layout_set(&p->layout, layout, error);
    return HR_STATUS_OK;
}

void hr_program_describe(const hr_image_program *p, hr_tensor *out)
{
    hr_shape shape = {.ndim = (int32_t)strlen(p->layout.name)};
    for (int32_t i = 0; i < shape.ndim; i++)
        shape.extent[i] = hr_program_extent(p, p->layout.name[i]);
    hr_tensor_describe(out, p->dtype, shape, p->layout.name);
}
