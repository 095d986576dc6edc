/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Tensor: a view that keeps its batch alive and exports DLPack; HostTensor, the storage of
 * TensorCPU, adds the buffer protocol and __array_interface__. Nothing is copied. */
#include "tensor.h"

#include <string.h>
#include <unistd.h>

static char no_elements; /* the address of empty tensors */

typedef struct element {
    const char *format;  /* struct module */
    const char *typestr; /* __array_interface__ */
} element;

static const element elements[HR_DTYPE_COUNT] = {
    [HR_DTYPE_UINT8] = {"B", "|u1"},   [HR_DTYPE_UINT16] = {"H", "<u2"},
    [HR_DTYPE_UINT32] = {"I", "<u4"},  [HR_DTYPE_UINT64] = {"Q", "<u8"},
    [HR_DTYPE_INT8] = {"b", "|i1"},    [HR_DTYPE_INT16] = {"h", "<i2"},
    [HR_DTYPE_INT32] = {"i", "<i4"},   [HR_DTYPE_INT64] = {"q", "<i8"},
    [HR_DTYPE_FLOAT16] = {"e", "<f2"}, [HR_DTYPE_FLOAT] = {"f", "<f4"},
    [HR_DTYPE_FLOAT64] = {"d", "<f8"}, [HR_DTYPE_BOOL] = {"?", "|b1"},
};

static const element *element_of(const hr_tensor *t)
{
    return tensor_numeric(t) ? &elements[t->dtype] : NULL;
}

const char *tensor_typestr(const hr_tensor *t)
{
    const element *e = element_of(t);
    return e ? e->typestr : NULL;
}

static int64_t volume_of(const hr_shape *shape)
{
    int64_t volume = 1;
    for (int32_t d = 0; d < shape->ndim; d++)
        volume *= shape->extent[d];
    return volume;
}

void *tensor_data(const tensor_object *self)
{
    return self->view.data ? self->view.data : &no_elements;
}

static void tensor_show(tensor_object *self, const hr_tensor *view)
{
    self->view = *view;
    Py_ssize_t stride = (Py_ssize_t)hr_dtype_size(view->dtype);
    for (int32_t d = view->shape.ndim - 1; d >= 0; d--) {
        self->extents[d] = (Py_ssize_t)view->shape.extent[d];
        self->extents[HR_MAX_NDIM + d] = stride;
        stride *= (Py_ssize_t)view->shape.extent[d];
    }
}

PyTypeObject *tensor_class_of(core_state *state, const hr_batch *owner)
{
    return (PyTypeObject *)state->tensor_class[hr_batch_device(owner) >= 0];
}

PyObject *tensor_wrap(core_state *state, PyTypeObject *type, hr_batch *owner, const hr_tensor *view)
{
    if (!type) {
        PyErr_SetString(PyExc_RuntimeError, "the interpreter is shutting down");
        return NULL;
    }
    tensor_object *self = (tensor_object *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    self->state = core_hold(state);
    self->owner = hr_batch_ref(owner);
    self->pid = getpid();
    tensor_show(self, view);
    if (!self->view.buffer && hr_batch_size(owner) > 0) /* for the owner of the memory */
        self->view.buffer = hr_batch_tensor(owner, 0)->buffer;
    return (PyObject *)self;
}

void tensor_dealloc(PyObject *object)
{
    tensor_object *self = (tensor_object *)object;
    if (self->owner && self->pid == getpid()) {
        hr_batch_unref(self->owner);
        reaper_drain(self->state->reaper);
    }
    core_dispose_held(object, self->state);
}

/* ---- protocols ---- */

static int tensor_getbuffer(PyObject *object, Py_buffer *view, int flags)
{
    tensor_object *self = (tensor_object *)object;
    const element *e = element_of(&self->view);
    view->obj = NULL;
    if (!e)
        return -1;
    int32_t ndim = self->view.shape.ndim;
    *view = (Py_buffer){
        .buf = tensor_data(self),
        .obj = object,
        .itemsize = (Py_ssize_t)hr_dtype_size(self->view.dtype),
        .len =
            (Py_ssize_t)(volume_of(&self->view.shape) * (int64_t)hr_dtype_size(self->view.dtype)),
        .ndim = (flags & PyBUF_ND) == PyBUF_ND ? ndim : 1,
        .format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? (char *)(uintptr_t)e->format : NULL,
        .shape = (flags & PyBUF_ND) == PyBUF_ND ? self->extents : NULL,
        .strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? self->extents + HR_MAX_NDIM : NULL,
    };
    Py_INCREF(object);
    self->exports++;
    return 0;
}

static void tensor_releasebuffer(PyObject *object, Py_buffer *view)
{
    (void)view;
    ((tensor_object *)object)->exports--;
}

PyObject *tensor_shape_tuple(const hr_shape *shape)
{
    PyObject *tuple = PyTuple_New(shape->ndim);
    for (int32_t d = 0; tuple && d < shape->ndim; d++)
        PyTuple_SetItem(tuple, d, PyLong_FromLongLong(shape->extent[d]));
    return tuple;
}

static PyObject *tensor_array_interface(PyObject *object, void *unused)
{
    (void)unused;
    tensor_object *self = (tensor_object *)object;
    const element *e = element_of(&self->view);
    PyObject *shape = e ? tensor_shape_tuple(&self->view.shape) : NULL;
    if (!shape)
        return NULL;
    return Py_BuildValue("{s:N,s:s,s:(NO),s:O,s:i}", "shape", shape, "typestr", e->typestr, "data",
                         PyLong_FromVoidPtr(tensor_data(self)), Py_False, "strides", Py_None,
                         "version", 3);
}

/* Parses the arguments of __dlpack__; 0, or -1 with an exception. */
static int dlpack_request(PyObject *args, PyObject *kwargs, int32_t device, PyObject **stream,
                          int *versioned, int *to_host, int *copied)
{
    static char *names[] = {"stream", "max_version", "dl_device", "copy", NULL};
    PyObject *max_version = Py_None, *dl_device = Py_None, *copy = Py_None;
    int major = 0, minor, kind = 0, number;
    *stream = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOO:__dlpack__", names, stream, &max_version,
                                     &dl_device, &copy))
        return -1;
    if ((dl_device != Py_None && !PyTuple_Check(dl_device)) ||
        (max_version != Py_None && !PyTuple_Check(max_version))) {
        PyErr_SetString(PyExc_TypeError,
                        "__dlpack__: dl_device and max_version must be tuples of two integers");
        return -1;
    }
    if ((dl_device != Py_None && !PyArg_ParseTuple(dl_device, "ii", &kind, &number)) ||
        (max_version != Py_None && !PyArg_ParseTuple(max_version, "ii", &major, &minor)))
        return -1;
    *versioned = major >= 1;
    *to_host = device >= 0 && kind == 1;
    if (kind && kind != 1 && (device < 0 || kind != 2 || number != device)) {
        PyErr_Format(PyExc_BufferError, "dl_device: this tensor is in %s memory",
                     device < 0 ? "host" : "another device's");
        return -1;
    }
    *copied = copy == Py_True && device < 0;
    if (*to_host ? copy == Py_False : copy == Py_True && device >= 0) {
        PyErr_SetString(PyExc_BufferError, *to_host ? "copy=False: this tensor is in GPU memory"
                                                    : "copy=True: GPU memory can only be shared");
        return -1;
    }
    if (*stream != Py_None && (device < 0 || *to_host)) {
        PyErr_SetString(PyExc_BufferError, "stream: this tensor is in host memory");
        return -1;
    }
    return 0;
}

/* A copy in host memory as a batch of one sample; NULL with an exception. */
static hr_batch *tensor_copy(const hr_tensor *tensor)
{
    hr_batch *copy = NULL;
    hr_error error = {0};
    if (hr_batch_create(&copy, tensor, 1, false, &error) != HR_STATUS_OK)
        core_raise(&error);
    return copy;
}

/* Data on a device is complete, so the consumer's stream need not wait. Its memory is reused after
 * the work that the consumer queues on the stream. */
static PyObject *tensor_dlpack(PyObject *object, PyObject *args, PyObject *kwargs)
{
    const tensor_object *self = (tensor_object *)object;
    int32_t device = hr_batch_device(self->owner);
    PyObject *stream;
    void *handle;
    int versioned, to_host, copied, known;
    if (dlpack_request(args, kwargs, device, &stream, &versioned, &to_host, &copied) < 0)
        return NULL;
    if (to_host || copied) {
        hr_batch *host = to_host ? tensor_to_host(&self->view) : tensor_copy(&self->view);
        PyObject *capsule =
            host ? dlpack_export(host, hr_batch_tensor(host, 0), versioned, 1) : NULL;
        hr_batch_unref(host);
        return capsule;
    }
    if (device >= 0) {
        if (stream_of(stream, &handle, &known) < 0)
            return NULL;
        hr_batch_used(self->owner, handle);
    }
    return dlpack_export(self->owner, &self->view, versioned, 0);
}

static PyObject *tensor_dlpack_device(PyObject *object, PyObject *unused)
{
    (void)unused;
    int32_t device = hr_batch_device(((tensor_object *)object)->owner);
    return device >= 0 ? Py_BuildValue("(ii)", 2, device) : Py_BuildValue("(ii)", 1, 0);
}

/* ---- facts ---- */

static PyObject *tensor_shape(PyObject *object, PyObject *unused)
{
    (void)unused;
    PyObject *tuple = tensor_shape_tuple(&((tensor_object *)object)->view.shape);
    PyObject *list = tuple ? PySequence_List(tuple) : NULL;
    Py_XDECREF(tuple);
    return list;
}

static PyObject *tensor_ndim(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(((tensor_object *)object)->view.shape.ndim);
}

static PyObject *tensor_dtype(PyObject *object, void *unused)
{
    (void)unused;
    return PyLong_FromLong(((tensor_object *)object)->view.dtype);
}

static PyObject *tensor_nbytes(PyObject *object, void *unused)
{
    (void)unused;
    const hr_tensor *t = &((tensor_object *)object)->view;
    return PyLong_FromLongLong(volume_of(&t->shape) * (int64_t)hr_dtype_size(t->dtype));
}

static PyObject *tensor_layout(PyObject *object, PyObject *unused)
{
    (void)unused;
    return core_text(((tensor_object *)object)->view.layout.name);
}

static PyObject *tensor_source_info(PyObject *object, PyObject *unused)
{
    (void)unused;
    const char *text = ((tensor_object *)object)->view.source_info;
    return core_text(text ? text : "");
}

static PyObject *tensor_data_ptr(PyObject *object, PyObject *unused)
{
    (void)unused;
    return PyLong_FromVoidPtr(tensor_data((tensor_object *)object));
}

static int layout_into(hr_tensor *t, const char *layout)
{
    size_t length = strlen(layout);
    if (length > HR_MAX_NDIM || (length && (int32_t)length != t->shape.ndim)) {
        PyErr_Format(PyExc_ValueError, "layout \"%s\" does not fit a tensor of %d dimensions",
                     layout, (int)t->shape.ndim);
        return -1;
    }
    memset(&t->layout, 0, sizeof(t->layout));
    memcpy(t->layout.name, layout, length);
    return 0;
}

static PyObject *tensor_set_layout(PyObject *object, PyObject *layout)
{
    PyObject *bytes = PyUnicode_AsUTF8String(layout);
    if (!bytes)
        return NULL;
    int rc = layout_into(&((tensor_object *)object)->view, PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (rc < 0)
        return NULL;
    Py_RETURN_NONE;
}

/* _view(dtype, shape, layout): the same bytes as another tensor. */
static PyObject *tensor_view(PyObject *object, PyObject *args)
{
    tensor_object *self = (tensor_object *)object;
    int dtype;
    PyObject *shape;
    const char *layout;
    if (!PyArg_ParseTuple(args, "iO!s:_view", &dtype, &PyTuple_Type, &shape, &layout))
        return NULL;
    hr_tensor view = self->view;
    view.dtype = (hr_dtype)dtype;
    Py_ssize_t ndim = PyTuple_Size(shape);
    if (hr_dtype_size(view.dtype) == 0 || ndim > HR_MAX_NDIM) {
        PyErr_SetString(PyExc_ValueError, "unknown element type, or more than 8 dimensions");
        return NULL;
    }
    int64_t bytes = volume_of(&self->view.shape) * (int64_t)hr_dtype_size(self->view.dtype);
    int64_t volume = 1, limit = bytes / (int64_t)hr_dtype_size(view.dtype);
    view.shape.ndim = (int32_t)ndim;
    for (Py_ssize_t d = 0; d < ndim; d++) {
        int64_t extent = PyLong_AsLongLong(PyTuple_GetItem(shape, d));
        if (extent == -1 && PyErr_Occurred())
            return NULL;
        if (extent < 0 || (extent > 0 && volume > limit / extent))
            volume = -1;
        view.shape.extent[d] = extent;
        volume = volume < 0 ? -1 : volume * extent;
        if (volume < 0)
            break;
    }
    if (volume < 0 || volume * (int64_t)hr_dtype_size(view.dtype) != bytes) {
        PyErr_SetString(PyExc_ValueError,
                        "the new type and shape do not have the same number of bytes");
        return NULL;
    }
    if (layout_into(&view, layout) < 0)
        return NULL;
    return tensor_wrap(self->state, Py_TYPE(object), self->owner, &view);
}

/* _assign(tensor): becomes a view of the same memory. */
static PyObject *tensor_assign(PyObject *object, PyObject *other)
{
    tensor_object *self = (tensor_object *)object;
    if (!PyObject_TypeCheck(other, self->state->tensor_type)) {
        PyErr_SetString(PyExc_TypeError, "expected a Tensor");
        return NULL;
    }
    if (self->exports) {
        PyErr_SetString(PyExc_BufferError,
                        "the tensor cannot be reassigned while a buffer of it is exported");
        return NULL;
    }
    if ((hr_batch_device(self->owner) < 0) !=
        (hr_batch_device(((tensor_object *)other)->owner) < 0)) {
        PyErr_SetString(PyExc_TypeError,
                        "the other tensor must be on the same kind of device (CPU or GPU)");
        return NULL;
    }
    hr_batch *old = self->owner;
    self->owner = hr_batch_ref(((tensor_object *)other)->owner);
    tensor_show(self, &((tensor_object *)other)->view);
    hr_batch_unref(old);
    reaper_drain(self->state->reaper);
    Py_RETURN_NONE;
}

static PyObject *tensor_copy_to(PyObject *object, PyObject *address)
{
    tensor_object *self = (tensor_object *)object;
    void *to = PyLong_AsVoidPtr(address);
    if (PyErr_Occurred())
        return NULL;
    size_t size = (size_t)volume_of(&self->view.shape) * hr_dtype_size(self->view.dtype);
    if (size && !to) {
        PyErr_SetString(PyExc_ValueError, "copy_to_external: the address is null");
        return NULL;
    }
    const void *from = tensor_data(self);
    Py_BEGIN_ALLOW_THREADS
    if (size)
        memcpy(to, from, size);
    Py_END_ALLOW_THREADS
    Py_RETURN_NONE;
}

static PyMethodDef tensor_methods[] = {
    {"shape", tensor_shape, METH_NOARGS, "shape() -> list of int"},
    {"ndim", tensor_ndim, METH_NOARGS, "ndim() -> int"},
    {"layout", tensor_layout, METH_NOARGS, "layout() -> str: one letter per dimension, or empty."},
    {"set_layout", tensor_set_layout, METH_O, "set_layout(layout): of this view only."},
    {"source_info", tensor_source_info, METH_NOARGS,
     "source_info() -> str: where the sample came from (a path), or empty."},
    {"data_ptr", tensor_data_ptr, METH_NOARGS,
     "data_ptr() -> int: address; valid while this object exists."},
    {"_view", tensor_view, METH_VARARGS,
     "_view(dtype, shape, layout) -> Tensor of the same bytes."},
    {"_assign", tensor_assign, METH_O, "_assign(tensor): becomes a view of the same memory."},
    {"__dlpack__", (PyCFunction)(void (*)(void))tensor_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None) -> capsule; nothing "
     "is copied, except for dl_device=(1, 0) of a tensor on a GPU."},
    {"__dlpack_device__", tensor_dlpack_device, METH_NOARGS,
     "__dlpack_device__() -> (1, 0) in host memory, (2, number) on a GPU."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef tensor_getset[] = {
    {"_dtype", tensor_dtype, NULL, NULL, NULL},
    {"nbytes", tensor_nbytes, NULL, "Bytes of the elements.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot tensor_slots[] = {{Py_tp_dealloc, tensor_dealloc},
                                     {Py_tp_methods, tensor_methods},
                                     {Py_tp_getset, tensor_getset},
                                     {Py_tp_doc, "One sample, or a whole batch."},
                                     {0, NULL}};

PyType_Spec tensor_spec = {.name = "headrace._core.Tensor",
                           .basicsize = sizeof(tensor_object),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                    Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = tensor_slots};

static PyMethodDef host_methods[] = {{"_copy_to", tensor_copy_to, METH_O, "_copy_to(address)"},
                                     {NULL, NULL, 0, NULL}};

static PyGetSetDef host_getset[] = {
    {"__array_interface__", tensor_array_interface, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot host_slots[] = {{Py_tp_dealloc, tensor_dealloc},
                                   {Py_tp_methods, host_methods},
                                   {Py_tp_getset, host_getset},
                                   {Py_bf_getbuffer, tensor_getbuffer},
                                   {Py_bf_releasebuffer, tensor_releasebuffer},
                                   {Py_tp_doc, "One sample, or a whole batch, in host memory."},
                                   {0, NULL}};

PyType_Spec host_tensor_spec = {.name = "headrace._core.HostTensor",
                                .basicsize = sizeof(tensor_object),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE |
                                         Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = host_slots};
