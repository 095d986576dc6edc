/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Azure's Blob storage: which account, and how requests to it are signed (Shared Key, a shared
 * access signature, a bearer token). */
#pragma once

#include <time.h>

#include "remote/credentials.h"
#include "remote/net.h"

enum { HR_AZURE_ACCOUNT_SIZE = 64, HR_AZURE_SIGNATURE_SIZE = 160 };

/* The account that the environment names, and its server. */
hr_status hr_azure_server(char account[HR_AZURE_ACCOUNT_SIZE], char *endpoint, size_t size,
                          hr_error *error);
/* Those of the environment: a key, a SAS, or nothing. */
hr_status hr_azure_credentials(hr_credentials *out, hr_error *error);

/* A GET without a body. `path` is escaped, as in the URL. */
typedef struct hr_azure_request {
    const char *account, *path;
    const char *query; /* escaped, with its parameters in order; or "" */
    const char *range; /* the value of the header, or NULL */
} hr_azure_request;

/* Writes the values of the headers x-ms-date and Authorization. Fails if the key is not base64. */
hr_status hr_azure_sign(const hr_azure_request *r, const char *key, time_t now, char date[30],
                        char authorization[HR_AZURE_SIGNATURE_SIZE], hr_error *error);
/* Adds all headers to a request. A SAS is not a header: the caller adds it to the URL. */
hr_status hr_azure_add(hr_net_call *call, const hr_azure_request *r, const hr_credentials *c,
                       hr_error *error);
/* Whether a token is a SAS, and not a bearer. */
bool hr_azure_is_sas(const char *token);
