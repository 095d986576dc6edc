/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/table/provider.h"

#include <stdatomic.h>

#include "io/storage.h"

static _Atomic(const hr_tables *) provider;

void hr_tables_set(const hr_tables *tables)
{
    atomic_store(&provider, tables);
}

const hr_tables *hr_tables_get(void)
{
    return atomic_load(&provider);
}

hr_status hr_file_open(hr_file **out, const char *path, hr_error *error)
{
    hr_object *object = NULL;
    hr_status status = hr_object_open(&object, NULL, path, NULL, error);
    *out = (hr_file *)object;
    return status;
}

int64_t hr_file_size(const hr_file *file)
{
    return hr_object_size((const hr_object *)file);
}

hr_status hr_file_read(hr_file *file, int64_t offset, size_t size, void *dst, hr_error *error)
{
    return hr_object_read((hr_object *)file, offset, size, dst, NULL, NULL, error);
}

void hr_file_close(hr_file *file)
{
    hr_object_close((hr_object *)file);
}

/* Whether count + 1 numbers begin with 0 and do not descend. */
static bool ascends(const int64_t *numbers, int64_t count)
{
    if (!numbers || numbers[0] != 0)
        return false;
    for (int64_t i = 0; i < count; i++)
        if (numbers[i + 1] < numbers[i])
            return false;
    return true;
}

hr_status hr_table_info_check(const hr_table_info *info, hr_error *error)
{
    if (info->files < 1 || !ascends(info->file_groups, info->files) ||
        info->file_groups[info->files] > INT32_MAX ||
        !ascends(info->first, info->file_groups[info->files]))
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "the numbers of row groups and rows make no sense");
    return HR_STATUS_OK;
}
