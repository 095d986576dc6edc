/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Pipeline: calls that may block release the GIL, and wake up often enough for Ctrl-C. */
#include "batch.h"
#include "function.h"
#include "pipeline.h"
#include "threads.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int pipeline_enter(pipeline_object *self)
{
    if (self->pid != getpid()) { /* a thread of the parent may have held the lock */
        PyErr_SetString(PyExc_RuntimeError,
                        "This pipeline was built before the process forked: it cannot be used "
                        "in the child. Build one there.");
        return -1;
    }
    reaper_drain(self->state->reaper);
    if (!PyThread_acquire_lock(self->lock, NOWAIT_LOCK)) {
        PyLockStatus got = PY_LOCK_FAILURE;
        self->waiting++;
        while (got != PY_LOCK_ACQUIRED) {
            Py_BEGIN_ALLOW_THREADS
            got = PyThread_acquire_lock_timed(self->lock, SLICE_MS * 1000LL, 0);
            Py_END_ALLOW_THREADS
            if (got != PY_LOCK_ACQUIRED && PyErr_CheckSignals() < 0) {
                self->waiting--;
                return -1;
            }
        }
        self->waiting--;
    }
    if (!self->pipeline) {
        PyThread_release_lock(self->lock);
        PyErr_SetString(PyExc_RuntimeError, "This pipeline has been closed.");
        return -1;
    }
    return 0;
}

void pipeline_leave(pipeline_object *self)
{
    PyThread_release_lock(self->lock);
}

/* ---- creating ---- */

typedef struct create_args {
    PyObject *graph;
    hr_pipeline_options options;
    const char *on_error;
    Py_ssize_t host_memory_limit, read_ahead_limit, device_memory_limit;
    long long seed, max_image_pixels, index_memory_limit;
    int fuse, strict, set_affinity, run_here, index_transcode;
    PyObject *checkpoint, *quarantine, *trace, *index_cache, *thread_pool;
} create_args;

static int take_on_error(const char *word, hr_on_error *out)
{
    static const char *const words[] = {"raise", "replace", "skip"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(word, words[i]) == 0) {
            *out = (hr_on_error)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError,
                 "on_error must be \"raise\", \"replace\" or \"skip\", not \"%s\"", word);
    return -1;
}

static int parse_create(PyObject *args, PyObject *kwargs, create_args *a)
{
    static char *names[] = {"graph",
                            "batch_size",
                            "num_threads",
                            "prefetch_queue_depth",
                            "seed",
                            "on_error",
                            "fuse",
                            "strict",
                            "set_affinity",
                            "host_memory_limit",
                            "read_ahead_limit",
                            "max_image_pixels",
                            "index_memory_limit",
                            "index_cache",
                            "quarantine",
                            "trace",
                            "checkpoint",
                            "cpu_level",
                            "device_id",
                            "device_memory_limit",
                            "run_here",
                            "index_transcode",
                            "thread_pool",
                            "num_shards",
                            "shard_id",
                            NULL};
    hr_pipeline_options *o = &a->options;
    hr_pipeline_options_init(o);
    a->seed = a->index_memory_limit = -1;
    a->on_error = "raise";
    a->fuse = 1;
    if (!PyArg_ParseTupleAndKeywords(
            args, kwargs, "Oii|$iLspppnnLLOOOOiinppOii:Pipeline", names, &a->graph, &o->batch_size,
            &o->num_threads, &o->prefetch_queue_depth, &a->seed, &a->on_error, &a->fuse, &a->strict,
            &a->set_affinity, &a->host_memory_limit, &a->read_ahead_limit, &a->max_image_pixels,
            &a->index_memory_limit, &a->index_cache, &a->quarantine, &a->trace, &a->checkpoint,
            &o->cpu_level, &o->device_id, &a->device_memory_limit, &a->run_here,
            &a->index_transcode, &a->thread_pool, &o->num_shards, &o->shard_id))
        return -1;
    o->seed = a->seed;
    o->fuse = a->fuse;
    o->run_here = a->run_here;
    o->index_transcode = a->index_transcode;
    o->strict = a->strict;
    o->set_affinity = a->set_affinity;
    o->max_image_pixels = a->max_image_pixels;
    o->index_memory_limit = a->index_memory_limit;
    if (a->host_memory_limit < 0 || a->read_ahead_limit < 0 || a->device_memory_limit < 0 ||
        a->max_image_pixels < 0) {
        PyErr_SetString(PyExc_ValueError, "limits must not be negative");
        return -1;
    }
    o->host_memory_limit = (size_t)a->host_memory_limit;
    o->read_ahead_limit = (size_t)a->read_ahead_limit;
    o->device_memory_limit = (size_t)a->device_memory_limit;
    return take_on_error(a->on_error, &o->on_error);
}

/* Encodes a path for the file system; 0 or -1. `*bytes` is a new reference or NULL. */
static int path_of(PyObject *path, PyObject **bytes, const char **text)
{
    if (!path || path == Py_None)
        return 0;
    if (!PyUnicode_FSConverter(path, bytes))
        return -1;
    *text = PyBytes_AsString(*bytes);
    return *text ? 0 : -1;
}

/* A pipeline that a thread of its own creates, so that this one can look for Ctrl-C: listing a
 * bucket or reading the index of a remote archive may take long. */
typedef struct creation {
    const hr_graph *graph;
    hr_pipeline_options *options;
    hr_pipeline *pipeline;
    hr_error error;
    hr_status status;
    bool interrupt;
    PyThread_type_lock done; /* held until the thread has ended its work */
} creation;

static void *create_main(void *context)
{
    creation *c = context;
    c->status = hr_pipeline_create(&c->pipeline, c->graph, c->options, &c->error);
    PyThread_release_lock(c->done);
    return NULL;
}

/* Signals are for the threads of the program. */
static bool start_creating(creation *c, pthread_t *thread)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    bool started = pthread_create(thread, NULL, create_main, c) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return started;
}

/* Creates the pipeline; 0, or -1 with an exception. */
static int create(pipeline_object *self, const hr_graph *graph, hr_pipeline_options *options)
{
    pthread_t thread;
    creation c = {.graph = graph, .options = options, .done = PyThread_allocate_lock()};
    if (!c.done) {
        PyErr_NoMemory();
        return -1;
    }
    options->interrupt = &c.interrupt;
    PyThread_acquire_lock(c.done, WAIT_LOCK);
    bool started = start_creating(&c, &thread), done = !started;
    if (!started) {
        Py_BEGIN_ALLOW_THREADS
        create_main(&c);
        Py_END_ALLOW_THREADS
    }
    while (!done) {
        Py_BEGIN_ALLOW_THREADS
        done = PyThread_acquire_lock_timed(c.done, SLICE_MS * 1000LL, 0) == PY_LOCK_ACQUIRED;
        Py_END_ALLOW_THREADS
        if (!done && !c.interrupt && PyErr_CheckSignals() < 0)
            __atomic_store_n(&c.interrupt, true, __ATOMIC_SEQ_CST);
    }
    if (started) {
        pthread_join(thread, NULL);
        PyThread_release_lock(c.done);
    }
    PyThread_free_lock(c.done);
    self->pipeline = c.pipeline; /* destroyed with `self` if there is an exception */
    if (c.status != HR_STATUS_OK && !c.interrupt)
        core_raise(&c.error);
    return c.status == HR_STATUS_OK && !c.interrupt ? 0 : -1;
}

static PyObject *pipeline_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    core_state *state = PyType_GetModuleState(type);
    create_args a = {0};
    PyObject *quarantine = NULL, *trace = NULL, *index_cache = NULL;
    pipeline_object *self = NULL;
    if (!state || parse_create(args, kwargs, &a) < 0)
        return NULL;
    if (!PyObject_TypeCheck(a.graph, state->graph_type)) {
        PyErr_SetString(PyExc_TypeError, "Pipeline: the first argument must be a Graph");
        return NULL;
    }
    if (threads_get(state, a.thread_pool, &a.options.thread_pool) < 0 ||
        path_of(a.quarantine, &quarantine, &a.options.quarantine) < 0 ||
        path_of(a.trace, &trace, &a.options.trace) < 0 ||
        path_of(a.index_cache, &index_cache, &a.options.index_cache) < 0)
        goto cleanup;
    if (a.checkpoint && a.checkpoint != Py_None) {
        char *data;
        Py_ssize_t size;
        if (PyBytes_AsStringAndSize(a.checkpoint, &data, &size) < 0)
            goto cleanup;
        a.options.checkpoint = data;
        a.options.checkpoint_size = (size_t)size;
    }
    self = (pipeline_object *)PyType_GenericAlloc(type, 0);
    if (!self)
        goto cleanup;
    self->state = core_hold(state);
    self->pid = getpid();
    self->lock = PyThread_allocate_lock();
    if (!self->lock) {
        PyErr_NoMemory();
        Py_CLEAR(self);
        goto cleanup;
    }
    if (create(self, graph_get(a.graph), &a.options) < 0)
        Py_CLEAR(self);
    else
        self->feed_pool = hr_pipeline_feed_pool(self->pipeline);
cleanup:
    Py_XDECREF(quarantine);
    Py_XDECREF(trace);
    Py_XDECREF(index_cache);
    return (PyObject *)self;
}

static void *destroy_main(void *pipeline)
{
    hr_pipeline_destroy(pipeline);
    return NULL;
}

/* Warns if the trace could not be written. Destroys the pipeline without the GIL, because its
 * workers may need it. If the last reference is dropped inside a function that one of its workers
 * runs, the worker cannot wait for itself, and another thread does. */
static void destroy(hr_pipeline *pipeline)
{
    pthread_t thread;
    hr_error error = {0};
    hr_status status = HR_STATUS_OK;
    Py_BEGIN_ALLOW_THREADS
    if (!function_inside())
        status = hr_pipeline_close(pipeline, &error);
    else if (pthread_create(&thread, NULL, destroy_main, pipeline) == 0)
        pthread_detach(thread);
    Py_END_ALLOW_THREADS
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (status != HR_STATUS_OK && PyErr_WarnEx(PyExc_RuntimeWarning, error.message, 1) < 0)
        PyErr_WriteUnraisable(NULL);
    PyErr_Restore(type, value, traceback);
}

static PyObject *pipeline_close(PyObject *object, PyObject *unused)
{
    (void)unused;
    pipeline_object *self = (pipeline_object *)object;
    if (!self->pipeline || self->pid != getpid())
        Py_RETURN_NONE;
    if (pipeline_enter(self) < 0)
        return NULL;
    hr_pipeline *pipeline = self->pipeline;
    self->pipeline = NULL;
    pipeline_leave(self);
    destroy(pipeline);
    reaper_drain(self->state->reaper);
    Py_RETURN_NONE;
}

static void pipeline_dealloc(PyObject *object)
{
    pipeline_object *self = (pipeline_object *)object;
    if (self->pid == getpid()) {
        if (self->pipeline) { /* no other thread can use it any more */
            destroy(self->pipeline);
            reaper_drain(self->state->reaper);
        }
        running_clear(self);
        if (self->lock)
            PyThread_free_lock(self->lock);
        hr_pool_unref(self->feed_pool);
    }
    core_dispose_held(object, self->state);
}

/* ---- feeding, state ---- */

static PyObject *pipeline_feed_room(PyObject *object, PyObject *arg)
{
    pipeline_object *self = (pipeline_object *)object;
    long node = PyLong_AsLong(arg);
    if ((node == -1 && PyErr_Occurred()) || pipeline_enter(self) < 0)
        return NULL;
    int32_t room;
    Py_BEGIN_ALLOW_THREADS
    room = hr_pipeline_feed_room(self->pipeline, (int32_t)node);
    Py_END_ALLOW_THREADS
    pipeline_leave(self);
    return PyLong_FromLong(room);
}

static PyObject *pipeline_note_feeding(PyObject *object, PyObject *arg)
{
    pipeline_object *self = (pipeline_object *)object;
    long long ns = PyLong_AsLongLong(arg);
    if ((ns == -1 && PyErr_Occurred()) || pipeline_enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    hr_pipeline_note_feeding(self->pipeline, ns);
    Py_END_ALLOW_THREADS
    pipeline_leave(self);
    Py_RETURN_NONE;
}

static PyObject *pipeline_reseed(PyObject *object, PyObject *arg)
{
    pipeline_object *self = (pipeline_object *)object;
    long long seed = PyLong_AsLongLong(arg);
    if ((seed == -1 && PyErr_Occurred()) || pipeline_enter(self) < 0)
        return NULL;
    hr_error error = {0};
    hr_status status = hr_pipeline_reseed(self->pipeline, seed, &error);
    pipeline_leave(self);
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *pipeline_schedule(PyObject *object, PyObject *arg)
{
    pipeline_object *self = (pipeline_object *)object;
    long count = PyLong_AsLong(arg);
    if ((count == -1 && PyErr_Occurred()) || pipeline_enter(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    hr_pipeline_schedule(self->pipeline, (int32_t)count);
    Py_END_ALLOW_THREADS
    pipeline_leave(self);
    Py_RETURN_NONE;
}

static PyObject *pipeline_pending(PyObject *object, PyObject *unused)
{
    (void)unused;
    pipeline_object *self = (pipeline_object *)object;
    if (pipeline_enter(self) < 0)
        return NULL;
    int32_t pending;
    Py_BEGIN_ALLOW_THREADS
    pending = hr_pipeline_pending(self->pipeline);
    Py_END_ALLOW_THREADS
    pipeline_leave(self);
    return PyLong_FromLong(pending);
}

static PyObject *pipeline_use_torch_memory(PyObject *object, PyObject *unused)
{
    (void)unused;
    pipeline_object *self = (pipeline_object *)object;
    const hr_device_allocator *allocator = torch_allocator();
    if (!allocator)
        Py_RETURN_FALSE;
    if (pipeline_enter(self) < 0)
        return NULL;
    hr_pipeline_set_device_allocator(self->pipeline, allocator);
    pipeline_leave(self);
    Py_RETURN_TRUE;
}

/* ---- reports ---- */

static PyObject *pipeline_reader_meta(PyObject *object, PyObject *arg)
{
    pipeline_object *self = (pipeline_object *)object;
    long node = PyLong_AsLong(arg);
    if ((node == -1 && PyErr_Occurred()) || pipeline_enter(self) < 0)
        return NULL;
    hr_error error = {0};
    hr_reader_meta m;
    hr_status status = hr_pipeline_reader_meta(self->pipeline, (int32_t)node, &m, &error);
    pipeline_leave(self);
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    return Py_BuildValue(
        "{s:L,s:L,s:i,s:i,s:i,s:i,s:L,s:L,s:O,s:L,s:L}", "epoch_size", (long long)m.epoch_size,
        "epoch_size_padded", (long long)m.epoch_size_padded, "number_of_shards", m.number_of_shards,
        "shard_id", m.shard_id, "pad_last_batch", (int)m.pad_last_batch, "stick_to_shard",
        (int)m.stick_to_shard, "rest_size", (long long)m.rest_size, "first_epoch",
        (long long)m.first_epoch, "resplit", m.resplit ? Py_True : Py_False, "position",
        (long long)m.position, "global_batch", (long long)m.global_batch);
}

static PyObject *text_bytes(char *text, size_t size)
{
    PyObject *bytes = PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
    hr_string_free(text);
    return bytes;
}

static PyObject *pipeline_checkpoint(PyObject *object, PyObject *unused)
{
    (void)unused;
    pipeline_object *self = (pipeline_object *)object;
    if (pipeline_enter(self) < 0)
        return NULL;
    hr_error error = {0};
    char *text = NULL;
    size_t size = 0;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS
    status = hr_pipeline_checkpoint(self->pipeline, &text, &size, &error);
    Py_END_ALLOW_THREADS
    pipeline_leave(self);
    return status == HR_STATUS_OK ? text_bytes(text, size) : core_raise(&error);
}

static PyObject *pipeline_seek(PyObject *object, PyObject *arg)
{
    pipeline_object *self = (pipeline_object *)object;
    long long step = PyLong_AsLongLong(arg);
    if ((step == -1 && PyErr_Occurred()) || pipeline_enter(self) < 0)
        return NULL;
    hr_error error = {0};
    hr_status status = hr_pipeline_seek(self->pipeline, step, &error);
    pipeline_leave(self);
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *pipeline_leave_out(PyObject *object, PyObject *args)
{
    pipeline_object *self = (pipeline_object *)object;
    long long first, end;
    if (!PyArg_ParseTuple(args, "LL:leave_out", &first, &end) || pipeline_enter(self) < 0)
        return NULL;
    hr_error error = {0};
    hr_status status = hr_pipeline_leave_out(self->pipeline, first, end, &error);
    pipeline_leave(self);
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *pipeline_batch_size(PyObject *object, void *unused)
{
    (void)unused;
    pipeline_object *self = (pipeline_object *)object;
    if (pipeline_enter(self) < 0)
        return NULL;
    int32_t size = hr_pipeline_batch_size(self->pipeline);
    pipeline_leave(self);
    return PyLong_FromLong(size);
}

/* checkpoint_at_epoch(batches, positions); None: a source only goes forward */
static PyObject *pipeline_checkpoint_at_epoch(PyObject *object, PyObject *args)
{
    pipeline_object *self = (pipeline_object *)object;
    long long batches, positions;
    if (!PyArg_ParseTuple(args, "LL", &batches, &positions) || pipeline_enter(self) < 0)
        return NULL;
    hr_error error = {0};
    char *text = NULL;
    size_t size = 0;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS
    status = hr_checkpoint_at_epoch(self->pipeline, batches, positions, &text, &size, &error);
    Py_END_ALLOW_THREADS
    pipeline_leave(self);
    if (status == HR_STATUS_NOT_IMPLEMENTED)
        Py_RETURN_NONE;
    return status == HR_STATUS_OK ? text_bytes(text, size) : core_raise(&error);
}

typedef hr_status (*report_fn)(hr_pipeline *pipeline, char **text, hr_error *error);

static PyObject *report(PyObject *object, report_fn function)
{
    pipeline_object *self = (pipeline_object *)object;
    if (pipeline_enter(self) < 0)
        return NULL;
    hr_error error = {0};
    char *text = NULL;
    hr_status status;
    Py_BEGIN_ALLOW_THREADS
    status = function(self->pipeline, &text, &error);
    Py_END_ALLOW_THREADS
    pipeline_leave(self);
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    PyObject *result = core_text(text);
    hr_string_free(text);
    return result;
}

static PyObject *pipeline_stats(PyObject *self, PyObject *unused)
{
    (void)unused;
    return report(self, hr_pipeline_stats);
}

static PyObject *pipeline_explain(PyObject *self, PyObject *unused)
{
    (void)unused;
    return report(self, hr_pipeline_explain);
}

static PyObject *pipeline_errors(PyObject *self, PyObject *unused)
{
    (void)unused;
    return report(self, hr_pipeline_errors);
}

static PyObject *pipeline_describe(PyObject *self, PyObject *unused)
{
    (void)unused;
    return report(self, hr_pipeline_describe);
}

static PyMethodDef pipeline_methods[] = {
    {"run", running_run, METH_NOARGS,
     "run() -> ((Batch, ...), iteration, positions, slots). This thread gets the same result again "
     "until `held` is deleted."},
    {"call", running_call, METH_VARARGS,
     "call(((node, batches), ...), seed, sample, hold): feeds and takes. Returns the batches or, "
     "with `hold`, what run() returns; until `held` is deleted, the next call repeats this one. "
     "seed >= 0: as reseed; sample >= 0: number of the first one."},
    {"feed_room", pipeline_feed_room, METH_O,
     "feed_room(node) -> int: batches that the source accepts now."},
    {"note_feeding", pipeline_note_feeding, METH_O,
     "note_feeding(ns): time spent on producing data to feed."},
    {"reseed", pipeline_reseed, METH_O, "reseed(seed): begins again with this seed."},
    {"schedule", pipeline_schedule, METH_O,
     "schedule(count): functions may run for the next iterations."},
    {"pending", pipeline_pending, METH_NOARGS,
     "pending() -> int: iterations started and not yet taken."},
    {"use_torch_memory", pipeline_use_torch_memory, METH_NOARGS,
     "use_torch_memory() -> bool: allocates outputs on a device with PyTorch from now on."},
    {"reader_meta", pipeline_reader_meta, METH_O, "reader_meta(node) -> dict"},
    {"checkpoint", pipeline_checkpoint, METH_NOARGS, "checkpoint() -> bytes"},
    {"checkpoint_at_epoch", pipeline_checkpoint_at_epoch, METH_VARARGS,
     "checkpoint_at_epoch(batches, positions) -> bytes or None"},
    {"seek", pipeline_seek, METH_O, "seek(step): the next iteration is this one."},
    {"leave_out", pipeline_leave_out, METH_VARARGS,
     "leave_out(first, end): of the iterations to come, these are left out."},
    {"stats", pipeline_stats, METH_NOARGS, "stats() -> str: JSON"},
    {"explain", pipeline_explain, METH_NOARGS, "explain() -> str"},
    {"errors", pipeline_errors, METH_NOARGS, "errors() -> str: JSON"},
    {"describe", pipeline_describe, METH_NOARGS, "describe() -> str: the plan"},
    {"close", pipeline_close, METH_NOARGS, "close(): cancels and joins; later calls fail."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef pipeline_getset[] = {
    {"held", running_held, running_delivered,
     "What run() or call() holds for this thread: 0 nothing, 1 a result, 2 a failure. del: it was "
     "delivered.",
     NULL},
    {"fed", NULL, running_feed,
     "Write: ((node, batches), ...) feeds all of these sources, or raises and feeds none.", NULL},
    {"failed", running_failed, NULL,
     "Whether the engine, not a signal handler, failed the last run() or call().", NULL},
    {"batch_size", pipeline_batch_size, NULL, "Samples in a batch of readers.", NULL},
    {"taken", running_taken, NULL, "Iterations taken, including those that failed or are held.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot pipeline_slots[] = {
    {Py_tp_new, pipeline_new},         {Py_tp_dealloc, pipeline_dealloc},
    {Py_tp_methods, pipeline_methods}, {Py_tp_getset, pipeline_getset},
    {Py_tp_doc, "A running graph."},   {0, NULL}};

PyType_Spec pipeline_spec = {.name = "headrace._core.Pipeline",
                             .basicsize = sizeof(pipeline_object),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                             .slots = pipeline_slots};
