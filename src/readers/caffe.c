/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.caffe: an LMDB database whose values are messages
 *
 *   Datum { 1: channels, 2: height, 3: width, 4: data, 5: label, 7: encoded }
 */
#include "headrace/operator.h"
#include "readers/lmdb.h"
#include "readers/wire.h"

typedef struct caffe_args {
    hr_sampler_args sampler;
    hr_strings path;
    int32_t image_available, label_available;
} caffe_args;

typedef struct caffe_state {
    hr_lmdb db;
    bool image, label;
} caffe_state;

static const hr_arg_def caffe_arg_defs[] = {
    HR_ARG(caffe_args, path, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
           "Folders of the LMDB databases, each with a file `data.mdb`. Their samples follow one "
           "another, each database in the order of its keys."),
    HR_ARG(caffe_args, image_available, BOOL, 0, "True", "Output the picture."),
    HR_ARG(caffe_args, label_available, BOOL, 0, "True", "Output the label."),
    HR_SAMPLER_ORDER_DEFS(caffe_args),
    HR_READER_ACCEPTED_DEFS,
    HR_ARG_ACCEPT(dont_use_mmap, BOOL, "False", "Accepted: files are read, never mapped."),
    HR_ARG_END};

typedef struct datum {
    int32_t extent[3]; /* channels, height, width */
    hr_wire data;
    int32_t label, labels; /* labels: 0 or 1 */
    bool encoded;
} datum;

static int32_t caffe_outputs(const void *args, int32_t n_in)
{
    const caffe_args *a = args;
    (void)n_in;
    return !!a->image_available + !!a->label_available;
}

static hr_status caffe_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    if (caffe_outputs(args, 0) > 0)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "image_available and label_available are both False: there are no outputs");
}

static void caffe_destroy(void *state)
{
    hr_lmdb_close(&((caffe_state *)state)->db);
    hr_free(state);
}

static hr_status caffe_create(const void *args, void **state, hr_error *error)
{
    const caffe_args *a = args;
    caffe_state *s = hr_calloc(1, sizeof(*s), error);
    if (!s)
        return HR_STATUS_NO_MEMORY;
    s->image = a->image_available;
    s->label = a->label_available;
    hr_status status = hr_lmdb_open(&s->db, &a->path, error);
    if (status != HR_STATUS_OK)
        caffe_destroy(s);
    else
        *state = s;
    return status;
}

/* The last value of a field counts. */
static bool parse_datum(const hr_tensor *bytes, datum *out)
{
    hr_wire w = hr_wire_make(bytes->data, (size_t)bytes->shape.extent[0]);
    hr_wire_field f;
    *out = (datum){.data = hr_wire_make(w.at, 0), .encoded = true};
    while (hr_wire_next(&w, &f)) {
        if (f.type == HR_WIRE_BYTES && f.number == 4)
            out->data = f.bytes;
        if (f.type != HR_WIRE_VARINT)
            continue;
        int32_t value = (int32_t)f.value;
        if (f.number >= 1 && f.number <= 3)
            out->extent[f.number - 1] = value;
        if (f.number == 5) {
            out->label = value;
            out->labels = 1;
        }
        if (f.number == 7)
            out->encoded = f.value != 0;
    }
    return !w.bad;
}

static hr_status put_picture(const datum *d, const hr_tensor *bytes, hr_tensor *out,
                             hr_error *error)
{
    int64_t size = (int64_t)hr_wire_left(&d->data);
    hr_shape shape = {1, {size}};
    if (!d->encoded) {
        size_t volume;
        shape = (hr_shape){3, {d->extent[1], d->extent[2], d->extent[0]}};
        if (!hr_shape_volume(&shape, &volume) || volume != (size_t)size)
            return hr_fail(error, HR_STATUS_CORRUPT,
                           "the picture is not coded and has %lld bytes, but %d rows of %d pixels "
                           "with %d channels",
                           (long long)size, d->extent[1], d->extent[2], d->extent[0]);
    }
    hr_tensor_describe(out, HR_DTYPE_UINT8, shape, NULL);
    out->data = (void *)d->data.at;
    out->buffer = bytes->buffer;
    return HR_STATUS_OK;
}

static hr_status put_label(const datum *d, hr_arena *arena, hr_tensor *out, hr_error *error)
{
    int32_t *label = hr_arena_alloc(arena, sizeof(*label), error);
    if (!label)
        return HR_STATUS_NO_MEMORY;
    *label = d->label;
    hr_tensor_describe(out, HR_DTYPE_INT32, (hr_shape){1, {d->labels}}, NULL);
    out->data = label;
    return HR_STATUS_OK;
}

static hr_status caffe_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const caffe_state *s = c->state;
    datum d;
    (void)index;
    if (!parse_datum(bytes, &d))
        return hr_fail(error, HR_STATUS_CORRUPT, "the value, %lld bytes, is not a Datum of Caffe",
                       (long long)bytes->shape.extent[0]);
    if (s->image)
        HR_TRY(put_picture(&d, bytes, &c->out[0], error));
    return s->label ? put_label(&d, c->arena, &c->out[s->image], error) : HR_STATUS_OK;
}

static const hr_source_def caffe_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = hr_lmdb_count,
    .mean_bytes = hr_lmdb_mean_bytes,
    .name = hr_lmdb_name,
    .locate = hr_lmdb_locate,
    .emit = caffe_emit,
};
static const char *const caffe_aliases[] = {"caffe_reader", NULL};

const hr_op_def hr_op_readers_caffe = {
    HR_OP_ABI,
    .name = "readers.caffe",
    .doc = "Reads pictures and labels from LMDB databases of Caffe. Outputs: the picture, UINT8 of "
           "shape (size,) if it is coded, otherwise (height, width, channels); its label, INT32 of "
           "shape (1,), or (0,) if it has none.",
    .aliases = caffe_aliases,
    .devices = "cpu",
    .args = caffe_arg_defs,
    .args_size = sizeof(caffe_args),
    .out = HR_OUTPUTS({"images"}, {"labels"}),
    .out_count = -1,
    .outputs = caffe_outputs,
    .check = caffe_check,
    .create = caffe_create,
    .destroy = caffe_destroy,
    .source = &caffe_source,
};
