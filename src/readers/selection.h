/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Which items an epoch consists of: all of them once, or what the argument `sampler` asks for. */
#pragma once

#include "readers/file_order.h"

/* Entry v of an epoch is an item. Without `order`, `sums` and `files` it is item v. */
typedef struct hr_selection {
    int64_t count;  /* entries of an epoch */
    int64_t items;  /* of the source */
    int64_t *order; /* items, one per entry; or NULL */
    double *sums;   /* of the weights of items 0 .. i, from which entries are drawn; or NULL */
    int64_t last;   /* the last item whose weight is not 0 */
    uint64_t key;   /* of the draws, or of the order of the files */
    hr_file_order *files; /* of a container with shuffle_after_epoch; or NULL */
} hr_selection;

/* `seed` as in hr_rng_node_seed. HR_STATUS_ERROR: args->sampler does not fit the source. */
hr_status hr_selection_init(hr_selection *s, const hr_sampler_args *args, const hr_source_def *def,
                            const void *state, uint64_t seed, hr_error *error);
void hr_selection_fini(hr_selection *s);

/* Whether an item can occur more than once in an epoch. */
static inline bool hr_selection_repeats(const hr_selection *s)
{
    return s->order || s->sums;
}
int64_t hr_selection_item(const hr_selection *s, int64_t epoch, int64_t entry);
