/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* experimental.readers.fits: arrays in FITS files. */
#include "headrace/operator.h"
#include "readers/files.h"
#include "readers/fits/image.h"

typedef struct fits_args {
    hr_sampler_args sampler;
    hr_files_args from;
    const char *file_filter;
    hr_ints hdu_indices, dtypes;
} fits_args;

typedef struct fits_state {
    hr_files files;
    const fits_args *args;
} fits_state;

static hr_status fits_check(const void *args, const hr_given *given, hr_error *error)
{
    const fits_args *a = args;
    (void)given;
    HR_TRY(hr_files_check(&a->from, error));
    if (!a->dtypes.v || a->dtypes.n == a->hdu_indices.n)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_ERROR, "there are %d dtypes for %d elements of hdu_indices",
                   a->dtypes.n, a->hdu_indices.n);
}

static int32_t fits_outputs(const void *args, int32_t n_in)
{
    (void)n_in;
    return ((const fits_args *)args)->hdu_indices.n;
}

static void fits_destroy(void *state)
{
    hr_files_fini(&((fits_state *)state)->files);
    hr_free(state);
}

static hr_status fits_create(const void *args, void **state, hr_error *error)
{
    const fits_args *a = args;
    const hr_list_filter filter = {.files = {&a->file_filter, 1}, .case_sensitive = true};
    fits_state *s = hr_calloc(1, sizeof(*s), error);
    HR_TRY_ALLOC(s);
    s->args = a;
    hr_status status = hr_files_find(&s->files, &a->from, &filter, (hr_ints){0}, error);
    if (status != HR_STATUS_OK)
        fits_destroy(s);
    else
        *state = s;
    return status;
}

static hr_status read_array(hr_op_call *c, int32_t k, const hr_tensor *bytes, hr_error *error)
{
    const fits_args *a = ((const fits_state *)c->state)->args;
    hr_fits_hdu *hdu = hr_arena_alloc(c->arena, sizeof(*hdu), error);
    HR_TRY_ALLOC(hdu);
    HR_TRY(
        hr_fits_find(bytes->data, (size_t)bytes->shape.extent[0], a->hdu_indices.v[k], hdu, error));
    if (a->dtypes.v && hdu->dtype != (hr_dtype)a->dtypes.v[k])
        return hr_fail(error, HR_STATUS_ERROR,
                       "its elements are %s, not %s; name the type of the array in `dtypes`, or "
                       "leave out `dtypes`",
                       hr_dtype_name(hdu->dtype), hr_dtype_name((hr_dtype)a->dtypes.v[k]));
    hr_tensor_describe(&c->out[k], hdu->dtype, hdu->shape, NULL);
    HR_TRY(hr_task_memory(c->task, k, &c->out[k], error));
    return hr_fits_read(bytes->data, hdu, c->out[k].data, c->arena, error);
}

static hr_status fits_emit(hr_op_call *c, int64_t index, const hr_tensor *bytes, hr_error *error)
{
    const fits_args *a = ((const fits_state *)c->state)->args;
    (void)index;
    for (int32_t k = 0; k < a->hdu_indices.n; k++)
        if (read_array(c, k, bytes, error) != HR_STATUS_OK)
            return hr_error_prefix(error, "HDU %d", a->hdu_indices.v[k]);
    return HR_STATUS_OK;
}

static const hr_source_def fits_source = {
    .kind = HR_SOURCE_KIND_INDEXED,
    .count = hr_files_count,
    .name = hr_files_name,
    .locate = hr_files_locate,
    .emit = fits_emit,
};

const hr_op_def hr_op_experimental_readers_fits = {
    HR_OP("experimental.readers.fits"),
    .doc = "Reads arrays of FITS files: images that are not compressed, and tiles compressed with "
           "RICE_1 or GZIP_1. Dimensions are in the order of NumPy, the reverse of NAXIS. BZERO "
           "and BSCALE are applied: arrays of unsigned numbers are unsigned, and other scaled "
           "arrays are FLOAT or FLOAT64. On a GPU, arrays are read on the CPU and copied.",
    .devices = "cpu|gpu",
    HR_ARGS(
        fits_args,
        HR_FILES_ARG_DEFS(
            fits_args,
            "Folder with the files, which may also be in its sub-folders, but not deeper.",
            "the path of a file"),
        HR_ARG(fits_args, file_filter, STRING, 0, "\"*.fits\"",
               "Glob of the names of files in file_root."),
        HR_ARG(
            fits_args, hdu_indices, INTS, HR_ARG_SCALAR_OK, "[2]",
            "The header-data units to read, counted from 1. There is one output for each of them.",
            .min = 1, .max = INT32_MAX, .count_min = 1, .count_max = HR_OP_MAX_OUTPUTS),
        HR_ARG(fits_args, dtypes, INTS, HR_ARG_OPTIONAL | HR_ARG_SCALAR_OK | HR_ARG_DTYPES, NULL,
               "Element types of the outputs, which must be those of the arrays. By default, every "
               "output has the type of its arrays."),
        HR_SAMPLER_ARG_DEFS(fits_args)),
    .out = HR_OUTPUTS({"array"}),
    .outputs = fits_outputs,
    .check = fits_check,
    .create = fits_create,
    .destroy = fits_destroy,
    .source = &fits_source,
};
