/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.file: whole files and their labels, from class folders, a list file or a list of paths.
 */
#include <string.h>

#include "readers/list.h"
#include "readers/sampler.h"

typedef struct file_args {
    hr_sampler_args sampler;
    const char *file_root, *file_list;
    hr_strings files, file_filters, dir_filters;
    hr_ints labels;
    int32_t case_sensitive_filter;
} file_args;

typedef struct file_state {
    const char *root; /* folder that relative paths start from, or NULL */
    char *list_folder;
    hr_file_list list;
} file_state;

static const hr_arg_def file_arg_defs[] = {
    HR_ARG(file_args, file_root, STRING, HR_ARG_OPTIONAL, NULL,
           "Folder whose sub-folders are the classes (labels 0, 1, ... in byte order of their "
           "names). With file_list or files, the folder that relative paths start from."),
    HR_ARG(file_args, file_list, STRING, HR_ARG_OPTIONAL, NULL,
           "Text file with one line 'path label' per file. Without file_root, relative paths "
           "start from the folder of this file.",
           .excludes = "files"),
    HR_ARG(file_args, files, STRINGS, HR_ARG_OPTIONAL, NULL, "Paths of the files."),
    HR_ARG(file_args, labels, INTS, HR_ARG_OPTIONAL, NULL,
           "One label per element of `files`; without them the files are numbered."),
    HR_ARG(file_args, file_filters, STRINGS, 0,
           "[\"*.jpg\", \"*.jpeg\", \"*.png\", \"*.bmp\", \"*.tif\", \"*.tiff\", \"*.pnm\", "
           "\"*.ppm\", "
           "\"*.pgm\", \"*.pbm\", \"*.jp2\", \"*.webp\", \"*.flac\", \"*.ogg\", \"*.wav\"]",
           "Globs of file names; a file in a class folder must match one."),
    HR_ARG(file_args, dir_filters, STRINGS, HR_ARG_OPTIONAL, NULL,
           "Globs of folder names; labels count the folders that match one."),
    HR_ARG(file_args, case_sensitive_filter, BOOL, 0, "False",
           "Distinguish upper and lower case letters in the globs."),
    HR_SAMPLER_ARG_DEFS(file_args),
    HR_ARG_END};

static hr_status file_check(const void *args, const hr_given *given, hr_error *error)
{
    const file_args *a = args;
    (void)given;
    if (!a->files.v && !a->file_list && !a->file_root)
        return hr_fail(error, HR_STATUS_ERROR, "give one of file_root, file_list and files");
    if (a->labels.v && !a->files.v)
        return hr_fail(error, HR_STATUS_ERROR, "labels needs files");
    if (a->labels.v && a->labels.n != a->files.n)
        return hr_fail(error, HR_STATUS_ERROR, "there are %d labels for %d files", a->labels.n,
                       a->files.n);
    return HR_STATUS_OK;
}

static hr_status fill_list(file_state *s, const file_args *a, hr_error *error)
{
    if (a->file_list)
        return hr_file_list_load(&s->list, a->file_list, error);
    if (!a->files.v) {
        hr_list_filter filter = {a->file_filters, a->dir_filters, a->case_sensitive_filter != 0};
        return hr_file_list_scan(&s->list, a->file_root, &filter, error);
    }
    for (int32_t i = 0; i < a->files.n; i++)
        HR_TRY(hr_file_list_add(&s->list, NULL, a->files.v[i], a->labels.v ? a->labels.v[i] : i,
                                error));
    return HR_STATUS_OK;
}

static void file_destroy(void *state)
{
    file_state *s = state;
    hr_file_list_fini(&s->list);
    hr_free(s->list_folder);
    hr_free(s);
}

static hr_status find_root(file_state *s, const file_args *a, hr_error *error)
{
    s->root = a->file_root;
    if (!a->file_list || (s->root && s->root[0]))
        return HR_STATUS_OK;
    HR_TRY(hr_list_folder(a->file_list, &s->list_folder, error));
    s->root = s->list_folder;
    return HR_STATUS_OK;
}

static hr_status file_create(const void *args, void **state, hr_error *error)
{
    const file_args *a = args;
    file_state *s = hr_calloc(1, sizeof(*s), error);
    if (!s)
        return HR_STATUS_NO_MEMORY;
    hr_status status = find_root(s, a, error);
    if (status == HR_STATUS_OK)
        status = fill_list(s, a, error);
    if (status == HR_STATUS_OK && s->list.count == 0)
        status = a->files.v ? hr_fail(error, HR_STATUS_ERROR, "no files: the list `files` is empty")
                            : hr_fail(error, HR_STATUS_ERROR, "no files found in %s '%s'",
                                      a->file_list ? "file_list" : "file_root",
                                      a->file_list ? a->file_list : a->file_root);
    if (status != HR_STATUS_OK) {
        file_destroy(s);
        return status;
    }
    *state = s;
    return HR_STATUS_OK;
}

static int64_t file_count(const void *state)
{
    return ((const file_state *)state)->list.count;
}

static const char *file_name(const void *state, int64_t index, char *room, size_t size)
{
    (void)room;
    (void)size;
    return hr_file_list_name(&((const file_state *)state)->list, index);
}

static int64_t file_label(const void *state, int64_t index)
{
    return ((const file_state *)state)->list.label[index];
}

static hr_status file_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                             hr_error *error)
{
    const file_state *s = state;
    (void)error;
    spans[0] = (hr_span){.root = s->root, .path = hr_file_list_name(&s->list, index), .size = -1};
    *count = 1;
    return HR_STATUS_OK;
}

static hr_status file_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const file_state *s = c->state;
    c->out[0] = *bytes;
    int32_t *label = hr_arena_alloc(c->arena, sizeof(*label), error);
    if (!label)
        return HR_STATUS_NO_MEMORY;
    *label = s->list.label[index];
    hr_tensor_describe(&c->out[1], HR_DTYPE_INT32, (hr_shape){1, {1}}, NULL);
    c->out[1].data = label;
    return HR_STATUS_OK;
}

static const hr_source_def file_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = file_count,
    .name = file_name,
    .label = file_label,
    .locate = file_locate,
    .emit = file_emit,
};
static const char *const file_aliases[] = {"file_reader", NULL};

const hr_op_def hr_op_readers_file = {
    HR_OP_ABI,
    .name = "readers.file",
    .doc = "Reads files whole. Output 0: the bytes, UINT8 of shape (size,); output 1: the label, "
           "INT32 of "
           "shape (1,). A file that cannot be read fails its sample only (see on_error).",
    .aliases = file_aliases,
    .devices = "cpu",
    .args = file_arg_defs,
    .args_size = sizeof(file_args),
    .out = HR_OUTPUTS({"bytes"}, {"labels"}),
    .out_count = 2,
    .check = file_check,
    .create = file_create,
    .destroy = file_destroy,
    .source = &file_source,
};
