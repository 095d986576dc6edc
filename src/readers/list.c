/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Makes lists of files from folders and from text files. */
#include "readers/list.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "io/storage.h"

hr_status hr_file_list_add(hr_file_list *list, const char *dir, const char *name, int32_t label,
                           hr_error *error)
{
    size_t dir_size = dir ? strlen(dir) + 1 : 0, name_size = strlen(name) + 1;
    if (list->count == list->capacity) {
        int64_t capacity = list->capacity ? list->capacity * 2 : 1024;
        int64_t *offset = hr_realloc(list->offset, (size_t)capacity, sizeof(*list->offset), error);
        list->offset = offset ? offset : list->offset;
        int32_t *labels =
            offset ? hr_realloc(list->label, (size_t)capacity, sizeof(*list->label), error) : NULL;
        HR_TRY_ALLOC(labels);
        list->label = labels;
        list->capacity = capacity;
    }
    if (list->text_size + dir_size + name_size > list->text_capacity) {
        size_t capacity = list->text_capacity * 2 + dir_size + name_size + 4096;
        char *text = hr_realloc(list->text, capacity, 1, error);
        HR_TRY_ALLOC(text);
        list->text = text;
        list->text_capacity = capacity;
    }
    list->offset[list->count] = (int64_t)list->text_size;
    list->label[list->count++] = label;
    if (dir) {
        memcpy(list->text + list->text_size, dir, dir_size - 1);
        list->text[list->text_size + dir_size - 1] = '/';
    }
    memcpy(list->text + list->text_size + dir_size, name, name_size);
    list->text_size += dir_size + name_size;
    return HR_STATUS_OK;
}

const char *hr_file_list_name(const hr_file_list *list, int64_t i)
{
    return list->text + list->offset[i];
}

void hr_file_list_fini(hr_file_list *list)
{
    hr_free(list->text);
    hr_free(list->offset);
    hr_free(list->label);
    *list = (hr_file_list){0};
}

/* Most patterns are "*.jpg". For them fnmatch takes longer than listing the folder. */
static bool matches_one(const char *pattern, const char *name, size_t size, bool case_sensitive)
{
    const char *end = pattern + 1;
    if (pattern[0] != '*' || end[strcspn(end, "*?[\\")])
        return fnmatch(pattern, name, case_sensitive ? 0 : FNM_CASEFOLD) == 0;
    size_t end_size = strlen(end);
    return size >= end_size && (case_sensitive ? strcmp(name + size - end_size, end)
                                               : strcasecmp(name + size - end_size, end)) == 0;
}

static bool matches(const hr_strings *patterns, const char *name, bool case_sensitive)
{
    size_t size = strlen(name);
    for (int32_t i = 0; i < patterns->n; i++)
        if (matches_one(patterns->v[i], name, size, case_sensitive))
            return true;
    return false;
}

/* Sorts by bytes, independent of the locale. */
static int by_bytes(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_entries(struct dirent **entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i]);
    free(entries);
}

/* Entries of remote storage in the form of those of a local folder. */
typedef struct found {
    struct dirent **entries;
    size_t count, capacity;
} found;

static hr_status take_entry(void *context, const char *name, bool is_folder, hr_error *error)
{
    found *f = context;
    size_t size = strlen(name) + 1;
    if (f->count == f->capacity) {
        size_t capacity = f->capacity ? 2 * f->capacity : 1024;
        struct dirent **grown =
            capacity > INT32_MAX ? NULL : realloc(f->entries, capacity * sizeof(struct dirent *));
        if (!grown)
            return hr_fail_memory(error, capacity * sizeof(struct dirent *));
        f->entries = grown;
        f->capacity = capacity;
    }
    struct dirent *e = calloc(1, HR_MAX(sizeof(*e), offsetof(struct dirent, d_name) + size));
    if (!e)
        return hr_fail_memory(error, size);
    e->d_type = is_folder ? DT_DIR : DT_REG;
    memcpy((char *)e + offsetof(struct dirent, d_name), name, size);
    f->entries[f->count++] = e;
    return HR_STATUS_OK;
}

static int compare_entries(const void *a, const void *b)
{
    return by_bytes((const struct dirent **)(uintptr_t)a, (const struct dirent **)(uintptr_t)b);
}

/* The entries of a folder in byte order. */
static hr_status list_folder(const char *path, struct dirent ***entries, int *count,
                             hr_error *error)
{
    const hr_storage *storage = hr_storage_of(NULL, path);
    if (storage == &hr_storage_local) {
        *count = scandir(path, entries, NULL, by_bytes);
        if (*count < 0)
            return hr_fail_errno(error, errno, "file_root: the folder '%s' cannot be listed", path);
        return HR_STATUS_OK;
    }
    if (!storage->list)
        return hr_fail(error, HR_STATUS_VALUE,
                       "file_root: '%s' cannot be listed, because %s:// has no folders; use files "
                       "or file_list",
                       path, storage->scheme);
    found f = {0};
    hr_status status = storage->list(path, take_entry, &f, NULL, error);
    if (status != HR_STATUS_OK) {
        free_entries(f.entries, (int)f.count);
        return hr_error_prefix(error, "file_root: the folder '%s' cannot be listed", path);
    }
    if (f.count > 0)
        qsort(f.entries, f.count, sizeof(struct dirent *), compare_entries);
    *entries = f.entries;
    *count = (int)f.count;
    return HR_STATUS_OK;
}

static bool is_dir(const char *root, const struct dirent *entry)
{
    if (entry->d_type == DT_DIR)
        return true;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return false;
    char path[4096 + 512];
    struct stat st;
    int n = snprintf(path, sizeof(path), "%s/%s", root, entry->d_name);
    return n > 0 && (size_t)n < sizeof(path) && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static hr_status scan_class(hr_file_list *list, const char *root, const char *class_name,
                            const hr_list_filter *filter, int32_t label, hr_error *error)
{
    char path[4096 + 512];
    struct dirent **entries;
    size_t size = strlen(root);
    while (size > 1 && root[size - 1] == '/')
        size--;
    int n = snprintf(path, sizeof(path), "%.*s/%s", (int)size, root, class_name);
    if (n < 0 || (size_t)n >= sizeof(path))
        return hr_fail(error, HR_STATUS_IO, "file_root: the path of '%s' is too long", class_name);
    if (strcmp(class_name, ".") == 0 && hr_storage_of(NULL, root) != &hr_storage_local) {
        path[size] = 0; /* remote storage takes a dot for a name */
        class_name = NULL;
    }
    int count;
    HR_TRY(list_folder(path, &entries, &count, error));
    hr_status status = HR_STATUS_OK;
    for (int i = 0; i < count && status == HR_STATUS_OK; i++)
        if (matches(&filter->files, entries[i]->d_name, filter->case_sensitive) &&
            !is_dir(path, entries[i]))
            status = hr_file_list_add(list, class_name, entries[i]->d_name, label, error);
    free_entries(entries, count);
    return status;
}

hr_status hr_file_list_scan(hr_file_list *list, const char *root, const hr_list_filter *filter,
                            hr_error *error)
{
    struct dirent **entries;
    int count;
    HR_TRY(list_folder(root, &entries, &count, error));
    int32_t label = 0;
    hr_status status =
        filter->labelled ? HR_STATUS_OK : scan_class(list, root, ".", filter, 0, error);
    for (int i = 0; i < count && status == HR_STATUS_OK; i++) {
        const char *name = entries[i]->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || !is_dir(root, entries[i]))
            continue;
        if (filter->dirs.v && !matches(&filter->dirs, name, filter->case_sensitive))
            continue;
        status = scan_class(list, root, name, filter, label, error);
        label += filter->labelled;
    }
    free_entries(entries, count);
    return status;
}

/* Parses "some path 12": the label follows the last space or tab. */
static hr_status add_line(hr_file_list *list, char *line, int64_t number, hr_error *error)
{
    size_t size = strlen(line);
    while (size > 0 && strchr(" \t\r", line[size - 1]))
        line[--size] = 0;
    if (size == 0)
        return HR_STATUS_OK;
    char *blank = line + size;
    while (blank > line && blank[-1] != ' ' && blank[-1] != '\t')
        blank--;
    char *end;
    errno = 0;
    long label = strtol(blank, &end, 10);
    if (blank == line || *end || errno || label < INT32_MIN || label > INT32_MAX)
        return hr_fail(error, HR_STATUS_ERROR,
                       "file_list: line %lld, '%s', is not a path, a blank and an integer label",
                       (long long)number, line);
    while (blank > line && (blank[-1] == ' ' || blank[-1] == '\t'))
        *--blank = 0;
    return hr_file_list_add(list, NULL, line, (int32_t)label, error);
}

static hr_status add_name(hr_file_list *list, char *line, hr_error *error)
{
    size_t size = strlen(line);
    if (size > 0 && line[size - 1] == '\r')
        line[--size] = 0;
    return size > 0 ? hr_file_list_add(list, NULL, line, 0, error) : HR_STATUS_OK;
}

hr_status hr_file_list_load(hr_file_list *list, const char *path, bool labelled, hr_error *error)
{
    char *text;
    size_t size;
    hr_status status = hr_object_text(path, &text, &size, error);
    if (status != HR_STATUS_OK)
        return error ? hr_error_prefix(error, "file_list: '%s'", path) : status;
    if (strlen(text) != size)
        status =
            hr_fail(error, HR_STATUS_ERROR, "file_list: '%s' is not a text file: byte %zu is zero",
                    path, strlen(text));
    int64_t number = 1;
    for (char *line = text, *next; line && status == HR_STATUS_OK; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        status = labelled ? add_line(list, line, number, error) : add_name(list, line, error);
    }
    hr_free(text);
    return status;
}

hr_status hr_list_folder(const char *path, char **out, hr_error *error)
{
    const char *slash = strrchr(path, '/');
    *out = NULL;
    if (!slash)
        return HR_STATUS_OK;
    size_t size = slash == path ? 1 : (size_t)(slash - path);
    *out = hr_calloc(size + 1, 1, error);
    HR_TRY_ALLOC(*out);
    memcpy(*out, path, size);
    return HR_STATUS_OK;
}
