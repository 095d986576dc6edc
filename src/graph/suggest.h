/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Internal to graph/: names that a misspelled one may have meant. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Writes '; did you mean "x"?' with the candidates that `name` resembles, or ""; returns `text`. */
const char *hr__suggest(const char *name, const char *const *candidates, int32_t count, char *text,
                        size_t size);
