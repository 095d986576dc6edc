/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Python objects as tensors: our own, or through the buffer protocol, __array_interface__, DLPack,
 * __cuda_array_interface__ or __array__. */
#include "import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 'i', 'u', 'f' or 'b' and a size; NONE with TypeError. */
static hr_dtype dtype_of(char kind, Py_ssize_t size, const char *what)
{
    static const struct {
        char kind;
        Py_ssize_t size;
        hr_dtype dtype;
    } table[] = {
        {'u', 1, HR_DTYPE_UINT8},  {'u', 2, HR_DTYPE_UINT16},  {'u', 4, HR_DTYPE_UINT32},
        {'u', 8, HR_DTYPE_UINT64}, {'i', 1, HR_DTYPE_INT8},    {'i', 2, HR_DTYPE_INT16},
        {'i', 4, HR_DTYPE_INT32},  {'i', 8, HR_DTYPE_INT64},   {'f', 2, HR_DTYPE_FLOAT16},
        {'f', 4, HR_DTYPE_FLOAT},  {'f', 8, HR_DTYPE_FLOAT64}, {'b', 1, HR_DTYPE_BOOL},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].kind == kind && table[i].size == size)
            return table[i].dtype;
    }
    PyErr_Format(PyExc_TypeError,
                 "elements of type \"%s\" (%zd bytes) are not supported; allowed are 8 to 64-bit "
                 "integers, 16 to 64-bit floats and bool",
                 what, size);
    return HR_DTYPE_NONE;
}

static hr_dtype dtype_of_format(const char *format, Py_ssize_t size)
{
    const char *f = format ? format : "B";
    if (*f == '@' || *f == '=' || *f == '<' || *f == '|')
        f++;
    char kind = 0;
    if (f[0] && !f[1]) {
        if (strchr("BHILQNc", f[0]))
            kind = 'u';
        else if (strchr("bhilqn", f[0]))
            kind = 'i';
        else if (strchr("efd", f[0]))
            kind = 'f';
        else if (f[0] == '?')
            kind = 'b';
    }
    return dtype_of(kind, size, format ? format : "");
}

static int check_ndim(Py_ssize_t ndim)
{
    if (ndim <= HR_MAX_NDIM)
        return 0;
    PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions, this one has %zd",
                 HR_MAX_NDIM, ndim);
    return -1;
}

/* ---- memory that is not dense ---- */

static void copy_strided(char **to, const char *from, const hr_shape *shape, const int64_t *strides,
                         int32_t d, size_t size)
{
    if (d == shape->ndim) {
        memcpy(*to, from, size);
        *to += size;
        return;
    }
    for (int64_t i = 0; i < shape->extent[d]; i++)
        copy_strided(to, from + i * strides[d], shape, strides, d + 1, size);
}

/* Makes im->tensor dense and aligned, by a copy if necessary. */
static int make_dense(imported *im, const int64_t *strides)
{
    hr_tensor *t = &im->tensor;
    size_t size = hr_dtype_size(t->dtype);
    int64_t volume = 1;
    int dense = 1, empty = 0;
    for (int32_t d = t->shape.ndim - 1; d >= 0; d--) {
        const int64_t n = t->shape.extent[d] == 0 ? 1 : t->shape.extent[d]; /* as hr_shape_volume */
        if (n < 0 || volume > INT64_MAX / 8 / n) {
            PyErr_SetString(PyExc_ValueError, "the shape has a negative extent or is too large");
            return -1;
        }
        if (n != 1 && strides[d] != volume * (int64_t)size)
            dense = 0;
        volume *= n;
        empty = empty || t->shape.extent[d] == 0;
    }
    volume = empty ? 0 : volume;
    if (im->device >= 0 && volume > 0 && !dense && im->strides) {
        memcpy(im->strides, strides, (size_t)t->shape.ndim * sizeof(*strides));
        im->strided = 1;
        return 0;
    }
    if (im->device >= 0 && volume > 0 && !dense) {
        PyErr_SetString(PyExc_ValueError, "an array in GPU memory has to be contiguous");
        return -1;
    }
    if (volume == 0 || im->device >= 0 || (dense && (uintptr_t)t->data % size == 0))
        return 0;
    char *to = im->copy = malloc((size_t)volume * size);
    if (!to) {
        PyErr_NoMemory();
        return -1;
    }
    copy_strided(&to, t->data, &t->shape, strides, 0, size);
    t->data = im->copy;
    Py_CLEAR(im->holder);
    return 0;
}

/* ---- the protocols ---- */

static int import_tensor(tensor_object *tensor, imported *out)
{
    out->tensor = tensor->view;
    out->owner = hr_batch_ref(tensor->owner);
    out->device = hr_batch_device(tensor->owner);
    return 0;
}

static int import_buffer(PyObject *object, imported *out)
{
    out->holder = PyMemoryView_FromObject(object);
    Py_buffer view;
    if (!out->holder || PyObject_GetBuffer(out->holder, &view, PyBUF_FULL_RO) < 0)
        return -1;
    int64_t strides[HR_MAX_NDIM];
    hr_tensor *t = &out->tensor;
    int rc = check_ndim(view.ndim);
    if (rc == 0) {
        t->dtype = dtype_of_format(view.format, view.itemsize);
        rc = t->dtype == HR_DTYPE_NONE ? -1 : 0;
    }
    if (rc == 0 && view.suboffsets) {
        PyErr_SetString(PyExc_TypeError, "a buffer with suboffsets cannot be read as a tensor");
        rc = -1;
    }
    if (rc == 0) {
        t->data = view.buf;
        t->shape.ndim = view.ndim;
        for (int d = 0; d < view.ndim; d++) {
            t->shape.extent[d] = view.shape[d];
            strides[d] = view.strides[d];
        }
    }
    PyBuffer_Release(&view); /* the memoryview keeps the memory */
    return rc < 0 ? -1 : make_dense(out, strides);
}

static int int64s_of(PyObject *tuple, int64_t *out)
{
    for (Py_ssize_t d = 0; d < PyTuple_Size(tuple); d++) {
        out[d] = PyLong_AsLongLong(PyTuple_GetItem(tuple, d));
        if (out[d] == -1 && PyErr_Occurred())
            return -1;
    }
    return 0;
}

/* The elements of an array interface that are in an object instead of at an address, as Pillow's
 * are. The tensor has its type and shape already. */
static int hold_elements(PyObject *data, imported *out)
{
    hr_tensor *t = &out->tensor;
    Py_buffer view;
    out->holder = PyMemoryView_FromObject(data);
    if (!out->holder || PyObject_GetBuffer(out->holder, &view, PyBUF_SIMPLE) < 0)
        return -1;
    t->data = view.buf;
    int64_t room = view.len / (Py_ssize_t)hr_dtype_size(t->dtype), volume = 1;
    PyBuffer_Release(&view); /* the memoryview keeps the memory */
    for (int32_t d = 0; d < t->shape.ndim; d++) {
        int64_t extent = t->shape.extent[d] > 0 ? t->shape.extent[d] : 0;
        if (extent > 0 && volume > room / extent) {
            PyErr_SetString(PyExc_ValueError,
                            "the array interface has too few bytes for its shape");
            return -1;
        }
        volume *= extent; /* make_dense refuses negative extents */
    }
    return 0;
}

/* __array_interface__, or the CUDA one of an object on `device`. */
static int import_interface(PyObject *object, PyObject *interface, int32_t device, imported *out)
{
    PyObject *shape = PyDict_GetItemString(interface, "shape");
    PyObject *data = PyDict_GetItemString(interface, "data");
    PyObject *strides_tuple = PyDict_GetItemString(interface, "strides");
    PyObject *typestr = PyDict_GetItemString(interface, "typestr");
    if (!shape || !PyTuple_Check(shape) || !data || !typestr || !PyUnicode_Check(typestr)) {
        PyErr_SetString(PyExc_TypeError, "the array interface is incomplete");
        return -1;
    }
    bool strided = strides_tuple && PyTuple_Check(strides_tuple);
    if (!PyTuple_Check(data) && (strided || device >= 0 || !PyObject_CheckBuffer(data)))
        return -2;
    Py_ssize_t ndim = PyTuple_Size(shape);
    const char *type = PyUnicode_AsUTF8AndSize(typestr, NULL);
    if (!type || check_ndim(ndim) < 0)
        return -1;
    hr_tensor *t = &out->tensor;
    t->dtype = dtype_of(type[0] == '>' ? 0
                        : type[0]      ? type[1]
                                       : 0,
                        type[0] && type[1] ? atoi(type + 2) : 0, type);
    t->shape.ndim = (int32_t)ndim;
    if (t->dtype == HR_DTYPE_NONE || int64s_of(shape, t->shape.extent) < 0)
        return -1;
    if (PyTuple_Check(data)) {
        PyObject *address = PyTuple_GetItem(data, 0);
        t->data = address ? PyLong_AsVoidPtr(address) : NULL;
        if (PyErr_Occurred())
            return -1;
        Py_INCREF(object);
        out->holder = object;
    } else if (hold_elements(data, out) < 0) {
        return -1;
    }
    int64_t strides[HR_MAX_NDIM], stride = (int64_t)hr_dtype_size(t->dtype);
    for (int32_t d = t->shape.ndim - 1; d >= 0; d--) {
        strides[d] = stride;
        /* unsigned: make_dense refuses shapes so large that this overflows */
        stride = (int64_t)((uint64_t)stride * (uint64_t)t->shape.extent[d]);
    }
    if (strided && (PyTuple_Size(strides_tuple) != ndim || int64s_of(strides_tuple, strides) < 0)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_TypeError,
                            "the array interface's strides and shape differ in length");
        return -1;
    }
    out->device = device;
    return make_dense(out, strides);
}

/* Imports the dictionary in attribute `name`; -2 if the object has none. */
static int import_interface_of(PyObject *object, const char *name, int32_t device, imported *out)
{
    if (!PyObject_HasAttrString(object, name))
        return -2;
    PyObject *interface = PyObject_GetAttrString(object, name);
    int rc = -2;
    if (interface && PyDict_Check(interface))
        rc = import_interface(object, interface, device, out);
    PyObject *stream = rc == 0 && device >= 0 ? PyDict_GetItemString(interface, "stream") : NULL;
    void *handle;
    int known;
    if (stream && stream != Py_None) {
        if (stream_of(stream, &handle, &known) < 0)
            rc = -1;
        else
            out->stream = handle;
    }
    Py_XDECREF(interface);
    if (rc == -2)
        PyErr_Clear();
    return rc;
}

static int import_dlpack(PyObject *capsule, imported *out)
{
    int64_t strides[HR_MAX_NDIM];
    out->holder = dlpack_import(capsule, &out->tensor, strides, &out->device);
    return out->holder ? make_dense(out, strides) : -1;
}

/* -2: the type has no table of C functions (DLPack 1.2), or the data is not complete on the stream.
 */
static int import_exchanged(const struct dl_exchange *table, PyObject *object, void *stream,
                            imported *out)
{
    int64_t strides[HR_MAX_NDIM];
    out->holder = dlpack_exchange(table, object, stream, &out->tensor, strides, &out->device);
    out->table = table;
    return out->holder ? make_dense(out, strides) : PyErr_Occurred() ? -1 : -2;
}

/* Imports the result of a method; -2 if the object does not have it. */
static int import_called(PyObject *object, const char *method, PyObject *kwargs, imported *out)
{
    PyObject *function = PyObject_GetAttrString(object, method);
    if (!function) {
        PyErr_Clear();
        return -2;
    }
    PyObject *none = PyTuple_New(0);
    PyObject *result = none ? PyObject_Call(function, none, kwargs) : NULL;
    Py_DECREF(function);
    Py_XDECREF(none);
    if (!result)
        return -1;
    int rc;
    if (PyCapsule_CheckExact(result))
        rc = import_dlpack(result, out);
    else if (PyObject_CheckBuffer(result))
        rc = import_buffer(result, out);
    else {
        PyErr_Format(PyExc_TypeError,
                     "%s did not return a DLPack capsule or an object with the buffer protocol",
                     method);
        rc = -1;
    }
    Py_DECREF(result);
    return rc;
}

/* Whether __dlpack_device__ says CUDA. */
static int on_cuda(PyObject *object)
{
    int kind = 0, number = 0;
    if (!PyObject_HasAttrString(object, "__dlpack_device__"))
        return 0;
    PyObject *pair = PyObject_CallMethod(object, "__dlpack_device__", NULL);
    if (!pair || !PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "ii", &kind, &number))
        PyErr_Clear(); /* __dlpack__ will say what is wrong */
    Py_XDECREF(pair);
    return kind == 2;
}

/* Passes our stream to the object, which makes it wait for the data. */
static int import_called_dlpack(PyObject *object, void *stream, imported *out)
{
    if (!on_cuda(object))
        return import_called(object, "__dlpack__", NULL, out);
    long long number = stream ? (long long)(uintptr_t)stream : 1;
    PyObject *kwargs = Py_BuildValue("{s:L}", "stream", number);
    int rc = kwargs ? import_called(object, "__dlpack__", kwargs, out) : -1;
    Py_XDECREF(kwargs);
    return rc;
}

/* -2: the object does not have the protocol, which is not OTHER. */
static int import_through(import_protocol protocol, const struct dl_exchange *table,
                          PyObject *object, void *stream, int32_t device, imported *out)
{
    out->protocol = protocol;
    if (protocol == IMPORT_PROTOCOL_TABLE)
        return import_exchanged(table, object, stream, out);
    if (protocol == IMPORT_PROTOCOL_DLPACK)
        return import_called_dlpack(object, stream, out);
    return import_interface_of(object, "__cuda_array_interface__", device < 0 ? 0 : device, out);
}

int import_object(core_state *state, PyObject *object, void *stream, int32_t device, imported *out)
{
    return import_strided(state, object, stream, device, NULL, out);
}

int import_strided(core_state *state, PyObject *object, void *stream, int32_t device,
                   int64_t *strides, imported *out)
{
    *out = (imported){.tensor = {.dtype = HR_DTYPE_NONE},
                      .device = HR_DEVICE_HOST,
                      .stream = stream,
                      .strides = strides};
    int rc = -2;
    if (PyObject_TypeCheck(object, state->tensor_type))
        return import_tensor((tensor_object *)object, out);
    if (PyCapsule_CheckExact(object))
        rc = import_dlpack(object, out);
    else if (PyObject_CheckBuffer(object) &&
             !PyObject_HasAttrString(object, "__cuda_array_interface__"))
        rc = import_buffer(object, out); /* GPU arrays have the protocol, too, but refuse */
    if (rc == -2)
        rc = import_interface_of(object, "__array_interface__", HR_DEVICE_HOST, out);
    const struct dl_exchange *table = rc == -2 ? dlpack_table(object) : NULL;
    for (import_protocol p = IMPORT_PROTOCOL_TABLE; rc == -2 && p <= IMPORT_PROTOCOL_CUDA; p++)
        rc = import_through(p, table, object, stream, device, out);
    if (rc == -2) {
        out->protocol = IMPORT_PROTOCOL_OTHER;
        rc = import_called(object, "__array__", NULL, out);
    }
    if (rc == -2) {
        PyObject *type = PyType_GetName(Py_TYPE(object));
        PyErr_Format(PyExc_TypeError,
                     "an object of type \"%S\" cannot be read as a tensor; pass a NumPy array, or "
                     "an object with the "
                     "buffer protocol, __array_interface__, __cuda_array_interface__ or DLPack",
                     type);
        Py_XDECREF(type);
    }
    if (rc < 0)
        import_release(out);
    return rc < 0 ? -1 : 0;
}

/* `like`: an item of the type that was imported before; or NULL. */
static int import_item(core_state *state, PyObject *object, void *stream, int32_t device,
                       const imported *like, imported *out)
{
    *out =
        (imported){.tensor = {.dtype = HR_DTYPE_NONE}, .device = HR_DEVICE_HOST, .stream = stream};
    import_protocol protocol = !like         ? IMPORT_PROTOCOL_OTHER
                               : like->table ? IMPORT_PROTOCOL_TABLE
                                             : like->protocol;
    int rc = -2;
    if (protocol != IMPORT_PROTOCOL_OTHER)
        rc = import_through(protocol, like->table, object, stream, device, out);
    if (rc == -2)
        return import_object(state, object, stream, device, out);
    if (rc < 0)
        import_release(out);
    return rc;
}

int import_items(core_state *state, PyObject *sequence, Py_ssize_t n, void *stream, int32_t device,
                 imported *items)
{
    PyTypeObject *type = NULL; /* of the item before */
    Py_ssize_t done = 0;
    for (; done < n; done++) {
        PyObject *item = PySequence_GetItem(sequence, done);
        const imported *like = item && Py_TYPE(item) == type ? &items[done - 1] : NULL;
        int rc = item ? import_item(state, item, stream, device, like, &items[done]) : -1;
        if (rc == 0 && !like) {
            Py_XDECREF((PyObject *)type);
            type = (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(item));
        }
        Py_XDECREF(item);
        if (rc < 0)
            break;
    }
    Py_XDECREF((PyObject *)type);
    for (Py_ssize_t i = 0; i < done && done < n; i++)
        import_release(&items[i]);
    return done < n ? -1 : 0;
}

void import_release(imported *im)
{
    Py_CLEAR(im->holder);
    free(im->copy);
    im->copy = NULL;
    hr_batch_unref(im->owner);
    im->owner = NULL;
}

int import_adopt(core_state *state, imported *im, hr_buffer **buffer)
{
    size_t size = hr_dtype_size(im->tensor.dtype);
    for (int32_t d = 0; d < im->tensor.shape.ndim; d++)
        size *= (size_t)im->tensor.shape.extent[d];
    hr_release_fn release = free;
    void *context = im->copy;
    if (im->holder) {
        release = reaper_release;
        context = reaper_hold(state->reaper, im->holder);
        if (!context)
            return -1;
    }
    hr_error error = {0};
    hr_status status =
        im->device >= 0 ? hr_buffer_adopt_cuda(buffer, im->tensor.data, size, im->device,
                                               im->stream, release, context, &error)
                        : hr_buffer_adopt(buffer, im->tensor.data, size, release, context, &error);
    if (status != HR_STATUS_OK) {
        if (!im->holder)
            free(context);
        else
            reaper_release(context);
        im->holder = NULL;
        im->copy = NULL;
        core_raise(&error);
        return -1;
    }
    im->holder = NULL; /* the buffer owns both now */
    im->copy = NULL;
    return 0;
}

int import_keep(core_state *state, imported *im, hr_buffer **buffer)
{
    if (im->owner) {
        *buffer = hr_buffer_ref(im->tensor.buffer);
        return 0;
    }
    void *context = im->holder ? reaper_hold(state->reaper, im->holder) : im->copy;
    hr_release_fn release = im->holder ? reaper_release : free;
    if (im->holder && !context)
        return -1;
    hr_error error = {0};
    im->holder = NULL;
    im->copy = NULL;
    if (hr_buffer_adopt(buffer, im->tensor.data, 0, release, context, &error) == HR_STATUS_OK)
        return 0;
    release(context);
    core_raise(&error);
    return -1;
}
