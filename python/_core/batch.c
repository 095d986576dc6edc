/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Batch, the storage of TensorListCPU and TensorListGPU, and making batches from Python objects. */
#include "batch.h"
#include "import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

PyObject *batch_wrap(core_state *state, PyTypeObject *type, hr_batch *batch)
{
    if (!type)
        type = (PyTypeObject *)state->batch_class[hr_batch_device(batch) >= 0];
    batch_object *self = type ? (batch_object *)PyType_GenericAlloc(type, 0) : NULL;
    if (!self) {
        if (!type)
            PyErr_SetString(PyExc_RuntimeError, "the interpreter is shutting down");
        hr_batch_unref(batch);
        return NULL;
    }
    self->state = core_hold(state);
    self->batch = batch;
    self->pid = getpid();
    return (PyObject *)self;
}

hr_batch *batch_get(core_state *state, PyObject *object)
{
    if (!PyObject_TypeCheck(object, state->batch_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a Batch");
        return NULL;
    }
    return ((batch_object *)object)->batch;
}

static void batch_dealloc(PyObject *object)
{
    batch_object *self = (batch_object *)object;
    if (self->batch && self->pid == getpid()) {
        hr_batch_unref(self->batch);
        reaper_drain(self->state->reaper);
    }
    core_dispose_held(object, self->state);
}

/* ---- reading ---- */

static Py_ssize_t batch_length(PyObject *self)
{
    return hr_batch_size(((batch_object *)self)->batch);
}

static PyObject *batch_item(PyObject *object, Py_ssize_t i)
{
    batch_object *self = (batch_object *)object;
    const hr_tensor *view =
        i >= 0 && i < INT32_MAX ? hr_batch_tensor(self->batch, (int32_t)i) : NULL;
    if (!view) {
        PyErr_Format(PyExc_IndexError, "sample %zd is out of range: the batch has %d", i,
                     (int)hr_batch_size(self->batch));
        return NULL;
    }
    return tensor_wrap(self->state, tensor_class_of(self->state, self->batch), self->batch, view);
}

static PyObject *batch_dense(PyObject *object, PyObject *unused)
{
    (void)unused;
    batch_object *self = (batch_object *)object;
    hr_tensor view;
    if (!hr_batch_dense(self->batch, &view))
        Py_RETURN_NONE;
    return tensor_wrap(self->state, tensor_class_of(self->state, self->batch), self->batch, &view);
}

static PyObject *batch_host_copy(PyObject *object, PyObject *unused)
{
    (void)unused;
    batch_object *self = (batch_object *)object;
    hr_batch *host = batch_to_host(self->batch);
    return host ? batch_wrap(self->state, NULL, host) : NULL;
}

static PyObject *batch_device(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromLong(hr_batch_device(((batch_object *)object)->batch));
}

static PyObject *batch_shapes(PyObject *object, PyObject *unused)
{
    (void)unused;
    hr_batch *batch = ((batch_object *)object)->batch;
    int32_t count = hr_batch_size(batch);
    PyObject *list = PyList_New(count);
    for (int32_t i = 0; list && i < count; i++) {
        const hr_shape *shape = &hr_batch_tensor(batch, i)->shape;
        PyObject *tuple = PyTuple_New(shape->ndim);
        if (tuple)
            PyList_SetItem(list, i, tuple);
        else
            Py_CLEAR(list);
        for (int32_t d = 0; tuple && d < shape->ndim; d++)
            PyTuple_SetItem(tuple, d, PyLong_FromLongLong(shape->extent[d]));
    }
    return list;
}

static PyObject *batch_layout(PyObject *object, PyObject *unused)
{
    (void)unused;
    return core_text(hr_batch_layout(((batch_object *)object)->batch));
}

static PyObject *batch_set_layout(PyObject *object, PyObject *layout)
{
    PyObject *bytes = PyUnicode_AsUTF8String(layout);
    if (!bytes)
        return NULL;
    hr_error error = {0};
    hr_status status =
        hr_batch_set_layout(((batch_object *)object)->batch, PyBytes_AsString(bytes), &error);
    Py_DECREF(bytes);
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *batch_dtype(PyObject *object, void *unused)
{
    (void)unused;
    const hr_tensor *first = hr_batch_tensor(((batch_object *)object)->batch, 0);
    return PyLong_FromLong(first ? first->dtype : HR_DTYPE_NONE);
}

static PyObject *batch_ndim(PyObject *object, PyObject *unused)
{
    (void)unused;
    const hr_tensor *first = hr_batch_tensor(((batch_object *)object)->batch, 0);
    return PyLong_FromLong(first ? first->shape.ndim : 0);
}

/* _assign(batch): shares its samples from now on. Tensors taken before are unchanged. */
static PyObject *batch_assign(PyObject *object, PyObject *other)
{
    batch_object *self = (batch_object *)object;
    hr_batch *batch = batch_get(self->state, other);
    if (!batch)
        return NULL;
    hr_batch *old = self->batch;
    self->batch = hr_batch_ref(batch);
    hr_batch_unref(old);
    reaper_drain(self->state->reaper);
    Py_RETURN_NONE;
}

/* ---- making ---- */

typedef struct make_args {
    PyObject *type, *object;
    const char *layout;
    int copy;
    int32_t device; /* destination, or HR_DEVICE_HOST */
    void *stream;   /* CUDA only: copies are queued on it */
    int known;      /* the caller gave the stream */
    hr_pool *pool;  /* for copies in host memory, or NULL */
} make_args;

/* The pipeline's pool for batches to be fed; NULL for None, and in a forked child, which cannot
 * feed. The reference is borrowed. 0, or -1 with TypeError if the object is not a Pipeline. */
static int feed_pool_of(core_state *state, PyObject *object, hr_pool **pool)
{
    *pool = NULL;
    if (object == Py_None)
        return 0;
    if (!PyObject_TypeCheck(object, state->pipeline_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a Pipeline");
        return -1;
    }
    const pipeline_object *self = (pipeline_object *)object;
    if (self->pid == getpid())
        *pool = self->feed_pool;
    return 0;
}

static int parse_make(PyObject *module, PyObject *args, PyObject *kwargs, PyTypeObject *base,
                      make_args *a)
{
    static char *names[] = {"cls",    "object", "layout",   "copy",
                            "stream", "device", "pipeline", NULL};
    core_state *state = PyModule_GetState(module);
    PyObject *stream = Py_None, *pipeline = Py_None;
    *a = (make_args){.copy = 1, .device = HR_DEVICE_HOST};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|zpOiO:make", names, &a->type, &a->object,
                                     &a->layout, &a->copy, &stream, &a->device, &pipeline) ||
        stream_of(stream, &a->stream, &a->known) < 0 || feed_pool_of(state, pipeline, &a->pool) < 0)
        return -1;
    if (PyType_Check(a->type) && PyType_IsSubtype((PyTypeObject *)a->type, base))
        return 0;
    PyErr_Format(PyExc_TypeError, "the first argument must be a subclass of %s",
                 base == state->batch_type ? "Batch" : "Tensor");
    return -1;
}

int core_same_layout(const char *layout, hr_tensor *tensors, Py_ssize_t n)
{
    if (!layout)
        return 0;
    size_t length = strlen(layout);
    for (Py_ssize_t i = 0; i < n; i++) {
        if (length > HR_MAX_NDIM || (length && (int32_t)length != tensors[i].shape.ndim)) {
            PyErr_Format(PyExc_ValueError, "layout \"%s\" does not fit a sample of %d dimensions",
                         layout, (int)tensors[i].shape.ndim);
            return -1;
        }
        memset(&tensors[i].layout, 0, sizeof(tensors[i].layout));
        memcpy(tensors[i].layout.name, layout, length);
    }
    return 0;
}

/* 0, or -1 if the object's memory cannot go to the destination. `*device` becomes the batch's. */
static int check_device(const make_args *a, const imported *item, int32_t *device)
{
    if (a->device < 0 && item->device >= 0) {
        PyErr_SetString(PyExc_TypeError, "the data are in GPU memory, expected host memory");
        return -1;
    }
    if (a->device >= 0 && item->device < 0 && !a->copy) {
        PyErr_SetString(PyExc_TypeError, "the data are in host memory, expected GPU memory");
        return -1;
    }
    if (item->device >= 0 && *device >= 0 && *device != item->device) {
        PyErr_Format(PyExc_RuntimeError, "one batch has data on the CUDA devices %d and %d",
                     (int)*device, (int)item->device);
        return -1;
    }
    if (item->device >= 0)
        *device = item->device;
    return 0;
}

static hr_status batch_make(hr_batch **out, const make_args *a, const hr_tensor *views,
                            Py_ssize_t n, int32_t device, int wait, hr_error *error)
{
    hr_status status;
    Py_BEGIN_ALLOW_THREADS
    if (a->copy && a->device >= 0)
        status = hr_batch_copy_cuda(out, views, (int32_t)n, device, a->stream, wait, error);
    else if (a->copy && a->pool)
        status = hr_batch_copy(out, a->pool, views, (int32_t)n, error);
    else
        status = hr_batch_create(out, views, (int32_t)n, !a->copy, error);
    Py_END_ALLOW_THREADS
    if (status == HR_STATUS_OK && n == 0 && a->layout) {
        status = hr_batch_set_layout(*out, a->layout, error);
        if (status != HR_STATUS_OK) {
            hr_batch_unref(*out);
            *out = NULL;
        }
    }
    return status;
}

/* Whether the batch needs a buffer that keeps the item's object alive, or waits for its stream. */
static bool needs_buffer(const make_args *a, const imported *item)
{
    bool waits = item->device >= 0 && item->stream != a->stream;
    return !item->owner && (!a->copy || waits);
}

/* Makes the buffers of the items. Those of device memory that is complete on one stream share one
 * buffer, which needs one event. 0, or -1. */
static int adopt_all(core_state *state, const make_args *a, imported *items, Py_ssize_t n,
                     hr_buffer **buffers)
{
    imported *shared = NULL; /* the first of them; its holder is a list of all their holders */
    for (Py_ssize_t i = 0; i < n; i++) {
        imported *item = &items[i];
        if (item->device < 0 || !item->holder || !needs_buffer(a, item))
            continue;
        PyObject *holders = shared ? shared->holder : PyList_New(0);
        if (shared && (item->stream != shared->stream || item->device != shared->device))
            continue;
        int rc = holders ? PyList_Append(holders, item->holder) : -1;
        if (rc < 0 && !shared)
            Py_XDECREF(holders);
        if (rc < 0)
            return -1;
        Py_CLEAR(item->holder);
        shared = shared ? shared : item;
        shared->holder = holders;
    }
    hr_buffer *of_all = NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!needs_buffer(a, &items[i]))
            continue;
        bool shares = of_all && items[i].device >= 0 && !items[i].holder;
        if (!shares && import_adopt(state, &items[i], &buffers[i]) < 0)
            return -1;
        if (&items[i] == shared)
            of_all = buffers[i];
        else if (shares)
            buffers[i] = hr_buffer_ref(of_all);
    }
    return 0;
}

/* Consumes the contents of `items`. */
static hr_batch *batch_of(core_state *state, const make_args *a, imported *items, Py_ssize_t n)
{
    hr_batch *batch = NULL;
    hr_tensor *views = calloc(n ? (size_t)n : 1, sizeof(*views));
    hr_buffer **buffers = calloc(n ? (size_t)n : 1, sizeof(*buffers));
    hr_error error = {0};
    int32_t device = HR_DEVICE_HOST;
    int wait = !a->known;
    if (!views || !buffers) {
        PyErr_NoMemory();
        goto cleanup;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (check_device(a, &items[i], &device) < 0)
            goto cleanup;
        views[i] = items[i].tensor;
        wait = wait || items[i].device < 0;
    }
    if (adopt_all(state, a, items, n, buffers) < 0)
        goto cleanup;
    for (Py_ssize_t i = 0; i < n; i++)
        views[i].buffer = buffers[i] ? buffers[i] : views[i].buffer;
    if (core_same_layout(a->layout, views, n) == 0 &&
        batch_make(&batch, a, views, n, device >= 0 ? device : a->device, wait, &error) !=
            HR_STATUS_OK)
        core_raise(&error);
cleanup:
    for (Py_ssize_t i = 0; i < n; i++) {
        import_release(&items[i]);
        if (buffers)
            hr_buffer_unref(buffers[i]);
    }
    free(views);
    free(buffers);
    reaper_drain(state->reaper);
    return batch;
}

static PyObject *make_batch(PyObject *module, PyObject *args, PyObject *kwargs)
{
    core_state *state = PyModule_GetState(module);
    PyObject *result = NULL;
    make_args a;
    if (parse_make(module, args, kwargs, state->batch_type, &a) < 0)
        return NULL;
    Py_ssize_t n = PySequence_Size(a.object);
    if (n < 0)
        return NULL;
    if (n > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "too many samples");
        return NULL;
    }
    imported *items = calloc(n ? (size_t)n : 1, sizeof(*items));
    if (!items)
        return PyErr_NoMemory();
    if (import_items(state, a.object, n, a.stream, a.device, items) == 0) {
        hr_batch *batch = batch_of(state, &a, items, n);
        if (batch)
            result = batch_wrap(state, (PyTypeObject *)a.type, batch);
    }
    free(items);
    return result;
}

/* A batch whose samples are the rows of `whole` along dimension 0. */
static hr_batch *split(const hr_tensor *whole, const char *layout)
{
    int32_t n = (int32_t)whole->shape.extent[0];
    hr_tensor row = *whole;
    row.shape.ndim--;
    memmove(row.shape.extent, row.shape.extent + 1,
            (size_t)row.shape.ndim * sizeof(row.shape.extent[0]));
    memset(&row.layout, 0, sizeof(row.layout));
    if (layout ? 0 : strlen(whole->layout.name) > 1)
        memcpy(row.layout.name, whole->layout.name + 1, strlen(whole->layout.name) - 1);
    size_t size = hr_dtype_size(row.dtype);
    for (int32_t d = 0; d < row.shape.ndim; d++) /* the memory exists, so this cannot overflow */
        size *= (size_t)row.shape.extent[d];
    if (core_same_layout(layout, &row, 1) < 0)
        return NULL;
    hr_tensor *views = calloc(n ? (size_t)n : 1, sizeof(*views));
    if (!views) {
        PyErr_NoMemory();
        return NULL;
    }
    for (int32_t i = 0; i < n; i++) {
        views[i] = row;
        views[i].data = (char *)whole->data + (size_t)i * size;
    }
    hr_batch *batch = NULL;
    hr_error error = {0};
    if (hr_batch_create(&batch, views, n, true, &error) != HR_STATUS_OK ||
        (n == 0 && hr_batch_set_layout(batch, row.layout.name, &error) != HR_STATUS_OK)) {
        core_raise(&error);
        hr_batch_unref(batch);
        batch = NULL;
    }
    free(views);
    return batch;
}

static PyObject *make_batch_dense(PyObject *module, PyObject *args, PyObject *kwargs)
{
    core_state *state = PyModule_GetState(module);
    make_args a;
    imported item;
    if (parse_make(module, args, kwargs, state->batch_type, &a) < 0 ||
        import_object(state, a.object, a.stream, a.device, &item) < 0)
        return NULL;
    if (item.tensor.shape.ndim < 1 || item.tensor.shape.extent[0] > INT32_MAX) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a scalar is not a batch: dimension 0 of a batch is the number of samples");
        import_release(&item);
        return NULL;
    }
    const char *layout = a.layout;
    a.layout = NULL;
    hr_batch *whole = batch_of(state, &a, &item, 1);
    hr_batch *batch = whole ? split(hr_batch_tensor(whole, 0), layout) : NULL;
    hr_batch_unref(whole);
    return batch ? batch_wrap(state, (PyTypeObject *)a.type, batch) : NULL;
}

static PyObject *make_tensor(PyObject *module, PyObject *args, PyObject *kwargs)
{
    core_state *state = PyModule_GetState(module);
    make_args a;
    imported item;
    if (parse_make(module, args, kwargs, state->tensor_type, &a) < 0 ||
        import_object(state, a.object, a.stream, a.device, &item) < 0)
        return NULL;
    hr_batch *batch = batch_of(state, &a, &item, 1);
    if (!batch)
        return NULL;
    PyObject *result = tensor_wrap(state, (PyTypeObject *)a.type, batch, hr_batch_tensor(batch, 0));
    hr_batch_unref(batch);
    return result;
}

PyMethodDef batch_functions[] = {
    {"make_batch", (PyCFunction)(void (*)(void))make_batch, METH_VARARGS | METH_KEYWORDS,
     "make_batch(cls, objects, layout=None, copy=True, stream=None, device=-1, pipeline=None): one "
     "sample per object, in host memory (device -1) or on a CUDA device; copies are made in the "
     "feed memory of the pipeline."},
    {"make_batch_dense", (PyCFunction)(void (*)(void))make_batch_dense,
     METH_VARARGS | METH_KEYWORDS,
     "make_batch_dense(cls, object, layout=None, copy=True, stream=None, device=-1, "
     "pipeline=None): one sample per entry of dimension 0."},
    {"make_tensor", (PyCFunction)(void (*)(void))make_tensor, METH_VARARGS | METH_KEYWORDS,
     "make_tensor(cls, object, layout=None, copy=True, stream=None, device=-1)"},
    {NULL, NULL, 0, NULL}};

static PyMethodDef batch_methods[] = {
    {"_dense", batch_dense, METH_NOARGS,
     "The batch as one tensor that shares its memory, or None."},
    {"_assign", batch_assign, METH_O, "_assign(batch): shares its samples from now on."},
    {"_to_host", batch_host_copy, METH_NOARGS, "_to_host() -> a copy in host memory."},
    {"shape", batch_shapes, METH_NOARGS, "shape() -> list of tuples, one per sample."},
    {"layout", batch_layout, METH_NOARGS, "layout() -> str: one letter per dimension, or empty."},
    {"set_layout", batch_set_layout, METH_O, "set_layout(layout): ValueError if it does not fit."},
    {"ndim", batch_ndim, METH_NOARGS, "ndim() -> int: dimensions of a sample."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef batch_getset[] = {{"_dtype", batch_dtype, NULL, NULL, NULL},
                                     {"_device", batch_device, NULL, NULL, NULL},
                                     {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot batch_slots[] = {{Py_tp_dealloc, batch_dealloc},
                                    {Py_tp_methods, batch_methods},
                                    {Py_tp_getset, batch_getset},
                                    {Py_sq_length, batch_length},
                                    {Py_sq_item, batch_item},
                                    {Py_tp_doc, "A list of samples."},
                                    {0, NULL}};

PyType_Spec batch_spec = {.name = "headrace._core.Batch",
                          .basicsize = sizeof(batch_object),
                          .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                   Py_TPFLAGS_DISALLOW_INSTANTIATION,
                          .slots = batch_slots};
