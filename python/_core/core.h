/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The extension `headrace._core`: headrace.h as Python objects, written against the limited API
 * (abi3). Objects hold counted C objects and no Python ones, so none of them takes part in garbage
 * collection. */
#ifndef HEADRACE_PYTHON_CORE_H
#define HEADRACE_PYTHON_CORE_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030b0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "headrace/headrace.h"

/* Python objects whose memory the engine used and that it let go of on threads that must not take
 * the GIL; they are released by the next thread that comes by with it. Outlives the module. */
typedef struct reaper reaper;

typedef struct core_state {
    PyTypeObject *graph_type, *pipeline_type, *batch_type, *tensor_type;
    PyObject *batch_class,
        *tensor_class; /* what run() and indexing make; subclasses of the two above */
    reaper *reaper;
    PyObject *module; /* itself, borrowed */
} core_state;

/* pid: objects made before a fork are leaked by the child, for the locks under them may be held for
 * ever. */
typedef struct batch_object {
    PyObject ob_base;
    core_state *state; /* lives as long as the module, which the object holds */
    hr_batch *batch;
    int pid;
} batch_object;

typedef struct tensor_object {
    PyObject ob_base;
    core_state *state;
    hr_batch *owner; /* what `view` lies in */
    hr_tensor view;
    Py_ssize_t extents[2 * HR_MAX_NDIM]; /* shape and strides as the buffer protocol wants them */
    int exports;                         /* buffers out: their shapes are in `extents` */
    int pid;
} tensor_object;

/* A Python object seen as a tensor; `tensor` is dense. */
typedef struct imported {
    hr_tensor tensor;
    PyObject *holder; /* keeps `tensor.data` alive: a memoryview, capsule or Tensor; or NULL */
    void *copy;       /* memory of ours in its place when the object was not dense; or NULL */
    hr_batch *owner;  /* the batch behind a Tensor, which needs no holder */
} imported;

/* module.c */
PyObject *core_raise(const hr_error *error); /* always NULL */
PyObject *core_text(const char *text);       /* file names that are not UTF-8 become surrogates */
void core_dispose(PyObject *object);         /* the end of every tp_dealloc */
/* For objects that use the module's state until they end: at exit the collector may come to the
 * module before it comes to them. */
core_state *core_hold(core_state *state);
void core_dispose_held(PyObject *object, core_state *state);

/* graph.c */
extern PyType_Spec graph_spec;
const hr_graph *graph_get(PyObject *self); /* the object must be a Graph */

/* pipeline.c */
extern PyType_Spec pipeline_spec;

/* batch.c */
extern PyType_Spec batch_spec;
extern PyMethodDef batch_functions[];
PyObject *batch_wrap(core_state *state, PyTypeObject *type, hr_batch *batch); /* steals `batch` */
hr_batch *batch_get(core_state *state,
                    PyObject *object); /* NULL and TypeError when it is no Batch */

/* tensor.c */
extern PyType_Spec tensor_spec;
PyObject *tensor_wrap(core_state *state, PyTypeObject *type, hr_batch *owner,
                      const hr_tensor *view);

/* dlpack.c */
/* `owner`: what `t` lies in; kept until the capsule's consumer lets go. */
PyObject *dlpack_export(hr_batch *owner, const hr_tensor *t, int versioned, int copied);
/* The new holder of the memory, which consumes the capsule; NULL with an exception. Strides are in
 * bytes. */
PyObject *dlpack_import(PyObject *capsule, hr_tensor *tensor, int64_t *strides);

/* import.c: Tensor, buffer protocol, __array_interface__, __dlpack__, __array__, in this order */
int import_object(core_state *state, PyObject *object, imported *out);
void import_release(imported *im);
/* A buffer that holds on to the object; consumes `im` also when it fails. */
int import_adopt(core_state *state, imported *im, hr_buffer **buffer);

/* reaper.c */
reaper *reaper_create(void);
void reaper_close(reaper *r); /* nothing is released any more: the interpreter is going away */
void reaper_drain(reaper *r); /* with the GIL */
/* Steals `object`; the context and function for hr_buffer_adopt. NULL: MemoryError is set. */
void *reaper_hold(reaper *r, PyObject *object);
void reaper_release(void *held); /* any thread, with or without the GIL */

#endif
