/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Python functions as operators. A worker holds the GIL only during the call; threads that wait for
 * workers have released it. */
#include "batch.h"
#include "function.h"
#include "import.h"

#include <stdlib.h>

static _Thread_local int inside;

int function_inside(void)
{
    return inside > 0;
}

typedef struct function_call_object {
    PyObject ob_base;
    core_state *state;
    hr_function_call *call; /* NULL once the function has returned */
    hr_status failed;       /* the status of the last put */
} function_call_object;

static int check_open(const function_call_object *self)
{
    if (self->call)
        return 0;
    PyErr_SetString(PyExc_RuntimeError,
                    "this FunctionCall is over: use it only inside the function");
    return -1;
}

/* The samples of an input as a batch, over the same memory. */
static hr_batch *input_batch(const hr_function_call *call, int32_t input)
{
    int32_t n = hr_function_samples(call);
    hr_tensor *views = malloc((n ? (size_t)n : 1) * sizeof(*views));
    hr_batch *batch = NULL;
    hr_error error = {0};
    bool lent = true;
    if (!views) {
        PyErr_NoMemory();
        return NULL;
    }
    for (int32_t i = 0; i < n; i++) {
        views[i] = *hr_function_input(call, input, i);
        lent = lent && views[i].buffer;
    }
    if (hr_batch_create(&batch, views, n, lent, &error) != HR_STATUS_OK)
        core_raise(&error);
    free(views);
    return batch;
}

static PyObject *function_call_inputs(PyObject *object, PyObject *unused)
{
    (void)unused;
    const function_call_object *self = (function_call_object *)object;
    if (check_open(self) < 0)
        return NULL;
    int32_t count = hr_function_inputs(self->call);
    PyObject *tuple = PyTuple_New(count);
    for (int32_t k = 0; tuple && k < count; k++) {
        hr_batch *batch = input_batch(self->call, k);
        PyObject *item = batch ? batch_wrap(self->state, NULL, batch) : NULL;
        if (!item || PyTuple_SetItem(tuple, k, item) < 0)
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *function_call_put(PyObject *object, PyObject *args)
{
    function_call_object *self = (function_call_object *)object;
    int output, sample;
    PyObject *value;
    imported im;
    if (check_open(self) < 0 || !PyArg_ParseTuple(args, "iiO:put", &output, &sample, &value) ||
        import_object(self->state, value, NULL, HR_DEVICE_HOST, &im) < 0)
        return NULL;
    hr_error error = {.status = HR_STATUS_TYPE, .message = "the array is in GPU memory"};
    hr_status status = HR_STATUS_TYPE;
    if (im.device < 0)
        status = hr_function_output(self->call, output, sample, &im.tensor, &error);
    import_release(&im);
    self->failed = status;
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *function_call_samples(PyObject *object, void *unused)
{
    (void)unused;
    const function_call_object *self = (function_call_object *)object;
    return check_open(self) < 0 ? NULL : PyLong_FromLong(hr_function_samples(self->call));
}

static void function_call_dealloc(PyObject *object)
{
    core_dispose_held(object, ((function_call_object *)object)->state);
}

static PyMethodDef function_call_methods[] = {
    {"inputs", function_call_inputs, METH_NOARGS,
     "inputs() -> tuple: one Batch per input, over the engine's memory."},
    {"put", function_call_put, METH_VARARGS,
     "put(output, sample, array): copies a sample into an output."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef function_call_getset[] = {{"samples", function_call_samples, NULL, NULL, NULL},
                                             {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot function_call_slots[] = {
    {Py_tp_dealloc, function_call_dealloc},
    {Py_tp_methods, function_call_methods},
    {Py_tp_getset, function_call_getset},
    {Py_tp_doc, "The samples of one iteration that a Python function processes."},
    {0, NULL}};

PyType_Spec function_call_spec = {.name = "headrace._core.FunctionCall",
                                  .basicsize = sizeof(function_call_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = function_call_slots};

/* ---- calling ---- */

typedef struct function_context {
    core_state *state;
    void *held; /* the reaper's, with a weak reference to the Python object */
} function_context;

static void function_release(void *context)
{
    function_context *f = context;
    reaper_release(f->held);
    free(f);
}

static hr_status fail_text(hr_error *error, PyObject *text)
{
    PyObject *bytes = text && PyUnicode_Check(text)
                          ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace")
                          : NULL;
    error->status = HR_STATUS_ERROR;
    PyOS_snprintf(error->message, sizeof(error->message), "%s",
                  bytes ? PyBytes_AsString(bytes) : "the function failed");
    PyErr_Clear();
    Py_XDECREF(bytes);
    return HR_STATUS_ERROR;
}

/* Fails with the message that the object returned, or with its exception. */
static hr_status fail_result(hr_error *error, PyObject *result)
{
    if (result)
        return fail_text(error, result);
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    fail_text(error, text);
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return HR_STATUS_ERROR;
}

static hr_status call_object(core_state *state, PyObject *object, hr_function_call *call,
                             hr_error *error)
{
    hr_status status = HR_STATUS_OK;
    function_call_object *argument =
        (function_call_object *)PyType_GenericAlloc(state->function_call_type, 0);
    PyObject *result = NULL;
    if (argument) {
        argument->state = core_hold(state);
        argument->call = call;
        result = PyObject_CallFunctionObjArgs(object, (PyObject *)argument, NULL);
        argument->call = NULL;
    }
    if (result != Py_None) {
        status = fail_result(error, result);
        if (argument && argument->failed != HR_STATUS_OK)
            status = error->status = argument->failed;
    }
    Py_XDECREF(result);
    Py_XDECREF((PyObject *)argument);
    return status;
}

static hr_status function_call(void *context, hr_function_call *call, hr_error *error)
{
    const function_context *f = context;
    hr_error unused;
    hr_status status = HR_STATUS_STATE;
    error = error ? error : &unused;
    PyGILState_STATE gil = PyGILState_Ensure();
    inside++;
    PyObject *object = PyObject_CallNoArgs(reaper_object(f->held));
    if (object && object != Py_None)
        status = call_object(f->state, object, call, error);
    else
        fail_text(error, NULL); /* the pipeline is being destroyed; nobody sees this */
    Py_XDECREF(object);
    PyErr_Clear();
    inside--;
    PyGILState_Release(gil);
    return status;
}

hr_function *function_of(core_state *state, PyObject *object)
{
    hr_error error = {0};
    hr_function *function = NULL;
    function_context *f = malloc(sizeof(*f));
    PyObject *weak = f ? PyWeakref_NewRef(object, NULL) : NULL;
    void *held = weak ? reaper_hold(state->reaper, weak) : NULL;
    if (!held) {
        Py_XDECREF(weak);
        free(f);
        return PyErr_Occurred() ? NULL : (hr_function *)PyErr_NoMemory();
    }
    *f = (function_context){state, held};
    if (hr_function_create(&function, function_call, f, function_release, &error) == HR_STATUS_OK)
        return function;
    function_release(f);
    core_raise(&error);
    return NULL;
}
