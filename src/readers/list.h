/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A compact list of file names with labels: one block of text, and one offset and one label per
 * file (12 bytes in addition to its name). */
#pragma once

#include "core/core.h"

typedef struct hr_file_list {
    char *text;
    size_t text_size, text_capacity;
    int64_t *offset;
    int32_t *label;
    int64_t count, capacity;
} hr_file_list;

hr_status hr_file_list_add(hr_file_list *list, const char *dir, const char *name, int32_t label,
                           hr_error *error);
const char *hr_file_list_name(const hr_file_list *list, int64_t i);
void hr_file_list_fini(hr_file_list *list);

typedef struct hr_list_filter {
    hr_strings files, dirs; /* globs; dirs.v NULL: all */
    bool case_sensitive;
    /* The sub-folders of the root are classes. Otherwise the files in the root itself are listed,
     * too, and all labels are 0. */
    bool labelled;
} hr_list_filter;

/* Lists root/class/file. The label is the number of the class in byte order; the files of a class
 * are sorted, too. */
hr_status hr_file_list_scan(hr_file_list *list, const char *root, const hr_list_filter *filter,
                            hr_error *error);
/* Reads a text file with lines "path label", or with a path per line and labels 0. */
hr_status hr_file_list_load(hr_file_list *list, const char *path, bool labelled, hr_error *error);
/* The folder of a list file, which its relative paths start from; NULL: the working folder. */
hr_status hr_list_folder(const char *path, char **out, hr_error *error);
