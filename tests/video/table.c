/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* For tests in Python: prints what a video file contains, one fact per line.
 *   video_table FILE              the track, its packets and its frames, and the bytes that were
 *                                 read to find them
 *   video_table FILE unpack OUT   also writes the packets to OUT, each behind its size (LE32), and
 *                                 prints what they contain (HR_VIDEO_CONTENT_...)
 *   video_table FILE plan 3 7 5   the runs that decode these frames, and the wanted packets */
#include "codecs/video/packets.h"
#include "codecs/video/video.h"
#include "core/core.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t bytes_read;

static hr_status read_file(void *user, int64_t offset, size_t size, void *dst, hr_error *error)
{
    FILE *file = user;
    bytes_read += (int64_t)size;
    if (fseek(file, (long)offset, SEEK_SET) != 0 || fread(dst, 1, size, file) != size)
        return hr_fail(error, HR_STATUS_IO, "reading %zu bytes at %" PRId64 " failed", size,
                       offset);
    return HR_STATUS_OK;
}

static void print_table(const hr_video *v)
{
    printf("format %s\ncodec %d\nsize %d %d\ntime %" PRId64 " %" PRId64 "\nrate %d %d\n", v->format,
           (int)v->codec, v->width, v->height, v->time_num, v->time_den, v->rate_num, v->rate_den);
    printf("full_range %d\nrotation %d\nextra %zu\n", v->signal.full_range, v->rotation,
           v->extra_size);
    printf("read %" PRId64 "\n", bytes_read);
    for (int32_t i = 0; i < v->count; i++)
        printf("packet %" PRId64 " %d %d %" PRId64 "\n", v->packets[i].offset, v->packets[i].size,
               v->packets[i].flags, v->packets[i].pts);
    for (int32_t i = 0; i < v->frames; i++)
        printf("frame %d\n", v->order[i]);
}

static hr_status unpack(const hr_video *v, FILE *file, const char *path, hr_error *error)
{
    FILE *out = fopen(path, "wb");
    if (!out)
        return hr_fail(error, HR_STATUS_IO, "cannot write");
    hr_status status = HR_STATUS_OK;
    for (int32_t i = 0; i < v->count && status == HR_STATUS_OK; i++) {
        const hr_video_packet *p = &v->packets[i];
        uint8_t *stored = malloc((size_t)p->size), *bytes = malloc(hr_video_room(v, p));
        size_t size = 0;
        status = read_file(file, p->offset, (size_t)p->size, stored, error);
        if (status == HR_STATUS_OK)
            status = hr_video_unpack(v, p, stored, bytes, &size, error);
        uint32_t written = (uint32_t)size;
        fwrite(&written, 4, 1, out);
        fwrite(bytes, 1, size, out);
        printf("content %d\n", hr_video_content_of(v, bytes, size));
        free(stored);
        free(bytes);
    }
    fclose(out);
    return status;
}

static hr_status plan(const hr_video *v, char **numbers, int32_t count, hr_error *error)
{
    hr_arena *arena;
    hr_video_plan p;
    int32_t *frames = calloc((size_t)count + 1, sizeof(*frames));
    HR_TRY(hr_arena_create(&arena, error));
    for (int32_t i = 0; i < count; i++)
        frames[i] = atoi(numbers[i]);
    hr_status status = hr_video_plan_make(v, frames, count, arena, &p, error);
    if (status == HR_STATUS_OK) {
        for (int32_t i = 0; i < p.run_count; i++)
            printf("run %d %d %d %d\n", p.runs[i].first, p.runs[i].end, p.runs[i].from,
                   p.runs[i].to);
        for (int32_t i = 0; i < p.wanted_count; i++)
            printf("wanted %d\n", p.wanted[i]);
    }
    hr_arena_destroy(arena);
    free(frames);
    return status;
}

int main(int argc, char **argv)
{
    hr_video v;
    hr_error error = {0};
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file || fseek(file, 0, SEEK_END) != 0)
        return 2;
    const hr_video_file from = {read_file, file, ftell(file)};
    hr_status status = hr_video_scan(&from, &v, &error);
    if (status == HR_STATUS_OK) {
        if (argc > 2 && strcmp(argv[2], "plan") == 0) {
            status = plan(&v, argv + 3, argc - 3, &error);
        } else {
            print_table(&v);
            if (argc > 3)
                status = unpack(&v, file, argv[3], &error);
        }
        hr_video_fini(&v);
    }
    if (status != HR_STATUS_OK)
        printf("error %s\n", error.message);
    fclose(file);
    return status != HR_STATUS_OK;
}
