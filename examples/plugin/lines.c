/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* example.lines: a stream of the lines of text files. Where a line begins is known only after the
 * line before it was read, so lines have no numbers by which they could be shuffled. */
#include <stdio.h>
#include <string.h>

#include "headrace/operator.h"

#define LINE_MAX_SIZE ((size_t)1 << 20)

typedef struct lines_args {
    hr_strings path;
} lines_args;

typedef struct lines_cursor { /* of the next line */
    int64_t file, offset, line;
} lines_cursor;

typedef struct lines_state {
    const hr_strings *path;
    lines_cursor at;
    hr_object *object; /* the cursor's file, or NULL */
    char *window;      /* bytes of it, from `start` on */
    int64_t start;
    size_t size;
    hr_cancel cancel;
} lines_state;

static void file_close(lines_state *s)
{
    hr_object_close(s->object);
    s->object = NULL;
    s->start = 0;
    s->size = 0;
}

static void next_file(lines_state *s)
{
    file_close(s);
    s->at = (lines_cursor){.file = s->at.file + 1};
}

static void lines_destroy(void *state)
{
    lines_state *s = state;

    file_close(s);
    hr_free(s->window);
    hr_free(s);
}

static hr_status lines_create(const void *args, void **state, hr_error *error)
{
    lines_state *s = hr_calloc(1, sizeof(*s), error);

    HR_TRY_ALLOC(s);
    s->path = &((const lines_args *)args)->path;
    s->window = hr_calloc(1, LINE_MAX_SIZE, error);
    if (!s->window) {
        hr_free(s);
        return HR_STATUS_NO_MEMORY;
    }
    *state = s;
    return HR_STATUS_OK;
}

/* Makes the window begin at the cursor, unless it has all the rest of the file. */
static hr_status window_move(lines_state *s, hr_error *error)
{
    int64_t left = hr_object_size(s->object) - s->at.offset;

    if (s->at.offset + left == s->start + (int64_t)s->size)
        return HR_STATUS_OK;
    s->start = s->at.offset;
    s->size = HR_MIN((size_t)left, LINE_MAX_SIZE);
    return hr_object_read(s->object, s->start, s->size, s->window, NULL, &s->cancel, error);
}

/* The bytes of the window from the cursor on, and the first newline among them. */
static const char *window_find(const lines_state *s, size_t *size, const char **newline)
{
    size_t skip = (size_t)(s->at.offset - s->start);
    bool inside = s->at.offset >= s->start && skip <= s->size;

    *size = inside ? s->size - skip : 0;
    *newline = *size > 0 ? memchr(s->window + skip, '\n', *size) : NULL;
    return s->window + skip;
}

/* Finds the line at the cursor and moves the cursor behind it. `*text`: NULL if it is too long. */
static hr_status take_line(lines_state *s, const char **text, size_t *size, hr_error *error)
{
    const char *newline;
    bool whole = true;

    *text = window_find(s, size, &newline);
    while (!newline) {
        HR_TRY(window_move(s, error));
        *text = window_find(s, size, &newline);
        if (newline || s->at.offset + (int64_t)*size == hr_object_size(s->object))
            break; /* the last line may have no newline */
        s->at.offset += (int64_t)*size;
        whole = false;
    }
    *size = newline ? (size_t)(newline - *text) : *size;
    s->at.offset += (int64_t)*size + (newline != NULL);
    s->at.line++;
    *text = whole ? *text : NULL;
    return HR_STATUS_OK;
}

/* Opens the file at the cursor, or a later one if it has no more lines. `*ended`: there is none. */
static hr_status find_file(lines_state *s, bool *ended, hr_error *error)
{
    while (s->at.file < s->path->n) {
        if (!s->object)
            HR_TRY(hr_object_open(&s->object, NULL, s->path->v[s->at.file], &s->cancel, error));
        if (s->at.offset < hr_object_size(s->object))
            return HR_STATUS_OK;
        next_file(s);
    }
    *ended = true;
    return HR_STATUS_OK;
}

/* The name of the line at the cursor, for messages. */
static const char *line_name(const lines_state *s, hr_arena *arena)
{
    const char *path = s->path->v[s->at.file];
    size_t size = strlen(path) + 32;
    char *name = hr_arena_alloc(arena, size, NULL);

    if (name)
        snprintf(name, size, "%s: line %lld", path, (long long)s->at.line + 1);
    return name;
}

static hr_status emit_line(hr_op_call *c, const char *text, size_t size, hr_error *error)
{
    hr_shape shape = {1, {(int64_t)size}};

    if (!text)
        return hr_fail(error, HR_STATUS_LIMIT, "the line is longer than %zu bytes", LINE_MAX_SIZE);
    if (memchr(text, 0, size))
        return hr_fail(error, HR_STATUS_CORRUPT, "the line contains a zero byte");
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, shape, NULL);
    c->out[0].data = hr_arena_alloc(c->arena, size, error);
    HR_TRY_ALLOC(c->out[0].data);
    memcpy(c->out[0].data, text, size);
    return HR_STATUS_OK;
}

static hr_status lines_next(hr_op_call *c, hr_stream_event *event, hr_error *error)
{
    lines_state *s = c->state;
    const char *text = NULL;
    size_t size = 0;
    bool ended = false;

    hr_status status = find_file(s, &ended, error);
    if (ended) {
        *event = HR_STREAM_EVENT_END;
        return status;
    }
    c->source_info = line_name(s, c->arena);
    if (status == HR_STATUS_OK)
        status = take_line(s, &text, &size, error);
    if (status != HR_STATUS_OK) { /* the rest of the file cannot be read */
        next_file(s);
        return status;
    }
    return emit_line(c, text, size, error);
}

static hr_status lines_restart(void *state, hr_error *error)
{
    lines_state *s = state;

    (void)error;
    file_close(s);
    s->at = (lines_cursor){0};
    return HR_STATUS_OK;
}

static size_t lines_save(const void *state, void *room, size_t size)
{
    const lines_state *s = state;

    if (size >= sizeof(s->at))
        memcpy(room, &s->at, sizeof(s->at));
    return sizeof(s->at);
}

static hr_status lines_restore(void *state, const void *cursor, size_t size, hr_error *error)
{
    lines_state *s = state;
    lines_cursor at;

    if (size != sizeof(at))
        return hr_fail(error, HR_STATUS_VALUE, "a cursor has %zu bytes, not %zu", sizeof(at), size);
    memcpy(&at, cursor, size);
    if (at.file < 0 || at.file > s->path->n || at.offset < 0 || at.line < 0)
        return hr_fail(error, HR_STATUS_VALUE, "the cursor is not in these files");
    s->at = at;
    return HR_STATUS_OK;
}

static void lines_cancel(void *state)
{
    hr_cancel_set(&((lines_state *)state)->cancel);
}

static const hr_stream_def lines_stream = {
    .next = lines_next,
    .restart = lines_restart,
    .save = lines_save,
    .restore = lines_restore,
    .cancel = lines_cancel,
};

static const hr_source_def lines_source = {.kind = HR_SOURCE_KIND_STREAM, .stream = &lines_stream};

const hr_op_def hr_op_lines = {
    HR_OP("example.lines"),
    .doc = "Reads the lines of text files in order. The output is UINT8 of shape (bytes,).",
    .devices = "cpu",
    HR_ARGS(lines_args, HR_ARG(lines_args, path, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
                               "Paths of the files.")),
    .create = lines_create,
    .destroy = lines_destroy,
    .source = &lines_source,
};
