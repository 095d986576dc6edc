/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.numpy: arrays from the bytes of NumPy files. */
#include <string.h>

#include "ops/io/npy.h"

#define VIEW_BYTES 4096 /* smaller arrays are copied: a view keeps the whole file alive */

typedef struct numpy_args {
    hr_strings members;
    int32_t dtype;
} numpy_args;

typedef struct array { /* of one output */
    hr_npy npy;
    const char *elements;
} array;

static int32_t numpy_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return HR_MAX(((const numpy_args *)args)->members.n, 1);
}

/* Output `k` is a view of the input if it can be one. */
static hr_status infer_one(hr_op_call *c, int32_t k, array *a, hr_error *error)
{
    const numpy_args *args = c->args;
    const hr_tensor *in = &c->in[0];
    const uint8_t *data, *start = in->data;
    size_t size, all = 0;

    HR_TRY(hr__npy_open(in, &args->members, k, c->arena, &a->npy, &data, &size, error));
    if (size - a->npy.offset != a->npy.bytes)
        return hr_fail(error, HR_STATUS_CORRUPT,
                       "Expected data numpy size %zu, but %zu bytes follow the array", a->npy.bytes,
                       size - a->npy.offset - a->npy.bytes);
    hr_dtype dtype = args->dtype == HR_DTYPE_NONE ? a->npy.dtype : (hr_dtype)args->dtype;
    hr_tensor_describe(&c->out[k], dtype, a->npy.shape, NULL);
    a->elements = (const char *)data + a->npy.offset;
    hr_tensor_bytes(in, &all);
    if (data >= start && data <= start + all && dtype == a->npy.dtype &&
        a->npy.bytes >= VIEW_BYTES && hr__npy_usable(&a->npy, a->elements)) {
        c->out[k].data = (char *)(uintptr_t)a->elements;
        c->out[k].buffer = in->buffer;
    }
    return HR_STATUS_OK;
}

static hr_status numpy_infer(hr_op_call *c, hr_error *error)
{
    const hr_tensor *in = &c->in[0];
    array *arrays = hr_arena_alloc(c->arena, (size_t)c->n_out * sizeof(*arrays), error);

    HR_TRY_ALLOC(arrays);
    if (in->dtype != HR_DTYPE_UINT8 && in->dtype != HR_DTYPE_INT8)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the input must be the bytes of a file, UINT8 or INT8, but it is %s",
                       hr_dtype_name(in->dtype));
    for (int32_t k = 0; k < c->n_out; k++)
        HR_TRY(infer_one(c, k, &arrays[k], error));
    c->memo = arrays;
    return HR_STATUS_OK;
}

static hr_status decode_one(hr_op_call *c, hr_tensor *out, const array *a, hr_error *error)
{
    const hr_npy *npy = &a->npy;
    void *copy = out->data;

    if (out->data == a->elements || npy->bytes == 0)
        return HR_STATUS_OK;
    if (out->dtype != npy->dtype)
        copy = hr_arena_alloc(c->arena, npy->bytes, error);
    HR_TRY_ALLOC(copy);
    hr__npy_copy(npy, a->elements, copy);
    if (out->dtype != npy->dtype)
        hr_convert(out->data, out->dtype, copy, npy->dtype, npy->bytes / hr_dtype_size(npy->dtype));
    return HR_STATUS_OK;
}

static hr_status numpy_run(hr_op_call *c, hr_error *error)
{
    const array *arrays = c->memo;
    for (int32_t k = 0; k < c->n_out; k++)
        HR_TRY(decode_one(c, &c->out[k], &arrays[k], error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_decoders_numpy = {
    HR_OP("decoders.numpy"),
    .doc = "Decodes the bytes of files that numpy.save wrote. Arrays in Fortran order or in the "
           "opposite byte order become ordinary tensors.",
    .devices = "cpu",
    .flags = HR_OP_BORROWS,
    HR_ARGS(numpy_args,
            HR_ARG(numpy_args, dtype, DTYPE, HR_ARG_OPTIONAL, NULL,
                   "Type of the output; by default that of the file. Elements are converted as by "
                   "`cast`."),
            HR_ARG(numpy_args, members, STRINGS, HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK, NULL,
                   "Not in DALI. The inputs are archives of arrays (.npz), and these are the names "
                   "of the arrays to decode. There is one output for each of them.",
                   .count_min = 1, .count_max = HR_OP_MAX_OUTPUTS)),
    .in = HR_INPUTS({.name = "data"}),
    .out = HR_OUTPUTS({"array"}),
    .outputs = numpy_outputs,
    .infer = numpy_infer,
    .run = numpy_run,
};
