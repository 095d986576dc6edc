/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* io.file.read: reads files whose names are data. */
#include <string.h>

#include "headrace/operator.h"
#include "io/storage.h"

static const hr_arg_def file_read_arg_defs[] = {
    HR_ARG_ACCEPT(dont_use_mmap, BOOL, "False", "No effect: files are always read, never mapped."),
    HR_ARG_ACCEPT(use_o_direct, BOOL, "False", "No effect: files are read through the page cache."),
    HR_ARG_END};

typedef struct file_read_memo {
    const char *path;
    const void *content; /* of a remote object, which was opened and read at once; or NULL */
    int64_t size;
} file_read_memo;

/* Opens the file to learn its size. Opening a remote object takes a request, which brings its first
 * bytes, so the rest is read as well: no byte is asked for twice. */
static hr_status file_open(file_read_memo *memo, hr_arena *arena, hr_error *error)
{
    hr_object *object;
    HR_TRY(hr_object_open_for(&object, NULL, memo->path, HR_OBJECT_WHOLE, NULL, NULL, error));
    hr_status status = HR_STATUS_OK;
    memo->size = object->size;
    if (memo->size > 0 && object->storage != &hr_storage_local) {
        void *content = hr_arena_alloc(arena, (size_t)memo->size, error);
        memo->content = content;
        status = content ? hr_object_read(object, 0, (size_t)memo->size, content, NULL, NULL, error)
                         : HR_STATUS_NO_MEMORY;
    }
    hr_object_close(object);
    return status;
}

static hr_status read_local(const file_read_memo *memo, void *dst, hr_error *error)
{
    hr_object *object;
    HR_TRY(hr_object_open(&object, NULL, memo->path, NULL, error));
    hr_status status = hr_object_read(object, 0, (size_t)memo->size, dst, NULL, NULL, error);
    hr_object_close(object);
    return status;
}

static hr_status file_read_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    file_read_memo *memo = hr_arena_alloc(c->arena, sizeof(*memo), error);
    size_t size = 0;

    hr_shape_volume(&in->shape, &size);
    if ((in->dtype != HR_DTYPE_UINT8 && in->dtype != HR_DTYPE_INT8) || in->shape.ndim != 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "a file's name must be a list of bytes, UINT8 or INT8; this is %s with %d "
                       "dimensions",
                       hr_dtype_name(in->dtype), (int)in->shape.ndim);
    char *path = memo ? hr_arena_alloc(c->arena, size + 1, error) : NULL;
    HR_TRY_ALLOC(path);
    if (size > 0)
        memcpy(path, in->data, size);
    path[size] = '\0';
    *memo = (file_read_memo){.path = path};
    hr_status status = file_open(memo, c->arena, error);
    if (status != HR_STATUS_OK) {
        hr_error_prefix(error, "the file \"%s\"", path);
        return status;
    }
    if (memo->size == 0)
        return hr_fail(error, HR_STATUS_ERROR, "the file \"%s\" is empty", path);
    hr_tensor_describe(&c->out[0], HR_DTYPE_UINT8, hr_shape_make(1, &memo->size), NULL);
    c->memo = memo;
    return HR_STATUS_OK;
}

static hr_status file_read_run(hr_op_call *c, hr_error *error)
{
    const file_read_memo *memo = c->memo;
    hr_status status = HR_STATUS_OK;
    if (memo->content)
        memcpy(c->out[0].data, memo->content, (size_t)memo->size);
    else
        status = read_local(memo, c->out[0].data, error);
    if (status != HR_STATUS_OK) {
        hr_error_prefix(error, "the file \"%s\"", memo->path);
        return status;
    }
    return HR_STATUS_OK;
}

const hr_op_def hr_op_io_file_read = {
    HR_OP("io.file.read"),
    .doc = "Reads whole files. The input is the name of a file as bytes (1-D, UINT8 or INT8), the "
           "output is its content (1-D, UINT8).",
    .devices = "cpu",
    .args = file_read_arg_defs,
    .in = HR_INPUTS({.name = "filepaths"}),
    .out = HR_OUTPUTS({"contents"}),
    .infer = file_read_infer,
    .run = file_read_run,
};
