/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Exact read-ahead: the order of an indexed source is known, so its files are asked for before a
 * worker needs them. A few threads read in the order of asking, bounded in bytes; a worker that
 * comes before they do reads itself. As long as all files turn out to be in memory already, reading
 * is copying, and only threads that have a CPU to spare read ahead. */
#ifndef HR_IO_READAHEAD_H
#define HR_IO_READAHEAD_H

#include "core/core.h"

typedef struct hr_readahead hr_readahead;
typedef struct hr_read hr_read; /* one request, owned by whoever asked until taken or dropped */

typedef struct hr_readahead_stats {
    int64_t files, bytes, read_ns; /* all reads, whoever did them */
    int64_t own_reads;             /* reads that a worker did because none was ahead of it */
    int64_t cached;                /* reads of what was in memory already */
    int64_t peak_bytes;            /* the most held ahead */
} hr_readahead_stats;

/* At most `limit` bytes are held ahead (a single larger file passes alone). `spare` of the threads
 * have a CPU to themselves. `stall_us` > 0 delays every read: tests. */
hr_status hr_readahead_create(hr_readahead **out, hr_pool *pool, size_t limit, int32_t threads,
                              int32_t spare, int64_t stall_us, hr_error *error);
/* Ends all waiting, before the workers are joined: no read begins any more, and taking what is not
 * there yet fails with HR_STATUS_STATE. Any thread. */
void hr_readahead_cancel(hr_readahead *ra);
/* All requests must have been taken or dropped. */
void hr_readahead_destroy(hr_readahead *ra);
/* `span` is copied but its strings are borrowed until the request ends. */
hr_status hr_readahead_ask(hr_readahead *ra, const hr_span *span, hr_read **out, hr_error *error);
/* Requests asked for since the last start may wait until this is called (or until they are taken).
 */
void hr_readahead_start(hr_readahead *ra);
/* Waits for the bytes (or reads them now) and ends the request. `*waited_ns` is the time spent
 * here. */
hr_status hr_readahead_take(hr_readahead *ra, hr_read *read, hr_buffer **out, int64_t *waited_ns,
                            hr_error *error);
void hr_readahead_drop(hr_readahead *ra, hr_read *read);
void hr_readahead_stats_get(hr_readahead *ra, hr_readahead_stats *out);
int64_t hr_clock_ns(void); /* monotonic */

#endif
