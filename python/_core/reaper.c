/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* References to Python objects that worker threads release. A worker must never wait for the GIL,
 * because the thread that holds it may be waiting for the worker, so it puts the reference on a
 * list. */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct held {
    reaper *reaper;
    PyObject *object;
    struct held *next;
} held;

struct reaper {
    atomic_int refs; /* the module's, and one per held object */
    atomic_bool closed;
    _Atomic(held *) list;
};

static void reaper_unref(reaper *r)
{
    if (atomic_fetch_sub(&r->refs, 1) != 1)
        return;
    held *h = atomic_load(&r->list);
    while (h) { /* the interpreter has ended: the objects leak, the list does not */
        held *next = h->next;
        free(h);
        h = next;
    }
    free(r);
}

reaper *reaper_create(void)
{
    reaper *r = calloc(1, sizeof(*r));
    if (!r) {
        PyErr_NoMemory();
        return NULL;
    }
    atomic_init(&r->refs, 1);
    return r;
}

void reaper_close(reaper *r)
{
    if (!r)
        return;
    reaper_drain(r);
    atomic_store(&r->closed, true);
    reaper_unref(r);
}

void reaper_drain(reaper *r)
{
    if (!atomic_load_explicit(&r->list, memory_order_relaxed))
        return;
    held *h = atomic_exchange(&r->list, NULL);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    while (h) {
        held *next = h->next;
        Py_DECREF(h->object);
        free(h);
        h = next;
    }
    PyErr_Restore(type, value, traceback);
}

void *reaper_hold(reaper *r, PyObject *object)
{
    held *h = malloc(sizeof(*h));
    if (!h) {
        PyErr_NoMemory();
        return NULL;
    }
    *h = (held){.reaper = r, .object = object};
    atomic_fetch_add(&r->refs, 1);
    return h;
}

static int reaper_call(void *context)
{
    reaper *r = context;
    if (!atomic_load(&r->closed))
        reaper_drain(r);
    reaper_unref(r);
    return 0;
}

void reaper_release(void *context)
{
    held *h = context;
    reaper *r = h->reaper;
    bool first;
    held *head = atomic_load(&r->list);
    do {
        h->next = head;
        first = !head;
    } while (!atomic_compare_exchange_weak(&r->list, &head, h));
    /* The main thread drains the list at its next bytecode, unless a call into the module does so
     * first. The pending call takes over the reference of `h`. */
    if (first && !atomic_load(&r->closed) && Py_AddPendingCall(reaper_call, r) == 0)
        return;
    reaper_unref(r);
}

PyObject *reaper_object(const void *held_object)
{
    return ((const held *)held_object)->object;
}
