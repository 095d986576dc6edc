/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Large pieces of memory that arenas and buffers are cut from, 64-byte aligned. Those of 2 MiB and
 * more are mapped separately, in huge pages where the system has them. */
#pragma once

#include "core/error.h"

#define HR_BLOCK_HUGE ((size_t)2 << 20)
#define HR_BLOCK_PAGE ((size_t)4096)

/* `size` rounded up to a size that hr_block_alloc accepts; 0 on overflow. */
size_t hr_block_round(size_t size);
/* Not zeroed. `size` comes from hr_block_round; hr_block_free needs the same value. */
void *hr_block_alloc(size_t size, hr_error *error);
void hr_block_free(void *memory, size_t size);

/* Under AddressSanitizer, memory that is not lent is poisoned, so that any use is reported. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HR_ASAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define HR_ASAN 1
#endif
#ifdef HR_ASAN
#include <sanitizer/asan_interface.h>
#define HR_POISON(memory, size) __asan_poison_memory_region((memory), (size))
#define HR_UNPOISON(memory, size) __asan_unpoison_memory_region((memory), (size))
#define HR_REDZONE 64
#else
#define HR_POISON(memory, size) ((void)(memory), (void)(size))
#define HR_UNPOISON(memory, size) ((void)(memory), (void)(size))
#define HR_REDZONE 0
#endif
