/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Python objects seen as tensors. */
#pragma once

#include "tensor.h"

typedef enum import_protocol {
    IMPORT_PROTOCOL_OTHER,
    IMPORT_PROTOCOL_TABLE, /* DLPack's table for C */
    IMPORT_PROTOCOL_DLPACK,
    IMPORT_PROTOCOL_CUDA /* __cuda_array_interface__ */
} import_protocol;

/* A Python object seen as a tensor; `tensor` is dense. */
typedef struct imported {
    hr_tensor tensor;
    PyObject *holder; /* keeps `tensor.data` alive: a memoryview, capsule or Tensor; or NULL */
    int32_t device;   /* the CUDA device, or HR_DEVICE_HOST */
    void *stream;     /* CUDA only: the data is complete after the work queued on this stream */
    void *copy;       /* our dense copy, when the object was not dense; or NULL */
    hr_batch *owner;  /* the batch behind a Tensor, which needs no holder */
    import_protocol protocol;        /* through which it came */
    const struct dl_exchange *table; /* of its type, or NULL */
    int64_t *strides; /* import_strided: the caller's array, which is set if `strided` */
    int strided;
} imported;

/* Tries Tensor, buffer protocol, __array_interface__, DLPack, __cuda_array_interface__,
 * __array__, in this order. Device memory has to be dense; `stream`, on which it will be used,
 * waits for its producer. `device` is assumed for objects that do not say. */
int import_object(core_state *state, PyObject *object, void *stream, int32_t device, imported *out);
/* The same, but device memory need not be dense: otherwise out->strided, and out->strides, an array
 * of HR_MAX_NDIM, gets the strides in bytes. */
int import_strided(core_state *state, PyObject *object, void *stream, int32_t device,
                   int64_t *strides, imported *out);
/* import_object for the first `n` items of a sequence. 0, or -1 with nothing to be released. */
int import_items(core_state *state, PyObject *sequence, Py_ssize_t n, void *stream, int32_t device,
                 imported *items);
void import_release(imported *im);
/* Makes a buffer that keeps the object alive. Consumes `im` except `im->owner`, also on failure. */
int import_adopt(core_state *state, imported *im, hr_buffer **buffer);
/* Makes a buffer that keeps the object alive and does nothing else: nobody waits for a stream.
 * Consumes `im` except `im->owner`, also on failure. */
int import_keep(core_state *state, imported *im, hr_buffer **buffer);
