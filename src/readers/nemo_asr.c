/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* readers.nemo_asr: utterances that manifests of NeMo list, a JSON object per line. Whole files are
 * read ahead; of a part of a file, only the header and the part are read. */
#include <string.h>

#include "core/json.h"
#include "ops/decoders/sound.h"
#include "readers/list.h"

#define HEADER ((size_t)64 << 10) /* what is read of a file to find the samples */

typedef struct nemo_args {
    hr_sampler_args sampler;
    hr_strings manifest_filepaths;
    int32_t lowpass;
    int32_t downmix, dtype, read_idxs, read_sample_rate, read_text, relative_to_list;
    float max_duration, min_duration, quality, sample_rate;
} nemo_args;

typedef struct entry {
    char *path, *text;       /* one block of memory */
    const char *root;        /* that a relative path starts from; NULL: the working folder */
    double offset, duration; /* in seconds; < 0: not given */
} entry;

typedef struct nemo_state {
    const nemo_args *args;
    hr_resampler resampler;
    char **folders; /* of the manifests, if paths start there */
    entry *entries;
    int64_t count, capacity;
    int64_t skipped; /* lines that are no entries */
} nemo_state;

/* ---- manifests ---- */

static void nemo_destroy(void *state)
{
    nemo_state *s = state;
    for (int64_t i = 0; i < s->count; i++)
        hr_free(s->entries[i].path);
    for (int32_t i = 0; s->folders && i < s->args->manifest_filepaths.n; i++)
        hr_free(s->folders[i]);
    hr_free(s->folders);
    hr_free(s->entries);
    hr_free(s->resampler.memory);
    hr_free(s);
}

static double number(const hr_json *object, const char *key)
{
    const hr_json *v = hr_json_get(object, key);
    return v && v->kind == HR_JSON_KIND_NUMBER ? v->f : -1;
}

static const char *string(const hr_json *object, const char *key)
{
    const hr_json *v = hr_json_get(object, key);
    return v && v->kind == HR_JSON_KIND_STRING ? v->s : NULL;
}

static bool is_wanted(const nemo_args *a, double duration)
{
    if (duration < 0)
        duration = 0;
    return (a->max_duration <= 0 || duration <= (double)a->max_duration) &&
           (a->min_duration <= 0 || duration >= (double)a->min_duration);
}

static hr_status add_entry(nemo_state *s, const hr_json *line, const char *root, const char *path,
                           hr_error *error)
{
    const char *text = string(line, "text");
    size_t path_size = strlen(path) + 1, text_size = text ? strlen(text) + 1 : 1;
    if (s->count == s->capacity) {
        int64_t capacity = HR_MAX(2 * s->capacity, 256);
        entry *more = hr_realloc(s->entries, (size_t)capacity, sizeof(*more), error);
        HR_TRY_ALLOC(more);
        s->entries = more;
        s->capacity = capacity;
    }
    entry *e = &s->entries[s->count];
    if (!(e->path = hr_calloc(path_size + text_size, 1, error)))
        return HR_STATUS_NO_MEMORY;
    e->text = e->path + path_size;
    memcpy(e->path, path, path_size);
    if (text)
        memcpy(e->text, text, text_size);
    e->root = root;
    e->offset = number(line, "offset");
    e->duration = number(line, "duration");
    s->count++;
    return HR_STATUS_OK;
}

static hr_status take_line(nemo_state *s, const char *root, const char *line, size_t size,
                           hr_error *error)
{
    hr_json *json = NULL;
    hr_error why;
    hr_status status = hr_json_parse(&json, line, size, &why);
    if (status == HR_STATUS_NO_MEMORY)
        return hr_fail(error, status, "%s", why.message);
    const char *path = status == HR_STATUS_OK ? string(json, "audio_filepath") : NULL;
    s->skipped += !path;
    status = HR_STATUS_OK;
    if (path && is_wanted(s->args, number(json, "duration")))
        status = add_entry(s, json, root, path, error);
    hr_json_destroy(json);
    return status;
}

static hr_status read_manifest(nemo_state *s, int32_t number, hr_error *error)
{
    const char *path = s->args->manifest_filepaths.v[number];
    char *text = NULL;
    size_t size = 0;
    hr_status status =
        s->args->relative_to_list ? hr_list_folder(path, &s->folders[number], error) : HR_STATUS_OK;
    if (status == HR_STATUS_OK)
        status = hr_object_text(path, &text, &size, error);
    for (size_t at = 0, n; at < size && status == HR_STATUS_OK; at += n + 1) {
        const char *end = memchr(text + at, '\n', size - at);
        n = end ? (size_t)(end - (text + at)) : size - at;
        status = take_line(s, s->folders[number], text + at, n, error);
    }
    hr_free(text);
    return status == HR_STATUS_OK ? status : hr_error_prefix(error, "manifest '%s'", path);
}

static hr_status nemo_create(const void *args, void **state, hr_error *error)
{
    const nemo_args *a = args;
    nemo_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->args = a;
    s->folders = hr_calloc((size_t)a->manifest_filepaths.n, sizeof(*s->folders), error);
    hr_status status = s->folders ? hr__resampler_init(&s->resampler, (double)a->quality, error)
                                  : HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < a->manifest_filepaths.n && status == HR_STATUS_OK; i++)
        status = read_manifest(s, i, error);
    if (status == HR_STATUS_OK && s->count == 0)
        status = hr_fail(error, HR_STATUS_ERROR,
                         "no entries found in the manifests, the first of which is '%s'; %lld "
                         "lines are not JSON objects with an `audio_filepath`",
                         a->manifest_filepaths.v[0], (long long)s->skipped);
    if (status != HR_STATUS_OK)
        nemo_destroy(s);
    else
        *state = s;
    return status;
}

static hr_sound_options options_of(const nemo_args *a)
{
    return (hr_sound_options){.dtype = (hr_dtype)a->dtype,
                              .downmix = a->downmix != 0,
                              .lowpass = a->lowpass != 0,
                              .rate = HR_MAX(a->sample_rate, 0)};
}

static hr_status nemo_check(const void *args, const hr_given *given, hr_error *error)
{
    hr_sound_options options = options_of(args);
    (void)given;
    return hr__sound_check(&options, error);
}

static int32_t nemo_outputs(const void *args, int32_t n_in)
{
    const nemo_args *a = args;
    (void)n_in;
    return 1 + (a->read_sample_rate != 0) + (a->read_text != 0) + (a->read_idxs != 0);
}

static int64_t nemo_count(const void *state)
{
    return ((const nemo_state *)state)->count;
}

static const char *nemo_name(const void *state, int64_t index, char *room, size_t size)
{
    (void)room;
    (void)size;
    return ((const nemo_state *)state)->entries[index].path;
}

/* ---- samples ---- */

/* Whether an entry is a part of a longer file: it does not begin at the start, or the next entry is
 * of the same file. */
static bool is_part(const nemo_state *s, int64_t index)
{
    const entry *e = &s->entries[index];
    return e->offset > 0 || (e->duration >= 0 && index + 1 < s->count && e[1].root == e->root &&
                             strcmp(e[1].path, e->path) == 0);
}

/* Of parts nothing is read ahead. */
static hr_status nemo_locate(const void *state, int64_t index, hr_span *spans, int32_t *count,
                             hr_error *error)
{
    const nemo_state *s = state;
    (void)error;
    spans[0] = (hr_span){.root = s->entries[index].root,
                         .path = s->entries[index].path,
                         .size = is_part(s, index) ? 0 : -1};
    *count = 1;
    return HR_STATUS_OK;
}

static uint8_t *read_range(hr_op_call *c, hr_object *object, uint64_t at, size_t size,
                           hr_error *error)
{
    uint8_t *bytes = hr_arena_alloc(c->arena, size, error);
    if (!bytes || (size > 0 && hr_object_read(object, (int64_t)at, size, bytes, NULL, NULL,
                                              error) != HR_STATUS_OK))
        return NULL;
    return bytes;
}

/* Reads the header and the selected frames. If there is much in front of the samples, or behind
 * them what is needed, the whole file is read. */
static hr_status open_part(hr_op_call *c, const entry *e, hr_object *object, hr_sound *sound,
                           hr_error *error)
{
    hr_error ignored;
    size_t size = (size_t)hr_object_size(object), head = HR_MIN(size, HEADER);
    int64_t first = 0;
    uint8_t *bytes = read_range(c, object, 0, head, error);
    if (!bytes)
        return error->status;
    if (head == size)
        return hr__sound_open(sound, c->local, bytes, size, e->offset, e->duration, c->arena,
                              error);
    *sound = (hr_sound){.file_size = size};
    if (hr_audio_open(bytes, head, size, &sound->audio, &ignored) == HR_STATUS_OK &&
        sound->audio.block_bytes == 0) {
        const size_t frame = sound->audio.frame_bytes;
        HR_TRY(hr__sound_select(sound, e->offset, e->duration, &first, error));
        sound->samples = read_range(c, object, sound->audio.offset + (uint64_t)first * frame,
                                    (size_t)sound->frames * frame, error);
        return sound->samples ? HR_STATUS_OK : error->status;
    }
    bytes = read_range(c, object, 0, size, error);
    return bytes ? hr__sound_open(sound, c->local, bytes, size, e->offset, e->duration, c->arena,
                                  error)
                 : error->status;
}

static hr_status emit_other(hr_op_call *c, const entry *e, int64_t index, float rate,
                            hr_error *error)
{
    const nemo_args *a = ((const nemo_state *)c->state)->args;
    int32_t k = 1;
    if (a->read_sample_rate) {
        hr_tensor_describe(&c->out[k], HR_DTYPE_FLOAT, (hr_shape){0}, NULL);
        HR_TRY(hr_task_memory(c->task, k, &c->out[k], error));
        *(float *)c->out[k++].data = rate;
    }
    if (a->read_text) {
        size_t size = strlen(e->text);
        hr_tensor_describe(&c->out[k], HR_DTYPE_UINT8, (hr_shape){1, {(int64_t)size}}, NULL);
        HR_TRY(hr_task_memory(c->task, k, &c->out[k], error));
        if (size > 0)
            memcpy(c->out[k].data, e->text, size);
        k++;
    }
    if (a->read_idxs) {
        hr_tensor_describe(&c->out[k], HR_DTYPE_INT64, (hr_shape){1, {1}}, NULL);
        HR_TRY(hr_task_memory(c->task, k, &c->out[k], error));
        *(int64_t *)c->out[k].data = index;
    }
    return HR_STATUS_OK;
}

static hr_status emit_audio(hr_op_call *c, const hr_sound *sound, const hr_sound_options *options,
                            hr_error *error)
{
    HR_TRY(hr__sound_describe(sound, options, &c->out[0], error));
    HR_TRY(hr_task_memory(c->task, 0, &c->out[0], error));
    return hr__sound_run(sound, options, &c->out[0], c->arena, error);
}

static hr_status nemo_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const nemo_state *s = c->state;
    const entry *e = &s->entries[index];
    hr_sound_options options = options_of(s->args);
    hr_sound sound;
    options.resampler = &s->resampler;
    options.kernels = c->kernels;
    if (is_part(s, index)) {
        hr_object *object;
        HR_TRY(hr_object_open(&object, e->root, e->path, NULL, error));
        hr_status opened = open_part(c, e, object, &sound, error);
        hr_object_close(object);
        HR_TRY(opened);
    } else {
        size_t size = (size_t)bytes->shape.extent[0];
        HR_TRY(hr__sound_open(&sound, c->local, bytes->data, size, e->offset, e->duration, c->arena,
                              error));
    }
    HR_TRY(emit_audio(c, &sound, &options, error));
    return emit_other(c, e, index, (float)sound.audio.rate, error);
}

static const hr_source_def nemo_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = nemo_count,
    .name = nemo_name,
    .locate = nemo_locate,
    .emit = nemo_emit,
};

const hr_op_def hr_op_readers_nemo_asr = {
    HR_OP("readers.nemo_asr"),
    .doc = "Reads the utterances of NVIDIA NeMo's manifests for speech recognition, and decodes "
           "them as decoders.audio does. The outputs are the audio, of shape (frames), or (frames, "
           "channels) without `downmix`, and what `read_sample_rate`, `read_text` and `read_idxs` "
           "ask for.",
    .aliases = HR_NAMES("nemo_asr_reader"),
    .devices = "cpu",
    HR_ARGS(
        nemo_args,
        HR_ARG(nemo_args, manifest_filepaths, STRINGS, HR_ARG_REQUIRED | HR_ARG_SCALAR_OK, NULL,
               "Manifests: text files with a JSON object per line. `audio_filepath` is the path of "
               "a sound file, absolute or relative to the working folder (but see "
               "`relative_to_list`); `offset` and `duration` select a part of it, in seconds; "
               "`text` is its transcript. Lines that are not JSON or have no path are skipped.",
               .count_min = 1, .count_max = INT32_MAX),
        HR_ARG(nemo_args, downmix, BOOL, 0, "True",
               "Mix the channels to one, their mean; the audio is then 1-D."),
        HR_ARG(nemo_args, dtype, DTYPE, 0, "FLOAT",
               "Type of the audio: INT16, INT32 or FLOAT. Integers use the full range of their "
               "type, and FLOAT the range from -1 to 1."),
        HR_ARG(nemo_args, lowpass, BOOL, 0, "False",
               "Not in DALI. When the resampling lowers the rate, remove the frequencies that the "
               "output cannot have, which would otherwise be heard as others (aliasing)."),
        HR_ARG(nemo_args, max_duration, FLOAT, 0, "0.0",
               "Leave out entries whose `duration` is longer, in seconds; 0: no limit."),
        HR_ARG(nemo_args, min_duration, FLOAT, 0, "0.0",
               "Leave out entries whose `duration` is shorter, in seconds; 0: no limit."),
        HR_ARG_GONE(normalize_text, BOOL, NULL, "0.28"),
        HR_ARG(nemo_args, quality, FLOAT, 0, "50.0",
               "Quality of the resampling: 0 is as good as 3 lobes of a sinc, 50 as 16, 100 as 64.",
               .min = 0, .max = 100),
        HR_ARG(nemo_args, read_idxs, BOOL, 0, "False",
               "Whether there is an output with the number of the entry, INT64."),
        HR_ARG(nemo_args, read_sample_rate, BOOL, 0, "True",
               "Whether there is an output with the sampling rate of the file, FLOAT."),
        HR_ARG(nemo_args, read_text, BOOL, 0, "True",
               "Whether there is an output with the bytes of the transcript, UINT8."),
        HR_ARG(nemo_args, relative_to_list, BOOL, 0, "False",
               "Not in DALI. Relative paths start from the folder of their manifest, instead of "
               "the working folder."),
        HR_ARG(nemo_args, sample_rate, FLOAT, 0, "-1.0",
               "Sampling rate of the audio in Hz; 0 or less: that of the file.", .min = -1e9,
               .max = 1e9),
        HR_SAMPLER_ARG_DEFS(nemo_args)),
    .out = HR_OUTPUTS({"audio"}, {"sample_rate"}, {"text"}, {"index"}),
    .outputs = nemo_outputs,
    .check = nemo_check,
    .create = nemo_create,
    .destroy = nemo_destroy,
    .local_create = hr__sound_local_create,
    .local_destroy = hr__sound_local_destroy,
    .source = &nemo_source,
};
