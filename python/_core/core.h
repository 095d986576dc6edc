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
    PyTypeObject *graph_type, *pipeline_type, *feed_type, *batch_type, *function_call_type;
    PyTypeObject *tensor_type, *host_tensor_type, *device_tensor_type; /* of the first */
    /* What run() and indexing make in host memory [0] and on a device [1]. */
    PyObject *batch_class[2], *tensor_class[2];
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
    int32_t device;   /* whose memory it is, or HR_DEVICE_HOST */
    void *stream;     /* of a device: complete behind what is queued there */
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
/* Waits for the next iteration and takes it if it is a full batch; otherwise `*outputs` stays. 0,
 * or -1 with an exception. */
int pipeline_take(PyObject *pipeline, hr_outputs **outputs);

/* The memory for batches that are going to be fed, the object's; NULL for None, and in a forked
 * child, which cannot feed. 0, or -1 with TypeError when it is no Pipeline. */
int pipeline_feed_pool(core_state *state, PyObject *object, hr_pool **pool);

/* torch_memory.c: outputs in PyTorch's memory; NULL where this PyTorch has no such functions, or
 * there is none in the process. */
const hr_device_allocator *torch_allocator(void);

/* feed.c */
extern PyType_Spec feed_spec;

/* batch.c */
extern PyType_Spec batch_spec;
extern PyMethodDef batch_functions[];
/* Steals `batch`. NULL: the class for where it lies. */
PyObject *batch_wrap(core_state *state, PyTypeObject *type, hr_batch *batch);
hr_batch *batch_get(core_state *state,
                    PyObject *object); /* NULL and TypeError when it is no Batch */

/* Gives tensors a layout (NULL: none given), which has to fit. 0, or -1 with ValueError. */
int core_same_layout(const char *layout, hr_tensor *tensors, Py_ssize_t n);

/* packed.c */
extern PyMethodDef packed_functions[];

/* tensor.c */
extern PyType_Spec tensor_spec, host_tensor_spec;
const char *tensor_typestr(const hr_tensor *t); /* "<f4"; NULL with TypeError */
PyObject *tensor_shape_tuple(const hr_shape *shape);
void *tensor_data(const tensor_object *self); /* never NULL */
void tensor_dealloc(PyObject *object);
/* The class for tensors in this batch. */
PyTypeObject *tensor_class_of(core_state *state, const hr_batch *owner);
PyObject *tensor_wrap(core_state *state, PyTypeObject *type, hr_batch *owner,
                      const hr_tensor *view);

/* device_tensor.c */
extern PyType_Spec device_tensor_spec;
/* A stream of Python's: None is the default one (*known = 0), as is -1; else an int, or an object
 * with `cuda_stream`, `ptr`, `handle` or `value`. -1 with TypeError. */
int stream_of(PyObject *object, void **stream, int *known);
/* A batch in host memory with the same samples; NULL with an exception. */
hr_batch *batch_to_host(const hr_batch *batch);
hr_batch *tensor_to_host(const tensor_object *tensor); /* the view as a batch of one sample */

/* dlpack.c */
/* `owner`: what `t` lies in; kept until the capsule's consumer lets go. */
PyObject *dlpack_export(hr_batch *owner, const hr_tensor *t, int versioned, int copied);
PyObject *dlpack_check(PyObject *module, PyObject *object); /* METH_O */
/* The new holder of the memory, which consumes the capsule; NULL with an exception. Strides are in
 * bytes. */
PyObject *dlpack_import(PyObject *capsule, hr_tensor *tensor, int64_t *strides, int32_t *device);

/* import.c: Tensor, buffer protocol, __array_interface__, __dlpack__, __cuda_array_interface__,
 * __array__, in this order. A device's memory has to be dense; `stream`, on which it is going to be
 * used, waits for what writes it. `device` is that of objects which do not tell. */
int import_object(core_state *state, PyObject *object, void *stream, int32_t device, imported *out);
void import_release(imported *im);
/* A buffer that holds on to the object; consumes `im`, but for `im->owner`, also when it fails. */
int import_adopt(core_state *state, imported *im, hr_buffer **buffer);

/* reaper.c */
reaper *reaper_create(void);
void reaper_close(reaper *r); /* nothing is released any more: the interpreter is going away */
void reaper_drain(reaper *r); /* with the GIL */
/* Steals `object`; the context and function for hr_buffer_adopt. NULL: MemoryError is set. */
void *reaper_hold(reaper *r, PyObject *object);
void reaper_release(void *held);           /* any thread, with or without the GIL */
PyObject *reaper_object(const void *held); /* borrowed */

/* function.c */
extern PyType_Spec function_call_spec;
/* Calls a Python object, of which it only keeps a weak reference, with a FunctionCall; the object
 * returns None, or the text of what went wrong. NULL with an exception. */
hr_function *function_of(core_state *state, PyObject *object);
/* Whether this thread is a worker that runs a function. */
int function_inside(void);

#endif
