/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Reads what files, programs and servers say about credentials. All of it is hostile. */
#pragma once

#include "remote/credentials.h"

/* Copies a text. False: it is too long, or has control characters, which do not belong in headers
 * and names. */
bool hr_credentials_copy(char *to, size_t size, const char *text);

/* Reads a section of an INI file: `found` is called for each key in it. Changes `text`. */
typedef void (*hr_ini_found)(void *context, const char *key, const char *value);
void hr_ini_read(char *text, const char *section, hr_ini_found found, void *context);

/* Seconds since 1970 of "2026-11-23T21:00:00Z", with an optional fraction, and with "UTC" or an
 * offset like "+01:00" for the Z. 0: it is something else. */
int64_t hr_credentials_time(const char *text);

/* Who answers. */
typedef enum hr_answer {
    HR_ANSWER_METADATA = 0, /* of a container or an instance of AWS */
    HR_ANSWER_PROCESS,      /* a program that a profile names */
    HR_ANSWER_SSO,          /* GetRoleCredentials */
    HR_ANSWER_STS,          /* AssumeRole and its like */
    HR_ANSWER_GOOGLE,       /* a token of Google's */
    HR_ANSWER_COUNT
} hr_answer;

/* Sets keys, token and expiry; the rest of `out` stays. */
hr_status hr_credentials_parse(hr_credentials *out, hr_answer kind, const char *text,
                               hr_error *error);

/* A token that `aws sso login` has stored. */
typedef struct hr_sso_token {
    char token[4096];
    int64_t expires;
} hr_sso_token;

hr_status hr_sso_token_parse(hr_sso_token *out, const char *text, hr_error *error);

/* What a file with credentials of Google's says; the rest is set for the type "authorized_user". */
typedef struct hr_google_login {
    char type[64], id[256], secret[256], token[2048];
    char server[512]; /* which gives tokens; or "" */
} hr_google_login;

hr_status hr_google_login_parse(hr_google_login *out, const char *text, hr_error *error);

/* Splits a command as a shell does, with quotes and backslashes but without expansions, in place.
 * `words` ends with NULL. False: too many words, no word, or an open quote. */
enum { HR_WORDS_MAX = 64 };
bool hr_words_split(char *text, char *words[HR_WORDS_MAX + 1]);
