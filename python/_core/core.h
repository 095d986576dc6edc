/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The extension `headrace._core`: headrace.h as Python objects, written against the limited API
 * (abi3). Objects hold reference-counted C objects and no Python objects that could form a cycle,
 * so none of them takes part in garbage collection. */
#ifndef HEADRACE_PYTHON_CORE_H
#define HEADRACE_PYTHON_CORE_H

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
    PyTypeObject *graph_type, *pipeline_type, *feed_type, *batch_type, *function_call_type;
    PyTypeObject *tensor_type;
    PyTypeObject *host_tensor_type, *device_tensor_type; /* subclasses of tensor_type */
    /* Classes of what run() and indexing return, in host memory [0] and on a device [1]. */
    PyObject *batch_class[2], *tensor_class[2];
    reaper *reaper;
    PyObject *module; /* itself, borrowed */
} core_state;

/* pid: a forked child leaks the objects of its parent, because their locks may be held forever. */
typedef struct batch_object {
    PyObject ob_base;
    core_state *state; /* lives as long as the module, which the object holds */
    hr_batch *batch;
    int pid;
} batch_object;

typedef struct tensor_object {
    PyObject ob_base;
    core_state *state;
    hr_batch *owner; /* owns the memory of `view` */
    hr_tensor view;
    Py_ssize_t extents[2 * HR_MAX_NDIM]; /* shape and strides for the buffer protocol */
    int exports;                         /* exported buffers, whose shapes are in `extents` */
    int pid;
} tensor_object;

/* A Python object seen as a tensor; `tensor` is dense. */
typedef struct imported {
    hr_tensor tensor;
    PyObject *holder; /* keeps `tensor.data` alive: a memoryview, capsule or Tensor; or NULL */
    int32_t device;   /* the CUDA device, or HR_DEVICE_HOST */
    void *stream;     /* CUDA only: the data is complete after the work queued on this stream */
    void *copy;       /* our dense copy, when the object was not dense; or NULL */
    hr_batch *owner;  /* the batch behind a Tensor, which needs no holder */
} imported;

/* module.c */
PyObject *core_raise(const hr_error *error); /* always NULL */
PyObject *core_text(const char *text);       /* bytes that are not UTF-8 become surrogates */
void core_dispose(PyObject *object);         /* the end of every tp_dealloc */
/* For objects that use the module's state in tp_dealloc: at exit the module may be collected before
 * them. */
core_state *core_hold(core_state *state);
void core_dispose_held(PyObject *object, core_state *state);

/* graph.c */
extern PyType_Spec graph_spec;
const hr_graph *graph_get(PyObject *self); /* the object must be a Graph */

/* pipeline.c */
extern PyType_Spec pipeline_spec;
/* Waits for the next iteration and takes it if it is a full batch; otherwise `*outputs` is
 * unchanged. 0, or -1 with an exception. */
int pipeline_take(PyObject *pipeline, hr_outputs **outputs);

/* The pipeline's pool for batches to be fed; NULL for None, and in a forked child, which cannot
 * feed. The reference is borrowed. 0, or -1 with TypeError if the object is not a Pipeline. */
int pipeline_feed_pool(core_state *state, PyObject *object, hr_pool **pool);

/* torch_memory.c: PyTorch's allocator for outputs; NULL if PyTorch is not loaded or too old. */
const hr_device_allocator *torch_allocator(void);

/* feed.c */
extern PyType_Spec feed_spec;

/* batch.c */
extern PyType_Spec batch_spec;
extern PyMethodDef batch_functions[];
/* Steals `batch`. `type` NULL: the class for the batch's memory, host or device. */
PyObject *batch_wrap(core_state *state, PyTypeObject *type, hr_batch *batch);
hr_batch *batch_get(core_state *state,
                    PyObject *object); /* NULL with TypeError if it is not a Batch */

/* Sets the layout of all tensors (NULL: unchanged). 0, or -1 with ValueError if it does not fit. */
int core_same_layout(const char *layout, hr_tensor *tensors, Py_ssize_t n);

/* packed.c */
extern PyMethodDef packed_functions[];

/* tensor.c */
extern PyType_Spec tensor_spec, host_tensor_spec;
/* Whether the elements are numbers; if not, with TypeError. */
int tensor_numeric(const hr_tensor *t);
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
/* A CUDA stream given as an int, or an object with `cuda_stream`, `ptr`, `handle` or `value`. None
 * and -1 are the default stream, with *known = 0. 0, or -1 with TypeError. */
int stream_of(PyObject *object, void **stream, int *known);
/* A batch in host memory with the same samples; NULL with an exception. */
hr_batch *batch_to_host(const hr_batch *batch);
hr_batch *tensor_to_host(const tensor_object *tensor); /* the view as a batch of one sample */

/* dlpack.c */
/* `owner` owns the memory of `t`; referenced until the consumer deletes the tensor. */
PyObject *dlpack_export(hr_batch *owner, const hr_tensor *t, int versioned, int copied);
PyObject *dlpack_check(PyObject *module, PyObject *object); /* METH_O */
/* Consumes the capsule and returns the new owner of its memory, or NULL with an exception. Strides
 * are in bytes. */
PyObject *dlpack_import(PyObject *capsule, hr_tensor *tensor, int64_t *strides, int32_t *device);

/* import.c: tries Tensor, buffer protocol, __array_interface__, __dlpack__,
 * __cuda_array_interface__, __array__, in this order. Device memory has to be dense; `stream`, on
 * which it will be used, waits for its producer. `device` is assumed for objects that do not say.
 */
int import_object(core_state *state, PyObject *object, void *stream, int32_t device, imported *out);
void import_release(imported *im);
/* Makes a buffer that keeps the object alive. Consumes `im` except `im->owner`, also on failure. */
int import_adopt(core_state *state, imported *im, hr_buffer **buffer);

/* reaper.c */
reaper *reaper_create(void);
void reaper_close(reaper *r); /* releases nothing from now on: the interpreter ends */
void reaper_drain(reaper *r); /* with the GIL */
/* Steals `object`. Returns the context for reaper_release, or NULL with MemoryError. */
void *reaper_hold(reaper *r, PyObject *object);
void reaper_release(void *held);           /* any thread, with or without the GIL */
PyObject *reaper_object(const void *held); /* borrowed */

/* function.c */
extern PyType_Spec function_call_spec;
/* A function that calls `object` with a FunctionCall; it only keeps a weak reference. The object
 * returns None, or an error message. NULL with an exception. */
hr_function *function_of(core_state *state, PyObject *object);
/* Whether this thread is a worker that is running a Python function. */
int function_inside(void);

#endif
