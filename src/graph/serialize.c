/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Graphs as JSON text and back. Parsing adds nodes as a user would, so all checks apply: any bytes
 * give a graph or an error. */
#include "graph/value.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- writing ---- */

/* JSON has no NaN and infinities: they are written as {"float": "nan"}. */
static void put_float(hr_text *text, double f)
{
    if (f - f == 0.0)
        hr_text_append_double(text, f);
    else
        hr_text_append(text, "{\"float\": \"%s\"}", f != f ? "nan" : f > 0 ? "inf" : "-inf");
}

static void put_edges(hr_text *text, const hr_edge *edges, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        hr_text_append(text, "%s[%d, %d]", i ? ", " : "", edges[i].node, edges[i].output);
}

static void put_list(hr_text *text, const hr_value *v)
{
    hr_text_append(text, "[");
    for (int32_t i = 0; i < v->count; i++) {
        hr_text_append(text, "%s", i ? ", " : "");
        if (v->kind == HR_VALUE_INTS)
            hr_text_append(text, "%" PRId64, v->u.ints[i]);
        else if (v->kind == HR_VALUE_FLOATS)
            put_float(text, v->u.floats[i]);
        else
            hr_text_append_quoted(text, v->u.strings[i]);
    }
    hr_text_append(text, "]");
}

static void put_value(hr_text *text, const hr_value *v)
{
    switch (v->kind) {
    case HR_VALUE_BOOL:
        hr_text_append(text, "%s", v->u.i ? "true" : "false");
        break;
    case HR_VALUE_INT:
        hr_text_append(text, "%" PRId64, v->u.i);
        break;
    case HR_VALUE_FLOAT:
        put_float(text, v->u.f);
        break;
    case HR_VALUE_STRING:
        hr_text_append_quoted(text, v->u.s);
        break;
    case HR_VALUE_EDGE:
        hr_text_append(text, "{\"edge\": ");
        put_edges(text, &v->u.edge, 1);
        hr_text_append(text, "}");
        break;
    default:
        put_list(text, v);
        break;
    }
}

/* How much is written: all, or what the order of a reader depends on (without HR_ARG_CHANGES). */
typedef enum amount { AMOUNT_ALL, AMOUNT_ORDER } amount;

static bool arg_counts(const hr_node *node, const char *name, amount how)
{
    int32_t i = how == AMOUNT_ORDER && hr_op_is_reader(node->def)
                    ? hr__args_find_exact(node->def, name)
                    : -1;
    return i < 0 || !(node->def->args[i].flags & HR_ARG_CHANGES);
}

static void put_node(hr_text *text, const hr_node *node, amount how)
{
    hr_node_desc desc = hr__node_describe(node);
    hr_text_append(text, "{\"op\": ");
    hr_text_append_quoted(text, desc.op);
    hr_text_append(text, ", \"name\": ");
    hr_text_append_quoted(text, desc.name);
    if (desc.origin[0] && how == AMOUNT_ALL) {
        hr_text_append(text, ", \"origin\": ");
        hr_text_append_quoted(text, desc.origin);
    }
    hr_text_append(text, ", \"device\": ");
    hr_text_append_quoted(text, desc.device);
    hr_text_append(text, ", \"preserve\": %s, \"inputs\": [", desc.preserve ? "true" : "false");
    put_edges(text, desc.inputs, desc.input_count);
    hr_text_append(text, "], ");
    if (desc.guard)
        hr_text_append(text, "\"guard\": [%d, %d, %s], ", desc.guard->predicate.node,
                       desc.guard->predicate.output, desc.guard->when ? "true" : "false");
    if (desc.draws_as)
        hr_text_append(text, "\"draws_as\": %d, ", *desc.draws_as);
    hr_text_append(text, "\"args\": {");
    for (int32_t i = 0, count = 0; i < desc.arg_count; i++) {
        if (!arg_counts(node, desc.args[i].name, how))
            continue;
        hr_text_append(text, "%s", count++ ? ", " : "");
        hr_text_append_quoted(text, desc.args[i].name);
        hr_text_append(text, ": ");
        put_value(text, &desc.args[i].value);
    }
    hr_text_append(text, "}}");
}

static void put_graph(hr_text *out, const hr_graph *graph, amount how)
{
    hr_text_append(out, "\"nodes\": [");
    for (int32_t i = 0; i < graph->count; i++) {
        hr_text_append(out, i ? ",\n" : "\n");
        put_node(out, graph->nodes[i], how);
    }
    hr_text_append(out, "],\n\"outputs\": [");
    put_edges(out, graph->outputs, graph->output_count);
    hr_text_append(out, "]}\n");
}

/* The oldest format that says everything: version 1 has no "draws_as", and readers of it would
 * ignore the key. */
static int32_t version_of(const hr_graph *graph)
{
    for (int32_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->draws != i)
            return 2;
    return 1;
}

hr_status hr_graph_serialize(const hr_graph *graph, char **text, size_t *size, hr_error *error)
{
    char node[HR_NODE_TEXT_SIZE];
    for (int32_t i = 0; i < graph->count; i++)
        if (graph->nodes[i]->function)
            return hr_fail(error, HR_STATUS_ERROR,
                           "%s calls a function of this program, so the graph cannot be serialized",
                           hr_node_text(graph->nodes[i], node, sizeof(node)));
    hr_text out = {0};
    hr_text_append(&out, "{\"headrace_graph\": %d, \"made_by\": \"%s\", ", version_of(graph),
                   HR_VERSION);
    put_graph(&out, graph, AMOUNT_ALL);
    return hr_text_take(&out, text, size, error);
}

hr_status hr__graph_meaning(const hr_graph *graph, char **text, size_t *size, hr_error *error)
{
    hr_text out = {0};
    hr_text_append(&out, "{");
    put_graph(&out, graph, AMOUNT_ORDER);
    return hr_text_take(&out, text, size, error);
}

/* ---- reading ---- */

static hr_status fail_text(hr_error *error, const char *what)
{
    return hr_fail(error, HR_STATUS_VALUE, "%s", what);
}

/* NULL for an absent key; a value of another kind is an error. */
static hr_status get_string(const hr_json *node, const char *key, const char **out, hr_error *error)
{
    const hr_json *v = hr_json_get(node, key);
    *out = v ? v->s : NULL;
    if (v && v->kind != HR_JSON_KIND_STRING)
        return hr_fail(error, HR_STATUS_VALUE, "\"%s\" must be a string", key);
    return HR_STATUS_OK;
}

static bool json_int32(const hr_json *v, int32_t *out)
{
    if (v->kind != HR_JSON_KIND_NUMBER || !v->is_integer || v->i < 0 || v->i > INT32_MAX)
        return false;
    *out = (int32_t)v->i;
    return true;
}

static hr_status get_edge(const hr_json *v, hr_edge *out, hr_error *error)
{
    if (v->kind == HR_JSON_KIND_LIST && v->count == 2 && json_int32(&v->items[0], &out->node) &&
        json_int32(&v->items[1], &out->output))
        return HR_STATUS_OK;
    return fail_text(error, "an edge must be [node, output]");
}

/* `*out` is freed by the caller, also after a failure. */
static hr_status get_edges(const hr_json *list, const char *key, hr_edge **out, int32_t *count,
                           hr_error *error)
{
    const hr_json *v = hr_json_get(list, key);
    *out = NULL;
    *count = 0;
    if (!v)
        return HR_STATUS_OK;
    if (v->kind != HR_JSON_KIND_LIST)
        return hr_fail(error, HR_STATUS_VALUE, "\"%s\" must be a list of edges", key);
    *out = hr_calloc((size_t)v->count + 1, sizeof(**out), error);
    HR_TRY_ALLOC(*out);
    for (int32_t i = 0; i < v->count; i++)
        HR_TRY(get_edge(&v->items[i], &(*out)[i], error));
    *count = v->count;
    return HR_STATUS_OK;
}

/* A number, or {"float": "nan"}. */
static bool json_double(const hr_json *v, double *out)
{
    const hr_json *special = hr_json_get(v, "float");
    if (v->kind == HR_JSON_KIND_NUMBER) {
        *out = v->is_integer ? (double)v->i : v->f;
        return true;
    }
    if (!special || special->kind != HR_JSON_KIND_STRING)
        return false;
    if (strcmp(special->s, "nan") == 0)
        *out = NAN;
    else if (strcmp(special->s, "inf") == 0)
        *out = INFINITY;
    else if (strcmp(special->s, "-inf") == 0)
        *out = -INFINITY;
    else
        return false;
    return true;
}

/* Elements take 8 bytes, whatever their type. */
static hr_status get_list(const hr_json *v, void *memory, hr_value *out, hr_error *error)
{
    int32_t strings = 0, integers = 0;
    for (int32_t i = 0; i < v->count; i++) {
        strings += v->items[i].kind == HR_JSON_KIND_STRING;
        integers += v->items[i].kind == HR_JSON_KIND_NUMBER && v->items[i].is_integer;
    }
    out->count = v->count;
    if (integers == v->count) {
        int64_t *ints = memory;
        for (int32_t i = 0; i < v->count; i++)
            ints[i] = v->items[i].i;
        out->kind = HR_VALUE_INTS;
        out->u.ints = ints;
    } else if (strings == v->count) {
        const char **texts = memory;
        for (int32_t i = 0; i < v->count; i++)
            texts[i] = v->items[i].s;
        out->kind = HR_VALUE_STRINGS;
        out->u.strings = texts;
    } else {
        double *floats = memory;
        for (int32_t i = 0; i < v->count; i++) {
            if (!json_double(&v->items[i], &floats[i]))
                return fail_text(error, "a list must hold numbers or strings");
        }
        out->kind = HR_VALUE_FLOATS;
        out->u.floats = floats;
    }
    return HR_STATUS_OK;
}

static hr_status get_value(const hr_json *v, void *memory, hr_value *out, hr_error *error)
{
    const hr_json *edge = hr_json_get(v, "edge");
    switch (v->kind) {
    case HR_JSON_KIND_BOOL:
        *out = (hr_value){.kind = HR_VALUE_BOOL, .u.i = v->i};
        return HR_STATUS_OK;
    case HR_JSON_KIND_STRING:
        *out = (hr_value){.kind = HR_VALUE_STRING, .u.s = v->s};
        return HR_STATUS_OK;
    case HR_JSON_KIND_LIST:
        return get_list(v, memory, out, error);
    case HR_JSON_KIND_NUMBER:
        if (v->is_integer) {
            *out = (hr_value){.kind = HR_VALUE_INT, .u.i = v->i};
            return HR_STATUS_OK;
        }
        break;
    case HR_JSON_KIND_OBJECT:
        if (edge) {
            out->kind = HR_VALUE_EDGE;
            return get_edge(edge, &out->u.edge, error);
        }
        break;
    case HR_JSON_KIND_NULL:
        break;
    }
    out->kind = HR_VALUE_FLOAT;
    return json_double(v, &out->u.f) ? HR_STATUS_OK : fail_text(error, "not a value");
}

/* Memory for one node's description, freed as a whole. */
typedef struct scratch {
    hr_edge *inputs;
    hr_arg_value *args;
    int64_t *elements; /* of all lists */
} scratch;

static hr_status get_args(const hr_json *node, scratch *s, hr_node_desc *desc, hr_error *error)
{
    const hr_json *v = hr_json_get(node, "args");
    size_t total = 1, used = 0;
    if (!v)
        return HR_STATUS_OK;
    if (v->kind != HR_JSON_KIND_OBJECT)
        return fail_text(error, "\"args\" must be an object");
    for (int32_t i = 0; i < v->count; i++)
        total += v->items[i].kind == HR_JSON_KIND_LIST ? (size_t)v->items[i].count : 0;
    s->args = hr_calloc((size_t)v->count + 1, sizeof(*s->args), error);
    s->elements = s->args ? hr_calloc(total, sizeof(*s->elements), error) : NULL;
    HR_TRY_ALLOC(s->elements);
    for (int32_t i = 0; i < v->count; i++) {
        s->args[i].name = v->keys[i];
        if (get_value(&v->items[i], s->elements + used, &s->args[i].value, error) != HR_STATUS_OK)
            return hr_error_prefix(error, "argument \"%.80s\"", v->keys[i]);
        used += v->items[i].kind == HR_JSON_KIND_LIST ? (size_t)v->items[i].count : 0;
    }
    desc->args = s->args;
    desc->arg_count = v->count;
    return HR_STATUS_OK;
}

/* [node, output, true or false]; without one, desc->guard stays NULL. */
static hr_status get_guard(const hr_json *node, hr_guard *out, hr_node_desc *desc, hr_error *error)
{
    const hr_json *v = hr_json_get(node, "guard");
    if (!v)
        return HR_STATUS_OK;
    if (v->kind != HR_JSON_KIND_LIST || v->count != 3 ||
        !json_int32(&v->items[0], &out->predicate.node) ||
        !json_int32(&v->items[1], &out->predicate.output) || v->items[2].kind != HR_JSON_KIND_BOOL)
        return fail_text(error, "\"guard\" must be [node, output, true or false]");
    out->when = v->items[2].i;
    desc->guard = out;
    return HR_STATUS_OK;
}

/* Without one, desc->draws_as stays NULL. */
static hr_status get_draws(const hr_json *node, int32_t *out, hr_node_desc *desc, hr_error *error)
{
    const hr_json *v = hr_json_get(node, "draws_as");
    if (!v)
        return HR_STATUS_OK;
    if (!json_int32(v, out))
        return fail_text(error, "\"draws_as\" must be the number of a node");
    desc->draws_as = out;
    return HR_STATUS_OK;
}

/* A key that a later version writes may change what the node does. */
static hr_status check_keys(const hr_json *node, hr_error *error)
{
    static const char *const known[] = {"op",    "name",     "origin", "device", "preserve",
                                        "guard", "draws_as", "inputs", "args"};
    for (int32_t i = 0; i < node->count; i++) {
        size_t k = 0;
        while (k < HR_COUNT_OF(known) && strcmp(known[k], node->keys[i]) != 0)
            k++;
        if (k == HR_COUNT_OF(known))
            return hr_fail(error, HR_STATUS_VALUE, "\"%.80s\" is not known to this version",
                           node->keys[i]);
    }
    return HR_STATUS_OK;
}

static hr_status parse_node(hr_graph *graph, const hr_json *node, scratch *s, hr_error *error)
{
    hr_guard guard = {{0, 0}, false};
    hr_node_desc desc = {0};
    int32_t draws;
    const hr_json *preserve = hr_json_get(node, "preserve");
    if (node->kind != HR_JSON_KIND_OBJECT)
        return fail_text(error, "a node must be an object");
    HR_TRY(check_keys(node, error));
    HR_TRY(get_string(node, "op", &desc.op, error));
    HR_TRY(get_string(node, "name", &desc.name, error));
    HR_TRY(get_string(node, "origin", &desc.origin, error));
    HR_TRY(get_string(node, "device", &desc.device, error));
    if (preserve && preserve->kind != HR_JSON_KIND_BOOL)
        return fail_text(error, "\"preserve\" must be true or false");
    desc.preserve = preserve && preserve->i;
    HR_TRY(get_guard(node, &guard, &desc, error));
    HR_TRY(get_draws(node, &draws, &desc, error));
    HR_TRY(get_edges(node, "inputs", &s->inputs, &desc.input_count, error));
    desc.inputs = s->inputs;
    HR_TRY(get_args(node, s, &desc, error));
    return hr_graph_add_node(graph, &desc, NULL, error);
}

static hr_status parse_outputs(hr_graph *graph, const hr_json *root, hr_error *error)
{
    hr_edge *edges = NULL;
    int32_t count = 0;
    hr_status status = get_edges(root, "outputs", &edges, &count, error);
    if (status == HR_STATUS_OK && count)
        status = hr_graph_set_outputs(graph, edges, count, error);
    hr_free(edges);
    return status;
}

static hr_status parse_root(hr_graph *graph, const hr_json *root, hr_error *error)
{
    const hr_json *version = hr_json_get(root, "headrace_graph");
    const hr_json *nodes = hr_json_get(root, "nodes");
    if (!version || version->kind != HR_JSON_KIND_NUMBER || !version->is_integer)
        return fail_text(error, "not a serialized graph");
    if (version->i < 1 || version->i > HR_GRAPH_VERSION)
        return hr_fail(error, HR_STATUS_VALUE,
                       "the graph has format %" PRId64
                       "; this version of Headrace reads formats 1 to %d",
                       version->i, HR_GRAPH_VERSION);
    if (!nodes || nodes->kind != HR_JSON_KIND_LIST)
        return fail_text(error, "\"nodes\" must be a list");
    for (int32_t i = 0; i < nodes->count; i++) {
        scratch s = {0};
        hr_status status = parse_node(graph, &nodes->items[i], &s, error);
        hr_free(s.inputs);
        hr_free(s.args);
        hr_free(s.elements);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "node %d", i);
    }
    return parse_outputs(graph, root, error);
}

hr_status hr_graph_parse(hr_graph **out, const char *text, size_t size, hr_error *error)
{
    hr_json *root = NULL;
    hr_graph *graph = NULL;
    hr_status status = hr_json_parse(&root, text, size, error);
    if (status == HR_STATUS_OK)
        status = hr_graph_create(&graph, error);
    if (status == HR_STATUS_OK)
        status = parse_root(graph, root, error);
    hr_json_destroy(root);
    if (status != HR_STATUS_OK) {
        hr_graph_destroy(graph);
        return hr_error_prefix(error, "graph text");
    }
    *out = graph;
    return HR_STATUS_OK;
}
