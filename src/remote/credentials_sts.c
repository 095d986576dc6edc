/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Roles that are assumed (STS), and roles of a single sign-on. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "remote/credentials_fetch.h"
#include "remote/credentials_parse.h"
#include "remote/sha1.h"
#include "remote/url.h"

#define TOKEN_FILE_MOST ((size_t)32 << 10) /* STS takes 20000 characters */
#define SSO_FILE_MOST ((size_t)64 << 10)

/* Writes "https://SERVICE.REGION.amazonaws.com/PATH", or the same of the endpoint that the variable
 * or the profile chose. */
static hr_status make_url(char *url, size_t size, const char *variable, const char *endpoint,
                          const char *service, const char *region, const char *path,
                          hr_error *error)
{
    char base[512], host[512];
    const char *unused;
    HR_TRY(hr_url_base(base, sizeof(base), hr_chosen_endpoint(variable, endpoint), error));
    int n = base[0] ? snprintf(url, size, "%s/%s", base, path)
                    : snprintf(url, size, "https://%s%s%s.amazonaws.com%s/%s", service,
                               region[0] ? "." : "", region,
                               strncmp(region, "cn-", 3) == 0 ? ".cn" : "", path);
    if (n < 0 || (size_t)n >= size)
        return hr_fail(error, HR_STATUS_LIMIT, "the endpoint is too long");
    return hr_url_host(url, host, &unused, error);
}

/* ---- roles ---- */

/* Adds "&NAME=VALUE" to the fields, with the value escaped. */
static hr_status add_field(char *fields, size_t size, const char *name, const char *value,
                           hr_error *error)
{
    size_t used = strlen(fields);
    int n = snprintf(fields + used, size - used, "%s%s=", used ? "&" : "", name);
    if (n > 0 && (size_t)n < size - used &&
        hr_url_escape(value, false, fields + used + n, size - used - (size_t)n))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT, "%s is too long", name);
}

/* The fields of AssumeRole, or of AssumeRoleWithWebIdentity, in the order that signatures need. */
static hr_status make_fields(const hr_role *r, const char *token, char *fields, size_t size,
                             hr_error *error)
{
    const char *session = r->session_name[0] ? r->session_name : "headrace";
    fields[0] = 0;
    HR_TRY(add_field(fields, size, "Action", token ? "AssumeRoleWithWebIdentity" : "AssumeRole",
                     error));
    if (r->duration[0])
        HR_TRY(add_field(fields, size, "DurationSeconds", r->duration, error));
    if (r->external_id[0] && !token)
        HR_TRY(add_field(fields, size, "ExternalId", r->external_id, error));
    HR_TRY(add_field(fields, size, "RoleArn", r->arn, error));
    HR_TRY(add_field(fields, size, "RoleSessionName", session, error));
    HR_TRY(add_field(fields, size, "Version", "2011-06-15", error));
    return token ? add_field(fields, size, "WebIdentityToken", token, error) : HR_STATUS_OK;
}

static hr_status ask_sts(hr_credentials *out, const hr_role *r, const char *token, char *fields,
                         size_t size, hr_cancel *cancel, hr_error *error)
{
    char url[1024], *answer;
    const char *region = hr_chosen_region(r->region);
    HR_TRY(
        make_url(url, sizeof(url), "AWS_ENDPOINT_URL_STS", r->endpoint, "sts", region, "", error));
    HR_TRY(make_fields(r, token, fields, size, error));
    const hr_question q = {.url = url,
                           .content = token ? fields : NULL,
                           .signer = token ? NULL : r->source,
                           .query = fields,
                           .region = region[0] ? region : "us-east-1"};
    HR_TRY(hr_question_ask(&q, &answer, cancel, error));
    hr_status status = hr_credentials_parse(out, HR_ANSWER_STS, answer, error);
    hr_free(answer);
    return status;
}

hr_status hr_fetch_role(hr_credentials *out, const hr_role *r, hr_cancel *cancel, hr_error *error)
{
    char *token = NULL;
    hr_status status = HR_STATUS_OK;
    if (r->token_file) {
        status = hr_small_file(r->token_file, TOKEN_FILE_MOST, &token, error);
        if (status != HR_STATUS_OK)
            return error ? hr_error_prefix(error, "the token in '%s'", r->token_file) : status;
        token[strcspn(token, "\r\n")] = 0;
    }
    size_t size = 3 * (strlen(r->arn) + (token ? strlen(token) : 0)) + 8192;
    char *fields = hr_calloc(size, 1, error);
    status = fields ? ask_sts(out, r, token, fields, size, cancel, error) : HR_STATUS_NO_MEMORY;
    hr_free(fields);
    hr_free(token);
    if (status != HR_STATUS_OK && error)
        hr_error_prefix(error, "the role %.200s cannot be assumed", r->arn);
    return status;
}

/* ---- single sign-on ---- */

static hr_status fail_login(const hr_profile *p, const char *what, hr_error *error)
{
    return hr_fail(error, HR_STATUS_IO, "%s; run `aws sso login --profile %s`", what, p->name);
}

/* The token that a login has left, in a file named after the session. */
static hr_status read_sso_token(const hr_profile *p, hr_sso_token *token, hr_error *error)
{
    char path[HR_PROFILE_PATH_SIZE], hex[2 * HR_SHA1_SIZE + 1], *text;
    const char *key = p->sso_session[0] ? p->sso_session : p->sso_url;
    hr_sha1_hex(key, strlen(key), hex);
    int n = snprintf(path, sizeof(path), "%s/.aws/sso/cache/%s.json", hr_env("HOME"), hex);
    if (n < 0 || (size_t)n >= sizeof(path) ||
        hr_small_file(path, SSO_FILE_MOST, &text, NULL) != HR_STATUS_OK)
        return fail_login(p, "nobody has logged in with it", error);
    hr_status status = hr_sso_token_parse(token, text, NULL);
    hr_free(text);
    if (status != HR_STATUS_OK)
        return fail_login(p, "the file of its login in ~/.aws/sso/cache is damaged", error);
    return token->expires > (int64_t)time(NULL) ? HR_STATUS_OK
                                                : fail_login(p, "its login has expired", error);
}

static hr_status ask_sso(hr_credentials *out, const hr_profile *p, const hr_sso_token *token,
                         hr_cancel *cancel, hr_error *error)
{
    char account[256], role[3 * sizeof(p->sso_role) + 1], path[1200], url[2048];
    char header[sizeof(token->token) + 64], *answer;
    if (!p->sso_account[0] || !p->sso_role[0] || !hr_region_good(p->sso_region) ||
        !hr_url_escape(p->sso_account, false, account, sizeof(account)) ||
        !hr_url_escape(p->sso_role, false, role, sizeof(role)))
        return hr_fail(error, HR_STATUS_VALUE,
                       "it needs sso_account_id, sso_role_name and sso_region");
    snprintf(path, sizeof(path), "federation/credentials?account_id=%s&role_name=%s", account,
             role);
    snprintf(header, sizeof(header), "x-amz-sso_bearer_token: %s", token->token);
    HR_TRY(make_url(url, sizeof(url), "AWS_ENDPOINT_URL_SSO", p->keys.endpoint, "portal.sso",
                    p->sso_region, path, error));
    HR_TRY(hr_question_ask(&(hr_question){.url = url, .header = header}, &answer, cancel, error));
    hr_status status = hr_credentials_parse(out, HR_ANSWER_SSO, answer, error);
    hr_free(answer);
    return status;
}

hr_status hr_fetch_sso(hr_credentials *out, const hr_profile *p, hr_cancel *cancel, hr_error *error)
{
    hr_sso_token *token = hr_calloc(1, sizeof(*token), error);
    if (!token)
        return HR_STATUS_NO_MEMORY;
    hr_status status = read_sso_token(p, token, error);
    if (status == HR_STATUS_OK) {
        status = ask_sso(out, p, token, cancel, error);
        if (status == HR_STATUS_IO && error && strstr(error->message, "HTTP 401"))
            status = fail_login(p, "the server does not accept its login any more", error);
    }
    hr_free(token);
    if (status != HR_STATUS_OK && error)
        hr_error_prefix(error, "the AWS profile '%s' uses SSO", p->name);
    return status;
}
