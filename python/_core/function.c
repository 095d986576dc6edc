/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Python functions as operators. A worker holds the GIL only during the call; threads that wait for
 * workers have released it. */
#include "batch.h"
#include "function.h"
#include "import.h"

#include <stdlib.h>
#include <string.h>

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

/* 0, or -1 with TypeError if the array is not in the memory of the call's device. */
static int check_memory(const hr_function_call *call, const imported *im)
{
    int32_t device = hr_function_device(call);
    if (im->device == device)
        return 0;
    if (im->device < 0)
        PyErr_SetString(PyExc_TypeError, "the array is in host memory; a function on the GPU "
                                         "returns arrays in GPU memory");
    else if (device < 0)
        PyErr_SetString(PyExc_TypeError, "the array is in GPU memory");
    else
        PyErr_Format(PyExc_TypeError,
                     "the array is on CUDA device %d, but the pipeline is on device %d",
                     (int)im->device, (int)device);
    return -1;
}

/* Imports a result. Its memory lives as long as value->buffer, of which the caller gets a
 * reference, or as `im` if it is in host memory. */
static int import_result(function_call_object *self, PyObject *object, imported *im,
                         int64_t *strides, hr_tensor *value)
{
    hr_function_call *call = self->call;
    hr_error error = {0};
    void *stream = hr_function_stream(call);
    int32_t device = hr_function_device(call);
    self->failed = HR_STATUS_OK;
    if (import_strided(self->state, object, stream, device, strides, im) < 0)
        return -1;
    *value = im->tensor;
    value->buffer = NULL;
    if (check_memory(call, im) < 0) {
        self->failed = HR_STATUS_TYPE;
    } else if (device >= 0 && im->stream != stream &&
               hr_function_await(call, im->stream, &error) != HR_STATUS_OK) {
        self->failed = error.status;
        core_raise(&error);
    } else if (device < 0 || import_keep(self->state, im, &value->buffer) == 0) {
        return 0;
    }
    import_release(im);
    return -1;
}

static PyObject *function_call_put(PyObject *object, PyObject *args)
{
    function_call_object *self = (function_call_object *)object;
    int output, sample;
    int64_t strides[HR_MAX_NDIM];
    hr_tensor value;
    PyObject *given;
    imported im;
    if (check_open(self) < 0 || !PyArg_ParseTuple(args, "iiO:put", &output, &sample, &given) ||
        import_result(self, given, &im, strides, &value) < 0)
        return NULL;
    hr_error error = {0};
    self->failed = hr_function_output_strided(self->call, output, sample, &value,
                                              im.strided ? strides : NULL, &error);
    hr_buffer_unref(value.buffer);
    import_release(&im);
    if (self->failed != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
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

static PyObject *function_call_fail(PyObject *object, PyObject *args)
{
    function_call_object *self = (function_call_object *)object;
    int sample;
    PyObject *text;
    hr_error failure = {0}, error = {0};
    if (check_open(self) < 0 || !PyArg_ParseTuple(args, "iU:fail", &sample, &text))
        return NULL;
    fail_text(&failure, text);
    if (self->failed != HR_STATUS_OK) /* of `put`, which the text is about */
        failure.status = self->failed;
    self->failed = hr_function_fail(self->call, sample, failure.status, failure.message, &error);
    if (self->failed != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

/* Puts the rows of `value` along dimension 0. */
static hr_status put_rows(hr_function_call *call, int32_t output, const hr_tensor *value,
                          const int64_t *strides, hr_error *error)
{
    hr_tensor row = *value;
    hr_status status = HR_STATUS_OK;
    int64_t step = (int64_t)hr_dtype_size(value->dtype);
    row.shape.ndim--;
    for (int32_t d = 0; d < row.shape.ndim; d++) {
        row.shape.extent[d] = value->shape.extent[d + 1];
        step *= row.shape.extent[d];
    }
    memset(&row.layout, 0, sizeof(row.layout));
    step = strides ? strides[0] : step;
    for (int32_t i = 0; i < hr_function_samples(call) && status == HR_STATUS_OK; i++) {
        row.data = (char *)value->data + i * step;
        status =
            hr_function_output_strided(call, output, i, &row, strides ? strides + 1 : NULL, error);
    }
    return status;
}

static PyObject *function_call_put_batch(PyObject *object, PyObject *args)
{
    function_call_object *self = (function_call_object *)object;
    int output;
    int64_t strides[HR_MAX_NDIM];
    hr_tensor value;
    PyObject *given;
    imported im;
    if (check_open(self) < 0 || !PyArg_ParseTuple(args, "iO:put_batch", &output, &given) ||
        import_result(self, given, &im, strides, &value) < 0)
        return NULL;
    hr_error error = {.status = HR_STATUS_ERROR};
    self->failed = HR_STATUS_ERROR;
    if (value.shape.ndim > 0 && value.shape.extent[0] == hr_function_samples(self->call))
        self->failed = put_rows(self->call, output, &value, im.strided ? strides : NULL, &error);
    else
        PyOS_snprintf(error.message, sizeof(error.message),
                      "output %d has no row for each of the %d samples", output,
                      (int)hr_function_samples(self->call));
    hr_buffer_unref(value.buffer);
    import_release(&im);
    if (self->failed != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

/* Reads a list of tuples: the shape of each sample. */
static int shapes_of(PyObject *list, hr_tensor *like, int32_t count)
{
    if (PySequence_Size(list) != count) {
        PyErr_Format(PyExc_ValueError, "there must be %d shapes", (int)count);
        return -1;
    }
    for (int32_t i = 0; i < count; i++) {
        PyObject *shape = PySequence_GetItem(list, i);
        Py_ssize_t ndim = shape ? PySequence_Size(shape) : -1;
        if (ndim > HR_MAX_NDIM)
            PyErr_SetString(PyExc_ValueError, "a shape has too many dimensions");
        like[i].shape.ndim = (int32_t)ndim;
        for (Py_ssize_t d = 0; d < ndim && !PyErr_Occurred(); d++) {
            PyObject *extent = PySequence_GetItem(shape, d);
            like[i].shape.extent[d] = extent ? PyLong_AsLongLong(extent) : -1;
            Py_XDECREF(extent);
            if (!PyErr_Occurred() && like[i].shape.extent[d] < 0)
                PyErr_SetString(PyExc_ValueError, "a shape has a negative extent");
        }
        Py_XDECREF(shape);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

static PyObject *function_call_make(PyObject *object, PyObject *args)
{
    function_call_object *self = (function_call_object *)object;
    int output, dtype;
    PyObject *shapes, *result = NULL;
    hr_batch *batch;
    hr_error error = {0};
    if (check_open(self) < 0 || !PyArg_ParseTuple(args, "iiO:make", &output, &dtype, &shapes))
        return NULL;
    if (hr_function_device(self->call) < 0 || hr_dtype_size((hr_dtype)dtype) == 0) {
        PyErr_SetString(PyExc_ValueError, "unknown element type, or the function is on the CPU");
        return NULL;
    }
    int32_t n = hr_function_samples(self->call);
    hr_tensor *like = calloc((size_t)n + 1, sizeof(*like));
    hr_tensor *made = calloc((size_t)n + 1, sizeof(*made));
    for (int32_t i = 0; like && i < n; i++)
        like[i].dtype = (hr_dtype)dtype;
    if (!like || !made) {
        PyErr_NoMemory();
    } else if (shapes_of(shapes, like, n) == 0) {
        self->failed = hr_function_make(self->call, output, like, made, &error);
        if (self->failed == HR_STATUS_OK)
            self->failed = hr_batch_create(&batch, made, n, true, &error);
        result = self->failed == HR_STATUS_OK ? batch_wrap(self->state, NULL, batch)
                                              : core_raise(&error);
    }
    free(like);
    free(made);
    return result;
}

static PyObject *function_call_await(PyObject *object, PyObject *given)
{
    function_call_object *self = (function_call_object *)object;
    void *stream;
    int known;
    hr_error error = {0};
    if (check_open(self) < 0 || stream_of(given, &stream, &known) < 0)
        return NULL;
    self->failed = hr_function_await(self->call, stream, &error);
    if (self->failed != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *function_call_synchronize(PyObject *object, PyObject *unused)
{
    function_call_object *self = (function_call_object *)object;
    hr_error error = {0};
    hr_status status;
    (void)unused;
    if (check_open(self) < 0)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = hr_function_synchronize(self->call, &error);
    Py_END_ALLOW_THREADS
    self->failed = status;
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *function_call_device(PyObject *object, void *unused)
{
    (void)unused;
    const function_call_object *self = (function_call_object *)object;
    return check_open(self) < 0 ? NULL : PyLong_FromLong(hr_function_device(self->call));
}

static PyObject *function_call_stream(PyObject *object, void *unused)
{
    (void)unused;
    const function_call_object *self = (function_call_object *)object;
    return check_open(self) < 0 ? NULL : PyLong_FromVoidPtr(hr_function_stream(self->call));
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
    {"fail", function_call_fail, METH_VARARGS,
     "fail(sample, text): this sample fails, and the call goes on with the others. On the CPU."},
    {"put_batch", function_call_put_batch, METH_VARARGS,
     "put_batch(output, array): copies all samples, the rows of the array, into an output."},
    {"make", function_call_make, METH_VARARGS,
     "make(output, dtype, shapes) -> Batch on the device, to be written instead of calling put."},
    {"wait_for", function_call_await, METH_O,
     "wait_for(stream): the call's stream waits for the work that is queued on this one."},
    {"synchronize", function_call_synchronize, METH_NOARGS,
     "synchronize(): waits for the work that is queued on the call's stream."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef function_call_getset[] = {
    {"samples", function_call_samples, NULL, NULL, NULL},
    {"device", function_call_device, NULL, "The CUDA device, or -1.", NULL},
    {"stream", function_call_stream, NULL, "The address of the call's stream, or 0.", NULL},
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
