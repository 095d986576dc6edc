/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Formats of images that no codec reads, for messages. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* "AVIF"; NULL: the bytes are of no format that is known here. */
const char *hr_image_foreign(const uint8_t *bytes, size_t size);
