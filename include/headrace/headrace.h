/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The public C API: describe a graph of operators, run it as a pipeline, take batches.
 * A function that can fail returns an hr_status and describes the failure in its last parameter,
 * an hr_error (which may be NULL). Nothing here prints, exits or keeps global state, except
 * for the operators of plug-ins. A graph belongs to one thread. A pipeline may be used from any
 * thread, one call at a time. Batches and tensors may outlive their pipeline. */
#ifndef HEADRACE_HEADRACE_H
#define HEADRACE_HEADRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HR_API __attribute__((visibility("default")))
#define HR_HIDDEN __attribute__((visibility("hidden")))
#define HR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define HR_API
#define HR_HIDDEN
#define HR_PRINTF(fmt, args)
#endif

/* CMakeLists.txt and pyproject.toml read the version here. */
#define HR_VERSION_MAJOR 0
#define HR_VERSION_MINOR 2
#define HR_VERSION_PATCH 0
#define HR_VERSION_TEXT_(major, minor, patch) #major "." #minor "." #patch
#define HR_VERSION_TEXT(major, minor, patch) HR_VERSION_TEXT_(major, minor, patch)
#define HR_VERSION HR_VERSION_TEXT(HR_VERSION_MAJOR, HR_VERSION_MINOR, HR_VERSION_PATCH)

HR_API const char *hr_version(void);

/* ---- errors ---- */

/* The kind of a failure, and the exception that Python raises for it. */
typedef enum hr_status {
    HR_STATUS_OK = 0,
    HR_STATUS_ERROR,           /* RuntimeError: a check inside an operator, the usual kind */
    HR_STATUS_VALUE,           /* ValueError */
    HR_STATUS_TYPE,            /* TypeError */
    HR_STATUS_KEY,             /* KeyError */
    HR_STATUS_INDEX,           /* IndexError */
    HR_STATUS_NOT_IMPLEMENTED, /* NotImplementedError */
    HR_STATUS_IO,              /* RuntimeError: the system refused a file */
    HR_STATUS_CORRUPT,         /* RuntimeError: damaged or malformed data */
    HR_STATUS_LIMIT,           /* RuntimeError: a limit on sizes, pixels, scans, ... */
    HR_STATUS_NO_MEMORY,   /* MemoryError: memory, host_memory_limit or descriptors are used up */
    HR_STATUS_END,         /* StopIteration: a source has no more data */
    HR_STATUS_TIMEOUT,     /* the result was not ready in time; call again */
    HR_STATUS_STATE,       /* RuntimeError: the call does not fit the object's state */
    HR_STATUS_NOT_FUSABLE, /* internal to planning: this step starts a new image program */
    HR_STATUS_COUNT
} hr_status;

#define HR_ERROR_SIZE 1536

typedef struct hr_error {
    hr_status status;
    char message[HR_ERROR_SIZE]; /* UTF-8, no newline at the end */
} hr_error;

HR_API const char *hr_status_name(hr_status status);
/* Copies a text with "***" in place of the user info and the query of each URL, as messages show
 * them: at most `size` bytes, with the end. */
HR_API void hr_mask_secrets(const char *text, char *to, size_t size);

/* ---- types ---- */

/* The numbers are DALI's. */
typedef enum hr_dtype {
    HR_DTYPE_NONE = -1,
    HR_DTYPE_UINT8 = 0,
    HR_DTYPE_UINT16,
    HR_DTYPE_UINT32,
    HR_DTYPE_UINT64,
    HR_DTYPE_INT8,
    HR_DTYPE_INT16,
    HR_DTYPE_INT32,
    HR_DTYPE_INT64,
    HR_DTYPE_FLOAT16,
    HR_DTYPE_FLOAT,
    HR_DTYPE_FLOAT64,
    HR_DTYPE_BOOL,
    HR_DTYPE_COUNT, /* of the types above, whose elements are numbers */
    /* Elements are values of an enumeration, of 4 bytes. */
    HR_DTYPE_IMAGE_TYPE = 20, /* hr_image_type */
    HR_DTYPE_DATA_TYPE,       /* hr_dtype */
    HR_DTYPE_INTERP_TYPE      /* hr_interp */
} hr_dtype;

typedef enum hr_image_type {
    HR_IMAGE_TYPE_RGB = 0,
    HR_IMAGE_TYPE_BGR,
    HR_IMAGE_TYPE_GRAY,
    HR_IMAGE_TYPE_YCBCR,
    HR_IMAGE_TYPE_ANY_DATA,
    HR_IMAGE_TYPE_COUNT
} hr_image_type;

typedef enum hr_interp {
    HR_INTERP_NONE = -1, /* not given */
    HR_INTERP_NN = 0,
    HR_INTERP_LINEAR,
    HR_INTERP_CUBIC,
    HR_INTERP_LANCZOS3,
    HR_INTERP_TRIANGULAR,
    HR_INTERP_GAUSSIAN,
    HR_INTERP_COUNT
} hr_interp;

HR_API size_t hr_dtype_size(hr_dtype dtype);      /* bytes per element; 0 if it is not a type */
HR_API const char *hr_dtype_name(hr_dtype dtype); /* "UINT8", ... */

/* ---- tensors ---- */

#define HR_MAX_NDIM 8

typedef struct hr_shape {
    int32_t ndim;
    int64_t extent[HR_MAX_NDIM];
} hr_shape;

/* One letter per dimension ("HWC"), or empty: no layout. */
typedef struct hr_layout {
    char name[HR_MAX_NDIM + 1];
} hr_layout;

typedef struct hr_buffer hr_buffer; /* a reference-counted block of memory */
#define HR_DEVICE_HOST (-1)

/* A view of contiguous, row-major elements. `data` is aligned to the element; only buffers are
 * aligned to 64 bytes. The view borrows `buffer` and `source_info`; the function that returns a
 * view says for how long. */
typedef struct hr_tensor {
    void *data;
    hr_dtype dtype;
    hr_shape shape;
    hr_layout layout;
    hr_buffer *buffer;       /* the block that contains `data`, or NULL */
    const char *source_info; /* where the sample comes from (a path), or NULL */
} hr_tensor;

/* Frees memory that the caller lent to the library. */
typedef void (*hr_release_fn)(void *context);

HR_API hr_buffer *hr_buffer_ref(hr_buffer *buffer); /* any thread */
HR_API void hr_buffer_unref(hr_buffer *buffer);     /* any thread; NULL is fine */
HR_API void *hr_buffer_data(const hr_buffer *buffer);
HR_API size_t hr_buffer_size(const hr_buffer *buffer);
/* The CUDA device of the memory; HR_DEVICE_HOST for host memory. */
HR_API int32_t hr_buffer_device(const hr_buffer *buffer);

/* A batch: a list of samples of one type and number of dimensions. Reference-counted; immutable
 * except for its layout. */
typedef struct hr_batch hr_batch;

/* Makes a batch of `tensors` and copies their elements. With `no_copy` it refers to the elements
 * instead, and every tensor needs a buffer. Shapes may differ; a different dtype is
 * HR_STATUS_TYPE, a different ndim HR_STATUS_ERROR. */
HR_API hr_status hr_batch_create(hr_batch **out, const hr_tensor *tensors, int32_t count,
                                 bool no_copy, hr_error *error);
/* A pool of host memory that is used again; reference-counted, any thread. */
typedef struct hr_pool hr_pool;
HR_API void hr_pool_unref(hr_pool *pool); /* NULL is fine; batches keep their pool alive */
/* Like hr_batch_create with a copy, in memory of the pool. HR_STATUS_STATE in a child that was
 * forked after the pool was made. */
HR_API hr_status hr_batch_copy(hr_batch **out, hr_pool *pool, const hr_tensor *tensors,
                               int32_t count, hr_error *error);
/* Makes a buffer of the caller's memory. `release(context)` runs when the last reference is gone.
 */
HR_API hr_status hr_buffer_adopt(hr_buffer **out, void *data, size_t size, hr_release_fn release,
                                 void *context, hr_error *error);
/* The same for memory of a CUDA device. Work that is already queued on `stream` (a cudaStream_t) is
 * done before the library uses the memory, and `release` runs after that use. */
HR_API hr_status hr_buffer_adopt_cuda(hr_buffer **out, void *data, size_t size, int32_t device,
                                      void *stream, hr_release_fn release, void *context,
                                      hr_error *error);
/* Like hr_batch_create with a copy, into the memory of a CUDA device. The copy is queued on
 * `stream`: work queued there later may overwrite or free the originals, which are on the device
 * or in pinned memory. With `wait` the call returns when the copy is done, and the originals may be
 * in any host memory. */
HR_API hr_status hr_batch_copy_cuda(hr_batch **out, const hr_tensor *tensors, int32_t count,
                                    int32_t device, void *stream, bool wait, hr_error *error);
HR_API hr_batch *hr_batch_ref(hr_batch *batch);
HR_API void hr_batch_unref(hr_batch *batch);
HR_API int32_t hr_batch_size(const hr_batch *batch);
/* The i-th sample; valid while the batch is held. NULL when out of range. */
HR_API const hr_tensor *hr_batch_tensor(const hr_batch *batch, int32_t i);
/* The whole batch as one tensor with the batch in dimension 0, without a copy. false when shapes
 * differ or the samples are not contiguous. */
HR_API bool hr_batch_dense(const hr_batch *batch, hr_tensor *out);
HR_API hr_status hr_batch_set_layout(hr_batch *batch, const char *layout, hr_error *error);
/* The layout of the first sample, or the one that was set on a batch without samples. */
HR_API const char *hr_batch_layout(const hr_batch *batch);
/* The CUDA device of the samples; HR_DEVICE_HOST for host memory and for an empty batch. */
HR_API int32_t hr_batch_device(const hr_batch *batch);
/* A batch in host memory with the same samples. Samples on a device are copied; the call waits. */
HR_API hr_status hr_batch_to_host(hr_batch **out, const hr_batch *batch, hr_error *error);
/* Copies the elements of a tensor to `dst`, memory of the host or of the tensor's device, after the
 * work queued on `stream` (a cudaStream_t; NULL: the default stream). With `wait` the call returns
 * when the copy is done. */
HR_API hr_status hr_tensor_copy(const hr_tensor *tensor, void *dst, void *stream, bool wait,
                                hr_error *error);
/* Announces that the caller uses the samples on this stream (a cudaStream_t). Their memory is
 * reused only after the work that is queued there when the batch is released. No effect on host
 * memory. */
HR_API void hr_batch_used(const hr_batch *batch, void *stream);

/* ---- functions of the caller ---- */

/* What the operator python_function calls; reference-counted. A pipeline calls it on a worker, once
 * per iteration with all samples, in the order of the iterations. */
typedef struct hr_function hr_function;
typedef struct hr_function_call hr_function_call; /* valid until the function returns */
typedef hr_status (*hr_function_fn)(void *context, hr_function_call *call, hr_error *error);

/* `release(context)` runs on any thread when the last reference is gone. */
HR_API hr_status hr_function_create(hr_function **out, hr_function_fn fn, void *context,
                                    hr_release_fn release, hr_error *error);
HR_API hr_function *hr_function_ref(hr_function *function);
HR_API void hr_function_unref(hr_function *function); /* NULL is fine */
HR_API int32_t hr_function_samples(const hr_function_call *call);
HR_API int32_t hr_function_inputs(const hr_function_call *call);
HR_API int32_t hr_function_outputs(const hr_function_call *call);
/* Valid as long as the call; a reference to its buffer keeps it longer. NULL when out of range. */
HR_API const hr_tensor *hr_function_input(const hr_function_call *call, int32_t input,
                                          int32_t sample);
/* Copies a result into its output slot. Every output of every sample needs one. On a device, the
 * result is in its memory and complete for work queued on the call's stream from now on; it is
 * copied on that stream later, and a reference to its buffer is held until then. */
HR_API hr_status hr_function_output(hr_function_call *call, int32_t output, int32_t sample,
                                    const hr_tensor *value, hr_error *error);
/* The same for a result that is not contiguous. `strides`: bytes between neighbouring elements of
 * each dimension, which may be negative; NULL: contiguous. */
HR_API hr_status hr_function_output_strided(hr_function_call *call, int32_t output, int32_t sample,
                                            const hr_tensor *value, const int64_t *strides,
                                            hr_error *error);
/* On the CPU: one sample fails, as if an operator had failed for it (on_error). Its outputs are not
 * used, and the call goes on with the others. */
HR_API hr_status hr_function_fail(hr_function_call *call, int32_t sample, hr_status status,
                                  const char *message, hr_error *error);
/* Instead of hr_function_output: makes an output whose samples have the types and shapes of `like`
 * (one tensor per sample). `out` gets views of its memory, into which the function writes; on a
 * device, in the order of the call's stream. */
HR_API hr_status hr_function_make(hr_function_call *call, int32_t output, const hr_tensor *like,
                                  hr_tensor *out, hr_error *error);
/* The CUDA device of a call whose node runs on one; HR_DEVICE_HOST for others. Its inputs are in
 * the memory of the device, and no work is queued that writes them, except by the streams of fed
 * data: wait for these with hr_function_synchronize, or use the inputs in the order of the call's
 * stream. */
HR_API int32_t hr_function_device(const hr_function_call *call);
/* The call's stream (a cudaStream_t), in whose order results are copied. Work that the function
 * queues on it is done before anything uses the outputs. NULL without a device. */
HR_API void *hr_function_stream(const hr_function_call *call);
/* The call's stream waits for the work that is queued on `stream` (NULL: the default stream). */
HR_API hr_status hr_function_await(hr_function_call *call, void *stream, hr_error *error);
/* Waits on the host for the work that is queued on the call's stream. */
HR_API hr_status hr_function_synchronize(hr_function_call *call, hr_error *error);

/* ---- graphs ---- */

typedef struct hr_graph hr_graph;

typedef struct hr_edge { /* output `output` of node `node` */
    int32_t node, output;
} hr_edge;

/* A value for an argument. Numbers convert if nothing is lost (1 -> 1.0, 2.0 -> 2 for sizes). */
typedef enum hr_value_kind {
    HR_VALUE_BOOL,
    HR_VALUE_INT,
    HR_VALUE_FLOAT,
    HR_VALUE_STRING,
    HR_VALUE_INTS,
    HR_VALUE_FLOATS,
    HR_VALUE_STRINGS,
    HR_VALUE_EDGE /* one tensor per sample: the argument is an input */
} hr_value_kind;

typedef struct hr_value {
    hr_value_kind kind;
    int32_t count; /* of the lists: number of elements */
    union {
        int64_t i; /* BOOL, INT; enumerations are INT */
        double f;
        const char *s;
        const int64_t *ints;
        const double *floats;
        const char *const *strings;
        hr_edge edge;
    } u;
} hr_value;

typedef struct hr_arg_value {
    const char *name;
    hr_value value;
} hr_arg_value;

/* A node in a branch of a conditional runs only for samples whose `predicate`, a BOOL scalar on the
 * CPU, equals `when`. Where the node of the predicate did not run, none of its branches runs: the
 * predicates of inner branches are themselves guarded by the outer branch. */
typedef struct hr_guard {
    hr_edge predicate;
    bool when;
} hr_guard;

typedef struct hr_node_desc {
    const char *op;     /* "decoders.image"; aliases and old names resolve */
    const char *name;   /* unique in the graph, or NULL */
    const char *device; /* "cpu", "gpu", "mixed"; NULL is "cpu" */
    const char *origin; /* the user's line for messages, "train.py:31"; or NULL */
    const hr_edge *inputs;
    int32_t input_count;
    const hr_arg_value *args;
    int32_t arg_count;
    bool preserve;         /* keep the node though nothing uses it */
    const hr_guard *guard; /* NULL: it runs for every sample */
    hr_function *function; /* of operators that call one; referenced. NULL for others */
    /* An earlier node whose random numbers it draws, too: that of the first of several sets of
     * inputs of one call. It need not be used. NULL: it draws its own. */
    const int32_t *draws_as;
} hr_node_desc;

HR_API hr_status hr_graph_create(hr_graph **out, hr_error *error);
HR_API void hr_graph_destroy(hr_graph *graph);
/* Checks and copies `desc`. `*node` is the number of the new node, in the order of definition. */
HR_API hr_status hr_graph_add_node(hr_graph *graph, const hr_node_desc *desc, int32_t *node,
                                   hr_error *error);
HR_API hr_status hr_graph_set_outputs(hr_graph *graph, const hr_edge *edges, int32_t count,
                                      hr_error *error);
/* Number of outputs of a node; -1 for an unknown node. */
HR_API int32_t hr_graph_node_outputs(const hr_graph *graph, int32_t node);
/* The node of that name, or -1. */
HR_API int32_t hr_graph_find_node(const hr_graph *graph, const char *name);
/* A portable text of the graph; free `*text` with hr_string_free. HR_STATUS_ERROR when a node calls
 * a function of the caller. */
HR_API hr_status hr_graph_serialize(const hr_graph *graph, char **text, size_t *size,
                                    hr_error *error);
/* The text need not be trusted: any bytes give a graph or an error. */
HR_API hr_status hr_graph_parse(hr_graph **out, const char *text, size_t size, hr_error *error);
HR_API void hr_string_free(char *text);

/* ---- pipelines ---- */

/* In a child that was forked after hr_pipeline_create, every call on the pipeline fails with
 * HR_STATUS_STATE. Outputs that were taken before remain usable. */
typedef struct hr_pipeline hr_pipeline;
typedef struct hr_outputs hr_outputs; /* the batches of one iteration; counted */

typedef enum hr_on_error {
    HR_ON_ERROR_RAISE = 0,
    HR_ON_ERROR_REPLACE,
    HR_ON_ERROR_SKIP /* an iteration without good samples is left out, unless batches are fed */
} hr_on_error;

#define HR_THREADS_MAX 4096 /* of a pool or a pipeline */

/* Threads that do the work of several pipelines. Each pipeline uses at most num_threads of them at
 * once; when there are too few for all, pipelines take turns. The threads start when a pipeline is
 * created, and have all ended when the last one is destroyed. */
typedef struct hr_thread_pool hr_thread_pool;

/* `max_threads`: threads of the pool, 1 .. HR_THREADS_MAX; 0: as many as its pipelines ask for
 * together, up to 64, 4 for each CPU, or what the largest one asks for, whichever is most. */
HR_API hr_status hr_thread_pool_create(hr_thread_pool **out, int32_t max_threads, hr_error *error);
HR_API hr_thread_pool *hr_thread_pool_ref(hr_thread_pool *pool);
HR_API void hr_thread_pool_unref(hr_thread_pool *pool); /* NULL is fine; so is a forked child */
HR_API int32_t hr_thread_pool_threads(hr_thread_pool *pool); /* that there are now */

typedef struct hr_pipeline_options {
    size_t struct_size; /* sizeof(hr_pipeline_options), set by hr_pipeline_options_init */
    /* 1 .. 1048576. With readers that have global_batch: at least this process's part of it, which
     * takes its place; 0: that part. */
    int32_t batch_size;
    int32_t num_threads;
    int32_t prefetch_queue_depth; /* iterations in flight */
    int64_t seed;                 /* < 0: the checkpoint's, or a random one */
    hr_on_error on_error;
    bool fuse;   /* false: run operators one by one; same bytes */
    bool strict; /* treat warnings about damaged data as errors */
    bool set_affinity;
    size_t host_memory_limit; /* bytes of outputs, read-ahead, and each worker's scratch beyond
                                 64 MiB; 0: 3/4 of memory */
    size_t read_ahead_limit;  /* bytes of files read before they are needed, at most a quarter of
                                 host_memory_limit; 0: 64 MiB */
    int64_t max_image_pixels; /* 0: 2^28 */
    /* Bytes for indices of JPEG files, with which the next decode of a window of the same file is
     * faster. 0: none; < 0: 4 GB or 2 % of memory, whichever is less. */
    int64_t index_memory_limit;
    const char *index_cache; /* keep indices in this folder, shared by processes; or NULL */
    const char *quarantine;  /* append the names of bad files to this file; or NULL */
    const char *trace;       /* write a Chrome trace here; NULL: HEADRACE_TRACE decides */
    const void *checkpoint;  /* state to resume from, or NULL */
    size_t checkpoint_size;
    int32_t cpu_level; /* 0: the best of this CPU; 1 base, 3 v3, 4 v4 (or HEADRACE_CPU_LEVEL) */
    /* CUDA device for nodes with device "gpu" or "mixed"; < 0: device 0. If it is given, large
     * outputs on the host are pinned. */
    int32_t device_id;
    size_t device_memory_limit; /* bytes of outputs, scratch and staging; 0: no limit */
    /* Another thread may set it to true (atomically) while hr_pipeline_create runs, which then
     * fails soon, even if it waits for a server; or NULL. */
    const bool *interrupt;
    /* No worker threads: hr_pipeline_run does the work, on the thread that calls it. num_threads is
     * 1 then. Cheapest for a small graph that is fed and run once in a while. */
    bool run_here;
    /* Stores each progressive JPEG file that is decoded in the folder of indices as a baseline file
     * with the same pixels, which all pipelines with this folder then decode. Damaged files, and
     * files that the folder already has, are skipped. Without a folder, this has no effect. */
    bool index_transcode;
    /* The threads that do the work; NULL: num_threads of its own. Not used with set_affinity, as
     * pinned threads are the pipeline's own, and with run_here. */
    hr_thread_pool *thread_pool;
    /* Of a job (readers with global_batch): the number of processes, and the number of this one, in
     * place of the readers' num_shards and shard_id. 0: those of the readers. */
    int32_t num_shards, shard_id;
} hr_pipeline_options;

HR_API void hr_pipeline_options_init(hr_pipeline_options *options);

/* Compiles the graph, which is copied and may be destroyed. Work starts at once unless a source
 * has to be fed. */
HR_API hr_status hr_pipeline_create(hr_pipeline **out, const hr_graph *graph,
                                    const hr_pipeline_options *options, hr_error *error);
/* A framework's allocator of device memory, so that framework and pipeline share one pool. */
typedef struct hr_device_allocator {
    void *context;
    /* Returns memory that nothing uses any more; it will be used in the order of `stream`, which is
     * idle. `*block` identifies it. NULL: there is none, and the pipeline uses its own. Called from
     * threads of the pipeline. */
    void *(*alloc)(void *context, int32_t device, void *stream, size_t size, void **block);
    /* Nothing uses the block any more. Any thread. */
    void (*free)(void *context, void *block);
} hr_device_allocator;

/* From now on, outputs in device memory come from the allocator, which must stay valid as long as
 * any of them exists. No effect without nodes on a device. Any thread. */
HR_API void hr_pipeline_set_device_allocator(hr_pipeline *pipeline,
                                             const hr_device_allocator *allocator);
/* Cancels the iterations in flight and joins the workers. NULL is fine. */
HR_API void hr_pipeline_destroy(hr_pipeline *pipeline);
/* As hr_pipeline_destroy. HR_STATUS_IO: the pipeline is gone, but its trace could not be written.
 */
HR_API hr_status hr_pipeline_close(hr_pipeline *pipeline, hr_error *error);
/* Takes the next iteration. Waits at most `timeout_ms` (< 0: forever), then returns
 * HR_STATUS_TIMEOUT. HR_STATUS_INDEX: a source must be fed first. HR_STATUS_NO_MEMORY: the outputs
 * that the caller holds use all memory; the iteration stays the next one, and the next call runs it
 * again (unless its functions have run, which then are not called twice). */
HR_API hr_status hr_pipeline_run(hr_pipeline *pipeline, int32_t timeout_ms, hr_outputs **out,
                                 hr_error *error);
/* hr_pipeline_run in two steps, for callers that may be interrupted between taking a batch and
 * using it. Until hr_pipeline_delivered, checkpoints have the state before this iteration.
 * `*taken`: whether an iteration was taken, which one that failed is, too. */
HR_API hr_status hr_pipeline_take(hr_pipeline *pipeline, int32_t timeout_ms, hr_outputs **out,
                                  bool *taken, hr_error *error);
HR_API void hr_pipeline_delivered(hr_pipeline *pipeline);
/* Waits at most `timeout_ms` for the next iteration without taking it. HR_STATUS_OK: the next run
 * takes a full batch and does not wait. HR_STATUS_TIMEOUT: it is not ready. HR_STATUS_STATE: the
 * next run reports something else (a failure, samples left out, nothing to do). For iterators,
 * which want the next batch as soon as they have taken this one: schedules prefetch_queue_depth + 1
 * iterations. */
HR_API hr_status hr_pipeline_wait(hr_pipeline *pipeline, int32_t timeout_ms);
/* Begins again with this seed (>= 0) and the first sample, as if the pipeline had been created with
 * it. Random numbers then depend on neither the number nor the seeds of the graph's nodes, except
 * where several nodes draw. HR_STATUS_STATE: iterations are in flight. */
HR_API hr_status hr_pipeline_reseed(hr_pipeline *pipeline, int64_t seed, hr_error *error);
/* The caller spent `ns` nanoseconds on making data to feed, since the last run: they are counted as
 * the source's time, not as the consumer's. */
HR_API void hr_pipeline_note_feeding(hr_pipeline *pipeline, int64_t ns);
/* Goes to iteration `step` of this run, before or after the present one: the next call takes it. A
 * batch that was taken counts as delivered. HR_STATUS_NOT_IMPLEMENTED: a source is not a reader and
 * only goes forward. HR_STATUS_VALUE: it was run before the number of shards changed. */
HR_API hr_status hr_pipeline_seek(hr_pipeline *pipeline, int64_t step, hr_error *error);
/* Leaves out the iterations `first` .. `end` - 1 of this run that were not taken yet, as if their
 * samples had been skipped: hr_outputs_positions of the next batch counts them. Checkpoints have
 * the list. Fails as hr_pipeline_seek; HR_STATUS_LIMIT: too many iterations, or parts of the list.
 */
HR_API hr_status hr_pipeline_leave_out(hr_pipeline *pipeline, int64_t first, int64_t end,
                                       hr_error *error);
/* The number of samples in a batch of readers: that of the options or, of a job, its part. */
HR_API int32_t hr_pipeline_batch_size(const hr_pipeline *pipeline);
/* Lets functions run for the next `count` iterations that were not taken yet. All other work starts
 * by itself. hr_pipeline_run schedules prefetch_queue_depth iterations. */
HR_API void hr_pipeline_schedule(hr_pipeline *pipeline, int32_t count);
/* Iterations that were fed or started and have not been taken yet. */
HR_API int32_t hr_pipeline_pending(hr_pipeline *pipeline);
/* How many more batches the source `node` (external_source) can take now; at least 1 when nothing
 * is in flight. */
HR_API int32_t hr_pipeline_feed_room(hr_pipeline *pipeline, int32_t node);
/* A reference to a pool for copies of the batches that hr_pipeline_feed gets. Its memory is pinned
 * where a device reads it. The pool may outlive the pipeline and does not count against
 * host_memory_limit. */
HR_API hr_pool *hr_pipeline_feed_pool(hr_pipeline *pipeline);
/* Gives the source `node` its next batches, one per output of the node. They are referenced, not
 * copied. */
HR_API hr_status hr_pipeline_feed(hr_pipeline *pipeline, int32_t node, hr_batch *const *batches,
                                  int32_t count, hr_error *error);
/* The batches for one source: one per output of the node. */
typedef struct hr_feeding {
    int32_t node, count;
    hr_batch *const *batches;
} hr_feeding;

/* Gives several sources their next batches: all of them or, if it fails, none. */
HR_API hr_status hr_pipeline_feed_all(hr_pipeline *pipeline, const hr_feeding *feedings,
                                      int32_t count, hr_error *error);

typedef struct hr_call {
    const hr_feeding *feedings;
    int32_t count;  /* of `feedings` */
    int64_t seed;   /* >= 0: as hr_pipeline_reseed */
    int64_t sample; /* >= 0: number of the first sample, on which random numbers depend */
    /* The outputs count as taken only with hr_pipeline_delivered, as those of hr_pipeline_take. */
    bool hold;
    /* The outputs of the last call were held and not delivered. It is taken back: readers, and
     * sources that were fed before that call, repeat their batches. */
    bool again;
    /* Asked about ten times per second while the call waits, on the thread of the caller: true
     * gives the call up. Or NULL. */
    bool (*stop)(void *context);
    void *context;
} hr_call;

/* Feeds and takes in one step: returns what comes of `feedings`, of which there is at least one. A
 * call that fails or is given up (HR_STATUS_TIMEOUT) leaves nothing behind: its batches are
 * dropped, and readers continue as if it had not been made; but an iteration with a bad sample
 * counts as taken (`*taken`). HR_STATUS_STATE: a source was fed before, and that batch was not
 * taken. */
HR_API hr_status hr_pipeline_call(hr_pipeline *pipeline, const hr_call *call, hr_outputs **out,
                                  bool *taken, hr_error *error);

HR_API void hr_outputs_unref(hr_outputs *outputs);
HR_API int32_t hr_outputs_count(const hr_outputs *outputs);
HR_API hr_batch *hr_outputs_batch(const hr_outputs *outputs, int32_t i); /* borrowed */
HR_API int64_t hr_outputs_iteration(const hr_outputs *outputs);
/* How many positions of the primary source this iteration took, skipped samples included. */
HR_API int32_t hr_outputs_positions(const hr_outputs *outputs);
/* The number of the i-th sample in the batch before samples were skipped (0, 1, ...): i unless an
 * earlier sample was skipped; -1 when out of range. */
HR_API int32_t hr_outputs_slot(const hr_outputs *outputs, int32_t i);

/* Facts about the reader `node`; HR_STATUS_KEY when the node is not a reader. */
typedef struct hr_reader_meta {
    int64_t epoch_size, epoch_size_padded; /* the same without pad_last_batch */
    int32_t number_of_shards, shard_id;
    bool pad_last_batch, stick_to_shard;
    /* After the number of shards has changed: what was left of an epoch on all shards, which was
     * split again; 0: nothing. Then come whole epochs, beginning with `first_epoch`. */
    int64_t rest_size, first_epoch;
    bool resplit; /* by this pipeline, when it was restored */
    /* Positions taken since the beginning, or since the number of shards changed; without those of
     * an iteration that was taken and not delivered. Of a job, they are those of all processes. */
    int64_t position;
    /* Of a job (docs/order.md): positions of a batch of all processes, whose number is
     * number_of_shards; shard_id is the number of this one. 0: not part of a job. */
    int64_t global_batch;
} hr_reader_meta;
HR_API hr_status hr_pipeline_reader_meta(hr_pipeline *pipeline, int32_t node, hr_reader_meta *out,
                                         hr_error *error);

/* The state after the last iteration taken: pass it as `checkpoint` to continue exactly there. A
 * JSON object, to which callers may add members: what `checkpoint` gets may have any, and only
 * "headrace_checkpoint" and "engine" are read. Free this text and those below with hr_string_free.
 */
HR_API hr_status hr_pipeline_checkpoint(hr_pipeline *pipeline, char **text, size_t *size,
                                        hr_error *error);
/* The same at the beginning of an epoch, before which `iterations` iterations were taken, and
 * `positions` positions of each reader (of a job: by all processes). The number of shards counts as
 * if it had always been the present one. HR_STATUS_NOT_IMPLEMENTED: a source is not a reader and
 * cannot go back.
 */
HR_API hr_status hr_checkpoint_at_epoch(hr_pipeline *pipeline, int64_t iterations,
                                        int64_t positions, char **text, size_t *size,
                                        hr_error *error);
/* JSON: counters since the pipeline was made (docs/statistics.md). */
HR_API hr_status hr_pipeline_stats(hr_pipeline *pipeline, char **json, hr_error *error);
/* What limits the speed of this pipeline, in words. */
HR_API hr_status hr_pipeline_explain(hr_pipeline *pipeline, char **text, hr_error *error);
/* JSON: a list of bad samples with the keys iteration, index, epoch, source, operator, message and
 * action. */
HR_API hr_status hr_pipeline_errors(hr_pipeline *pipeline, char **json, hr_error *error);
/* The compiled plan in words: stages, nodes, fused chains. */
HR_API hr_status hr_pipeline_describe(hr_pipeline *pipeline, char **text, hr_error *error);

/* ---- epochs of iterators ---- */

/* What becomes of the last batch of an epoch when fewer samples are left than it has places. */
typedef enum hr_last_batch {
    HR_LAST_BATCH_FILL = 0, /* completed from the next epoch, or with copies (pad_last_batch) */
    HR_LAST_BATCH_DROP,     /* run and left out */
    HR_LAST_BATCH_PARTIAL   /* made shorter */
} hr_last_batch;

/* How an iterator cuts what a reader gives into epochs. All shards run the same number of batches
 * per epoch, so that distributed steps stay together; the largest shard determines that number. */
typedef struct hr_epoch_rule {
    int32_t batch_size;
    hr_last_batch last_batch;
    bool even;  /* all shards keep as much of the last batch as the largest one */
    bool alone; /* the reader's own shard determines the number of batches */
    /* Without a reader: samples of an epoch over `pipelines` pipelines; < 0: no end. 0: a reader.
     */
    int64_t size;
    int32_t pipelines;
} hr_epoch_rule;

/* Where an iterator is. Of a job, positions are those of all processes, and batches have
 * `global_batch` of them. A rest has the number of the epoch before the first whole one. */
typedef struct hr_epoch_place {
    int64_t number; /* of the epoch; one before the first is empty */
    int64_t begin;  /* position of the reader where it began */
    int64_t taken;  /* positions taken in it */
} hr_epoch_place;

typedef struct hr_epoch {
    int64_t length;  /* positions of the epoch, the same for all shards; < 0: no end */
    int64_t batches; /* of the epoch, without one that is left out */
    int64_t full;    /* of these, those that are not made shorter on all shards */
    int64_t left;    /* of these, those that were not taken yet */
    bool drop;       /* then one more is run and left out */
    /* One shard, or one of several pipelines: */
    int64_t shard;   /* the number of the one that is read */
    int64_t size;    /* its samples in this epoch */
    int64_t carried; /* of these, those that the last batch of the epoch before has taken */
    int64_t keep;    /* positions of the next batch to keep */
    int64_t real;    /* samples of the next batch that are of this epoch and not copies */
    int64_t own;     /* batches that were not taken yet and from which something is kept */
    int64_t last;    /* positions to keep of the last of them */
} hr_epoch;

/* The epoch at a place, as the reader sees it that began with shard `lane` (or pipeline number
 * `lane`). These functions depend on nothing else: HR_STATUS_VALUE if the numbers make no sense.
 * Without a reader, `meta` says whether the last batch is filled with copies. */
HR_API hr_status hr_epoch_at(const hr_reader_meta *meta, const hr_epoch_rule *rule,
                             const hr_epoch_place *place, int32_t lane, hr_epoch *out,
                             hr_error *error);
/* Moves to the beginning of the next epoch. */
HR_API hr_status hr_epoch_next(const hr_reader_meta *meta, const hr_epoch_rule *rule,
                               hr_epoch_place *place, hr_error *error);
/* The beginning of an epoch when all epochs before it are run to their ends. Needs a reader. */
HR_API hr_status hr_epoch_start(const hr_reader_meta *meta, const hr_epoch_rule *rule,
                                int64_t number, hr_epoch_place *out, hr_error *error);
/* Where an iterator is that goes on at this position. Needs a reader. */
HR_API hr_status hr_epoch_find(const hr_reader_meta *meta, const hr_epoch_rule *rule,
                               int64_t position, hr_epoch_place *out, hr_error *error);

/* ---- plug-ins ---- */

/* Loads a library of operators (plugin.h) as dlopen does: a path without a slash is searched for.
 * Either all of its operators can be used from now on, or it fails with HR_STATUS_ERROR and nothing
 * changes. Loading a library again has no effect. With
 * `global_symbols`, libraries that are loaded later may use its symbols. Any thread. */
HR_API hr_status hr_plugin_load(const char *path, bool global_symbols, hr_error *error);

/* ---- capabilities ---- */

/* JSON: the operators with names, arguments, types, defaults and docs. */
HR_API hr_status hr_schema_json(char **json, hr_error *error);
/* JSON: CPU, levels, codecs, libraries and their versions, limits of the process. */
HR_API hr_status hr_doctor_json(char **json, hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
