/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What a node owns, and what it says about itself. */
#include "graph/node.h"

#include <stdio.h>
#include <string.h>

hr_status hr__node_own(hr_node *node, void *memory, hr_error *error)
{
    /* Doubled when full: at 0 and at every power of two. */
    size_t n = (size_t)node->storage_count;
    if ((n & (n - 1)) == 0) {
        void **grown = hr_realloc(node->storage, n ? 2 * n : 1, sizeof(*grown), error);
        if (!grown) {
            hr_free(memory);
            return HR_STATUS_NO_MEMORY;
        }
        node->storage = grown;
    }
    node->storage[node->storage_count++] = memory;
    return HR_STATUS_OK;
}

void *hr__node_store(hr_node *node, size_t count, size_t size, hr_error *error)
{
    void *memory = hr_calloc(count, size, error);
    return memory && hr__node_own(node, memory, error) == HR_STATUS_OK ? memory : NULL;
}

hr_status hr__node_strdup(hr_node *node, const char *text, char **out, hr_error *error)
{
    size_t size = strlen(text ? text : "") + 1;
    char *copy = hr__node_store(node, size, 1, error);
    HR_TRY_ALLOC(copy);
    memcpy(copy, text ? text : "", size);
    *out = copy;
    return HR_STATUS_OK;
}

void hr__node_destroy(hr_node *node)
{
    if (!node || __atomic_fetch_sub(&node->copies, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    for (int32_t i = 0; i < node->storage_count; i++)
        hr_free(node->storage[i]);
    hr_free(node->storage);
    hr_function_unref(node->function);
    hr_free(node);
}

bool hr_node_on_device(const hr_node *node)
{
    return strcmp(node->device, "cpu") != 0 || (node->def->flags & HR_OP_TO_HOST);
}

bool hr_node_whole_batch(const hr_node *node)
{
    const hr_op_def *def = node->def;
    if (!def->run_batch && !def->infer_batch)
        return false;
    return !def->whole_batch || def->whole_batch(node->args, &node->given);
}

const char *hr_node_text(const hr_node *node, char *text, size_t size)
{
    bool named = node->name && strncmp(node->name, "__", 2) != 0;
    bool placed = node->origin && node->origin[0];
    const hr_op_def *def = node->def;
    snprintf(text, size, "%s%s%.60s%s%s%.90s%s", def->shown ? def->shown : def->name,
             named ? " '" : "", named ? node->name : "", named ? "'" : "", placed ? " (" : "",
             placed ? node->origin : "", placed ? ")" : "");
    return text;
}
