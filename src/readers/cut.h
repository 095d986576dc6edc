/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A job: processes that take the batches of one order together (docs/order.md). Batch k of a job
 * is the positions k * batch .. (k + 1) * batch - 1 of an order that does not depend on the
 * processes. Of each batch, process `rank` of `ranks` takes the positions rank, rank + ranks, ...:
 * of any first part of a batch, such as the one that belongs to an epoch, all processes get the
 * same number of positions, or one more. */
#pragma once

#include <stdint.h>

typedef struct hr_cut {
    int64_t batch; /* positions of a batch of the job; 0: the process is not part of a job */
    int32_t ranks, rank;
} hr_cut;

/* How many of the first `n` positions of the job are those of this process. */
static inline int64_t hr_cut_count(const hr_cut *c, int64_t n)
{
    int64_t full = (c->batch - 1 - c->rank) / c->ranks + 1;
    return n / c->batch * full + (n % c->batch + c->ranks - 1 - c->rank) / c->ranks;
}

/* The position in the job of number `i` of the positions of this process. */
static inline int64_t hr_cut_position(const hr_cut *c, int64_t i)
{
    int64_t full = (c->batch - 1 - c->rank) / c->ranks + 1;
    return i / full * c->batch + i % full * c->ranks + c->rank;
}
