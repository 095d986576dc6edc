/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.numpy: arrays from the bytes of NumPy files. */
#include <string.h>

#include "ops/io/npy.h"

#define VIEW_BYTES 4096 /* smaller arrays are copied: a view keeps the whole file alive */

typedef struct numpy_args {
    int32_t dtype;
} numpy_args;

static const hr_arg_def numpy_arg_defs[] = {
    HR_ARG(numpy_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
           "Type of the output; by default that of the file. Elements are converted as by `cast`."),
    HR_ARG_END};

static hr_status numpy_infer(hr_op_call *c, hr_error *error)
{
    const numpy_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    hr_npy *npy = hr_arena_alloc(c->arena, sizeof(*npy), error);
    size_t size = 0;

    if (!npy)
        return HR_STATUS_NO_MEMORY;
    if (in->dtype != HR_DTYPE_UINT8 && in->dtype != HR_DTYPE_INT8)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must be the bytes of a file, UINT8 or INT8, but it is %s",
                       hr_dtype_name(in->dtype));
    hr_tensor_bytes(in, &size);
    HR_TRY(hr__npy_parse(in->data, size, npy, error));
    HR_TRY(hr__npy_complete(npy, size, error));
    if (size - npy->offset != npy->bytes)
        return hr_fail(error, HR_STATUS_CORRUPT, "%zu bytes follow the array",
                       size - npy->offset - npy->bytes);
    hr_dtype dtype = a->dtype == HR_DTYPE_NONE ? npy->dtype : (hr_dtype)a->dtype;
    hr_tensor_describe(&c->out[0], dtype, npy->shape, NULL);
    c->memo = npy;
    char *elements = (char *)in->data + npy->offset;
    if (dtype == npy->dtype && npy->bytes >= VIEW_BYTES && hr__npy_usable(npy, elements)) {
        c->out[0].data = elements;
        c->out[0].buffer = in->buffer;
    }
    return HR_STATUS_OK;
}

static hr_status numpy_one(hr_op_call *c, hr_error *error)
{
    const hr_npy *npy = c->memo;
    hr_tensor *out = &c->out[0];
    const char *elements = (const char *)c->in[0].data + npy->offset;
    void *copy = out->data;

    if (out->data == elements || npy->bytes == 0)
        return HR_STATUS_OK;
    if (out->dtype != npy->dtype)
        copy = hr_arena_alloc(c->arena, npy->bytes, error);
    if (!copy)
        return HR_STATUS_NO_MEMORY;
    hr__npy_copy(npy, elements, copy);
    if (out->dtype != npy->dtype)
        hr_convert(out->data, out->dtype, copy, npy->dtype, npy->bytes / hr_dtype_size(npy->dtype));
    return HR_STATUS_OK;
}

static hr_status numpy_run(hr_op_call *calls, int32_t n, hr_error *error)
{
    for (int32_t i = 0; i < n; i++)
        HR_TRY(numpy_one(&calls[i], error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_decoders_numpy = {
    HR_OP_ABI,
    .name = "decoders.numpy",
    .doc = "Decodes the bytes of files that numpy.save wrote. Arrays in Fortran order and in the "
           "other byte order become ordinary tensors.",
    .devices = "cpu",
    .flags = HR_OP_BORROWS,
    .args = numpy_arg_defs,
    .args_size = sizeof(numpy_args),
    .in = HR_INPUTS({.name = "data"}),
    .in_min = 1,
    .in_max = 1,
    .out = HR_OUTPUTS({"array"}),
    .out_count = 1,
    .infer = numpy_infer,
    .run_cpu = numpy_run,
};
