/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Graphs: nodes in definition order. A graph is used by one thread at a time. */
#include "graph/suggest.h"
#include "graph/value.h"

#include <stdio.h>
#include <string.h>

/* ---- nodes ---- */

static hr_status edge_check(const hr_graph *graph, const hr_node *node, hr_edge edge,
                            const char *what, hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE];
    int32_t outputs = hr_graph_node_outputs(graph, edge.node);
    if (outputs >= 0 && edge.output >= 0 && edge.output < outputs)
        return HR_STATUS_OK;
    if (outputs < 0)
        return hr_fail(error, HR_STATUS_VALUE, "%s: %s: node %d does not exist",
                       hr_node_text(node, text, sizeof(text)), what, edge.node);
    return hr_fail(
        error, HR_STATUS_VALUE, "%s: %s: node %d (%s) has %d output%s, so output %d does not exist",
        hr_node_text(node, text, sizeof(text)), what, edge.node, graph->nodes[edge.node]->def->name,
        outputs, outputs == 1 ? "" : "s", edge.output);
}

/* How many inputs the operator takes, with their names: "1 to 3 inputs (data, anchor, shape)". */
static void inputs_text(const hr_op_def *def, char *text, size_t size)
{
    hr_op_ports ports = hr_op_ports_of(def);
    int32_t named = 0, low = ports.in_min, high = ports.in_max, used;
    while (high > 0 && def->in[named].name)
        named++;
    if (high == 0)
        used = snprintf(text, size, "no inputs");
    else if (low < high && high <= named)
        used = snprintf(text, size, "%d to %d inputs", low, high);
    else
        used = snprintf(text, size, "%s%d input%s", high > named ? "at least " : "", low,
                        low == 1 ? "" : "s");
    for (int32_t i = 0; i < high && high <= named && (size_t)used < size; i++)
        used += snprintf(text + used, size - (size_t)used, "%s%s%s", i ? ", " : " (",
                         def->in[i].name, i + 1 < high ? "" : ")");
}

static hr_status inputs_set(const hr_graph *graph, hr_node *node, const hr_node_desc *desc,
                            hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE], takes[256];
    hr_op_ports ports = hr_op_ports_of(node->def);
    int32_t n = desc->input_count;
    if (n < ports.in_min || n > ports.in_max) {
        inputs_text(node->def, takes, sizeof(takes));
        return hr_fail(error, HR_STATUS_VALUE, "%s takes %s, got %d",
                       hr_node_text(node, text, sizeof(text)), takes, n);
    }
    node->inputs = hr__node_store(node, (size_t)n + 1, sizeof(*node->inputs), error);
    HR_TRY_ALLOC(node->inputs);
    for (int32_t i = 0; i < n; i++) {
        char what[32];
        snprintf(what, sizeof(what), "input %d", i);
        HR_TRY(edge_check(graph, node, desc->inputs[i], what, error));
        node->inputs[i] = desc->inputs[i];
    }
    node->input_count = n;
    return HR_STATUS_OK;
}

static bool on_gpu(const hr_graph *graph, hr_edge edge)
{
    return strcmp(graph->nodes[edge.node]->device, "cpu") != 0;
}

/* Checks that inputs are on the right device: on the GPU for GPU operators, except for "mixed" and
 * operators that move data; per-sample arguments on the host. */
static hr_status devices_check(const hr_graph *graph, const hr_node *node, hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE];
    uint32_t flags = node->def->flags;
    if (strcmp(node->device, "cpu") == 0 && !hr_op_runs_on_cpu(node->def))
        return hr_fail(error, HR_STATUS_ERROR,
                       "%s: it runs on a GPU only: use device=\"gpu\", and .gpu() before it",
                       hr_node_text(node, text, sizeof(text)));
    bool gpu =
        (strcmp(node->device, "gpu") == 0 && !(flags & HR_OP_TO_DEVICE)) || (flags & HR_OP_TO_HOST);
    for (int32_t i = 0; i < node->input_count && !(flags & HR_OP_ANYWHERE); i++) {
        bool there = gpu && !hr_input_of(node->def, i)->host;
        if (on_gpu(graph, node->inputs[i]) != there)
            return hr_fail(error, HR_STATUS_ERROR,
                           "%s: input %d for %s operator is stored on incompatible device \"%s\"; "
                           "valid device is \"%s\": use .%s()",
                           hr_node_text(node, text, sizeof(text)), i, node->device,
                           there ? "cpu" : "gpu", there ? "gpu" : "cpu", there ? "gpu" : "cpu");
    }
    for (int32_t i = 0; i < node->arg_input_count; i++)
        if (on_gpu(graph, node->arg_inputs[i].edge))
            return hr_fail(
                error, HR_STATUS_VALUE,
                "%s: Invalid device \"gpu\" for argument '%s'. Named arguments must be on the "
                "CPU: use .cpu()",
                hr_node_text(node, text, sizeof(text)),
                node->def->args[node->arg_inputs[i].arg].name);
    return HR_STATUS_OK;
}

/* ---- branches ---- */

static bool guard_equal(const hr_guard *a, const hr_guard *b)
{
    return a->predicate.node == b->predicate.node && a->predicate.output == b->predicate.output &&
           a->when == b->when;
}

/* Whether the outputs of `other` exist whenever `node` runs: `node` is in the same branch or in one
 * nested inside it. */
static bool sees(const hr_graph *graph, const hr_node *node, const hr_node *other)
{
    while (other->guarded && node->guarded && !guard_equal(&node->guard, &other->guard))
        node = graph->nodes[node->guard.predicate.node];
    return !other->guarded || node->guarded;
}

hr_edge hr_node_predicate(const hr_node *node)
{
    bool merge = node->def->flags & HR_OP_MERGE;
    for (int32_t i = 0; merge && i < node->arg_input_count; i++)
        if (node->arg_inputs[i].arg == node->def->predicate)
            return node->arg_inputs[i].edge;
    return (hr_edge){-1, -1};
}

static hr_status guard_set(const hr_graph *graph, hr_node *node, const hr_guard *guard,
                           hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE];
    if (!guard)
        return HR_STATUS_OK;
    HR_TRY(edge_check(graph, node, guard->predicate, "guard", error));
    hr_node_text(node, text, sizeof(text));
    if (node->def->source)
        return hr_fail(error, HR_STATUS_VALUE,
                       "%s: a source cannot be in a branch of a conditional; define it before the "
                       "conditional",
                       text);
    if (on_gpu(graph, guard->predicate))
        return hr_fail(error, HR_STATUS_VALUE, "%s: the condition of its branch must be on the CPU",
                       text);
    node->guarded = true;
    node->guard = *guard;
    return HR_STATUS_OK;
}

/* Checks that all inputs of the node exist whenever it runs. */
static hr_status branches_check(const hr_graph *graph, const hr_node *node, hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE], other[HR_NODE_TEXT_SIZE];
    hr_edge predicate = hr_node_predicate(node);
    bool merge = node->def->flags & HR_OP_MERGE;
    if (merge && (predicate.node < 0 || node->input_count != 2))
        return hr_fail(error, HR_STATUS_VALUE, "%s: it needs two inputs, and a tensor as predicate",
                       hr_node_text(node, text, sizeof(text)));
    for (int32_t i = 0; i < node->input_count + node->arg_input_count; i++) {
        bool input = i < node->input_count;
        hr_edge edge = input ? node->inputs[i] : node->arg_inputs[i - node->input_count].edge;
        const hr_node *from = graph->nodes[edge.node];
        const hr_guard branch = {predicate, i == 0};
        if (sees(graph, node, from) || (merge && input && guard_equal(&from->guard, &branch)))
            continue;
        return hr_fail(error, HR_STATUS_VALUE,
                       "%s: the output of %s exists only in a branch of a conditional that does "
                       "not contain this operator",
                       hr_node_text(node, text, sizeof(text)),
                       hr_node_text(from, other, sizeof(other)));
    }
    return HR_STATUS_OK;
}

/* "__resize_3" for a node without a name; never a name that is already used. */
static hr_status name_set(const hr_graph *graph, hr_node *node, hr_error *error)
{
    char text[160];
    if (node->name) {
        if (hr_graph_find_node(graph, node->name) < 0)
            return HR_STATUS_OK;
        return hr_fail(error, HR_STATUS_ERROR, "%s: another node already has this name",
                       hr_node_text(node, text, sizeof(text)));
    }
    for (int32_t k = 0; k <= graph->count; k++) {
        int n = snprintf(text, sizeof(text), "__%.100s_%d", node->def->name, node->index);
        if (k)
            snprintf(text + n, sizeof(text) - (size_t)n, "_%d", k);
        for (char *p = text; *p; p++)
            *p = *p == '.' ? '_' : *p;
        if (hr_graph_find_node(graph, text) < 0)
            break;
    }
    return hr__node_strdup(node, text, &node->name, error);
}

static hr_status function_set(hr_node *node, const hr_node_desc *desc, hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE];
    bool needs = node->def->flags & HR_OP_FUNCTION;
    if (needs != (desc->function != NULL))
        return hr_fail(error, HR_STATUS_TYPE, "%s: %s", hr_node_text(node, text, sizeof(text)),
                       needs ? "it needs a function to call" : "it does not call a function");
    node->function = hr_function_ref(desc->function);
    return HR_STATUS_OK;
}

/* Nodes that draw as the same node have the same `draws`, whichever of them was named. */
static hr_status draws_set(const hr_graph *graph, hr_node *node, const hr_node_desc *desc,
                           hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE];
    if (!desc->draws_as)
        return HR_STATUS_OK;
    if (*desc->draws_as < 0 || *desc->draws_as >= graph->count)
        return hr_fail(error, HR_STATUS_VALUE, "%s: it draws as node %d, which does not exist",
                       hr_node_text(node, text, sizeof(text)), *desc->draws_as);
    node->draws = graph->nodes[*desc->draws_as]->draws;
    return HR_STATUS_OK;
}

static int32_t count_outputs(const hr_node *node)
{
    const hr_op_def *def = node->def;
    if (def->out_keys) {
        const hr_arg_def *arg = &def->args[hr__args_find_exact(def, def->out_keys)];
        return (*(const hr_json *const *)(const void *)((const char *)node->args + arg->offset))
            ->count;
    }
    int32_t count = hr_op_ports_of(def).out_count;
    return count >= 0 ? count : def->outputs(node->args, node->input_count);
}

static hr_status node_fill(const hr_graph *graph, hr_node *node, const hr_node_desc *desc,
                           hr_error *error)
{
    char what[128], text[HR_NODE_TEXT_SIZE];
    node->index = node->draws = graph->count;
    node->seed = -1;
    node->preserve = desc->preserve;
    HR_TRY(hr__node_strdup(node, desc->origin, &node->origin, error));
    HR_TRY(hr__node_strdup(node, desc->device ? desc->device : "cpu", &node->device, error));
    if (desc->name)
        HR_TRY(hr__node_strdup(node, desc->name, &node->name, error));
    HR_TRY(inputs_set(graph, node, desc, error));
    HR_TRY(hr_args_build(node, desc, error));
    HR_TRY(name_set(graph, node, error));
    for (int32_t i = 0; i < node->arg_input_count; i++) {
        snprintf(what, sizeof(what), "argument \"%s\"",
                 node->def->args[node->arg_inputs[i].arg].name);
        HR_TRY(edge_check(graph, node, node->arg_inputs[i].edge, what, error));
    }
    HR_TRY(devices_check(graph, node, error));
    HR_TRY(guard_set(graph, node, desc->guard, error));
    HR_TRY(branches_check(graph, node, error));
    HR_TRY(function_set(node, desc, error));
    HR_TRY(draws_set(graph, node, desc, error));
    node->output_count = count_outputs(node);
    if (node->output_count < 0 || node->output_count > HR_OP_MAX_OUTPUTS)
        return hr_fail(error, HR_STATUS_VALUE, "%s: %d outputs; at most %d are possible",
                       hr_node_text(node, text, sizeof(text)), node->output_count,
                       HR_OP_MAX_OUTPUTS);
    return HR_STATUS_OK;
}

/* ---- graphs ---- */

hr_status hr_graph_create(hr_graph **out, hr_error *error)
{
    *out = hr_calloc(1, sizeof(**out), error);
    return *out ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

void hr_graph_destroy(hr_graph *graph)
{
    if (!graph)
        return;
    for (int32_t i = 0; i < graph->count; i++)
        hr__node_destroy(graph->nodes[i]);
    hr_free(graph->nodes);
    hr_free(graph->outputs);
    hr_free(graph);
}

static hr_status graph_reserve(hr_graph *graph, hr_error *error)
{
    if (graph->count >= HR_GRAPH_MAX_NODES)
        return hr_fail(error, HR_STATUS_LIMIT, "a graph has at most %d nodes", HR_GRAPH_MAX_NODES);
    if (graph->count < graph->capacity)
        return HR_STATUS_OK;
    int32_t capacity = graph->capacity ? 2 * graph->capacity : 16;
    hr_node **grown = hr_realloc(graph->nodes, (size_t)capacity, sizeof(*grown), error);
    HR_TRY_ALLOC(grown);
    graph->nodes = grown;
    graph->capacity = capacity;
    return HR_STATUS_OK;
}

hr_status hr__graph_add(hr_graph *graph, const hr_op_def *def, const hr_node_desc *desc,
                        int32_t *node, hr_error *error)
{
    HR_TRY(graph_reserve(graph, error));
    hr_node *made = hr_calloc(1, sizeof(*made), error);
    HR_TRY_ALLOC(made);
    made->def = def;
    hr_status status = node_fill(graph, made, desc, error);
    if (status != HR_STATUS_OK) {
        hr__node_destroy(made);
        return status;
    }
    graph->nodes[graph->count++] = made;
    if (node)
        *node = made->index;
    return HR_STATUS_OK;
}

static hr_status fail_operator(const hr_node_desc *desc, hr_error *error)
{
    char hint[256] = "";
    const char *names[512];
    int32_t n = HR_MIN(hr_registry_count(), (int32_t)HR_COUNT_OF(names));
    for (int32_t i = 0; i < n; i++)
        names[i] = hr_registry_get(i)->name;
    bool placed = desc->origin && desc->origin[0];
    hr__suggest(desc->op, names, n, hint, sizeof(hint));
    return hr_fail(error, HR_STATUS_KEY,
                   "%s%.90s%soperator '%.100s' is not part of this version of Headrace "
                   "or of a loaded plug-in%s",
                   placed ? "(" : "", placed ? desc->origin : "", placed ? "): " : "", desc->op,
                   hint);
}

/* Adds the operators that take the place of one on a GPU. */
static hr_status add_parts(hr_graph *graph, const hr_op_def *def, const hr_node_desc *desc,
                           int32_t *node, hr_error *error)
{
    hr_node_desc part = *desc;
    int32_t first, info;
    part.op = def->on_gpu[0];
    part.name = NULL;
    HR_TRY(hr_graph_add_node(graph, &part, &first, error));
    hr_edge edges[2] = {{first, 0}, {first, 1}};
    part = (hr_node_desc){
        .device = "cpu", .origin = desc->origin, .preserve = desc->preserve, .guard = desc->guard};
    part.op = "_to_cpu";
    part.inputs = &edges[1];
    part.input_count = 1;
    HR_TRY(hr_graph_add_node(graph, &part, &info, error));
    edges[1] = (hr_edge){info, 0};
    part.op = def->on_gpu[1];
    part.name = desc->name;
    part.device = desc->device;
    part.inputs = edges;
    part.input_count = 2;
    return hr_graph_add_node(graph, &part, node, error);
}

hr_status hr_graph_add_node(hr_graph *graph, const hr_node_desc *desc, int32_t *node,
                            hr_error *error)
{
    if (!desc->op)
        return hr_fail(error, HR_STATUS_VALUE, "the node has no operator");
    const hr_op_def *def = hr_registry_find(desc->op, NULL);
    if (!def)
        return fail_operator(desc, error);
    if (def->on_gpu && desc->device && strcmp(desc->device, "gpu") == 0)
        return add_parts(graph, def, desc, node, error);
    return hr__graph_add(graph, def, desc, node, error);
}

hr_status hr_graph_set_outputs(hr_graph *graph, const hr_edge *edges, int32_t count,
                               hr_error *error)
{
    if (count <= 0)
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED, "the pipeline has no outputs");
    for (int32_t i = 0; i < count; i++) {
        int32_t outputs = hr_graph_node_outputs(graph, edges[i].node);
        if (outputs < 0)
            return hr_fail(error, HR_STATUS_VALUE, "pipeline output %d: node %d does not exist", i,
                           edges[i].node);
        if (edges[i].output < 0 || edges[i].output >= outputs)
            return hr_fail(
                error, HR_STATUS_VALUE,
                "pipeline output %d: node %d (%s) has %d output%s, so output %d does not exist", i,
                edges[i].node, graph->nodes[edges[i].node]->def->name, outputs,
                outputs == 1 ? "" : "s", edges[i].output);
    }
    hr_edge *copy = hr_calloc((size_t)count, sizeof(*copy), error);
    HR_TRY_ALLOC(copy);
    memcpy(copy, edges, (size_t)count * sizeof(*copy));
    hr_free(graph->outputs);
    graph->outputs = copy;
    graph->output_count = count;
    return HR_STATUS_OK;
}

int32_t hr_graph_node_outputs(const hr_graph *graph, int32_t node)
{
    return node >= 0 && node < graph->count ? graph->nodes[node]->output_count : -1;
}

int32_t hr_graph_find_node(const hr_graph *graph, const char *name)
{
    for (int32_t i = 0; name && i < graph->count; i++) {
        if (strcmp(graph->nodes[i]->name, name) == 0)
            return i;
    }
    return -1;
}

hr_node_desc hr__node_describe(const hr_node *node)
{
    return (hr_node_desc){
        .op = node->def->name,
        .name = node->name,
        .device = node->device,
        .origin = node->origin,
        .inputs = node->inputs,
        .input_count = node->input_count,
        .args = node->values,
        .arg_count = node->value_count,
        .preserve = node->preserve,
        .guard = node->guarded ? &node->guard : NULL,
        .function = node->function,
        .draws_as = node->draws != node->index ? &node->draws : NULL,
    };
}

hr_status hr_graph_copy(hr_graph **out, const hr_graph *graph, hr_error *error)
{
    hr_graph *copy = NULL;
    HR_TRY(hr_graph_create(&copy, error));
    hr_status status = HR_STATUS_OK;
    for (int32_t i = 0; i < graph->count && status == HR_STATUS_OK; i++) {
        status = graph_reserve(copy, error);
        if (status != HR_STATUS_OK)
            break;
        __atomic_fetch_add(&graph->nodes[i]->copies, 1, __ATOMIC_RELAXED);
        copy->nodes[copy->count++] = graph->nodes[i];
    }
    if (status == HR_STATUS_OK && graph->output_count)
        status = hr_graph_set_outputs(copy, graph->outputs, graph->output_count, error);
    if (status != HR_STATUS_OK) {
        hr_graph_destroy(copy);
        return status;
    }
    *out = copy;
    return HR_STATUS_OK;
}
