/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Batches, and making them from Python objects. */
#pragma once

#include "core.h"

/* pid: a forked child leaks the objects of its parent, because their locks may be held forever. */
typedef struct batch_object {
    PyObject ob_base;
    core_state *state; /* lives as long as the module, which the object holds */
    hr_batch *batch;
    int pid;
} batch_object;

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
