/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Copies a box of elements between memory with any two sets of strides. Slicing, padding, joining
 * and transposing are made of such copies. */
#pragma once

#include "core/core.h"
#include "headrace/operator.h"

/* Strides are bytes between neighbouring elements of a dimension. Those of the source may be
 * negative or 0. */
typedef struct hr_region {
    int32_t ndim;
    size_t item; /* bytes per element */
    int64_t extent[HR_MAX_NDIM], to[HR_MAX_NDIM], from[HR_MAX_NDIM];
} hr_region;

/* Strides of a row-major tensor. */
void hr__strides(const hr_shape *shape, size_t item, int64_t *stride);
/* All of `shape`, row-major on both sides. */
void hr__region_init(hr_region *region, const hr_shape *shape, size_t item);
/* Merges dimensions as far as possible; contiguous rows become elements. If the box is contiguous
 * on both sides, no dimension remains. */
void hr__region_simplify(hr_region *region);
/* `to` and `from` are the first elements. The memory does not overlap. */
void hr__region_copy(void *to, const void *from, const hr_region *region);

#define HR_REGION_FILL 16 /* bytes of a fill value, which is repeated to fill them */

/* A box of an input and where it goes in the output; `to` and `from` are offsets in bytes. */
typedef struct hr_region_part {
    hr_region region;
    int64_t to, from;
    int32_t input; /* < 0: the fill */
} hr_region_part;

/* An output composed of boxes: the memo that infer leaves for the run, on the CPU or on a device.
 */
typedef struct hr_region_parts {
    int32_t count;
    hr_region_part *part;
    const void *fill;
    size_t fill_size; /* a multiple of HR_REGION_FILL */
    bool rounds;      /* only on a device: as `convert`, but hr_convert */
    bool convert; /* inputs' elements, which have another type than the output's: hr_convert_cut.
                     Regions are then not simplified, and `item` is the output's. */
} hr_region_parts;

/* `count` parts, all zeros. */
hr_status hr__parts_make(hr_arena *arena, int32_t count, hr_region_parts **out, hr_error *error);
/* run of operators with this memo. */
hr_status hr__parts_run(hr_op_call *c, hr_error *error);
