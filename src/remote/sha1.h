/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* SHA-1 (FIPS 180-4), for names of files that another program has chosen. It protects nothing. */
#pragma once

#include <stddef.h>

enum { HR_SHA1_SIZE = 20 };

void hr_sha1_hex(const void *data, size_t size, char hex[2 * HR_SHA1_SIZE + 1]);
