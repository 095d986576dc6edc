/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.file: whole files and their labels, from class folders, a list file or a list of paths.
 */
#include "readers/files.h"

typedef struct file_args {
    hr_sampler_args sampler;
    hr_files_args from;
    hr_strings file_filters, dir_filters;
    hr_ints labels;
    int32_t case_sensitive_filter;
} file_args;

static hr_status file_check(const void *args, const hr_given *given, hr_error *error)
{
    const file_args *a = args;
    (void)given;
    HR_TRY(hr_files_check(&a->from, error));
    if (a->labels.v && !a->from.files.v)
        return hr_fail(error, HR_STATUS_ERROR, "labels needs files");
    if (a->labels.v && a->labels.n != a->from.files.n)
        return hr_fail(error, HR_STATUS_ERROR, "there are %d labels for %d files", a->labels.n,
                       a->from.files.n);
    return HR_STATUS_OK;
}

static hr_status file_create(const void *args, void **state, hr_error *error)
{
    const file_args *a = args;
    const hr_list_filter filter = {.files = a->file_filters,
                                   .dirs = a->dir_filters,
                                   .case_sensitive = a->case_sensitive_filter != 0,
                                   .labelled = true};
    return hr_files_create(&a->from, &filter, a->labels, state, error);
}

static int64_t file_label(const void *state, int64_t index)
{
    return ((const hr_files *)state)->list.label[index];
}

static hr_status file_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const hr_files *f = c->state;
    c->out[0] = *bytes;
    int32_t *label = hr_arena_alloc(c->arena, sizeof(*label), error);
    HR_TRY_ALLOC(label);
    *label = f->list.label[index];
    hr_tensor_describe(&c->out[1], HR_DTYPE_INT32, (hr_shape){1, {1}}, NULL);
    c->out[1].data = label;
    return HR_STATUS_OK;
}

static const hr_source_def file_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = hr_files_count,
    .name = hr_files_name,
    .label = file_label,
    .locate = hr_files_locate,
    .emit = file_emit,
};

const hr_op_def hr_op_readers_file = {
    HR_OP("readers.file"),
    .doc = "Reads files whole. Output 0: the bytes, UINT8 of shape (size,); output 1: the label, "
           "INT32 of shape (1,). A file that cannot be read fails its sample only (see on_error).",
    .aliases = HR_NAMES("file_reader"),
    .devices = "cpu",
    HR_ARGS(file_args,
            HR_FILES_ARG_DEFS(file_args,
                              "Folder whose sub-folders are the classes (labels 0, 1, ... in byte "
                              "order of their names).",
                              "one line 'path label'"),
            HR_ARG(file_args, labels, INTS, HR_ARG_OPTIONAL, NULL,
                   "One label per element of `files`; without them the files are numbered."),
            HR_ARG(file_args, file_filters, STRINGS, 0,
                   "[\"*.jpg\", \"*.jpeg\", \"*.png\", \"*.bmp\", \"*.tif\", \"*.tiff\", "
                   "\"*.pnm\", \"*.ppm\", \"*.pgm\", \"*.pbm\", \"*.jp2\", \"*.webp\", \"*.flac\", "
                   "\"*.ogg\", \"*.wav\"]",
                   "Globs of file names; a file in a class folder must match one."),
            HR_ARG(file_args, dir_filters, STRINGS, HR_ARG_OPTIONAL, NULL,
                   "Globs of folder names; labels count the folders that match one."),
            HR_ARG(file_args, case_sensitive_filter, BOOL, 0, "False",
                   "Distinguish upper and lower case letters in the globs."),
            HR_SAMPLER_ARG_DEFS(file_args)),
    .out = HR_OUTPUTS({"bytes"}, {"labels"}),
    .check = file_check,
    .create = file_create,
    .destroy = hr_files_destroy,
    .source = &file_source,
};
