/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Readers whose items are files: the arguments that name them, and the functions of their source.
 */
#pragma once

#include "headrace/operator.h"
#include "readers/list.h"

typedef struct hr_files_args {
    const char *file_root, *file_list;
    hr_strings files;
} hr_files_args;

/* Describes the hr_files_args called `from` in the args struct S. `folder` and `line` say what is
 * in file_root, and in a line of file_list. */
#define HR_FILES_ARG_DEFS(S, folder, line)                                                         \
    HR_FILES_ARG(S, file_root, STRING, 0,                                                          \
                 folder " With file_list or files, the folder that relative paths start from."),   \
        HR_FILES_ARG(S, file_list, STRING, 0,                                                      \
                     "Text file with " line " per file. Without file_root, relative paths "        \
                     "start from the folder of this file.",                                        \
                     .excludes = "files"),                                                         \
        HR_FILES_ARG(S, files, STRINGS, HR_ARG_SCALAR_OK, "Paths of the files.")
#define HR_FILES_ARG(S, arg, kind, extra, ...)                                                     \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_OPTIONAL | (extra),              \
        .offset = offsetof(S, from.arg), .size = sizeof(((S *)0)->from.arg), .doc = __VA_ARGS__    \
    }

hr_status hr_files_check(const hr_files_args *args, hr_error *error);

/* The state of a reader begins with it. */
typedef struct hr_files {
    const char *root; /* folder that relative paths start from, or NULL */
    char *list_folder;
    hr_file_list list;
} hr_files;

/* Finds the files. `labels`: of args->files, one per file; absent: they are numbered. `args` lives
 * as long as `f`, which needs hr_files_fini in any case. */
hr_status hr_files_find(hr_files *f, const hr_files_args *args, const hr_list_filter *filter,
                        hr_ints labels, hr_error *error);
void hr_files_fini(hr_files *f);

/* For readers whose state is nothing else: `create` and `destroy`. */
hr_status hr_files_create(const hr_files_args *args, const hr_list_filter *filter, hr_ints labels,
                          void **state, hr_error *error);
void hr_files_destroy(void *state);

/* Functions of a source (hr_source_def). */
int64_t hr_files_count(const void *state);
const char *hr_files_name(const void *state, int64_t index, char *room, size_t size);
hr_status hr_files_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                          hr_error *error);
