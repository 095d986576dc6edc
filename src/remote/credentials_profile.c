/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/credentials_profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/credentials_parse.h"
#include "remote/url.h"
#include "io/storage.h"

#define FILE_MOST ((size_t)1 << 20) /* bytes of a file with profiles */

const char *hr_env(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

const char *hr_chosen_endpoint(const char *variable, const char *profile)
{
    const char *chosen = hr_env(variable);
    chosen = chosen[0] ? chosen : hr_env("AWS_ENDPOINT_URL");
    return chosen[0] ? chosen : profile;
}

const char *hr_chosen_region(const char *profile)
{
    const char *chosen = hr_env("AWS_REGION");
    chosen = chosen[0] ? chosen : hr_env("AWS_DEFAULT_REGION");
    chosen = chosen[0] ? chosen : profile;
    return hr_region_good(chosen) ? chosen : "";
}

hr_status hr_small_file(const char *path, size_t most, char **text, hr_error *error)
{
    hr_object *object;
    if (!path[0] || strstr(path, "://"))
        return hr_fail(error, HR_STATUS_IO, "is not a local file");
    HR_TRY(hr_object_open(&object, NULL, path, NULL, error));
    hr_status status = HR_STATUS_OK;
    size_t size = (size_t)object->size;
    *text = NULL;
    if (object->size > (int64_t)most)
        status = hr_fail(error, HR_STATUS_LIMIT, "has %zu bytes; at most %zu are read", size, most);
    else if (!(*text = hr_calloc(size + 1, 1, error)))
        status = HR_STATUS_NO_MEMORY;
    else
        status = hr_object_read(object, 0, size, *text, NULL, NULL, error);
    hr_object_close(object);
    if (status != HR_STATUS_OK)
        hr_free(*text);
    return status;
}

static void profile_key(void *context, const char *key, const char *value)
{
    hr_profile *p = context;
    hr_credentials *c = &p->keys;
    const struct {
        const char *key;
        char *to;
        size_t size;
    } keys[] = {{"aws_access_key_id", c->access_key, sizeof(c->access_key)},
                {"aws_secret_access_key", c->secret_key, sizeof(c->secret_key)},
                {"aws_session_token", c->token, sizeof(c->token)},
                {"region", c->region, sizeof(c->region)},
                {"endpoint_url", c->endpoint, sizeof(c->endpoint)},
                {"role_arn", p->role, sizeof(p->role)},
                {"role_session_name", p->session_name, sizeof(p->session_name)},
                {"external_id", p->external_id, sizeof(p->external_id)},
                {"duration_seconds", p->duration, sizeof(p->duration)},
                {"mfa_serial", p->mfa, sizeof(p->mfa)},
                {"source_profile", p->source_profile, sizeof(p->source_profile)},
                {"credential_source", p->source, sizeof(p->source)},
                {"web_identity_token_file", p->web_token_file, sizeof(p->web_token_file)},
                {"sso_session", p->sso_session, sizeof(p->sso_session)},
                {"sso_start_url", p->sso_url, sizeof(p->sso_url)},
                {"sso_region", p->sso_region, sizeof(p->sso_region)},
                {"sso_account_id", p->sso_account, sizeof(p->sso_account)},
                {"sso_role_name", p->sso_role, sizeof(p->sso_role)},
                {"credential_process", p->process, sizeof(p->process)}};
    p->exists = true;
    for (size_t i = 0; i < HR_COUNT_OF(keys); i++)
        if (strcmp(key, keys[i].key) == 0 && !hr_credentials_copy(keys[i].to, keys[i].size, value))
            p->too_long = true;
}

/* A file that is not there has no profiles. */
static void read_file(hr_profile *p, const char *variable, const char *name, const char *section)
{
    char path[HR_PROFILE_PATH_SIZE], *text;
    const char *chosen = hr_env(variable);
    int n = chosen[0] ? snprintf(path, sizeof(path), "%s", chosen)
                      : snprintf(path, sizeof(path), "%s/.aws/%s", hr_env("HOME"), name);
    if (n <= 0 || (size_t)n >= sizeof(path) ||
        hr_small_file(path, FILE_MOST, &text, NULL) != HR_STATUS_OK)
        return;
    hr_ini_read(text, section, profile_key, p);
    hr_free(text);
}

/* The keys that profiles with the same sso_session share. */
static void read_sso_session(hr_profile *p)
{
    char section[HR_PROFILE_NAME_SIZE + 32];
    bool exists = p->exists;
    snprintf(section, sizeof(section), "sso-session %s", p->sso_session);
    read_file(p, "AWS_CONFIG_FILE", "config", section);
    p->exists = exists;
}

hr_status hr_profile_read(hr_profile *out, const char *name, hr_error *error)
{
    char section[HR_PROFILE_NAME_SIZE + 32];
    *out = (hr_profile){0};
    if (!hr_credentials_copy(out->name, sizeof(out->name), name))
        return hr_fail(error, HR_STATUS_LIMIT, "the name of the AWS profile is too long");
    snprintf(section, sizeof(section), "%s%s", strcmp(name, "default") ? "profile " : "", name);
    read_file(out, "AWS_CONFIG_FILE", "config", section);
    read_file(out, "AWS_SHARED_CREDENTIALS_FILE", "credentials", name);
    if (out->sso_session[0])
        read_sso_session(out);
    return out->too_long ? hr_fail(error, HR_STATUS_LIMIT,
                                   "a value in the AWS profile '%s' is too long", name)
                         : HR_STATUS_OK;
}

hr_status hr_profile_read_chosen(hr_profile *out, hr_error *error)
{
    const char *name = hr_env("AWS_PROFILE");
    return hr_profile_read(out, name[0] ? name : "default", error);
}

bool hr_profile_uses_sso(const hr_profile *p)
{
    return p->sso_session[0] || p->sso_url[0] || p->sso_account[0];
}
