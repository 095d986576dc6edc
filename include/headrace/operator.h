/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The interface of operators. An operator is one table, `hr_op_def`. What the table states (names,
 * types, defaults, ranges, docs) is checked and documented from the table; operators do not check
 * it again. The same source compiles in the tree and as part of a plug-in (plugin.h). */
#ifndef HEADRACE_OPERATOR_H
#define HEADRACE_OPERATOR_H

#include "headrace/headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A plug-in is loaded only if it was compiled with the same number. It rises when a struct below
 * changes in another way than by new fields at the end of a table. */
#define HR_OP_ABI_VERSION 2

/* ---- arguments ---- */

/* The type of an argument, and the C type of its field in the operator's args struct. */
typedef enum hr_arg_type {
    HR_ARG_TYPE_END = 0,
    HR_ARG_TYPE_BOOL,       /* int32_t, 0 or 1 */
    HR_ARG_TYPE_INT,        /* int32_t */
    HR_ARG_TYPE_INT64,      /* int64_t */
    HR_ARG_TYPE_FLOAT,      /* float */
    HR_ARG_TYPE_STRING,     /* const char *, UTF-8 or file system bytes */
    HR_ARG_TYPE_LAYOUT,     /* const char *: at most HR_MAX_NDIM letters */
    HR_ARG_TYPE_DTYPE,      /* int32_t: hr_dtype */
    HR_ARG_TYPE_IMAGE_TYPE, /* int32_t: hr_image_type */
    HR_ARG_TYPE_INTERP,     /* int32_t: hr_interp */
    HR_ARG_TYPE_INTS,       /* hr_ints */
    HR_ARG_TYPE_INT64S,     /* hr_int64s */
    HR_ARG_TYPE_FLOATS,     /* hr_floats */
    HR_ARG_TYPE_STRINGS,    /* hr_strings */
    HR_ARG_TYPE_JSON,       /* const hr_json *: lists and dictionaries, nested in any way */
    HR_ARG_TYPE_COUNT
} hr_arg_type;

/* `v` is NULL when the argument is optional and absent. */
typedef struct hr_ints {
    const int32_t *v;
    int32_t n;
    int32_t frames; /* PER_FRAME: number of frames that v has values for; 0: one value for all */
} hr_ints;
typedef struct hr_int64s {
    const int64_t *v;
    int32_t n;
} hr_int64s;
typedef struct hr_floats {
    const float *v;
    int32_t n;
    int32_t frames; /* as above */
} hr_floats;
typedef struct hr_strings {
    const char *const *v;
    int32_t n;
} hr_strings;

typedef enum hr_json_kind {
    HR_JSON_KIND_NULL,
    HR_JSON_KIND_BOOL,
    HR_JSON_KIND_NUMBER,
    HR_JSON_KIND_STRING,
    HR_JSON_KIND_LIST,
    HR_JSON_KIND_OBJECT
} hr_json_kind;

typedef struct hr_json hr_json;
struct hr_json {
    hr_json_kind kind;
    bool is_integer; /* NUMBER without fraction or exponent that fits int64 */
    int64_t i;       /* BOOL, integer */
    double f;        /* NUMBER */
    const char *s;   /* STRING, zero-terminated, decoded (\udcXX back to bytes) */
    int32_t count;   /* members of LIST and OBJECT */
    hr_json *items;
    const char **keys; /* OBJECT: in the order of the text */
};

enum {
    HR_ARG_PER_SAMPLE = 1 << 0,
    HR_ARG_PER_FRAME = 1 << 1,
    HR_ARG_REQUIRED = 1 << 2,
    /* An absent argument is visible: the field is then NaN (FLOAT), NULL (strings, lists) or -1
     * (enumerations, INT, INT64). `def` is documentation only. */
    HR_ARG_OPTIONAL = 1 << 3,
    HR_ARG_DEPRECATED = 1 << 4, /* still works; `use` names its replacement */
    HR_ARG_IGNORED = 1 << 5,    /* accepted and checked, without effect */
    /* A list with one element may be given as a number; a list is always accepted. */
    HR_ARG_SCALAR_OK = 1 << 6,
    /* FLOAT, FLOATS may be NaN or infinite. */
    HR_ARG_NONFINITE = 1 << 7,
    /* Tensors must have exactly the type of the field, and its number of dimensions: 0 for a
     * number, 1 for a list. Without this flag, tensors are converted and their shape does not
     * matter. */
    HR_ARG_EXACT = 1 << 8,
    /* Of a reader: a checkpoint goes on with another value. */
    HR_ARG_CHANGES = 1 << 9,
    /* INTS: the numbers are element types. */
    HR_ARG_DTYPES = 1 << 10,
    /* DTYPE: may be types.ANY, which is HR_DTYPE_NONE in the field: the type of the data. An
     * argument that is OPTIONAL takes it without this flag, and it is then the same as none. */
    HR_ARG_ANY_TYPE = 1 << 11
};

typedef struct hr_arg_def {
    const char *name;
    hr_arg_type type;
    uint32_t flags;
    size_t offset; /* of the field in the args struct; unused with IGNORED */
    size_t size;   /* sizeof the field; checked against `type` when the table is registered */
    /* Default as a Python literal: "1", "0.5", "True", "[0.08, 1.0]", "\"round\"", "FLOAT",
     * "INTERP_LINEAR", "RGB"; NULL for arguments that are required or have no default. */
    const char *def;
    const char *doc; /* one or more sentences, with units */
    /* Allowed range of numbers and list elements, inclusive; no limit when both are 0. */
    double min, max;
    int32_t count_min, count_max; /* allowed lengths of a list; no limit when both are 0 */
    const char *choices;          /* allowed strings: "round|truncate" */
    const char *excludes;         /* "a|b": arguments that cannot be given together with this one */
    const char *use;              /* deprecated: the argument that replaces it */
    const char *since;            /* deprecated since this version */
    /* JSON: what the value must look like, for example "{str: [int] | (int, float)}": a dictionary
     * of lists of integers, or of pairs. The terms are any, None, bool, int, float, str, dtype,
     * 'this string', [form], (form, form), {str: form}. NULL: anything. */
    const char *form;
    const void *reserved[3]; /* for new fields: the size is part of the ABI; also below */
} hr_arg_def;

/* HR_ARG(struct, field, TYPE, flags, default, "doc"[, .min = 0, .max = 1, ...]) */
#define HR_ARG(S, field, kind, flag, deflt, ...)                                                   \
    {                                                                                              \
        .name = #field, .type = HR_ARG_TYPE_##kind, .flags = (flag), .offset = offsetof(S, field), \
        .size = sizeof(((S *)0)->field), .def = (deflt), .doc = __VA_ARGS__                        \
    }
/* An argument that is accepted and checked but has no effect here; the doc says why. */
#define HR_ARG_ACCEPT(arg, kind, deflt, ...)                                                       \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_IGNORED, .def = (deflt),         \
        .doc = __VA_ARGS__                                                                         \
    }
/* The old name of `new_name`. */
#define HR_ARG_RENAMED(arg, kind, new_name, version)                                               \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_DEPRECATED, .use = #new_name,    \
        .since = (version), .doc = "Old name of `" #new_name "`."                                  \
    }
/* An argument of old versions that has no effect any more. */
#define HR_ARG_GONE(arg, kind, deflt, version)                                                     \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_IGNORED | HR_ARG_DEPRECATED,     \
        .def = (deflt), .since = (version), .doc = "Has no effect."                                \
    }
#define HR_ARG_END                                                                                 \
    {                                                                                              \
        .type = HR_ARG_TYPE_END                                                                    \
    }

/* Which arguments a node was given, as constants or one value per sample. */
typedef struct hr_given hr_given;

/* ---- one sample at one node ---- */

/* Counter-based random numbers (Philox 4x32-10): draw k of this node for this sample. */
typedef struct hr_rng {
    uint32_t key[2];
    uint32_t counter[4]; /* counter[0] counts groups of four; the rest identifies the sample */
} hr_rng;

typedef struct hr_arena hr_arena; /* memory freed when the task ends */
typedef struct hr_image_program hr_image_program;

typedef struct hr_staging hr_staging; /* memory that a device reads, see below */

/* The context of a sample: its pipeline and where warnings go. Opaque to operators. */
typedef struct hr_task hr_task;

typedef struct hr_op_call {
    const struct hr_op_def *def;
    const void *args; /* the operator's args struct for this sample, checked */
    void *state;      /* made by `create` for this node; shared by workers, so read-only */
    void *local;      /* made by `local_create` for this node and worker: nobody else uses it */
    const hr_tensor *in;
    int32_t n_in;
    hr_tensor *out; /* infer sets dtype, shape, layout; run finds `data` set */
    int32_t n_out;
    const char *source_info; /* of the sample, or NULL */
    hr_rng rng;
    hr_arena *arena;
    void *memo;                       /* infer may leave data from the arena here for run */
    hr_task *task;                    /* for hr_task_warn */
    const struct hr_kernels *kernels; /* loops compiled for this CPU level: kernels/kernels.h */
    /* Samples of this call: 1 unless the operator has COLUMNS. `in` and `out` describe the first
     * sample; the others have the same shape and type and follow it without gaps. */
    int32_t count;
    const hr_rng *rngs;          /* RANDOM: one per sample of the call; rng is the first */
    const hr_function *function; /* the caller's function, with HR_OP_FUNCTION */
    hr_staging *staging;         /* set for work on a device: infer may stage data for kernels */
    void *reserved[7]; /* plug-ins index arrays of calls, so the size of a call is fixed */
} hr_op_call;

/* ---- work on a device ---- */

/* Memory in pairs: a pinned block on the host and its twin on the device, into which the launch
 * copies it. Kernels read at `device` what is written at `host`, so records may contain device
 * addresses of other staged memory. */
typedef struct hr_staged {
    void *host;
    void *device; /* must not be dereferenced on the host */
} hr_staged;

struct hr_staging {
    /* 256-byte aligned, not zeroed; any thread. It lives until its launch is done. */
    hr_status (*alloc)(hr_staging *s, size_t size, hr_staged *out, hr_error *error);
    /* Queues the copy of staged memory that has not been copied yet; kernels queued later see it.
     * Only while launching. */
    hr_status (*flush)(hr_staging *s, hr_error *error);
    /* For what is often the same for all samples: tables, windows, filters. `*device`: where the
     * device has, or gets with the next flush, a copy of `size` bytes at `data`. Bytes that were
     * staged before are kept on the device and not copied again. */
    hr_status (*constant)(hr_staging *s, const void *data, size_t size, const void **device,
                          hr_error *error);
};

/* Where kernels are queued. */
typedef struct hr_cuda_launch hr_cuda_launch;
struct hr_cuda_launch {
    void *stream; /* cudaStream_t; its device is the calling thread's current one */
    /* Device memory that lives until the work queued so far, and the work of this launch, is done:
     * 256-byte aligned, not zeroed. */
    hr_status (*scratch)(hr_cuda_launch *l, size_t size, void **out, hr_error *error);
    size_t scratch_limit; /* a hint: larger batches are processed in parts that need about this */
    int32_t multiprocessors;
};

/* Queues an operator's work on a device and does not wait for it. Data of inputs and outputs are
 * device addresses; `state` and the arguments are on the host. The calls are the whole batch, which
 * takes one launch or a few; data that kernels read is staged. */
typedef hr_status (*hr_cuda_run_fn)(hr_cuda_launch *l, hr_op_call *calls, int32_t n,
                                    hr_staging *staging, hr_error *error);

/* ---- image programs ---- */

typedef struct hr_window {
    int64_t y, x, h, w;
} hr_window;

/* One resampled axis: maps [lo, hi) of the image to `out` pixels; hi < lo mirrors. */
typedef struct hr_resample_axis {
    double lo, hi;
    int32_t out;
    hr_interp interp; /* resolved: min or mag filter */
    bool antialias;
    bool running; /* NN: positions are accumulated in single precision, as DALI does along H; set by
                     the program */
    bool cut;     /* as Pillow: pixels outside the image have no weight instead of repeating its
                     edge. The region is the whole axis */
} hr_resample_axis;

/* The taps of one axis of a separable filter: element i becomes the sum of taps[k] times element
 * i + k - count / 2. Elements outside are reflected at the first and last element, which are not
 * repeated. */
typedef struct hr_given_taps {
    const float *taps;
    int32_t count; /* odd */
} hr_given_taps;

/* ---- sources ---- */

/* A range of bytes of a file, or of an object in remote storage. */
typedef struct hr_span {
    const char *root; /* folder or URI that `path` is relative to, or NULL */
    const char *path;
    int64_t offset;
    int64_t size;   /* < 0: to the end of the file */
    bool keep_open; /* other items are in the same file; `root` and `path` live as long as the
                       source's state */
    const void *reserved[2];
} hr_span;

#define HR_SOURCE_MAX_SPANS 64

/* A file, or an object of a remote store, that is open for reading. Any number of threads may read
 * it at once. */
typedef struct hr_object hr_object;

/* Ends the waits of requests to storage; all zeros at first. Any thread may set it. */
typedef struct hr_cancel {
    bool set; /* by hr_cancel_set */
} hr_cancel;

typedef enum hr_source_kind {
    HR_SOURCE_KIND_FED = 0, /* batches come from the caller */
    HR_SOURCE_KIND_INDEXED, /* items with numbers, in any order: a reader */
    HR_SOURCE_KIND_STREAM   /* samples that follow one another: a socket, a compressed archive */
} hr_source_kind;

/* What `next` of a stream came to. */
typedef enum hr_stream_event {
    HR_STREAM_EVENT_SAMPLE = 0, /* a sample; the outputs are set */
    HR_STREAM_EVENT_BATCH,      /* the batch ends here; no effect before its first sample */
    HR_STREAM_EVENT_END         /* the epoch is over, until `restart`: a run gives HR_STATUS_END */
} hr_stream_event;

/* A stream gives its samples in one order. A thread of the pipeline calls `next` ahead of time, up
 * to one batch beyond the iterations in flight. The cursor is in the node's state: only these
 * functions use the state, and only one of them runs at a time, except for `cancel`. */
typedef struct hr_stream_def {
    /* Moves on to the next sample and sets its outputs, as `emit` of a reader does. c->source_info
     * may be set to the sample's name, from c->arena or the state; messages and source_info have a
     * copy. Memory of c->arena lasts as long as the batch. After a failure, which is that of one
     * sample, the next call continues behind it; a stream that cannot continue fails again or ends.
     * `*event` is SAMPLE before the call. */
    hr_status (*next)(hr_op_call *c, hr_stream_event *event, hr_error *error);
    /* After END: begins the next epoch. NULL: the stream has ended forever, and `next` goes on to
     * return END. */
    hr_status (*restart)(void *state, hr_error *error);
    /* Writes the cursor to `room` if it fits in `size` bytes, and returns its size. It is called
     * after each batch; `restore` gets the bytes when a pipeline resumes there, before the first
     * call of `next`. They come from a file: any bytes may be given. Both NULL: pipelines with this
     * source have no checkpoints. */
    size_t (*save)(const void *state, void *room, size_t size);
    hr_status (*restore)(void *state, const void *cursor, size_t size, hr_error *error);
    /* From another thread, when the pipeline is destroyed: calls of `next` that wait, and later
     * ones, return soon. NULL: none waits for long. */
    void (*cancel)(void *state);
    const void *reserved[4];
} hr_stream_def;

/* What makes an operator a source. The args struct of a source that is INDEXED begins with
 * hr_sampler_args; its functions may be called from any thread. */
typedef struct hr_source_def {
    hr_source_kind kind;
    /* of a source that is INDEXED: */
    int64_t (*count)(const void *state); /* of the items, fixed when the pipeline is built */
    /* The mean size of an item, if items are neighbours in large files. Shuffling then moves chunks
     * of some megabytes and mixes their items within a window of `initial_fill`, so that reading
     * stays almost sequential. NULL: items are shuffled one by one. */
    int64_t (*mean_bytes)(const void *state);
    /* The name of an item in messages and in source_info ("shard-003.tar: 000123.jpg"): a string
     * of the state, or one written to `room`, which has `size` bytes. */
    const char *(*name)(const void *state, int64_t index, char *room, size_t size);
    /* Sets at most HR_SOURCE_MAX_SPANS spans and their number. NULL: `emit` reads for itself. The
     * arguments per sample are not known: items are located ahead of time. With 0 spans, `emit`
     * reads this item for itself, too, and the call only says that the item will be needed soon. */
    hr_status (*locate)(const void *state, int64_t index, hr_span *spans, int32_t *count,
                        hr_error *error);
    /* Makes the outputs of an item. `bytes` has one 1-D UINT8 tensor per span, with a buffer; NULL
     * if `emit` reads for itself. Outputs refer to it (set data and buffer, as VIEW operators do),
     * or are in memory from c->arena or hr_task_memory. */
    hr_status (*emit)(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error);
    const hr_stream_def *stream; /* of a source that is a STREAM */
    /* The class of an item, for sampler="class_balanced". NULL: not known before it is read. */
    int64_t (*label)(const void *state, int64_t index);
    /* Whether a node with these arguments uses `locate`. NULL: all do. */
    bool (*locates)(const void *args, const hr_given *given);
    /* Of items that are neighbours in large files: the numbers of the first items of the files,
     * ascending, and behind them the number of all items; `*count`: of the files. With it,
     * shuffle_after_epoch moves whole files (HR_SAMPLER_FILES_DEFS). NULL: it moves items. */
    const int64_t *(*files)(const void *state, int32_t *count);
} hr_source_def;

/* Every reader's args struct begins with these. */
typedef struct hr_sampler_args {
    int32_t random_shuffle, initial_fill, num_shards, shard_id, stick_to_shard, pad_last_batch;
    int32_t shuffle_after_epoch;
    int32_t use_o_direct;
    int64_t shuffle_after_epoch_seed;
    const hr_json *sampler;
    int64_t cache_size;
    int32_t global_batch; /* 0: none */
    int32_t even;
} hr_sampler_args;

/* Their descriptions, in the table of arguments; S is the args struct, whose first member is
 * `hr_sampler_args sampler`. */
#define HR_SAMPLER_ARG(S, arg, kind, flag, deflt, ...)                                             \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = (flag),                                 \
        .offset = offsetof(S, sampler.arg), .size = sizeof(((S *)0)->sampler.arg), .def = (deflt), \
        .doc = __VA_ARGS__                                                                         \
    }
#define HR_SAMPLER_ARG_DEFS(S)                                                                     \
    HR_SAMPLER_ORDER_DEFS(S), HR_SAMPLER_WHOLE_DEFS(S), HR_READER_ACCEPTED_DEFS

/* Its parts, for readers that have only some of them. */
#define HR_SAMPLER_ORDER_DEFS(S)                                                                   \
    HR_SAMPLER_ARG(S, random_shuffle, BOOL, 0, "False",                                            \
                   "Read the items of a shard in a random order that changes every epoch."),       \
        HR_SAMPLER_ARG(S, initial_fill, INT, 0, "1024",                                            \
                       "Size of the shuffle window of sequential sources; lists of files are "     \
                       "shuffled as a whole.",                                                     \
                       .min = 1, .max = INT32_MAX),                                                \
        HR_SAMPLER_ARG(S, num_shards, INT, HR_ARG_CHANGES, "1",                                    \
                       "Number of parts that the items are split into.", .min = 1,                 \
                       .max = INT32_MAX),                                                          \
        HR_SAMPLER_ARG(S, shard_id, INT, HR_ARG_CHANGES, "0",                                      \
                       "Part that this reader begins with.", .min = 0, .max = INT32_MAX),          \
        HR_SAMPLER_ARG(                                                                            \
            S, stick_to_shard, BOOL, 0, "False",                                                   \
            "Read the same part in every epoch instead of continuing with the next one."),         \
        HR_SAMPLER_ARG(S, pad_last_batch, BOOL, 0, "False",                                        \
                       "Repeat the last item of the shard until the batch is full and all shards " \
                       "have the same number of batches."),                                        \
        HR_SAMPLER_ARG(S, sampler, JSON, HR_ARG_OPTIONAL, NULL,                                    \
                       "Not in DALI. Which items an epoch consists of: {'weights': w} draws with " \
                       "replacement, with one weight per item; {'order': i} takes these items in " \
                       "this order; 'class_balanced' draws so that all labels are equally "        \
                       "frequent. With weights, 'epoch_size' changes the number of draws.",        \
                       .form = "'class_balanced' | {str: [float] | int}"),                         \
        HR_SAMPLER_ARG(                                                                            \
            S, cache_size, INT64, HR_ARG_CHANGES, "0",                                             \
            "Not in DALI. Memory in bytes for items, kept as they were read, so that later "       \
            "epochs do not read them again. Items that do not fit are read in every epoch.",       \
            .min = 0, .max = 9e18),                                                                \
        HR_SAMPLER_ARG(S, use_o_direct, BOOL, HR_ARG_CHANGES, "False",                             \
                       "Read local files past the system's page cache, where the file system "     \
                       "allows it: for data sets that are much larger than the memory."),          \
        HR_SAMPLER_ARG(                                                                            \
            S, global_batch, INT, HR_ARG_OPTIONAL, NULL,                                           \
            "Not in DALI. Samples of a batch over all processes. Batches and their samples are "   \
            "then the same for any number of processes: num_shards is their number, shard_id "     \
            "the number of this one, which takes its part of every batch.",                        \
            .min = 1, .max = INT32_MAX),                                                           \
        HR_SAMPLER_ARG(S, even, BOOL, HR_ARG_CHANGES, "False",                                     \
                       "Not in DALI. With global_batch: refuse a number of processes that does "   \
                       "not divide it. Otherwise, the parts of a batch differ by at most one "     \
                       "sample.")
#define HR_SAMPLER_WHOLE_DEFS(S)                                                                   \
    HR_SAMPLER_AFTER_DEFS(S, "Shuffle the whole list before every epoch, in the same order on "    \
                             "all shards, whatever their seed.")
/* For containers, whose hr_source_def has `files`. */
#define HR_SAMPLER_FILES_DEFS(S)                                                                   \
    HR_SAMPLER_AFTER_DEFS(                                                                         \
        S, "Shuffle the files before every epoch, in the same order on all "                       \
           "shards, whatever their seed. The samples of a file stay together, in their order. "    \
           "random_shuffle then shuffles within the shard of this order.")
#define HR_SAMPLER_AFTER_DEFS(S, text)                                                             \
    HR_SAMPLER_ARG(S, shuffle_after_epoch, BOOL, 0, "False", text),                                \
        HR_SAMPLER_ARG(                                                                            \
            S, shuffle_after_epoch_seed, INT64, HR_ARG_OPTIONAL, NULL,                             \
            "Seed of the order of shuffle_after_epoch; must be the same on all shards.")
/* Arguments of all readers that have no effect; ALWAYS: without one that some readers check. */
#define HR_READER_ACCEPTED_DEFS                                                                    \
    HR_READER_ALWAYS_DEFS,                                                                         \
        HR_ARG_ACCEPT(dont_use_mmap, BOOL, "False", "Accepted: files are read, never mapped.")
#define HR_READER_ALWAYS_DEFS                                                                      \
    HR_ARG_ACCEPT(read_ahead, BOOL, "False",                                                       \
                  "Accepted: files are always read ahead, up to a limit of bytes."),               \
        HR_ARG_ACCEPT(prefetch_queue_depth, INT, "1",                                              \
                      "Accepted: reading ahead is limited in bytes instead."),                     \
        HR_ARG_ACCEPT(lazy_init, BOOL, "False",                                                    \
                      "Accepted: the list is made when the pipeline is built."),                   \
        HR_ARG_ACCEPT(skip_cached_images, BOOL, "False",                                           \
                      "Accepted: decoded images are never kept."),                                 \
        HR_ARG_ACCEPT(tensor_init_bytes, INT, "1048576",                                           \
                      "Accepted: buffers have the size of the file.")

/* ---- the table ---- */

enum {
    HR_OP_RANDOM = 1 << 1, /* has `seed`; equal nodes are merged only if it is given */
    HR_OP_VIEW = 1 << 2,   /* outputs share the memory of input 0: run sets data and buffer */
    /* Documented as a copy, although outputs may share memory of input 0 for speed. Copied when it
     * is a pipeline output. */
    HR_OP_BORROWS = 1 << 3,
    HR_OP_SEQUENCE = 1 << 4,   /* documented as accepting frames (layouts that begin with F) */
    HR_OP_VOLUMETRIC = 1 << 5, /* documented as accepting a depth axis */
    HR_OP_ORDERED = 1 << 6,    /* gets iterations one at a time, in order */
    HR_OP_HIDDEN = 1 << 7,     /* not listed in fn and ops */
    HR_OP_DEPRECATED = 1 << 8,
    HR_OP_CHEAP = 1 << 9,      /* too little work per sample for tasks of their own: a task is a
                                  whole batch */
    HR_OP_TO_DEVICE = 1 << 10, /* output 0 is input 0 in device memory ... */
    HR_OP_TO_HOST = 1 << 11,   /* ... and in host memory; the executor does both */
    HR_OP_ANYWHERE = 1 << 12,  /* reads no elements: its inputs may be on any device */
    /* Input 0 comes from the branch where the argument `predicate` is true, input 1 from the other
     * branch. A sample has only one of them. */
    HR_OP_MERGE = 1 << 13,
    HR_OP_FUNCTION = 1 << 15, /* needs hr_node_desc.function */
    /* infer, run and run_batch take calls for several samples (hr_op_call.count) that differ
     * only in elements and random numbers; the result of infer must not depend on these. */
    HR_OP_COLUMNS = 1 << 14,
    /* Inputs and arguments of type DTYPE may be enumerations (HR_DTYPE_IMAGE_TYPE ...): the
     * operator copies elements, or handles these types. */
    HR_OP_ENUMS = 1 << 16,
    /* Its output is its input, whose elements it only looks at on the CPU: a call in Python with
     * an input on a GPU passes it a copy in host memory, and returns the input. */
    HR_OP_OBSERVES = 1 << 17,
    /* The shapes of its outputs depend on elements, so the host needs them: a call in Python with
     * device="gpu" copies its inputs to the host and its outputs to the device. */
    HR_OP_ON_HOST = 1 << 18,
    /* A reader whose `files` are groups of items that are read as a whole: random_shuffle moves
     * groups, and items are located further ahead. If mean_bytes gives INT64_MAX, the groups are in
     * memory, and items are shuffled one by one. */
    HR_OP_GROUPS = 1 << 19
};

/* The rank of an operator in an image program. Ranks only rise along a chain; WINDOW fits anywhere.
 */
typedef enum hr_lower_rank {
    HR_LOWER_RANK_NONE = 0,
    HR_LOWER_RANK_WINDOW,   /* crop, flip: changes coordinates only */
    HR_LOWER_RANK_SOURCE,   /* decoders: start a program */
    HR_LOWER_RANK_RESAMPLE, /* resize, rotate: at most one */
    HR_LOWER_RANK_POINT,    /* colour maps, casts: any number */
    HR_LOWER_RANK_NORMALIZE /* at most one */
} hr_lower_rank;

#define HR_OP_MAX_INPUTS 999
#define HR_OP_MAX_OUTPUTS 64

typedef struct hr_input_def {
    const char *name;    /* "data" */
    const char *layouts; /* "HWC|FHWC"; NULL: any. A tensor without a layout gets the first one that
                            has its number of dimensions */
    /* infer reads the elements of this input, so it is on the CPU even if the operator runs on a
     * GPU. */
    bool host;
    const void *reserved[2];
} hr_input_def;

typedef struct hr_output_def {
    const char *name;
    const void *reserved[2];
} hr_output_def;

/* Lists in tables: HR_ARGS(above_args, HR_ARG(above_args, threshold, ...), ...),
 * HR_INPUTS({.name = "data"}, {.name = "other"}), HR_NAMES("old_name"). C++ has no such constants;
 * there, the fields get the addresses of arrays. */
#define HR_ARGS(S, ...)                                                                            \
    .args = (const hr_arg_def[]){__VA_ARGS__, HR_ARG_END}, .args_size = sizeof(S)
#define HR_NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})
#define HR_INPUTS(...) ((const hr_input_def[]){__VA_ARGS__, {.name = NULL}})
#define HR_OUTPUTS(...) ((const hr_output_def[]){__VA_ARGS__, {.name = NULL}})

typedef struct hr_op_def {
    uint32_t abi; /* HR_OP_ABI_VERSION */
    /* sizeof(hr_op_def) when the table was compiled. An older table lacks the last fields; they are
     * taken as zero. */
    uint32_t struct_size;
    const char *name; /* under fn: "decoders.image" */
    const char *doc;
    /* Deprecated names that still work: HR_NAMES("image_decoder", "ops:HostDecoder"); "ops:X" is
     * the name of a class only. Or NULL. */
    const char *const *aliases;
    const char *devices; /* those of DALI, for docs: "cpu|gpu|mixed" */
    uint32_t flags;
    const hr_arg_def *args; /* HR_ARGS(...); NULL: none */
    size_t args_size;
    /* Inputs and outputs. What is left out (0 or NULL) follows from the rest:
     *  - without in_max, the operator takes the inputs that `in` describes: all of them, or with
     *    in_min at least so many;
     *  - with in_max, it takes in_min to in_max inputs, even if in_min is 0; inputs beyond those
     *    that `in` describes are like the last one;
     *  - without `out`, its output is called "output";
     *  - without out_count, it has the outputs that `out` names, or as many as `outputs` or
     *    `out_keys` says. An operator without outputs has an `outputs` that returns 0. */
    const hr_input_def *in; /* HR_INPUTS(...) */
    int32_t in_min, in_max;
    const hr_output_def *out; /* HR_OUTPUTS(...) */
    int32_t out_count;        /* < 0: `outputs` or `out_keys` gives it */
    int32_t (*outputs)(const void *args, int32_t n_in);
    /* Checks several arguments together, once per node. Arguments given per sample have their
     * absent value. */
    hr_status (*check)(const void *args, const hr_given *given, hr_error *error);
    /* State of a node, shared by all workers and read-only. */
    hr_status (*create)(const void *args, void **state, hr_error *error);
    void (*destroy)(void *state);
    /* Sets type, shape and layout of the outputs of one sample. For a source that is fed, c->in is
     * the data that was fed, and c->out may be the same array. */
    hr_status (*infer)(hr_op_call *c, hr_error *error);
    /* Adds this operator, for this sample, to an image program (image/program.h). The program has
     * been started by the executor from input 0 (with in[0].layouts) or by an earlier node;
     * operators of rank SOURCE start it themselves. c->out is NULL. After another node, c->in[0]
     * does not exist: ask the program. HR_STATUS_NOT_FUSABLE ends the chain; if the program is new,
     * infer and run are used instead. */
    hr_status (*lower)(hr_op_call *c, hr_image_program *program, hr_error *error);
    hr_lower_rank lower_rank;
    /* What `run`, below, was up to release 0.2; `n` is always 1. */
    hr_status (*run_cpu)(hr_op_call *calls, int32_t n, hr_error *error);
    /* For operators whose result depends on the whole batch: describes and computes the outputs of
     * all samples of the iteration. Memory comes from the arena, from hr_task_memory, or from the
     * inputs' buffers. */
    hr_status (*run_batch)(hr_op_call *calls, int32_t n, hr_error *error);
    /* For operators where only the shapes of outputs depend on the batch (padding to the largest
     * sample): gets all samples of the iteration and writes into their out[], which `infer` then
     * finds. The work is done sample by sample, with inputs on any device. With run_batch in
     * addition, it is for devices only. */
    hr_status (*infer_batch)(hr_op_call *calls, int32_t n, hr_error *error);
    /* Whether a node needs the whole batch; arguments as in `check`. If it does not, run_batch and
     * infer_batch are not called. NULL: it does if one of them is set. */
    bool (*whole_batch)(const void *args, const hr_given *given);
    /* What a worker needs for a node and may change: codecs, plans, scratch that is worth keeping.
     * Made on the worker before its first call of the node. */
    hr_status (*local_create)(const void *args, void *state, void **local, hr_error *error);
    void (*local_destroy)(void *local);
    const hr_source_def *source; /* of an operator without inputs in the graph; or NULL */
    int32_t predicate;           /* with HR_OP_MERGE: its index in `args` */
    /* With device="gpu", of an operator that does not lower. The module has those of the library.
     */
    hr_cuda_run_fn run_cuda;
    /* A required argument of type JSON, a dictionary: there is one output per key, and calls in
     * Python return a dictionary of outputs with these keys. out_count and `outputs` are not used.
     */
    const char *out_keys;
    /* With device="gpu", of an operator whose work there finds out the size of its output: the
     * names of two operators that take its place. The first one has its inputs and arguments. The
     * second one has no arguments; its inputs are output 0 of the first one and, in host memory,
     * output 1, from which its infer learns the size. */
    const char *const *on_gpu;
    const char
        *shown; /* the name in messages, of an operator that takes the place of another one */
    /* Computes the outputs of a call on the CPU. Optional if `lower` accepts every input, or if the
     * operator runs only on a device. When a call for several samples fails, the executor repeats
     * it sample by sample. */
    hr_status (*run)(hr_op_call *c, hr_error *error);
} hr_op_def;

#define HR_OP_ABI .abi = HR_OP_ABI_VERSION, .struct_size = sizeof(hr_op_def)
/* Begins a table: HR_OP("decoders.image"). */
#define HR_OP(text) HR_OP_ABI, .name = (text)

/* ---- functions of the library ---- */

#if defined(HR_IN_TREE)
#define HR_HOST_FUNCTION(type, name, parameters, attributes) type name parameters attributes;
#else
/* headrace.h declares these as functions of the library, which a plug-in does not link. */
#define hr_version hr__plugin_version
#define hr_status_name hr__plugin_status_name
#define hr_dtype_size hr__plugin_dtype_size
#define hr_dtype_name hr__plugin_dtype_name
#define hr_buffer_ref hr__plugin_buffer_ref
#define hr_buffer_unref hr__plugin_buffer_unref
#define hr_buffer_data hr__plugin_buffer_data
#define hr_buffer_size hr__plugin_buffer_size
#define hr_buffer_device hr__plugin_buffer_device
#define HR_HOST_FUNCTION(type, name, parameters, attributes)                                       \
    extern HR_HIDDEN type(*name) parameters attributes; /* defined by plugin.h */
#endif
#include "headrace/host.inc"
#undef HR_HOST_FUNCTION

#define HR_HOST_FUNCTION(type, name, parameters, attributes) type(*name) parameters;
typedef struct hr_host {
    uint32_t abi; /* HR_OP_ABI_VERSION */
    uint32_t struct_size;
#include "headrace/host.inc"
} hr_host;
#undef HR_HOST_FUNCTION

/* What the function `hr_plugin` of a library of operators returns; plugin.h defines it. */
typedef struct hr_plugin_def {
    uint32_t abi; /* HR_OP_ABI_VERSION */
    uint32_t struct_size;
    uint32_t host_size; /* sizeof(hr_host) when it was compiled */
    const char *name;
    const hr_op_def *const *ops; /* NULL-terminated */
    void (*connect)(const hr_host *host);
} hr_plugin_def;
typedef const hr_plugin_def *(*hr_plugin_fn)(void);

/* ---- helpers ---- */

#define HR_TRY(call)                                                                               \
    do {                                                                                           \
        hr_status hr_try_status = (call);                                                          \
        if (hr_try_status != HR_STATUS_OK)                                                         \
            return hr_try_status;                                                                  \
    } while (0)
/* For memory that was asked for: returns if there was none. */
#define HR_TRY_ALLOC(memory)                                                                       \
    do {                                                                                           \
        if (!(memory))                                                                             \
            return HR_STATUS_NO_MEMORY;                                                            \
    } while (0)

#define HR_COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define HR_MIN(a, b) ((a) < (b) ? (a) : (b))
#define HR_MAX(a, b) ((a) > (b) ? (a) : (b))
#define HR_DIVIDE_UP(a, b) (((a) + (b)-1) / (b))
#define HR_PI 3.14159265358979323846

#ifdef __cplusplus
}
#endif
#endif
