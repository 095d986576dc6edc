/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Asks servers and programs for credentials. Each function sets keys, token and expiry; the rest of
 * `out` stays. */
#pragma once

#include "remote/credentials_profile.h"

bool hr_in_container(void); /* whether the environment names a server of the container */
hr_status hr_fetch_container(hr_credentials *out, hr_cancel *cancel, hr_error *error);
hr_status hr_fetch_instance(hr_credentials *out, hr_cancel *cancel, hr_error *error);
hr_status hr_fetch_google(hr_credentials *out, hr_cancel *cancel, hr_error *error);
/* A token for the login that GOOGLE_APPLICATION_CREDENTIALS names, or that of gcloud. `*found`:
 * there is one. */
hr_status hr_fetch_google_login(hr_credentials *out, bool *found, hr_cancel *cancel,
                                hr_error *error);

/* A role that is to be assumed: by who has a token in a file, or by who has other credentials. */
typedef struct hr_role {
    const char *arn;
    const char *session_name, *external_id, *duration; /* may be "" */
    const char *token_file;                            /* or NULL */
    const hr_credentials *source;                      /* if there is no token */
    const char *region, *endpoint;                     /* of the profile; may be "" */
} hr_role;

hr_status hr_fetch_role(hr_credentials *out, const hr_role *role, hr_cancel *cancel,
                        hr_error *error);
hr_status hr_fetch_sso(hr_credentials *out, const hr_profile *p, hr_cancel *cancel,
                       hr_error *error);
/* Runs a command without a shell, for at most a minute, and reads what it prints. */
hr_status hr_fetch_process(hr_credentials *out, const char *command, hr_cancel *cancel,
                           hr_error *error);

/* For the functions above: a question, whose answer is a small text (free it with hr_free). */
typedef struct hr_question {
    const char *method, *url;     /* NULL: GET, or POST if there is `content` */
    const char *header;           /* or NULL */
    const char *content;          /* the fields of a form, or NULL */
    const hr_credentials *signer; /* for STS; NULL: not signed */
    const char *query, *region;   /* of a signed question; the query is not in the URL */
    bool metadata;                /* the server is near, or not there at all */
} hr_question;

hr_status hr_question_ask(const hr_question *question, char **answer, hr_cancel *cancel,
                          hr_error *error);
