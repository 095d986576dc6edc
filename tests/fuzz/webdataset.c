/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: tar archives and index files of WebDataset. The first byte chooses what the rest is:
 * an archive, an index, or the result of a scan, as a cache file may contain it. */
#include "readers/tar/wds_index.h"
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Members must lie within the archive. */
static void check(const hr_scan *scan, int64_t size)
{
    hr_wds_member m;
    for (size_t at = 0; hr_wds_member_at(scan, &at, &m);)
        if (m.offset < 0 || m.size < 0 || m.offset > size - m.size ||
            m.name + m.name_size > scan->data + scan->size)
            abort();
}

static void scan_archive(const char *path)
{
    hr_object *object;
    hr_scan scan = {0};
    hr_error error;
    if (hr_object_open(&object, NULL, path, NULL, &error) != HR_STATUS_OK)
        return;
    if (hr_wds_scanner.scan(object, &scan, &error) == HR_STATUS_OK) {
        check(&scan, hr_object_size(object));
        if (!hr_wds_scanner.valid(&scan, hr_object_size(object)))
            abort();
    }
    hr_free(scan.data);
    hr_object_close(object);
}

static hr_status found(void *context, const hr_wds_component *parts, int32_t count, hr_error *error)
{
    (void)error;
    for (int32_t i = 0; i < count; i++) {
        if (parts[i].offset < 0 || parts[i].size < 0)
            abort();
        *(size_t *)context +=
            strnlen(parts[i].name, parts[i].name_size) + strnlen(parts[i].ext, parts[i].ext_size);
    }
    return HR_STATUS_OK;
}

static void check_scan(const uint8_t *data, size_t size)
{
    enum { ARCHIVE = 10240 };
    hr_scan scan = {malloc(size + 1), size, size};
    if (!scan.data)
        return;
    memcpy(scan.data, data, size);
    if (hr_wds_scanner.valid(&scan, ARCHIVE))
        check(&scan, ARCHIVE);
    free(scan.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    size_t read = 0;
    hr_error error;
    if (size == 0)
        return 0;
    if (data[0] % 3 == 2) {
        check_scan(data + 1, size - 1);
        return 0;
    }
    if (fd < 0 && (fd = memfd_create("input", 0)) >= 0)
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)(size - 1))
        return 0;
    if (data[0] % 3 == 0)
        scan_archive(path);
    else
        (void)hr_wds_index_read(path, found, &read, &error);
    return 0;
}
