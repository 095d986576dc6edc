/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Epochs: the epochs of an iterator, as the functions hr_epoch_... compute them. It has no state.
 */
#include "pipeline.h"

typedef struct epochs_object {
    PyObject ob_base;
    hr_reader_meta meta;
    hr_epoch_rule rule;
} epochs_object;

static PyObject *epochs_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {
        "batch_size",     "last_batch",     "epoch_size", "number_of_shards", "shard_id",
        "pad_last_batch", "stick_to_shard", "rest_size",  "first_epoch",      "even",
        "alone",          "size",           "pipelines",  "global_batch",     NULL};
    epochs_object e = {.meta = {.number_of_shards = 1}};
    int last, pad = 0, stick = 0, even = 0, alone = 0;
    long long size = 0, rest = 0, first = 0, given = 0, job = 0;
    e.rule.pipelines = 1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ii|$LiippLLppLiL:Epochs", names,
                                     &e.rule.batch_size, &last, &size, &e.meta.number_of_shards,
                                     &e.meta.shard_id, &pad, &stick, &rest, &first, &even, &alone,
                                     &given, &e.rule.pipelines, &job))
        return NULL;
    e.meta.epoch_size = size;
    e.meta.rest_size = rest;
    e.meta.global_batch = job;
    e.meta.first_epoch = first;
    e.meta.pad_last_batch = pad != 0;
    e.meta.stick_to_shard = stick != 0;
    e.rule.last_batch = (hr_last_batch)last;
    e.rule.even = even != 0;
    e.rule.alone = alone != 0;
    e.rule.size = given;
    epochs_object *self = (epochs_object *)PyType_GenericAlloc(type, 0);
    if (self) {
        self->meta = e.meta;
        self->rule = e.rule;
    }
    return (PyObject *)self;
}

static PyObject *place_of(hr_status status, const hr_epoch_place *place, const hr_error *error)
{
    if (status != HR_STATUS_OK)
        return core_raise(error);
    return Py_BuildValue("(LLL)", (long long)place->number, (long long)place->begin,
                         (long long)place->taken);
}

static int parse_place(PyObject *args, const char *format, hr_epoch_place *place, int *lane)
{
    long long number, begin, taken;
    if (!PyArg_ParseTuple(args, format, &number, &begin, &taken, lane))
        return -1;
    *place = (hr_epoch_place){number, begin, taken};
    return 0;
}

static PyObject *epochs_at(PyObject *object, PyObject *args)
{
    epochs_object *self = (epochs_object *)object;
    hr_error error = {0};
    hr_epoch_place place;
    hr_epoch e;
    int lane = self->meta.shard_id;
    if (parse_place(args, "LLL|i:at", &place, &lane) < 0)
        return NULL;
    if (hr_epoch_at(&self->meta, &self->rule, &place, lane, &e, &error) != HR_STATUS_OK)
        return core_raise(&error);
    return Py_BuildValue("(LLLLOLLLLLLL)", (long long)e.length, (long long)e.batches,
                         (long long)e.full, (long long)e.left, e.drop ? Py_True : Py_False,
                         (long long)e.shard, (long long)e.size, (long long)e.carried,
                         (long long)e.keep, (long long)e.real, (long long)e.own, (long long)e.last);
}

static PyObject *epochs_next(PyObject *object, PyObject *args)
{
    epochs_object *self = (epochs_object *)object;
    hr_error error = {0};
    hr_epoch_place place;
    if (parse_place(args, "LLL:next", &place, NULL) < 0)
        return NULL;
    hr_status status = hr_epoch_next(&self->meta, &self->rule, &place, &error);
    return place_of(status, &place, &error);
}

static PyObject *epochs_start(PyObject *object, PyObject *arg)
{
    epochs_object *self = (epochs_object *)object;
    hr_error error = {0};
    hr_epoch_place place;
    long long number = PyLong_AsLongLong(arg);
    if (number == -1 && PyErr_Occurred())
        return NULL;
    hr_status status = hr_epoch_start(&self->meta, &self->rule, number, &place, &error);
    return place_of(status, &place, &error);
}

static PyObject *epochs_find(PyObject *object, PyObject *arg)
{
    epochs_object *self = (epochs_object *)object;
    hr_error error = {0};
    hr_epoch_place place;
    long long position = PyLong_AsLongLong(arg);
    if (position == -1 && PyErr_Occurred())
        return NULL;
    hr_status status = hr_epoch_find(&self->meta, &self->rule, position, &place, &error);
    return place_of(status, &place, &error);
}

static PyMethodDef epochs_methods[] = {
    {"at", epochs_at, METH_VARARGS,
     "at(number, begin, taken, lane=own) -> tuple: the fields of hr_epoch at a place."},
    {"next", epochs_next, METH_VARARGS,
     "next(number, begin, taken) -> (number, begin, taken): the beginning of the next epoch."},
    {"start", epochs_start, METH_O,
     "start(number) -> (number, begin, taken): where an epoch begins if those before it ran."},
    {"find", epochs_find, METH_O,
     "find(position) -> (number, begin, taken): where an iterator is that goes on there."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot epochs_slots[] = {
    {Py_tp_new, epochs_new},
    {Py_tp_dealloc, core_dispose},
    {Py_tp_methods, epochs_methods},
    {Py_tp_doc, "Epochs(batch_size, last_batch, *, ...): the epochs of an iterator over a reader, "
                "whose metadata have these names, or of a given size."},
    {0, NULL}};

PyType_Spec epochs_spec = {.name = "headrace._core.Epochs",
                           .basicsize = sizeof(epochs_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                           .slots = epochs_slots};
