/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Who asks: credentials for S3, for Google's storage and for Azure's, from the program or from the
 * places where their own tools look for them. */
#pragma once

#include "core/core.h"

typedef enum hr_service { HR_AMAZON = 0, HR_GOOGLE, HR_AZURE, HR_SERVICES } hr_service;

const char *hr_service_scheme(hr_service service); /* "s3" */

typedef struct hr_credentials {
    char access_key[160], secret_key[200]; /* "": requests are not signed */
    char token[4096]; /* of a session; a bearer of Google's or Azure's; a SAS of Azure's; or "" */
    char region[64], endpoint[512]; /* of the profile, or "" */
    int64_t expires;                /* seconds since 1970; 0: never */
} hr_credentials;

/* What the program gives, or else: S3: environment, profile (keys, role, SSO, process), web
 * identity, container, instance. Google: environment, login of gcloud, instance. Azure:
 * environment. Without any of them the strings are empty, and requests are not signed. They are
 * kept for a minute, or until shortly before they expire. */
hr_status hr_credentials_get(hr_service service, hr_credentials *out, hr_cancel *cancel,
                             hr_error *error);
/* Forgets credentials whose token a server has refused, if they are still those that are kept:
 * `token`, what was sent, ends with it. False: new ones cannot be had, as they come from the
 * environment, or have no token. */
bool hr_credentials_refresh(hr_service service, const char *token);
