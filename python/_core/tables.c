/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* hr_tables by a Python function, which opens tables, and by the objects that it returns. Only
 * threads of the engine that hold no lock call them: they wait for the GIL. */
#include "tables.h"

#include <stdlib.h>

#include "headrace/tables.h"

typedef struct open_table {
    PyObject *object; /* with a method read(group, address of a schema, address of an array) */
    PyObject *names;  /* a list of the bytes that `info.names` points to */
    const char **name;
    int64_t *file_groups, *first;
} open_table;

/* The pending exception as an error; without one, `text`. */
static hr_status fail_pending(hr_error *error, const char *text)
{
    static const struct {
        PyObject **type;
        hr_status status;
    } known[] = {{&PyExc_MemoryError, HR_STATUS_NO_MEMORY},
                 {&PyExc_NotImplementedError, HR_STATUS_NOT_IMPLEMENTED},
                 {&PyExc_OSError, HR_STATUS_IO},
                 {&PyExc_TypeError, HR_STATUS_TYPE},
                 {&PyExc_KeyError, HR_STATUS_ERROR},
                 {&PyExc_ValueError, HR_STATUS_VALUE}};
    hr_status status = HR_STATUS_ERROR;
    PyObject *type, *value, *traceback;
    for (size_t i = sizeof(known) / sizeof(known[0]); i > 0; i--)
        if (PyErr_Occurred() && PyErr_ExceptionMatches(*known[i - 1].type))
            status = known[i - 1].status;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *shown = value ? PyObject_Str(value) : NULL;
    PyObject *bytes = shown ? PyUnicode_AsEncodedString(shown, "utf-8", "backslashreplace") : NULL;
    PyErr_Clear();
    if (error) {
        error->status = status;
        PyOS_snprintf(error->message, sizeof(error->message), "%s",
                      bytes ? PyBytes_AsString(bytes) : text);
    }
    Py_XDECREF(bytes);
    Py_XDECREF(shown);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return status;
}

static PyObject *list_of(const char *const *texts, int32_t count)
{
    PyObject *list = PyList_New(count);
    for (int32_t i = 0; list && i < count; i++) {
        PyObject *text = core_text(texts[i]);
        if (!text || PyList_SetItem(list, i, text) < 0)
            Py_CLEAR(list);
    }
    return list;
}

/* A sequence of integers as an array; NULL with an exception. */
static int64_t *integers_of(PyObject *sequence, int64_t expected)
{
    Py_ssize_t n = PySequence_Size(sequence);
    if (n < 1 || (expected >= 0 && n != expected)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a table has the wrong number of groups");
        return NULL;
    }
    int64_t *out = malloc((size_t)n * sizeof(*out));
    if (!out)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; out && i < n; i++) {
        PyObject *item = PySequence_GetItem(sequence, i);
        out[i] = item ? PyLong_AsLongLong(item) : -1;
        Py_XDECREF(item);
        if (PyErr_Occurred()) {
            free(out);
            return NULL;
        }
    }
    return out;
}

/* Names that are not UTF-8 are shown with escapes. 0, or -1 with an exception. */
static int take_names(open_table *t, PyObject *names)
{
    Py_ssize_t n = PySequence_Size(names);
    if (n < 1 || n >= INT32_MAX) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a table has no files");
        return -1;
    }
    t->names = PyList_New(n);
    t->name = calloc((size_t)n, sizeof(*t->name));
    if (t->names && !t->name)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; t->names && t->name && i < n; i++) {
        PyObject *text = PySequence_GetItem(names, i);
        PyObject *bytes = text ? PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape") : NULL;
        Py_XDECREF(text);
        if (!bytes || PyList_SetItem(t->names, i, bytes) < 0)
            return -1;
        t->name[i] = PyBytes_AsString(bytes);
    }
    return PyErr_Occurred() ? -1 : 0;
}

static void table_free(open_table *t)
{
    Py_XDECREF(t->object);
    Py_XDECREF(t->names);
    free(t->name);
    free(t->file_groups);
    free(t->first);
    free(t);
}

/* What the function returned: (table, names, file_groups, first, bytes). */
static int take_table(PyObject *result, hr_table_info *out)
{
    PyObject *object, *names, *file_groups, *first;
    long long bytes;
    open_table *t = calloc(1, sizeof(*t));
    if (!t) {
        PyErr_NoMemory();
        return -1;
    }
    if (PyArg_ParseTuple(result, "OOOOL", &object, &names, &file_groups, &first, &bytes)) {
        Py_INCREF(object);
        t->object = object;
        if (take_names(t, names) == 0 &&
            (t->file_groups = integers_of(file_groups, PyList_Size(t->names) + 1)) &&
            (t->first = integers_of(first, t->file_groups[PyList_Size(t->names)] + 1))) {
            *out = (hr_table_info){
                t, (int32_t)PyList_Size(t->names), t->name, t->file_groups, t->first, bytes};
            return 0;
        }
    }
    table_free(t);
    return -1;
}

static hr_status tables_open(void *context, const char *const *paths, int32_t path_count,
                             const char *const *columns, int32_t column_count, hr_table_info *out,
                             hr_error *error)
{
    hr_status status = HR_STATUS_OK;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *path_list = list_of(paths, path_count);
    PyObject *column_list = path_list ? list_of(columns, column_count) : NULL;
    PyObject *result =
        column_list ? PyObject_CallFunctionObjArgs(context, path_list, column_list, NULL) : NULL;
    if (!result || take_table(result, out) < 0)
        status = fail_pending(error, "the files cannot be opened");
    Py_XDECREF(result);
    Py_XDECREF(column_list);
    Py_XDECREF(path_list);
    PyGILState_Release(gil);
    return status;
}

static hr_status tables_read(void *table, int64_t group, struct ArrowSchema *schema,
                             struct ArrowArray *array, hr_error *error)
{
    const open_table *t = table;
    hr_status status = HR_STATUS_OK;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *result = PyObject_CallMethod(t->object, "read", "LKK", (long long)group,
                                           (unsigned long long)(uintptr_t)schema,
                                           (unsigned long long)(uintptr_t)array);
    if (!result)
        status = fail_pending(error, "the row group cannot be read");
    Py_XDECREF(result);
    PyGILState_Release(gil);
    return status;
}

static void tables_close(void *table)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    table_free(table);
    PyGILState_Release(gil);
}

/* set_tables(function) */
static PyObject *core_set_tables(PyObject *module, PyObject *function)
{
    (void)module;
    hr_tables *tables = malloc(sizeof(*tables)); /* for the life of the process */
    if (!tables)
        return PyErr_NoMemory();
    Py_INCREF(function);
    *tables = (hr_tables){function, tables_open, tables_read, tables_close};
    hr_tables_set(tables);
    Py_RETURN_NONE;
}

PyMethodDef tables_functions[] = {
    {"set_tables", core_set_tables, METH_O,
     "set_tables(function): function(paths, columns) opens tables for readers.parquet. It returns "
     "(table, names of files, first groups of files, first rows of groups, bytes), and "
     "table.read(group, schema, array) exports a group to these addresses."},
    {NULL, NULL, 0, NULL}};

/* ---- files ---- */

typedef struct file_object {
    PyObject ob_base;
    hr_file *file;
} file_object;

static PyObject *file_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", NULL};
    hr_error error = {0};
    const char *path;
    hr_status status;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s:File", names, &path))
        return NULL;
    file_object *self = (file_object *)PyType_GenericAlloc(type, 0);
    if (!self)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = hr_file_open(&self->file, path, &error);
    Py_END_ALLOW_THREADS
    if (status == HR_STATUS_OK)
        return (PyObject *)self;
    Py_DECREF((PyObject *)self);
    return core_raise(&error);
}

static void file_dealloc(PyObject *self)
{
    hr_file_close(((file_object *)self)->file);
    core_dispose(self);
}

static PyObject *file_read(PyObject *self, PyObject *args)
{
    hr_file *file = ((file_object *)self)->file;
    hr_error error = {0};
    long long offset;
    Py_ssize_t size;
    hr_status status;
    if (!PyArg_ParseTuple(args, "Ln:read", &offset, &size))
        return NULL;
    if (offset < 0 || size < 0 || offset > hr_file_size(file) ||
        size > hr_file_size(file) - offset) {
        PyErr_SetString(PyExc_ValueError, "the range is not in the file");
        return NULL;
    }
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, size);
    char *data = bytes ? PyBytes_AsString(bytes) : NULL;
    if (!data)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    status = hr_file_read(file, offset, (size_t)size, data, &error);
    Py_END_ALLOW_THREADS
    if (status == HR_STATUS_OK)
        return bytes;
    Py_DECREF(bytes);
    return core_raise(&error);
}

static PyObject *file_size(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromLongLong(hr_file_size(((file_object *)self)->file));
}

static PyMethodDef file_methods[] = {
    {"read", file_read, METH_VARARGS, "read(offset, size) -> bytes"}, {NULL, NULL, 0, NULL}};

static PyGetSetDef file_getset[] = {{"size", file_size, NULL, NULL, NULL},
                                    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot file_slots[] = {
    {Py_tp_new, file_new},
    {Py_tp_dealloc, file_dealloc},
    {Py_tp_methods, file_methods},
    {Py_tp_getset, file_getset},
    {Py_tp_doc, "File(path): a file, or an object of a remote store, whose ranges are read."},
    {0, NULL}};

PyType_Spec file_spec = {.name = "headrace._core.File",
                         .basicsize = sizeof(file_object),
                         .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
                         .slots = file_slots};
