/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Streams, and copies from a CUDA device. */
#include "core.h"

/* The handle in a stream object of any framework. */
static PyObject *stream_number(PyObject *object)
{
    static const char *const names[] = {"cuda_stream", "ptr", "handle", "value"};
    if (PyLong_Check(object)) {
        Py_INCREF(object);
        return object;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        PyObject *number = PyObject_GetAttrString(object, names[i]);
        if (number && PyLong_Check(number))
            return number;
        if (number == Py_None && i == 3) { /* NULL in ctypes */
            Py_DECREF(number);
            return PyLong_FromLong(0);
        }
        Py_XDECREF(number);
        PyErr_Clear();
    }
    PyErr_Format(PyExc_TypeError,
                 "a CUDA stream must be an integer or a stream of PyTorch, CuPy or ctypes; got %R",
                 object);
    return NULL;
}

int stream_of(PyObject *object, void **stream, int *known)
{
    *stream = NULL;
    *known = 0;
    if (!object || object == Py_None)
        return 0;
    PyObject *number = stream_number(object);
    if (!number)
        return -1;
    long long value = PyLong_AsLongLong(number);
    if (value == -1 && PyErr_Occurred()) { /* an address with all 64 bits */
        PyErr_Clear();
        *stream = PyLong_AsVoidPtr(number);
    } else if (value < -1) {
        PyErr_Format(PyExc_TypeError, "%lld is not a CUDA stream", value);
    } else {
        /* 1 and 2 are the legacy and the per-thread default stream; the latter waits for the
         * former. -1 is an unknown stream. */
        *stream = value > 2 ? (void *)(uintptr_t)value : NULL;
    }
    Py_DECREF(number);
    *known = value != -1;
    return PyErr_Occurred() ? -1 : 0;
}

hr_batch *batch_to_host(const hr_batch *batch)
{
    hr_batch *host = NULL;
    hr_error error = {0};
    hr_status status;
    Py_BEGIN_ALLOW_THREADS
    status = hr_batch_to_host(&host, batch, &error);
    Py_END_ALLOW_THREADS
    if (status != HR_STATUS_OK)
        core_raise(&error);
    return host;
}

hr_batch *tensor_to_host(const hr_tensor *tensor)
{
    hr_batch *view = NULL;
    hr_error error = {0};
    if (hr_batch_create(&view, tensor, 1, true, &error) != HR_STATUS_OK) {
        core_raise(&error);
        return NULL;
    }
    hr_batch *host = batch_to_host(view);
    hr_batch_unref(view);
    return host;
}
