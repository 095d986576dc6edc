/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/video/tables.h"

#include "codecs/video/flat.h"
#include "readers/scan.h"

/* ---- scans ---- */

static hr_status read_object(void *user, int64_t offset, size_t size, void *dst, hr_error *error)
{
    return hr_object_read(user, offset, size, dst, NULL, NULL, error);
}

static hr_status scan_object(hr_object *object, hr_scan *out, hr_error *error)
{
    const hr_video_file file = {read_object, object, hr_object_size(object)};
    hr_video v;
    HR_TRY(hr_video_scan(&file, &v, error));
    const size_t size = hr_video_flat_size(&v);
    char *flat = hr_calloc(size, 1, error);
    if (flat) {
        hr_video_flat_write(&v, file.size, flat);
        *out = (hr_scan){flat, size, size};
    }
    hr_video_fini(&v);
    return flat ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static bool is_valid(const hr_scan *scan, int64_t size)
{
    return hr_video_flat_valid(scan->data, scan->size, size);
}

/* ---- many files ---- */

hr_status hr_video_tables_make(hr_video_tables *t, const hr_strings *paths, hr_error *error)
{
    static const hr_scanner scanner = {"video 5", scan_object, is_valid};
    hr_error *errors = NULL;
    *t = (hr_video_tables){.count = paths->n};
    HR_TRY(hr_scan_each(paths, &scanner, &t->scans, &errors, error));
    t->tables = hr_calloc((size_t)paths->n + 1, sizeof(*t->tables), error);
    for (int32_t i = 0; t->tables && i < paths->n; i++) {
        if (errors[i].status == HR_STATUS_OK) {
            t->tables[i].size = hr_video_flat_open(t->scans[i].data, &t->tables[i].video);
        } else if (t->bad++ == 0) {
            t->first_bad = i;
            t->why = errors[i];
        }
    }
    hr_free(errors);
    return t->tables ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

void hr_video_tables_fini(hr_video_tables *t)
{
    hr_scan_free(t->scans, t->count);
    hr_free(t->tables);
    *t = (hr_video_tables){0};
}
