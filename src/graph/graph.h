/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The user's definition: nodes in definition order, each after its inputs.
 *
 * What the files of this folder share is in table.c, node.c and suggest.c, which call none of the
 * others; graph.c leads the folder and is called by none of them (tools/check/includes.py). */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

typedef struct hr_arg_input { /* a per-sample argument */
    int32_t arg;              /* index into def->args */
    hr_edge edge;
} hr_arg_input;

struct hr_given {
    const hr_op_def *def;
    bool *v; /* by argument */
};

typedef struct hr_node {
    const hr_op_def *def;
    char *name;   /* never NULL: made from op and number if not given */
    char *origin; /* "" when not given */
    char *device;
    int32_t index; /* in definition order */
    int32_t draws; /* the node whose random numbers it draws: its index seeds them */
    hr_edge *inputs;
    int32_t input_count;
    hr_arg_input *arg_inputs;
    int32_t arg_input_count;
    void *args; /* def->args_size bytes: constants and defaults */
    hr_given given;
    hr_arg_value *values; /* all arguments as given, for serialising and copying */
    int32_t value_count;
    void **storage; /* memory of names, lists etc., freed with the node */
    int32_t storage_count;
    int64_t seed; /* explicit seed, or -1 */
    bool preserve;
    bool guarded;
    hr_guard guard; /* if guarded */
    int32_t output_count;
    hr_function *function; /* with HR_OP_FUNCTION */
    int32_t copies;        /* graphs that share it with the first one; atomic */
} hr_node;

struct hr_graph {
    hr_node **nodes;
    int32_t count, capacity;
    hr_edge *outputs;
    int32_t output_count;
};

/* The copy shares the nodes, which never change. The two graphs may be used by different threads.
 */
hr_status hr_graph_copy(hr_graph **out, const hr_graph *graph, hr_error *error);
/* Adds copies for GPU outputs that would share memory with other values. */
hr_status hr__graph_own_outputs(hr_graph *graph, hr_error *error);
/* What the graph computes, as text for comparison: without functions, source lines, versions, and
 * arguments of readers that may change between runs (HR_ARG_CHANGES). */
hr_status hr__graph_meaning(const hr_graph *graph, char **text, size_t *size, hr_error *error);

/* ---- registry ---- */
/* Written by the build from the files in src/ops and src/readers; NULL-terminated. */
extern const hr_op_def *const hr_builtin_ops[];
extern const char *const hr_cuda_op_names[]; /* operators of the CUDA module; NULL-terminated */
/* Finds an operator by name or alias ("decoders.image", "image_decoder"); NULL when unknown.
 * `*deprecated` (may be NULL): found through an alias. */
const hr_op_def *hr_registry_find(const char *name, bool *deprecated);
int32_t hr_registry_count(void);
const hr_op_def *hr_registry_get(int32_t i);
/* The inputs and outputs of an operator, with what its table leaves out: see hr_op_def. */
typedef struct hr_op_ports {
    int32_t in_min, in_max;
    int32_t out_count;        /* -1: `outputs` or `out_keys` of the table gives it */
    const hr_output_def *out; /* NULL with `out_keys` */
} hr_op_ports;
hr_op_ports hr_op_ports_of(const hr_op_def *def);
/* Whether it is a source of this kind: of numbered items, a stream, fed by the caller. */
bool hr_op_is_reader(const hr_op_def *def);
bool hr_op_is_stream(const hr_op_def *def);
bool hr_op_is_fed(const hr_op_def *def);
/* Whether it can run on the CPU; whether the CUDA module, or its plug-in, has kernels for it. */
bool hr_op_runs_on_cpu(const hr_op_def *def);
/* Whether it has `run`, and that function, also of a table that has the older run_cpu. */
bool hr_op_has_run(const hr_op_def *def);
hr_status hr_op_run(hr_op_call *c, hr_error *error);
bool hr_op_has_kernels(const hr_op_def *def);
/* Adds all operators of a plug-in, or none: HR_STATUS_VALUE for a bad table or a name that exists.
 * Tables and `owner`, the name of the plug-in, are not freed while the process runs. Any thread. */
hr_status hr_registry_add(const hr_op_def *const *ops, const char *owner, hr_error *error);
/* The plug-in that the operator comes from; NULL: it is built in. */
const char *hr_registry_owner(const hr_op_def *def);
/* Checks a table: sizes against types, defaults that parse, offsets in range. Those of plug-ins are
 * checked when they are loaded, built-in ones by a unit test. */
hr_status hr_op_def_check(const hr_op_def *def, hr_error *error);

/* ---- arguments ---- */
/* Index of an argument, or -1. Deprecated names are resolved through `use`. */
int32_t hr_args_find(const hr_op_def *def, const char *name);
/* Makes node->args from the defaults and desc->args, checked and converted. Errors name the
 * operator, argument, value and what is allowed. Statuses: KEY for an unknown name; ERROR for
 * missing arguments (lists them), values out of range, wrong lengths, strings not among the
 * choices; VALUE or TYPE for values that cannot be converted. */
hr_status hr_args_build(hr_node *node, const hr_node_desc *desc, hr_error *error);
/* Refuses arguments that exclude each other. It is called before a graph runs, not when a node is
 * added, because DALI finds this out when it builds a pipeline. */
hr_status hr_args_check_excludes(const hr_node *node, hr_error *error);
/* Converts and checks one sample's tensor into the field of argument `arg` of `args`, a copy of
 * node->args. All failures have ERROR; lists are allocated from the arena. */
hr_status hr_args_set_sample(const hr_node *node, void *args, int32_t arg, const hr_tensor *value,
                             hr_arena *arena, hr_error *error);
/* The predicate of a node whose operator has HR_OP_MERGE; {-1, -1} for others. */
hr_edge hr_node_predicate(const hr_node *node);
/* "decoders.image_crop 'crop_3' (train.py:31)" */
const char *hr_node_text(const hr_node *node, char *text, size_t size);
/* How the operator describes its input `i`. */
const hr_input_def *hr_input_of(const hr_op_def *def, int32_t i);
/* Whether the work is done on the device, including transfers to and from it. */
bool hr_node_on_device(const hr_node *node);
/* Whether it must see all samples of an iteration at once. */
bool hr_node_whole_batch(const hr_node *node);
