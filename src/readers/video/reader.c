/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "readers/video/reader.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A part of a file with at least one sequence. */
typedef struct part {
    int64_t first; /* of its sequences */
    int32_t file, label;
    int32_t start, end; /* frames */
} part;

struct hr_video_reader {
    hr_video_wish wish;
    hr_video_list list;
    const char **paths; /* each once, sorted */
    int32_t path_count;
    hr_video_tables tables;
    part *parts;
    int64_t part_count, count;
    atomic_bool warned;
};

/* ---- files, each once ---- */

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static hr_status list_paths(hr_video_reader *r, hr_error *error)
{
    const hr_file_list *names = &r->list.names;
    if (names->count > INT32_MAX / 2)
        return hr_fail(error, HR_STATUS_LIMIT, "%lld files are too many", (long long)names->count);
    if (!(r->paths = hr_calloc((size_t)names->count + 1, sizeof(*r->paths), error)))
        return HR_STATUS_NO_MEMORY;
    for (int64_t i = 0; i < names->count; i++)
        r->paths[i] = hr_file_list_name(names, i);
    qsort(r->paths, (size_t)names->count, sizeof(*r->paths), compare_paths);
    for (int64_t i = 0; i < names->count; i++)
        if (r->path_count == 0 || strcmp(r->paths[i], r->paths[r->path_count - 1]) != 0)
            r->paths[r->path_count++] = r->paths[i];
    return HR_STATUS_OK;
}

static int32_t find_path(const hr_video_reader *r, const char *path)
{
    const char **found =
        bsearch(&path, r->paths, (size_t)r->path_count, sizeof(*r->paths), compare_paths);
    return (int32_t)(found - r->paths);
}

/* ---- checks of legacy readers ---- */

/* Whether all frames are equally far apart, but for the rounding of their times. */
static bool has_constant_rate(const hr_video *v)
{
    if (v->frames < 3)
        return true;
    int64_t first = v->packets[v->order[0]].pts;
    int64_t span = v->packets[v->order[v->frames - 1]].pts - first;
    double step = (double)span / (v->frames - 1);
    for (int32_t i = 0; i < v->frames; i++) {
        double off = (double)(v->packets[v->order[i]].pts - first) - step * i;
        if (off > 1.5 || off < -1.5)
            return false;
    }
    return true;
}

static hr_status check_files(const hr_video_reader *r, hr_error *error)
{
    const hr_video_table *first = NULL;
    for (int32_t i = 0; i < r->path_count; i++) {
        const hr_video_table *t = &r->tables.tables[i];
        if (t->video.frames == 0)
            continue;
        first = first ? first : t;
        if (r->wish.same_codec && t->video.codec != first->video.codec)
            return hr_fail(error, HR_STATUS_ERROR,
                           "all files must have the same codec, but those of '%s' and '%s' differ",
                           r->paths[i], r->paths[first - r->tables.tables]);
        if (r->wish.constant_rate && !has_constant_rate(&t->video))
            return hr_fail(error, HR_STATUS_ERROR,
                           "'%s' has a variable frame rate; skip_vfr_check=True accepts that",
                           r->paths[i]);
    }
    return HR_STATUS_OK;
}

/* ---- sequences ---- */

static hr_status add_part(hr_video_reader *r, int64_t i, hr_error *error)
{
    part p = {.first = r->count,
              .file = find_path(r, hr_file_list_name(&r->list.names, i)),
              .label = r->list.names.label[i]};
    const hr_video *v = &r->tables.tables[p.file].video;
    if (v->frames == 0)
        return HR_STATUS_OK;
    hr_status status = hr_video_range(v, r->list.parts ? &r->list.parts[i] : NULL,
                                      &r->wish.rounding, &p.start, &p.end, error);
    if (status != HR_STATUS_OK)
        return hr_error_prefix(error, "'%s'", r->paths[p.file]);
    int64_t count = hr_video_sequence_count(&r->wish.sequences, p.end - p.start);
    r->list.empty += p.end <= p.start;
    if (count > 0) {
        r->parts[r->part_count++] = p;
        r->count += count;
    }
    return HR_STATUS_OK;
}

static hr_status add_parts(hr_video_reader *r, hr_error *error)
{
    if (!(r->parts = hr_calloc((size_t)r->list.names.count + 1, sizeof(*r->parts), error)))
        return HR_STATUS_NO_MEMORY;
    for (int64_t i = 0; i < r->list.names.count; i++)
        HR_TRY(add_part(r, i, error));
    if (r->count > 0)
        return HR_STATUS_OK;
    if (r->tables.bad > 0)
        return hr_fail(error, HR_STATUS_ERROR,
                       "no sequences were found: %d of %d files cannot be used; '%s': %s",
                       r->tables.bad, r->path_count, r->paths[r->tables.first_bad],
                       r->tables.why.message);
    return hr_fail(error, HR_STATUS_ERROR,
                   "the files have no sequences of %d frames with stride %d; a pad_mode "
                   "other than \"none\" completes shorter ones",
                   r->wish.sequences.length, r->wish.sequences.stride);
}

static hr_status fill_reader(hr_video_reader *r, hr_error *error)
{
    HR_TRY(hr_video_list_make(&r->list, &r->wish.names, error));
    HR_TRY(list_paths(r, error));
    const hr_strings paths = {r->paths, r->path_count};
    HR_TRY(hr_video_tables_make(&r->tables, &paths, error));
    HR_TRY(check_files(r, error));
    return add_parts(r, error);
}

hr_status hr_video_reader_create(void **state, const hr_video_wish *wish, hr_error *error)
{
    hr_video_reader *r = hr_calloc(1, sizeof(*r), error);
    HR_TRY_ALLOC(r);
    r->wish = *wish;
    hr_status status = fill_reader(r, error);
    if (status != HR_STATUS_OK)
        hr_video_reader_destroy(r);
    else
        *state = r;
    return status;
}

void hr_video_reader_destroy(void *state)
{
    hr_video_reader *r = state;
    hr_video_tables_fini(&r->tables);
    hr_video_list_fini(&r->list);
    hr_free(r->paths);
    hr_free(r->parts);
    hr_free(r);
}

const hr_video_output *hr_video_reader_output(const hr_video_reader *r)
{
    return &r->wish.output;
}

/* ---- the source ---- */

int64_t hr_video_reader_count(const void *state)
{
    return ((const hr_video_reader *)state)->count;
}

static const part *part_of(const hr_video_reader *r, int64_t index)
{
    int64_t low = 0, high = r->part_count; /* parts[low].first <= index < parts[high].first */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (r->parts[middle].first <= index)
            low = middle;
        else
            high = middle;
    }
    return &r->parts[low];
}

const char *hr_video_reader_name(const void *state, int64_t index, char *room, size_t size)
{
    const hr_video_reader *r = state;
    const part *p = part_of(r, index);
    int64_t first =
        hr_video_sequence_frame(&r->wish.sequences, p->end - p->start, index - p->first, 0);
    char shown[HR_SHOWN_SIZE];
    snprintf(room, size, "%s: frame %lld", hr_shown_name(r->paths[p->file], shown, sizeof(shown)),
             (long long)(p->start + first));
    return room;
}

int64_t hr_video_reader_label(const void *state, int64_t index)
{
    return part_of(state, index)->label;
}

hr_status hr_video_reader_sequence(const hr_video_reader *r, int64_t index, hr_arena *arena,
                                   hr_video_sequence *out, hr_error *error)
{
    const part *p = part_of(r, index);
    const hr_video_step *s = &r->wish.sequences;
    int32_t frames = p->end - p->start;
    *out = (hr_video_sequence){.video = &r->tables.tables[p->file].video,
                               .size = r->tables.tables[p->file].size,
                               .path = r->paths[p->file],
                               .label = p->label,
                               .count = s->length};
    if (!(out->numbers = hr_arena_alloc(arena, (size_t)s->length * sizeof(*out->numbers), error)))
        return HR_STATUS_NO_MEMORY;
    for (int32_t k = 0; k < s->length; k++) {
        int64_t at = hr_video_sequence_frame(s, frames, index - p->first, k);
        int32_t number = hr_video_pad(r->wish.pad, at, frames);
        out->numbers[k] = number < 0 ? -1 : p->start + number;
    }
    return HR_STATUS_OK;
}

double hr_video_reader_time(const hr_video_sequence *s, int32_t k)
{
    const hr_video *v = s->video;
    if (s->numbers[k] < 0)
        return -1;
    int64_t units = v->packets[v->order[s->numbers[k]]].pts - v->packets[v->order[0]].pts;
    return (double)units * (double)v->time_num / (double)v->time_den;
}

hr_status hr_video_reader_warn(const hr_video_reader *r, hr_task *task, hr_error *error)
{
    if ((r->tables.bad == 0 && r->list.empty == 0) ||
        atomic_exchange(&((hr_video_reader *)(uintptr_t)r)->warned, true))
        return HR_STATUS_OK;
    if (r->tables.bad == 0)
        return hr_task_warn(task, error,
                            "%lld lines of file_list are left out, because the part "
                            "of the video that they select is empty",
                            (long long)r->list.empty);
    return hr_task_warn(task, error, "%d of %d files are left out; '%s': %s", r->tables.bad,
                        r->path_count, r->paths[r->tables.first_bad], r->tables.why.message);
}

/* ---- bytes ---- */

/* The bytes from the first to the last packet of some runs. */
static void cover(const hr_video *v, const hr_video_run *runs, int32_t count, hr_span *span)
{
    int64_t start = INT64_MAX, end = 0;
    for (int32_t r = 0; r < count; r++)
        for (int32_t i = runs[r].first; i < runs[r].end; i++) {
            const hr_video_packet *p = &v->packets[i];
            start = HR_MIN(start, p->offset);
            end = HR_MAX(end, p->offset + p->size);
        }
    span->offset = start;
    span->size = end - start;
}

static hr_status locate(const hr_video_sequence *s, hr_arena *arena, hr_span *spans, int32_t *count,
                        hr_error *error)
{
    hr_video_plan plan;
    HR_TRY(hr_video_plan_make(s->video, s->numbers, s->count, arena, &plan, error));
    *count = HR_MIN(plan.run_count, HR_SOURCE_MAX_SPANS);
    for (int32_t i = 0; i < *count; i++) {
        int32_t from = (int32_t)((int64_t)plan.run_count * i / *count);
        int32_t to = (int32_t)((int64_t)plan.run_count * (i + 1) / *count);
        spans[i] = (hr_span){.path = s->path, .keep_open = true};
        cover(s->video, &plan.runs[from], to - from, &spans[i]);
    }
    return HR_STATUS_OK;
}

hr_status hr_video_reader_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                                 hr_error *error)
{
    const hr_video_reader *r = state;
    hr_video_sequence s;
    hr_arena *arena;
    HR_TRY(hr_arena_create(&arena, error));
    hr_status status = hr_video_reader_sequence(r, index, arena, &s, error);
    if (status == HR_STATUS_OK)
        status = locate(&s, arena, spans, count, error);
    hr_arena_destroy(arena);
    return status;
}

hr_status hr_video_bytes_read(void *bytes, int64_t offset, size_t size, void *dst, hr_error *error)
{
    const hr_video_bytes *b = bytes;
    for (int32_t i = 0; i < b->count; i++) {
        int64_t at = offset - b->spans[i].offset, have = b->tensors[i].shape.extent[0];
        if (at >= 0 && at <= have && (int64_t)size <= have - at) {
            memcpy(dst, (const uint8_t *)b->tensors[i].data + at, size);
            return HR_STATUS_OK;
        }
    }
    return hr_fail(error, HR_STATUS_STATE, "byte %lld of the video was not read",
                   (long long)offset);
}
