/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/video_tables.h"

#include <string.h>

#include "codecs/video/demuxer.h"
#include "readers/scan.h"

/* The result of a scan: this header, then `extra_size` and HR_VIDEO_PAD bytes, rounded up to 8,
 * `count` packets, `frames` and `key_count` numbers. */
typedef struct header {
    char format[16];
    uint8_t prefix[32];
    int64_t file_size, time_num, time_den, extra_size;
    int32_t codec, width, height, rate_num, rate_den, full_range, rotation, packing;
    int32_t prefix_size, count, key_count, frames;
} header;

static size_t padded(size_t extra_size)
{
    return (extra_size + HR_VIDEO_PAD + 7) & ~(size_t)7;
}

/* ---- scans ---- */

static hr_status read_object(void *user, int64_t offset, size_t size, void *dst, hr_error *error)
{
    return hr_object_read(user, offset, size, dst, NULL, NULL, error);
}

static hr_status write_video(const hr_video *v, int64_t size, hr_scan *out, hr_error *error)
{
    static const uint8_t zeros[HR_VIDEO_PAD + 8];
    header h;
    memset(&h, 0, sizeof(h)); /* no byte of it may depend on chance */
    h.file_size = size;
    h.time_num = v->time_num;
    h.time_den = v->time_den;
    h.extra_size = (int64_t)v->extra_size;
    h.codec = (int32_t)v->codec;
    h.width = v->width;
    h.height = v->height;
    h.rate_num = v->rate_num;
    h.rate_den = v->rate_den;
    h.full_range = v->full_range;
    h.rotation = v->rotation;
    h.packing = v->packing;
    h.prefix_size = v->prefix_size;
    h.count = v->count;
    h.key_count = v->key_count;
    h.frames = v->frames;
    memcpy(h.prefix, v->prefix, sizeof(h.prefix));
    memcpy(h.format, v->format, strnlen(v->format, sizeof(h.format) - 1));
    HR_TRY(hr_scan_add(out, &h, sizeof(h), error));
    HR_TRY(hr_scan_add(out, v->extra, v->extra_size, error));
    HR_TRY(hr_scan_add(out, zeros, padded(v->extra_size) - v->extra_size, error));
    HR_TRY(hr_scan_add(out, v->packets, (size_t)v->count * sizeof(*v->packets), error));
    HR_TRY(hr_scan_add(out, v->order, (size_t)v->frames * sizeof(*v->order), error));
    return hr_scan_add(out, v->keys, (size_t)v->key_count * sizeof(*v->keys), error);
}

static hr_status scan_object(hr_object *object, hr_scan *out, hr_error *error)
{
    const hr_video_file file = {read_object, object, hr_object_size(object)};
    hr_video v;
    HR_TRY(hr_video_scan(&file, &v, error));
    hr_status status = write_video(&v, file.size, out, error);
    hr_video_fini(&v);
    return status;
}

/* ---- results, which may come from a cache file that contains anything ---- */

static const char *find_format(const char *name)
{
    for (int32_t i = 0; hr_demuxers[i]; i++)
        if (strncmp(hr_demuxers[i]->name, name, sizeof(((header *)0)->format)) == 0)
            return hr_demuxers[i]->name;
    return NULL;
}

/* Whether the parts that `h` announces are the whole result. */
static bool sizes_fit(const header *h, size_t size)
{
    if (h->extra_size < 0 || h->extra_size > HR_VIDEO_MOST_EXTRA || h->count < 1 ||
        h->count > HR_VIDEO_MOST_PACKETS || h->frames < 1 || h->frames > h->count ||
        h->key_count < 1 || h->key_count > h->count)
        return false;
    return size == sizeof(*h) + padded((size_t)h->extra_size) +
                       (size_t)h->count * sizeof(hr_video_packet) +
                       ((size_t)h->frames + (size_t)h->key_count) * sizeof(int32_t);
}

static bool header_valid(const header *h, int64_t size)
{
    return h->file_size == size && find_format(h->format) && h->time_num > 0 && h->time_den > 0 &&
           h->time_num <= INT32_MAX && h->time_den <= INT32_MAX && h->rate_num > 0 &&
           h->rate_den > 0 && h->codec > HR_VIDEO_CODEC_NONE && h->codec < HR_VIDEO_CODEC_COUNT &&
           h->width >= 0 && h->height >= 0 && h->prefix_size >= 0 &&
           h->prefix_size <= (int32_t)sizeof(h->prefix);
}

static void open_video(const hr_scan *scan, hr_video_table *t)
{
    header h;
    memcpy(&h, scan->data, sizeof(h));
    char *at = scan->data + sizeof(h);
    hr_video *v = &t->video;
    *v = (hr_video){.format = find_format(h.format),
                    .codec = (hr_video_codec)h.codec,
                    .width = h.width,
                    .height = h.height,
                    .time_num = h.time_num,
                    .time_den = h.time_den,
                    .rate_num = h.rate_num,
                    .rate_den = h.rate_den,
                    .full_range = h.full_range != 0,
                    .rotation = h.rotation,
                    .extra = h.extra_size > 0 ? (uint8_t *)at : NULL,
                    .extra_size = (size_t)h.extra_size,
                    .packing = h.packing,
                    .prefix_size = h.prefix_size,
                    .count = h.count,
                    .key_count = h.key_count,
                    .frames = h.frames};
    memcpy(v->prefix, h.prefix, sizeof(v->prefix));
    at += padded(v->extra_size);
    v->packets = (hr_video_packet *)(void *)at;
    at += (size_t)v->count * sizeof(*v->packets);
    v->order = (int32_t *)(void *)at;
    at += (size_t)v->frames * sizeof(*v->order);
    v->keys = (int32_t *)(void *)at;
    t->size = h.file_size;
}

static bool tables_valid(const hr_video *v, int64_t size)
{
    for (size_t i = 0; v->extra && i < HR_VIDEO_PAD; i++)
        if (v->extra[v->extra_size + i] != 0)
            return false;
    for (int32_t i = 0; i < v->count; i++) {
        const hr_video_packet *p = &v->packets[i];
        if (p->size < 1 || p->offset < 0 || p->offset > size - p->size ||
            p->pts > HR_VIDEO_MOST_PTS || p->pts < -HR_VIDEO_MOST_PTS)
            return false;
    }
    for (int32_t i = 0; i < v->key_count; i++)
        if (v->keys[i] < (i > 0 ? v->keys[i - 1] + 1 : 0) || v->keys[i] >= v->count)
            return false;
    for (int32_t i = 0; i < v->frames; i++) /* none is before the first key */
        if (v->order[i] < v->keys[0] || v->order[i] >= v->count ||
            (i > 0 && v->packets[v->order[i]].pts <= v->packets[v->order[i - 1]].pts))
            return false;
    return true;
}

static bool is_valid(const hr_scan *scan, int64_t size)
{
    header h;
    hr_video_table t;
    if (scan->size < sizeof(h))
        return false;
    memcpy(&h, scan->data, sizeof(h));
    if (!sizes_fit(&h, scan->size) || !header_valid(&h, size))
        return false;
    open_video(scan, &t);
    return tables_valid(&t.video, size);
}

/* ---- many files ---- */

hr_status hr_video_tables_make(hr_video_tables *t, const hr_strings *paths, hr_error *error)
{
    static const hr_scanner scanner = {"video 1", scan_object, is_valid};
    hr_error *errors = NULL;
    *t = (hr_video_tables){.count = paths->n};
    HR_TRY(hr_scan_each(paths, &scanner, &t->scans, &errors, error));
    t->tables = hr_calloc((size_t)paths->n + 1, sizeof(*t->tables), error);
    for (int32_t i = 0; t->tables && i < paths->n; i++) {
        if (errors[i].status == HR_STATUS_OK) {
            open_video(&t->scans[i], &t->tables[i]);
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
