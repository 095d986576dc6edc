/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/records/records.h"

#include <string.h>

hr_status hr_records_init(hr_record_table *t, const char *const *paths, int32_t files,
                          hr_error *error)
{
    *t = (hr_record_table){.paths = paths, .files = files};
    t->first = hr_calloc((size_t)files + 1, sizeof(*t->first), error);
    return t->first ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

void hr_records_fini(hr_record_table *t)
{
    hr_free(t->first);
    hr_free(t->records);
    *t = (hr_record_table){0};
}

hr_status hr_records_add(hr_record_table *t, const hr_record *records, int64_t count,
                         hr_error *error)
{
    if (count > t->capacity - t->count) {
        int64_t capacity = HR_MAX(t->count + count, t->capacity / 2 * 3 + 1024);
        hr_record *grown = hr_realloc(t->records, (size_t)capacity, sizeof(*grown), error);
        HR_TRY_ALLOC(grown);
        t->records = grown;
        t->capacity = capacity;
    }
    if (count > 0)
        memcpy(t->records + t->count, records, (size_t)count * sizeof(*records));
    t->count += count;
    for (int64_t i = 0; i < count; i++) /* hostile sizes may not fit: this is only for a mean */
        t->bytes += HR_MIN(records[i].size, (INT64_MAX - t->bytes) / 2);
    return HR_STATUS_OK;
}

void hr_records_end_file(hr_record_table *t, int32_t file)
{
    t->first[file + 1] = t->count;
}

int32_t hr_records_file(const hr_record_table *t, int64_t index)
{
    int32_t low = 0, high = t->files - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (index < t->first[middle + 1])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

hr_span hr_records_span(const hr_record_table *t, int64_t index)
{
    return (hr_span){.path = t->paths[hr_records_file(t, index)],
                     .offset = t->records[index].offset,
                     .size = t->records[index].size,
                     .keep_open = true};
}

int64_t hr_records_count(const void *state)
{
    return ((const hr_record_table *)state)->count;
}

int64_t hr_records_mean_bytes(const void *state)
{
    const hr_record_table *t = state;
    return t->bytes / HR_MAX(t->count, 1);
}

const int64_t *hr_records_files(const void *state, int32_t *count)
{
    const hr_record_table *t = state;
    *count = t->files;
    return t->first;
}

hr_status hr_records_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                            hr_error *error)
{
    (void)error;
    spans[0] = hr_records_span(state, index);
    *count = 1;
    return HR_STATUS_OK;
}
