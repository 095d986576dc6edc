/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: LMDB databases. The first byte chooses what the rest is: a database, or the result
 * of a scan, as a cache file may contain it. */
#include "readers/records/lmdb.h"
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What a scan finds must be what the cache accepts. */
static void scan_database(const char *path)
{
    hr_object *object;
    hr_scan scan = {0};
    hr_error error;
    if (hr_object_open(&object, NULL, path, NULL, &error) != HR_STATUS_OK)
        return;
    if (hr_lmdb_scanner.scan(object, &scan, &error) == HR_STATUS_OK &&
        !hr_lmdb_scanner.valid(&scan, hr_object_size(object)))
        abort();
    hr_free(scan.data);
    hr_object_close(object);
}

static void check_scan(const uint8_t *data, size_t size)
{
    hr_scan scan = {malloc(size + 1), size, size};
    if (!scan.data)
        return;
    memcpy(scan.data, data, size);
    (void)hr_lmdb_scanner.valid(&scan, 1 << 16);
    free(scan.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    if (size == 0)
        return 0;
    if (data[0] & 1) {
        check_scan(data + 1, size - 1);
        return 0;
    }
    if (fd < 0 && (fd = memfd_create("input", 0)) >= 0)
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data + 1, size - 1, 0) != (ssize_t)(size - 1))
        return 0;
    scan_database(path);
    return 0;
}
