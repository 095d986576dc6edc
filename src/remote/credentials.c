/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
/* Where credentials come from, and how long they are kept. */
#include "remote/credentials.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

#include "core/clock.h"
#include "core/hash.h"
#include "io/storage.h"
#include "remote/azure.h"
#include "remote/credentials_fetch.h"
#include "remote/credentials_given.h"
#include "remote/credentials_parse.h"

#define EARLY 300      /* seconds before they expire, new ones are fetched */
#define LASTS 60       /* seconds until files and metadata are read again */
#define PROFILES_MAX 5 /* that refer to one another */
#define WAIT_MS 50     /* how long a set `cancel` may go unnoticed */

/* What was found for each service. `lock` guards it. It is not held while somebody is asked, which
 * may be the program: then `asking` is set, and others wait for `answered`. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t answered;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    bool valid, asking;
    uint64_t key; /* of what chose them: the environment, or the program */
    int64_t until;
    hr_credentials credentials;
    int64_t failed_ns; /* when they were looked for in vain; 0: never */
    hr_error failure;
} kept[HR_SERVICES];

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    hr_cond_init(&answered);
    for (int32_t i = 0; i < HR_SERVICES; i++) {
        kept[i].valid = kept[i].asking = false;
        kept[i].failed_ns = 0;
    }
    hr_given_in_child();
}

static void prepare(void)
{
    hr_cond_init(&answered);
    pthread_atfork(NULL, NULL, in_child);
}

static bool any(const hr_credentials *c)
{
    return c->access_key[0] || c->token[0];
}

static void take_keys(hr_credentials *to, const hr_credentials *from)
{
    memcpy(to->access_key, from->access_key, sizeof(to->access_key));
    memcpy(to->secret_key, from->secret_key, sizeof(to->secret_key));
    memcpy(to->token, from->token, sizeof(to->token));
    to->expires = from->expires;
}

static hr_status from_environment(const char *id, const char *secret, const char *token,
                                  hr_credentials *out, hr_error *error)
{
    if (hr_credentials_copy(out->access_key, sizeof(out->access_key), id) &&
        hr_credentials_copy(out->secret_key, sizeof(out->secret_key), secret) &&
        hr_credentials_copy(out->token, sizeof(out->token), token))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "the credentials in the environment are too long or contain a line break");
}

static hr_status from_container(hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    hr_status status = hr_fetch_container(out, cancel, error);
    if (status != HR_STATUS_OK && error)
        hr_error_prefix(error, "the credentials of the container");
    return status;
}

/* ---- profiles ---- */

static hr_status from_profile(hr_credentials *out, const hr_profile *p, int32_t depth,
                              hr_cancel *cancel, hr_error *error);

static hr_status fail_profile(const hr_profile *p, const char *what, hr_error *error)
{
    return hr_fail(error, HR_STATUS_VALUE, "the AWS profile '%s' %s", p->name, what);
}

/* The credentials that assume the role: those of another profile, or of this one's own keys. */
static hr_status from_source_profile(hr_credentials *out, const hr_profile *p, int32_t depth,
                                     hr_cancel *cancel, hr_error *error)
{
    if (strcmp(p->source_profile, p->name) == 0) {
        take_keys(out, &p->keys);
        return HR_STATUS_OK;
    }
    if (depth == PROFILES_MAX)
        return fail_profile(p, "refers to too many others with source_profile", error);
    hr_profile *source = hr_calloc(1, sizeof(*source), error);
    if (!source)
        return HR_STATUS_NO_MEMORY;
    hr_status status = hr_profile_read(source, p->source_profile, error);
    if (status == HR_STATUS_OK && !source->exists)
        status = fail_profile(p, "has a source_profile that does not exist", error);
    if (status == HR_STATUS_OK)
        status = from_profile(out, source, depth + 1, cancel, error);
    hr_free(source);
    return status;
}

static hr_status from_source(hr_credentials *out, const hr_profile *p, int32_t depth,
                             hr_cancel *cancel, hr_error *error)
{
    if (p->source_profile[0])
        HR_TRY(from_source_profile(out, p, depth, cancel, error));
    else if (strcmp(p->source, "Environment") == 0)
        HR_TRY(from_environment(hr_env("AWS_ACCESS_KEY_ID"), hr_env("AWS_SECRET_ACCESS_KEY"),
                                hr_env("AWS_SESSION_TOKEN"), out, error));
    else if (strcmp(p->source, "EcsContainer") == 0)
        HR_TRY(from_container(out, cancel, error));
    else if (strcmp(p->source, "Ec2InstanceMetadata") == 0)
        HR_TRY(hr_fetch_instance(out, cancel, error));
    else
        return fail_profile(p,
                            "has a role_arn, but neither a source_profile, a "
                            "web_identity_token_file nor a credential_source that is known "
                            "(Environment, EcsContainer, Ec2InstanceMetadata)",
                            error);
    return out->access_key[0]
               ? HR_STATUS_OK
               : fail_profile(p, "has a role_arn, but its source has no credentials", error);
}

static hr_status assume_role(hr_credentials *out, const hr_profile *p, int32_t depth,
                             hr_cancel *cancel, hr_error *error)
{
    bool by_token = p->web_token_file[0] && !p->source_profile[0];
    hr_role role = {.arn = p->role,
                    .session_name = p->session_name,
                    .external_id = p->external_id,
                    .duration = p->duration,
                    .token_file = by_token ? p->web_token_file : NULL,
                    .region = out->region,
                    .endpoint = p->keys.endpoint};
    if (by_token)
        return hr_fetch_role(out, &role, cancel, error);
    if (p->mfa[0])
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "the AWS profile '%s' uses mfa_serial, which is not supported; set the "
                       "variables that `aws configure export-credentials --format env` prints",
                       p->name);
    hr_credentials *source = hr_calloc(1, sizeof(*source), error);
    if (!source)
        return HR_STATUS_NO_MEMORY;
    memcpy(source->region, out->region, sizeof(source->region));
    role.source = source;
    hr_status status = from_source(source, p, depth, cancel, error);
    if (status == HR_STATUS_OK)
        status = hr_fetch_role(out, &role, cancel, error);
    hr_free(source);
    return status;
}

/* Sets keys, token and expiry; nothing if the profile has no way to get them. */
static hr_status from_profile(hr_credentials *out, const hr_profile *p, int32_t depth,
                              hr_cancel *cancel, hr_error *error)
{
    if (p->role[0])
        return assume_role(out, p, depth, cancel, error);
    if (hr_profile_uses_sso(p))
        return hr_fetch_sso(out, p, cancel, error);
    if (!p->keys.access_key[0] && p->process[0])
        return hr_fetch_process(out, p->process, cancel, error);
    take_keys(out, &p->keys);
    return HR_STATUS_OK;
}

/* ---- the chain ---- */

static hr_status find_google(hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    const char *token = hr_env("CLOUDSDK_AUTH_ACCESS_TOKEN");
    token = token[0] ? token : hr_env("GOOGLE_OAUTH_ACCESS_TOKEN");
    if (hr_env("GS_ACCESS_KEY_ID")[0])
        return from_environment(hr_env("GS_ACCESS_KEY_ID"), hr_env("GS_SECRET_ACCESS_KEY"), "", out,
                                error);
    if (token[0])
        return from_environment("", "", token, out, error);
    bool found = false;
    HR_TRY(hr_fetch_google_login(out, &found, cancel, error));
    if (!found && !hr_env("NO_GCE_CHECK")[0])
        (void)hr_fetch_google(out, cancel, NULL);
    return HR_STATUS_OK;
}

/* What the machine gives to all of its programs. If there is no server of metadata, there are no
 * credentials, which is not an error: the requests are then not signed. A container says that it
 * has such a server, so one that does not answer is an error. */
static hr_status from_machine(hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    if (hr_in_container())
        return from_container(out, cancel, error);
    if (strcmp(hr_env("AWS_EC2_METADATA_DISABLED"), "true") != 0)
        (void)hr_fetch_instance(out, cancel, NULL);
    return HR_STATUS_OK;
}

static hr_status find_amazon(hr_credentials *out, const hr_profile *p, hr_cancel *cancel,
                             hr_error *error)
{
    memcpy(out->region, p->keys.region, sizeof(out->region)); /* used in any case */
    memcpy(out->endpoint, p->keys.endpoint, sizeof(out->endpoint));
    if (hr_env("AWS_ACCESS_KEY_ID")[0])
        return from_environment(hr_env("AWS_ACCESS_KEY_ID"), hr_env("AWS_SECRET_ACCESS_KEY"),
                                hr_env("AWS_SESSION_TOKEN"), out, error);
    if (hr_env("AWS_PROFILE")[0] && !p->exists)
        return fail_profile(p, "(AWS_PROFILE) is in none of the files with profiles", error);
    const char *token = hr_env("AWS_WEB_IDENTITY_TOKEN_FILE"), *arn = hr_env("AWS_ROLE_ARN");
    if (token[0] && arn[0] && !p->role[0])
        return hr_fetch_role(out,
                             &(hr_role){.arn = arn,
                                        .session_name = hr_env("AWS_ROLE_SESSION_NAME"),
                                        .external_id = "",
                                        .duration = "",
                                        .token_file = token,
                                        .region = out->region,
                                        .endpoint = out->endpoint},
                             cancel, error);
    HR_TRY(from_profile(out, p, 1, cancel, error));
    return any(out) ? HR_STATUS_OK : from_machine(out, cancel, error);
}

/* `version`: of what the program gives. */
static hr_status find(hr_service service, hr_credentials *out, uint64_t *version, hr_cancel *cancel,
                      hr_error *error)
{
    bool asked;
    hr_status given = hr_given_ask(service, out, &asked, version, error);
    if (asked || given != HR_STATUS_OK)
        return given;
    if (service == HR_GOOGLE)
        return find_google(out, cancel, error);
    if (service == HR_AZURE)
        return hr_azure_credentials(out, error);
    hr_profile *p = hr_calloc(1, sizeof(*p), error);
    if (!p)
        return HR_STATUS_NO_MEMORY;
    hr_status status = hr_profile_read_chosen(p, error);
    if (status == HR_STATUS_OK)
        status = find_amazon(out, p, cancel, error);
    hr_free(p);
    return status;
}

/* The hash of the variables that choose. */
static uint64_t hash_variables(void)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_PROFILE",
                                        "AWS_CONFIG_FILE",
                                        "AWS_SHARED_CREDENTIALS_FILE",
                                        "HOME",
                                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                                        "AWS_ROLE_ARN",
                                        "AWS_ROLE_SESSION_NAME",
                                        "AWS_REGION",
                                        "AWS_DEFAULT_REGION",
                                        "AWS_ENDPOINT_URL",
                                        "AWS_ENDPOINT_URL_STS",
                                        "AWS_ENDPOINT_URL_SSO",
                                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                        "AWS_EC2_METADATA_DISABLED",
                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                        "NO_GCE_CHECK",
                                        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                        "GCE_METADATA_HOST",
                                        "GS_ACCESS_KEY_ID",
                                        "GS_SECRET_ACCESS_KEY",
                                        "CLOUDSDK_AUTH_ACCESS_TOKEN",
                                        "GOOGLE_OAUTH_ACCESS_TOKEN",
                                        "GOOGLE_APPLICATION_CREDENTIALS",
                                        "CLOUDSDK_CONFIG",
                                        "AZURE_STORAGE_CONNECTION_STRING",
                                        "AZURE_STORAGE_KEY",
                                        "AZURE_STORAGE_ACCOUNT_KEY",
                                        "AZURE_STORAGE_SAS_TOKEN"};
    uint64_t h = HR_FNV1A;
    for (size_t i = 0; i < HR_COUNT_OF(names); i++)
        h = hr_fnv1a(h, hr_env(names[i]), strlen(hr_env(names[i])) + 1);
    return h;
}

/* Of everything that chooses: also the version of what the program gives. */
static uint64_t key_of(uint64_t variables, uint64_t version)
{
    return hr_fnv1a(variables, &version, sizeof(version));
}

/* ---- what is kept ---- */

/* Looks for credentials. If there are no new ones now, those that are still valid stay in use. Lock
 * held on entry and exit, but not meanwhile; `asking` is set. What the program gives may change in
 * the meantime: `*key` becomes that of what was found. */
static hr_status renew(hr_service service, uint64_t variables, uint64_t *key, hr_cancel *cancel,
                       hr_error *error)
{
    uint64_t version = 0;
    hr_credentials *now = hr_calloc(1, sizeof(*now), error), *old = &kept[service].credentials;
    if (!now)
        return HR_STATUS_NO_MEMORY;
    int64_t clock = (int64_t)time(NULL);
    bool good =
        kept[service].valid && kept[service].key == *key && any(old) && old->expires > clock;
    pthread_mutex_unlock(&lock);
    hr_status status = find(service, now, &version, cancel, error);
    uint64_t found = key_of(variables, version);
    pthread_mutex_lock(&lock);
    good = good && found == *key;
    *key = found;
    if (good && (status != HR_STATUS_OK || !any(now))) {
        *now = *old;
        status = HR_STATUS_OK;
    }
    if (status == HR_STATUS_OK) {
        int64_t until = now->expires - EARLY;
        kept[service].until = any(now) && until > clock ? until : clock + LASTS;
        kept[service].key = found;
        *old = *now;
    }
    kept[service].valid = status == HR_STATUS_OK && (any(now) || !hr_cancelled(cancel));
    hr_free(now);
    return status;
}

/* Another thread asks somebody. Lock held. False: the request is cancelled. */
static bool await_answer(hr_service service, hr_cancel *cancel)
{
    while (kept[service].asking && !hr_cancelled(cancel)) {
        struct timespec until = hr_clock_after(WAIT_MS * HR_NS_PER_MS);
        pthread_cond_timedwait(&answered, &lock, &until);
    }
    return !kept[service].asking;
}

/* Lock held. A failure also is that of all who waited meanwhile: many requests do not look for
 * credentials one after the other. */
static hr_status get(hr_service service, int64_t asked_ns, hr_cancel *cancel, hr_error *error)
{
    if (!await_answer(service, cancel))
        return hr_fail(error, HR_STATUS_STATE, "the request was cancelled");
    uint64_t variables = hash_variables(), key = key_of(variables, hr_given_version(service));
    bool same = kept[service].key == key;
    hr_error failure;
    if (kept[service].valid && same && (int64_t)time(NULL) < kept[service].until)
        return HR_STATUS_OK;
    if (kept[service].failed_ns > asked_ns && same)
        return hr_fail(error, kept[service].failure.status, "%s", kept[service].failure.message);
    kept[service].asking = true;
    hr_status status = renew(service, variables, &key, cancel, &failure);
    kept[service].asking = false;
    pthread_cond_broadcast(&answered);
    if (status == HR_STATUS_OK)
        return status;
    kept[service].key = key;
    kept[service].failure = failure;
    kept[service].failed_ns = hr_cancelled(cancel) ? 0 : hr_clock_ns();
    return hr_fail(error, status, "%s", failure.message);
}

hr_status hr_credentials_get(hr_service service, hr_credentials *out, hr_cancel *cancel,
                             hr_error *error)
{
    int64_t asked_ns = hr_clock_ns();
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    hr_status status = get(service, asked_ns, cancel, error);
    if (status == HR_STATUS_OK)
        *out = kept[service].credentials;
    pthread_mutex_unlock(&lock);
    return status;
}

/* Whether the credentials are values of the environment, which a process cannot renew. */
static bool is_fixed(hr_service service)
{
    if (hr_is_given(service))
        return false;
    if (service == HR_GOOGLE)
        return hr_env("GS_ACCESS_KEY_ID")[0] || hr_env("CLOUDSDK_AUTH_ACCESS_TOKEN")[0] ||
               hr_env("GOOGLE_OAUTH_ACCESS_TOKEN")[0];
    return service == HR_AZURE || hr_env("AWS_ACCESS_KEY_ID")[0];
}

bool hr_credentials_refresh(hr_service service, const char *token)
{
    pthread_once(&once, prepare);
    bool fixed = is_fixed(service);
    pthread_mutex_lock(&lock);
    const char *now = kept[service].credentials.token;
    size_t size = strlen(token), length = strlen(now);
    bool same = kept[service].valid && size >= length && strcmp(token + size - length, now) == 0;
    if (same && !fixed)
        kept[service].valid = false;
    pthread_mutex_unlock(&lock);
    return !fixed && token[0];
}
