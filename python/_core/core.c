/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What all types use: texts, references, and the exception for each hr_status. */
#include "core.h"

#include <string.h>

static PyObject *exception_of(hr_status status)
{
    switch (status) {
    case HR_STATUS_VALUE:
        return PyExc_ValueError;
    case HR_STATUS_TYPE:
        return PyExc_TypeError;
    case HR_STATUS_KEY:
        return PyExc_KeyError;
    case HR_STATUS_INDEX:
        return PyExc_IndexError;
    case HR_STATUS_NOT_IMPLEMENTED:
        return PyExc_NotImplementedError;
    case HR_STATUS_NO_MEMORY:
        return PyExc_MemoryError;
    case HR_STATUS_END:
        return PyExc_StopIteration;
    case HR_STATUS_TIMEOUT:
        return PyExc_TimeoutError;
    default:
        return PyExc_RuntimeError;
    }
}

PyObject *core_text(const char *text)
{
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

PyObject *core_raise(const hr_error *error)
{
    PyObject *message = core_text(error->message);
    if (message) {
        PyErr_SetObject(exception_of(error->status), message);
        Py_DECREF(message);
    }
    return NULL;
}

void core_dispose(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object); /* instances of heap types own a reference */
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(object);
    Py_DECREF(type);
}

core_state *core_hold(core_state *state)
{
    Py_INCREF(state->module);
    return state;
}

void core_dispose_held(PyObject *object, core_state *state)
{
    PyObject *module = state ? state->module : NULL;
    core_dispose(object);
    Py_XDECREF(module);
}

int tensor_numeric(const hr_tensor *t)
{
    if (t->dtype >= 0 && t->dtype < HR_DTYPE_COUNT)
        return 1;
    if (hr_dtype_size(t->dtype) == 0)
        PyErr_SetString(PyExc_TypeError, "the tensor has no element type");
    else
        PyErr_Format(PyExc_TypeError,
                     "elements of %s are members of an enumeration, which other libraries do not "
                     "have: use fn.cast to convert them to integers",
                     hr_dtype_name(t->dtype));
    return 0;
}
