/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What an operator is and sees. An operator is one table, `hr_op_def`; everything said there
 * (names, types, defaults, ranges, docs) is checked and documented from the table and is never
 * checked again by the operator. */
#ifndef HEADRACE_OPERATOR_H
#define HEADRACE_OPERATOR_H

#include "headrace/headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HR_OP_ABI_VERSION 1

/* ---- arguments ---- */

/* C type of the field in the operator's args struct, behind each. */
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
    HR_ARG_TYPE_COUNT
} hr_arg_type;

/* `v` is NULL when the argument is optional and absent. */
typedef struct hr_ints {
    const int32_t *v;
    int32_t n;
} hr_ints;
typedef struct hr_int64s {
    const int64_t *v;
    int32_t n;
} hr_int64s;
typedef struct hr_floats {
    const float *v;
    int32_t n;
    int32_t frames; /* PER_FRAME: v has the values of so many frames; 0: one value for all */
} hr_floats;
typedef struct hr_strings {
    const char *const *v;
    int32_t n;
} hr_strings;

enum {
    HR_ARG_PER_SAMPLE = 1 << 0,
    HR_ARG_PER_FRAME = 1 << 1,
    HR_ARG_REQUIRED = 1 << 2,
    /* Absence is meaningful: the field is then NaN (FLOAT), NULL (strings, lists), -1
     * (enumerations, INT, INT64), whatever `def` documents. */
    HR_ARG_OPTIONAL = 1 << 3,
    HR_ARG_DEPRECATED = 1 << 4, /* works; `use` names the new one */
    HR_ARG_IGNORED = 1 << 5,    /* accepted and checked, changes nothing */
    /* A list of one may be written as a number (lists: always accepted). */
    HR_ARG_SCALAR_OK = 1 << 6,
    /* FLOAT, FLOATS: NaN and infinities are values; otherwise they are refused. */
    HR_ARG_NONFINITE = 1 << 7
};

typedef struct hr_arg_def {
    const char *name;
    hr_arg_type type;
    uint32_t flags;
    size_t offset; /* of the field in the args struct; unused with HR_ARG_IGNORED */
    size_t size;   /* sizeof the field; checked against `type` when the table is registered */
    /* Default as a Python literal: "1", "0.5", "True", "[0.08, 1.0]", "\"round\"", "FLOAT",
     * "INTERP_LINEAR", "RGB"; NULL for required and plain optional ones. */
    const char *def;
    const char *doc; /* one or more sentences with units */
    /* Allowed range of numbers and list elements, inclusive; none when both are 0. */
    double min, max;
    int32_t count_min, count_max; /* allowed lengths of a list; none when both are 0 */
    const char *choices;          /* allowed strings: "round|truncate" */
    const char *use;              /* deprecated: the argument that replaces it */
    const char *since;            /* deprecated: since this version */
} hr_arg_def;

/* HR_ARG(struct, field, TYPE, flags, default, "doc"[, .min = 0, .max = 1, ...]) */
#define HR_ARG(S, field, kind, flag, deflt, ...)                                                   \
    {                                                                                              \
        .name = #field, .type = HR_ARG_TYPE_##kind, .flags = (flag), .offset = offsetof(S, field), \
        .size = sizeof(((S *)0)->field), .def = (deflt), .doc = __VA_ARGS__                        \
    }
/* An argument that is accepted, checked, and changes nothing here; the doc says why. */
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
/* An argument of old versions that does nothing any more. */
#define HR_ARG_GONE(arg, kind, deflt, version)                                                     \
    {                                                                                              \
        .name = #arg, .type = HR_ARG_TYPE_##kind, .flags = HR_ARG_IGNORED | HR_ARG_DEPRECATED,     \
        .def = (deflt), .since = (version), .doc = "Has no effect."                                \
    }
#define HR_ARG_END                                                                                 \
    {                                                                                              \
        .type = HR_ARG_TYPE_END                                                                    \
    }

/* ---- one sample at one node ---- */

/* Counter-based random numbers (Philox 4x32-10): number k of this node for this sample. See
 * core/rng.h. */
typedef struct hr_rng {
    uint32_t key[2];
    uint32_t counter[4]; /* counter[0] counts draws of four; the rest names the sample */
} hr_rng;

typedef struct hr_arena hr_arena; /* memory until the task ends; core/alloc.h */
typedef struct hr_image_program hr_image_program;

typedef struct hr_staging hr_staging; /* memory that a device reads; core/staging.h */

/* What runs with a sample: whose it is and where remarks about it go. Opaque to operators. */
typedef struct hr_task hr_task;

typedef struct hr_op_call {
    const struct hr_op_def *def;
    const void *args; /* the operator's args struct for this sample, checked */
    void *state;      /* what `create` made for this node; shared by workers, so read-only */
    const hr_tensor *in;
    int32_t n_in;
    hr_tensor *out; /* infer fills dtype, shape, layout; run finds `data` there */
    int32_t n_out;
    const char *source_info; /* of the sample, or NULL */
    hr_rng rng;
    hr_arena *arena;
    void *memo;                       /* infer may leave something from the arena for run */
    hr_task *task;                    /* for hr_task_warn */
    const struct hr_kernels *kernels; /* the pixel loops of this CPU level: kernels/kernels.h */
    /* Samples of this call: 1 unless the operator takes COLUMNS. `in` and `out` describe the first
     * one; the others are alike and follow it in memory, hr_tensor_bytes apart. */
    int32_t count;
    const hr_rng *rngs;          /* RANDOM: of each of the `count` samples; rng is the first */
    const hr_function *function; /* the caller's, of operators with HR_OP_FUNCTION */
    hr_staging *staging; /* the work will be a device's: infer may stage what its kernels read */
} hr_op_call;

/* run_batch: memory for output `output`, which `t` describes, of the sample that `task` is: its
 * place in the batch where it has one, so that nothing need be copied. Sets data and buffer. */
hr_status hr_task_memory(hr_task *task, int32_t output, hr_tensor *t, hr_error *error);

/* Records damage that does not stop the sample. Fails (CORRUPT) if the pipeline is strict. */
hr_status hr_task_warn(hr_task *task, hr_error *error, const char *fmt, ...) HR_PRINTF(3, 4);
/* Limits that apply to this sample; defaults when `task` is NULL. */
int64_t hr_task_max_pixels(const hr_task *task);
/* The sample's place in its batch, from 0; 0 when `task` is NULL. */
int32_t hr_task_index(const hr_task *task);

/* ---- readers ---- */

/* Where the bytes of an item lie. Borrowed from the reader's state. */
typedef struct hr_span {
    const char *root; /* folder that `path` is relative to, or NULL */
    const char *path; /* as listed: goes to source_info and messages */
    int64_t offset;
    int64_t size; /* < 0: to the end of the file */
} hr_span;

/* An indexed source: count; read item i. Its args struct begins with hr_sampler_args. */
typedef struct hr_reader_def {
    int64_t (*count)(const void *state);
    hr_status (*locate)(const void *state, int64_t index, hr_span *span, hr_error *error);
    /* `bytes` is a 1-D UINT8 tensor with a buffer; outputs may refer to it (set data and buffer, as
     * VIEW operators do) or are allocated from c->arena. */
    hr_status (*emit)(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error);
} hr_reader_def;

/* Every reader's args struct starts with these; HR_SAMPLER_ARG_DEFS(struct) describes them. */
typedef struct hr_sampler_args {
    int32_t random_shuffle, initial_fill, num_shards, shard_id, stick_to_shard, pad_last_batch;
    int32_t shuffle_after_epoch;
    int64_t shuffle_after_epoch_seed;
} hr_sampler_args;

/* ---- the table ---- */

enum {
    HR_OP_SOURCE = 1 << 0,     /* no inputs from the graph; a reader, or fed from outside */
    HR_OP_RANDOM = 1 << 1,     /* has `seed`; merged with an equal node only if that is explicit */
    HR_OP_VIEW = 1 << 2,       /* outputs share input 0's memory: run sets data and buffer itself */
    HR_OP_SEQUENCE = 1 << 4,   /* documented as accepting frames (layouts that start with F) */
    HR_OP_VOLUMETRIC = 1 << 5, /* documented as accepting a depth axis */
    HR_OP_ORDERED = 1 << 6,    /* must see iterations in order, one at a time */
    HR_OP_HIDDEN = 1 << 7,     /* not listed in fn and ops */
    HR_OP_DEPRECATED = 1 << 8,
    HR_OP_CHEAP = 1 << 9,      /* worth no task of its own: the whole batch goes in one */
    HR_OP_TO_DEVICE = 1 << 10, /* output 0 is input 0 in the device's memory ... */
    HR_OP_TO_HOST = 1 << 11,   /* ... and back; the executor does both */
    HR_OP_ANYWHERE = 1 << 12,  /* reads no elements: its inputs may lie on any device */
    /* Input 0 comes from the branch where the argument "predicate" is true, input 1 from the other:
     * only one of them is there. */
    HR_OP_MERGE = 1 << 13,
    HR_OP_FUNCTION = 1 << 15, /* needs hr_node_desc.function */
    /* infer, run_cpu and run_batch take calls of several samples that differ in nothing but their
     * elements and random numbers (hr_op_call.count); nothing that infer says may depend on those.
     */
    HR_OP_COLUMNS = 1 << 14
};

/* Where an operator stands in an image program; a chain only goes forward (WINDOW fits anywhere).
 */
typedef enum hr_lower_rank {
    HR_LOWER_RANK_NONE = 0,
    HR_LOWER_RANK_WINDOW,   /* crop, flip: composes into coordinates */
    HR_LOWER_RANK_SOURCE,   /* decoders: start a program */
    HR_LOWER_RANK_RESAMPLE, /* at most one */
    HR_LOWER_RANK_POINT,    /* colour maps, casts: any number */
    HR_LOWER_RANK_NORMALIZE /* at most one */
} hr_lower_rank;

#define HR_OP_MAX_INPUTS 999
#define HR_OP_MAX_OUTPUTS 64

typedef struct hr_input_def {
    const char *name;    /* "data" */
    const char *layouts; /* "HWC|FHWC"; NULL: any. A tensor without layout is taken as the first one
                            whose length is its ndim */
    /* Its elements say what the output is: infer reads them, so that it lies on the CPU also where
     * the operator runs on a GPU. */
    bool host;
} hr_input_def;

typedef struct hr_output_def {
    const char *name;
} hr_output_def;

typedef struct hr_op_def {
    uint32_t abi;         /* HR_OP_ABI_VERSION */
    uint32_t struct_size; /* sizeof(hr_op_def) of whoever compiled the table */
    const char *name;     /* under fn: "decoders.image" */
    const char *doc;
    /* Other names that work: {"image_decoder", "ops:HostDecoder", NULL}; "ops:X" names a class
     * only; all are deprecated names. Or NULL. */
    const char *const *aliases;
    const char *devices; /* of DALI, for docs: "cpu|gpu|mixed" */
    uint32_t flags;
    const hr_arg_def *args;
    size_t args_size;
    hr_input_def in[4]; /* inputs beyond the described ones are like the last described */
    int32_t in_min, in_max;
    hr_output_def out[4];
    int32_t out_count; /* outputs; < 0: `outputs` says */
    int32_t (*outputs)(const void *args, int32_t n_in);
    /* Checks across arguments, once a node, with the constants (per-sample ones hold their absent
     * value). */
    hr_status (*check)(const void *args, uint64_t given, hr_error *error);
    /* Node state that does not change; `seed` is the node's. */
    hr_status (*create)(const void *args, void **state, hr_error *error);
    void (*destroy)(void *state);
    /* Type, shape and layout of the outputs of one sample. Of a source that is fed: c->in is what
     * was fed, c->out may be the same array. */
    hr_status (*infer)(hr_op_call *c, hr_error *error);
    /* Adds this operator, for this sample, to an image program (image/program.h), which the
     * executor has started from input 0 (with in[0].layouts) unless a node before did; only rank
     * SOURCE starts it itself. c->out is NULL, and behind another node c->in[0] is not there: ask
     * the program. HR_STATUS_NOT_FUSABLE cuts the chain; from a fresh program it means: use infer
     * and run_cpu. */
    hr_status (*lower)(hr_op_call *c, hr_image_program *program, hr_error *error);
    hr_lower_rank lower_rank;
    /* The work of `n` calls. Optional where `lower` covers every input. When a call of several
     * samples fails, the executor calls again sample by sample. */
    hr_status (*run_cpu)(hr_op_call *calls, int32_t n, hr_error *error);
    /* Operators whose meaning is the batch: describes and computes the outputs of all samples of
     * the iteration; their memory comes from the arena (or views of inputs' buffers). */
    hr_status (*run_batch)(hr_op_call *calls, int32_t n, hr_error *error);
    /* Operators whose outputs only look different with the batch (padded to its largest sample):
     * sees all samples of the iteration; what it writes into their out[] is there when `infer` is
     * called. The work is then done sample by sample, with the inputs of any device. */
    hr_status (*infer_batch)(hr_op_call *calls, int32_t n, hr_error *error);
    /* Whether the meaning of a node is the batch; arguments as in `check`. If not, run_batch and
     * infer_batch are not called. NULL: whenever one of them is there. */
    bool (*whole_batch)(const void *args, uint64_t given);
    const hr_reader_def *reader; /* SOURCE: an indexed source; NULL: fed from outside */
} hr_op_def;

#define HR_OP_ABI .abi = HR_OP_ABI_VERSION, .struct_size = sizeof(hr_op_def)

#ifdef __cplusplus
}
#endif
#endif
