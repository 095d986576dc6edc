/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The module object: types, and functions about the build. */
#include <string.h>

#include "batch.h"
#include "function.h"
#include "pipeline.h"
#include "tables.h"
#include "secrets.h"
#include "tensor.h"
#include "threads.h"

/* Consumes the engine's text. */
static PyObject *text_of(hr_status status, char *text, const hr_error *error)
{
    if (status != HR_STATUS_OK)
        return core_raise(error);
    PyObject *result = core_text(text);
    hr_string_free(text);
    return result;
}

static PyObject *core_schema_json(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    hr_error error = {0};
    char *json = NULL;
    hr_status status = hr_schema_json(&json, &error);
    return text_of(status, json, &error);
}

static PyObject *core_doctor_json(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    hr_error error = {0};
    char *json = NULL;
    hr_status status = hr_doctor_json(&json, &error);
    return text_of(status, json, &error);
}

/* load_plugin(path, global_symbols) */
static PyObject *core_load_plugin(PyObject *module, PyObject *args)
{
    (void)module;
    hr_error error = {0};
    PyObject *path;
    int global_symbols;
    hr_status status;
    if (!PyArg_ParseTuple(args, "O&p:load_plugin", PyUnicode_FSConverter, &path, &global_symbols))
        return NULL;
    const char *text = PyBytes_AsString(path);
    Py_BEGIN_ALLOW_THREADS
    status = hr_plugin_load(text, global_symbols != 0, &error);
    Py_END_ALLOW_THREADS
    Py_DECREF(path);
    if (status != HR_STATUS_OK)
        return core_raise(&error);
    Py_RETURN_NONE;
}

static PyObject *core_version(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return core_text(hr_version());
}

static PyObject *core_mask_secrets(PyObject *module, PyObject *args)
{
    (void)module;
    const char *text;
    if (!PyArg_ParseTuple(args, "s:mask_secrets", &text))
        return NULL;
    size_t size = 2 * strlen(text) + 4; /* "?a" becomes "?***" */
    char *masked = PyMem_Malloc(size);
    if (!masked)
        return PyErr_NoMemory();
    hr_mask_secrets(text, masked, size);
    PyObject *result = core_text(masked);
    PyMem_Free(masked);
    return result;
}

/* set_classes(TensorListCPU, TensorCPU, TensorListGPU, TensorGPU): the classes of results. */
static PyObject *core_set_classes(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *batch[2], *tensor[2];
    PyTypeObject *tensor_types[2] = {state->host_tensor_type, state->device_tensor_type};
    if (!PyArg_ParseTuple(args, "OOOO:set_classes", &batch[0], &tensor[0], &batch[1], &tensor[1]))
        return NULL;
    for (int i = 0; i < 2; i++) {
        if (PyType_Check(batch[i]) && PyType_Check(tensor[i]) &&
            PyType_IsSubtype((PyTypeObject *)batch[i], state->batch_type) &&
            PyType_IsSubtype((PyTypeObject *)tensor[i], tensor_types[i]))
            continue;
        PyErr_SetString(PyExc_TypeError, "set_classes: expected subclasses of Batch and Tensor");
        return NULL;
    }
    for (int i = 0; i < 2; i++) {
        Py_INCREF(batch[i]);
        Py_INCREF(tensor[i]);
        Py_XDECREF(state->batch_class[i]);
        Py_XDECREF(state->tensor_class[i]);
        state->batch_class[i] = batch[i];
        state->tensor_class[i] = tensor[i];
    }
    Py_RETURN_NONE;
}

/* collect(list, function, *args): list.append(function(*args)). No signal handler runs between the
 * two, so an exception cannot lose the result. */
static PyObject *core_collect(PyObject *module, PyObject *args)
{
    (void)module;
    Py_ssize_t count = PyTuple_Size(args);
    if (count < 2 || !PyList_Check(PyTuple_GetItem(args, 0))) {
        PyErr_SetString(PyExc_TypeError, "collect: expected a list, a function and its arguments");
        return NULL;
    }
    PyObject *rest = PyTuple_GetSlice(args, 2, count);
    PyObject *result = rest ? PyObject_CallObject(PyTuple_GetItem(args, 1), rest) : NULL;
    int failed = result ? PyList_Append(PyTuple_GetItem(args, 0), result) : -1;
    Py_XDECREF(rest);
    Py_XDECREF(result);
    if (failed)
        return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef core_functions[] = {
    {"collect", core_collect, METH_VARARGS,
     "collect(list, function, *args): list.append(function(*args)) in one step."},
    {"schema_json", core_schema_json, METH_NOARGS, "schema_json() -> str: all operators."},
    {"doctor_json", core_doctor_json, METH_NOARGS, "doctor_json() -> str: this machine and build."},
    {"load_plugin", core_load_plugin, METH_VARARGS,
     "load_plugin(path, global_symbols): adds the operators of a library."},
    {"mask_secrets", core_mask_secrets, METH_VARARGS,
     "mask_secrets(text) -> str: with *** for passwords and queries in URLs."},
    {"version", core_version, METH_NOARGS, "version() -> str: of the engine."},
    {"set_classes", core_set_classes, METH_VARARGS,
     "set_classes(batch_class, tensor_class, gpu_batch_class, gpu_tensor_class): the classes of "
     "results."},
    {"dlpack_check", dlpack_check, METH_O,
     "dlpack_check(object) -> (is an unused DLPack capsule, is on a CUDA device)"},
    {NULL, NULL, 0, NULL}};

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, PyTypeObject *base)
{
    PyObject *type = PyType_FromModuleAndSpec(module, spec, (PyObject *)base);
    if (type && PyModule_AddType(module, (PyTypeObject *)type) < 0)
        Py_CLEAR(type);
    return (PyTypeObject *)type;
}

static int core_exec(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    state->module = module;
    state->reaper = reaper_create();
    if (!state->reaper)
        return -1;
    state->graph_type = add_type(module, &graph_spec, NULL);
    state->pipeline_type = add_type(module, &pipeline_spec, NULL);
    state->taker_type = add_type(module, &taker_spec, NULL);
    state->function_call_type = add_type(module, &function_call_spec, NULL);
    PyTypeObject *epochs = add_type(module, &epochs_spec, NULL);
    if (!epochs)
        return -1;
    Py_DECREF((PyObject *)epochs); /* the module keeps it */
    PyTypeObject *file = add_type(module, &file_spec, NULL);
    if (!file)
        return -1;
    Py_DECREF((PyObject *)file);
    state->batch_type = add_type(module, &batch_spec, NULL);
    state->tensor_type = add_type(module, &tensor_spec, NULL);
    state->threads_type = add_type(module, &threads_spec, NULL);
    if (!state->graph_type || !state->pipeline_type || !state->taker_type || !state->batch_type ||
        !state->tensor_type || !state->function_call_type || !state->threads_type)
        return -1;
    state->host_tensor_type = add_type(module, &host_tensor_spec, state->tensor_type);
    state->device_tensor_type = add_type(module, &device_tensor_spec, state->tensor_type);
    if (!state->host_tensor_type || !state->device_tensor_type)
        return -1;
    if (PyModule_AddFunctions(module, packed_functions) < 0 ||
        PyModule_AddFunctions(module, tables_functions) < 0 ||
        PyModule_AddFunctions(module, secrets_functions) < 0)
        return -1;
    return PyModule_AddFunctions(module, batch_functions);
}

static int core_traverse(PyObject *module, visitproc visit, void *arg)
{
    core_state *state = PyModule_GetState(module);
    Py_VISIT((PyObject *)state->graph_type);
    Py_VISIT((PyObject *)state->pipeline_type);
    Py_VISIT((PyObject *)state->taker_type);
    Py_VISIT((PyObject *)state->function_call_type);
    Py_VISIT((PyObject *)state->batch_type);
    Py_VISIT((PyObject *)state->tensor_type);
    Py_VISIT((PyObject *)state->threads_type);
    Py_VISIT((PyObject *)state->host_tensor_type);
    Py_VISIT((PyObject *)state->device_tensor_type);
    for (int i = 0; i < 2; i++) {
        Py_VISIT(state->batch_class[i]);
        Py_VISIT(state->tensor_class[i]);
    }
    return 0;
}

static int core_clear(PyObject *module)
{
    core_state *state = PyModule_GetState(module);
    Py_CLEAR(state->graph_type);
    Py_CLEAR(state->pipeline_type);
    Py_CLEAR(state->taker_type);
    Py_CLEAR(state->function_call_type);
    Py_CLEAR(state->batch_type);
    Py_CLEAR(state->tensor_type);
    Py_CLEAR(state->threads_type);
    Py_CLEAR(state->host_tensor_type);
    Py_CLEAR(state->device_tensor_type);
    for (int i = 0; i < 2; i++) {
        Py_CLEAR(state->batch_class[i]);
        Py_CLEAR(state->tensor_class[i]);
    }
    return 0;
}

static void core_free(void *module)
{
    core_state *state = PyModule_GetState(module);
    if (!state)
        return;
    core_clear(module);
    reaper_close(state->reaper);
    state->reaper = NULL;
    hr_thread_pool_unref(state->threads);
    state->threads = NULL;
}

static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, core_exec}, {0, NULL}};

static struct PyModuleDef core_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "headrace._core",
    .m_doc = "The C library as Python objects. Private: use the headrace package.",
    .m_size = sizeof(core_state),
    .m_methods = core_functions,
    .m_slots = core_slots,
    .m_traverse = core_traverse,
    .m_clear = core_clear,
    .m_free = core_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&core_module);
}
