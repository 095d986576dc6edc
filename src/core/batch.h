/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Inside the library: making a batch before it is published. */
#ifndef HR_CORE_BATCH_H
#define HR_CORE_BATCH_H

#include "core/error.h"

/* `count` zeroed tensors with one reference. The batch owns one reference to the buffer of every
 * tensor that has one, given up with the last reference to the batch. */
hr_status hr_batch_alloc(hr_batch **out, int32_t count, hr_error *error);
/* The tensors, to be written before the batch is published. */
hr_tensor *hr_batch_tensors(hr_batch *batch);
/* Drops the last tensors (and their references to buffers), so that `count` stay. Before
 * publishing. */
void hr_batch_truncate(hr_batch *batch, int32_t count);
/* Copies the texts of source_info, which may be others', so that they live as long as the batch.
 * Once, before publishing. */
hr_status hr_batch_own_texts(hr_batch *batch, hr_error *error);
/* The last step before publishing: what others ask of a batch is found out here, and references of
 * all tensors to one buffer become one, so that taking and freeing the batch walks over nothing. */
void hr_batch_seal(hr_batch *batch);

#endif
