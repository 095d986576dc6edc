/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal to graph/: values of arguments (the user's, default literals, per-sample tensors) and
 * their conversion into fields of args structs. */
#pragma once

#include "graph/node.h"
#include "graph/table.h"

#define HR_GRAPH_MAX_NODES 16384
#define HR_GRAPH_VERSION 2 /* of the serialised text: the latest that is read */

/* ---- tables ---- */
/* Writes defaults and absent values into node->args. */
hr_status hr__args_defaults(hr_node *node, hr_error *error);
/* Names of enumeration values ("INTERP_NN"); NULL beyond the last. */
const char *hr__enum_name(hr_arg_type type, int64_t value);
bool hr__enum_value(hr_arg_type type, const char *name, int32_t *value);
const char *hr__arg_type_name(hr_arg_type type);
bool hr__arg_type_is_list(hr_arg_type type);
size_t hr__arg_type_size(hr_arg_type type);

/* ---- values ---- */
bool hr__value_is_list(const hr_value *value);
/* A copy whose lists and strings are stored in the node. EDGE values are copied unchanged. */
hr_status hr__value_copy(hr_node *node, hr_value *out, const hr_value *value, hr_error *error);
/* As Python would write it, shortened to `size`; returns `text`. */
const char *hr__value_text(const hr_value *value, char *text, size_t size);
/* Parses a Python literal; names (FLOAT, INTERP_LINEAR) become strings. Memory belongs to the node.
 */
hr_status hr__literal_parse(hr_node *node, const char *text, hr_value *out, hr_error *error);

/* A value being converted into a field: exactly one of `value` and `tensor` is set. */
typedef struct hr__conversion {
    const hr_node *node; /* for messages */
    const hr_arg_def *arg;
    const hr_value *value;
    const hr_tensor *tensor;
    hr_node *store;  /* where lists go: the node, or */
    hr_arena *arena; /* the arena */
    bool trusted;    /* defaults: ranges are not checked */
} hr__conversion;

/* Checks and converts into `field`, which has the type of the argument. */
hr_status hr__convert(const hr__conversion *c, void *field, hr_error *error);
/* The same for type JSON: checks the value against the form of the argument. */
hr_status hr__json_convert(const hr__conversion *c, const hr_json **field, hr_error *error);
/* Whether a form can be read. */
hr_status hr__form_check(const char *form, hr_error *error);
/* Writes the absent value: NaN, NULL, -1. */
void hr__field_absent(const hr_arg_def *arg, void *field);
/* Whether the fields of two args structs of one operator are equal (floats by their bits). */
bool hr__field_equal(const hr_arg_def *arg, const void *a, const void *b);

/* ---- graph ---- */
/* As hr_graph_add_node, for a table that need not be registered; desc->op is ignored. */
hr_status hr__graph_add(hr_graph *graph, const hr_op_def *def, const hr_node_desc *desc,
                        int32_t *node, hr_error *error);
/* The node as the user could have described it. */
hr_node_desc hr__node_describe(const hr_node *node);
