/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Walking over UTF-8. */
#ifndef HR_CORE_UTF8_H
#define HR_CORE_UTF8_H

#include <stddef.h>

/* Bytes of the character that `text` begins with; 0 when its first byte begins none (overlong forms
 * and surrogates are none) or `size` is 0. */
size_t hr_utf8_length(const char *text, size_t size);

#endif
