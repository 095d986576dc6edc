/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.coco: images with boxes, labels and masks. */
#include <string.h>

#include "readers/coco/data.h"

typedef struct coco_args {
    hr_sampler_args sampler;
    const char *file_root, *annotations_file;
    const char *preprocessed_annotations, *save_preprocessed_annotations_dir;
    hr_strings images;
    float size_threshold;
    int32_t ltrb, ratio, skip_empty, avoid_class_remapping, include_iscrowd, image_ids;
    int32_t polygon_masks, pixelwise_masks, masks, save_preprocessed_annotations;
} coco_args;

typedef struct coco_state {
    const coco_args *args;
    hr_coco_data data;
} coco_state;

#define FLAG(field, deflt, text) HR_ARG(coco_args, field, BOOL, 0, deflt, text)
static hr_status preprocessed_check(const coco_args *a, const hr_given *given, hr_error *error)
{
    const char *refused = a->annotations_file[0]                  ? "annotations_file"
                          : a->skip_empty                         ? "skip_empty"
                          : a->ratio                              ? "ratio"
                          : a->ltrb                               ? "ltrb"
                          : hr_arg_given(given, "images")         ? "images"
                          : hr_arg_given(given, "size_threshold") ? "size_threshold"
                                                                  : NULL;
    if (!refused)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s cannot be used with preprocessed_annotations: the annotations are given out "
                   "as they were saved",
                   refused);
}

static bool legacy(const coco_args *a)
{
    return a->masks == 1;
}

static hr_status coco_check(const void *args, const hr_given *given, hr_error *error)
{
    const coco_args *a = args;
    if (!a->file_root)
        return hr_fail(error, HR_STATUS_ERROR, "give file_root, the folder of the images");
    if (a->preprocessed_annotations[0])
        HR_TRY(preprocessed_check(a, given, error));
    else if (!a->annotations_file[0])
        return hr_fail(error, HR_STATUS_ERROR, "give annotations_file or preprocessed_annotations");
    if (a->pixelwise_masks && (a->polygon_masks || legacy(a)))
        return hr_fail(error, HR_STATUS_ERROR,
                       "pixelwise_masks and polygon_masks exclude each other");
    if ((a->save_preprocessed_annotations != 0) != (a->save_preprocessed_annotations_dir[0] != 0))
        return hr_fail(error, HR_STATUS_ERROR,
                       "save_preprocessed_annotations and save_preprocessed_annotations_dir belong "
                       "together");
    return HR_STATUS_OK;
}

static int32_t coco_outputs(const void *args, int32_t n_in)
{
    const coco_args *a = args;
    (void)n_in;
    return 3 + (a->polygon_masks || legacy(a) ? 2 : a->pixelwise_masks != 0) + (a->image_ids != 0);
}

/* ---- the state ---- */

static void coco_destroy(void *state)
{
    coco_state *s = state;
    hr_coco_fini(&s->data);
    hr_free(s);
}

static hr_status load(coco_state *s, hr_error *error)
{
    const coco_args *a = s->args;
    const hr_coco_parts parts = {.ids = a->image_ids,
                                 .polygons = a->polygon_masks || legacy(a),
                                 .pixels = a->pixelwise_masks};
    const hr_coco_options options = {.ltrb = a->ltrb,
                                     .ratio = a->ratio,
                                     .skip_empty = a->skip_empty,
                                     .keep_ids = a->avoid_class_remapping,
                                     .crowds = a->include_iscrowd,
                                     .masks = parts.polygons || parts.pixels,
                                     .drawn = parts.pixels,
                                     .size_threshold = a->size_threshold,
                                     .images = a->images};
    const char *saved = a->preprocessed_annotations, *save = a->save_preprocessed_annotations_dir;
    if (saved[0] && hr_coco_restore(&s->data, saved, parts, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "preprocessed_annotations '%s'", saved);
    if (!saved[0] && hr_coco_load(&s->data, a->annotations_file, &options, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "annotations_file '%s'", a->annotations_file);
    if (s->data.names.count == 0)
        return hr_fail(error, HR_STATUS_ERROR, "no files found: no image of '%s' is left",
                       saved[0] ? saved : a->annotations_file);
    if (save[0] && hr_coco_save(&s->data, save, parts, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "save_preprocessed_annotations_dir '%s'", save);
    return HR_STATUS_OK;
}

static hr_status coco_create(const void *args, void **state, hr_error *error)
{
    coco_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->args = args;
    hr_status status = load(s, error);
    if (status != HR_STATUS_OK) {
        coco_destroy(s);
        return status;
    }
    *state = s;
    return HR_STATUS_OK;
}

static int64_t coco_count(const void *state)
{
    return ((const coco_state *)state)->data.names.count;
}

static const char *coco_name(const void *state, int64_t index, char *room, size_t size)
{
    (void)room;
    (void)size;
    return hr_file_list_name(&((const coco_state *)state)->data.names, index);
}

static hr_status coco_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                             hr_error *error)
{
    const coco_state *s = state;
    (void)error;
    spans[0] = (hr_span){
        .root = s->args->file_root, .path = hr_file_list_name(&s->data.names, index), .size = -1};
    *count = 1;
    return HR_STATUS_OK;
}

/* ---- samples ---- */

/* An output with `rows` rows of a table. It refers to the state, from which it is copied. */
static void put_rows(hr_tensor *out, hr_dtype dtype, const hr_scan *table, hr_coco_range rows,
                     int64_t columns)
{
    const hr_shape shape =
        columns == 0 ? (hr_shape){1, {rows.count}} : (hr_shape){2, {rows.count, columns}};
    size_t row = hr_dtype_size(dtype) * (size_t)HR_MAX(columns, 1);
    hr_tensor_describe(out, dtype, shape, NULL);
    if (rows.count > 0)
        out->data = table->data + (size_t)rows.first * row;
}

/* As the deprecated argument `masks` has them. */
static hr_status count_coordinates(hr_op_call *c, hr_tensor *polygons, hr_error *error)
{
    int64_t n = polygons->shape.extent[0];
    const hr_coco_polygon *from = polygons->data;
    hr_coco_polygon *to = hr_arena_alloc(c->arena, (size_t)n * sizeof(*to), error);
    HR_TRY_ALLOC(to);
    for (int64_t i = 0; i < n; i++)
        to[i] = (hr_coco_polygon){from[i].mask, (int32_t)((uint32_t)from[i].start * 2),
                                  (int32_t)((uint32_t)from[i].end * 2)};
    polygons->data = to;
    return HR_STATUS_OK;
}

static hr_status put_pixels(hr_op_call *c, hr_tensor *out, const hr_coco_data *d,
                            const hr_coco_image *m, hr_error *error)
{
    size_t pixels = (size_t)m->width * (size_t)m->height; /* both fit 31 bits */
    if (pixels == 0) /* of saved annotations; others are refused when they are loaded */
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the annotations do not have its width and height, which pixelwise_masks "
                       "needs");
    if ((int64_t)pixels > hr_task_max_pixels(c->task))
        return hr_fail(error, HR_STATUS_LIMIT, "its mask would have %zu pixels; the limit is %lld",
                       pixels, (long long)hr_task_max_pixels(c->task));
    hr_tensor_describe(out, HR_DTYPE_INT32, (hr_shape){3, {m->height, m->width, 1}}, "HWC");
    out->data = hr_arena_alloc(c->arena, pixels * sizeof(int32_t), error);
    HR_TRY_ALLOC(out->data);
    memset(out->data, 0, pixels * sizeof(int32_t));
    return hr_coco_draw(d, m, out->data, c->arena, error);
}

static hr_status coco_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const coco_state *s = c->state;
    const coco_args *a = s->args;
    const hr_coco_data *d = &s->data;
    const hr_coco_image *m = &HR_COCO_AT(d->images, hr_coco_image)[index];
    hr_tensor *out = &c->out[3];
    c->out[0] = *bytes;
    put_rows(&c->out[1], HR_DTYPE_FLOAT, &d->boxes, m->boxes, 4);
    put_rows(&c->out[2], HR_DTYPE_INT32, &d->labels, m->boxes, 0);
    if (a->polygon_masks || legacy(a)) {
        put_rows(out, HR_DTYPE_INT32, &d->polygons, m->polygons, 3);
        if (legacy(a))
            HR_TRY(count_coordinates(c, out, error));
        put_rows(out + 1, HR_DTYPE_FLOAT, &d->vertices, m->vertices, 2);
        out += 2;
    } else if (a->pixelwise_masks) {
        HR_TRY(put_pixels(c, out++, d, m, error));
    }
    if (a->image_ids) {
        hr_tensor_describe(out, HR_DTYPE_INT32, (hr_shape){1, {1}}, NULL);
        out->data = (void *)&m->id;
    }
    return HR_STATUS_OK;
}

static const hr_source_def coco_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = coco_count,
    .name = coco_name,
    .locate = coco_locate,
    .emit = coco_emit,
};

const hr_op_def hr_op_readers_coco = {
    HR_OP("readers.coco"),
    .doc = "Reads images with annotations in the format of COCO. Outputs: the bytes of the file, "
           "boxes (FLOAT of shape (n, 4)), labels (INT32 of shape (n,)), and those that the "
           "arguments add.",
    .aliases = HR_NAMES("coco_reader"),
    .devices = "cpu",
    HR_ARGS(
        coco_args,
        HR_ARG(coco_args, file_root, STRING, HR_ARG_OPTIONAL, NULL, "Folder of the images."),
        HR_ARG(coco_args, annotations_file, STRING, 0, "\"\"", "The annotations: a JSON file."),
        HR_ARG(coco_args, preprocessed_annotations, STRING, 0, "\"\"",
               "Folder with annotations that an earlier run saved, in place of annotations_file."),
        HR_ARG_RENAMED(meta_files_path, STRING, preprocessed_annotations, "0.28"),
        HR_ARG(coco_args, images, STRINGS, HR_ARG_OPTIONAL, NULL,
               "Names of the images to read, in this order; other images in the annotations are "
               "left out, and so are names that are not in the annotations. Default: all images, "
               "by their id."),
        FLAG(ltrb, "False",
             "Boxes are left, top, right, bottom instead of left, top, width, height."),
        FLAG(ratio, "False", "Boxes and polygons are fractions of the size of the image."),
        HR_ARG(coco_args, size_threshold, FLOAT, 0, "0.1",
               "Annotations whose box has a side shorter than this many pixels are left out."),
        FLAG(skip_empty, "False", "Leave out images without annotations."),
        FLAG(include_iscrowd, "True", "Read annotations of crowds (iscrowd), too."),
        FLAG(avoid_class_remapping, "False",
             "Labels are ids of categories; by default, they count the categories of the file from "
             "1, and 0 is an unknown category."),
        FLAG(image_ids, "False", "Add an output with the id of the image."),
        HR_ARG_RENAMED(save_img_ids, BOOL, image_ids, "0.28"),
        FLAG(polygon_masks, "False",
             "Add two outputs: polygons, INT32 of shape (n, 3) with the number of the box and the "
             "first and the end vertex, and vertices, FLOAT of shape (n, 2)."),
        {.name = "masks",
         .type = HR_ARG_TYPE_BOOL,
         .flags = HR_ARG_DEPRECATED | HR_ARG_OPTIONAL,
         .offset = offsetof(coco_args, masks),
         .size = sizeof(int32_t),
         .def = "False",
         .since = "0.28",
         .doc = "Like polygon_masks, but polygons count coordinates instead of vertices."},
        FLAG(pixelwise_masks, "False",
             "Add an output: the label of each pixel, INT32 of shape (height, width, 1)."),
        FLAG(save_preprocessed_annotations, "False",
             "Save the annotations to save_preprocessed_annotations_dir when the pipeline is "
             "built."),
        HR_ARG_RENAMED(dump_meta_files, BOOL, save_preprocessed_annotations, "0.28"),
        HR_ARG(coco_args, save_preprocessed_annotations_dir, STRING, 0, "\"\"",
               "Folder to save the annotations to."),
        HR_ARG_RENAMED(dump_meta_files_path, STRING, save_preprocessed_annotations_dir, "0.28"),
        HR_SAMPLER_ARG_DEFS(coco_args)),
    .out = HR_OUTPUTS({"images"}, {"boxes"}, {"labels"}),
    .outputs = coco_outputs,
    .check = coco_check,
    .create = coco_create,
    .destroy = coco_destroy,
    .source = &coco_source,
};
