/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The operators' tables as JSON, the source of Python signatures, stubs, documentation and argument
 * tests. */
#include "graph/value.h"

#include <string.h>

typedef struct flag_name {
    uint32_t flag;
    const char *name;
} flag_name;

static const flag_name op_flags[] = {
    {HR_OP_RANDOM, "random"},         {HR_OP_VIEW, "view"},         {HR_OP_SEQUENCE, "sequence"},
    {HR_OP_VOLUMETRIC, "volumetric"}, {HR_OP_ORDERED, "ordered"},   {HR_OP_HIDDEN, "hidden"},
    {HR_OP_DEPRECATED, "deprecated"}, {HR_OP_CHEAP, "cheap"},       {HR_OP_ANYWHERE, "anywhere"},
    {HR_OP_FUNCTION, "function"},     {HR_OP_OBSERVES, "observes"}, {HR_OP_ON_HOST, "on_host"},
};

static const flag_name arg_flags[] = {
    {HR_ARG_PER_SAMPLE, "per_sample"}, {HR_ARG_PER_FRAME, "per_frame"},
    {HR_ARG_REQUIRED, "required"},     {HR_ARG_OPTIONAL, "optional"},
    {HR_ARG_DEPRECATED, "deprecated"}, {HR_ARG_IGNORED, "ignored"},
    {HR_ARG_SCALAR_OK, "scalar_ok"},   {HR_ARG_NONFINITE, "nonfinite"},
    {HR_ARG_EXACT, "exact"},           {HR_ARG_DTYPES, "dtypes"},
    {HR_ARG_ANY_TYPE, "any_type"},
};

static void put_key(hr_text *text, const char *key, bool first)
{
    hr_text_append(text, "%s\"%s\": ", first ? "" : ", ", key);
}

static void put_string(hr_text *text, const char *key, const char *value)
{
    put_key(text, key, false);
    if (value)
        hr_text_append_quoted(text, value);
    else
        hr_text_append(text, "null");
}

static void put_flags(hr_text *text, const flag_name *names, size_t count, uint32_t flags)
{
    int32_t n = 0;
    put_key(text, "flags", false);
    hr_text_append(text, "[");
    for (size_t i = 0; i < count; i++) {
        if (flags & names[i].flag)
            hr_text_append(text, "%s\"%s\"", n++ ? ", " : "", names[i].name);
    }
    hr_text_append(text, "]");
}

/* "a|b|c" as a list; NULL as null. */
static void put_split(hr_text *text, const char *key, const char *joined)
{
    put_key(text, key, false);
    hr_text_append(text, joined ? "[" : "null");
    for (const char *p = joined; p;) {
        char item[64];
        size_t size = strcspn(p, "|");
        size_t kept = HR_MIN(size, sizeof(item) - 1);
        memcpy(item, p, kept);
        item[kept] = '\0';
        hr_text_append_quoted(text, item);
        p = p[size] ? p + size + 1 : NULL;
        hr_text_append(text, p ? ", " : "]");
    }
}

/* Devices that the operator runs on in this build and with its CUDA module; `devices` are DALI's.
 */
static void put_runs_on(hr_text *text, const hr_op_def *def)
{
    const uint32_t moves =
        HR_OP_TO_DEVICE | HR_OP_TO_HOST | HR_OP_ANYWHERE | HR_OP_OBSERVES | HR_OP_ON_HOST;
    bool decodes = def->lower_rank == HR_LOWER_RANK_SOURCE;
    put_key(text, "runs_on", false);
    bool cpu = hr_op_runs_on_cpu(def);
    bool view = def->flags & HR_OP_VIEW;
    bool fed = hr_op_is_fed(def);
    hr_text_append(text, cpu ? "[\"cpu\"" : "[");
    if (def->lower || view || fed || (def->flags & moves) || hr_op_has_kernels(def))
        hr_text_append(text, "%s\"%s\"", cpu ? ", " : "", decodes ? "mixed" : "gpu");
    hr_text_append(text, "]");
}

static const char *source_name(const hr_op_def *def)
{
    return hr_op_is_reader(def)   ? "indexed"
           : hr_op_is_stream(def) ? "stream"
           : hr_op_is_fed(def)    ? "fed"
                                  : NULL;
}

static void put_arg(hr_text *text, const hr_arg_def *arg)
{
    hr_text_append(text, "{");
    put_key(text, "name", true);
    hr_text_append_quoted(text, arg->name);
    put_string(text, "type", hr__arg_type_name(arg->type));
    hr_text_append(text, ", \"list\": %s", hr__arg_type_is_list(arg->type) ? "true" : "false");
    put_flags(text, arg_flags, HR_COUNT_OF(arg_flags), arg->flags);
    put_string(text, "default", arg->def);
    put_string(text, "doc", arg->doc);
    if (arg->min != 0.0 || arg->max != 0.0) {
        hr_text_append(text, ", \"min\": ");
        hr_text_append_double(text, arg->min);
        hr_text_append(text, ", \"max\": ");
        hr_text_append_double(text, arg->max);
    }
    if (arg->count_min || arg->count_max)
        hr_text_append(text, ", \"count_min\": %d, \"count_max\": %d", arg->count_min,
                       arg->count_max);
    if (arg->choices)
        put_split(text, "choices", arg->choices);
    if (arg->form)
        put_string(text, "form", arg->form);
    if (arg->excludes)
        put_split(text, "excludes", arg->excludes);
    if (arg->use)
        put_string(text, "use", arg->use);
    if (arg->since)
        put_string(text, "since", arg->since);
    hr_text_append(text, "}");
}

static void put_inputs(hr_text *text, const hr_op_def *def)
{
    hr_op_ports ports = hr_op_ports_of(def);
    hr_text_append(text, ", \"in_min\": %d, \"in_max\": %d, \"inputs\": [", ports.in_min,
                   ports.in_max);
    for (int32_t i = 0; def->in && def->in[i].name; i++) {
        hr_text_append(text, "%s{", i ? ", " : "");
        put_key(text, "name", true);
        hr_text_append_quoted(text, def->in[i].name);
        put_split(text, "layouts", def->in[i].layouts);
        put_key(text, "host", false);
        hr_text_append(text, def->in[i].host ? "true" : "false");
        hr_text_append(text, "}");
    }
    hr_text_append(text, "]");
}

static void put_outputs(hr_text *text, const hr_op_def *def)
{
    hr_op_ports ports = hr_op_ports_of(def);
    if (ports.out_count < 0)
        hr_text_append(text, ", \"out_count\": null, \"outputs\": [");
    else
        hr_text_append(text, ", \"out_count\": %d, \"outputs\": [", ports.out_count);
    for (int32_t i = 0; ports.out && ports.out[i].name; i++) {
        hr_text_append(text, "%s", i ? ", " : "");
        hr_text_append_quoted(text, ports.out[i].name);
    }
    hr_text_append(text, "]");
    put_string(text, "out_keys", def->out_keys);
}

/* hr_node_desc.function, described as an argument. */
static const hr_arg_def function_arg = {
    .name = "function",
    .flags = HR_ARG_REQUIRED,
    .doc = "Called with the inputs; returns the output, or a tuple of outputs."};

static void put_operator(hr_text *text, const hr_op_def *def)
{
    int32_t n = hr__args_count(def);
    hr_text_append(text, "{");
    put_key(text, "name", true);
    hr_text_append_quoted(text, def->name);
    put_string(text, "doc", def->doc);
    if (hr_registry_owner(def))
        put_string(text, "plugin", hr_registry_owner(def));
    put_key(text, "aliases", false);
    hr_text_append(text, "[");
    for (int32_t i = 0; def->aliases && def->aliases[i]; i++) {
        hr_text_append(text, "%s", i ? ", " : "");
        hr_text_append_quoted(text, def->aliases[i]);
    }
    hr_text_append(text, "]");
    put_split(text, "devices", def->devices);
    put_runs_on(text, def);
    hr_text_append(text, ", \"kernels\": %s", hr_op_has_kernels(def) ? "true" : "false");
    put_flags(text, op_flags, HR_COUNT_OF(op_flags), def->flags);
    put_string(text, "source", source_name(def));
    hr_text_append(text, ", \"batch\": %s", def->run_batch || def->infer_batch ? "true" : "false");
    put_inputs(text, def);
    put_outputs(text, def);
    put_key(text, "args", false);
    hr_text_append(text, "[");
    if (def->flags & HR_OP_FUNCTION) {
        hr_text_append(text, "\n  ");
        put_arg(text, &function_arg);
        hr_text_append(text, n ? "," : "");
    }
    for (int32_t i = 0; i < n; i++) {
        hr_text_append(text, i ? ",\n  " : "\n  ");
        put_arg(text, &def->args[i]);
    }
    hr_text_append(text, "]}");
}

hr_status hr_schema_json(char **json, hr_error *error)
{
    hr_text text = {0};
    hr_text_append(&text, "{\"version\": \"%s\", \"operators\": [", HR_VERSION);
    const hr_op_def *def;
    for (int32_t i = 0; (def = hr_registry_get(i)); i++) {
        hr_text_append(&text, i ? ",\n" : "\n");
        put_operator(&text, def);
    }
    hr_text_append(&text, "\n]}\n");
    return hr_text_take(&text, json, NULL, error);
}
