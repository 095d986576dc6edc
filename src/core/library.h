/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Modules: shared libraries of ours that are opened on first need. A module exports one function,
 * which returns its table. */
#pragma once

#include "headrace/headrace.h"

typedef struct hr_library {
    const char *name; /* "CUDA module", for messages */
    const char *file; /* its name in the folder of this library */
    /* Another folder to look in, relative to that one: of a package of its own. May be NULL. */
    const char *folder;
    const char *variable; /* an environment variable that names another file */
    const char *entry;    /* the function that returns the table */
    const char *advice;   /* what to do if it cannot be opened; may be NULL */
    uint32_t abi, size;   /* what the first two fields of the table, both uint32_t, must contain */
} hr_library;

/* *entry: the address of the function. A module stays open to the end of the process, and opening
 * it again is cheap. */
hr_status hr_library_open(const hr_library *library, void **entry, hr_error *error);
/* Whether the table that the function returned is one that this library can use. */
hr_status hr_library_check(const hr_library *library, const void *table, hr_error *error);
