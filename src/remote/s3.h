/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Requests to stores of objects: S3, servers with its interface, Google's storage, whose XML
 * interface is the same, and Azure's Blob storage, which differs in signatures and listings. */
#pragma once

#include "io/storage.h"
#include "remote/azure.h"
#include "remote/credentials.h"
#include "remote/net.h"
#include "remote/url.h"

enum { HR_S3_SERVER_SIZE = 640 };

/* A target: which object of which server. It is resolved once, so that all that is asked, signed
 * and kept of an object is of one server. */
typedef struct hr_s3 {
    hr_service service;
    char bucket[256];                    /* or the container */
    char account[HR_AZURE_ACCOUNT_SIZE]; /* of Azure's */
    char endpoint[520];                  /* "https://host", where it was chosen; "": Amazon's */
    char region[HR_REGION_SIZE];         /* as chosen; servers may name another one */
    char *key;                           /* as in the URI, not escaped */
} hr_s3;

/* Parses "s3://bucket/key", "gs://bucket/key" or "az://container/blob", and looks into the
 * environment and the profile for the server. */
hr_status hr_s3_init(hr_s3 *out, const char *uri, hr_error *error);
void hr_s3_fini(hr_s3 *s3);
/* Describes the server in a key of a cache: the URI does not name it. */
void hr_s3_server(const hr_s3 *s3, char out[HR_S3_SERVER_SIZE]);

/* Sets the URL of a request, in `url` (HR_URL_SIZE bytes), and adds its signature. `key` may be
 * "" and `query` is escaped, with its parameters in order; `range` is a header's value or NULL. */
hr_status hr_s3_sign(const hr_s3 *s3, hr_net_call *call, char *url, const char *key,
                     const char *query, const char *range, hr_cancel *cancel, hr_error *error);
/* Describes a failure as hr_net_fail does, and says if there were no credentials. `*again`: another
 * attempt will be sent to the right region, or with new credentials. */
hr_status hr_s3_fail(const hr_s3 *s3, const hr_net_call *call, bool *again, hr_error *error);

/* Lists what is in the folder that the URI names. */
hr_status hr_s3_list(const char *uri, hr_listed_fn found, void *context, hr_cancel *cancel,
                     hr_error *error);

/* What an answer to ListObjectsV2 says, or to Azure's List Blobs. Names begin with `prefix`, and
 * others are left out. `next` (1024 bytes) gets the token of the next page, "" at the end. Changes
 * `text`. */
hr_status hr_s3_parse_list(hr_service service, char *text, const char *prefix, hr_listed_fn found,
                           void *context, char *next, hr_error *error);
