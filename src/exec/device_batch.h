/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The work of device stages. Workers prepare every sample on the CPU: parsed files, flattened
 * programs and arguments go to staging memory. The worker that prepares the last sample launches
 * the batch without waiting for it. */
#pragma once

#include "device/launch.h"
#include "exec/values.h"
#include "image/coded.h"
#include "image/device.h"

typedef enum hr_piece_kind {
    HR_PIECE_KIND_PROGRAM,  /* an image program over a tensor ... */
    HR_PIECE_KIND_IMAGE,    /* ... over an image that the device decodes ... */
    HR_PIECE_KIND_PIXELS,   /* ... or over pixels decoded here and staged */
    HR_PIECE_KIND_OP,       /* an operator of the CUDA module */
    HR_PIECE_KIND_VIEW,     /* changes metadata only */
    HR_PIECE_KIND_COPY,     /* a copy of what the operator borrows on the CPU (HR_OP_BORROWS) */
    HR_PIECE_KIND_FUNCTION, /* a function of the caller, which queues work itself */
    HR_PIECE_KIND_TO_DEVICE,
    HR_PIECE_KIND_TO_HOST
} hr_piece_kind;

/* What samples alike share. */
typedef struct hr_piece_work {
    hr_device_program program; /* PROGRAM, IMAGE, PIXELS */
    hr_op_call call;           /* OP, VIEW, COPY, FUNCTION, TO_HOST */
} hr_piece_work;

/* The work of a step for a sample: one piece, or several in a row if the chain needs several
 * programs. There is none for a step whose branch the sample does not take. Memory for tensors is
 * allocated at the launch. The piece itself is in an arena of the iteration's hr_device_batch. */
typedef struct hr_piece hr_piece;
struct hr_piece {
    hr_piece *next;
    hr_piece_kind kind;
    int32_t sample, step; /* the step's number in the plan */
    const hr_node *node;  /* its last node */
    hr_piece_work *work;
    bool shared;            /* another sample's piece has made it */
    bool inside;            /* only the next piece uses its output */
    hr_coded coded;         /* IMAGE */
    hr_coded_memory memory; /* IMAGE: where the device decodes it */
    const void *notes;      /* IMAGE: the host's copy of what the device notes, or NULL */
    hr_staged pixels;       /* PIXELS, TO_DEVICE; without `host` if it was made on the device */
    const char *info;       /* source_info of its outputs */
    hr_tensor **in;         /* tensors of the inputs */
    hr_tensor **out;        /* tensors of the outputs */
    int32_t n_in, n_out;
};

/* An iteration in a device stage. */
typedef struct hr_device_batch hr_device_batch;
struct hr_device_batch {
    hr_launch *launch;
    hr_arena **arenas;       /* one per worker, and that of the launch: arenas[num_threads] */
    hr_piece **pieces;       /* one list per sample, in the order of steps */
    const hr_piece **models; /* one per worker: a piece that samples like its own can copy */
    bool *redo;              /* one per sample: the CPU decodes it, since the device could not */
    bool again;              /* only the samples in `redo` are prepared */
    hr_piece **decoding;     /* pieces that the device decodes */
    const uint32_t *status;  /* pinned; the device's result for each of them, 0: decoded */
    int32_t decoding_count;
    hr_device_batch *next; /* in the pipeline's idle or published list */
};

/* Prepares one sample for one step; the group has its batch. */
hr_status hr__device_prepare(hr_group *g, const hr_plan_step *step, int32_t i, const hr_node **at,
                             hr_error *error);
/* Prepares samples of the group from the i-th on for as long as they are like one before. Returns
 * how many. */
int32_t hr__device_prepare_alike(hr_group *g, const hr_plan_step *step, int32_t i);
/* Queues the work of a prepared stage (device_queue.c). Functions of the caller are called here. */
hr_status hr__device_queue(hr_worker *w, hr_iteration *it, hr_error *error);
/* Ends the stage and frees its memory. All queued work must be finished. */
void hr__device_batch_give(hr_pipeline *p, hr_iteration *it);
/* The same for a stage that was not launched, or whose launch failed. */
void hr__device_batch_drop(hr_pipeline *p, hr_iteration *it);
/* The iteration's batch; the first call makes it. */
hr_status hr__device_batch_take(hr_pipeline *p, hr_iteration *it, hr_device_batch **out,
                                hr_error *error);
/* Stores the index entries of one published batch in the cache and frees the batch's memory.
 * Returns false if there is no such batch. Lock held; released while it works. */
bool hr__device_keep_entries(hr_pipeline *p);
void hr__device_batches_free(hr_pipeline *p); /* call it after freeing the iterations */
