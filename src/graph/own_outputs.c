/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Pipeline outputs on a GPU have memory of their own, because users write into them. Whole-batch
 * operators run on the host and can only refer to device memory, so such an output gets a `copy`
 * node, which copies on the device. */
#include <string.h>

#include "graph/graph.h"

static bool refers(const hr_graph *graph, const hr_node *node)
{
    while ((node->def->flags & HR_OP_VIEW) && !(node->def->flags & HR_OP_BORROWS))
        node = graph->nodes[node->inputs[0].node];
    return (node->def->flags & HR_OP_BORROWS) && node->def->run_batch;
}

hr_status hr__graph_own_outputs(hr_graph *graph, hr_error *error)
{
    for (int32_t i = 0; i < graph->output_count; i++) {
        hr_edge *edge = &graph->outputs[i];
        const hr_node *node = graph->nodes[edge->node];
        if (strcmp(node->device, "gpu") != 0 || !refers(graph, node))
            continue;
        hr_node_desc copy = {.op = "copy",
                             .device = "gpu",
                             .origin = node->origin,
                             .inputs = edge,
                             .input_count = 1,
                             .guard = node->guarded ? &node->guard : NULL};
        int32_t index;
        HR_TRY(hr_graph_add_node(graph, &copy, &index, error));
        *edge = (hr_edge){.node = index};
    }
    return HR_STATUS_OK;
}
