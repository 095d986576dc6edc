/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Profiles of AWS: ~/.aws/config and ~/.aws/credentials, or the files that AWS_CONFIG_FILE and
 * AWS_SHARED_CREDENTIALS_FILE name. */
#pragma once

#include "remote/credentials.h"

enum { HR_PROFILE_PATH_SIZE = 4096, HR_PROFILE_NAME_SIZE = 256 };

/* What a profile says; "" where it says nothing. Large: not on a stack. */
typedef struct hr_profile {
    char name[HR_PROFILE_NAME_SIZE];
    bool exists;
    bool too_long; /* a value did not fit, or has control characters */
    hr_credentials keys;
    char role[2048], session_name[128], external_id[1280], duration[16], mfa[256];
    char source_profile[HR_PROFILE_NAME_SIZE], source[64]; /* who assumes the role */
    char web_token_file[HR_PROFILE_PATH_SIZE];
    char sso_session[HR_PROFILE_NAME_SIZE], sso_url[1024], sso_region[64], sso_account[64];
    char sso_role[256];
    char process[HR_PROFILE_PATH_SIZE];
} hr_profile;

/* Reads a profile. One that does not exist is empty. */
hr_status hr_profile_read(hr_profile *out, const char *name, hr_error *error);
/* Reads the one that AWS_PROFILE names, or "default". */
hr_status hr_profile_read_chosen(hr_profile *out, hr_error *error);
bool hr_profile_uses_sso(const hr_profile *p);

/* Reads a small local file as text; free it with hr_free. */
hr_status hr_small_file(const char *path, size_t most, char **text, hr_error *error);
const char *hr_env(const char *name); /* "" if it is not set */
/* The server and the region that the environment chooses, or else the profile ("" if it was not
 * read); "": none. `variable`: that of the service, which counts before AWS_ENDPOINT_URL. */
const char *hr_chosen_endpoint(const char *variable, const char *profile);
const char *hr_chosen_region(const char *profile);
