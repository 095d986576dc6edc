/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Exact read-ahead: the order of an indexed source is known, so that its items are requested before
 * a worker needs them. A few threads read them in that order, up to a limit of bytes; they are
 * started when there is something to read, and end when there has been nothing for a while. A
 * worker reads a file itself if no thread has begun to. While all files are in the page cache,
 * reading is only copying, and only as many threads read ahead as there are spare CPUs. */
#pragma once

#include "core/core.h"
#include "kernels/hash.h"

typedef struct hr_readahead hr_readahead;
typedef struct hr_read hr_read; /* one request, owned by the caller until taken or dropped */

typedef struct hr_read_piece { /* where the bytes of a span are in the buffer of a request */
    size_t offset, size;
} hr_read_piece;

typedef struct hr_readahead_stats {
    int64_t files, bytes, read_ns; /* all reads, by threads and workers */
    int64_t own_reads;             /* reads by workers */
    int64_t cached;                /* reads of files in the page cache */
    int64_t peak_bytes;            /* the most held ahead */
} hr_readahead_stats;

/* At most `limit` bytes are held ahead, except for a single larger file. `threads`: the most that
 * read, unless the storage asks for more; 0: workers read. `spare`: how many of the
 * threads have a CPU to themselves. `stall_us` > 0 delays every read, for tests. */
hr_status hr_readahead_create(hr_readahead **out, hr_pool *pool, size_t limit, int32_t threads,
                              int32_t spare, int64_t stall_us, hr_error *error);
/* From now on, what is read into pinned memory gets a note with its hash. `keys` must live as long,
 * or is NULL: no hashes. The hash is computed while the bytes are in the CPU's caches: later,
 * reading them again would take as long as copying them. Call this before the first request. */
void hr_readahead_keys(hr_readahead *ra, const hr_hash_key *keys);
/* Ends all waiting, so that the workers can be joined: no new read begins, and taking an unfinished
 * request fails with HR_STATUS_STATE. Any thread. */
void hr_readahead_cancel(hr_readahead *ra);
/* All requests must have been taken or dropped. */
void hr_readahead_destroy(hr_readahead *ra);
/* Makes a request for the bytes of `count` spans, at least one. Their strings are borrowed until
 * the request ends. It is read when it is taken, or before if it is queued. `direct`: past the
 * system's page cache, if possible. */
hr_status hr_readahead_ask(const hr_span *spans, int32_t count, bool direct, hr_read **out,
                           hr_error *error);
/* Queues requests to be read ahead in this order; NULL is left out. */
void hr_readahead_queue(hr_readahead *ra, hr_read *const *reads, int32_t count);
/* Waits for the bytes, or reads them now, and ends the request. `pieces`: one per span.
 * `*waited_ns`: the time spent here. `arena`: for scratch memory. */
hr_status hr_readahead_take(hr_readahead *ra, hr_read *read, hr_arena *arena, hr_buffer **out,
                            hr_read_piece *pieces, int64_t *waited_ns, hr_error *error);
void hr_readahead_drop(hr_readahead *ra, hr_read *read); /* NULL is fine */
int32_t hr_readahead_count(const hr_read *read);         /* of its spans */
void hr_readahead_stats_get(hr_readahead *ra, hr_readahead_stats *out);
