/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Fuzz target: any bytes as a graph. The result is an error, or a graph that can be copied,
 * written, read back unchanged, and planned. */
#include "graph/graph.h"
#include "plan/plan.h"

#include <stdint.h>
#include <string.h>

#include "replay.h"

static void require(bool condition)
{
    if (!condition)
        __builtin_trap();
}

static void plan_both(const hr_graph *graph)
{
    for (int fuse = 0; fuse < 2 && graph->output_count; fuse++) {
        hr_plan *plan = NULL;
        hr_text text = {0};
        require(hr_plan_make(&plan, graph, fuse, NULL) == HR_STATUS_OK);
        hr_plan_describe(plan, &text);
        for (int32_t i = 0; i < plan->output_count; i++)
            require(plan->outputs[i] >= 0 && plan->outputs[i] < plan->value_count);
        hr_text_fini(&text);
        hr_plan_destroy(plan);
    }
}

static void write_and_read(const hr_graph *graph)
{
    char *first = NULL, *second = NULL;
    size_t size = 0;
    hr_graph *copy = NULL, *again = NULL;
    hr_error error = {0};
    require(hr_graph_serialize(graph, &first, &size, NULL) == HR_STATUS_OK);
    require(hr_graph_parse(&again, first, size, &error) == HR_STATUS_OK);
    require(hr_graph_copy(&copy, again, NULL) == HR_STATUS_OK);
    require(hr_graph_serialize(copy, &second, &size, NULL) == HR_STATUS_OK);
    require(strcmp(first, second) == 0);
    hr_string_free(first);
    hr_string_free(second);
    hr_graph_destroy(copy);
    hr_graph_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    hr_graph *graph = NULL;
    hr_error error = {0};
    hr_status status = hr_graph_parse(&graph, (const char *)data, size, &error);
    require(status == HR_STATUS_OK || error.message[0]);
    if (status == HR_STATUS_OK) {
        plan_both(graph);
        write_and_read(graph);
        hr_graph_destroy(graph);
    }
    /* Once more with an allocation that fails somewhere. */
    hr_alloc_fail_after((int64_t)(size * 2654435761u % 251));
    if (hr_graph_parse(&graph, (const char *)data, size, &error) == HR_STATUS_OK)
        hr_graph_destroy(graph);
    hr_alloc_fail_after(-1);
    return 0;
}
