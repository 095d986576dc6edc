/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Objects that stay open because many spans are in them: the shards of a dataset. Any thread. */
#pragma once

#include "io/storage.h"

typedef struct hr_open_files hr_open_files;
typedef struct hr_open_file hr_open_file; /* an object that stays open */

/* `limit`: how many objects stay open while nobody reads them. */
hr_status hr_open_files_create(hr_open_files **out, int32_t limit, hr_error *error);
void hr_open_files_destroy(hr_open_files *files); /* nothing is borrowed any more; NULL is fine */
/* The object of a span. With `keep_open` it is open already, or remains open for later spans; the
 * span's strings must then live as long as `files`: spans are of one file if their strings are at
 * the same addresses. `*file` is NULL without `keep_open`. Give both back with hr_open_files_put.
 * `direct`: reads bypass the page cache, if possible; always the same for one file. `place`: see
 * hr_storage.open; not used with `keep_open`. */
hr_status hr_open_files_get(hr_open_files *files, const hr_span *span, bool direct,
                            const hr_place *place, hr_cancel *cancel, hr_object **out,
                            hr_open_file **file, hr_error *error);
void hr_open_files_put(hr_object *object, hr_open_file *file); /* takes no lock */
