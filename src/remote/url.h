/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Parts of the URLs of services that requests are signed for. */
#pragma once

#include "core/core.h"

enum { HR_REGION_SIZE = 64, HR_URL_SIZE = 6144 };

/* Escapes all but letters, digits, "-_.~" and, if `keep_slash`, "/". false: it does not fit. */
bool hr_url_escape(const char *text, bool keep_slash, char *to, size_t size);
/* The value of the header Host for a URL, and its path. Fails unless it is http or https. */
hr_status hr_url_host(const char *url, char host[512], const char **path, hr_error *error);
/* Takes an endpoint that somebody chose: without a slash at the end, and with "http://" if it has
 * no scheme. "" stays "". */
hr_status hr_url_base(char *base, size_t size, const char *endpoint, hr_error *error);
/* Whether the text can be the name of a region. */
bool hr_region_good(const char *text);
