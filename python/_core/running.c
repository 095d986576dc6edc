/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Pipeline: running it. An exception, which a signal handler may raise after any call, must lose no
 * batch: what run() returns is held until the caller says that it is delivered, and feeding several
 * sources is one step. */
#include "batch.h"
#include "pipeline.h"

#include <time.h>

static PyObject *outputs_tuple(core_state *state, hr_outputs *outputs)
{
    int32_t count = hr_outputs_count(outputs);
    PyObject *tuple = PyTuple_New(count);
    for (int32_t i = 0; tuple && i < count; i++) {
        PyObject *batch = batch_wrap(state, NULL, hr_batch_ref(hr_outputs_batch(outputs, i)));
        if (!batch || PyTuple_SetItem(tuple, i, batch) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* The output slot of each sample; None if that is its index in the batch. */
static PyObject *outputs_slots(const hr_outputs *outputs)
{
    const hr_batch *first = hr_outputs_batch(outputs, 0);
    int32_t count = first ? hr_batch_size(first) : 0;
    if (count == 0 || hr_outputs_slot(outputs, count - 1) == count - 1)
        Py_RETURN_NONE;
    PyObject *slots = PyTuple_New(count);
    for (int32_t i = 0; slots && i < count; i++) {
        PyObject *slot = PyLong_FromLong(hr_outputs_slot(outputs, i));
        if (!slot || PyTuple_SetItem(slots, i, slot) < 0)
            Py_CLEAR(slots);
    }
    return slots;
}

/* Waits for a result of run() for at most SLICE_MS. */
static hr_status step_run(hr_pipeline *p, hr_outputs **outputs, bool *taken, hr_error *error)
{
    hr_status status;
    Py_BEGIN_ALLOW_THREADS
    status = hr_pipeline_take(p, SLICE_MS, outputs, taken, error);
    Py_END_ALLOW_THREADS
    return status;
}

/* The same, but only takes a full batch. A batch that is ready is taken without releasing the GIL,
 * which would take longer. */
static hr_status step_take(hr_pipeline *p, hr_outputs **outputs, bool *taken, hr_error *error)
{
    hr_status status = hr_pipeline_wait(p, 0);
    if (status == HR_STATUS_TIMEOUT) {
        Py_BEGIN_ALLOW_THREADS
        status = hr_pipeline_wait(p, SLICE_MS);
        Py_END_ALLOW_THREADS
    }
    return status == HR_STATUS_OK ? hr_pipeline_take(p, 0, outputs, taken, error) : status;
}

/* Repeats a step while it times out, and checks for signals in between. 0, or -1 with an
 * exception. */
static int pipeline_repeat(pipeline_object *self,
                           hr_status (*step)(hr_pipeline *, hr_outputs **, bool *, hr_error *),
                           hr_status *status, hr_outputs **outputs, bool *taken, hr_error *error)
{
    do {
        if (pipeline_enter(self) < 0)
            return -1;
        *status = step(self->pipeline, outputs, taken, error);
        pipeline_leave(self);
        if (*status == HR_STATUS_TIMEOUT && PyErr_CheckSignals() < 0)
            return -1;
        if (*status == HR_STATUS_TIMEOUT && self->waiting > 0) { /* the lock is not fair */
            Py_BEGIN_ALLOW_THREADS
            nanosleep(&(struct timespec){0, 1000000}, NULL);
            Py_END_ALLOW_THREADS
        }
    } while (*status == HR_STATUS_TIMEOUT);
    return 0;
}

int pipeline_take(PyObject *pipeline, hr_outputs **outputs)
{
    hr_status status;
    bool taken = false;
    if (pipeline_repeat((pipeline_object *)pipeline, step_take, &status, outputs, &taken, NULL) < 0)
        return -1;
    ((pipeline_object *)pipeline)->taken += taken;
    return 0;
}

void pipeline_delivered(PyObject *object)
{
    pipeline_object *self = (pipeline_object *)object;
    if (self->pipeline)
        hr_pipeline_delivered(self->pipeline);
}

/* ---- results that are held ---- */

/* The entry of this thread; made on its first call. NULL with MemoryError. */
static held_result *held_get(pipeline_object *self)
{
    unsigned long thread = PyThread_get_thread_ident();
    held_result *held = self->held;
    while (held && held->thread != thread)
        held = held->next;
    if (held)
        return held;
    held = PyMem_Calloc(1, sizeof(*held) + sizeof(*held->error));
    if (!held) {
        PyErr_NoMemory();
        return NULL;
    }
    held->thread = thread;
    held->error = (hr_error *)(held + 1);
    held->next = self->held;
    self->held = held;
    return held;
}

static void held_drop(held_result *held)
{
    hr_outputs *outputs = held->outputs;
    held->full = held->called = 0;
    held->outputs = NULL;
    hr_outputs_unref(outputs);
}

void running_clear(pipeline_object *self)
{
    for (held_result *held = self->held, *next; held; held = next) {
        next = held->next;
        held_drop(held);
        PyMem_Free(held);
    }
    self->held = NULL;
}

PyObject *running_held(PyObject *object, void *unused)
{
    (void)unused;
    held_result *held = held_get((pipeline_object *)object);
    return held ? PyLong_FromLong(!held->full ? 0 : held->outputs ? 1 : 2) : NULL;
}

int running_delivered(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    pipeline_object *self = (pipeline_object *)object;
    held_result *held = held_get(self);
    if (!held)
        return -1;
    if (value) {
        PyErr_SetString(PyExc_TypeError, "`held` can only be deleted");
        return -1;
    }
    if (held->full)
        pipeline_delivered(object);
    held_drop(held);
    return 0;
}

PyObject *running_failed(PyObject *object, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((pipeline_object *)object)->failed);
}

/* (batches, iteration, positions, slots), or raises the failure. */
static PyObject *held_result_of(pipeline_object *self, const held_result *held)
{
    if (!held->outputs)
        return core_raise(held->error);
    hr_outputs *outputs = held->outputs;
    PyObject *tuple = outputs_tuple(self->state, outputs);
    PyObject *slots = tuple ? outputs_slots(outputs) : NULL;
    PyObject *result = NULL;
    if (slots)
        result = Py_BuildValue("(OLiO)", tuple, (long long)hr_outputs_iteration(outputs),
                               hr_outputs_positions(outputs), slots);
    Py_XDECREF(tuple);
    Py_XDECREF(slots);
    return result;
}

PyObject *running_run(PyObject *object, PyObject *unused)
{
    (void)unused;
    pipeline_object *self = (pipeline_object *)object;
    held_result *held = held_get(self);
    hr_status status = HR_STATUS_OK;
    bool taken = false;
    self->failed = 0;
    if (!held)
        return NULL;
    if (!held->full &&
        pipeline_repeat(self, step_run, &status, &held->outputs, &taken, held->error) < 0)
        return NULL;
    held->full = held->full || taken;
    self->taken += taken;
    self->failed = !held->outputs;
    return held->full ? held_result_of(self, held) : core_raise(held->error);
}

/* ---- feeding, calls ---- */

typedef struct feedings {
    hr_feeding room[16], *feeding; /* `room`, or allocated */
    hr_batch *batch_room[64], **batch;
    int32_t count, batches;
} feedings;

static void feedings_fini(feedings *f)
{
    if (f->feeding != f->room)
        PyMem_Free(f->feeding);
    if (f->batch != f->batch_room)
        PyMem_Free(f->batch);
}

/* Room for so many; 0, or -1 with MemoryError. */
static int feedings_init(feedings *f, Py_ssize_t count, Py_ssize_t batches)
{
    f->count = f->batches = 0;
    f->feeding = f->room;
    f->batch = f->batch_room;
    if (count > (Py_ssize_t)(sizeof(f->room) / sizeof(f->room[0])))
        f->feeding = PyMem_Calloc((size_t)count, sizeof(*f->feeding));
    if (batches > (Py_ssize_t)(sizeof(f->batch_room) / sizeof(f->batch_room[0])))
        f->batch = PyMem_Calloc((size_t)batches, sizeof(*f->batch));
    if (f->feeding && f->batch)
        return 0;
    PyErr_NoMemory();
    feedings_fini(f);
    return -1;
}

/* Adds (node, batches); 0 or -1. The tuples hold the batches. */
static int feedings_add(pipeline_object *self, feedings *f, PyObject *item)
{
    PyObject *batches = PyTuple_GetItem(item, 1);
    hr_feeding *feeding = &f->feeding[f->count++];
    feeding->node = (int32_t)PyLong_AsLong(PyTuple_GetItem(item, 0));
    feeding->count = (int32_t)PyTuple_Size(batches);
    feeding->batches = f->batch + f->batches;
    for (Py_ssize_t i = 0; i < PyTuple_Size(batches); i++) {
        hr_batch *batch = batch_get(self->state, PyTuple_GetItem(batches, i));
        if (!batch)
            return -1;
        f->batch[f->batches++] = batch;
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* Of a tuple of (node, tuple of batches): nobody changes tuples meanwhile. */
static int feedings_of(pipeline_object *self, feedings *f, PyObject *sequence)
{
    Py_ssize_t count = PyTuple_Check(sequence) ? PyTuple_Size(sequence) : -1, batches = 0;
    for (Py_ssize_t i = 0; i < count && batches >= 0; i++) {
        PyObject *item = PyTuple_GetItem(sequence, i);
        bool pair = PyTuple_Check(item) && PyTuple_Size(item) == 2 &&
                    PyLong_Check(PyTuple_GetItem(item, 0)) &&
                    PyTuple_Check(PyTuple_GetItem(item, 1));
        batches = pair ? batches + PyTuple_Size(PyTuple_GetItem(item, 1)) : -1;
    }
    if (count < 0 || batches < 0) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of (node, tuple of batches)");
        return -1;
    }
    if (feedings_init(f, count, batches) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (feedings_add(self, f, PyTuple_GetItem(sequence, i)) < 0) {
            feedings_fini(f);
            return -1;
        }
    }
    return 0;
}

int running_feed(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    pipeline_object *self = (pipeline_object *)object;
    feedings f;
    hr_error error = {0};
    hr_status status;
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "`fed` can only be assigned to");
        return -1;
    }
    if (feedings_of(self, &f, value) < 0)
        return -1;
    if (pipeline_enter(self) < 0) {
        feedings_fini(&f);
        return -1;
    }
    Py_BEGIN_ALLOW_THREADS
    status = hr_pipeline_feed_all(self->pipeline, f.feeding, f.count, &error);
    Py_END_ALLOW_THREADS
    pipeline_leave(self);
    feedings_fini(&f);
    if (status == HR_STATUS_OK)
        return 0;
    core_raise(&error);
    return -1;
}

/* Whether an exception ends the call. Called without the GIL. */
static bool stop_call(void *context)
{
    PyThreadState **thread = context;
    PyEval_RestoreThread(*thread);
    bool stop = PyErr_CheckSignals() < 0;
    *thread = PyEval_SaveThread();
    return stop;
}

/* hr_pipeline_call without the GIL. 0, or -1 with the exception of a signal handler. */
static int call_engine(pipeline_object *self, hr_call *call, held_result *held, bool *taken,
                       hr_status *status)
{
    PyThreadState *thread;
    call->stop = stop_call;
    call->context = &thread;
    if (pipeline_enter(self) < 0)
        return -1;
    call->again = held->full && held->outputs;
    self->taken -= call->again;
    held_drop(held);
    thread = PyEval_SaveThread();
    *status = hr_pipeline_call(self->pipeline, call, &held->outputs, taken, held->error);
    PyEval_RestoreThread(thread);
    pipeline_leave(self);
    self->taken += *taken;
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *running_call(PyObject *object, PyObject *args)
{
    pipeline_object *self = (pipeline_object *)object;
    PyObject *sequence, *result = NULL;
    long long seed = -1, sample = -1;
    int hold = 0;
    bool taken = false;
    feedings f;
    held_result *held = held_get(self);
    hr_status status = HR_STATUS_OK;
    self->failed = 0;
    if (!held || !PyArg_ParseTuple(args, "O|LLp:call", &sequence, &seed, &sample, &hold))
        return NULL;
    if (held->full && !held->called) {
        PyErr_SetString(
            PyExc_RuntimeError,
            "run() was interrupted, and its batch waits to be taken: call run() without "
            "inputs first");
        return NULL;
    }
    if (feedings_of(self, &f, sequence) < 0)
        return NULL;
    hr_call call = {f.feeding, f.count, seed, sample, .hold = hold};
    int failed = call_engine(self, &call, held, &taken, &status);
    feedings_fini(&f);
    if (failed)
        return NULL;
    self->failed = status != HR_STATUS_OK;
    held->full = held->called = hold && taken;
    if (self->failed)
        return core_raise(held->error);
    if (hold)
        return held_result_of(self, held);
    result = outputs_tuple(self->state, held->outputs);
    held_drop(held);
    return result;
}

PyObject *running_taken(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(((pipeline_object *)object)->taken);
}
