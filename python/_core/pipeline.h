/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Graphs, pipelines, and taking batches from them. */
#pragma once

#include "core.h"

/* graph.c */
extern PyType_Spec graph_spec;
const hr_graph *graph_get(PyObject *self); /* the object must be a Graph */

/* pipeline.c */
extern PyType_Spec pipeline_spec;
/* Waits for the next iteration and takes it if it is a full batch; otherwise `*outputs` is
 * unchanged. 0, or -1 with an exception. */
int pipeline_take(PyObject *pipeline, hr_outputs **outputs);
void pipeline_delivered(PyObject *pipeline);

/* running.c: run(), call(), `fed`, `held` */
PyObject *running_run(PyObject *self, PyObject *unused);
PyObject *running_call(PyObject *self, PyObject *args);
PyObject *running_held(PyObject *self, void *unused);
int running_delivered(PyObject *self, PyObject *value, void *unused);
int running_feed(PyObject *self, PyObject *value, void *unused);
PyObject *running_failed(PyObject *self, void *unused);
PyObject *running_taken(PyObject *self, void *unused);
void running_clear(pipeline_object *self);
int pipeline_enter(pipeline_object *self); /* 0 with the lock held, or -1 with an exception */
void pipeline_leave(pipeline_object *self);

enum { SLICE_MS = 100 }; /* between two looks for Ctrl-C */

/* torch_memory.c: PyTorch's allocator for outputs; NULL if PyTorch is not loaded or too old. */
const hr_device_allocator *torch_allocator(void);

/* taker.c */
extern PyType_Spec taker_spec;

/* epochs.c */
extern PyType_Spec epochs_spec;
