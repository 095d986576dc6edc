/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The extension `headrace._core`: headrace.h as Python objects, written against the limited API
 * (abi3). Objects hold reference-counted C objects and no Python objects that could form a cycle,
 * so none of them takes part in garbage collection. */
#pragma once

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "headrace/headrace.h"

/* Python objects that the engine released on threads that must not take the GIL. The next thread
 * that calls into the module with the GIL drops the references. Outlives the module. */
typedef struct reaper reaper;

typedef struct core_state {
    PyTypeObject *graph_type, *pipeline_type, *taker_type, *batch_type, *function_call_type;
    PyTypeObject *tensor_type, *threads_type;
    PyTypeObject *host_tensor_type, *device_tensor_type; /* subclasses of tensor_type */
    /* Classes of what run() and indexing return, in host memory [0] and on a device [1]. */
    PyObject *batch_class[2], *tensor_class[2];
    reaper *reaper;
    hr_thread_pool *threads; /* of pipelines that are given none, in the process ... */
    int threads_pid;         /* ... with this number */
    PyObject *module;        /* itself, borrowed */
} core_state;

/* What run() returned to one thread, or the failure that it raised, until it is delivered. */
typedef struct held_result {
    unsigned long thread;
    struct held_result *next;
    hr_outputs *outputs; /* NULL: it failed */
    hr_error *error;     /* room for why; allocated with it */
    int full, called;    /* by call(), which may be repeated with other inputs */
} held_result;

/* Pipeline; here because batches to be fed take memory of its pool. */
typedef struct pipeline_object {
    PyObject ob_base;
    hr_pipeline *pipeline;   /* NULL once closed */
    PyThread_type_lock lock; /* one call at a time; the GIL is released while waiting for it */
    core_state *state;
    hr_pool *feed_pool;
    held_result *held; /* one per thread that has called run(); guarded by the GIL */
    int pid;
    int failed;      /* whether the engine, not a signal handler, failed the last run() or call() */
    long long taken; /* iterations, including those that failed or are held */
    int waiting;     /* threads that wait for `lock`; guarded by the GIL */
} pipeline_object;

/* core.c */
PyObject *core_raise(const hr_error *error); /* always NULL */
PyObject *core_text(const char *text);       /* bytes that are not UTF-8 become surrogates */
void core_dispose(PyObject *object);         /* the end of every tp_dealloc */
/* For objects that use the module's state in tp_dealloc: at exit the module may be collected before
 * them. */
core_state *core_hold(core_state *state);
void core_dispose_held(PyObject *object, core_state *state);

/* Whether the elements are numbers; if not, with TypeError. */
int tensor_numeric(const hr_tensor *t);

/* device.c */
/* A CUDA stream given as an int, or an object with `cuda_stream`, `ptr`, `handle` or `value`. None
 * and -1 are the default stream, with *known = 0. 0, or -1 with TypeError. */
int stream_of(PyObject *object, void **stream, int *known);
/* A batch in host memory with the same samples; NULL with an exception. */
hr_batch *batch_to_host(const hr_batch *batch);
hr_batch *tensor_to_host(const hr_tensor *tensor); /* as a batch of one sample */

/* reaper.c */
reaper *reaper_create(void);
void reaper_close(reaper *r); /* releases nothing from now on: the interpreter ends */
void reaper_drain(reaper *r); /* with the GIL */
/* Steals `object`. Returns the context for reaper_release, or NULL with MemoryError. */
void *reaper_hold(reaper *r, PyObject *object);
void reaper_release(void *held);           /* any thread, with or without the GIL */
PyObject *reaper_object(const void *held); /* borrowed */
