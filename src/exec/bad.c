/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Bad samples: a bounded list of what was wrong with them, and the optional quarantine file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "exec/bad.h"
#include "exec/source.h"

#define BAD_KEPT 10000 /* later ones are only counted */

typedef struct hr_bad {
    int64_t iteration, index, epoch;
    int32_t sample;      /* position in the batch */
    const char *action;  /* "raised", "replaced", "skipped", "warning", "notice" */
    const hr_node *node; /* of a notice */
    char *source, *op, *message;
} hr_bad;

static int bad_order(const hr_bad *a, const hr_bad *b)
{
    if (a->iteration != b->iteration)
        return a->iteration < b->iteration ? -1 : 1;
    return (a->sample > b->sample) - (a->sample < b->sample);
}

static void free_texts(hr_bad *bad)
{
    hr_free(bad->source);
    hr_free(bad->op);
    hr_free(bad->message);
}

/* Makes room for `bad` behind those that come before it: threads report in any order, and the list
 * shall be the same with any number of them. The entries of one sample are reported one after
 * another. A full list loses its last entry. NULL: `bad` would be that one, or out of memory. */
static hr_bad *bad_slot(hr_pipeline *p, const hr_bad *bad)
{
    if (p->bad.count == BAD_KEPT) {
        if (bad_order(bad, &p->bad.list[BAD_KEPT - 1]) >= 0)
            return NULL;
        free_texts(&p->bad.list[--p->bad.count]);
    }
    if (p->bad.count == p->bad.capacity) {
        int32_t capacity = HR_MAX(16, 2 * p->bad.capacity);
        hr_bad *list = hr_realloc(p->bad.list, (size_t)capacity, sizeof(*list), NULL);
        if (!list)
            return NULL;
        p->bad.list = list;
        p->bad.capacity = capacity;
    }
    int32_t at = p->bad.count++;
    for (; at > 0 && bad_order(bad, &p->bad.list[at - 1]) < 0; at--)
        p->bad.list[at] = p->bad.list[at - 1];
    return &p->bad.list[at];
}

hr_status hr__quarantine_open(hr_pipeline *p, const char *path, hr_error *error)
{
    if (!path)
        return HR_STATUS_OK;
    /* O_NONBLOCK: a FIFO without a reader fails here instead of blocking the pipeline later. */
    p->bad.quarantine =
        open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
    if (p->bad.quarantine < 0)
        return hr_fail_errno(error, errno, "quarantine: '%s' cannot be written", path);
    return HR_STATUS_OK;
}

/* Escapes tabs, newlines and backslashes, which file names may contain. */
static void append_escaped(hr_text *t, const char *text)
{
    static const char special[] = "\\\n\t\r", letters[] = "\\ntr";
    for (const char *at = text; *at; at++) {
        const char *found = strchr(special, *at);
        char pair[2] = {'\\', found ? letters[found - special] : *at};
        hr_text_append_bytes(t, found ? pair : at, found ? 2 : 1);
    }
}

/* Writes a line with one write, since other processes may append to the same file. Returns 0 or an
 * errno. */
static int write_line(int fd, const char *source, const char *message)
{
    hr_text t = {0};
    append_escaped(&t, source);
    hr_text_append(&t, "\t");
    append_escaped(&t, message);
    hr_text_append(&t, "\n");
    char *line;
    size_t size;
    if (hr_text_take(&t, &line, &size, NULL) != HR_STATUS_OK)
        return ENOMEM;
    int code = 0;
    for (size_t done = 0; done < size && code == 0;) {
        ssize_t n = write(fd, line + done, size - done);
        code = n < 0 && errno != EINTR ? errno : 0;
        done += n > 0 ? (size_t)n : 0;
    }
    hr_string_free(line);
    return code;
}

/* Writes the line of a bad sample. Returns 0, or an errno after closing the file. Not called with
 * the pipeline's lock held: a slow disk must not block the workers. */
static int quarantine(hr_pipeline *p, const char *source, const char *message)
{
    pthread_mutex_lock(&p->bad.quarantine_lock);
    int code = p->bad.quarantine >= 0 ? write_line(p->bad.quarantine, source, message) : 0;
    if (code != 0) {
        close(p->bad.quarantine);
        p->bad.quarantine = -1;
    }
    pthread_mutex_unlock(&p->bad.quarantine_lock);
    return code;
}

/* Lock held. Out of memory, the sample is only counted. */
static void keep(hr_pipeline *p, const hr_bad *bad, const char *source, const char *op,
                 const char *message)
{
    hr_bad *slot = bad_slot(p, bad);
    if (!slot)
        return;
    *slot = *bad;
    slot->source = hr_strdup(source, NULL);
    slot->op = hr_strdup(op, NULL);
    slot->message = hr_strdup(message, NULL);
}

/* An entry for the sample of a task, and the sample's name. */
static hr_bad entry_of(const hr_task *task, const char *action, const char **source)
{
    const hr_sample *s = task->sample;
    const char *info = task->next ? task->next->source_info : task->info;
    hr_sampler_item item = s->sources
                               ? s->sources[0].item
                               : (hr_sampler_item){task->iteration->first_sample + s->index, 0, 0};
    *source = info ? info : s->info ? s->info : "";
    return (hr_bad){.iteration = task->iteration->number,
                    .index = item.index,
                    .epoch = item.epoch,
                    .sample = s->index,
                    .action = action};
}

/* Lock held. Whether the node's notice is that of this sample or of one before it; one of a later
 * sample is removed. */
static bool noted(hr_pipeline *p, const hr_bad *bad)
{
    for (int32_t i = 0; i < p->bad.count; i++) {
        hr_bad *found = &p->bad.list[i];
        if (found->node != bad->node)
            continue;
        if (bad_order(found, bad) <= 0)
            return true;
        free_texts(found);
        p->bad.count--;
        memmove(found, found + 1, (size_t)(p->bad.count - i) * sizeof(*found));
        return false;
    }
    return false;
}

void hr__bad_note(hr_pipeline *p, const hr_task *task, const char *message)
{
    const char *source;
    hr_bad bad = entry_of(task, "notice", &source);
    bad.node = task->node;
    pthread_mutex_lock(&p->lock);
    if (!noted(p, &bad))
        keep(p, &bad, source, task->node->def->name, message);
    pthread_mutex_unlock(&p->lock);
}

void hr__bad_record(hr_pipeline *p, const hr_task *task, const char *action, const char *message)
{
    const char *source;
    hr_bad bad = entry_of(task, action, &source);
    int code = quarantine(p, source, message);
    pthread_mutex_lock(&p->lock);
    p->bad.total++;
    keep(p, &bad, source, task->node ? task->node->def->name : "", message);
    if (code != 0) {
        hr_error error;
        hr_fail_errno(&error, code,
                      "the quarantine file cannot be written; no more samples are added to it");
        bad = (hr_bad){.iteration = p->taken.iteration, .action = "warning"};
        keep(p, &bad, "", "", error.message);
    }
    pthread_mutex_unlock(&p->lock);
}

void hr__bad_fini(hr_pipeline *p)
{
    for (int32_t i = 0; i < p->bad.count; i++)
        free_texts(&p->bad.list[i]);
    hr_free(p->bad.list);
    if (p->bad.quarantine >= 0)
        close(p->bad.quarantine);
}

hr_status hr_pipeline_errors(hr_pipeline *p, char **json, hr_error *error)
{
    hr_text t = {0};
    HR_TRY(hr__check_owner(p, error));
    hr_text_append(&t, "[");
    pthread_mutex_lock(&p->lock);
    for (int32_t i = 0; i < p->bad.count; i++) {
        const hr_bad *b = &p->bad.list[i];
        hr_text_append(
            &t, "%s{\"iteration\": %lld, \"index\": %lld, \"epoch\": %lld, \"action\": \"%s\"",
            i ? ", " : "", (long long)b->iteration, (long long)b->index, (long long)b->epoch,
            b->action);
        hr_text_append(&t, ", \"source\": ");
        hr_text_append_quoted(&t, b->source ? b->source : "");
        hr_text_append(&t, ", \"operator\": ");
        hr_text_append_quoted(&t, b->op ? b->op : "");
        hr_text_append(&t, ", \"message\": ");
        hr_text_append_quoted(&t, b->message ? b->message : "");
        hr_text_append(&t, "}");
    }
    pthread_mutex_unlock(&p->lock);
    hr_text_append(&t, "]");
    return hr_text_take(&t, json, NULL, error);
}
