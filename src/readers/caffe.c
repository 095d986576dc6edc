/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.caffe: an LMDB database whose values are Datum messages. */
#include "headrace/operator.h"
#include "readers/caffe_messages.h"
#include "readers/lmdb.h"

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
    HR_ARG(caffe_args, image_available, BOOL, 0, "True", "Output the image."),
    HR_ARG(caffe_args, label_available, BOOL, 0, "True", "Output the label."),
    HR_SAMPLER_ORDER_DEFS(caffe_args),
    HR_SAMPLER_FILES_DEFS(caffe_args),
    HR_READER_ACCEPTED_DEFS,
    HR_ARG_ACCEPT(dont_use_mmap, BOOL, "False", "Accepted: files are read, never mapped."),
    HR_ARG_END};

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

static hr_status caffe_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const caffe_state *s = c->state;
    (void)index;
    return hr_caffe_datum(bytes, s->image, s->label, c->arena, c->out, error);
}

static const hr_source_def caffe_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = hr_lmdb_count,
    .mean_bytes = hr_lmdb_mean_bytes,
    .files = hr_lmdb_files,
    .name = hr_lmdb_name,
    .locate = hr_lmdb_locate,
    .emit = caffe_emit,
};
static const char *const caffe_aliases[] = {"caffe_reader", NULL};

const hr_op_def hr_op_readers_caffe = {
    HR_OP_ABI,
    .name = "readers.caffe",
    .doc = "Reads images and labels from LMDB databases of Caffe. Outputs: the image, UINT8 of "
           "shape (size,) if it is coded, otherwise (height, width, channels); its label, INT32 of "
           "shape (1,), or (0,) if it has none.",
    .aliases = caffe_aliases,
    .devices = "cpu",
    .args = caffe_arg_defs,
    .args_size = sizeof(caffe_args),
    .out = HR_OUTPUTS({"images"}, {"labels"}),
    .outputs = caffe_outputs,
    .check = caffe_check,
    .create = caffe_create,
    .destroy = caffe_destroy,
    .source = &caffe_source,
};
