/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Taker: the fast path of an iterator, which takes full batches of a pipeline one after the other.
 * After a training step the caches are cold, so every call and every object on this path costs the
 * training loop time. */
#include "batch.h"
#include "pipeline.h"
#include "tensor.h"

#include <limits.h>

typedef struct taker_object {
    PyObject ob_base;
    core_state *state;
    PyObject *pipeline, *names;
    PyObject *convert, *otherwise, *current_stream; /* do not refer to the iterator: no cycle */
    hr_outputs *held;                               /* taken, but not delivered yet; or NULL */
    Py_ssize_t left;                                /* batches that may still be taken */
    int last;                                       /* samples to keep of the last batch */
} taker_object;

static PyObject *taker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    core_state *state = PyType_GetModuleState(type);
    PyObject *pipeline, *names, *convert, *otherwise, *current_stream;
    Py_ssize_t left;
    int last;
    (void)kwargs;
    if (!state ||
        !PyArg_ParseTuple(args, "O!O!OOOni:Taker", state->pipeline_type, &pipeline, &PyTuple_Type,
                          &names, &convert, &otherwise, &current_stream, &left, &last))
        return NULL;
    taker_object *self = (taker_object *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->state = core_hold(state);
    self->pipeline = Py_NewRef(pipeline);
    self->names = Py_NewRef(names);
    self->convert = Py_NewRef(convert);
    self->otherwise = Py_NewRef(otherwise);
    self->current_stream = Py_NewRef(current_stream);
    self->left = left;
    self->last = last;
    return (PyObject *)self;
}

static void taker_dealloc(PyObject *object)
{
    taker_object *self = (taker_object *)object;
    hr_outputs_unref(self->held);
    Py_XDECREF(self->pipeline);
    Py_XDECREF(self->names);
    Py_XDECREF(self->convert);
    Py_XDECREF(self->otherwise);
    Py_XDECREF(self->current_stream);
    core_dispose_held(object, self->state);
}

/* Notes the stream on which the framework will use a batch in device memory. */
static int note_stream(const taker_object *self, hr_batch *batch)
{
    void *stream;
    int known;
    int32_t device = hr_batch_device(batch);
    if (device < 0)
        return 0;
    PyObject *handle = PyObject_CallFunction(self->current_stream, "i", (int)device);
    int rc = handle ? stream_of(handle, &stream, &known) : -1;
    Py_XDECREF(handle);
    if (rc == 0)
        hr_batch_used(batch, stream);
    return rc;
}

static PyObject *convert_batch(const taker_object *self, hr_batch *batch, int most)
{
    int keep = hr_batch_size(batch) < most ? hr_batch_size(batch) : most;
    hr_tensor view;
    bool dense = hr_batch_dense(batch, &view);
    if (dense && note_stream(self, batch) < 0)
        return NULL;
    if (dense)
        view.shape.extent[0] = keep;
    PyObject *given = dense ? dlpack_export(batch, &view, 0, 0)
                            : batch_wrap(self->state, NULL, hr_batch_ref(batch));
    if (!given)
        return NULL;
    PyObject *result = dense ? PyObject_CallFunctionObjArgs(self->convert, given, NULL)
                             : PyObject_CallFunction(self->otherwise, "Oi", given, keep);
    Py_DECREF(given);
    return result;
}

static PyObject *convert_outputs(const taker_object *self, const hr_outputs *outputs, int most)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && i < PyTuple_Size(self->names); i++) {
        PyObject *name = PyTuple_GetItem(self->names, i), *value = NULL;
        hr_batch *batch = hr_outputs_batch(outputs, (int32_t)i);
        if (batch)
            value = convert_batch(self, batch, most);
        else
            PyErr_SetObject(PyExc_KeyError, name);
        if (!value || PyDict_SetItem(dict, name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

/* take() -> [dict] or None */
static PyObject *taker_take(PyObject *object, PyObject *unused)
{
    (void)unused;
    taker_object *self = (taker_object *)object;
    if (!self->held && self->left > 0 && pipeline_take(self->pipeline, &self->held) < 0)
        return NULL;
    if (!self->held)
        Py_RETURN_NONE;
    PyObject *dict = convert_outputs(self, self->held, self->left == 1 ? self->last : INT_MAX);
    PyObject *list = dict ? PyList_New(1) : NULL;
    if (list)
        PyList_SetItem(list, 0, dict);
    else
        Py_XDECREF(dict);
    return list;
}

static PyObject *taker_held(PyObject *self, void *unused)
{
    (void)unused;
    return PyBool_FromLong(((taker_object *)self)->held != NULL);
}

static int taker_delivered(PyObject *object, PyObject *value, void *unused)
{
    (void)unused;
    taker_object *self = (taker_object *)object;
    hr_outputs *outputs = self->held;
    if (value) {
        PyErr_SetString(PyExc_TypeError, "`held` can only be deleted");
        return -1;
    }
    if (!outputs)
        return 0;
    self->held = NULL;
    self->left--;
    pipeline_delivered(self->pipeline);
    hr_outputs_unref(outputs);
    return 0;
}

static PyObject *taker_left(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSsize_t(((taker_object *)self)->left);
}

static PyMethodDef taker_methods[] = {
    {"take", taker_take, METH_NOARGS,
     "take() -> list: one dictionary, name -> convert(DLPack capsule), or otherwise(Batch, samples "
     "to keep) if an output is not a dense tensor. None: no batch is left, or the next batch is "
     "not full or failed; run() says which. The same batch comes again until `held` is deleted."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef taker_getset[] = {
    {"left", taker_left, NULL, "Batches that may be taken.", NULL},
    {"held", taker_held, taker_delivered,
     "Whether a batch was taken and not delivered yet. Deleting it says: delivered.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot taker_slots[] = {
    {Py_tp_new, taker_new},
    {Py_tp_dealloc, taker_dealloc},
    {Py_tp_methods, taker_methods},
    {Py_tp_getset, taker_getset},
    {Py_tp_doc, "Taker(pipeline, names, convert, otherwise, current_stream, left, last): the next "
                "`left` batches of a pipeline; of the last one only the first `last` samples. "
                "current_stream(device) returns the CUDA stream that will use a batch."},
    {0, NULL}};

PyType_Spec taker_spec = {.name = "headrace._core.Taker",
                          .basicsize = sizeof(taker_object),
                          .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                          .slots = taker_slots};
