/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.numpy: arrays of NumPy files, whole or a window of each. Whole files are read ahead; of
 * windows, only the header and the bytes around them are read. */
#include <string.h>

#include "ops/common/slice_range.h"
#include "ops/generic/view.h"
#include "ops/generic/window_parts.h"
#include "ops/image/crop_window.h"
#include "ops/io/npy.h"
#include "readers/files.h"

/* Bytes between rows of a window are read with them up to this size of a request. */
#define REQUEST ((int64_t)256 << 10)

typedef struct numpy_args {
    hr_sampler_args sampler;
    hr_files_args from;
    const char *file_filter, *out_of_bounds_policy;
    hr_strings members;
    hr_slice_args roi;
    float fill_value;
    int32_t dont_use_mmap;
} numpy_args;

typedef struct numpy_state {
    hr_files files;
    hr_strings members; /* of the node's arguments */
} numpy_state;

#define ROI_ARG(id, field, kind, extra, ...)                                                       \
    {                                                                                              \
        .name = #id, .type = HR_ARG_TYPE_##kind, .flags = HR_SLICE_WHEN_GIVEN | (extra),           \
        .offset = offsetof(numpy_args, roi.field), .size = sizeof(((numpy_args *)0)->roi.field),   \
        .doc = __VA_ARGS__                                                                         \
    }
static bool numpy_locates(const void *args, const hr_given *given)
{
    static const char *const window[] = {"roi_start",   "rel_roi_start", "roi_end",
                                         "rel_roi_end", "roi_shape",     "rel_roi_shape"};
    (void)args;
    for (size_t i = 0; i < HR_COUNT_OF(window); i++)
        if (hr_arg_given(given, window[i]))
            return false;
    return true;
}

static int32_t numpy_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return HR_MAX(((const numpy_args *)args)->members.n, 1);
}

static hr_status numpy_check(const void *args, const hr_given *given, hr_error *error)
{
    const numpy_args *a = args;
    HR_TRY(hr_files_check(&a->from, error));
    if (a->members.v && !numpy_locates(args, given))
        return hr_fail(error, HR_STATUS_ERROR, "windows of members of archives cannot be read");
    if (a->sampler.use_o_direct && !a->dont_use_mmap)
        return hr_fail(error, HR_STATUS_ERROR, "use_o_direct needs dont_use_mmap=True");
    return HR_STATUS_OK;
}

static void numpy_destroy(void *state)
{
    hr_files_fini(&((numpy_state *)state)->files);
    hr_free(state);
}

static hr_status numpy_create(const void *args, void **state, hr_error *error)
{
    const numpy_args *a = args;
    const hr_list_filter filter = {.files = {&a->file_filter, 1}, .case_sensitive = true};
    numpy_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->members = a->members;
    hr_status status = hr_files_find(&s->files, &a->from, &filter, (hr_ints){0}, error);
    if (status != HR_STATUS_OK)
        numpy_destroy(s);
    else
        *state = s;
    return status;
}

/* ---- whole files ---- */

static hr_status emit_array(hr_op_call *c, int32_t k, const hr_tensor *file, hr_error *error)
{
    hr_npy npy;
    const uint8_t *data, *start = file->data;
    size_t size;
    hr_tensor *out = &c->out[k];

    HR_TRY(hr__npy_open(file, &((const numpy_state *)c->state)->members, k, c->arena, &npy, &data,
                        &size, error));
    hr_tensor_describe(out, npy.dtype, npy.shape, NULL);
    char *elements = (char *)(uintptr_t)data + npy.offset;
    if (hr__npy_usable(&npy, elements)) {
        bool inside = data >= start && data <= start + file->shape.extent[0];
        out->data = elements;
        out->buffer = inside ? file->buffer : NULL;
        return HR_STATUS_OK;
    }
    HR_TRY(hr_task_memory(c->task, k, out, error));
    if (npy.bytes > 0)
        hr__npy_copy(&npy, elements, out->data);
    return HR_STATUS_OK;
}

static hr_status emit_all(hr_op_call *c, const hr_tensor *file, hr_error *error)
{
    for (int32_t k = 0; k < c->n_out; k++)
        HR_TRY(emit_array(c, k, file, error));
    return HR_STATUS_OK;
}

/* ---- windows ---- */

typedef struct window {
    hr_object *object;
    hr_npy npy;
    int64_t start[HR_MAX_NDIM], size[HR_MAX_NDIM]; /* may extend beyond the array */
    hr_region region;                              /* the part inside the array */
    int64_t from, to;                              /* its first element in the file, the output */
    int32_t outer[HR_MAX_NDIM], outer_count;       /* dimensions with a request per index */
    size_t request;                                /* bytes of each */
    char *scratch;
} window;

static hr_status read_header(hr_op_call *c, window *w, hr_error *error)
{
    size_t all = (size_t)hr_object_size(w->object), have = HR_MIN(all, HR_NPY_FIRST), end = 0;
    char *head = hr_arena_alloc(c->arena, have, error);
    HR_TRY_ALLOC(head);
    HR_TRY(hr_object_read(w->object, 0, have, head, NULL, NULL, error));
    HR_TRY(hr__npy_header_end(head, have, &end, error));
    if (end > have && end <= all) {
        have = end;
        if (!(head = hr_arena_alloc(c->arena, have, error)))
            return HR_STATUS_NO_MEMORY;
        HR_TRY(hr_object_read(w->object, 0, have, head, NULL, NULL, error));
    }
    HR_TRY(hr__npy_parse(head, have, &w->npy, error));
    return hr__npy_complete(&w->npy, all, error);
}

static hr_status bound(const numpy_args *a, window *w, int32_t d, int64_t end, hr_error *error)
{
    int64_t extent = w->npy.shape.extent[d];
    bool inside = w->start[d] >= 0 && end <= extent;
    hr_bounds policy = hr__bounds_parse(a->out_of_bounds_policy);
    if (!inside && policy == HR_BOUNDS_TRIM) {
        w->start[d] = HR_MIN(HR_MAX(w->start[d], 0), extent);
        end = HR_MAX(HR_MIN(end, extent), w->start[d]);
    } else if (!inside && policy != HR_BOUNDS_PAD) {
        return hr_fail(error, HR_STATUS_ERROR,
                       "the window is from %lld to %lld along dimension %d, which has %lld "
                       "elements. Give `out_of_bounds_policy` \"pad\" or \"trim_to_shape\" to "
                       "allow it",
                       (long long)w->start[d], (long long)end, d, (long long)extent);
    }
    w->size[d] = end - w->start[d];
    return HR_STATUS_OK;
}

static hr_status find_window(hr_op_call *c, window *w, hr_error *error)
{
    const numpy_args *a = c->args;
    hr_tensor array;
    int32_t axes[HR_MAX_NDIM], count = 0;

    hr_tensor_describe(&array, w->npy.dtype, w->npy.shape, NULL);
    HR_TRY(hr__axes_resolve(&array, a->roi.axes.n > 0 ? a->roi.axes : (hr_ints){0}, NULL, axes,
                            &count, error));
    memcpy(w->size, w->npy.shape.extent, sizeof(w->size));
    for (int32_t i = 0; i < count; i++) {
        int32_t d = axes[i];
        int64_t end;
        hr_status status =
            hr__slice_range(c, &a->roi, count, i, array.shape.extent[d], &w->start[d], &end, error);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "the window (roi)");
        HR_TRY(bound(a, w, d, end, error));
    }
    hr_tensor_describe(&c->out[0], w->npy.dtype, hr_shape_make(w->npy.shape.ndim, w->size), NULL);
    return HR_STATUS_OK;
}

/* Fills what is outside the array. The value is rounded, which that of `slice` is not. */
static hr_status fill_border(const hr_op_call *c, const window *w, hr_error *error)
{
    const numpy_args *a = c->args;
    hr_op_call inner = *c;
    hr_tensor array;
    size_t item = hr_dtype_size(w->npy.dtype);
    char *fill = hr_arena_alloc(c->arena, HR_REGION_FILL, error);
    HR_TRY_ALLOC(fill);
    for (size_t k = 0; k < HR_REGION_FILL; k += item)
        hr_convert(fill + k, w->npy.dtype, &a->fill_value, HR_DTYPE_FLOAT, 1);
    hr_tensor_describe(&array, w->npy.dtype, w->npy.shape, NULL);
    inner.in = &array;
    inner.n_in = inner.count = 1;
    HR_TRY(hr__window_parts(&inner, w->start, &a->fill_value, 1, -1, error));
    hr_region_parts *parts = inner.memo;
    parts->fill = fill;
    if (parts->count > 0 && parts->part[0].input == 0) {
        parts->part++;
        parts->count--;
    }
    return hr__parts_run(&inner, error);
}

/* The bytes from the first to the last element of the window along the last `count` of the
 * dimensions that begin with the slowest one, and how many of them are needed. */
static size_t extent_of(const window *w, int32_t count, size_t *needed)
{
    const hr_region *r = &w->region;
    size_t bytes = r->item;
    *needed = r->item;
    for (int32_t i = 0; i < count; i++) {
        int32_t d = w->npy.fortran ? i : r->ndim - 1 - i;
        bytes += (size_t)(r->extent[d] - 1) * (size_t)r->from[d];
        *needed *= (size_t)r->extent[d];
    }
    return bytes;
}

/* The part inside the array, and how to read it. false: it is empty. */
static bool plan_reads(window *w, const hr_tensor *out)
{
    hr_region *r = &w->region;
    hr__region_init(r, &out->shape, hr_dtype_size(out->dtype));
    hr__npy_strides(&w->npy, r->from);
    w->from = (int64_t)w->npy.offset;
    for (int32_t d = 0; d < r->ndim; d++) {
        int64_t low = HR_MAX(w->start[d], 0);
        r->extent[d] = HR_MIN(w->start[d] + w->size[d], w->npy.shape.extent[d]) - low;
        if (r->extent[d] <= 0)
            return false;
        w->from += low * r->from[d];
        w->to += (low - w->start[d]) * r->to[d];
    }
    size_t needed;
    for (w->outer_count = 0; w->outer_count < r->ndim; w->outer_count++) {
        int32_t d = w->npy.fortran ? r->ndim - 1 - w->outer_count : w->outer_count;
        w->request = extent_of(w, r->ndim - w->outer_count, &needed);
        if (w->request <= REQUEST || w->request / 2 <= needed)
            return true;
        w->outer[w->outer_count] = d;
    }
    w->request = r->item;
    return true;
}

/* Reads the part for the first `depth` of the outer dimensions being fixed. */
static hr_status read_part(const window *w, int32_t depth, int64_t from, char *to, hr_error *error)
{
    const hr_region *r = &w->region;
    if (depth == w->outer_count) {
        HR_TRY(hr_object_read(w->object, from, w->request, w->scratch, NULL, NULL, error));
        hr_region part = *r;
        for (int32_t i = 0; i < depth; i++)
            part.extent[w->outer[i]] = 1;
        hr__region_copy(to, w->scratch, &part);
        return HR_STATUS_OK;
    }
    int32_t d = w->outer[depth];
    for (int64_t i = 0; i < r->extent[d]; i++)
        HR_TRY(read_part(w, depth + 1, from + i * r->from[d], to + i * r->to[d], error));
    return HR_STATUS_OK;
}

static hr_status emit_window(hr_op_call *c, window *w, hr_error *error)
{
    hr_tensor *out = &c->out[0];
    size_t count;
    HR_TRY(read_header(c, w, error));
    HR_TRY(find_window(c, w, error));
    if (!hr_shape_volume(&out->shape, &count))
        return hr_fail(error, HR_STATUS_LIMIT, "the size of the window overflows");
    HR_TRY(hr_task_memory(c->task, 0, out, error));
    if (count == 0)
        return HR_STATUS_OK;
    if (plan_reads(w, out)) {
        if (!(w->scratch = hr_arena_alloc(c->arena, w->request, error)))
            return HR_STATUS_NO_MEMORY;
        HR_TRY(read_part(w, 0, w->from, (char *)out->data + w->to, error));
        hr__npy_repair(&w->npy, out->data, count);
    }
    return fill_border(c, w, error);
}

static hr_status numpy_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const hr_files *f = &((const numpy_state *)c->state)->files;
    window *w;
    if (bytes)
        return emit_all(c, bytes, error);
    if (!(w = hr_arena_alloc(c->arena, sizeof(*w), error)))
        return HR_STATUS_NO_MEMORY;
    memset(w, 0, sizeof(*w));
    HR_TRY(hr_object_open(&w->object, f->root, hr_file_list_name(&f->list, index), NULL, error));
    hr_status status = emit_window(c, w, error);
    hr_object_close(w->object);
    return status;
}

static const hr_source_def numpy_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = hr_files_count,
    .name = hr_files_name,
    .locate = hr_files_locate,
    .locates = numpy_locates,
    .emit = numpy_emit,
};

const hr_op_def hr_op_readers_numpy = {
    HR_OP("readers.numpy"),
    .doc = "Reads arrays that numpy.save wrote, whole or a window of each. Arrays in Fortran order "
           "or in the opposite byte order become ordinary tensors. On a GPU, arrays are read on "
           "the CPU and copied.",
    .aliases = HR_NAMES("numpy_reader"),
    .devices = "cpu|gpu",
    HR_ARGS(
        numpy_args,
        HR_FILES_ARG_DEFS(
            numpy_args,
            "Folder with the files, which may also be in its sub-folders, but not deeper.",
            "the path of a file"),
        HR_ARG(numpy_args, file_filter, STRING, 0, "\"*.npy\"",
               "Glob of the names of files in file_root."),
        HR_ARG(numpy_args, members, STRINGS, HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK, NULL,
               "Not in DALI. The files are archives of arrays (.npz), and these are the names of "
               "the arrays to read. There is one output for each of them.",
               .count_min = 1, .count_max = HR_OP_MAX_OUTPUTS),
        ROI_ARG(roi_start, start, INTS, 0, "Start of the window to read, in elements.",
                .excludes = "rel_roi_start"),
        ROI_ARG(rel_roi_start, rel_start, FLOATS, HR_ARG_NONFINITE,
                "Start of the window as a fraction of the extent."),
        ROI_ARG(roi_end, end, INTS, 0, "End of the window in elements (not included).",
                .excludes = "rel_roi_end|roi_shape|rel_roi_shape"),
        ROI_ARG(rel_roi_end, rel_end, FLOATS, HR_ARG_NONFINITE,
                "End of the window as a fraction of the extent.",
                .excludes = "roi_shape|rel_roi_shape"),
        ROI_ARG(roi_shape, shape, INTS, 0, "Size of the window in elements.",
                .excludes = "rel_roi_shape"),
        ROI_ARG(rel_roi_shape, rel_shape, FLOATS, HR_ARG_NONFINITE,
                "Size of the window as a fraction of the extent."),
        {.name = "roi_axes",
         .type = HR_ARG_TYPE_INTS,
         .offset = offsetof(numpy_args, roi.axes),
         .size = sizeof(hr_ints),
         .def = "[]",
         .doc = "The axes to which the elements of the window's arguments refer; negative numbers "
                "count from the end. Default: all axes."},
        HR_ARG(numpy_args, out_of_bounds_policy, STRING, 0, "\"error\"",
               "What to do if the window extends beyond the array: \"error\", \"pad\" (fill with "
               "`fill_value`) or \"trim_to_shape\" (make the window smaller).",
               .choices = "error|pad|trim_to_shape"),
        HR_ARG(numpy_args, fill_value, FLOAT, HR_ARG_NONFINITE, "0.0",
               "Value outside the array for the policy \"pad\"."),
        HR_ARG(numpy_args, dont_use_mmap, BOOL, 0, "False",
               "Accepted: files are read, never mapped."),
        HR_ARG_ACCEPT(cache_header_information, BOOL, "False",
                      "Accepted: headers are always read with the file."),
        HR_ARG_ACCEPT(register_buffers, BOOL, "True", "Accepted: it is about GPUDirect Storage."),
        HR_SAMPLER_ORDER_DEFS(numpy_args), HR_SAMPLER_WHOLE_DEFS(numpy_args),
        HR_READER_ALWAYS_DEFS),
    .out = HR_OUTPUTS({"array"}),
    .outputs = numpy_outputs,
    .check = numpy_check,
    .create = numpy_create,
    .destroy = numpy_destroy,
    .source = &numpy_source,
};
