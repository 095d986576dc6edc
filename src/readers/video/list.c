/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/video/list.h"

#include "io/storage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PATH 4096
#define MOST_NUMBER 64

/* The next word of a line; its size is 0 at the end. */
static const char *next_word(const char **at, const char *end, size_t *size)
{
    static const char blanks[] = " \t\r\v\f";
    while (*at < end && strchr(blanks, **at))
        (*at)++;
    const char *start = *at;
    while (*at < end && !strchr(blanks, **at))
        (*at)++;
    *size = (size_t)(*at - start);
    return start;
}

/* A decimal number, whatever the locale; false if the word is something else. */
static bool read_number(const char *word, size_t size, double *value)
{
    char text[MOST_NUMBER + 1], *end;
    if (size == 0 || size > MOST_NUMBER || strspn(word, "0123456789+-.eE") < size)
        return false;
    memcpy(text, word, size);
    text[size] = 0;
    *value = strtod(text, &end);
    return *end == 0 && isfinite(*value);
}

static hr_status add_part(hr_video_list *list, int64_t capacity_before, const hr_video_part *part,
                          hr_error *error)
{
    if (list->names.capacity != capacity_before || !list->parts) {
        hr_video_part *more =
            hr_realloc(list->parts, (size_t)list->names.capacity, sizeof(*list->parts), error);
        HR_TRY_ALLOC(more);
        list->parts = more;
    }
    list->parts[list->names.count - 1] = *part;
    return HR_STATUS_OK;
}

/* `folder`: that relative paths start from; NULL: the working folder. */
static hr_status parse_line(hr_video_list *list, const char *folder, const char *line,
                            const char *end, hr_error *error)
{
    char path[MOST_PATH];
    size_t path_size, size;
    double label, numbers[2] = {0, 0};
    hr_video_part part = {0};
    const char *word = next_word(&line, end, &path_size);
    if (path_size == 0)
        return HR_STATUS_OK;
    if (path_size >= sizeof(path))
        return hr_fail(error, HR_STATUS_ERROR, "the path has %zu bytes; the limit is %d", path_size,
                       MOST_PATH - 1);
    memcpy(path, word, path_size);
    path[path_size] = 0;
    word = next_word(&line, end, &size);
    if (!read_number(word, size, &label) || label < 0 || label > INT32_MAX || label != floor(label))
        return hr_fail(error, HR_STATUS_ERROR,
                       "'%.100s' must be followed by a label, a number >= 0", path);
    while (part.given < 2) {
        word = next_word(&line, end, &size);
        if (size == 0)
            break;
        if (!read_number(word, size, &numbers[part.given]))
            return hr_fail(error, HR_STATUS_ERROR, "'%.*s' is not a number",
                           (int)HR_MIN(size, MOST_NUMBER), word);
        part.given++;
    }
    part.start = numbers[0];
    part.end = numbers[1];
    if (part.given == 2 && part.start == part.end) {
        list->empty++;
        return HR_STATUS_OK;
    }
    int64_t capacity = list->names.capacity;
    HR_TRY(hr_file_list_add(&list->names, hr_path_is_relative(path) ? folder : NULL, path,
                            (int32_t)label, error));
    return add_part(list, capacity, &part, error);
}

/* Lines "path label [start [end]]". */
static hr_status parse(hr_video_list *list, const char *folder, const char *text, size_t size,
                       hr_error *error)
{
    int64_t number = 1;
    for (const char *at = text, *stop = text + size; at < stop; number++) {
        const char *end = memchr(at, '\n', (size_t)(stop - at));
        end = end ? end : stop;
        if (parse_line(list, folder, at, end, error) != HR_STATUS_OK)
            return hr_error_prefix(error, "line %lld", (long long)number);
        at = end + 1;
    }
    return HR_STATUS_OK;
}

static hr_status load_list(hr_video_list *list, const char *path, bool relative, hr_error *error)
{
    char *text = NULL, *folder = NULL;
    size_t size = 0;
    hr_status status = relative ? hr_list_folder(path, &folder, error) : HR_STATUS_OK;
    if (status == HR_STATUS_OK)
        status = hr_object_text(path, &text, &size, error);
    if (status == HR_STATUS_OK)
        status = parse(list, folder, text, size, error);
    hr_free(folder);
    hr_free(text);
    return status == HR_STATUS_OK ? status : hr_error_prefix(error, "file_list '%s'", path);
}

static hr_status list_root(hr_video_list *list, const char *root, hr_error *error)
{
    static const char *const all[] = {"*"};
    const hr_list_filter filter = {.files = {all, 1}, .labelled = true};
    hr_file_list found = {0};
    hr_status status = hr_file_list_scan(&found, root, &filter, error);
    for (int64_t i = 0; i < found.count && status == HR_STATUS_OK; i++)
        status = hr_file_list_add(&list->names, root, hr_file_list_name(&found, i), found.label[i],
                                  error);
    hr_file_list_fini(&found);
    return status;
}

static hr_status take_names(hr_video_list *list, const hr_video_names *names, hr_error *error)
{
    bool numbered = names->numbered && names->labels.v && names->labels.n == 0;
    if (names->labels.v && !numbered && names->labels.n != names->filenames.n)
        return hr_fail(error, HR_STATUS_ERROR, "there are %d filenames, but %d labels",
                       names->filenames.n, names->labels.n);
    for (int32_t i = 0; i < names->filenames.n; i++)
        HR_TRY(hr_file_list_add(&list->names, NULL, names->filenames.v[i],
                                names->labels.v && !numbered ? names->labels.v[i] : i, error));
    return HR_STATUS_OK;
}

hr_status hr_video_list_make(hr_video_list *list, const hr_video_names *names, hr_error *error)
{
    bool root = names->file_root && names->file_root[0];
    bool lines = names->file_list && names->file_list[0];
    *list = (hr_video_list){0};
    if (root + lines + (names->filenames.n > 0) != 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "give one of file_root, file_list and filenames, and only one");
    if (names->labels.v && names->filenames.n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "labels can be given only with filenames");
    if (lines)
        HR_TRY(load_list(list, names->file_list, names->relative, error));
    else if (root)
        HR_TRY(list_root(list, names->file_root, error));
    else
        HR_TRY(take_names(list, names, error));
    if (list->names.count == 0)
        return hr_fail(error, HR_STATUS_ERROR, "no files were found in '%s'",
                       lines ? names->file_list : names->file_root);
    return HR_STATUS_OK;
}

void hr_video_list_fini(hr_video_list *list)
{
    hr_file_list_fini(&list->names);
    hr_free(list->parts);
    *list = (hr_video_list){0};
}
