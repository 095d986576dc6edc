/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* DLPack export and import: legacy and versioned capsules. The structs are those of version 1 of
 * the DLPack specification. */
#include "tensor.h"

#include <stdlib.h>

enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3 };
enum { DL_INT = 0, DL_UINT = 1, DL_FLOAT = 2, DL_BOOL = 6 };

typedef struct dl_tensor {
    void *data;
    struct {
        int32_t type, id;
    } device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes;
    } dtype;
    int64_t *shape, *strides; /* strides count elements; NULL: dense */
    uint64_t byte_offset;
} dl_tensor;

typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *self);
} dl_managed;

typedef struct dl_versioned {
    uint32_t major, minor;
    void *context;
    void (*deleter)(struct dl_versioned *self);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

static const struct {
    uint8_t code, bits;
} types[HR_DTYPE_COUNT] = {
    [HR_DTYPE_UINT8] = {DL_UINT, 8},     [HR_DTYPE_UINT16] = {DL_UINT, 16},
    [HR_DTYPE_UINT32] = {DL_UINT, 32},   [HR_DTYPE_UINT64] = {DL_UINT, 64},
    [HR_DTYPE_INT8] = {DL_INT, 8},       [HR_DTYPE_INT16] = {DL_INT, 16},
    [HR_DTYPE_INT32] = {DL_INT, 32},     [HR_DTYPE_INT64] = {DL_INT, 64},
    [HR_DTYPE_FLOAT16] = {DL_FLOAT, 16}, [HR_DTYPE_FLOAT] = {DL_FLOAT, 32},
    [HR_DTYPE_FLOAT64] = {DL_FLOAT, 64}, [HR_DTYPE_BOOL] = {DL_BOOL, 8},
};

/* What a producer offers to C as `__dlpack_c_exchange_api__` of its type, since version 1.3. */
typedef struct dl_exchange {
    uint32_t major, minor;
    void *older; /* a table of an earlier major version */
    void *allocate;
    int (*from_object)(void *object, dl_versioned **out); /* waits for no stream */
    void *to_object, *view_object;
    int (*current_stream)(int32_t device_type, int32_t id, void **stream);
} dl_exchange;

/* ---- export ---- */

typedef struct lent {
    union {
        dl_managed legacy;
        dl_versioned versioned;
    } u;
    hr_batch *owner;
    int64_t shape[HR_MAX_NDIM], strides[HR_MAX_NDIM];
} lent;

/* Consumers call these on any thread, without the GIL. */
static void delete_legacy(dl_managed *managed)
{
    lent *l = managed->context;
    hr_batch_unref(l->owner);
    free(l);
}

static void delete_versioned(dl_versioned *versioned)
{
    lent *l = versioned->context;
    hr_batch_unref(l->owner);
    free(l);
}

/* Capsules that were never consumed. */
static void drop_legacy(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor"))
        delete_legacy(PyCapsule_GetPointer(capsule, "dltensor"));
}

static void drop_versioned(PyObject *capsule)
{
    if (PyCapsule_IsValid(capsule, "dltensor_versioned"))
        delete_versioned(PyCapsule_GetPointer(capsule, "dltensor_versioned"));
}

PyObject *dlpack_export(hr_batch *owner, const hr_tensor *t, int versioned, int copied)
{
    if (!tensor_numeric(t))
        return NULL;
    lent *l = calloc(1, sizeof(*l));
    if (!l)
        return PyErr_NoMemory();
    int64_t stride = 1;
    for (int32_t d = t->shape.ndim - 1; d >= 0; d--) {
        l->shape[d] = t->shape.extent[d];
        l->strides[d] = stride;
        stride *= t->shape.extent[d];
    }
    dl_tensor *dl = versioned ? &l->u.versioned.tensor : &l->u.legacy.tensor;
    dl->data = t->data;
    int32_t device = hr_batch_device(owner);
    dl->device.type = device >= 0 ? DL_CUDA : DL_CPU;
    dl->device.id = device >= 0 ? device : 0;
    dl->ndim = t->shape.ndim;
    dl->dtype.code = types[t->dtype].code;
    dl->dtype.bits = types[t->dtype].bits;
    dl->dtype.lanes = 1;
    dl->shape = l->shape;
    dl->strides = l->strides;
    l->owner = hr_batch_ref(owner);
    PyObject *capsule;
    if (versioned) {
        l->u.versioned.major = 1;
        l->u.versioned.context = l;
        l->u.versioned.deleter = delete_versioned;
        l->u.versioned.flags = copied ? 2 : 0;
        capsule = PyCapsule_New(&l->u.versioned, "dltensor_versioned", drop_versioned);
    } else {
        l->u.legacy.context = l;
        l->u.legacy.deleter = delete_legacy;
        capsule = PyCapsule_New(&l->u.legacy, "dltensor", drop_legacy);
    }
    if (!capsule) {
        hr_batch_unref(l->owner);
        free(l);
    }
    return capsule;
}

/* ---- import ---- */

PyObject *dlpack_check(PyObject *module, PyObject *object)
{
    const dl_tensor *tensor = NULL;

    (void)module;
    if (PyCapsule_IsValid(object, "dltensor"))
        tensor = &((dl_managed *)PyCapsule_GetPointer(object, "dltensor"))->tensor;
    else if (PyCapsule_IsValid(object, "dltensor_versioned"))
        tensor = &((dl_versioned *)PyCapsule_GetPointer(object, "dltensor_versioned"))->tensor;
    return Py_BuildValue("(NN)", PyBool_FromLong(tensor != NULL),
                         PyBool_FromLong(tensor && tensor->device.type == DL_CUDA));
}

static int read_tensor(const dl_tensor *dl, hr_tensor *tensor, int64_t *strides, int32_t *device)
{
    *device = dl->device.type == DL_CUDA ? dl->device.id : HR_DEVICE_HOST;
    if (dl->device.type != DL_CPU && dl->device.type != DL_CUDA &&
        dl->device.type != DL_CUDA_HOST) {
        PyErr_Format(PyExc_RuntimeError,
                     "the tensor is on DLPack device type %d; only the CPU and CUDA devices are "
                     "supported",
                     (int)dl->device.type);
        return -1;
    }
    if (dl->ndim < 0 || dl->ndim > HR_MAX_NDIM) {
        PyErr_Format(PyExc_ValueError, "a tensor has at most %d dimensions, this one has %d",
                     HR_MAX_NDIM, (int)dl->ndim);
        return -1;
    }
    *tensor = (hr_tensor){.data = (char *)dl->data + dl->byte_offset, .dtype = HR_DTYPE_NONE};
    for (int i = 0; i < HR_DTYPE_COUNT; i++) {
        if (dl->dtype.lanes == 1 && dl->dtype.code == types[i].code &&
            dl->dtype.bits == types[i].bits)
            tensor->dtype = (hr_dtype)i;
    }
    if (tensor->dtype == HR_DTYPE_NONE) {
        PyErr_Format(PyExc_TypeError, "no element type for DLPack type code %d with %d bits",
                     (int)dl->dtype.code, (int)dl->dtype.bits);
        return -1;
    }
    int64_t size = (int64_t)hr_dtype_size(tensor->dtype), stride = size;
    tensor->shape.ndim = dl->ndim;
    for (int32_t d = dl->ndim - 1; d >= 0; d--) {
        tensor->shape.extent[d] = dl->shape[d];
        /* unsigned: make_dense refuses shapes so large that this overflows */
        strides[d] = dl->strides ? (int64_t)((uint64_t)dl->strides[d] * (uint64_t)size) : stride;
        stride = (int64_t)((uint64_t)stride * (uint64_t)dl->shape[d]);
    }
    return 0;
}

static void used_legacy(PyObject *capsule)
{
    dl_managed *managed = PyCapsule_GetPointer(capsule, "headrace.dltensor");
    if (managed && managed->deleter)
        managed->deleter(managed);
}

static void used_versioned(PyObject *capsule)
{
    dl_versioned *versioned = PyCapsule_GetPointer(capsule, "headrace.dltensor_versioned");
    if (versioned && versioned->deleter)
        versioned->deleter(versioned);
}

const struct dl_exchange *dlpack_table(PyObject *object)
{
    PyObject *capsule =
        PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__dlpack_c_exchange_api__");
    const dl_exchange *api = NULL;
    if (!capsule)
        PyErr_Clear();
    else if (PyCapsule_IsValid(capsule, "dlpack_exchange_api"))
        api = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    Py_XDECREF(capsule); /* the table lives as long as the type */
    return api && api->major == 1 ? api : NULL;
}

/* PyTorch's table also exports tensors that its `__dlpack__` refuses. */
static int requires_grad(PyObject *object)
{
    PyObject *grad = PyObject_GetAttrString(object, "requires_grad");
    int yes = grad && grad != Py_False;
    if (!grad)
        PyErr_Clear();
    Py_XDECREF(grad);
    return yes;
}

/* Whether the data is complete in the order of `stream`. */
static int complete_on(const dl_exchange *api, const dl_tensor *dl, const void *stream)
{
    void *current = NULL;
    if (dl->device.type != DL_CUDA)
        return 1;
    if (api->current_stream(DL_CUDA, dl->device.id, &current) != 0) {
        PyErr_Clear();
        return 0;
    }
    return current == stream;
}

PyObject *dlpack_exchange(const struct dl_exchange *api, PyObject *object, void *stream,
                          hr_tensor *tensor, int64_t *strides, int32_t *device)
{
    dl_versioned *managed = NULL;
    if (!api || requires_grad(object))
        return NULL;
    if (api->from_object(object, &managed) != 0 || !managed)
        return NULL;
    if (managed->major != 1 || !complete_on(api, &managed->tensor, stream)) {
        if (managed->deleter)
            managed->deleter(managed);
        return NULL;
    }
    PyObject *holder = PyCapsule_New(managed, "headrace.dltensor_versioned", used_versioned);
    if (!holder && managed->deleter)
        managed->deleter(managed);
    if (holder && read_tensor(&managed->tensor, tensor, strides, device) < 0)
        Py_CLEAR(holder);
    return holder;
}

PyObject *dlpack_import(PyObject *capsule, hr_tensor *tensor, int64_t *strides, int32_t *device)
{
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dl_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
        if (read_tensor(&managed->tensor, tensor, strides, device) < 0)
            return NULL;
        PyObject *holder = PyCapsule_New(managed, "headrace.dltensor", used_legacy);
        if (holder)
            PyCapsule_SetName(capsule, "used_dltensor");
        return holder;
    }
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_versioned *versioned = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (versioned->major != 1) {
            PyErr_SetString(PyExc_BufferError,
                            "this version of DLPack is not supported, only version 1 is");
            return NULL;
        }
        if (read_tensor(&versioned->tensor, tensor, strides, device) < 0)
            return NULL;
        PyObject *holder = PyCapsule_New(versioned, "headrace.dltensor_versioned", used_versioned);
        if (holder)
            PyCapsule_SetName(capsule, "used_dltensor_versioned");
        return holder;
    }
    PyErr_SetString(PyExc_ValueError, "not a DLPack capsule, or already consumed");
    return NULL;
}
