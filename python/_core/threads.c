/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* ThreadPool: threads that several pipelines share. */
#include "threads.h"

#include <unistd.h>

typedef struct threads_object {
    PyObject ob_base;
    hr_thread_pool *pool;
} threads_object;

/* ThreadPool(max_threads=0) */
static PyObject *threads_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"max_threads", NULL};
    hr_error error = {0};
    int max_threads = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|i:ThreadPool", names, &max_threads))
        return NULL;
    threads_object *self = (threads_object *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    if (hr_thread_pool_create(&self->pool, max_threads, &error) != HR_STATUS_OK) {
        core_raise(&error);
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void threads_dealloc(PyObject *self)
{
    hr_thread_pool_unref(((threads_object *)self)->pool);
    core_dispose(self);
}

static PyObject *threads_count(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLong(hr_thread_pool_threads(((threads_object *)self)->pool));
}

/* A child of fork leaves the threads of its parent alone, and has a pool of its own. */
static int default_pool(core_state *state, hr_thread_pool **out)
{
    hr_error error = {0};
    if (state->threads && state->threads_pid == getpid()) {
        *out = state->threads;
        return 0;
    }
    if (hr_thread_pool_create(&state->threads, 0, &error) != HR_STATUS_OK) {
        core_raise(&error);
        return -1;
    }
    state->threads_pid = getpid();
    *out = state->threads;
    return 0;
}

int threads_get(core_state *state, PyObject *object, hr_thread_pool **out)
{
    if (!object || object == Py_None)
        return default_pool(state, out);
    if (!PyObject_TypeCheck(object, state->threads_type)) {
        PyErr_SetString(PyExc_TypeError, "thread_pool must be a ThreadPool or None");
        return -1;
    }
    *out = ((threads_object *)object)->pool;
    return 0;
}

static PyGetSetDef threads_members[] = {
    {"threads", threads_count, NULL, "Threads that there are now.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot threads_slots[] = {
    {Py_tp_new, threads_new},
    {Py_tp_dealloc, threads_dealloc},
    {Py_tp_getset, threads_members},
    {Py_tp_doc, "ThreadPool(max_threads=0): threads that pipelines share. 0: as many as they ask "
                "for, within reason."},
    {0, NULL}};

PyType_Spec threads_spec = {.name = "headrace._core.ThreadPool",
                            .basicsize = sizeof(threads_object),
                            .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                            .slots = threads_slots};
