/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A Chrome trace (chrome://tracing, Perfetto). Every lane keeps a bounded list of spans, which are
 * written when the pipeline is destroyed. */
#include "exec/trace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "graph/value.h"
#include "core/clock.h"

#define SPANS_MAX ((size_t)1 << 20) /* per lane; later ones are dropped */

typedef struct lane { /* used by one thread at a time, without a lock */
    hr_trace_span *spans;
    size_t count, capacity, lost;
} lane;

struct hr_trace {
    char *path;
    int64_t start_ns;
    int32_t workers, lane_count;
    lane lanes[];
};

hr_status hr__trace_create(hr_trace **out, const char *path, int32_t workers, int32_t sources,
                           hr_error *error)
{
    size_t lanes = (size_t)workers + (size_t)sources + 1;
    FILE *f = fopen(path, "we"); /* to report a bad path now; it is written at the end */
    if (!f)
        return hr_fail_errno(error, errno, "trace: '%s' cannot be written", path);
    fclose(f);
    hr_trace *trace = hr_calloc(1, sizeof(*trace) + lanes * sizeof(trace->lanes[0]), error);
    HR_TRY_ALLOC(trace);
    trace->path = hr_strdup(path, error);
    trace->workers = workers;
    trace->lane_count = (int32_t)lanes;
    trace->start_ns = hr_clock_ns();
    if (!trace->path) {
        hr_free(trace);
        return HR_STATUS_NO_MEMORY;
    }
    *out = trace;
    return HR_STATUS_OK;
}

int32_t hr__trace_source_lane(const hr_trace *trace, int32_t source)
{
    return trace->workers + source;
}

int32_t hr__trace_device_lane(const hr_trace *trace)
{
    return trace->lane_count - 1;
}

void hr__trace_span(hr_trace *trace, int32_t at, hr_trace_span span)
{
    lane *l = &trace->lanes[at];
    if (l->count == l->capacity) {
        size_t capacity = l->capacity ? 2 * l->capacity : 4096;
        hr_trace_span *spans =
            capacity <= SPANS_MAX ? hr_realloc(l->spans, capacity, sizeof(*spans), NULL) : NULL;
        if (!spans) {
            l->lost++;
            return;
        }
        l->spans = spans;
        l->capacity = capacity;
    }
    l->spans[l->count++] = span;
}

/* Returns 0 or an errno. */
static int write_line(FILE *f, hr_text *line, bool *first)
{
    int code = line->failed ? ENOMEM : 0;
    if (code == 0 && !*first && fputs(",\n", f) < 0)
        code = errno;
    if (code == 0 && fwrite(line->data, 1, line->size, f) != line->size)
        code = errno;
    *first = false;
    hr_text_fini(line);
    return code;
}

/* Returns 0 or an errno. */
static int write_name(FILE *f, const hr_trace *trace, int32_t at, bool *first)
{
    hr_text line = {0};
    hr_text_append(&line, "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, ",
                   at);
    if (at < trace->workers)
        hr_text_append(&line, "\"args\": {\"name\": \"worker %d\"}}", at);
    else if (at == hr__trace_device_lane(trace))
        hr_text_append(&line, "\"args\": {\"name\": \"GPU\"}}");
    else
        hr_text_append(&line, "\"args\": {\"name\": \"source %d\"}}", at - trace->workers);
    return write_line(f, &line, first);
}

/* Returns 0 or an errno. */
static int write_lane(FILE *f, const hr_trace *trace, int32_t at, bool *first)
{
    char name[HR_NODE_TEXT_SIZE];
    const lane *l = &trace->lanes[at];
    int code = l->count ? write_name(f, trace, at, first) : 0;
    for (size_t i = 0; i < l->count && code == 0; i++) {
        const hr_trace_span *s = &l->spans[i];
        hr_text line = {0}, label = {0}; /* not fprintf, whose numbers depend on the locale */
        hr_text_append(&label, "%s", hr_node_text(s->first, name, sizeof(name)));
        if (s->last != s->first)
            hr_text_append(&label, " .. %s", hr_node_text(s->last, name, sizeof(name)));
        hr_text_append(&line, "{\"name\": ");
        hr_text_append_quoted(&line, label.failed ? "" : label.data);
        hr_text_append(&line,
                       ", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, "
                       "\"args\": {\"iteration\": %lld, \"sample\": %d}}",
                       at, (double)(s->start_ns - trace->start_ns) * 1e-3,
                       (double)(s->end_ns - s->start_ns) * 1e-3, (long long)s->iteration,
                       s->sample);
        hr_text_fini(&label);
        code = write_line(f, &line, first);
    }
    return code;
}

/* Returns 0 or an errno. */
static int write_file(const hr_trace *trace)
{
    FILE *f = fopen(trace->path, "we");
    bool first = true;
    if (!f)
        return errno;
    int code = fprintf(f, "{\"traceEvents\": [\n") < 0 ? errno : 0;
    for (int32_t i = 0; i < trace->lane_count && code == 0; i++)
        code = write_lane(f, trace, i, &first);
    if (code == 0 && fprintf(f, "\n], \"displayTimeUnit\": \"ms\"}\n") < 0)
        code = errno;
    if (fclose(f) != 0 && code == 0)
        code = errno;
    return code;
}

hr_status hr__trace_destroy(hr_trace *trace, hr_error *error)
{
    if (!trace)
        return HR_STATUS_OK;
    int code = write_file(trace);
    hr_status status = code == 0
                           ? HR_STATUS_OK
                           : hr_fail_errno(error, code, "trace: '%s' is not complete", trace->path);
    for (int32_t i = 0; i < trace->lane_count; i++)
        hr_free(trace->lanes[i].spans);
    hr_free(trace->path);
    hr_free(trace);
    return status;
}
