/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Graph: nodes are added in definition order. Argument values are converted here and checked by the
 * library. */
#include "function.h"
#include "pipeline.h"

#include <stdlib.h>
#include <string.h>

typedef struct graph_object {
    PyObject ob_base;
    hr_graph *graph;
} graph_object;

const hr_graph *graph_get(PyObject *self)
{
    return ((graph_object *)self)->graph;
}

/* ---- memory for the duration of one call ---- */

typedef struct keep {
    PyObject *objects; /* list of bytes objects that strings point into */
    void **blocks;
    Py_ssize_t count, capacity;
} keep;

static void *keep_alloc(keep *k, size_t count, size_t size)
{
    if (k->count == k->capacity) {
        Py_ssize_t capacity = k->capacity ? 2 * k->capacity : 8;
        void **blocks = realloc(k->blocks, (size_t)capacity * sizeof(*blocks));
        if (!blocks) {
            PyErr_NoMemory();
            return NULL;
        }
        k->blocks = blocks;
        k->capacity = capacity;
    }
    void *block = calloc(count ? count : 1, size);
    if (!block) {
        PyErr_NoMemory();
        return NULL;
    }
    k->blocks[k->count++] = block;
    return block;
}

static void keep_fini(keep *k)
{
    for (Py_ssize_t i = 0; i < k->count; i++)
        free(k->blocks[i]);
    free(k->blocks);
    Py_XDECREF(k->objects);
}

/* str (surrogates become bytes again), bytes or a path. */
static const char *keep_string(keep *k, PyObject *value)
{
    PyObject *bytes = NULL;
    if (PyUnicode_Check(value))
        bytes = PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape");
    else if (PyBytes_Check(value)) {
        Py_INCREF(value);
        bytes = value;
    } else {
        PyObject *path = PyOS_FSPath(value);
        if (!path)
            return NULL;
        const char *text = keep_string(k, path);
        Py_DECREF(path);
        return text;
    }
    if (!bytes)
        return NULL;
    char *text;
    if (PyBytes_AsStringAndSize(bytes, &text, NULL) < 0) { /* ValueError on embedded zeros */
        Py_DECREF(bytes);
        return NULL;
    }
    if (!k->objects)
        k->objects = PyList_New(0);
    int rc = k->objects ? PyList_Append(k->objects, bytes) : -1;
    Py_DECREF(bytes);
    return rc < 0 ? NULL : text;
}

/* ---- values ---- */

static int is_text(PyObject *v)
{
    return PyUnicode_Check(v) || PyBytes_Check(v) || PyObject_HasAttrString(v, "__fspath__");
}

static int64_t int64_of(PyObject *v)
{
    PyObject *index = PyNumber_Index(v);
    if (!index)
        return -1;
    int64_t i = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return i;
}

static double double_of(PyObject *v)
{
    double f = PyFloat_AsDouble(v);
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
        PyErr_SetString(PyExc_TypeError,
                        "must be a number, a string, a member of `types`, or a list of these");
    return f;
}

static int convert_scalar(keep *k, PyObject *v, hr_value *out)
{
    if (PyBool_Check(v)) {
        out->kind = HR_VALUE_BOOL;
        out->u.i = v == Py_True;
    } else if (PyLong_Check(v) || (!PyFloat_Check(v) && PyIndex_Check(v))) {
        out->kind = HR_VALUE_INT;
        out->u.i = int64_of(v);
    } else if (is_text(v)) {
        out->kind = HR_VALUE_STRING;
        out->u.s = keep_string(k, v);
    } else {
        out->kind = HR_VALUE_FLOAT;
        out->u.f = double_of(v);
    }
    return PyErr_Occurred() ? -1 : 0;
}

/* The kind that all elements of a list share: FLOAT when ints and floats are mixed. */
static int list_kind(PyObject *const *items, Py_ssize_t n, hr_value_kind *kind)
{
    Py_ssize_t texts = 0, floats = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (is_text(items[i]))
            texts++;
        else if (PyFloat_Check(items[i]) || !PyIndex_Check(items[i]))
            floats++;
    }
    if (texts && texts != n) {
        PyErr_SetString(PyExc_TypeError, "a list mixes strings and numbers");
        return -1;
    }
    *kind = texts ? HR_VALUE_STRINGS : floats ? HR_VALUE_FLOATS : HR_VALUE_INTS;
    return 0;
}

static int convert_items(keep *k, PyObject *const *items, Py_ssize_t n, hr_value *out)
{
    if (n > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "the list is too long");
        return -1;
    }
    if (list_kind(items, n, &out->kind) < 0)
        return -1;
    out->count = (int32_t)n;
    int64_t *ints = NULL;
    double *floats = NULL;
    const char **strings = NULL;
    if (out->kind == HR_VALUE_INTS)
        out->u.ints = ints = keep_alloc(k, (size_t)n, sizeof(*ints));
    else if (out->kind == HR_VALUE_FLOATS)
        out->u.floats = floats = keep_alloc(k, (size_t)n, sizeof(*floats));
    else
        out->u.strings = strings = keep_alloc(k, (size_t)n, sizeof(*strings));
    if (PyErr_Occurred())
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (ints)
            ints[i] = int64_of(items[i]);
        else if (floats)
            floats[i] = double_of(items[i]);
        else
            strings[i] = keep_string(k, items[i]);
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

static int convert_value(keep *k, PyObject *v, hr_value *out)
{
    if (!PyList_Check(v) && !PyTuple_Check(v))
        return convert_scalar(k, v, out);
    Py_ssize_t n = PySequence_Size(v);
    PyObject **items = n < 0 ? NULL : keep_alloc(k, (size_t)n, sizeof(*items));
    if (!items)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) /* borrowed references */
        items[i] = PyTuple_Check(v) ? PyTuple_GetItem(v, i) : PyList_GetItem(v, i);
    return convert_items(k, items, n, out);
}

/* Prefixes the current exception with the argument's name. */
static void name_argument(const char *op, PyObject *key, PyObject *given)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *raise = type;
    if (PyErr_GivenExceptionMatches(type, PyExc_OverflowError) ||
        PyErr_GivenExceptionMatches(type, PyExc_UnicodeError))
        raise = PyExc_ValueError;
    PyErr_Format(raise, "Argument \"%S\" of operator \"%s\": %S; got %.120R", key, op,
                 value ? value : Py_None, given);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

static int edge_of(PyObject *pair, hr_edge *edge)
{
    if (!PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "an edge is a tuple (node, output)");
        return -1;
    }
    long node = PyLong_AsLong(PyTuple_GetItem(pair, 0));
    long output = PyLong_AsLong(PyTuple_GetItem(pair, 1));
    if (PyErr_Occurred())
        return -1;
    *edge = (hr_edge){(int32_t)node, (int32_t)output};
    return 0;
}

static hr_edge *edges_of(keep *k, PyObject *list, int32_t *count)
{
    Py_ssize_t n = PySequence_Size(list);
    hr_edge *edges = n < 0 ? NULL : keep_alloc(k, (size_t)n, sizeof(*edges));
    for (Py_ssize_t i = 0; edges && i < n; i++) {
        PyObject *pair = PySequence_GetItem(list, i);
        int rc = pair ? edge_of(pair, &edges[i]) : -1;
        Py_XDECREF(pair);
        if (rc < 0)
            return NULL;
    }
    *count = (int32_t)n;
    return edges;
}

static int args_of(keep *k, const char *op, PyObject *args, PyObject *arg_inputs,
                   hr_node_desc *desc)
{
    Py_ssize_t n = PyDict_Size(args) + PyDict_Size(arg_inputs);
    hr_arg_value *values = keep_alloc(k, (size_t)n, sizeof(*values));
    if (!values)
        return -1;
    int32_t count = 0;
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(args, &at, &key, &value);) {
        if (value == Py_None)
            continue;
        values[count].name = keep_string(k, key);
        if (!values[count].name || convert_value(k, value, &values[count].value) < 0) {
            name_argument(op, key, value);
            return -1;
        }
        count++;
    }
    for (Py_ssize_t at = 0; PyDict_Next(arg_inputs, &at, &key, &value);) {
        values[count].name = keep_string(k, key);
        values[count].value.kind = HR_VALUE_EDGE;
        if (!values[count].name || edge_of(value, &values[count].value.u.edge) < 0)
            return -1;
        count++;
    }
    desc->args = values;
    desc->arg_count = count;
    return 0;
}

/* ---- methods ---- */

static PyObject *graph_add_node(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"op",         "name",     "device", "origin",   "inputs",   "args",
                            "arg_inputs", "preserve", "guard",  "function", "draws_as", NULL};
    const char *op, *name = NULL, *device = NULL;
    PyObject *origin = Py_None, *inputs, *arg_values, *arg_inputs;
    PyObject *guard = Py_None, *function = Py_None, *draws_as = Py_None;
    hr_guard branch;
    int preserve = 0, when = 0;
    int32_t draws = -1;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "szzOOO!O!|pOOO:add_node", names, &op, &name,
                                     &device, &origin, &inputs, &PyDict_Type, &arg_values,
                                     &PyDict_Type, &arg_inputs, &preserve, &guard, &function,
                                     &draws_as))
        return NULL;
    if (draws_as != Py_None && !PyArg_Parse(draws_as, "i:draws_as", &draws))
        return NULL;
    if (guard != Py_None && !PyArg_ParseTuple(guard, "(ii)p:guard", &branch.predicate.node,
                                              &branch.predicate.output, &when))
        return NULL;
    branch.when = when;
    keep k = {0};
    PyObject *result = NULL;
    hr_node_desc desc = {.op = op,
                         .name = name,
                         .device = device,
                         .preserve = preserve,
                         .guard = guard != Py_None ? &branch : NULL,
                         .draws_as = draws_as != Py_None ? &draws : NULL};
    if (origin != Py_None && !(desc.origin = keep_string(&k, origin)))
        goto cleanup;
    desc.inputs = edges_of(&k, inputs, &desc.input_count);
    if (!desc.inputs || args_of(&k, op, arg_values, arg_inputs, &desc) < 0)
        goto cleanup;
    if (function != Py_None) {
        core_state *state = PyType_GetModuleState(Py_TYPE(self));
        desc.function = state ? function_of(state, function) : NULL;
        if (!desc.function)
            goto cleanup;
    }
    hr_error error = {0};
    int32_t node = -1;
    if (hr_graph_add_node(((graph_object *)self)->graph, &desc, &node, &error) != HR_STATUS_OK)
        core_raise(&error);
    else
        result = PyLong_FromLong(node);
cleanup:
    hr_function_unref(desc.function);
    keep_fini(&k);
    return result;
}

static PyObject *graph_set_outputs(PyObject *self, PyObject *list)
{
    keep k = {0};
    int32_t count = 0;
    hr_edge *edges = edges_of(&k, list, &count);
    hr_error error = {0};
    if (edges &&
        hr_graph_set_outputs(((graph_object *)self)->graph, edges, count, &error) != HR_STATUS_OK)
        core_raise(&error);
    keep_fini(&k);
    if (PyErr_Occurred())
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *graph_node_outputs(PyObject *self, PyObject *node)
{
    long n = PyLong_AsLong(node);
    if (n == -1 && PyErr_Occurred())
        return NULL;
    return PyLong_FromLong(hr_graph_node_outputs(((graph_object *)self)->graph, (int32_t)n));
}

static PyObject *graph_find_node(PyObject *self, PyObject *name)
{
    keep k = {0};
    const char *text = keep_string(&k, name);
    PyObject *result =
        text ? PyLong_FromLong(hr_graph_find_node(((graph_object *)self)->graph, text)) : NULL;
    keep_fini(&k);
    return result;
}

static PyObject *graph_serialize(PyObject *self, PyObject *unused)
{
    (void)unused;
    hr_error error = {0};
    char *text = NULL;
    size_t size = 0;
    if (hr_graph_serialize(((graph_object *)self)->graph, &text, &size, &error) != HR_STATUS_OK)
        return core_raise(&error);
    PyObject *bytes = PyBytes_FromStringAndSize(text, (Py_ssize_t)size);
    hr_string_free(text);
    return bytes;
}

static PyObject *graph_alloc(PyTypeObject *type, hr_graph *graph)
{
    graph_object *self = (graph_object *)PyType_GenericAlloc(type, 0);
    if (!self) {
        hr_graph_destroy(graph);
        return NULL;
    }
    self->graph = graph;
    return (PyObject *)self;
}

static PyObject *graph_parse(PyObject *type, PyObject *text)
{
    char *data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(text, &data, &size) < 0)
        return NULL;
    hr_error error = {0};
    hr_graph *graph = NULL;
    if (hr_graph_parse(&graph, data, (size_t)size, &error) != HR_STATUS_OK)
        return core_raise(&error);
    return graph_alloc((PyTypeObject *)type, graph);
}

static PyObject *graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {NULL};
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Graph", names))
        return NULL;
    hr_error error = {0};
    hr_graph *graph = NULL;
    if (hr_graph_create(&graph, &error) != HR_STATUS_OK)
        return core_raise(&error);
    return graph_alloc(type, graph);
}

static void graph_dealloc(PyObject *self)
{
    hr_graph_destroy(((graph_object *)self)->graph);
    core_dispose(self);
}

static PyMethodDef graph_methods[] = {
    {"add_node", (PyCFunction)(void (*)(void))graph_add_node, METH_VARARGS | METH_KEYWORDS,
     "add_node(op, name, device, origin, inputs, args, arg_inputs, preserve=False, guard=None, "
     "function=None) -> int: index of\n"
     "the new node. inputs: edges (node, output); args: constants by name; arg_inputs: edges by "
     "name; guard: (edge, when)."},
    {"set_outputs", graph_set_outputs, METH_O, "set_outputs(edges)"},
    {"node_outputs", graph_node_outputs, METH_O,
     "node_outputs(node) -> int: the number of its outputs."},
    {"find_node", graph_find_node, METH_O, "find_node(name) -> int, or -1."},
    {"serialize", graph_serialize, METH_NOARGS, "serialize() -> bytes"},
    {"parse", graph_parse, METH_O | METH_CLASS, "parse(bytes) -> Graph"},
    {NULL, NULL, 0, NULL}};

static PyType_Slot graph_slots[] = {
    {Py_tp_new, graph_new},
    {Py_tp_dealloc, graph_dealloc},
    {Py_tp_methods, graph_methods},
    {Py_tp_doc, "Nodes in definition order, and the edges that are the outputs."},
    {0, NULL}};

PyType_Spec graph_spec = {.name = "headrace._core.Graph",
                          .basicsize = sizeof(graph_object),
                          .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                          .slots = graph_slots};
