/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* decoders.inflate: decompresses the chunks of a sample. */
#include "core/inflate.h"
#include "ops/decoders/inflate.h"
#include "headrace/operator.h"

#include <limits.h>
#include <zlib.h>

typedef struct inflate_args {
    hr_ints shape, chunk_offsets, chunk_sizes;
    const char *algorithm, *layout, *sequence_axis_name;
    int32_t dtype, check_output_size;
} inflate_args;

#define CHUNKS (HR_ARG_OPTIONAL | HR_ARG_PER_SAMPLE | HR_ARG_SCALAR_OK)

static hr_status inflate_check(const void *args, const hr_given *given, hr_error *error)
{
    const inflate_args *a = args;
    if (a->dtype == HR_DTYPE_NONE)
        return hr_fail(error, HR_STATUS_ERROR, "`dtype` must be an element type");
    if (strlen(a->sequence_axis_name) != 1)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`sequence_axis_name` must be a single character, got \"%s\"",
                       a->sequence_axis_name);
    (void)given;
    return HR_STATUS_OK;
}

static hr_inflate_format format_of(const char *algorithm)
{
    return algorithm[0] == 'L'   ? HR_INFLATE_LZ4
           : algorithm[0] == 'd' ? HR_INFLATE_DEFLATE
           : algorithm[0] == 'z' ? HR_INFLATE_ZLIB
                                 : HR_INFLATE_GZIP;
}

/* Chunk i, as the lists say. */
static hr_inflate_chunk chunk_at(const inflate_args *a, int64_t size, int32_t i, int64_t packed)
{
    const hr_ints *offsets = &a->chunk_offsets, *sizes = &a->chunk_sizes;
    hr_inflate_chunk chunk = {packed, size};
    if (offsets->v)
        chunk.from = offsets->v[i];
    if (sizes->v)
        chunk.size = sizes->v[i];
    else if (offsets->v)
        chunk.size = (i + 1 < offsets->n ? offsets->v[i + 1] : size) - chunk.from;
    return chunk;
}

static hr_status find_chunks(const inflate_args *a, int64_t size, hr_inflate_plan *plan,
                             hr_error *error)
{
    int64_t packed = 0;
    for (int32_t i = 0; i < plan->count; i++) {
        hr_inflate_chunk chunk = chunk_at(a, size, i, packed);
        if (chunk.from < 0 || chunk.size < 0 || chunk.from > size || chunk.size > size - chunk.from)
            return hr_fail(error, HR_STATUS_ERROR,
                           "chunk %d has the offset %lld and the size %lld, but the input has %lld "
                           "bytes",
                           i, (long long)chunk.from, (long long)chunk.size, (long long)size);
        plan->chunks[i] = chunk;
        packed += chunk.size;
    }
    return HR_STATUS_OK;
}

/* Describes the output and sets the size of an inflated chunk. */
static hr_status describe(const inflate_args *a, hr_inflate_plan *plan, bool chunked,
                          hr_tensor *out, hr_error *error)
{
    char layout[HR_MAX_NDIM + 2] = "";
    size_t given = strlen(a->layout), volume = 0;
    int32_t ndim = a->shape.n + chunked;
    hr_shape shape = {.ndim = ndim};
    if (a->shape.n < 1 || ndim > HR_MAX_NDIM)
        return hr_fail(error, HR_STATUS_ERROR, "`shape` has %d dimensions; it must have 1 .. %d",
                       a->shape.n, HR_MAX_NDIM - chunked);
    if (given > 0 && given != (size_t)a->shape.n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "the layout \"%s\" does not fit a `shape` of %d dimensions", a->layout,
                       a->shape.n);
    for (int32_t i = 0; i < a->shape.n; i++) {
        if (a->shape.v[i] < 0)
            return hr_fail(error, HR_STATUS_ERROR, "`shape` has the negative extent %d",
                           a->shape.v[i]);
        shape.extent[i + chunked] = a->shape.v[i];
    }
    shape.extent[0] = chunked ? plan->count : shape.extent[0];
    if (!hr_shape_volume(&shape, &volume) || volume > INT64_MAX / 8)
        return hr_fail(error, HR_STATUS_ERROR, "the output is too large");
    plan->inflated = (int64_t)(volume / (size_t)HR_MAX(plan->count, 1) * hr_dtype_size(a->dtype));
    if (given > 0) {
        layout[0] = chunked ? a->sequence_axis_name[0] : '\0';
        strcpy(layout + chunked, a->layout);
    }
    hr_tensor_describe(out, (hr_dtype)a->dtype, shape, layout[0] ? layout : NULL);
    return HR_STATUS_OK;
}

static hr_status inflate_infer(hr_op_call *c, hr_error *error)
{
    const inflate_args *a = c->args;
    const hr_tensor *in = &c->in[0];
    const hr_ints *offsets = &a->chunk_offsets, *sizes = &a->chunk_sizes;
    bool chunked = offsets->v || sizes->v;
    if (in->shape.ndim != 1 || in->dtype != HR_DTYPE_UINT8)
        return hr_fail(error, HR_STATUS_ERROR, "the input must be 1-D UINT8");
    if (offsets->v && sizes->v && offsets->n != sizes->n)
        return hr_fail(error, HR_STATUS_ERROR,
                       "`chunk_offsets` has %d elements, but `chunk_sizes` has %d", offsets->n,
                       sizes->n);
    int32_t count = !chunked ? 1 : offsets->v ? offsets->n : sizes->n;
    hr_inflate_plan *plan = hr_arena_alloc(c->arena, sizeof(*plan), error);
    HR_TRY_ALLOC(plan);
    *plan = (hr_inflate_plan){.format = format_of(a->algorithm), .count = count};
    plan->chunks = hr_arena_alloc(c->arena, (size_t)count * sizeof(*plan->chunks), error);
    HR_TRY_ALLOC(plan->chunks);
    HR_TRY(find_chunks(a, in->shape.extent[0], plan, error));
    c->memo = plan;
    return describe(a, plan, chunked, &c->out[0], error);
}

/* Returns `size`, or another number if the data is damaged or inflates to another size. */
static int64_t zlib_inflate(hr_inflate_format format, const uint8_t *from, int64_t coded,
                            uint8_t *to, int64_t size)
{
    uint8_t none; /* zlib wants room even for nothing */
    hr_deflate kind = format == HR_INFLATE_GZIP ? HR_DEFLATE_GZIP : HR_DEFLATE_ZLIB;
    if (format != HR_INFLATE_DEFLATE && hr_inflate(kind, from, (size_t)coded, to, (size_t)size))
        return size;
    z_stream z = {.next_in = (Bytef *)(uintptr_t)from, .next_out = size > 0 ? to : &none};
    int window = format == HR_INFLATE_DEFLATE ? -15 : format == HR_INFLATE_ZLIB ? 15 : 31;
    if (inflateInit2(&z, window) != Z_OK)
        return -1;
    int code = Z_OK;
    while (code == Z_OK) { /* its counters are 32-bit */
        int64_t in = HR_MIN(coded - (z.next_in - from), INT_MAX);
        int64_t room = size > 0 ? HR_MIN(size - (z.next_out - to), INT_MAX) : 0;
        z.avail_in = (uInt)in;
        z.avail_out = (uInt)room;
        code = inflate(&z, Z_NO_FLUSH);
    }
    int64_t done = size > 0 ? z.next_out - to : 0;
    inflateEnd(&z);
    return code == Z_STREAM_END ? done : -1;
}

static hr_status inflate_chunk(const hr_inflate_plan *plan, const hr_op_call *c, int64_t i,
                               hr_error *error)
{
    const hr_inflate_chunk *chunk = &plan->chunks[i];
    const uint8_t *from = (const uint8_t *)c->in[0].data + chunk->from;
    uint8_t *to = (uint8_t *)c->out[0].data + i * plan->inflated;
    int64_t done = plan->format == HR_INFLATE_LZ4
                       ? lz4_inflate(from, chunk->size, to, plan->inflated)
                       : zlib_inflate(plan->format, from, chunk->size, to, plan->inflated);
    if (done == plan->inflated)
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_CORRUPT,
                   "chunk %lld of %lld bytes is damaged, or does not inflate to the %lld bytes of "
                   "`shape`",
                   (long long)i, (long long)chunk->size, (long long)plan->inflated);
}

static hr_status inflate_run(hr_op_call *c, hr_error *error)
{
    const hr_inflate_plan *plan = c->memo;
    for (int64_t i = 0; i < plan->count; i++)
        HR_TRY(inflate_chunk(plan, c, i, error));
    return HR_STATUS_OK;
}

const hr_op_def hr_op_decoders_inflate = {
    HR_OP("decoders.inflate"),
    .doc = "Decompresses samples: 1-D UINT8 to the given shape and type. A sample can consist of "
           "several chunks that inflate to the same shape; then they form the first axis of the "
           "output. On the CPU, data that is damaged or has another size is an error; on a GPU, "
           "the rest of its output is 0.",
    .aliases = (const char *const[]){"experimental.inflate", NULL},
    .devices = "gpu",
    HR_ARGS(inflate_args,
            HR_ARG(inflate_args, shape, INTS,
                   HR_ARG_REQUIRED | HR_ARG_PER_SAMPLE | HR_ARG_SCALAR_OK, NULL,
                   "Shape of an inflated chunk."),
            HR_ARG(inflate_args, dtype, DTYPE, 0, "UINT8", "Type of the output."),
            HR_ARG(inflate_args, algorithm, STRING, 0, "\"LZ4\"",
                   "\"LZ4\" (blocks without a frame). Not in DALI: \"deflate\" (without a header), "
                   "\"zlib\" and \"gzip\", on the CPU.",
                   .choices = "LZ4|deflate|zlib|gzip"),
            HR_ARG(inflate_args, chunk_offsets, INTS, CHUNKS, NULL,
                   "Where the chunks begin, in bytes. Without `chunk_sizes` each chunk ends where "
                   "the next one begins, and the last one with the sample."),
            HR_ARG(inflate_args, chunk_sizes, INTS, CHUNKS, NULL,
                   "Sizes of the chunks, in bytes. Without `chunk_offsets` they follow one another "
                   "from the beginning of the sample."),
            HR_ARG(inflate_args, layout, LAYOUT, 0, "\"\"", "Layout of an inflated chunk."),
            HR_ARG(inflate_args, sequence_axis_name, LAYOUT, 0, "\"F\"",
                   "Letter of the chunks' axis in the layout of the output."),
            HR_ARG_ACCEPT(check_output_size, BOOL, "False", "Accepted: sizes are always checked.")),
    .in = HR_INPUTS({.name = "input"}),
    .check = inflate_check,
    .infer = inflate_infer,
    .run = inflate_run,
};
