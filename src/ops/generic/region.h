/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Copying a box of elements between memory of any two strides: what slicing, padding, joining and
 * transposing come down to. */
#ifndef HR_OPS_GENERIC_REGION_H
#define HR_OPS_GENERIC_REGION_H

#include "core/core.h"

/* Strides are bytes from an element to its neighbour in that dimension; those of the source may be
 * negative or 0. */
typedef struct hr_region {
    int32_t ndim;
    size_t item; /* bytes an element */
    int64_t extent[HR_MAX_NDIM], to[HR_MAX_NDIM], from[HR_MAX_NDIM];
} hr_region;

/* Bytes between neighbours of a row-major tensor. */
void hr__strides(const hr_shape *shape, size_t item, int64_t *stride);
/* All of `shape`, row-major on both sides. */
void hr__region_init(hr_region *region, const hr_shape *shape, size_t item);
/* The same box in as few dimensions as there can be: whole rows become elements. No dimension is
 * left where the elements lie behind each other on both sides. */
void hr__region_simplify(hr_region *region);
/* `to` and `from` are the first elements; they do not overlap. */
void hr__region_copy(void *to, const void *from, const hr_region *region);

#endif
