/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The calls of operators for samples: arguments, fusion, image programs. No lock is held. */
#pragma once

#include "exec/values.h"

/* Fills in the call of a node for samples i .. i + n - 1 of the group. `inside`: the chain itself
 * makes input 0. */
hr_status hr__call_build(hr_group *g, const hr_node *node, int32_t i, int32_t n, bool inside,
                         hr_op_call *c, hr_error *error);
/* Refuses an input whose elements are values of an enumeration if the operator does not take them.
 */
hr_status hr__inputs_check(const hr_op_call *c, int32_t first, hr_error *error);

/* One chain, or one node, for one sample. */
typedef struct hr_chain {
    const hr_node *const *nodes;
    hr_op_call *calls; /* one per node; complete except for inputs made inside the chain */
    int32_t count;

    /* Memory for output `output` of node `i` as described in `t`: sets t->data and t->buffer. */
    hr_status (*memory)(void *context, int32_t i, int32_t output, hr_tensor *t, hr_error *error);
    void *context;
    int32_t failed;     /* the node that failed */
    int64_t *decode_ns; /* time spent decoding */
    int64_t stall_decode_us;
} hr_chain;

/* What is done with a chain: with the nodes `first` to `last` as one program, and with a node that
 * no program can contain. */
typedef struct hr_chain_actions {
    hr_status (*program)(hr_chain *chain, int32_t first, int32_t last, struct hr_image_program *p,
                         hr_error *error);
    hr_status (*alone)(hr_chain *chain, int32_t i, hr_error *error);
} hr_chain_actions;

/* The calls of those nodes of a step that the group's i-th sample goes through, in the arena.
 * `*at`: the node that failed. */
hr_status hr__chain_build(hr_group *g, const hr_plan_step *step, int32_t i, hr_chain *chain,
                          const hr_node **at, hr_error *error);
/* Goes through a chain with as few programs as possible. */
hr_status hr__chain_walk(hr_chain *chain, const hr_chain_actions *actions, hr_error *error);
/* The same, running all of it on the CPU. */
hr_status hr__chain_run(hr_chain *chain, hr_error *error);
