/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "io/credentials.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "io/net.h"
#include "io/storage.h"

#define ANSWER_SIZE ((size_t)64 << 10) /* of metadata */
#define METADATA_MS 2000               /* metadata are near, or not there at all */
#define EARLY 300                      /* seconds before they expire, new ones are fetched */
#define LASTS 60                       /* seconds until files and metadata are read again */
#define PATH_SIZE 4096

/* What was found: S3's and Google's. `lock` guards it, also while it is fetched. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    bool valid;
    uint64_t key; /* of the environment that chose them */
    int64_t until;
    hr_credentials credentials;
} kept[2];

static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    kept[0].valid = kept[1].valid = false;
}

static void prepare(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

/* false: the text does not fit */
static bool copy(char *to, size_t size, const char *text)
{
    size_t n = strlen(text);
    if (n >= size || text[strcspn(text, "\r\n")])
        return false;
    memcpy(to, text, n + 1);
    return true;
}

int64_t hr_credentials_time(const char *text)
{
    struct tm tm = {0};
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec) != 6 ||
        tm.tm_year < 1970)
        return 0;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    return (int64_t)timegm(&tm);
}

/* ---- profiles ---- */

/* Removes blanks on both sides. */
static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size > 0 && strchr(" \t\r", text[size - 1]))
        text[--size] = 0;
    return text;
}

void hr_ini_read(char *text, const char *section, hr_ini_found found, void *context)
{
    bool inside = false;
    for (char *line = text, *next; line; line = next) {
        if ((next = strchr(line, '\n')))
            *next++ = 0;
        bool indented = *line == ' ' || *line == '\t'; /* belongs to the key above */
        char *at = trim(line), *equals = strchr(at, '=');
        size_t size = strlen(at);
        if (*at == '#' || *at == ';' || size == 0)
            continue;
        if (*at == '[') {
            char *end = strchr(at, ']');
            if (end)
                *end = 0;
            inside = end && strcmp(trim(at + 1), section) == 0;
        } else if (inside && equals && !indented) {
            *equals = 0;
            found(context, trim(at), trim(equals + 1));
        }
    }
}

typedef struct profile {
    hr_credentials *out;
    const char *unsupported; /* a way to get credentials that is not supported */
    bool too_long;
} profile;

static void profile_key(void *context, const char *key, const char *value)
{
    profile *p = context;
    hr_credentials *c = p->out;
    const struct {
        const char *key;
        char *to;
        size_t size;
    } keys[] = {{"aws_access_key_id", c->access_key, sizeof(c->access_key)},
                {"aws_secret_access_key", c->secret_key, sizeof(c->secret_key)},
                {"aws_session_token", c->token, sizeof(c->token)},
                {"region", c->region, sizeof(c->region)},
                {"endpoint_url", c->endpoint, sizeof(c->endpoint)}};
    static const char *const others[] = {"role_arn", "sso_session", "sso_start_url",
                                         "credential_process", "web_identity_token_file"};
    for (size_t i = 0; i < HR_COUNT_OF(keys); i++)
        if (strcmp(key, keys[i].key) == 0)
            p->too_long = p->too_long || !copy(keys[i].to, keys[i].size, value);
    for (size_t i = 0; i < HR_COUNT_OF(others); i++)
        if (strcmp(key, others[i]) == 0)
            p->unsupported = others[i];
}

static void read_profile_file(profile *p, const char *variable, const char *name,
                              const char *section)
{
    char path[PATH_SIZE], *text;
    size_t size;
    const char *chosen = env(variable);
    int n = chosen[0] ? snprintf(path, sizeof(path), "%s", chosen)
                      : snprintf(path, sizeof(path), "%s/.aws/%s", env("HOME"), name);
    if (n <= 0 || (size_t)n >= sizeof(path) || strstr(path, "://") ||
        hr_object_text(path, &text, &size, NULL) != HR_STATUS_OK)
        return;
    hr_ini_read(text, section, profile_key, p);
    hr_free(text);
}

/* The chosen profile, if it has keys. Its region and endpoint are used in any case. */
static hr_status from_profile(hr_credentials *out, hr_error *error)
{
    const char *name = env("AWS_PROFILE");
    char section[256];
    profile p = {.out = out};
    name = name[0] ? name : "default";
    snprintf(section, sizeof(section), "%s%s", strcmp(name, "default") ? "profile " : "", name);
    read_profile_file(&p, "AWS_CONFIG_FILE", "config", section);
    read_profile_file(&p, "AWS_SHARED_CREDENTIALS_FILE", "credentials", name);
    if (p.too_long)
        return hr_fail(error, HR_STATUS_LIMIT, "a value in the AWS profile '%s' is too long", name);
    if (p.unsupported && !out->access_key[0] && !env("AWS_ACCESS_KEY_ID")[0])
        return hr_fail(error, HR_STATUS_NOT_IMPLEMENTED,
                       "the AWS profile '%s' uses %s, which is not supported; set the "
                       "variables that `aws configure export-credentials --format env` prints",
                       name, p.unsupported);
    return HR_STATUS_OK;
}

/* ---- metadata ---- */

typedef struct question {
    hr_net_call call;
    const char *header;
} question;

static hr_status add_header(void *context, hr_net_call *call, hr_cancel *cancel, hr_error *error)
{
    const question *q = context;
    (void)cancel;
    return q->header ? hr_net_call_header(call, error, "%s", q->header) : HR_STATUS_OK;
}

/* Gets a small text from a metadata server. `header`: one more, or NULL. */
static hr_status get_text(const char *method, const char *url, const char *header, char *answer,
                          size_t size, hr_cancel *cancel, hr_error *error)
{
    question *q = hr_calloc(1, sizeof(*q), error);
    if (!q)
        return HR_STATUS_NO_MEMORY;
    q->header = header;
    q->call = (hr_net_call){
        .request = {.method = method, .url = url, .direct = true, .body = answer, .room = size - 1},
        .sign = add_header,
        .context = q,
        .timeout_ms = METADATA_MS,
        .attempts = 3};
    hr_status status = hr_net_call_run(&q->call, cancel, error);
    if (status == HR_STATUS_OK)
        answer[q->call.request.size] = 0;
    if (status == HR_STATUS_OK && q->call.request.longer)
        status = hr_fail(error, HR_STATUS_LIMIT, "the answer of the metadata server is too long");
    hr_free(q);
    return status;
}

static const char *string_of(const hr_json *object, const char *key)
{
    const hr_json *v = hr_json_get(object, key);
    return v && v->kind == HR_JSON_KIND_STRING ? v->s : "";
}

/* The JSON of container and instance metadata of AWS, or a token of Google's. */
static hr_status parse_answer(const char *text, bool google, hr_credentials *out, hr_error *error)
{
    hr_json *json;
    HR_TRY(hr_json_parse(&json, text, strlen(text), error));
    const hr_json *lasts = hr_json_get(json, "expires_in");
    bool good;
    if (google) {
        good = copy(out->token, sizeof(out->token), string_of(json, "access_token"));
        out->expires = lasts && lasts->is_integer && lasts->i > 0 && lasts->i < 1000000
                           ? (int64_t)time(NULL) + lasts->i
                           : 0;
        good = good && out->token[0];
    } else {
        good = copy(out->access_key, sizeof(out->access_key), string_of(json, "AccessKeyId")) &&
               copy(out->secret_key, sizeof(out->secret_key), string_of(json, "SecretAccessKey")) &&
               copy(out->token, sizeof(out->token), string_of(json, "Token"));
        out->expires = hr_credentials_time(string_of(json, "Expiration"));
        good = good && out->access_key[0] && out->secret_key[0];
    }
    hr_json_destroy(json);
    return good ? HR_STATUS_OK
                : hr_fail(error, HR_STATUS_CORRUPT, "the answer contains no credentials");
}

/* Whether credentials may be sent to and taken from that address. */
static bool is_trusted(const char *url)
{
    static const char *const hosts[] = {"http://127.0.0.1",     "http://localhost",
                                        "http://169.254.170.2", "http://169.254.170.23",
                                        "http://[::1]",         "http://[fd00:ec2::23]"};
    if (strncmp(url, "https://", 8) == 0)
        return true;
    for (size_t i = 0; i < HR_COUNT_OF(hosts); i++) {
        size_t n = strlen(hosts[i]);
        if (strncmp(url, hosts[i], n) == 0 && (url[n] == ':' || url[n] == '/'))
            return true;
    }
    return false;
}

static hr_status from_container(hr_credentials *out, char *answer, hr_cancel *cancel,
                                hr_error *error)
{
    char url[1024], header[5120] = "";
    const char *relative = env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *file = env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *token = env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    snprintf(url, sizeof(url), "%s%s", relative[0] ? "http://169.254.170.2" : "",
             relative[0] ? relative : env("AWS_CONTAINER_CREDENTIALS_FULL_URI"));
    if (!is_trusted(url))
        return hr_fail(error, HR_STATUS_VALUE,
                       "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or an address of this "
                       "machine or of the container's host");
    char *text = NULL;
    size_t size;
    if (file[0] && !strstr(file, "://"))
        HR_TRY(hr_object_text(file, &text, &size, error));
    if (text)
        text[strcspn(text, "\r\n")] = 0;
    token = text ? text : token;
    if (token[0])
        snprintf(header, sizeof(header), "Authorization: %s", token);
    hr_free(text);
    HR_TRY(get_text(NULL, url, header[0] ? header : NULL, answer, ANSWER_SIZE, cancel, error));
    return parse_answer(answer, false, out, error);
}

/* Version 2 of the instance metadata service: a token, the name of the role, its credentials. */
static hr_status from_instance(hr_credentials *out, char *answer, hr_cancel *cancel,
                               hr_error *error)
{
    static const char folder[] = "/latest/meta-data/iam/security-credentials/";
    char base[256], url[1024], header[512], role[256];
    const char *chosen = env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    snprintf(base, sizeof(base), "%s", chosen[0] ? chosen : "http://169.254.169.254");
    size_t n = strlen(base);
    if (n > 0 && base[n - 1] == '/')
        base[n - 1] = 0;
    snprintf(url, sizeof(url), "%s/latest/api/token", base);
    HR_TRY(get_text("PUT", url, "X-aws-ec2-metadata-token-ttl-seconds: 21600", answer, ANSWER_SIZE,
                    cancel, error));
    snprintf(header, sizeof(header), "X-aws-ec2-metadata-token: %.400s", answer);
    snprintf(url, sizeof(url), "%s%s", base, folder);
    HR_TRY(get_text(NULL, url, header, answer, ANSWER_SIZE, cancel, error));
    answer[strcspn(answer, "\r\n")] = 0;
    snprintf(role, sizeof(role), "%.200s", answer);
    snprintf(url, sizeof(url), "%s%s%s", base, folder, role);
    HR_TRY(get_text(NULL, url, header, answer, ANSWER_SIZE, cancel, error));
    return parse_answer(answer, false, out, error);
}

static hr_status from_google(hr_credentials *out, char *answer, hr_cancel *cancel, hr_error *error)
{
    char url[512];
    const char *host = env("GCE_METADATA_HOST");
    snprintf(url, sizeof(url),
             "http://%.200s/computeMetadata/v1/instance/service-accounts/default/token",
             host[0] ? host : "metadata.google.internal");
    HR_TRY(get_text(NULL, url, "Metadata-Flavor: Google", answer, ANSWER_SIZE, cancel, error));
    return parse_answer(answer, true, out, error);
}

/* ---- the chain ---- */

static bool in_container(void)
{
    return env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI")[0] ||
           env("AWS_CONTAINER_CREDENTIALS_FULL_URI")[0];
}

/* If there is no server of metadata, there are no credentials, which is not an error: the requests
 * are then not signed. A container says that it has such a server, so it is one there. */
static hr_status fetch(bool google, hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    char *answer = hr_calloc(ANSWER_SIZE, 1, error);
    if (!answer)
        return HR_STATUS_NO_MEMORY;
    hr_status status = HR_STATUS_OK;
    if (google) {
        if (!env("NO_GCE_CHECK")[0])
            (void)from_google(out, answer, cancel, NULL);
    } else if (in_container()) {
        status = from_container(out, answer, cancel, error);
        if (status != HR_STATUS_OK)
            hr_error_prefix(error, "the credentials of the container");
    } else if (strcmp(env("AWS_EC2_METADATA_DISABLED"), "true") != 0) {
        (void)from_instance(out, answer, cancel, NULL);
    }
    hr_free(answer);
    return status;
}

static hr_status from_environment(const char *id, const char *secret, const char *token,
                                  hr_credentials *out, hr_error *error)
{
    if (copy(out->access_key, sizeof(out->access_key), id) &&
        copy(out->secret_key, sizeof(out->secret_key), secret) &&
        copy(out->token, sizeof(out->token), token))
        return HR_STATUS_OK;
    return hr_fail(error, HR_STATUS_LIMIT,
                   "the credentials in the environment are too long or contain a line break");
}

static hr_status find(bool google, hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    if (google) {
        const char *token = env("CLOUDSDK_AUTH_ACCESS_TOKEN");
        token = token[0] ? token : env("GOOGLE_OAUTH_ACCESS_TOKEN");
        if (env("GS_ACCESS_KEY_ID")[0])
            return from_environment(env("GS_ACCESS_KEY_ID"), env("GS_SECRET_ACCESS_KEY"), "", out,
                                    error);
        if (token[0])
            return from_environment("", "", token, out, error);
        return fetch(true, out, cancel, error);
    }
    HR_TRY(from_profile(out, error)); /* its region is used in any case */
    if (env("AWS_ACCESS_KEY_ID")[0])
        return from_environment(env("AWS_ACCESS_KEY_ID"), env("AWS_SECRET_ACCESS_KEY"),
                                env("AWS_SESSION_TOKEN"), out, error);
    return out->access_key[0] ? HR_STATUS_OK : fetch(false, out, cancel, error);
}

/* FNV-1a of the variables that choose. */
static uint64_t environment_key(void)
{
    static const char *const names[] = {"AWS_ACCESS_KEY_ID",
                                        "AWS_SECRET_ACCESS_KEY",
                                        "AWS_SESSION_TOKEN",
                                        "AWS_PROFILE",
                                        "AWS_CONFIG_FILE",
                                        "AWS_SHARED_CREDENTIALS_FILE",
                                        "HOME",
                                        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                                        "AWS_EC2_METADATA_DISABLED",
                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                        "NO_GCE_CHECK",
                                        "AWS_EC2_METADATA_SERVICE_ENDPOINT",
                                        "GCE_METADATA_HOST",
                                        "GS_ACCESS_KEY_ID",
                                        "GS_SECRET_ACCESS_KEY",
                                        "CLOUDSDK_AUTH_ACCESS_TOKEN",
                                        "GOOGLE_OAUTH_ACCESS_TOKEN"};
    uint64_t h = 0;
    for (size_t i = 0; i < HR_COUNT_OF(names); i++) {
        for (const char *at = env(names[i]); *at; at++)
            h = (h ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
        h = (h ^ 256) * UINT64_C(0x100000001b3);
    }
    return h;
}

static bool any(const hr_credentials *c)
{
    return c->access_key[0] || c->token[0];
}

/* Lock held. If metadata cannot be read now, credentials that are still valid stay in use. */
static hr_status renew(bool google, uint64_t key, hr_cancel *cancel, hr_error *error)
{
    hr_credentials *now = hr_calloc(1, sizeof(*now), error), *old = &kept[google].credentials;
    if (!now)
        return HR_STATUS_NO_MEMORY;
    int64_t clock = (int64_t)time(NULL);
    bool good = kept[google].valid && kept[google].key == key && any(old) && old->expires > clock;
    hr_status status = find(google, now, cancel, error);
    if (status == HR_STATUS_OK && !any(now) && good)
        *now = *old;
    if (status == HR_STATUS_OK) {
        int64_t until = now->expires - EARLY;
        kept[google].until = any(now) && until > clock ? until : clock + LASTS;
        kept[google].key = key;
        *old = *now;
    }
    kept[google].valid = status == HR_STATUS_OK && !hr_cancelled(cancel);
    hr_free(now);
    return status;
}

hr_status hr_credentials_get(bool google, hr_credentials *out, hr_cancel *cancel, hr_error *error)
{
    hr_status status = HR_STATUS_OK;
    uint64_t key = environment_key();
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    if (!kept[google].valid || kept[google].key != key || (int64_t)time(NULL) >= kept[google].until)
        status = renew(google, key, cancel, error);
    if (status == HR_STATUS_OK)
        *out = kept[google].credentials;
    pthread_mutex_unlock(&lock);
    return status;
}

bool hr_credentials_refresh(bool google, const char *token)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
    bool fixed = google ? env("GS_ACCESS_KEY_ID")[0] || env("CLOUDSDK_AUTH_ACCESS_TOKEN")[0] ||
                              env("GOOGLE_OAUTH_ACCESS_TOKEN")[0]
                        : env("AWS_ACCESS_KEY_ID")[0] != 0;
    bool same = kept[google].valid && strcmp(kept[google].credentials.token, token) == 0;
    if (same && !fixed)
        kept[google].valid = false;
    pthread_mutex_unlock(&lock);
    return !fixed && token[0];
}
