/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Signatures of requests to S3 and STS: AWS Signature Version 4. libcurl can sign, too, but not all
 * of its versions sign queries and session tokens as S3 expects. */
#pragma once

#include <time.h>

#include "remote/credentials.h"
#include "remote/net.h"

/* SHA-256 of no bytes: the body of a GET. */
#define HR_SHA256_NOTHING "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

enum { HR_SIGV4_SIZE = 512 };

/* A GET without a body. `path` and `query` are escaped, and the parameters are in order. */
typedef struct hr_sigv4 {
    const char *host, *path, *query;
    const char *range;            /* the value of the header, or NULL */
    const char *region, *service; /* "s3" */
    const char *access_key, *secret_key;
    const char *token; /* of a session, or NULL */
    time_t now;
} hr_sigv4;

/* Writes the values of the headers x-amz-date and Authorization. The request also has to have
 * x-amz-content-sha256, which is HR_SHA256_NOTHING. */
void hr_sigv4_sign(const hr_sigv4 *s, char date[17], char authorization[HR_SIGV4_SIZE]);
/* Adds all headers of the signature to a request; sets keys and time in `s`. */
hr_status hr_sigv4_add(hr_net_call *call, const hr_credentials *c, hr_sigv4 *s, hr_error *error);
