/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The binary interface of libnvidia-opticalflow.so.1, which comes with NVIDIA's driver. It is
 * version 2.0, the first one with all grids and limits; newer drivers provide it, too. The names
 * are ours. */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#define FLOW_ENTRY_NAME "NvOFAPICreateInstanceCuda" /* the library's symbol, a flow_entry */
#define FLOW_VERSION UINT32_C(0x20)

enum { /* what functions return */
       FLOW_OK = 0,
       FLOW_NO_ENGINE = 1,
       FLOW_OTHER_DEVICE = 2,
       FLOW_BAD_ARGUMENT = 5,
       FLOW_BAD_VERSION = 7,
       FLOW_NO_MEMORY = 8
};
enum { FLOW_MODE_MOTION = 1 };
enum { FLOW_SPEED_SLOW = 5, FLOW_SPEED_MEDIUM = 10, FLOW_SPEED_FAST = 20 };
enum { FLOW_USE_FRAME = 1, FLOW_USE_VECTORS = 2, FLOW_USE_HINTS = 3 };
/* Bytes: one, or red, green, blue, alpha. Vectors: x and y as int16_t, in units of 1/32 pixel. */
enum { FLOW_FORMAT_GRAY = 1, FLOW_FORMAT_COLOR = 3, FLOW_FORMAT_VECTORS = 5 };
enum { FLOW_MEMORY_LINEAR = 2 };
enum {
    FLOW_LIMIT_GRIDS = 0, /* a list of sizes */
    FLOW_LIMIT_HINT_GRIDS = 1,
    FLOW_LIMIT_WIDTH_MIN = 4,
    FLOW_LIMIT_HEIGHT_MIN = 5,
    FLOW_LIMIT_WIDTH_MAX = 6,
    FLOW_LIMIT_HEIGHT_MAX = 7
};

typedef struct flow_setup {
    uint32_t width, height;  /* of frames */
    int32_t grid, hint_grid; /* hint_grid is 0 without external hints */
    int32_t mode, speed;
    int32_t external_hints, costs; /* 0 or 1 */
    void *unused;
    int32_t stereo_range, regions;
} flow_setup;

typedef struct flow_buffer_setup {
    uint32_t width, height; /* in elements */
    int32_t use, format;
} flow_buffer_setup;

typedef struct flow_strides {
    struct {
        uint32_t row; /* bytes from row to row */
        uint32_t rows;
    } plane[3];
    uint32_t planes;
} flow_strides;

typedef struct flow_input { /* buffers */
    void *frame, *reference, *hints;
    int32_t no_temporal_hints;
    uint32_t unused1;
    void *unused2;
    uint32_t unused3, regions;
    void *region;
} flow_input;

typedef struct flow_output { /* buffers */
    void *vectors, *costs, *unused;
} flow_output;

typedef struct flow_functions {
    int32_t (*create)(void *context, void **engine); /* CUcontext */
    int32_t (*init)(void *engine, const flow_setup *setup);
    int32_t (*buffer_create)(void *engine, const flow_buffer_setup *setup, int32_t memory,
                             void **buffer);
    void *(*buffer_array)(void *buffer);
    uint64_t (*buffer_address)(void *buffer); /* on the device */
    int32_t (*buffer_strides)(void *buffer, flow_strides *out);
    int32_t (*set_streams)(void *engine, void *in, void *out); /* CUstream */
    int32_t (*execute)(void *engine, const flow_input *in, const flow_output *out);
    int32_t (*buffer_destroy)(void *buffer);
    int32_t (*destroy)(void *engine);
    int32_t (*last_error)(void *engine, char *text, uint32_t *size);
    /* The number of values, and `values` if it is not NULL. */
    int32_t (*limits)(void *engine, int32_t limit, uint32_t *values, uint32_t *count);
} flow_functions;

typedef int32_t (*flow_entry)(uint32_t version, flow_functions *out);

static_assert(sizeof(flow_setup) == 48 && offsetof(flow_setup, external_hints) == 24, "layout");
static_assert(offsetof(flow_setup, stereo_range) == 40, "layout");
static_assert(sizeof(flow_buffer_setup) == 16 && sizeof(flow_strides) == 28, "layout");
static_assert(sizeof(flow_input) == 56 && offsetof(flow_input, region) == 48, "layout");
static_assert(offsetof(flow_input, no_temporal_hints) == 24, "layout");
static_assert(sizeof(flow_output) == 24 && sizeof(flow_functions) == 96, "layout");
