/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.caffe and readers.caffe2: LMDB databases whose values are messages, Datum of the first
 * and TensorProtos of the second. */
#include "headrace/operator.h"
#include "readers/records/caffe_messages.h"
#include "readers/records/lmdb.h"

typedef struct caffe_state {
    hr_lmdb db;
    bool image, label;       /* of Caffe */
    hr_caffe2_wanted wanted; /* of Caffe2 */
} caffe_state;

#define CAFFE_PATH(S)                                                                              \
    HR_ARG(S, path, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,                             \
           "Folders of the LMDB databases, each with a file `data.mdb`. Their samples follow one " \
           "another, each database in the order of its keys.")
#define CAFFE_SAMPLER(S) HR_SAMPLER_ORDER_DEFS(S), HR_SAMPLER_FILES_DEFS(S), HR_READER_ACCEPTED_DEFS

static void caffe_destroy(void *state)
{
    hr_lmdb_close(&((caffe_state *)state)->db);
    hr_free(state);
}

static hr_status open_database(const hr_strings *path, caffe_state state, void **out,
                               hr_error *error)
{
    caffe_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    *s = state;
    hr_status status = hr_lmdb_open(&s->db, path, error);
    if (status != HR_STATUS_OK)
        caffe_destroy(s);
    else
        *out = s;
    return status;
}

#define CAFFE_SOURCE(function)                                                                     \
    {                                                                                              \
        .kind = HR_SOURCE_KIND_INDEXED, .count = hr_records_count,                                 \
        .mean_bytes = hr_records_mean_bytes, .files = hr_records_files, .name = hr_lmdb_name,      \
        .locate = hr_records_locate, .emit = (function)                                            \
    }

/* ---- readers.caffe ---- */

typedef struct caffe_args {
    hr_sampler_args sampler;
    hr_strings path;
    int32_t image_available, label_available;
} caffe_args;

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
    return hr_fail(
        error, HR_STATUS_ERROR,
        "image_available and label_available are both False, so the reader has no output");
}

static hr_status caffe_create(const void *args, void **state, hr_error *error)
{
    const caffe_args *a = args;
    return open_database(&a->path,
                         (caffe_state){.image = a->image_available, .label = a->label_available},
                         state, error);
}

static hr_status caffe_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const caffe_state *s = c->state;
    (void)index;
    return hr_caffe_datum(bytes, s->image, s->label, c->arena, c->out, error);
}

static const hr_source_def caffe_source = CAFFE_SOURCE(caffe_emit);
const hr_op_def hr_op_readers_caffe = {
    HR_OP("readers.caffe"),
    .doc = "Reads images and labels from LMDB databases of Caffe. Outputs: the image, UINT8 of "
           "shape (size,) if it is coded, otherwise (height, width, channels); its label, INT32 of "
           "shape (1,), or (0,) if it has none.",
    .aliases = HR_NAMES("caffe_reader"),
    .devices = "cpu",
    HR_ARGS(caffe_args, CAFFE_PATH(caffe_args),
            HR_ARG(caffe_args, image_available, BOOL, 0, "True", "Output the image."),
            HR_ARG(caffe_args, label_available, BOOL, 0, "True", "Output the label."),
            CAFFE_SAMPLER(caffe_args)),
    .out = HR_OUTPUTS({"images"}, {"labels"}),
    .outputs = caffe_outputs,
    .check = caffe_check,
    .create = caffe_create,
    .destroy = caffe_destroy,
    .source = &caffe_source,
};

/* ---- readers.caffe2 ---- */

typedef struct caffe2_args {
    hr_sampler_args sampler;
    hr_strings path;
    int32_t image_available, label_type, num_labels, additional_inputs, bbox;
} caffe2_args;

static hr_caffe2_wanted wanted_of(const caffe2_args *a)
{
    return (hr_caffe2_wanted){a->image_available, a->bbox, a->label_type, a->num_labels,
                              a->additional_inputs};
}

static int32_t caffe2_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    const hr_caffe2_wanted wanted = wanted_of(args);
    return hr_caffe2_outputs(&wanted);
}

static hr_status caffe2_check(const void *args, const hr_given *given, hr_error *error)
{
    (void)given;
    if (caffe2_outputs(args, 0) > 0)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "without images, labels, additional inputs and boxes the reader has no output");
}

static hr_status caffe2_create(const void *args, void **state, hr_error *error)
{
    const caffe2_args *a = args;
    return open_database(&a->path, (caffe_state){.wanted = wanted_of(a)}, state, error);
}

static hr_status caffe2_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    (void)index;
    return hr_caffe2_tensors(&((const caffe_state *)c->state)->wanted, bytes, c->arena, c->out,
                             error);
}

static const hr_source_def caffe2_source = CAFFE_SOURCE(caffe2_emit);
const hr_op_def hr_op_readers_caffe2 = {
    HR_OP("readers.caffe2"),
    .doc = "Reads images, labels and other tensors from LMDB databases of Caffe2. Outputs: the "
           "image, UINT8 of shape (size,) if it is coded, otherwise (height, width, channels); its "
           "labels, INT32 or FLOAT, as `label_type` says; the additional tensors; a box.",
    .aliases = HR_NAMES("caffe2_reader"),
    .devices = "cpu",
    HR_ARGS(
        caffe2_args, CAFFE_PATH(caffe2_args),
        HR_ARG(caffe2_args, image_available, BOOL, 0, "True", "The samples contain images."),
        HR_ARG(caffe2_args, label_type, INT, 0, "0",
               "What the labels are. 0: one number; 1: the numbers of the labels that a sample "
               "has; 2: a list of numbers; 3: as 1, with weights; 4: there are none. With 1 and 3 "
               "there are two outputs: a list of `num_labels` numbers, with 1 or the weight for "
               "each label of the sample, and 0 for the others; and the numbers of the labels.",
               .min = 0, .max = HR_CAFFE2_NO_LABEL),
        HR_ARG(caffe2_args, num_labels, INT, 0, "1",
               "Number of possible labels, for label_type 1 and 3.", .min = 1, .max = 1 << 24),
        HR_ARG(caffe2_args, additional_inputs, INT, 0, "0",
               "Number of further tensors of a sample, FLOAT, INT32 or INT64.", .min = 0,
               .max = HR_CAFFE2_ADDITIONAL_MOST),
        HR_ARG(caffe2_args, bbox, BOOL, 0, "False", "A box follows: INT32 of shape (4,)."),
        CAFFE_SAMPLER(caffe2_args)),
    .outputs = caffe2_outputs,
    .check = caffe2_check,
    .create = caffe2_create,
    .destroy = caffe_destroy,
    .source = &caffe2_source,
};
