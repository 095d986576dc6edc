/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Walking over UTF-8. */
#pragma once

#include <stddef.h>

/* Bytes of the character at the start of `text`; 0 if `size` is 0 or there is no valid character.
 * Overlong forms and surrogates are not valid. */
size_t hr_utf8_length(const char *text, size_t size);
