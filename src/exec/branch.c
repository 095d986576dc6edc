/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Guards ask for each sample whether it takes a branch. All samples of a merged batch must have one
 * kind (type, number of dimensions and layout), whichever branch they come from. Since many workers
 * make them, the first sample stores its kind in the iteration, packed into one word. */
#include "exec/branch.h"

#include <string.h>

#define LETTERS 6 /* letters of the layout that fit into the word and are compared */

hr_status hr__guard_holds(const hr_group *g, const hr_node *node, int32_t i, bool *holds,
                          hr_error *error)
{
    hr_tensor room;
    int32_t value = hr_plan_value_find(g->pipeline->plan, node->guard.predicate);
    const hr_tensor *t = hr__value_at(g, value, i, &room);
    *holds = false;
    if (t->shape.ndim < 0) /* the sample does not take the outer branch either */
        return HR_STATUS_OK;
    if (t->shape.ndim != 0 || t->dtype != HR_DTYPE_BOOL || !t->data)
        return hr_fail(error, HR_STATUS_ERROR, "the condition of its branch is not a BOOL scalar");
    *holds = *(const bool *)t->data == node->guard.when;
    return HR_STATUS_OK;
}

static uint64_t pack(const hr_tensor *t)
{
    uint64_t kind = (uint64_t)(t->dtype + 1) << 56 | (uint64_t)t->shape.ndim << 48;
    for (int32_t i = 0; i < LETTERS && t->layout.name[i]; i++)
        kind |= (uint64_t)(uint8_t)t->layout.name[i] << (8 * i);
    return kind;
}

static hr_tensor unpack(uint64_t kind)
{
    hr_tensor t = {.dtype = (hr_dtype)((int)(kind >> 56) - 1),
                   .shape.ndim = (int32_t)(kind >> 48 & 0xff)};
    for (int32_t i = 0; i < LETTERS; i++)
        t.layout.name[i] = (char)(kind >> (8 * i) & 0xff);
    return t;
}

hr_status hr__merged_check(const hr_node *merge, const hr_tensor *a, const hr_tensor *b,
                           hr_error *error)
{
    char text[512];
    if (a->dtype == b->dtype && a->shape.ndim == b->shape.ndim &&
        strcmp(a->layout.name, b->layout.name) == 0)
        return HR_STATUS_OK;
    const char *what = a->dtype != b->dtype             ? "types"
                       : a->shape.ndim != b->shape.ndim ? "sample dimensions"
                                                        : "layouts";
    return hr_fail(error, HR_STATUS_ERROR,
                   "%s: Divergent data found in different branches of conditional operation. All "
                   "paths in conditional operation are merged into one batch which must have "
                   "consistent type, number of dimensions, layout and other metadata. Found "
                   "distinct %s: %s, %d-d, \"%s\" and %s, %d-d, \"%s\"",
                   hr_node_text(merge, text, sizeof(text)), what, hr_dtype_name(a->dtype),
                   a->shape.ndim, a->layout.name, hr_dtype_name(b->dtype), b->shape.ndim,
                   b->layout.name);
}

void hr__merged_note(hr_group *g, const hr_node *merge, const hr_tensor *t)
{
    hr_pipeline *p = g->pipeline;
    hr_iteration *it = g->iteration;
    uint64_t first = 0, mine = pack(t);
    if (atomic_compare_exchange_strong(&it->merged[merge->index], &first, mine) || first == mine)
        return;
    hr_tensor a = unpack(HR_MIN(first, mine)), b = unpack(HR_MAX(first, mine));
    pthread_mutex_lock(&p->lock);
    if (it->status == HR_STATUS_OK) /* an error of the program: on_error does not apply */
        it->status = hr__merged_check(merge, &a, &b, &it->error);
    pthread_mutex_unlock(&p->lock);
}
