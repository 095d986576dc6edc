/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Samples passed between processes: packed into shared memory one after the other, and viewed there
 * as a batch without a copy. */
#include "batch.h"
#include "import.h"

#include <stdlib.h>
#include <string.h>

enum { PACK_ALIGN = 64 };
#define PACK_MAGIC 0x6b636150u

/* At the start of a record; the rows follow, then the elements. Offsets are relative to the record.
 */
typedef struct pack_header {
    uint64_t magic;
    int64_t count, size;
} pack_header;

typedef struct pack_row {
    int32_t dtype, ndim;
    int64_t extent[HR_MAX_NDIM];
    int64_t offset;
    char layout[16];
} pack_row;

static int64_t align_up(int64_t at, int64_t to)
{
    return (at + to - 1) / to * to;
}

static int64_t row_bytes(const pack_row *row)
{
    int64_t bytes = (int64_t)hr_dtype_size((hr_dtype)row->dtype);
    for (int32_t d = 0; d < row->ndim; d++)
        bytes *= row->extent[d];
    return bytes;
}

/* ---- writing ---- */

static int import_all(core_state *state, PyObject *list, imported *items, Py_ssize_t n)
{
    bool here = true;
    if (import_items(state, list, n, NULL, HR_DEVICE_HOST, items) < 0)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        here = here && items[i].device < 0;
    if (here)
        return 0;
    for (Py_ssize_t i = 0; i < n; i++)
        import_release(&items[i]);
    PyErr_SetString(PyExc_TypeError, "the data are in GPU memory, expected host memory");
    return -1;
}

/* Sets the offsets of the samples; returns the size of the record. */
static int64_t lay_out(const imported *items, Py_ssize_t n, pack_row *rows)
{
    int64_t at = align_up((int64_t)sizeof(pack_header) + n * (int64_t)sizeof(*rows), PACK_ALIGN);
    for (Py_ssize_t i = 0; i < n; i++) {
        const hr_tensor *t = &items[i].tensor;
        rows[i] = (pack_row){.dtype = t->dtype, .ndim = t->shape.ndim};
        memcpy(rows[i].extent, t->shape.extent, sizeof(rows[i].extent));
        memcpy(rows[i].layout, t->layout.name, sizeof(t->layout.name));
        rows[i].offset = at = align_up(at, (int64_t)hr_dtype_size(t->dtype));
        at += row_bytes(&rows[i]);
    }
    return align_up(at, PACK_ALIGN);
}

static void write_record(char *to, const imported *items, Py_ssize_t n, const pack_row *rows,
                         int64_t size)
{
    pack_header header = {PACK_MAGIC, n, size};
    memcpy(to, &header, sizeof(header));
    memcpy(to + sizeof(header), rows, (size_t)n * sizeof(*rows));
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t bytes = row_bytes(&rows[i]);
        if (bytes > 0)
            memcpy(to + rows[i].offset, items[i].tensor.data, (size_t)bytes);
    }
}

static PyObject *pack(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *list, *memory;
    Py_ssize_t offset;
    Py_buffer view;
    if (!PyArg_ParseTuple(args, "OOn:pack", &list, &memory, &offset))
        return NULL;
    Py_ssize_t n = PySequence_Size(list);
    if (n < 0 || PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE) < 0)
        return NULL;
    imported *items = calloc((size_t)n + 1, sizeof(*items));
    pack_row *rows = calloc((size_t)n + 1, sizeof(*rows));
    PyObject *result = NULL;
    if (!items || !rows) {
        PyErr_NoMemory();
    } else if (import_all(state, list, items, n) == 0) {
        int64_t size = lay_out(items, n, rows), end = offset + size;
        if (offset >= 0 && end <= view.len)
            write_record((char *)view.buf + offset, items, n, rows, size);
        for (Py_ssize_t i = 0; i < n; i++)
            import_release(&items[i]);
        result = PyLong_FromLongLong(end);
    }
    free(items);
    free(rows);
    PyBuffer_Release(&view);
    return result;
}

/* ---- reading: data from another process is checked, so that all accesses are in bounds ---- */

static int row_view(const char *record, int64_t size, int64_t i, hr_tensor *t)
{
    pack_row row;
    memcpy(&row, record + sizeof(pack_header) + (size_t)i * sizeof(row), sizeof(row));
    row.layout[HR_MAX_NDIM] = '\0';
    int64_t bytes = (int64_t)hr_dtype_size((hr_dtype)row.dtype);
    int bad = bytes == 0 || row.ndim < 0 || row.ndim > HR_MAX_NDIM || row.offset < 0;
    *t = (hr_tensor){.dtype = (hr_dtype)row.dtype, .shape = {.ndim = row.ndim}};
    for (int32_t d = 0; d < row.ndim && !bad; d++) {
        t->shape.extent[d] = row.extent[d];
        bad = row.extent[d] < 0 || (row.extent[d] > 0 && bytes > size / row.extent[d]);
        bytes *= bad ? 0 : row.extent[d];
    }
    if (bad || row.offset > size || bytes > size - row.offset) {
        PyErr_SetString(PyExc_RuntimeError, "a worker's samples are damaged");
        return -1;
    }
    memcpy(t->layout.name, row.layout, sizeof(t->layout.name));
    t->data = (char *)(uintptr_t)record + row.offset;
    return 0;
}

typedef struct part { /* a record, and the buffer that keeps its memory */
    char *record;
    int64_t size, count;
    hr_buffer *buffer;
} part;

static int part_open(core_state *state, PyObject *tuple, part *p)
{
    PyObject *memory, *holder;
    Py_ssize_t offset;
    Py_buffer view;
    pack_header header;
    hr_error error = {0};
    if (!PyArg_ParseTuple(tuple, "OOn:part", &memory, &holder, &offset) ||
        PyObject_GetBuffer(memory, &view, PyBUF_SIMPLE) < 0)
        return -1;
    int64_t left = view.len - offset;
    p->record = (char *)view.buf + offset;
    PyBuffer_Release(&view); /* the holder keeps the memory */
    int bad = offset < 0 || offset % PACK_ALIGN || left < (int64_t)sizeof(header);
    if (!bad) {
        memcpy(&header, p->record, sizeof(header));
        p->size = header.size;
        p->count = header.count;
        bad = header.magic != PACK_MAGIC || p->size > left || p->count < 0 ||
              p->count > (p->size - (int64_t)sizeof(header)) / (int64_t)sizeof(pack_row);
    }
    if (bad) {
        PyErr_SetString(PyExc_RuntimeError, "a worker's samples are damaged");
        return -1;
    }
    Py_INCREF(holder);
    void *held = reaper_hold(state->reaper, holder);
    if (!held) {
        Py_DECREF(holder);
        return -1;
    }
    if (hr_buffer_adopt(&p->buffer, p->record, (size_t)p->size, reaper_release, held, &error) ==
        HR_STATUS_OK)
        return 0;
    reaper_release(held);
    core_raise(&error);
    return -1;
}

static hr_batch *join_parts(const part *parts, Py_ssize_t n, const char *layout)
{
    int64_t count = 0, done = 0;
    for (Py_ssize_t k = 0; k < n; k++)
        count += parts[k].count;
    hr_tensor *views = count < INT32_MAX ? calloc((size_t)count + 1, sizeof(*views)) : NULL;
    hr_batch *batch = NULL;
    hr_error error = {0};
    int rc = 0;
    if (!views) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t k = 0; k < n; k++)
        for (int64_t i = 0; i < parts[k].count && rc == 0; i++) {
            rc = row_view(parts[k].record, parts[k].size, i, &views[done]);
            views[done++].buffer = parts[k].buffer;
        }
    if (rc == 0 && core_same_layout(layout, views, (Py_ssize_t)count) == 0 &&
        hr_batch_create(&batch, views, (int32_t)count, true, &error) != HR_STATUS_OK)
        core_raise(&error);
    free(views);
    return batch;
}

static PyObject *unpack(PyObject *module, PyObject *args)
{
    core_state *state = PyModule_GetState(module);
    PyObject *type, *list;
    const char *layout;
    if (!PyArg_ParseTuple(args, "OOz:unpack", &type, &list, &layout))
        return NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, state->batch_type)) {
        PyErr_SetString(PyExc_TypeError, "unpack: the first argument must be a subclass of Batch");
        return NULL;
    }
    Py_ssize_t n = PySequence_Size(list), opened = 0;
    part *parts = n < 0 ? NULL : calloc((size_t)n + 1, sizeof(*parts));
    hr_batch *batch = NULL;
    int rc = parts ? 0 : -1;
    for (; rc == 0 && opened < n; opened += rc == 0) {
        PyObject *item = PySequence_GetItem(list, opened);
        rc = item ? part_open(state, item, &parts[opened]) : -1;
        Py_XDECREF(item);
    }
    if (rc == 0)
        batch = join_parts(parts, n, layout);
    for (Py_ssize_t k = 0; k < opened; k++)
        hr_buffer_unref(parts[k].buffer);
    free(parts);
    reaper_drain(state->reaper);
    return batch ? batch_wrap(state, (PyTypeObject *)type, batch) : NULL;
}

PyMethodDef packed_functions[] = {
    {"pack", pack, METH_VARARGS,
     "pack(objects, memory, offset) -> int: writes samples at offset (a multiple of 64) and "
     "returns "
     "where they end. If that is past the memory's end, nothing was written."},
    {"unpack", unpack, METH_VARARGS,
     "unpack(cls, parts, layout): a batch over packed samples; parts: tuples (memory, holder, "
     "offset), whose holder is released with the batch."},
    {NULL, NULL, 0, NULL}};
