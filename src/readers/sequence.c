/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.sequence: images in folders, which are the frames of sequences. */
#include <string.h>

#include "codecs/codec.h"
#include "headrace/operator.h"
#include "readers/list.h"

typedef struct sequence_args {
    hr_sampler_args sampler;
    const char *file_root;
    int32_t sequence_length, step, stride, image_type;
} sequence_args;

typedef struct sequence_state {
    const sequence_args *args;
    hr_file_list frames;
    int64_t *first; /* of a sequence: the number of its first frame */
    int64_t count;
} sequence_state;

/* ---- the sequences ---- */

static void sequence_destroy(void *state)
{
    sequence_state *s = state;
    hr_file_list_fini(&s->frames);
    hr_free(s->first);
    hr_free(s);
}

/* The sequences in the frames `at` .. `end` - 1, which are those of one folder. */
static void cut(sequence_state *s, int64_t at, int64_t end)
{
    int64_t span = (int64_t)(s->args->sequence_length - 1) * s->args->stride;
    for (; at + span < end; at += s->args->step)
        s->first[s->count++] = at;
}

static hr_status find_sequences(sequence_state *s, hr_error *error)
{
    static const char *const globs[] = {"*.jpg", "*.jpeg", "*.png", "*.bmp", "*.tif", "*.tiff",
                                        "*.pnm", "*.ppm",  "*.pgm", "*.pbm", "*.jp2", "*.webp"};
    const hr_list_filter filter = {.files = {globs, HR_COUNT_OF(globs)}, .labelled = true};
    const char *root = s->args->file_root;
    HR_TRY(hr_file_list_scan(&s->frames, root, &filter, error));
    int64_t frames = s->frames.count;
    if (frames == 0)
        return hr_fail(error, HR_STATUS_ERROR, "no files found in file_root '%s'", root);
    if (!(s->first = hr_calloc((size_t)frames, sizeof(*s->first), error)))
        return HR_STATUS_NO_MEMORY;
    for (int64_t at = 0, end; at < frames; at = end) {
        for (end = at; end < frames && s->frames.label[end] == s->frames.label[at]; end++) {
        }
        cut(s, at, end);
    }
    if (s->count > 0)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "no sub-folder of file_root '%s' has enough frames for a sequence of %d with "
                   "stride %d",
                   root, s->args->sequence_length, s->args->stride);
}

static hr_status sequence_create(const void *args, void **state, hr_error *error)
{
    sequence_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->args = args;
    hr_status status = find_sequences(s, error);
    if (status != HR_STATUS_OK)
        sequence_destroy(s);
    else
        *state = s;
    return status;
}

static int64_t sequence_count(const void *state)
{
    return ((const sequence_state *)state)->count;
}

static const char *frame_path(const sequence_state *s, int64_t index, int32_t frame)
{
    return hr_file_list_name(&s->frames, s->first[index] + (int64_t)frame * s->args->stride);
}

static const char *sequence_name(const void *state, int64_t index, char *room, size_t size)
{
    (void)room;
    (void)size;
    return frame_path(state, index, 0);
}

/* Longer sequences are read frame by frame. */
static bool sequence_locates(const void *args, const hr_given *given)
{
    (void)given;
    return ((const sequence_args *)args)->sequence_length <= HR_SOURCE_MAX_SPANS;
}

static hr_status sequence_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                                 hr_error *error)
{
    const sequence_state *s = state;
    (void)error;
    *count = s->args->sequence_length;
    for (int32_t i = 0; i < *count; i++)
        spans[i] =
            (hr_span){.root = s->args->file_root, .path = frame_path(s, index, i), .size = -1};
    return HR_STATUS_OK;
}

/* ---- samples ---- */

static hr_status read_frame(hr_op_call *c, const char *path, hr_tensor *out, hr_error *error)
{
    const sequence_state *s = c->state;
    hr_object *object;
    HR_TRY(hr_object_open(&object, s->args->file_root, path, NULL, error));
    const int64_t size = hr_object_size(object);
    hr_tensor_describe(out, HR_DTYPE_UINT8, (hr_shape){1, {size}}, NULL);
    out->data = hr_arena_alloc(c->arena, (size_t)size, error);
    hr_status status = out->data
                           ? hr_object_read(object, 0, (size_t)size, out->data, NULL, NULL, error)
                           : HR_STATUS_NO_MEMORY;
    hr_object_close(object);
    return status;
}

/* Describes the output, as the first frame says, or checks that another frame fits it. */
static hr_status fit_frame(hr_op_call *c, int32_t frame, const hr_image_info *info, hr_error *error)
{
    const sequence_args *a = ((const sequence_state *)c->state)->args;
    hr_tensor *out = &c->out[0];
    char text[2][96];
    size_t bytes;
    hr_shape shape = {.ndim = 4, .extent = {a->sequence_length}};
    hr_image_extent(info, true, &shape.extent[1], &shape.extent[2]);
    shape.extent[3] = hr_image_type_channels(info, (hr_image_type)a->image_type);
    if (frame > 0)
        return hr_shape_equal(&shape, &out->shape)
                   ? HR_STATUS_OK
                   : hr_fail(error, HR_STATUS_ERROR,
                             "with it, the sequence would be %s, but with the first frame it is %s",
                             hr_shape_text(&shape, text[0], sizeof(text[0])),
                             hr_shape_text(&out->shape, text[1], sizeof(text[1])));
    hr_tensor_describe(out, HR_DTYPE_UINT8, shape, "FHWC");
    if (!hr_tensor_bytes(out, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the size of the sequence overflows");
    return hr_task_memory(c->task, 0, out, error);
}

static hr_status decode_frame(hr_op_call *c, int32_t frame, const hr_tensor *bytes, hr_error *error)
{
    const sequence_args *a = ((const sequence_state *)c->state)->args;
    const size_t size = (size_t)bytes->shape.extent[0];
    hr_image_info info;
    HR_TRY(hr_image_probe(bytes->data, size, hr_task_max_pixels(c->task), &info, error));
    HR_TRY(hr_image_warn_others(&info, "", c->task, error));
    HR_TRY(fit_frame(c, frame, &info, error));
    const int64_t *extent = c->out[0].shape.extent;
    const size_t row = (size_t)(extent[2] * extent[3]);
    const hr_decode_request request = {.window = {.h = extent[1], .w = extent[2]},
                                       .type = (hr_image_type)a->image_type,
                                       .dtype = HR_DTYPE_UINT8,
                                       .adjust_orientation = true,
                                       .dst = (char *)c->out[0].data +
                                              (size_t)frame * (size_t)extent[1] * row,
                                       .stride = row};
    return hr_image_decode(bytes->data, size, &info, &request, c, error);
}

static hr_status sequence_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes,
                               hr_error *error)
{
    const sequence_state *s = c->state;
    for (int32_t i = 0; i < s->args->sequence_length; i++) {
        const char *path = frame_path(s, index, i);
        hr_arena_mark mark = hr_arena_save(c->arena);
        hr_tensor own;
        hr_status status = bytes ? HR_STATUS_OK : read_frame(c, path, &own, error);
        if (status == HR_STATUS_OK)
            status = decode_frame(c, i, bytes ? &bytes[i] : &own, error);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "frame %d, '%s'", i, path);
        if (i > 0) /* the output may be in the arena */
            hr_arena_restore(c->arena, mark);
    }
    return HR_STATUS_OK;
}

static const hr_source_def sequence_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = sequence_count,
    .name = sequence_name,
    .locate = sequence_locate,
    .locates = sequence_locates,
    .emit = sequence_emit,
};

const hr_op_def hr_op_readers_sequence = {
    HR_OP("readers.sequence"),
    .doc = "Reads sequences of images. The images in each sub-folder of `file_root` are frames "
           "that follow one another; a sequence has the frames of one sub-folder. The output is "
           "UINT8 of layout FHWC. Frames are decoded as by decoders.image.",
    .aliases = HR_NAMES("sequence_reader"),
    .devices = "cpu",
    .flags = HR_OP_SEQUENCE | HR_OP_DEPRECATED,
    HR_ARGS(sequence_args,
            HR_ARG(sequence_args, file_root, STRING, HR_ARG_REQUIRED, NULL,
                   "Folder whose sub-folders contain the frames, in byte order of their names: "
                   "JPEG, PNG, BMP, TIFF, PNM, JPEG 2000 and WebP files."),
            HR_ARG(sequence_args, sequence_length, INT, HR_ARG_REQUIRED, NULL,
                   "Number of frames in a sequence.", .min = 1, .max = INT32_MAX),
            HR_ARG(sequence_args, step, INT, 0, "1",
                   "Distance in frames from the start of a sequence to that of the next one.",
                   .min = 1, .max = INT32_MAX),
            HR_ARG(sequence_args, stride, INT, 0, "1",
                   "Distance in frames between neighbouring frames of a sequence.", .min = 1,
                   .max = INT32_MAX),
            HR_ARG(sequence_args, image_type, IMAGE_TYPE, 0, "RGB",
                   "Colour space of the output: RGB, BGR or YCbCr (3 channels), GRAY (1), or "
                   "ANY_DATA (the channels of the files)."),
            HR_SAMPLER_ORDER_DEFS(sequence_args), HR_READER_ACCEPTED_DEFS),
    .out = HR_OUTPUTS({"sequence"}),
    .create = sequence_create,
    .destroy = sequence_destroy,
    .source = &sequence_source,
};
