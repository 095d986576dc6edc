/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.webdataset: samples in tar archives. Neighbouring members whose names are equal up to the
 * first dot are the components of one sample, and what follows the dot says which one. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "readers/tar/braces.h"
#include "readers/tar/wds_index.h"

#define GAP ((int64_t)64 << 10) /* components with less between them are read in one piece */

typedef struct wds_args {
    hr_sampler_args sampler;
    hr_strings paths, ext, index_paths;
    hr_ints dtypes;
    const char *missing_component_behavior;
    int32_t case_sensitive_extensions;
} wds_args;

typedef enum wds_missing { MISSING_EMPTY, MISSING_SKIP, MISSING_ERROR } wds_missing;

typedef struct wds_part {
    int64_t offset, size; /* offset -1: the component is missing */
} wds_part;

typedef struct wds_sample {
    uint32_t archive;
    uint32_t name_size;
    int64_t name; /* in `names`: of the first component that an output needs */
} wds_sample;

typedef struct wds_state {
    const wds_args *args;
    hr_string_list paths, index_paths;
    wds_missing missing;
    int32_t outputs;
    hr_scan samples, parts, names; /* wds_sample, `outputs` wds_parts per sample, text */
    int64_t count, bytes;
    char extensions[256]; /* those in the archives, for a message; as far as they fit */
    int64_t *first;       /* of an archive: the number of its first sample; archives + 1 */
    wds_sample sample;    /* while it is put together */
    wds_part part[HR_OP_MAX_OUTPUTS];
    bool any;
} wds_state;

/* ---- arguments ---- */

static bool parse_missing(const char *text, wds_missing *out)
{
    static const char *const names[] = {"", "empty", "skip", "error"};
    static const wds_missing values[] = {MISSING_EMPTY, MISSING_EMPTY, MISSING_SKIP, MISSING_ERROR};
    for (size_t i = 0; i < HR_COUNT_OF(names); i++)
        if (strcasecmp(text, names[i]) == 0) {
            *out = values[i];
            return true;
        }
    return false;
}

static hr_status wds_check(const void *args, const hr_given *given, hr_error *error)
{
    const wds_args *a = args;
    wds_missing missing;
    (void)given;
    if (!parse_missing(a->missing_component_behavior, &missing))
        return hr_fail(error, HR_STATUS_ERROR,
                       "missing_component_behavior '%s' is not \"\", \"empty\", \"skip\" or "
                       "\"error\"",
                       a->missing_component_behavior);
    if (a->dtypes.v && a->dtypes.n != a->ext.n)
        return hr_fail(error, HR_STATUS_ERROR, "there are %d dtypes for %d elements of ext",
                       a->dtypes.n, a->ext.n);
    for (int32_t i = 0; i < a->dtypes.n; i++)
        if (a->dtypes.v[i] < HR_DTYPE_UINT8 || a->dtypes.v[i] > HR_DTYPE_FLOAT64)
            return hr_fail(error, HR_STATUS_ERROR,
                           "dtypes may contain integer and floating-point types only");
    return HR_STATUS_OK;
}

static int32_t wds_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return ((const wds_args *)args)->ext.n;
}

static hr_dtype dtype_of(const wds_args *a, int32_t output)
{
    return a->dtypes.v ? (hr_dtype)a->dtypes.v[output] : HR_DTYPE_UINT8;
}

static bool same_text(const char *a, const char *b, size_t size, bool case_sensitive)
{
    return (case_sensitive ? strncmp(a, b, size) : strncasecmp(a, b, size)) == 0;
}

/* Whether an element of `ext` contains the extension. */
static bool takes(const char *element, const char *ext, size_t ext_size, bool case_sensitive)
{
    for (const char *next; element; element = next) {
        size_t size = strcspn(element, ";");
        next = element[size] ? element + size + 1 : NULL;
        if (size > 0 && size == ext_size && same_text(element, ext, size, case_sensitive))
            return true;
    }
    return false;
}

/* ---- the table of samples ---- */

static void sample_begin(wds_state *s, int32_t archive)
{
    s->sample = (wds_sample){.archive = (uint32_t)archive};
    s->any = false;
    for (int32_t k = 0; k < s->outputs; k++)
        s->part[k] = (wds_part){-1, 0};
}

static hr_status sample_name(wds_state *s, const hr_wds_component *c, hr_error *error)
{
    char text[32];
    int n = snprintf(text, sizeof(text), ":%lld:", (long long)c->offset);
    s->sample.name = (int64_t)s->names.size;
    HR_TRY(hr_scan_add(&s->names, text, (size_t)n, error));
    HR_TRY(hr_scan_add(&s->names, c->name, c->name_size, error));
    s->sample.name_size = (uint32_t)(s->names.size - (size_t)s->sample.name);
    s->any = true;
    return HR_STATUS_OK;
}

/* Adds an extension to the list of those that are there, which only a message needs. */
static void note_extension(wds_state *s, const hr_wds_component *c)
{
    char quoted[64];
    size_t size = strlen(s->extensions);
    int n = snprintf(quoted, sizeof(quoted), "'%.*s'", (int)HR_MIN(c->ext_size, sizeof(quoted)),
                     c->ext);
    if (s->count == 0 && (size_t)n < sizeof(quoted) && !strstr(s->extensions, quoted) &&
        size + (size_t)n + 3 <= sizeof(s->extensions))
        snprintf(s->extensions + size, sizeof(s->extensions) - size, "%s%s", size ? ", " : "",
                 quoted);
}

static hr_status sample_part(wds_state *s, const hr_wds_component *c, hr_error *error)
{
    note_extension(s, c);
    for (int32_t k = 0; k < s->outputs; k++) {
        if (s->part[k].offset >= 0 ||
            !takes(s->args->ext.v[k], c->ext, c->ext_size, s->args->case_sensitive_extensions != 0))
            continue;
        size_t element = hr_dtype_size(dtype_of(s->args, k));
        if (c->size % (int64_t)element != 0)
            return hr_fail(error, HR_STATUS_ERROR,
                           "'%.*s' has %lld bytes, which is not a multiple of %zu (%s)",
                           (int)c->name_size, c->name, (long long)c->size, element,
                           hr_dtype_name(dtype_of(s->args, k)));
        s->part[k] = (wds_part){c->offset, c->size};
        s->bytes += c->size;
        if (!s->any)
            HR_TRY(sample_name(s, c, error));
    }
    return HR_STATUS_OK;
}

/* `where`: the last member, for the message. */
static hr_status sample_end(wds_state *s, const char *where, size_t where_size, hr_error *error)
{
    for (int32_t k = 0; k < s->outputs && s->missing != MISSING_EMPTY; k++) {
        if (s->part[k].offset >= 0)
            continue;
        if (s->missing == MISSING_ERROR)
            return hr_fail(error, HR_STATUS_ERROR,
                           "the sample of '%.*s' has no component '%s' (Underful sample)",
                           (int)where_size, where, s->args->ext.v[k]);
        s->names.size -= s->sample.name_size;
        return HR_STATUS_OK;
    }
    HR_TRY(hr_scan_add(&s->samples, &s->sample, sizeof(s->sample), error));
    HR_TRY(hr_scan_add(&s->parts, s->part, (size_t)s->outputs * sizeof(s->part[0]), error));
    s->count++;
    return HR_STATUS_OK;
}

/* ---- archives without an index ---- */

/* Members that are not regular files are left out, unless an output needs them. */
static hr_status check_left_out(const wds_state *s, const hr_wds_component *c, hr_tar_kind kind,
                                hr_error *error)
{
    for (int32_t k = 0; k < s->outputs; k++)
        if (takes(s->args->ext.v[k], c->ext, c->ext_size, s->args->case_sensitive_extensions != 0))
            return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the member '%.*s' %s",
                           (int)c->name_size, c->name, hr_tar_kind_advice(kind));
    return HR_STATUS_OK;
}

/* The size of a name up to its first dot, not counting folders. */
static size_t key_size(const char *name, size_t size)
{
    size_t start = size;
    while (start > 0 && name[start - 1] != '/')
        start--;
    const char *dot = memchr(name + start, '.', size - start);
    return dot ? (size_t)(dot - name) : size;
}

static hr_status take_members(wds_state *s, int32_t archive, const hr_scan *members,
                              hr_error *error)
{
    const char *last = NULL;
    size_t last_size = 0;
    hr_wds_member m;
    for (size_t at = 0; hr_wds_member_at(members, &at, &m);) {
        size_t key = key_size(m.name, m.name_size);
        if (key == 0) /* a hidden file at the top */
            continue;
        size_t dot = HR_MIN(key + 1, m.name_size);
        hr_wds_component c = {m.offset,    m.size,       m.name,
                              m.name_size, m.name + dot, m.name_size - dot};
        if (m.kind != HR_TAR_KIND_FILE) {
            HR_TRY(check_left_out(s, &c, m.kind, error));
            continue;
        }
        if (!last || key != last_size || memcmp(m.name, last, key) != 0) {
            if (last)
                HR_TRY(sample_end(s, last, last_size, error));
            sample_begin(s, archive);
        }
        last = m.name;
        last_size = key;
        HR_TRY(sample_part(s, &c, error));
    }
    return last ? sample_end(s, last, last_size, error) : HR_STATUS_OK;
}

static hr_status scan_archives(wds_state *s, hr_error *error)
{
    hr_scan *scans = NULL;
    const hr_strings paths = hr_string_list_view(&s->paths);
    HR_TRY(hr_scan_files(&paths, &hr_wds_scanner, &scans, error));
    hr_status status = HR_STATUS_OK;
    for (int32_t i = 0; i < paths.n && status == HR_STATUS_OK; i++) {
        status = take_members(s, i, &scans[i], error);
        if (status != HR_STATUS_OK)
            hr_error_prefix(error, "path '%s'", paths.v[i]);
        s->first[i + 1] = s->count;
        hr_free(scans[i].data);
        scans[i] = (hr_scan){0};
    }
    hr_scan_free(scans, paths.n);
    return status;
}

/* ---- indices ---- */

typedef struct index_context {
    wds_state *state;
    int32_t archive;
} index_context;

static hr_status index_sample(void *context, const hr_wds_component *parts, int32_t count,
                              hr_error *error)
{
    const index_context *x = context;
    sample_begin(x->state, x->archive);
    for (int32_t i = 0; i < count; i++)
        HR_TRY(sample_part(x->state, &parts[i], error));
    return sample_end(x->state, parts[0].name, parts[0].name_size, error);
}

static hr_status read_indices(wds_state *s, hr_error *error)
{
    for (int32_t i = 0; i < s->paths.n; i++) {
        index_context x = {s, i};
        hr_status status = hr_wds_index_read(s->index_paths.v[i], index_sample, &x, error);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "index_paths '%s'", s->index_paths.v[i]);
        s->first[i + 1] = s->count;
    }
    return HR_STATUS_OK;
}

/* ---- the state ---- */

static void wds_destroy(void *state)
{
    wds_state *s = state;
    hr_string_list_fini(&s->paths);
    hr_string_list_fini(&s->index_paths);
    hr_free(s->samples.data);
    hr_free(s->parts.data);
    hr_free(s->names.data);
    hr_free(s->first);
    hr_free(s);
}

static hr_status fail_no_samples(const wds_state *s, hr_error *error)
{
    if (!s->extensions[0])
        return hr_fail(error, HR_STATUS_ERROR, "the archives contain no samples");
    const hr_strings *ext = &s->args->ext;
    char wanted[256] = "";
    for (int32_t k = 0; k < ext->n; k++) {
        size_t size = strlen(wanted);
        snprintf(wanted + size, sizeof(wanted) - size, "%s'%s'", k ? ", " : "", ext->v[k]);
    }
    return hr_fail(error, HR_STATUS_ERROR,
                   "no sample of the archives has all components of ext (%s), so that all are "
                   "skipped: the extensions in the archives are %s",
                   wanted, s->extensions);
}

static hr_status fill(wds_state *s, hr_error *error)
{
    const wds_args *a = s->args;
    s->outputs = a->ext.n;
    parse_missing(a->missing_component_behavior, &s->missing);
    HR_TRY(hr_braces_expand(&s->paths, &a->paths, error));
    HR_TRY(hr_braces_expand(&s->index_paths, &a->index_paths, error));
    if (s->paths.n == 0)
        return hr_fail(error, HR_STATUS_ERROR, "paths is empty; name at least one archive");
    if (s->index_paths.n > 0 && s->index_paths.n != s->paths.n)
        return hr_fail(
            error, HR_STATUS_ERROR,
            "The number of index files, if any, must match the number of archives in the "
            "dataset: there are %d index_paths for %d archives",
            s->index_paths.n, s->paths.n);
    if (!(s->first = hr_calloc((size_t)s->paths.n + 1, sizeof(*s->first), error)))
        return HR_STATUS_NO_MEMORY;
    HR_TRY(s->index_paths.n > 0 ? read_indices(s, error) : scan_archives(s, error));
    if (s->count == 0)
        return fail_no_samples(s, error);
    return HR_STATUS_OK;
}

static hr_status wds_create(const void *args, void **state, hr_error *error)
{
    wds_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->args = args;
    hr_status status = fill(s, error);
    if (status != HR_STATUS_OK) {
        wds_destroy(s);
        return status;
    }
    *state = s;
    return HR_STATUS_OK;
}

static int64_t wds_count(const void *state)
{
    return ((const wds_state *)state)->count;
}

static int64_t wds_mean_bytes(const void *state)
{
    const wds_state *s = state;
    return s->bytes / s->count;
}

static const int64_t *wds_files(const void *state, int32_t *count)
{
    const wds_state *s = state;
    *count = s->paths.n;
    return s->first;
}

static const wds_sample *sample_at(const wds_state *s, int64_t index)
{
    return &((const wds_sample *)(const void *)s->samples.data)[index];
}

static const wds_part *parts_at(const wds_state *s, int64_t index)
{
    return &((const wds_part *)(const void *)s->parts.data)[index * s->outputs];
}

static const char *wds_name(const void *state, int64_t index, char *room, size_t size)
{
    const wds_state *s = state;
    const wds_sample *sample = sample_at(s, index);
    const char *name = sample->name_size ? s->names.data + sample->name : "";
    char shown[HR_SHOWN_SIZE];
    snprintf(room, size, "%s%.*s", hr_shown_name(s->paths.v[sample->archive], shown, sizeof(shown)),
             (int)sample->name_size, name);
    return room;
}

/* The bytes from the first component that is needed to the last one. Both 0: there are none. */
static wds_part extent_of(const wds_state *s, int64_t index, int64_t *bytes)
{
    const wds_part *part = parts_at(s, index);
    int64_t start = INT64_MAX, end = 0;
    *bytes = 0;
    for (int32_t k = 0; k < s->outputs; k++) {
        if (part[k].offset < 0 || part[k].size == 0)
            continue;
        start = HR_MIN(start, part[k].offset);
        end = HR_MAX(end, part[k].offset + part[k].size);
        *bytes += part[k].size;
    }
    return start < end ? (wds_part){start, end - start} : (wds_part){0, 0};
}

/* Whether the components are near each other, so that one piece contains them all. */
static bool one_piece(const wds_state *s, wds_part extent, int64_t bytes)
{
    return extent.size - bytes <= GAP * s->outputs || s->outputs > HR_SOURCE_MAX_SPANS;
}

static hr_span span_of(const wds_state *s, int64_t index, wds_part part)
{
    return (hr_span){.path = s->paths.v[sample_at(s, index)->archive],
                     .offset = part.offset,
                     .size = part.size,
                     .keep_open = true};
}

static hr_status wds_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                            hr_error *error)
{
    const wds_state *s = state;
    int64_t bytes;
    const wds_part extent = extent_of(s, index, &bytes), *part = parts_at(s, index);
    (void)error;
    *count = 1;
    if (one_piece(s, extent, bytes)) {
        spans[0] = span_of(s, index, extent);
        return HR_STATUS_OK;
    }
    for (*count = 0; *count < s->outputs; (*count)++)
        spans[*count] =
            span_of(s, index, part[*count].offset < 0 ? (wds_part){0, 0} : part[*count]);
    return HR_STATUS_OK;
}

static hr_status wds_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const wds_state *s = c->state;
    const wds_part *part = parts_at(s, index);
    int64_t total;
    const wds_part extent = extent_of(s, index, &total);
    bool together = one_piece(s, extent, total);
    (void)error;
    for (int32_t k = 0; k < s->outputs; k++) {
        hr_dtype dtype = dtype_of(s->args, k);
        bool there = part[k].offset >= 0 && part[k].size > 0;
        const hr_tensor *from = &bytes[together ? 0 : k];
        hr_tensor_describe(
            &c->out[k], dtype,
            (hr_shape){1, {there ? part[k].size / (int64_t)hr_dtype_size(dtype) : 0}}, NULL);
        c->out[k].data =
            (char *)from->data + (there && together ? part[k].offset - extent.offset : 0);
        c->out[k].buffer = from->buffer;
    }
    return HR_STATUS_OK;
}

static const hr_source_def wds_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = wds_count,
    .mean_bytes = wds_mean_bytes,
    .files = wds_files,
    .name = wds_name,
    .locate = wds_locate,
    .emit = wds_emit,
};

const hr_op_def hr_op_readers_webdataset = {
    HR_OP("readers.webdataset"),
    .doc = "Reads samples from tar archives (v7, ustar, GNU, pax). Neighbouring members are the "
           "components of one sample if their names are equal up to the first dot of the file "
           "name. There is one output per element of `ext`: the bytes of a component, 1-D. A "
           "damaged archive is an error when the pipeline is built.",
    .devices = "cpu",
    HR_ARGS(wds_args,
            HR_ARG(wds_args, paths, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
                   "Paths of the tar archives. Braces stand for several paths: "
                   "\"shard-{000..146}.tar\", \"{train,extra}.tar\"."),
            HR_ARG(wds_args, ext, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
                   "One element per output: the extensions that may be its component, separated by "
                   "semicolons (\"jpg;png\"). The first component that fits is taken.",
                   .count_min = 1, .count_max = HR_OP_MAX_OUTPUTS),
            HR_ARG(wds_args, index_paths, STRINGS, HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK, NULL,
                   "Paths of index files made by wds2idx, one per archive. Without them the "
                   "archives are scanned when the pipeline is built."),
            HR_ARG(wds_args, dtypes, INTS, HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK | HR_ARG_DTYPES, NULL,
                   "Element types of the outputs; without them all are UINT8."),
            HR_ARG(wds_args, missing_component_behavior, STRING, 0, "\"\"",
                   "What happens if a sample lacks a component: \"\" or \"empty\" (the output is "
                   "empty), \"skip\" (the sample is left out), or \"error\"."),
            HR_ARG(wds_args, case_sensitive_extensions, BOOL, 0, "True",
                   "Distinguish upper and lower case letters in extensions."),
            HR_SAMPLER_ORDER_DEFS(wds_args), HR_SAMPLER_FILES_DEFS(wds_args),
            HR_READER_ACCEPTED_DEFS),
    .out = HR_OUTPUTS({"component"}),
    .outputs = wds_outputs,
    .check = wds_check,
    .create = wds_create,
    .destroy = wds_destroy,
    .source = &wds_source,
};
