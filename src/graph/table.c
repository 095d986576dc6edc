/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What an operator's table says, and what follows from it. */
#include "graph/table.h"

#include <string.h>

hr_op_ports hr_op_ports_of(const hr_op_def *def)
{
    static const hr_output_def usual[] = {{.name = "output"}, {.name = NULL}};
    hr_op_ports p = {def->in_min, def->in_max, def->out_count, def->out};
    bool counted = def->outputs || def->out_keys;
    int32_t named = 0;

    if (!p.in_max) {
        while (def->in && def->in[p.in_max].name && p.in_max < HR_OP_MAX_INPUTS)
            p.in_max++;
        p.in_min = p.in_min ? p.in_min : p.in_max;
    }
    if (!p.out && !def->out_keys)
        p.out = usual;
    while (p.out && p.out[named].name && named < HR_OP_MAX_OUTPUTS)
        named++;
    if (!p.out_count)
        p.out_count = counted ? -1 : named;
    return p;
}

bool hr_op_is_reader(const hr_op_def *def)
{
    return def->source && def->source->kind == HR_SOURCE_KIND_INDEXED;
}

bool hr_op_is_stream(const hr_op_def *def)
{
    return def->source && def->source->kind == HR_SOURCE_KIND_STREAM;
}

bool hr_op_is_fed(const hr_op_def *def)
{
    return def->source && def->source->kind == HR_SOURCE_KIND_FED;
}

bool hr_op_runs_on_cpu(const hr_op_def *def)
{
    return def->source || def->lower || hr_op_has_run(def) || def->run_batch ||
           (def->flags & (HR_OP_TO_DEVICE | HR_OP_TO_HOST));
}

bool hr_op_has_run(const hr_op_def *def)
{
    return def->run || def->run_cpu;
}

hr_status hr_op_run(hr_op_call *c, hr_error *error)
{
    return c->def->run ? c->def->run(c, error) : c->def->run_cpu(c, 1, error);
}

bool hr_op_has_kernels(const hr_op_def *def)
{
    for (const char *const *name = hr_cuda_op_names; *name; name++)
        if (strcmp(*name, def->name) == 0)
            return true;
    return def->run_cuda || def->on_gpu;
}

/* ---- arguments and inputs by name and number ---- */

int32_t hr__args_count(const hr_op_def *def)
{
    int32_t n = 0;
    while (def->args && def->args[n].type != HR_ARG_TYPE_END)
        n++;
    return n;
}

int32_t hr__args_find_exact(const hr_op_def *def, const char *name)
{
    int32_t n = hr__args_count(def);
    for (int32_t i = 0; i < n; i++) {
        if (strcmp(def->args[i].name, name) == 0)
            return i;
    }
    return -1;
}

int32_t hr_args_find(const hr_op_def *def, const char *name)
{
    int32_t i = hr__args_find_exact(def, name);
    /* At most two renames in practice; the bound also ends cycles in a table. */
    for (int hops = 0; hops < 4 && i >= 0 && def->args[i].use; hops++)
        i = hr__args_find_exact(def, def->args[i].use);
    return i;
}

const hr_input_def *hr_input_of(const hr_op_def *def, int32_t i)
{
    int32_t last = 0;
    while (last < i && def->in[last + 1].name)
        last++;
    return &def->in[last];
}

bool hr_arg_given(const hr_given *given, const char *name)
{
    int32_t i = hr__args_find_exact(given->def, name);
    return i >= 0 && given->v[i];
}
