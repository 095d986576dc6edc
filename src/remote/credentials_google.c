/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* The login of `gcloud auth application-default login`: a file with a token that other tokens are
 * asked for with. */
#include <stdio.h>
#include <string.h>

#include "remote/credentials_fetch.h"
#include "remote/credentials_parse.h"
#include "remote/url.h"

#define FILE_MOST ((size_t)64 << 10)
#define SERVER "https://oauth2.googleapis.com/token"

/* The name of the file; "": there is none. `*chosen`: by the user, not by gcloud. */
static const char *file_name(char *room, size_t size, bool *chosen)
{
    const char *name = hr_env("GOOGLE_APPLICATION_CREDENTIALS"), *home = hr_env("HOME");
    const char *folder = hr_env("CLOUDSDK_CONFIG");
    *chosen = name[0] != 0;
    if (*chosen)
        return name;
    if (!folder[0] && !home[0])
        return "";
    int n = snprintf(room, size, "%s%s/application_default_credentials.json",
                     folder[0] ? folder : home, folder[0] ? "" : "/.config/gcloud");
    return n > 0 && (size_t)n < size ? room : "";
}

/* Whether a secret may be sent there: the file says where, and a plain connection is one to this
 * machine. */
static bool is_safe(const char *url)
{
    static const char *const local[] = {"http://127.0.0.1:", "http://localhost:", "http://[::1]:"};
    for (size_t i = 0; i < HR_COUNT_OF(local); i++)
        if (strncmp(url, local[i], strlen(local[i])) == 0)
            return true;
    return strncmp(url, "https://", 8) == 0;
}

static hr_status ask(hr_credentials *out, const hr_google_login *login, hr_cancel *cancel,
                     hr_error *error)
{
    const char *url = login->server[0] ? login->server : SERVER;
    char id[3 * sizeof(login->id)], secret[3 * sizeof(login->secret)];
    char token[3 * sizeof(login->token)], fields[sizeof(id) + sizeof(secret) + sizeof(token) + 128];
    if (!is_safe(url))
        return hr_fail(error, HR_STATUS_VALUE, "its token_uri must be https");
    if (!hr_url_escape(login->id, false, id, sizeof(id)) ||
        !hr_url_escape(login->secret, false, secret, sizeof(secret)) ||
        !hr_url_escape(login->token, false, token, sizeof(token)))
        return hr_fail(error, HR_STATUS_LIMIT, "it is too long");
    snprintf(fields, sizeof(fields),
             "grant_type=refresh_token&client_id=%s&client_secret=%s&refresh_token=%s", id, secret,
             token);
    const hr_question q = {.url = url, .content = fields};
    char *answer;
    HR_TRY(hr_question_ask(&q, &answer, cancel, error));
    hr_status status = hr_credentials_parse(out, HR_ANSWER_GOOGLE, answer, error);
    hr_free(answer);
    return status;
}

static hr_status refuse(const hr_google_login *login, hr_error *error)
{
    return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                   "the credentials are of the type '%s', and only 'authorized_user' can be used "
                   "directly; pass those of google.auth.default() as storage_options={\"gs\": ...}",
                   login->type);
}

hr_status hr_fetch_google_login(hr_credentials *out, bool *found, hr_cancel *cancel,
                                hr_error *error)
{
    char room[1024], *text = NULL;
    bool chosen;
    const char *name = file_name(room, sizeof(room), &chosen);
    *found = false;
    if (!name[0])
        return HR_STATUS_OK;
    hr_google_login *login = hr_calloc(1, sizeof(*login), error);
    hr_status status = login ? hr_small_file(name, FILE_MOST, &text, error) : HR_STATUS_NO_MEMORY;
    if (status == HR_STATUS_OK)
        status = hr_google_login_parse(login, text, error);
    bool ours = status == HR_STATUS_OK && strcmp(login->type, "authorized_user") == 0;
    if (ours)
        status = ask(out, login, cancel, error);
    else if (status == HR_STATUS_OK && chosen)
        status = refuse(login, error);
    else if (!chosen && status != HR_STATUS_NO_MEMORY)
        status = HR_STATUS_OK; /* gcloud's own file: not there, or not a login */
    *found = ours;
    hr_free(text);
    hr_free(login);
    if (status != HR_STATUS_OK && error)
        hr_error_prefix(error, "%s",
                        chosen ? "GOOGLE_APPLICATION_CREDENTIALS" : "the login of gcloud");
    return status;
}
