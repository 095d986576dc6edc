/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Names and texts as they may be shown. A URL can contain a password
 * ("https://user:password@host/") or be signed ("?X-Amz-Signature=..."), and whoever has it may
 * read the object. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Copies the text with "***" in place of the user info and of the query of each URL. At most `size`
 * bytes are written, with the end. `cut`: the text has lost its end, so that a part of a user info
 * may look like a host. A URL ends at a blank or a quote. */
void hr_shown_text(const char *text, bool cut, char *to, size_t size);

enum { HR_SHOWN_SIZE = 1024 };

/* The same for one name, which ends where it ends. Returns the name itself if it contains no
 * secret, otherwise `room`. What follows a query that is masked already is kept: a reader that adds
 * something to the name of a file masks the latter first. */
const char *hr_shown_name(const char *name, char *room, size_t size);
