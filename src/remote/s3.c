/* SPDX-License-Identifier: Apache-2.0
 * Copyright The Headrace authors */
#include "remote/s3.h"

#include <ctype.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/hash.h"
#include "remote/credentials_profile.h"
#include "remote/sigv4.h"

#define BUCKETS 16 /* whose region is remembered */

/* Regions that servers have named; `lock` guards them. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    char bucket[256], endpoint[sizeof(((hr_s3 *)0)->endpoint)], region[HR_REGION_SIZE];
} learnt[BUCKETS];

/* Another thread of the parent may have held the lock, and have been writing. */
static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    memset(learnt, 0, sizeof(learnt));
}

static void prepare(void)
{
    pthread_atfork(NULL, NULL, in_child);
}

static void take_lock(void)
{
    pthread_once(&once, prepare);
    pthread_mutex_lock(&lock);
}

void hr_s3_fini(hr_s3 *s3)
{
    hr_free(s3->key);
    s3->key = NULL;
}

/* ---- regions ---- */

static size_t slot_of(const char *bucket)
{
    return (size_t)(hr_fnv1a(HR_FNV1A, bucket, strlen(bucket)) % BUCKETS);
}

/* What a server has said of a bucket, or NULL. Lock held. */
static char *learnt_region(const hr_s3 *s3)
{
    size_t slot = slot_of(s3->bucket);
    bool same = strcmp(learnt[slot].bucket, s3->bucket) == 0 &&
                strcmp(learnt[slot].endpoint, s3->endpoint) == 0;
    return same ? learnt[slot].region : NULL;
}

static void region_of(const hr_s3 *s3, char region[HR_REGION_SIZE])
{
    memcpy(region, s3->region, HR_REGION_SIZE);
    if (s3->service != HR_AMAZON)
        return;
    take_lock();
    const char *said = learnt_region(s3);
    if (said)
        memcpy(region, said, HR_REGION_SIZE);
    pthread_mutex_unlock(&lock);
}

static const char *signature_of(const hr_net_call *call)
{
    for (int32_t i = 0; i < call->request.header_count; i++)
        if (strncmp(call->header[i], "Authorization: ", 15) == 0)
            return call->header[i];
    return NULL;
}

/* Whether the region was asked for: it is in a signature, "KEY/DAY/REGION/s3/aws4_request". */
static bool was_asked(const hr_net_call *call, const char *region)
{
    const char *signature = signature_of(call);
    char part[HR_REGION_SIZE + 8];
    snprintf(part, sizeof(part), "/%s/s3/", region);
    return signature ? strstr(signature, part) != NULL : call->attempt > 1;
}

/* Whether the answer names another region than the one that was asked. */
static bool learn_region(const hr_s3 *s3, const hr_net_call *call)
{
    char region[HR_REGION_SIZE];
    size_t slot = slot_of(s3->bucket);
    if (s3->service != HR_AMAZON ||
        !hr_net_header(&call->request, "x-amz-bucket-region", region, sizeof(region)) ||
        !hr_region_good(region))
        return false;
    take_lock();
    const char *said = learnt_region(s3);
    bool known = said && strcmp(said, region) == 0;
    memcpy(learnt[slot].bucket, s3->bucket, sizeof(s3->bucket));
    memcpy(learnt[slot].endpoint, s3->endpoint, sizeof(s3->endpoint));
    memcpy(learnt[slot].region, region, sizeof(region));
    pthread_mutex_unlock(&lock);
    return !known || !was_asked(call, region);
}

/* ---- targets ---- */

/* The environment is asked first; a profile is only read for what it lacks. */
static hr_status resolve_amazon(hr_s3 *out, hr_error *error)
{
    const char *variable = "AWS_ENDPOINT_URL_S3", *endpoint = hr_chosen_endpoint(variable, "");
    const char *region = hr_chosen_region("");
    hr_profile *p = NULL;
    hr_status status = HR_STATUS_OK;
    if (!endpoint[0] || !region[0]) {
        if (!(p = hr_calloc(1, sizeof(*p), error)))
            return HR_STATUS_NO_MEMORY;
        status = hr_profile_read_chosen(p, error);
        endpoint = hr_chosen_endpoint(variable, p->keys.endpoint);
        region = hr_chosen_region(p->keys.region);
    }
    if (status == HR_STATUS_OK) {
        snprintf(out->region, sizeof(out->region), "%s", region[0] ? region : "us-east-1");
        status = hr_url_base(out->endpoint, sizeof(out->endpoint), endpoint, error);
    }
    hr_free(p);
    return status;
}

static hr_status resolve(hr_s3 *out, hr_error *error)
{
    if (out->service == HR_AMAZON)
        return resolve_amazon(out, error);
    if (out->service == HR_AZURE)
        return hr_azure_server(out->account, out->endpoint, sizeof(out->endpoint), error);
    const char *chosen = hr_env("STORAGE_EMULATOR_HOST");
    memcpy(out->region, "auto", sizeof("auto"));
    return hr_url_base(out->endpoint, sizeof(out->endpoint),
                       chosen[0] ? chosen : "https://storage.googleapis.com", error);
}

static hr_service service_of(const char *uri)
{
    int32_t service = HR_SERVICES - 1;
    while (service > 0 && strncmp(uri, hr_service_scheme((hr_service)service), 2) != 0)
        service--;
    return (hr_service)service;
}

hr_status hr_s3_init(hr_s3 *out, const char *uri, hr_error *error)
{
    *out = (hr_s3){.service = service_of(uri)};
    const char *bucket = strstr(uri, "://") + 3;
    size_t size = strcspn(bucket, "/");
    for (size_t i = 0; i < size; i++)
        if (!isalnum((unsigned char)bucket[i]) && !strchr("-_.", bucket[i]))
            size = 0;
    if (size == 0 || size >= sizeof(out->bucket))
        return hr_fail(error, HR_STATUS_VALUE, "the URI does not begin with %s://bucket/",
                       hr_service_scheme(out->service));
    memcpy(out->bucket, bucket, size);
    HR_TRY(resolve(out, error));
    out->key = hr_strdup(bucket[size] ? bucket + size + 1 : "", error);
    return out->key ? HR_STATUS_OK : HR_STATUS_NO_MEMORY;
}

void hr_s3_server(const hr_s3 *s3, char out[HR_S3_SERVER_SIZE])
{
    snprintf(out, HR_S3_SERVER_SIZE, "%s %s", s3->endpoint, s3->region);
}

/* ---- URLs ---- */

/* Writes "https://host/path" to `url`. */
static hr_status make_url(const hr_s3 *s3, const char *region, const char *key, char *url,
                          hr_error *error)
{
    bool dotted = strchr(s3->bucket, '.') != NULL; /* such a name does not fit the certificate */
    bool in_path = s3->endpoint[0] || dotted;
    char escaped[HR_URL_SIZE / 2], base[600];
    if (!hr_url_escape(key, true, escaped, sizeof(escaped)))
        return hr_fail(error, HR_STATUS_LIMIT, "the name is too long");
    if (s3->endpoint[0])
        snprintf(base, sizeof(base), "%s", s3->endpoint);
    else
        snprintf(base, sizeof(base), "https://%s%ss3.%s.amazonaws.com%s", dotted ? "" : s3->bucket,
                 dotted ? "" : ".", region, strncmp(region, "cn-", 3) == 0 ? ".cn" : "");
    int n = snprintf(url, HR_URL_SIZE, "%s%s%s/%s", base, in_path ? "/" : "",
                     in_path ? s3->bucket : "", escaped);
    return n < 0 || n >= HR_URL_SIZE ? hr_fail(error, HR_STATUS_LIMIT, "the name is too long")
                                     : HR_STATUS_OK;
}

/* ---- requests ---- */

/* Adds a query, which is escaped, to a URL. */
static hr_status add_query(char *url, const char *query, hr_error *error)
{
    size_t size = strlen(url), room = HR_URL_SIZE - size;
    int n = query[0] ? snprintf(url + size, room, "%c%s", strchr(url, '?') ? '&' : '?', query) : 0;
    return n >= 0 && (size_t)n < room ? HR_STATUS_OK
                                      : hr_fail(error, HR_STATUS_LIMIT, "the name is too long");
}

static hr_status sign_azure(const hr_s3 *s3, const hr_credentials *c, hr_net_call *call, char *url,
                            const char *path, const char *query, const char *range, hr_error *error)
{
    size_t size = strlen(path);
    while (!s3->key[0] && size > 1 && path[size - 1] == '/') /* that of a container has no slash */
        url[strlen(url) - 1] = 0, size--;
    const hr_azure_request r = {
        .account = s3->account, .path = path, .query = query, .range = range};
    HR_TRY(hr_azure_add(call, &r, c, error));
    HR_TRY(add_query(url, query, error));
    const char *sas = hr_azure_is_sas(c->token) ? c->token : "";
    return add_query(url, sas + (sas[0] == '?'), error);
}

static hr_status sign_with(const hr_s3 *s3, const hr_credentials *c, hr_net_call *call, char *url,
                           const char *key, const char *query, const char *range, hr_error *error)
{
    char host[512], region[HR_REGION_SIZE];
    const char *path = "";
    region_of(s3, region);
    HR_TRY(make_url(s3, region, key, url, error));
    HR_TRY(hr_url_host(url, host, &path, error));
    call->request.url = url;
    if (s3->service == HR_AZURE)
        return sign_azure(s3, c, call, url, path, query, range, error);
    if (range)
        HR_TRY(hr_net_call_header(call, error, "Range: %s", range));
    if (c->access_key[0]) {
        hr_sigv4 s = {.host = host,
                      .path = path,
                      .query = query,
                      .range = range,
                      .region = region,
                      .service = "s3"};
        HR_TRY(hr_sigv4_add(call, c, &s, error));
    } else if (c->token[0]) {
        HR_TRY(hr_net_call_header(call, error, "Authorization: Bearer %s", c->token));
    }
    return add_query(url, query, error);
}

hr_status hr_s3_sign(const hr_s3 *s3, hr_net_call *call, char *url, const char *key,
                     const char *query, const char *range, hr_cancel *cancel, hr_error *error)
{
    hr_credentials *c = hr_calloc(1, sizeof(*c), error);
    if (!c)
        return HR_STATUS_NO_MEMORY;
    hr_status status = hr_credentials_get(s3->service, c, cancel, error);
    if (status == HR_STATUS_OK)
        status = sign_with(s3, c, call, url, key, query, range, error);
    hr_free(c);
    return status;
}

/* Whether the answer says that these credentials are not accepted any more. */
static bool is_expired(const hr_net_request *r)
{
    static const char *const codes[] = {"ExpiredToken", "InvalidToken", "TokenRefreshRequired",
                                        "<Code>AuthenticationFailed</Code>" /* Azure's */};
    bool expired = r->code == 401;
    for (size_t i = 0; i < HR_COUNT_OF(codes) && (r->code == 400 || r->code == 403); i++)
        expired = expired || strstr(r->text, codes[i]);
    return expired;
}

/* What the request was sent with, which ends with its token; "" if it was sent without. */
static const char *token_of(const hr_net_call *call)
{
    static const char *const names[] = {"x-amz-security-token: ", "Authorization: Bearer "};
    for (int32_t i = 0; i < call->request.header_count; i++)
        for (size_t k = 0; k < HR_COUNT_OF(names); k++)
            if (strncmp(call->header[i], names[k], strlen(names[k])) == 0)
                return call->header[i] + strlen(names[k]);
    return hr_azure_is_sas(call->request.url) ? call->request.url : "";
}

hr_status hr_s3_fail(const hr_s3 *s3, const hr_net_call *call, bool *again, hr_error *error)
{
    const hr_net_request *r = &call->request;
    hr_status status = hr_net_fail(call, error);
    if (r->end != HR_NET_END_ANSWERED || r->code < 300 || r->code >= 500)
        return status;
    if ((r->code == 301 || r->code == 307 || r->code == 400 || r->code == 403) &&
        learn_region(s3, call))
        *again = true;
    if (is_expired(r) && call->attempt <= 2 && hr_credentials_refresh(s3->service, token_of(call)))
        *again = true;
    if ((r->code == 403 || s3->service == HR_AZURE) && !signature_of(call) && !token_of(call)[0] &&
        error)
        status = hr_error_prefix(error, "no credentials were found, so the request was not signed");
    return status;
}
