/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Files of the format of numpy.save: what their header says, and their elements. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

#define HR_NPY_FIRST 4096 /* bytes that are enough for almost all headers */

typedef struct hr_npy {
    hr_dtype dtype;
    bool swap;      /* the other byte order */
    bool fortran;   /* the first index varies fastest */
    hr_shape shape; /* bytes of the elements fit size_t */
    size_t offset;  /* of the elements in the file */
    size_t bytes;   /* of the elements */
} hr_npy;

/* Where the header of a file that begins with these bytes ends; HR_STATUS_CORRUPT if it is not such
 * a file. It may be beyond `size`. */
hr_status hr__npy_header_end(const void *data, size_t size, size_t *end, hr_error *error);
/* Reads the header: `data` has at least its bytes. The file may have fewer or more bytes than the
 * header says. */
hr_status hr__npy_parse(const void *data, size_t size, hr_npy *out, hr_error *error);
/* Fails if a file of `size` bytes does not contain all elements. */
hr_status hr__npy_complete(const hr_npy *npy, uint64_t size, hr_error *error);
/* Finds array `k` of a file of `size` bytes, and checks that all of it is there. The file is an
 * archive (.npz) if `members` is given, which has the names of the arrays; otherwise it is one
 * array.
 * `*data`, which begins with the header, is in the file, or in the arena if it was compressed. */
hr_status hr__npy_open(const hr_tensor *file, const hr_strings *members, int32_t k, hr_arena *arena,
                       hr_npy *out, const uint8_t **data, size_t *size, hr_error *error);
/* Bytes between neighbouring elements of each dimension. */
void hr__npy_strides(const hr_npy *npy, int64_t *stride);
/* Whether `elements` of the file can be used where they are. */
bool hr__npy_usable(const hr_npy *npy, const void *elements);
/* Makes `count` elements that were copied from the file like those of a tensor. */
void hr__npy_repair(const hr_npy *npy, void *elements, size_t count);
/* Copies the array to row-major memory; `elements` is where they are in the file. */
void hr__npy_copy(const hr_npy *npy, const void *elements, void *to);
