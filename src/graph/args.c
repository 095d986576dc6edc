/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Arguments of a node: checks the user's values against the table and stores them in the operator's
 * struct. */
#include "graph/suggest.h"
#include "graph/value.h"

#include <stdio.h>
#include <string.h>

static void *arg_field(void *args, const hr_arg_def *arg)
{
    return (char *)args + arg->offset;
}

/* ---- names ---- */

#define NAMES_MAX 64 /* of arguments in a message */

static hr_status fail_unknown(const hr_node *node, const char *name, hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE], hint[900];
    const char *names[NAMES_MAX];
    int32_t n = 0, count = hr__args_count(node->def);
    for (int32_t i = 0; i < count && n < NAMES_MAX; i++) {
        if (!(node->def->args[i].flags & HR_ARG_DEPRECATED))
            names[n++] = node->def->args[i].name;
    }
    hr__suggest(name, names, n, hint, sizeof(hint));
    size_t used = hint[0] ? sizeof(hint) : 0;
    for (int32_t i = 0; i < n && used < sizeof(hint); i++)
        used += (size_t)snprintf(hint + used, sizeof(hint) - used, "%s%s", i ? ", " : "; it has ",
                                 names[i]);
    return hr_fail(error, HR_STATUS_KEY,
                   "%s: argument \"%.80s\" is not defined for this operator%s",
                   hr_node_text(node, text, sizeof(text)), name, hint);
}

/* ---- arguments that every operator has ---- */

static hr_status common_seed(hr_node *node, const hr_value *value, hr_error *error)
{
    static const hr_arg_def seed_def = {.name = "seed", .type = HR_ARG_TYPE_INT64};
    hr__conversion c = {.node = node, .arg = &seed_def, .value = value};
    int64_t seed = -1;
    HR_TRY(hr__convert(&c, &seed, error));
    /* Other operators accept a seed and ignore it. */
    if (seed < 0 || !(node->def->source || (node->def->flags & HR_OP_RANDOM)))
        return HR_STATUS_OK;
    node->seed = seed;
    node->values[node->value_count++] = (hr_arg_value){"seed", {.kind = HR_VALUE_INT, .u.i = seed}};
    return HR_STATUS_OK;
}

/* Is `word` one of "cpu|gpu|mixed"? */
static bool listed(const char *list, const char *word)
{
    size_t size = strlen(word);
    for (const char *at = list; at && *at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, word, size) == 0 && (at[size] == '|' || at[size] == 0))
            return true;
    return false;
}

static hr_status common_device(const hr_node *node, const char *device, hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE];
    if (strcmp(device, "cpu") == 0 || listed(node->def->devices, device))
        return HR_STATUS_OK;
    hr_node_text(node, text, sizeof(text));
    if (strcmp(device, "gpu") != 0 && strcmp(device, "mixed") != 0)
        return hr_fail(
            error, HR_STATUS_VALUE,
            "%s: argument \"device\": must be \"cpu\", \"gpu\" or \"mixed\"; got \"%.40s\"", text,
            device);
    return hr_fail(error, HR_STATUS_ERROR, "%s: does not support device=\"%s\"; it supports %s",
                   text, device, node->def->devices ? node->def->devices : "cpu");
}

static hr_status common_string(hr_node *node, const hr_arg_value *given, char **out,
                               hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE], value[128];
    if (given->value.kind != HR_VALUE_STRING || !given->value.u.s)
        return hr_fail(error, HR_STATUS_TYPE, "%s: argument \"%s\": must be a string; got %s",
                       hr_node_text(node, text, sizeof(text)), given->name,
                       hr__value_text(&given->value, value, sizeof(value)));
    return hr__node_strdup(node, given->value.u.s, out, error);
}

static hr_status common_preserve(hr_node *node, const hr_value *value, hr_error *error)
{
    static const hr_arg_def preserve_def = {.name = "preserve", .type = HR_ARG_TYPE_BOOL};
    hr__conversion c = {.node = node, .arg = &preserve_def, .value = value};
    int32_t preserve = 0;
    HR_TRY(hr__convert(&c, &preserve, error));
    node->preserve = node->preserve || preserve;
    return HR_STATUS_OK;
}

/* `*taken` is false for a name that is not common. */
static hr_status common_set(hr_node *node, const hr_arg_value *given, bool *taken, hr_error *error)
{
    *taken = true;
    if (strcmp(given->name, "bytes_per_sample_hint") == 0)
        return HR_STATUS_OK;
    if (given->value.kind != HR_VALUE_EDGE) {
        if (strcmp(given->name, "seed") == 0)
            return common_seed(node, &given->value, error);
        if (strcmp(given->name, "preserve") == 0)
            return common_preserve(node, &given->value, error);
    }
    if (strcmp(given->name, "name") == 0)
        return common_string(node, given, &node->name, error);
    if (strcmp(given->name, "device") == 0)
        return common_string(node, given, &node->device, error);
    *taken = false;
    return HR_STATUS_OK;
}

/* ---- the struct ---- */

hr_status hr__args_defaults(hr_node *node, hr_error *error)
{
    int32_t n = hr__args_count(node->def);
    for (int32_t i = 0; i < n; i++) {
        const hr_arg_def *arg = &node->def->args[i];
        bool absent = !arg->def || (arg->flags & (HR_ARG_REQUIRED | HR_ARG_OPTIONAL));
        if (arg->flags & HR_ARG_IGNORED || arg->use)
            continue;
        if (absent) {
            hr__field_absent(arg, arg_field(node->args, arg));
            continue;
        }
        hr_value value;
        hr__conversion c = {
            .node = node, .arg = arg, .value = &value, .store = node, .trusted = true};
        if (arg->type == HR_ARG_TYPE_JSON)
            value = (hr_value){.kind = HR_VALUE_STRING, .u.s = arg->def};
        else if (hr__literal_parse(node, arg->def, &value, error) != HR_STATUS_OK)
            return hr_error_prefix(error, "%s: default of \"%s\"", node->def->name, arg->name);
        HR_TRY(hr__convert(&c, arg_field(node->args, arg), error));
    }
    return HR_STATUS_OK;
}

static hr_status arg_set_edge(hr_node *node, int32_t i, hr_edge edge, hr_error *error)
{
    const hr_arg_def *arg = &node->def->args[i];
    char text[HR_NODE_TEXT_SIZE];
    if (!(arg->flags & HR_ARG_PER_SAMPLE))
        return hr_fail(
            error, HR_STATUS_TYPE,
            "%s: argument \"%s\": should not be a 'DataNode' but a constant: it has one value for "
            "all samples",
            hr_node_text(node, text, sizeof(text)), arg->name);
    if (arg->flags & HR_ARG_IGNORED)
        return HR_STATUS_OK;
    node->arg_inputs[node->arg_input_count++] = (hr_arg_input){i, edge};
    node->values[node->value_count++] =
        (hr_arg_value){arg->name, {.kind = HR_VALUE_EDGE, .u.edge = edge}};
    return HR_STATUS_OK;
}

static hr_status arg_set(hr_node *node, const hr_arg_value *given, hr_error *error)
{
    union {
        int32_t i;
        int64_t wide;
        float f;
        const char *s;
        hr_floats list;
        const hr_json *json;
    } unused;
    char text[HR_NODE_TEXT_SIZE];
    bool common = false;
    int32_t i = hr_args_find(node->def, given->name);
    if (i < 0) {
        HR_TRY(common_set(node, given, &common, error));
        return common ? HR_STATUS_OK : fail_unknown(node, given->name, error);
    }
    if (node->given.v[i])
        return hr_fail(error, HR_STATUS_VALUE, "%s: argument \"%s\" is given twice%s%s%s",
                       hr_node_text(node, text, sizeof(text)), node->def->args[i].name,
                       strcmp(given->name, node->def->args[i].name) ? " (\"" : "",
                       strcmp(given->name, node->def->args[i].name) ? given->name : "",
                       strcmp(given->name, node->def->args[i].name) ? "\" is its old name)" : "");
    node->given.v[i] = true;
    if (given->value.kind == HR_VALUE_EDGE)
        return arg_set_edge(node, i, given->value.u.edge, error);
    const hr_arg_def *arg = &node->def->args[i];
    hr_arg_value *kept = &node->values[node->value_count];
    kept->name = arg->name;
    HR_TRY(hr__value_copy(node, &kept->value, &given->value, error));
    node->value_count++;
    hr__conversion c = {.node = node, .arg = arg, .value = &kept->value, .store = node};
    bool ignored = arg->flags & HR_ARG_IGNORED;
    return hr__convert(&c, ignored ? (void *)&unused : arg_field(node->args, arg), error);
}

static hr_status required_check(const hr_node *node, hr_error *error)
{
    char missing[512] = "", text[HR_NODE_TEXT_SIZE];
    size_t used = 0;
    int32_t n = hr__args_count(node->def), count = 0;
    for (int32_t i = 0; i < n; i++) {
        if (!(node->def->args[i].flags & HR_ARG_REQUIRED) || node->given.v[i])
            continue;
        if (used < sizeof(missing))
            used += (size_t)snprintf(missing + used, sizeof(missing) - used, "%s\"%s\"",
                                     count ? ", " : "", node->def->args[i].name);
        count++;
    }
    if (count == 0)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s: Not all required arguments were specified. Please specify values for "
                   "arguments: %s",
                   hr_node_text(node, text, sizeof(text)), missing);
}

hr_status hr_args_check_excludes(const hr_node *node, hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE];
    int32_t n = hr__args_count(node->def);
    for (int32_t i = 0; i < n; i++) {
        for (int32_t k = 0; k < n && node->given.v[i]; k++)
            if (node->given.v[k] && listed(node->def->args[i].excludes, node->def->args[k].name))
                return hr_fail(error, HR_STATUS_ERROR,
                               "%s: Arguments `%s` and `%s` are mutually exclusive",
                               hr_node_text(node, text, sizeof(text)), node->def->args[i].name,
                               node->def->args[k].name);
    }
    return HR_STATUS_OK;
}

hr_status hr_args_build(hr_node *node, const hr_node_desc *desc, hr_error *error)
{
    char text[HR_NODE_TEXT_SIZE];
    size_t n = (size_t)HR_MAX(desc->arg_count, 0), defined = (size_t)hr__args_count(node->def);
    node->given.def = node->def;
    node->given.v = hr__node_store(node, defined + 1, sizeof(*node->given.v), error);
    if (node->given.v)
        node->args = hr__node_store(node, 1, HR_MAX(node->def->args_size, 1), error);
    node->values = node->args ? hr__node_store(node, n + 1, sizeof(*node->values), error) : NULL;
    node->arg_inputs =
        node->values ? hr__node_store(node, n + 1, sizeof(*node->arg_inputs), error) : NULL;
    HR_TRY_ALLOC(node->arg_inputs);
    HR_TRY(hr__args_defaults(node, error));
    for (size_t i = 0; i < n; i++) {
        if (!desc->args[i].name)
            return hr_fail(error, HR_STATUS_VALUE, "%s: argument %d has no name",
                           hr_node_text(node, text, sizeof(text)), (int)i);
        HR_TRY(arg_set(node, &desc->args[i], error));
    }
    HR_TRY(common_device(node, node->device, error));
    HR_TRY(required_check(node, error));
    if (node->def->check && node->def->check(node->args, &node->given, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "%s", hr_node_text(node, text, sizeof(text)));
    return HR_STATUS_OK;
}

hr_status hr_args_set_sample(const hr_node *node, void *args, int32_t arg, const hr_tensor *value,
                             hr_arena *arena, hr_error *error)
{
    const hr_arg_def *def = &node->def->args[arg];
    hr__conversion c = {.node = node, .arg = def, .tensor = value, .arena = arena};
    return hr__convert(&c, arg_field(args, def), error);
}
