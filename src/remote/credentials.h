/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Who asks: credentials for S3 and for Google's storage, from the places where their own tools look
 * for them. */
#ifndef HR_REMOTE_CREDENTIALS_H
#define HR_REMOTE_CREDENTIALS_H

#include "core/core.h"

typedef struct hr_credentials {
    char access_key[160], secret_key[200]; /* "": requests are not signed */
    char token[4096];                      /* of a session, or of Google (a bearer); or "" */
    char region[64], endpoint[512];        /* of the profile, or "" */
    int64_t expires;                       /* seconds since 1970; 0: never */
} hr_credentials;

/* S3: environment, profile (keys, role, SSO, process), web identity, container, instance. Google:
 * environment, instance. Without any of them the strings are empty, and requests are not signed.
 * They are kept for a minute, or until shortly before they expire. */
hr_status hr_credentials_get(bool google, hr_credentials *out, hr_cancel *cancel, hr_error *error);
/* Forgets credentials whose token a server has refused, if they are still those that are kept.
 * False: new ones cannot be had, as they come from the environment, or have no token. */
bool hr_credentials_refresh(bool google, const char *token);

#endif
