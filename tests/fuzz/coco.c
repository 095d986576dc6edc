/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: annotations of COCO. The first byte chooses options, and whether the rest is an
 * annotations file or coded run lengths. The masks of small images are drawn. */
#include "readers/coco/data.h"
#include "replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PIXELS 4096

static void draw(const hr_coco_data *d)
{
    static int32_t pixels[PIXELS];
    hr_arena *arena;
    hr_error error;
    if (hr_arena_create(&arena, &error) != HR_STATUS_OK)
        return;
    for (int64_t i = 0; i < d->names.count; i++) {
        const hr_coco_image *m = &HR_COCO_AT(d->images, hr_coco_image)[i];
        if ((int64_t)m->width * m->height > PIXELS)
            continue;
        (void)hr_coco_draw(d, m, pixels, arena, &error);
        hr_arena_reset(arena);
    }
    hr_arena_destroy(arena);
}

static void load(const char *path, uint8_t flags)
{
    hr_coco_data d = {0};
    hr_error error;
    const hr_coco_options options = {.ltrb = flags & 2,
                                     .ratio = flags & 4,
                                     .skip_empty = flags & 8,
                                     .keep_ids = flags & 16,
                                     .crowds = flags & 32,
                                     .masks = flags & 64,
                                     .size_threshold = 0.1f};
    if (hr_coco_load(&d, path, &options, &error) == HR_STATUS_OK)
        draw(&d);
    hr_coco_fini(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    static char path[64];
    hr_error error;
    if (size == 0)
        return 0;
    if (data[0] & 1) {
        hr_scan counts = {0};
        (void)hr_coco_decode_counts(&counts, (const char *)data + 1, size - 1, &error);
        hr_free(counts.data);
        return 0;
    }
    if (fd < 0 && (fd = memfd_create("input", 0)) >= 0)
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (fd >= 0 && ftruncate(fd, 0) == 0 &&
        pwrite(fd, data + 1, size - 1, 0) == (ssize_t)(size - 1))
        load(path, data[0]);
    return 0;
}
