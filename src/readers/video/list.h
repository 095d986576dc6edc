/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What readers of videos are asked for: files, each with a label and with a part of it. */
#pragma once

#include "readers/list.h"

/* Part of a file in seconds or frames, as it is in a line of a file_list. */
typedef struct hr_video_part {
    int32_t given; /* numbers in the line: 0, 1 or 2 */
    double start, end;
} hr_video_part;

typedef struct hr_video_list {
    hr_file_list names;   /* with labels */
    hr_video_part *parts; /* of a file_list; otherwise NULL */
    int64_t empty;        /* lines that were left out because their part is empty */
} hr_video_list;

typedef struct hr_video_names {
    const char *file_root, *file_list;
    hr_strings filenames;
    hr_ints labels;
    bool numbered; /* labels=[] are running numbers */
    bool relative; /* paths in the file_list start from its folder */
} hr_video_names;

hr_status hr_video_list_make(hr_video_list *list, const hr_video_names *names, hr_error *error);
void hr_video_list_fini(hr_video_list *list);
