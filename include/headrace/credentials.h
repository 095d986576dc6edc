/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Credentials for object storage that the program has. */
#ifndef HEADRACE_CREDENTIALS_H
#define HEADRACE_CREDENTIALS_H

#include "headrace/headrace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Credentials of a service of object storage; strings that are not needed are "". */
typedef struct hr_secrets {
    char access_key[160], secret_key[200]; /* of S3, or an HMAC key of Google's; the key of an
                                              account of Azure's is the secret key */
    char token[4096]; /* of a session of S3; a bearer of Google's or Azure's; a SAS of Azure's */
    int64_t expires;  /* seconds since 1970; 0: unknown, and it is asked again after a minute */
} hr_secrets;

/* Sets `out`, which is all zero; left like that, requests are not signed. Called by any thread, one
 * at a time, with no lock of the library held. */
typedef hr_status (*hr_secrets_fn)(void *context, hr_secrets *out, hr_error *error);

/* From now on, the program gives the credentials for all URIs of a scheme ("s3", "gs" or "az"), in
 * this process and in children that it forks. `ask` NULL: no longer. `release`, which may be NULL,
 * is called with the context when nothing uses it any more. */
HR_API hr_status hr_credentials_provide(const char *scheme, hr_secrets_fn ask, void *context,
                                        void (*release)(void *context), hr_error *error);

#ifdef __cplusplus
}
#endif
#endif
