/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What operators ask of the executor while they work on a sample: memory, warnings, limits. */
#include "core/task.h"

#include <stdarg.h>
#include <stdio.h>

#include "device/memory.h"
#include "exec/bad.h"

/* A value that later stages use gets a counted buffer, so that they can refer to it. */
hr_status hr_task_memory(hr_task *task, int32_t output, hr_tensor *t, hr_error *error)
{
    hr_group *g = task->group;
    hr_pipeline *p = g->pipeline;
    int32_t value = hr__value_of(p, task->node, output), i = (int32_t)(task - g->tasks);
    size_t bytes;
    if (p->plan->values[value].output >= 0 || !p->plan->values[value].crosses)
        return hr__value_memory(g, value, i, 1, t, error);
    if (!hr_tensor_bytes(t, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    HR_TRY(hr_pool_alloc(p->pool, bytes, &t->buffer, error));
    t->data = hr_buffer_data(t->buffer);
    return hr__group_hold(g, t->buffer, error);
}

hr_status hr_task_fail(hr_task *task, hr_status status, const char *message, hr_error *error)
{
    hr_error *failure = hr_arena_alloc(task->group->arena, sizeof(*failure), error);
    HR_TRY_ALLOC(failure);
    hr_fail(failure, status == HR_STATUS_OK ? HR_STATUS_ERROR : status, "%s", message);
    task->failure = failure;
    return HR_STATUS_OK;
}

/* Whether all that uses a value is copies to the device. */
static bool goes_to_device(const hr_pipeline *p, int32_t value)
{
    int32_t copies = 0;
    for (int32_t i = 0; i < p->plan->order_count; i++) {
        const hr_node *node = hr__plan_node(p, i);
        if (node->def->flags & HR_OP_TO_DEVICE)
            copies += hr_plan_value_find(p->plan, node->inputs[0]) == value;
    }
    return copies > 0 && copies == p->plan->values[value].uses;
}

hr_device *hr_task_device(const hr_task *task, int32_t output)
{
    const hr_pipeline *p = task ? task->pipeline : NULL;
    bool there = p && p->device && goes_to_device(p, hr__value_of(p, task->node, output));
    return there ? p->device : NULL;
}

hr_status hr_task_device_memory(hr_task *task, void *stream, hr_tensor *t, hr_error *error)
{
    size_t bytes;
    if (!hr_tensor_bytes(t, &bytes))
        return hr_fail(error, HR_STATUS_LIMIT, "the output's size overflows");
    HR_TRY(hr_device_buffer(task->pipeline->device, stream, HR_MAX(bytes, 1), &t->buffer, error));
    t->data = hr_buffer_data(t->buffer);
    return hr__group_hold(task->group, t->buffer, error);
}

hr_status hr_task_hold(hr_task *task, hr_buffer *buffer, hr_error *error)
{
    return hr__group_hold(task->group, buffer, error);
}

hr_status hr_task_warn(hr_task *task, hr_error *error, const char *fmt, ...)
{
    char text[512];
    va_list list;
    va_start(list, fmt);
    vsnprintf(text, sizeof(text), fmt, list);
    va_end(list);
    if (!task || !task->pipeline)
        return HR_STATUS_OK;
    if (task->pipeline->options.strict)
        return hr_fail(error, HR_STATUS_CORRUPT, "%s (strict=True makes this warning an error)",
                       text);
    if (!task->sample->warned)
        hr__bad_record(task->pipeline, task, "warning", text);
    task->sample->warned = true;
    return HR_STATUS_OK;
}

void hr_task_note(hr_task *task, const char *message)
{
    if (task && task->pipeline)
        hr__bad_note(task->pipeline, task, message);
}

int64_t hr_task_max_pixels(const hr_task *task)
{
    return task && task->pipeline ? task->pipeline->options.max_image_pixels : (int64_t)1 << 28;
}

int32_t hr_task_index(const hr_task *task)
{
    return task && task->sample ? task->sample->index : 0;
}

hr_cache *hr_task_cache(const hr_task *task)
{
    return task && task->pipeline ? task->pipeline->cache : NULL;
}

bool hr_task_transcodes(const hr_task *task)
{
    return task && task->pipeline && task->pipeline->options.index_transcode;
}
