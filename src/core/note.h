/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* What is known of the bytes of a buffer, kept with it. Any thread. */
#pragma once

#include "core/alloc.h"

typedef struct hr_note {
    uint64_t word[2];
} hr_note;

/* From now on, nobody writes into the buffer, so that notes about it stay true. */
void hr_buffer_settle(hr_buffer *buffer);
/* Keeps a note about `size` bytes at `data` until the memory is used for something else: the first
 * one, of a buffer that is settled. */
void hr_buffer_put_note(hr_buffer *buffer, const void *data, size_t size, hr_note note);
bool hr_buffer_get_note(const hr_buffer *buffer, const void *data, size_t size, hr_note *out);
