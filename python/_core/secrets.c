/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Credentials for object storage that a Python function gives. */
#include "secrets.h"

#include <string.h>

#include "headrace/credentials.h"

/* Copies an item of a tuple, a string. */
static int take_text(PyObject *tuple, Py_ssize_t i, char *to, size_t size)
{
    Py_ssize_t length = 0;
    PyObject *item = PyTuple_GetItem(tuple, i); /* borrowed */
    const char *text = item ? PyUnicode_AsUTF8AndSize(item, &length) : NULL;
    if (!text)
        return -1;
    if ((size_t)length >= size || memchr(text, 0, (size_t)length)) {
        PyErr_SetString(PyExc_ValueError, "they are too long, or have a NUL character");
        return -1;
    }
    memcpy(to, text, (size_t)length + 1);
    return 0;
}

static int take_secrets(PyObject *result, hr_secrets *out)
{
    if (!PyTuple_Check(result) || PyTuple_Size(result) != 4) {
        PyErr_SetString(PyExc_TypeError, "they are not a tuple of four");
        return -1;
    }
    if (take_text(result, 0, out->access_key, sizeof(out->access_key)) < 0 ||
        take_text(result, 1, out->secret_key, sizeof(out->secret_key)) < 0 ||
        take_text(result, 2, out->token, sizeof(out->token)) < 0)
        return -1;
    out->expires = PyLong_AsLongLong(PyTuple_GetItem(result, 3));
    return PyErr_Occurred() ? -1 : 0;
}

/* The pending exception as an error. */
static hr_status fail_pending(hr_error *error)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *shown = value ? PyObject_Str(value) : NULL;
    PyObject *bytes = shown ? PyUnicode_AsEncodedString(shown, "utf-8", "backslashreplace") : NULL;
    PyErr_Clear();
    if (error) {
        error->status = HR_STATUS_IO;
        PyOS_snprintf(error->message, sizeof(error->message), "%s",
                      bytes ? PyBytes_AsString(bytes) : "the function failed");
    }
    Py_XDECREF(bytes);
    Py_XDECREF(shown);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return HR_STATUS_IO;
}

static hr_status ask(void *context, hr_secrets *out, hr_error *error)
{
    hr_status status = HR_STATUS_OK;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *result = PyObject_CallNoArgs(context);
    if (!result || take_secrets(result, out) < 0)
        status = fail_pending(error);
    Py_XDECREF(result);
    PyGILState_Release(gil);
    return status;
}

static void release(void *context)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)context);
    PyGILState_Release(gil);
}

/* provide_credentials(scheme, function) */
static PyObject *core_provide_credentials(PyObject *module, PyObject *args)
{
    hr_error error = {0};
    const char *scheme;
    PyObject *function;
    hr_status status;
    (void)module;
    if (!PyArg_ParseTuple(args, "sO:provide_credentials", &scheme, &function))
        return NULL;
    bool any = function != Py_None;
    if (any)
        Py_INCREF(function);
    Py_BEGIN_ALLOW_THREADS
    status = hr_credentials_provide(scheme, any ? ask : NULL, function, release, &error);
    Py_END_ALLOW_THREADS
    if (status == HR_STATUS_OK)
        Py_RETURN_NONE;
    if (any)
        Py_DECREF(function);
    return core_raise(&error);
}

PyMethodDef secrets_functions[] = {
    {"provide_credentials", core_provide_credentials, METH_VARARGS,
     "provide_credentials(scheme, function): function() gives the credentials for all URIs of the "
     "scheme, (access key, secret key, token, seconds since 1970 when they expire, or 0). It is "
     "called by any thread. None: no longer."},
    {NULL, NULL, 0, NULL}};
