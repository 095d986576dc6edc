/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What an operator's table says, and what follows from it. */
#include "graph/graph.h"

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
