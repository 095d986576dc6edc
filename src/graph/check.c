/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Checks that an operator's table is valid. The rest of the library relies on it. */
#include "graph/value.h"

#include <string.h>

/* Plug-ins contain arrays of these, or index them. */
_Static_assert(sizeof(hr_arg_def) == 136 && sizeof(hr_input_def) == 40 &&
                   sizeof(hr_output_def) == 24 && sizeof(hr_op_call) == 216 &&
                   sizeof(hr_tensor) == 120 && sizeof(hr_span) == 56 &&
                   sizeof(hr_sampler_args) == 64 && sizeof(hr_source_def) == 80 &&
                   sizeof(hr_stream_def) == 72,
               "these sizes are part of the ABI");

/* The arguments that it excludes exist. */
static hr_status excludes_check(const hr_op_def *def, const hr_arg_def *arg, hr_error *error)
{
    for (const char *p = arg->excludes; p;) {
        char name[64];
        size_t size = strcspn(p, "|"), kept = HR_MIN(size, sizeof(name) - 1);
        memcpy(name, p, kept);
        name[kept] = '\0';
        int32_t i = hr__args_find_exact(def, name);
        if (i < 0 || &def->args[i] == arg)
            return hr_fail(error, HR_STATUS_VALUE, "\"%s\", which it excludes, does not exist",
                           name);
        p = p[size] ? p + size + 1 : NULL;
    }
    return HR_STATUS_OK;
}

static hr_status arg_check(const hr_op_def *def, int32_t i, hr_error *error)
{
    const hr_arg_def *arg = &def->args[i];
    size_t end = 0;
    if (hr__arg_type_size(arg->type) == 0)
        return hr_fail(error, HR_STATUS_VALUE, "its type %d is unknown", (int)arg->type);
    if (!arg->doc || !arg->doc[0])
        return hr_fail(error, HR_STATUS_VALUE, "it has no documentation");
    if (hr__args_find_exact(def, arg->name) != i)
        return hr_fail(error, HR_STATUS_VALUE, "its name appears twice");
    if (arg->use && hr_args_find(def, arg->name) < 0)
        return hr_fail(error, HR_STATUS_VALUE, "\"%s\", which replaces it, does not exist",
                       arg->use);
    if (arg->use && !(arg->flags & HR_ARG_DEPRECATED))
        return hr_fail(error, HR_STATUS_VALUE, "it is replaced by \"%s\" but is not deprecated",
                       arg->use);
    HR_TRY(excludes_check(def, arg, error));
    if (arg->min > arg->max ||
        arg->count_min > HR_MAX(arg->count_max, 0x7fffffff * !arg->count_max))
        return hr_fail(error, HR_STATUS_VALUE, "its range or length allows nothing");
    if (!(arg->flags & (HR_ARG_REQUIRED | HR_ARG_OPTIONAL | HR_ARG_IGNORED)) && !arg->def &&
        !arg->use)
        return hr_fail(error, HR_STATUS_VALUE,
                       "it has no default and is neither required nor optional");
    if ((arg->flags & HR_ARG_PER_SAMPLE) &&
        (arg->type == HR_ARG_TYPE_STRINGS || arg->type == HR_ARG_TYPE_JSON))
        return hr_fail(error, HR_STATUS_VALUE, "%s cannot be given per sample",
                       hr__arg_type_name(arg->type));
    if (arg->form && arg->type != HR_ARG_TYPE_JSON)
        return hr_fail(error, HR_STATUS_VALUE, "it has a form, but its type is not JSON");
    if (arg->form)
        HR_TRY(hr__form_check(arg->form, error));
    if (arg->flags & HR_ARG_IGNORED || arg->use)
        return HR_STATUS_OK;
    if (arg->size != hr__arg_type_size(arg->type))
        return hr_fail(error, HR_STATUS_VALUE, "the field has %zu bytes, %s needs %zu", arg->size,
                       hr__arg_type_name(arg->type), hr__arg_type_size(arg->type));
    if (!hr_size_add(arg->offset, arg->size, &end) || end > def->args_size)
        return hr_fail(error, HR_STATUS_VALUE, "the field is outside the args struct");
    return HR_STATUS_OK;
}

/* Two arguments in one field: a copy-and-paste mistake that no other check finds. */
static hr_status overlap_check(const hr_op_def *def, int32_t i, hr_error *error)
{
    const hr_arg_def *a = &def->args[i];
    for (int32_t k = 0; k < i; k++) {
        const hr_arg_def *b = &def->args[k];
        bool stored = !((a->flags | b->flags) & HR_ARG_IGNORED) && !a->use && !b->use;
        if (stored && a->offset < b->offset + b->size && b->offset < a->offset + a->size)
            return hr_fail(error, HR_STATUS_VALUE, "it shares its field with \"%s\"", b->name);
    }
    return HR_STATUS_OK;
}

static hr_status out_keys_check(const hr_op_def *def, hr_error *error)
{
    int32_t i = hr__args_find_exact(def, def->out_keys);
    if (i < 0 || def->args[i].type != HR_ARG_TYPE_JSON || !(def->args[i].flags & HR_ARG_REQUIRED) ||
        !def->args[i].form || def->args[i].form[0] != '{' || hr_op_ports_of(def).out_count >= 0)
        return hr_fail(error, HR_STATUS_VALUE,
                       "\"%s\" is not a required dictionary that the number of outputs follows",
                       def->out_keys);
    return HR_STATUS_OK;
}

static hr_status table_check(const hr_op_def *def, hr_error *error)
{
    if (!def->doc || !def->doc[0])
        return hr_fail(error, HR_STATUS_VALUE, "it has no documentation");
    hr_op_ports ports = hr_op_ports_of(def);
    if (ports.in_min < 0 || ports.in_max < ports.in_min || ports.in_max > HR_OP_MAX_INPUTS)
        return hr_fail(error, HR_STATUS_VALUE, "%d to %d inputs are not possible", ports.in_min,
                       ports.in_max);
    if (ports.out_count > HR_OP_MAX_OUTPUTS ||
        (ports.out_count < 0 && !def->outputs && !def->out_keys))
        return hr_fail(error, HR_STATUS_VALUE, "its number of outputs is not possible");
    if (def->out_keys)
        HR_TRY(out_keys_check(def, error));
    if (ports.in_max > 0 && !(def->in && def->in[0].name))
        return hr_fail(error, HR_STATUS_VALUE, "its inputs have no names");
    if ((def->flags & HR_OP_MERGE) && (def->predicate < 0 || def->predicate >= hr__args_count(def)))
        return hr_fail(error, HR_STATUS_VALUE, "its predicate is not an argument");
    const hr_source_def *source = def->source;
    if (source && ports.in_max > 0)
        return hr_fail(error, HR_STATUS_VALUE, "a source takes no inputs");
    if (hr_op_is_reader(def) && !(source->count && source->name && source->emit))
        return hr_fail(error, HR_STATUS_VALUE, "its source is not complete");
    if (hr_op_is_stream(def) &&
        !(source->stream && source->stream->next &&
          (source->stream->save != NULL) == (source->stream->restore != NULL)))
        return hr_fail(error, HR_STATUS_VALUE, "its stream is not complete");
    if (source && source->kind > HR_SOURCE_KIND_STREAM)
        return hr_fail(error, HR_STATUS_VALUE, "its kind of source is unknown");
    if (hr_op_is_reader(def) && def->args_size < sizeof(hr_sampler_args))
        return hr_fail(error, HR_STATUS_VALUE, "a reader's arguments begin with hr_sampler_args");
    if (!hr_op_runs_on_cpu(def) && !(hr_op_has_kernels(def) && def->infer))
        return hr_fail(error, HR_STATUS_VALUE, "it has no function that runs it");
    bool sometimes = def->infer_batch || (def->run_batch && def->whole_batch);
    if (sometimes && !def->lower && !hr_op_has_run(def))
        return hr_fail(error, HR_STATUS_VALUE, "it has no function that runs it per sample");
    if (hr_op_has_run(def) && !def->infer)
        return hr_fail(error, HR_STATUS_VALUE, "it runs but has no infer");
    if ((def->lower != NULL) != (def->lower_rank != HR_LOWER_RANK_NONE))
        return hr_fail(error, HR_STATUS_VALUE, "lower and lower_rank belong together");
    if ((def->create && !def->destroy) || (def->local_create && !def->local_destroy))
        return hr_fail(error, HR_STATUS_VALUE, "it creates state but does not destroy it");
    return HR_STATUS_OK;
}

static hr_status defaults_check(const hr_op_def *def, hr_error *error)
{
    hr_node *node = hr_calloc(1, sizeof(*node), error);
    HR_TRY_ALLOC(node);
    node->def = def;
    node->args = hr__node_store(node, 1, HR_MAX(def->args_size, 1), error);
    hr_status status = node->args ? hr__args_defaults(node, error) : HR_STATUS_NO_MEMORY;
    hr__node_destroy(node);
    return status;
}

hr_status hr_op_def_check(const hr_op_def *def, hr_error *error)
{
    if (def->abi != HR_OP_ABI_VERSION || def->struct_size != sizeof(hr_op_def))
        return hr_fail(error, HR_STATUS_VALUE,
                       "an operator's table was made for another version (ABI %u)", def->abi);
    if (!def->name || !def->name[0])
        return hr_fail(error, HR_STATUS_VALUE, "an operator has no name");
    if (table_check(def, error) != HR_STATUS_OK)
        return hr_error_prefix(error, "operator %s", def->name);
    int32_t n = hr__args_count(def);
    for (int32_t i = 0; i < n; i++) {
        if (!def->args[i].name || !def->args[i].name[0])
            return hr_fail(error, HR_STATUS_VALUE, "operator %s: argument %d has no name",
                           def->name, i);
    }
    for (int32_t i = 0; i < n; i++) {
        hr_status status = arg_check(def, i, error);
        if (status == HR_STATUS_OK)
            status = overlap_check(def, i, error);
        if (status != HR_STATUS_OK)
            return hr_error_prefix(error, "operator %s: argument \"%s\"", def->name,
                                   def->args[i].name);
    }
    return defaults_check(def, error);
}
