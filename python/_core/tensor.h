/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Tensors, and their exchange with other libraries. */
#pragma once

#include "core.h"

typedef struct tensor_object {
    PyObject ob_base;
    core_state *state;
    hr_batch *owner; /* owns the memory of `view` */
    hr_tensor view;
    Py_ssize_t extents[2 * HR_MAX_NDIM]; /* shape and strides for the buffer protocol */
    int exports;                         /* exported buffers, whose shapes are in `extents` */
    int pid;
} tensor_object;

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

/* dlpack.c */
/* `owner` owns the memory of `t`; referenced until the consumer deletes the tensor. */
PyObject *dlpack_export(hr_batch *owner, const hr_tensor *t, int versioned, int copied);
PyObject *dlpack_check(PyObject *module, PyObject *object); /* METH_O */
/* Consumes the capsule and returns the new owner of its memory, or NULL with an exception. Strides
 * are in bytes. */
PyObject *dlpack_import(PyObject *capsule, hr_tensor *tensor, int64_t *strides, int32_t *device);
/* DLPack's table for C of the object's type, which is valid as long as the type, or NULL without an
 * exception. */
const struct dl_exchange *dlpack_table(PyObject *object);
/* The same as dlpack_import through the table of the object's type, if the data is complete in the
 * order of `stream`; it calls no Python. NULL without an exception: use its `__dlpack__`. */
PyObject *dlpack_exchange(const struct dl_exchange *table, PyObject *object, void *stream,
                          hr_tensor *tensor, int64_t *strides, int32_t *device);
