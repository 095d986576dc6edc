/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Stages on a device. Workers prepare sample by sample what the device will do: parsed files,
 * flattened programs, arguments, all in staged memory. Whoever prepares the last sample launches
 * the batch, without waiting. The completion thread waits for its end, has samples that the device
 * could not decode prepared again for the CPU's decoder, and lets the iteration go on. */
#ifndef HR_EXEC_DEVICE_STAGE_H
#define HR_EXEC_DEVICE_STAGE_H

#include "device/device.h"
#include "exec/exec.h"

typedef enum hr_piece_kind {
    HR_PIECE_KIND_PROGRAM, /* an image program over a tensor ... */
    HR_PIECE_KIND_PICTURE, /* ... over a picture that the device decodes ... */
    HR_PIECE_KIND_PIXELS,  /* ... or over pixels decoded here and staged */
    HR_PIECE_KIND_OP,      /* an operator of the module */
    HR_PIECE_KIND_VIEW,    /* only metadata */
    HR_PIECE_KIND_COPY,    /* of what its operator would refer to on the CPU (HR_OP_BORROWS) */
    HR_PIECE_KIND_TO_DEVICE,
    HR_PIECE_KIND_TO_HOST
} hr_piece_kind;

/* What a step does for a sample: one piece, or several in a row where its chain was cut. Memory for
 * tensors comes with the launch. Lives in an arena of the iteration's hr_device_batch. */
typedef struct hr_piece hr_piece;
struct hr_piece {
    hr_piece *next;
    hr_piece_kind kind;
    int32_t sample;
    const hr_node *node; /* its last one */
    hr_device_program program;
    hr_jpeg_device_picture picture;      /* PICTURE ... */
    const hr_jpeg_device_entry *entries; /* ... and what the device noted, or NULL */
    hr_staged pixels;                    /* PIXELS, TO_DEVICE */
    hr_op_call call;                     /* OP, VIEW, TO_HOST */
    hr_tensor **in;                      /* where the inputs stand; of a program the first one */
    hr_tensor **out;                     /* where the outputs stand */
    int32_t n_in, n_out;
    bool inside; /* its output is the next piece's input and nobody else's */
};

/* An iteration in a device stage. */
typedef struct hr_device_batch hr_device_batch;
struct hr_device_batch {
    hr_launch *launch;
    hr_arena **arenas;      /* a worker's, and the launch's: arenas[worker_count] */
    hr_piece **pieces;      /* steps of the stage x samples */
    bool *redo;             /* a sample: its files are for the CPU's decoder */
    bool again;             /* only those are prepared: the device could not decode them */
    hr_piece **decoding;    /* pieces that the device decodes, ... */
    const uint32_t *status; /* ... and pinned, what it says of each when it is done */
    int32_t decoding_count;
    hr_device_batch *next; /* of the pipeline's idle or published ones */
};

typedef struct hr_completion {
    pthread_t thread;
    bool started, stop;
    pthread_cond_t work;        /* guarded by the pipeline's lock, as all of it */
    int64_t busy_ns, idle_ns;   /* something was launched; nothing was */
    hr_iteration *first, *last; /* launched, oldest first; linked by `launched` */
} hr_completion;

/* Makes the index entries that the device noted in one published batch, and gives its memory back.
 * False: there is none. Lock held, but not meanwhile. */
bool hr__device_keep_entries(hr_pipeline *p);
/* Opens the device if a node is for one, and checks that it has all that the plan asks for. */
hr_status hr__device_open(hr_pipeline *p, hr_error *error);
void hr__device_stop(hr_pipeline *p);  /* waits for what was launched; workers are joined */
void hr__device_close(hr_pipeline *p); /* iterations are freed */

/* One sample through one step. */
hr_status hr__device_prepare(hr_group *g, const hr_plan_step *step, int32_t i, const hr_node **at,
                             hr_error *error);
/* The sample does not take the step's branch. */
hr_status hr__device_pass(hr_group *g, const hr_plan_step *step, int32_t i, hr_error *error);
/* Queues the stage's work and hands the iteration to the completion thread. No lock held. */
void hr__device_launch(hr_pipeline *p, hr_iteration *it);
/* The queueing alone (device_queue.c). */
hr_status hr__device_queue(hr_pipeline *p, hr_iteration *it, hr_error *error);
/* Ends the stage: its memory is given back. Nothing may be queued any more. */
void hr__device_batch_give(hr_pipeline *p, hr_iteration *it);
/* The same of a stage that was not launched. */
void hr__device_batch_drop(hr_pipeline *p, hr_iteration *it);
hr_status hr__device_batch_take(hr_pipeline *p, hr_iteration *it, hr_device_batch **out,
                                hr_error *error);

#endif
