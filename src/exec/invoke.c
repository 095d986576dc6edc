/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Runs one operator by itself. */
#include "exec/invoke.h"

#include <string.h>

#include "exec/call.h"

static hr_status arena_memory(void *context, int32_t i, int32_t output, hr_tensor *t,
                              hr_error *error)
{
    size_t bytes;
    (void)i;
    (void)output;
    if (!hr_tensor_bytes(t, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    t->data = hr_arena_alloc(context, bytes, error);
    t->buffer = NULL;
    return t->data ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

static hr_status run_node(const hr_node *node, const hr_tensor *in, int32_t in_count, hr_rng rng,
                          hr_cpu_level level, hr_arena *arena, hr_tensor *out, hr_error *error)
{
    const hr_op_def *def = node->def;
    void *state = NULL, *local = NULL;
    int64_t decode_ns = 0;
    hr_tensor *inputs = hr_arena_alloc(arena, ((size_t)in_count + 1) * sizeof(*inputs), error);
    if (!inputs)
        return HR_STATUS_NO_MEMORY;
    if (in_count > 0)
        memcpy(inputs, in, (size_t)in_count * sizeof(*inputs));
    memset(out, 0, (size_t)node->output_count * sizeof(*out));
    hr_status status = def->create ? def->create(node->args, &state, error) : HR_STATUS_OK;
    if (status == HR_STATUS_OK && def->local_create)
        status = def->local_create(node->args, state, &local, error);
    hr_op_call call = {.def = def,
                       .args = node->args,
                       .state = state,
                       .local = local,
                       .in = inputs,
                       .n_in = in_count,
                       .out = out,
                       .n_out = node->output_count,
                       .rng = rng,
                       .arena = arena,
                       .kernels = hr_kernels_get(level),
                       .count = 1,
                       .rngs = &rng};
    hr_chain chain = {.nodes = &node,
                      .calls = &call,
                      .count = 1,

                      .memory = arena_memory,
                      .context = arena,
                      .decode_ns = &decode_ns};
    bool batch = hr_node_whole_batch(node);
    if (status == HR_STATUS_OK && batch && def->infer_batch && !def->run_batch)
        status = def->infer_batch(&call, 1, error);
    if (status == HR_STATUS_OK)
        status = batch && def->run_batch ? def->run_batch(&call, 1, error)
                                         : hr__chain_run(&chain, error);
    if (local)
        def->local_destroy(local);
    if (state)
        def->destroy(state);
    return status;
}

hr_status hr_op_invoke(const char *op, const hr_arg_value *args, int32_t arg_count,
                       const hr_tensor *in, int32_t in_count, hr_rng rng, hr_cpu_level level,
                       hr_arena *arena, hr_tensor *out, int32_t *out_count, hr_error *error)
{
    /* Builds a graph of the operator and one fed source per input, so that all checks of the graph
     * apply. */
    hr_graph *graph;
    hr_edge edges[HR_OP_MAX_INPUTS];
    if (in_count < 0 || in_count > HR_OP_MAX_INPUTS)
        return hr_fail(error, HR_STATUS_VALUE, "%d inputs; allowed are 0 .. %d", in_count,
                       HR_OP_MAX_INPUTS);
    HR_TRY(hr_graph_create(&graph, error));
    hr_status status = HR_STATUS_OK;
    int32_t number = -1;
    for (int32_t i = 0; i < in_count && status == HR_STATUS_OK; i++) {
        hr_node_desc source = {.op = "external_source"};
        status = hr_graph_add_node(graph, &source, &number, error);
        edges[i] = (hr_edge){number, 0};
    }
    hr_node_desc desc = {
        .op = op, .inputs = edges, .input_count = in_count, .args = args, .arg_count = arg_count};
    if (status == HR_STATUS_OK)
        status = hr_graph_add_node(graph, &desc, &number, error);
    if (status == HR_STATUS_OK)
        status = hr_args_check_excludes(graph->nodes[number], error);
    if (status == HR_STATUS_OK) {
        *out_count = graph->nodes[number]->output_count;
        status = run_node(graph->nodes[number], in, in_count, rng, level, arena, out, error);
    }
    hr_graph_destroy(graph);
    return status;
}
