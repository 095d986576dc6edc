/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* A coded image that was prepared for a decoder on a device. The decoder has two halves: this
 * table on the host, and the kernels of the same name in the CUDA module. What kernels read of a
 * image is the decoder's own record, which the executor only copies. */
#pragma once

#include "core/core.h"

struct hr_cache;

/* Memory of the device for one image; each part is 256-byte aligned. */
typedef struct hr_coded_memory {
    uint8_t *pixels;  /* rows * stride bytes */
    void *scratch;    /* `scratch` bytes */
    void *notes;      /* `notes` bytes, or NULL */
    uint32_t *status; /* 0; the kernels write 1 if the data is damaged */
} hr_coded_memory;

typedef struct hr_coded hr_coded;
typedef struct hr_coded_decoder {
    const char *name; /* of the decoder in the CUDA module: "jpeg" */
    size_t record_size;
    /* Writes the record that the kernels read. */
    void (*bind)(const hr_coded *coded, const hr_coded_memory *memory, void *record);
    /* Uses what the kernels noted about an undamaged image (a copy on the host). Optional. */
    void (*keep)(const hr_coded *coded, const void *notes, struct hr_cache *cache, hr_arena *arena);
} hr_coded_decoder;

struct hr_coded {
    const hr_coded_decoder *decoder;
    const void *record; /* the decoder's, in the arena that the image was prepared in */
    int64_t stride, rows;
    size_t scratch, notes;
};
