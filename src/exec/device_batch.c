/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The memory of iterations in device stages. It is kept for later iterations. */
#include "exec/device_batch.h"

#include <string.h>

static void batch_destroy(hr_device_batch *b, int32_t arenas)
{
    if (!b)
        return;
    for (int32_t i = 0; b->arenas && i < arenas; i++)
        hr_arena_destroy(b->arenas[i]);
    hr_free(b->arenas);
    hr_free(b->pieces);
    hr_free(b->models);
    hr_free(b->redo);
    hr_free(b);
}

static int32_t arena_count(const hr_pipeline *p)
{
    return p->options.num_threads + 1;
}

/* The arrays are large enough for any iteration. */
static hr_status batch_create(const hr_pipeline *p, hr_device_batch **out, hr_error *error)
{
    size_t samples = (size_t)p->options.batch_size;
    hr_device_batch *b = hr_calloc(1, sizeof(*b), error);
    HR_TRY_ALLOC(b);
    b->arenas = hr_calloc((size_t)arena_count(p), sizeof(*b->arenas), error);
    b->pieces = hr_calloc(samples, sizeof(*b->pieces), error);
    b->redo = hr_calloc(samples, sizeof(*b->redo), error);
    b->models = hr_calloc((size_t)p->options.num_threads, sizeof(*b->models), error);
    bool made = b->arenas && b->pieces && b->redo && b->models;
    hr_status status = made ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
    for (int32_t i = 0; i < arena_count(p) && status == HR_STATUS_OK; i++)
        status = hr_arena_create(&b->arenas[i], error);
    if (status != HR_STATUS_OK) {
        batch_destroy(b, arena_count(p));
        return status;
    }
    *out = b;
    return HR_STATUS_OK;
}

hr_status hr__device_batch_take(hr_pipeline *p, hr_iteration *it, hr_device_batch **out,
                                hr_error *error)
{
    hr_status status = HR_STATUS_OK;
    pthread_mutex_lock(&p->lock);
    hr_device_batch *b = it->device;
    if (!b) {
        b = p->device_batches.idle;
        if (b)
            p->device_batches.idle = b->next;
        else
            status = batch_create(p, &b, error);
        if (status == HR_STATUS_OK)
            status = hr_launch_create(&b->launch, p->device, error);
        if (status == HR_STATUS_OK) {
            it->device = b;
        } else if (b) {
            b->next = p->device_batches.idle;
            p->device_batches.idle = b;
        }
    }
    pthread_mutex_unlock(&p->lock);
    *out = status == HR_STATUS_OK ? b : NULL;
    return status;
}

/* Ends the batch's launch and frees its memory. */
static void batch_reset(const hr_pipeline *p, hr_device_batch *b)
{
    hr_launch_destroy(b->launch);
    b->launch = NULL;
    b->again = false;
    memset(b->redo, 0, (size_t)p->options.batch_size * sizeof(*b->redo));
    memset(b->pieces, 0, (size_t)p->options.batch_size * sizeof(*b->pieces));
    memset(b->models, 0, (size_t)p->options.num_threads * sizeof(*b->models));
    for (int32_t i = 0; i < arena_count(p); i++)
        hr_arena_reset(b->arenas[i]);
}

void hr__device_batch_give(hr_pipeline *p, hr_iteration *it)
{
    hr_device_batch *b = it->device;
    if (!b)
        return;
    batch_reset(p, b);
    it->device = NULL;
    pthread_mutex_lock(&p->lock);
    b->next = p->device_batches.idle;
    p->device_batches.idle = b;
    pthread_mutex_unlock(&p->lock);
}

void hr__device_batch_drop(hr_pipeline *p, hr_iteration *it)
{
    if (it->device)
        hr_launch_abandon(it->device->launch); /* its chunks may be reused on other streams */
    hr__device_batch_give(p, it);
}

/* Keeps what the device noted while decoding, such as entries for the index of a file. */
static void keep_notes(hr_pipeline *p, hr_device_batch *b)
{
    hr_arena *arena = b->arenas[p->options.num_threads];
    for (int32_t i = 0; i < b->decoding_count; i++) {
        const hr_piece *piece = b->decoding[i];
        hr_arena_mark mark = hr_arena_save(arena);
        if (piece->notes && !b->status[i]) {
            hr__stall_for(p->stall.index_us);
            piece->coded.decoder->keep(&piece->coded, piece->notes, p->cache, arena);
        }
        hr_arena_restore(arena, mark);
    }
}

bool hr__device_keep_entries(hr_pipeline *p)
{
    hr_device_batch *b = p->device_batches.published;
    if (!b)
        return false;
    p->device_batches.published = b->next;
    pthread_mutex_unlock(&p->lock);
    keep_notes(p, b);
    batch_reset(p, b);
    pthread_mutex_lock(&p->lock);
    b->next = p->device_batches.idle;
    p->device_batches.idle = b;
    return true;
}

void hr__device_batches_free(hr_pipeline *p)
{
    for (hr_device_batch *b = p->device_batches.published, *next; b; b = next) {
        next = b->next;
        batch_reset(p, b);
        batch_destroy(b, arena_count(p));
    }
    for (hr_device_batch *b = p->device_batches.idle, *next; b; b = next) {
        next = b->next;
        batch_destroy(b, arena_count(p));
    }
    p->device_batches.published = p->device_batches.idle = NULL;
}
