/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/files.h"

hr_status hr_files_check(const hr_files_args *args, hr_error *error)
{
    if (args->files.v || args->file_list || args->file_root)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "give one of file_root, file_list and files");
}

static hr_status find_root(hr_files *f, const hr_files_args *args, hr_error *error)
{
    f->root = args->file_root;
    if (!args->file_list || (f->root && f->root[0]))
        return HR_STATUS_OK;
    HR_TRY(hr_list_folder(args->file_list, &f->list_folder, error));
    f->root = f->list_folder;
    return HR_STATUS_OK;
}

static hr_status fill_list(hr_files *f, const hr_files_args *args, const hr_list_filter *filter,
                           hr_ints labels, hr_error *error)
{
    if (args->file_list)
        return hr_file_list_load(&f->list, args->file_list, filter->labelled, error);
    if (!args->files.v)
        return hr_file_list_scan(&f->list, args->file_root, filter, error);
    for (int32_t i = 0; i < args->files.n; i++)
        HR_TRY(
            hr_file_list_add(&f->list, NULL, args->files.v[i], labels.v ? labels.v[i] : i, error));
    return HR_STATUS_OK;
}

/* A root has a folder per class. What is often given instead is one of these folders. */
static hr_status fail_empty_root(const char *root, const hr_list_filter *filter, hr_error *error)
{
    hr_list_filter without = *filter;
    hr_file_list list = {0};
    without.labelled = false;
    bool flat = hr_file_list_scan(&list, root, &without, NULL) == HR_STATUS_OK && list.count > 0;
    hr_file_list_fini(&list);
    return hr_fail(error, HR_STATUS_ERROR, "no files found in file_root '%s'%s", root,
                   flat
                       ? ": its files lie directly in it, but a folder per class is expected; give "
                         "its parent as file_root, or the files as `files`"
                       : "");
}

hr_status hr_files_find(hr_files *f, const hr_files_args *args, const hr_list_filter *filter,
                        hr_ints labels, hr_error *error)
{
    *f = (hr_files){0};
    HR_TRY(find_root(f, args, error));
    HR_TRY(fill_list(f, args, filter, labels, error));
    if (f->list.count > 0)
        return HR_STATUS_OK;
    if (args->files.v)
        return hr_fail(error, HR_STATUS_ERROR, "no files: the list `files` is empty");
    if (!args->file_list)
        return fail_empty_root(args->file_root, filter, error);
    return hr_fail(error, HR_STATUS_ERROR, "no files found in file_list '%s'", args->file_list);
}

void hr_files_fini(hr_files *f)
{
    hr_file_list_fini(&f->list);
    hr_free(f->list_folder);
    *f = (hr_files){0};
}

hr_status hr_files_create(const hr_files_args *args, const hr_list_filter *filter, hr_ints labels,
                          void **state, hr_error *error)
{
    hr_files *f = hr_calloc(1, sizeof(*f), error);
    HR_TRY_ALLOC(f);
    hr_status status = hr_files_find(f, args, filter, labels, error);
    if (status != HR_STATUS_OK)
        hr_files_destroy(f);
    else
        *state = f;
    return status;
}

void hr_files_destroy(void *state)
{
    hr_files_fini(state);
    hr_free(state);
}

int64_t hr_files_count(const void *state)
{
    return ((const hr_files *)state)->list.count;
}

const char *hr_files_name(const void *state, int64_t index, char *room, size_t size)
{
    (void)room;
    (void)size;
    return hr_file_list_name(&((const hr_files *)state)->list, index);
}

hr_status hr_files_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                          hr_error *error)
{
    const hr_files *f = state;
    (void)error;
    spans[0] = (hr_span){.root = f->root, .path = hr_file_list_name(&f->list, index), .size = -1};
    *count = 1;
    return HR_STATUS_OK;
}
