/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* DeviceTensor, the storage of TensorGPU: a view of a batch on a CUDA device. */
#include "tensor.h"

static PyObject *tensor_host_copy(PyObject *object, PyObject *unused)
{
    (void)unused;
    tensor_object *self = (tensor_object *)object;
    hr_batch *host = tensor_to_host(&self->view);
    if (!host)
        return NULL;
    PyObject *tensor = tensor_wrap(self->state, tensor_class_of(self->state, host), host,
                                   hr_batch_tensor(host, 0));
    hr_batch_unref(host);
    return tensor;
}

/* _copy_to(address, stream, wait) */
static PyObject *tensor_copy_to(PyObject *object, PyObject *args)
{
    tensor_object *self = (tensor_object *)object;
    PyObject *address, *stream;
    void *handle;
    int wait, known;
    if (!PyArg_ParseTuple(args, "OOp:_copy_to", &address, &stream, &wait) ||
        stream_of(stream, &handle, &known) < 0)
        return NULL;
    void *to = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred())
        return NULL;
    if (!to) {
        PyErr_SetString(PyExc_ValueError, "copy_to_external: the address is null");
        return NULL;
    }
    hr_error error = {0};
    hr_status status;
    Py_BEGIN_ALLOW_THREADS
    status = hr_tensor_copy(&self->view, to, handle, wait, &error);
    Py_END_ALLOW_THREADS
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *tensor_device_id(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(hr_batch_device(((tensor_object *)object)->owner));
}

/* The data is complete ("stream": None). The reader's stream is unknown, so the memory is reused
 * after the default stream, which waits for all blocking streams. */
static PyObject *tensor_cuda_array_interface(PyObject *object, void *unused)
{
    (void)unused;
    tensor_object *self = (tensor_object *)object;
    const char *typestr = tensor_typestr(&self->view);
    PyObject *shape = typestr ? tensor_shape_tuple(&self->view.shape) : NULL;
    if (!shape)
        return NULL;
    hr_batch_used(self->owner, NULL);
    return Py_BuildValue("{s:N,s:s,s:(NO),s:O,s:O,s:i}", "shape", shape, "typestr", typestr, "data",
                         PyLong_FromVoidPtr(self->view.data), Py_False, "strides", Py_None,
                         "stream", Py_None, "version", 3);
}

static PyMethodDef device_methods[] = {
    {"device_id", tensor_device_id, METH_NOARGS, "device_id() -> int: the CUDA device."},
    {"_to_host", tensor_host_copy, METH_NOARGS, "_to_host() -> a copy in host memory."},
    {"_copy_to", tensor_copy_to, METH_VARARGS, "_copy_to(address, stream, wait)"},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef device_getset[] = {
    {"__cuda_array_interface__", tensor_cuda_array_interface, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot device_slots[] = {{Py_tp_dealloc, tensor_dealloc},
                                     {Py_tp_methods, device_methods},
                                     {Py_tp_getset, device_getset},
                                     {Py_tp_doc, "One sample, or a whole batch, on a GPU."},
                                     {0, NULL}};

PyType_Spec device_tensor_spec = {.name = "headrace._core.DeviceTensor",
                                  .basicsize = sizeof(tensor_object),
                                  .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                  .slots = device_slots};
