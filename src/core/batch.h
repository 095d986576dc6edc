/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal: making a batch before it is published. */
#pragma once

#include "core/error.h"

/* A batch of `count` zeroed tensors, with one reference. It owns one reference to the buffer of
 * every tensor that has one, and drops them with its own last reference. */
hr_status hr_batch_alloc(hr_batch **out, int32_t count, hr_error *error);
/* The tensors, writable until the batch is published. */
hr_tensor *hr_batch_tensors(hr_batch *batch);
/* Keeps the first `count` tensors and drops the others with their references. Before publishing. */
void hr_batch_truncate(hr_batch *batch, int32_t count);
/* Copies the tensors' source_info, so that the strings live as long as the batch. Once, before
 * publishing. */
hr_status hr_batch_own_texts(hr_batch *batch, hr_error *error);
/* The last step before publishing. Computes what readers of the batch ask for, and turns the
 * tensors' references to one buffer into a single reference, so that sharing and freeing the batch
 * does not visit every tensor. */
void hr_batch_seal(hr_batch *batch);
